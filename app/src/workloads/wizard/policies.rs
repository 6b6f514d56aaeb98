//! The step that asks how a workload is kept.

use domain::workload::Workload;
use leptos::prelude::*;
use leptos_meta::Title;
use serde::{Deserialize, Serialize};

use super::{FORM, Step, WizardFoot, named};
use crate::components::{Said, loaded};
use crate::errors::Answer;
use crate::workloads::calls::draft_read;
use crate::workloads::policy_fields::{PolicyFields, PolicyForm};

/// The form, as it is sent. Unticked boxes are not sent at all, so every part has a default.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default)]
pub struct PoliciesForm {
    /// Name of the workload.
    pub name: String,
    /// The revision of the draft that the person saw.
    pub seen: i64,
    /// How it is kept.
    pub kept: PolicyForm,
}

/// Saves the policies of the draft; `then` says where the wizard goes on.
#[server(prefix = "/api/fn", endpoint = "policies_save")]
pub async fn policies_save(form: PoliciesForm, #[server(default)] then: String) -> Answer<i64> {
    use crate::host;
    let (hub, actor) = (host::hub()?, host::actor()?);
    let mut spec = host::answer(hub.workload_view(&form.name).await)?.workload.draft;
    form.kept.into_spec(&mut spec);
    let edit = hub::WorkloadEdit { spec: Some(spec), labels: None };
    let revision = host::answer(hub.workload_edit(&actor, &form.name, edit, Some(form.seen)).await)?.revision;
    super::go_on(&form.name, Step::Policies, &then);
    Ok(revision)
}

/// The page.
#[component]
pub fn PoliciesPage() -> impl IntoView {
    let name = named();
    let action = ServerAction::<PoliciesSave>::new();
    let data = Resource::new(move || name.get(), draft_read);
    view! {
        {move || view! { <Title text=format!("Policies of {}", name.get()) /> }}
        {loaded(data, move |workload| show(workload, action))}
    }
    .into_any()
}

fn show(workload: Workload, action: ServerAction<PoliciesSave>) -> AnyView {
    let nothing = Signal::stored(Vec::new());
    let seen = super::seen(workload.revision, move || action.value().get().and_then(Result::ok));
    view! {
        <ActionForm action=action attr:id=FORM attr:class="wizard-step">
            <input type="hidden" name="form[name]" value=workload.name.clone() />
            <input type="hidden" name="form[seen]" value=move || seen.get().to_string() />
            {move || action.value().get().and_then(Result::err).map(|error| view! { <Said error=error /> })}
            <div class="fields max-w-140">
                <PolicyFields addon=workload.draft.addon policies=workload.draft.policies />
            </div>
            <WizardFoot step=Step::Policies findings=nothing busy=action.pending() />
        </ActionForm>
    }
    .into_any()
}
