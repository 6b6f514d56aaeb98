//! The step that asks what runs.

use domain::workload::{SourceFile, Workload};
use leptos::prelude::*;
use leptos_meta::Title;
use serde::{Deserialize, Serialize};

use super::keep::{Keeper, Kept};
use super::{FORM, Step, WizardFoot, named};
use crate::components::{Said, loaded};
use crate::errors::Answer;
use crate::workloads::calls::draft_read;
use crate::workloads::containers::{ContainersForm, Text};
use crate::workloads::files::{Drafts, FilesEditor};

/// The form, as it is sent.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default)]
pub struct SourceForm {
    /// Name of the workload.
    pub name: String,
    /// The revision of the draft that the person saw.
    pub seen: i64,
    /// Namespace for objects that name none.
    pub namespace: String,
    /// The files.
    pub files: Vec<SourceFile>,
}

/// Saves the files of the draft; `then` says where the wizard goes on.
#[server(prefix = "/api/fn", endpoint = "source_save")]
pub async fn source_save(form: SourceForm, #[server(default)] then: String) -> Answer<Kept> {
    use crate::host;
    use crate::workloads::source::source_of;
    let (hub, actor) = (host::hub()?, host::actor()?);
    let source = source_of(form.files).map_err(host::refused)?;
    let stored = host::answer(hub.workload_view(&form.name).await)?.workload;
    let mut spec = stored.draft.clone();
    spec.namespace = form.namespace.trim().to_owned();
    spec.source = source;
    // The same text twice is one save: the draft keeps itself, and then the person presses the button.
    let revision = if spec == stored.draft {
        stored.revision
    } else {
        let edit = hub::WorkloadEdit { spec: Some(spec), labels: None };
        host::answer(hub.workload_edit(&actor, &form.name, edit, Some(form.seen)).await)?.revision
    };
    super::go_on(&form.name, Step::Source, &then);
    Ok(Kept { revision, at: hub.clock().now() })
}

/// The page. The draft is read once: what others do meanwhile must not change the text under the person's hands.
#[component]
pub fn SourcePage() -> impl IntoView {
    let name = named();
    let action = ServerAction::<SourceSave>::new();
    let data = Resource::new(move || name.get(), draft_read);
    view! {
        {move || view! { <Title text=format!("Source of {}", name.get()) /> }}
        {loaded(data, move |workload| view! { <SourceStep workload=workload action=action /> }.into_any())}
    }
    .into_any()
}

#[component]
fn SourceStep(workload: Workload, action: ServerAction<SourceSave>) -> impl IntoView {
    let drafts = Drafts::new(workload.draft.source.files());
    let namespace = RwSignal::new(workload.draft.namespace.clone());
    let findings = drafts.findings(Signal::stored(workload.name.clone()), namespace.into());
    let seen = RwSignal::new(workload.revision);
    let keeper = Keeper::new(&workload.name, namespace, drafts, seen);
    Effect::new(move |_| {
        if let Some(Ok(kept)) = action.value().get() {
            keeper.saved(kept);
        }
    });
    view! {
        <ActionForm action=action attr:id=FORM attr:class="wizard-step">
            <input type="hidden" name="form[name]" value=workload.name.clone() />
            <input type="hidden" name="form[seen]" value=move || seen.get().to_string() />
            <input type="hidden" name="form[namespace]" value=move || namespace.get() />
            {move || action.value().get().and_then(Result::err).map(|error| view! { <Said error=error /> })}
            <div class="source-split">
                <ContainersForm text=Text::new(drafts, findings) name=workload.name.clone() intent=workload.intent />
                <FilesEditor drafts=drafts findings=findings prefix="form" />
            </div>
            <WizardFoot step=Step::Source findings=findings busy=action.pending() state=move || keeper.word() />
        </ActionForm>
    }
    .into_any()
}
