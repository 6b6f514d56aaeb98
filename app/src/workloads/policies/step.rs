//! The step for the policies.

use domain::workload::Workload;
use leptos::prelude::*;
use leptos_meta::Title;
use serde::{Deserialize, Serialize};

use super::fields::PolicyFields;
use super::form::PolicyForm;
use super::rule_suggestions::RuleSuggestions;
use crate::components::{ErrorBanner, render_resource};
use crate::errors::AppResult;
use crate::resource::create_resource;
use crate::workloads::autosave::SavedDraft;
use crate::workloads::draft_form::DraftForm;
use crate::workloads::draft_part::DraftPart;
use crate::workloads::form_autosave::FormAutosave;
use crate::workloads::form_page::{open_left_form, watch_left_form};
use crate::workloads::queries::draft_read;
use crate::workloads::wizard::{FORM, WizardFooter, WizardStep, workload_name};

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

/// Saves the policies of the draft. `then` selects where the wizard goes next.
#[server(prefix = "/api/fn", endpoint = "policies_save")]
pub async fn policies_save(form: PoliciesForm, #[server(default)] then: String) -> AppResult<SavedDraft> {
    use crate::workloads::wizard::redirect_after;
    use crate::{errors::AppError, host};
    let (hub, actor) = (host::hub()?, host::actor()?);
    let policies =
        form.policies.parse().map_err(|findings| host::with_status(AppError::Invalid(findings)))?;
    let patch = hub::DraftPatch {
        addon: Some(form.policies.addon),
        owners: Some(form.policies.parse_owners()),
        policies: Some(policies),
        ..Default::default()
    };
    let revision =
        host::into_app_result(hub.change_draft(&actor, &form.name, patch, form.base_revision).await)?
            .revision;
    redirect_after(&form.name, WizardStep::Policies, &then);
    Ok(SavedDraft { revision, saved_at: hub.clock().now() })
}

impl DraftForm for PoliciesSave {
    fn part(&self) -> DraftPart {
        DraftPart::Policies
    }

    fn set_base_revision(&mut self, revision: i64) {
        self.form.base_revision = revision;
    }

    async fn save(self) -> AppResult<Option<SavedDraft>> {
        policies_save(self.form, String::new()).await.map(Some)
    }
}

/// The page.
#[component]
pub fn PoliciesPage() -> impl IntoView {
    let name = workload_name();
    let action = ServerAction::<PoliciesSave>::new();
    let is_left = watch_left_form();
    let data = create_resource(move || (name.get(), is_left.get()), |(name, _)| draft_read(name, false));
    view! {
        {move || view! { <Title text=format!("Policies of {}", name.get()) /> }}
        {render_resource(data, move |content| show_policies(content.workload, action))}
    }
    .into_any()
}

fn show_policies(workload: Workload, action: ServerAction<PoliciesSave>) -> AnyView {
    let nothing = Signal::stored(Vec::new());
    let is_chart = workload.draft.source.is_chart();
    let suggestions = RuleSuggestions::from_source(&workload.draft.source);
    let (base_revision, element) = (RwSignal::new(workload.revision), NodeRef::new());
    let is_editable = domain::actions::check_edit(&workload).is_ok();
    let autosave = FormAutosave::<PoliciesSave>::new(&workload.name, element, base_revision, is_editable);
    let typed = open_left_form::<PoliciesSave>();
    autosave.enter_typed_input(typed.as_ref());
    Effect::new(move |_| {
        if let Some(Ok(saved)) = action.value().get() {
            autosave.record_submission(saved);
        }
    });
    view! {
        <ActionForm
            action=action
            node_ref=element
            attr:id=FORM
            attr:class="wizard-step"
            on:input=move |_| autosave.note_input()
            on:change=move |_| autosave.note_input()
            on:click=move |_| autosave.note_click()
        >
            <input type="hidden" name="form[name]" value=workload.name.clone() />
            <input type="hidden" name="form[base_revision]" value=move || base_revision.get().to_string() />
            {move || action.value().get().and_then(Result::err).map(|error| view! { <ErrorBanner error=error /> })}
            <div class="fields max-w-140">
                <PolicyFields owners=workload.owners.join(", ") addon=workload.draft.addon policies=workload.draft.policies is_chart=is_chart suggestions=suggestions typed=typed.map(|typed| typed.form.policies) />
            </div>
            <WizardFooter step=WizardStep::Policies findings=nothing busy=action.pending() status=autosave.status_view() />
        </ActionForm>
    }
    .into_any()
}
