//! The step for the source.

use domain::Finding;
use domain::workload::Source;
use leptos::prelude::*;
use leptos_meta::Title;
use leptos_router::hooks::use_query_map;

use super::autosave::{Autosave, SourceDraft};
use super::fields::{FileDrafts, FilesEditor};
use super::form::{ContainersForm, NamedContainer, SourceText};
use super::queries::{SourceContent, create_source_resource};
use super::save::{SourceForm, SourceSave, build_typed_source};
use super::unwrap::{UnwrapDialog, unwrap_offer};
use crate::components::editor::form_switch;
use crate::components::{ErrorBanner, render_resource};
use crate::live;
use crate::workloads::chart::draft::ChartDraft;
use crate::workloads::chart::fields::ChartFields;
use crate::workloads::form_page::{open_left_form, watch_left_form};
use crate::workloads::git::fields::{GitDraft, GitFields};
use crate::workloads::queries::show_files;
use crate::workloads::wizard::{
    FORM, WizardFooter, WizardStep, is_new_draft, with_stored_findings, with_stored_findings_of_new,
    workload_name,
};

/// The page.
#[component]
pub fn SourcePage() -> impl IntoView {
    let name = workload_name();
    let action = ServerAction::<SourceSave>::new();
    let data = create_source_resource(name, watch_left_form());
    view! {
        {move || view! { <Title text=format!("Source of {}", name.get()) /> }}
        {render_resource(data, move |content| show_files(content, |content| view! { <SourceStep content=content action=action /> }.into_any()))}
        <UnwrapDialog name=name />
    }
    .into_any()
}

/// The container that the address names, with its object, such as `Deployment/web`.
fn read_named_container() -> NamedContainer {
    let query = use_query_map();
    let query = query.read_untracked();
    let read = |name: &str| query.get(name).unwrap_or_default();
    NamedContainer { object: read("object"), container: read("container") }
}

/// Moves the focus to the image of the container that the address names.
fn focus_image(named: NamedContainer) {
    Effect::new(move |_| {
        if !named.container.is_empty() {
            live::page::focus_image(&named.object, &named.container);
        }
    });
}

#[component]
fn SourceStep(content: SourceContent, action: ServerAction<SourceSave>) -> impl IntoView {
    let SourceContent { workload, chart, git, .. } = content;
    let namespace = RwSignal::new(workload.draft.namespace.clone());
    let name = Signal::stored(workload.name.clone());
    let base_revision = RwSignal::new(workload.revision);
    let is_new = is_new_draft(&workload);
    let show = move |live: Signal<Vec<Finding>>| match is_new {
        true => with_stored_findings_of_new(WizardStep::Source, live),
        false => with_stored_findings(WizardStep::Source, live),
    };
    let source = match open_left_form::<SourceForm>() {
        Some(form) => build_typed_source(&workload.draft.source, form.files, &form.chart, &form.git),
        None => workload.draft.source.clone(),
    };
    let named = read_named_container();
    let (draft, findings, fields) = match &source {
        Source::Git(source) | Source::Oci(source) => {
            let draft = GitDraft::new(source);
            let findings = show(draft.findings(name, namespace.into()).into());
            let workload = workload.name.clone();
            let fields = view! { <GitFields draft=draft findings=findings prefix="form" workload=workload status=git /> };
            (SourceDraft::Git(draft), findings, fields.into_any())
        }
        Source::Chart(source) => {
            let draft = ChartDraft::new(source, chart);
            let findings = show(draft.findings(name, namespace.into()).into());
            let workload = workload.name.clone();
            let fields =
                view! { <ChartFields draft=draft findings=findings prefix="form" workload=workload /> };
            (SourceDraft::Chart(draft), findings, fields.into_any())
        }
        Source::Yaml { files } => {
            let drafts = FileDrafts::new(files);
            let findings = show(drafts.findings(name, namespace.into()).into());
            let text = SourceText::new(drafts, findings);
            let fields = view! {
                {unwrap_offer(findings, &workload.name)}
                <div class="source-split">
                    {form_switch()}
                    <ContainersForm text=text name=workload.name.clone() intent=workload.intent named=named.clone() />
                    <FilesEditor drafts=drafts findings=findings prefix="form" />
                </div>
            };
            (SourceDraft::Files(drafts), findings, fields.into_any())
        }
    };
    let autosave = Autosave::new(&workload.name, namespace, draft, base_revision);
    focus_image(named);
    Effect::new(move |_| {
        if let Some(Ok(saved)) = action.value().get() {
            autosave.record_submission(saved);
        }
    });
    view! {
        <ActionForm action=action attr:id=FORM attr:class="wizard-step">
            <input type="hidden" name="form[name]" value=workload.name.clone() />
            <input type="hidden" name="form[base_revision]" value=move || base_revision.get().to_string() />
            <input type="hidden" name="form[namespace]" value=move || namespace.get() />
            {move || action.value().get().and_then(Result::err).map(|error| view! { <ErrorBanner error=error /> })}
            {fields}
            <WizardFooter step=WizardStep::Source findings=findings busy=action.pending() status=autosave.status_view() />
        </ActionForm>
    }
    .into_any()
}
