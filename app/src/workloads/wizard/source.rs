//! The step for the source.

use domain::workload::{SourceFile, Workload};
use leptos::prelude::*;
use leptos_meta::Title;
use serde::{Deserialize, Serialize};

use super::autosave::{Autosave, SavedDraft};
use super::{FORM, WizardFooter, WizardStep, workload_name};
use crate::components::{ErrorBanner, render_resource};
use crate::errors::AppResult;
use crate::workloads::containers::{ContainersForm, SourceText};
use crate::workloads::files::{FileDrafts, FilesEditor};
use crate::workloads::queries::draft_read;

/// The form as it is sent.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default)]
pub struct SourceForm {
    /// Name of the workload.
    pub name: String,
    /// The draft revision that the form was loaded with.
    pub base_revision: i64,
    /// Namespace for objects that name none.
    pub namespace: String,
    /// The files.
    pub files: Vec<SourceFile>,
}

/// Saves the files of the draft. `then` selects where the wizard goes next.
#[server(prefix = "/api/fn", endpoint = "source_save")]
pub async fn source_save(form: SourceForm, #[server(default)] then: String) -> AppResult<SavedDraft> {
    use crate::host;
    use crate::workloads::source::create_source;
    let (hub, actor) = (host::hub()?, host::actor()?);
    let source = create_source(form.files).map_err(host::with_status)?;
    let stored = host::into_app_result(hub.get_workload(&form.name).await)?.workload;
    let mut spec = stored.draft.clone();
    spec.namespace = form.namespace.trim().to_owned();
    spec.source = source;
    // An unchanged draft is not stored again: the form is often submitted after an autosave.
    let revision = if spec == stored.draft {
        stored.revision
    } else {
        let edit = hub::WorkloadEdit { spec: Some(spec), labels: None };
        host::into_app_result(hub.edit_workload(&actor, &form.name, edit, Some(form.base_revision)).await)?
            .revision
    };
    super::redirect_after(&form.name, WizardStep::Source, &then);
    Ok(SavedDraft { revision, saved_at: hub.clock().now() })
}

/// The page. Reads the draft once: concurrent edits must not change the text while a person edits it.
#[component]
pub fn SourcePage() -> impl IntoView {
    let name = workload_name();
    let action = ServerAction::<SourceSave>::new();
    let data = Resource::new(move || name.get(), draft_read);
    view! {
        {move || view! { <Title text=format!("Source of {}", name.get()) /> }}
        {render_resource(data, move |workload| view! { <SourceStep workload=workload action=action /> }.into_any())}
    }
    .into_any()
}

#[component]
fn SourceStep(workload: Workload, action: ServerAction<SourceSave>) -> impl IntoView {
    let drafts = FileDrafts::new(workload.draft.source.files());
    let namespace = RwSignal::new(workload.draft.namespace.clone());
    let findings = drafts.findings(Signal::stored(workload.name.clone()), namespace.into());
    let base_revision = RwSignal::new(workload.revision);
    let keeper = Autosave::new(&workload.name, namespace, drafts, base_revision);
    Effect::new(move |_| {
        if let Some(Ok(kept)) = action.value().get() {
            keeper.record_submission(kept);
        }
    });
    view! {
        <ActionForm action=action attr:id=FORM attr:class="wizard-step">
            <input type="hidden" name="form[name]" value=workload.name.clone() />
            <input type="hidden" name="form[base_revision]" value=move || base_revision.get().to_string() />
            <input type="hidden" name="form[namespace]" value=move || namespace.get() />
            {move || action.value().get().and_then(Result::err).map(|error| view! { <ErrorBanner error=error /> })}
            <div class="source-split">
                <ContainersForm text=SourceText::new(drafts, findings) name=workload.name.clone() intent=workload.intent />
                <FilesEditor drafts=drafts findings=findings prefix="form" />
            </div>
            <WizardFooter step=WizardStep::Source findings=findings busy=action.pending() state=move || keeper.status_view() />
        </ActionForm>
    }
    .into_any()
}
