//! The step for the policies.

use domain::workload::Workload;
use leptos::prelude::*;
use leptos_meta::Title;
use serde::{Deserialize, Serialize};

use super::fields::PolicyFields;
use super::form::PolicyForm;
use crate::components::{ErrorBanner, render_resource};
use crate::errors::AppResult;
use crate::resource::create_resource;
use crate::workloads::queries::draft_read;
use crate::workloads::wizard::{FORM, WizardFooter, WizardStep, track_base_revision, workload_name};

/// The form as it is sent. Browsers do not send unticked boxes, so every field has a default.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default)]
pub struct PoliciesForm {
    /// Name of the workload.
    pub name: String,
    /// The draft revision that the form was loaded with.
    pub base_revision: i64,
    /// The policies.
    pub policies: PolicyForm,
}

/// Saves the policies of the draft. `then` selects where the wizard goes next. Returns the revision of the draft.
#[server(prefix = "/api/fn", endpoint = "policies_save")]
pub async fn policies_save(form: PoliciesForm, #[server(default)] then: String) -> AppResult<i64> {
    use crate::host;
    use crate::workloads::wizard::redirect_after;
    let (hub, actor) = (host::hub()?, host::actor()?);
    let patch = form.policies.into_patch();
    let revision =
        host::into_app_result(hub.change_draft(&actor, &form.name, patch, form.base_revision).await)?
            .revision;
    redirect_after(&form.name, WizardStep::Policies, &then);
    Ok(revision)
}

/// The page.
#[component]
pub fn PoliciesPage() -> impl IntoView {
    let name = workload_name();
    let action = ServerAction::<PoliciesSave>::new();
    let data = create_resource(move || name.get(), draft_read);
    view! {
        {move || view! { <Title text=format!("Policies of {}", name.get()) /> }}
        {render_resource(data, move |workload| show_policies(workload, action))}
    }
    .into_any()
}

fn show_policies(workload: Workload, action: ServerAction<PoliciesSave>) -> AnyView {
    let nothing = Signal::stored(Vec::new());
    let base_revision =
        track_base_revision(workload.revision, move || action.value().get().and_then(Result::ok));
    view! {
        <ActionForm action=action attr:id=FORM attr:class="wizard-step">
            <input type="hidden" name="form[name]" value=workload.name.clone() />
            <input type="hidden" name="form[base_revision]" value=move || base_revision.get().to_string() />
            {move || action.value().get().and_then(Result::err).map(|error| view! { <ErrorBanner error=error /> })}
            <div class="fields max-w-140">
                <PolicyFields addon=workload.draft.addon policies=workload.draft.policies />
            </div>
            <WizardFooter step=WizardStep::Policies findings=nothing busy=action.pending() />
        </ActionForm>
    }
    .into_any()
}
