//! The draft's files and policies. Saving changes the draft; only a publish changes clusters.

use domain::workload::{Source, SourceFile, Workload};
use leptos::prelude::*;
use serde::{Deserialize, Serialize};

use super::fields::{FileDrafts, FilesEditor};
use crate::components::render_resource_part;
use crate::errors::AppResult;
use crate::resource::create_resource;
use crate::workloads::chart::fields::{ChartDraft, ChartFields, ChartForm};
use crate::workloads::draft_saving::{save_button, save_result};
use crate::workloads::git::fields::{GitDraft, GitFields, GitForm};
use crate::workloads::policies::fields::PolicyFields;
use crate::workloads::policies::form::PolicyForm;
use crate::workloads::queries::draft_read;

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
    /// The chart; its key is empty for files.
    pub chart: ChartForm,
    /// The Git repository; not set for other sources.
    pub git: GitForm,
    /// The policies.
    pub policies: PolicyForm,
}

/// Saves files and policies of the draft.
#[server(prefix = "/api/fn", endpoint = "config_save")]
pub async fn config_save(form: ConfigForm) -> AppResult<i64> {
    use super::limits::create_source;
    use crate::host;
    let (hub, actor) = (host::hub()?, host::actor()?);
    let source = create_source(form.files, &form.chart, &form.git).map_err(host::with_status)?;
    let patch = hub::DraftPatch {
        namespace: Some(form.namespace.trim().to_owned()),
        source: Some(source),
        ..form.policies.into_patch()
    };
    Ok(host::into_app_result(hub.change_draft(&actor, &form.name, patch, form.base_revision).await)?.revision)
}

/// The tab. Reads the draft once: concurrent edits must not change the text while a person edits it.
#[component]
pub fn ConfigTab(name: Memo<String>) -> impl IntoView {
    let action = ServerAction::<ConfigSave>::new();
    let data = create_resource(move || name.get(), draft_read);
    render_resource_part(data, move |workload| {
        view! { <ConfigFields workload=workload action=action /> }.into_any()
    })
}

#[component]
fn ConfigFields(workload: Workload, action: ServerAction<ConfigSave>) -> impl IntoView {
    let namespace = RwSignal::new(workload.draft.namespace.clone());
    let name = workload.name.clone();
    let source_fields = match &workload.draft.source {
        Source::Git(source) => {
            let draft = GitDraft::new(source);
            let findings = draft.findings(Signal::stored(name.clone()), namespace.into());
            view! { <GitFields draft=draft findings=findings prefix="form" workload=name.clone() /> }
                .into_any()
        }
        Source::Chart(source) => {
            let draft = ChartDraft::new(source);
            let findings = draft.findings(Signal::stored(name.clone()), namespace.into());
            view! { <ChartFields draft=draft findings=findings prefix="form" workload=name.clone() /> }
                .into_any()
        }
        Source::Yaml { files } => {
            let drafts = FileDrafts::new(files);
            let findings = drafts.findings(Signal::stored(name.clone()), namespace.into());
            view! { <FilesEditor drafts=drafts findings=findings prefix="form" /> }.into_any()
        }
    };
    // The next save builds on the revision that this one stored.
    let base_revision = RwSignal::new(workload.revision);
    Effect::new(move |_| {
        if let Some(Ok(revision)) = action.value().get() {
            base_revision.set(revision);
        }
    });
    let save = save_button(&workload, "Save draft");
    view! {
        <ActionForm action=action attr:class="stack">
            <input type="hidden" name="form[name]" value=name.clone() />
            <input type="hidden" name="form[base_revision]" value=move || base_revision.get().to_string() />
            {save_result(move || action.value().get().map(|saved| saved.map(drop)), &name, "Draft saved.")}
            <div class="split split-344">
                {source_fields}
                <aside class="fields" aria-label="Policies">
                    <div class="field">
                        <label class="field-label" for="namespace">
                            "Namespace"
                        </label>
                        <input
                            class="input input-mono"
                            id="namespace"
                            name="form[namespace]"
                            value=workload.draft.namespace.clone()
                            maxlength="63"
                            required=true
                            on:input=move |ev| namespace.set(event_target_value(&ev))
                        />
                        <p class="field-help">"For objects that name none."</p>
                    </div>
                    <PolicyFields addon=workload.draft.addon policies=workload.draft.policies.clone() />
                    <div>{save}</div>
                    <p class="meta">"Saving changes the draft. Clusters change when you publish."</p>
                </aside>
            </div>
        </ActionForm>
    }
    .into_any()
}
