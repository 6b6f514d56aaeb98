//! The draft's files and namespace, and the labels of the workload. Saving changes the draft; only a publish changes clusters.

use domain::labels::Labels;
use domain::workload::{Source, SourceFile};
use leptos::prelude::*;
use serde::{Deserialize, Serialize};

use super::fields::{FileDrafts, FilesEditor};
use super::queries::{SourceContent, create_source_resource};
use super::save::build_typed_source;
use crate::components::render_resource_part;
use crate::errors::AppResult;
use crate::workloads::autosave::SavedDraft;
use crate::workloads::chart::draft::{ChartDraft, ChartForm};
use crate::workloads::chart::fields::ChartFields;
use crate::workloads::draft_form::DraftForm;
use crate::workloads::draft_part::DraftPart;
use crate::workloads::draft_saving::{save_button, save_result};
use crate::workloads::form_autosave::FormAutosave;
use crate::workloads::form_page::{open_left_form, watch_left_form};
use crate::workloads::git::fields::{GitDraft, GitFields, GitForm};
use crate::workloads::queries::show_files;
use crate::workloads::wizard::WizardStep;

/// The form as it is sent. Browsers do not send unticked boxes, so every field has a default.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default)]
pub struct ConfigForm {
    /// Name of the workload.
    pub name: String,
    /// The draft revision that the form was loaded with.
    pub base_revision: i64,
    /// Namespace for objects that name none.
    pub namespace: String,
    /// The files; none for a chart.
    pub files: Vec<SourceFile>,
    /// The chart; not set for other sources.
    pub chart: ChartForm,
    /// The Git repository; not set for other sources.
    pub git: GitForm,
    /// The labels, as `key=value`, separated by commas or spaces.
    pub labels: String,
}

/// Saves files and namespace of the draft, and the labels.
#[server(prefix = "/api/fn", endpoint = "config_save")]
pub async fn config_save(form: ConfigForm) -> AppResult<SavedDraft> {
    use super::limits::create_source;
    use crate::{errors::AppError, host};
    let (hub, actor) = (host::hub()?, host::actor()?);
    let source = create_source(form.files, &form.chart, &form.git).map_err(host::with_status)?;
    let labels = crate::label_text::parse_labels(&form.labels)
        .map_err(|finding| host::with_status(AppError::from_finding(finding)))?;
    let patch = hub::DraftPatch {
        namespace: Some(form.namespace.trim().to_owned()),
        source: Some(source),
        labels: Some(labels),
        ..hub::DraftPatch::default()
    };
    let revision =
        host::into_app_result(hub.change_draft(&actor, &form.name, patch, form.base_revision).await)?
            .revision;
    Ok(SavedDraft { revision, saved_at: hub.clock().now() })
}

impl DraftForm for ConfigSave {
    fn part(&self) -> DraftPart {
        DraftPart::Config
    }

    fn set_base_revision(&mut self, revision: i64) {
        self.form.base_revision = revision;
    }

    async fn save(self) -> AppResult<Option<SavedDraft>> {
        config_save(self.form).await.map(Some)
    }
}

/// The tab.
#[component]
pub fn ConfigTab(name: Memo<String>) -> impl IntoView {
    let action = ServerAction::<ConfigSave>::new();
    let data = create_source_resource(name, watch_left_form());
    render_resource_part(data, move |content| {
        show_files(content, |content| view! { <ConfigFields content=content action=action /> }.into_any())
    })
}

#[component]
fn ConfigFields(content: SourceContent, action: ServerAction<ConfigSave>) -> impl IntoView {
    let SourceContent { workload, chart, git, .. } = content;
    let namespace = RwSignal::new(workload.draft.namespace.clone());
    let name = workload.name.clone();
    let typed = open_left_form::<ConfigSave>();
    let source = build_opened_source(&workload.draft.source, typed.as_ref());
    let source_fields = match &source {
        Source::Git(source) | Source::Oci(source) => {
            let draft = GitDraft::new(source);
            let findings = draft.findings(Signal::stored(name.clone()), namespace.into());
            view! { <GitFields draft=draft findings=findings prefix="form" workload=name.clone() status=git /> }
                .into_any()
        }
        Source::Chart(source) => {
            let draft = ChartDraft::new(source, chart);
            let findings = draft.findings(Signal::stored(name.clone()), namespace.into());
            view! { <ChartFields draft=draft findings=findings prefix="form" workload=name.clone() /> }
                .into_any()
        }
        Source::Yaml { files } => {
            let drafts = FileDrafts::new(files);
            let findings = drafts.findings(Signal::stored(name.clone()), namespace.into());
            view! {
                <p class="meta">
                    "The text of the files. Images, ports, probes and other common fields have a form in the step "
                    <a class="link" href=WizardStep::Source.path(&name)>"Source"</a> "."
                </p>
                <FilesEditor drafts=drafts findings=findings prefix="form" />
            }
            .into_any()
        }
    };
    // The next save builds on the revision that this one stored.
    let base_revision = RwSignal::new(workload.revision);
    let element = NodeRef::new();
    let is_editable = domain::actions::check_edit(&workload).is_ok();
    let autosave = FormAutosave::<ConfigSave>::new(&workload.name, element, base_revision, is_editable);
    autosave.enter_typed_input(typed.as_ref());
    Effect::new(move |_| {
        if let Some(Ok(saved)) = action.value().get() {
            autosave.record_submission(saved);
        }
    });
    let save = save_button(&workload, "Save draft");
    view! {
        <ActionForm
            action=action
            node_ref=element
            attr:class="stack-md"
            on:input=move |_| autosave.note_input()
            on:change=move |_| autosave.note_input()
            on:click=move |_| autosave.note_click()
        >
            <input type="hidden" name="form[name]" value=name.clone() />
            <input type="hidden" name="form[base_revision]" value=move || base_revision.get().to_string() />
            {save_result(move || action.value().get().map(|saved| saved.map(drop)), &name, "Draft saved.")}
            <div class="field-row max-w-180">
                {namespace_field(workload.draft.namespace.clone(), namespace)}
                {labels_field(&workload.labels)}
            </div>
            {source_fields}
            <div class="tab-foot">
                {save} {autosave.status_view()}
                <span class="meta">"Saving changes the draft. Clusters change when you publish."</span>
            </div>
        </ActionForm>
    }
    .into_any()
}

/// The stored source, or the one that was typed.
fn build_opened_source(stored: &Source, typed: Option<&ConfigSave>) -> Source {
    match typed {
        Some(ConfigSave { form }) => build_typed_source(stored, form.files.clone(), &form.chart, &form.git),
        None => stored.clone(),
    }
}

fn namespace_field(stored: String, namespace: RwSignal<String>) -> AnyView {
    view! {
        <div class="field">
            <label class="field-label" for="namespace">
                "Namespace"
            </label>
            <input
                class="input input-mono"
                id="namespace"
                name="form[namespace]"
                value=stored
                maxlength="63"
                required=true
                on:input=move |ev| namespace.set(event_target_value(&ev))
            />
            <p class="field-help">"For objects that name none."</p>
        </div>
    }
    .into_any()
}

fn labels_field(labels: &Labels) -> AnyView {
    view! {
        <div class="field">
            <label class="field-label" for="workload-labels">
                "Labels"
            </label>
            <input
                class="input input-mono"
                id="workload-labels"
                name="form[labels]"
                value=crate::label_text::write_labels(labels)
                maxlength="4000"
                placeholder="team=shop tier=frontend"
                autocomplete="off"
                autocapitalize="off"
                spellcheck="false"
            />
            <p class="field-help">"Of the workload, for lists and searches. Its objects are not changed."</p>
        </div>
    }
    .into_any()
}
