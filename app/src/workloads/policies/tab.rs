//! The editor of the policies: a tab of the workload, and the form of the wizard's step. Saving changes the draft; only a publish changes
//! clusters.

use domain::workload::Workload;
use leptos::prelude::*;
use serde::{Deserialize, Serialize};

use super::fields::PolicyFields;
use super::form::{PolicyForm, format_dependencies};
use super::rule_suggestions::RuleSuggestions;
use crate::components::{ErrorBanner, render_resource_part};
use crate::errors::AppResult;
use crate::resource::create_resource;
use crate::workloads::autosave::SavedDraft;
use crate::workloads::draft_form::DraftForm;
use crate::workloads::draft_part::DraftPart;
use crate::workloads::draft_saving::{save_button, save_result};
use crate::workloads::form_autosave::FormAutosave;
use crate::workloads::form_page::{open_left_form, watch_left_form};
use crate::workloads::queries::draft_read;
use crate::workloads::wizard::{FORM, RenderFooter};

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
    use crate::workloads::wizard::{WizardStep, redirect_after};
    use crate::{errors::AppError, host};
    let (hub, actor) = (host::hub()?, host::actor()?);
    let policies =
        form.policies.parse().map_err(|findings| host::with_status(AppError::Invalid(findings)))?;
    let patch = hub::DraftPatch {
        addon: Some(form.policies.addon),
        depends_on: form.policies.parse_dependencies(),
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

/// The tab with the policies.
#[component]
pub fn PoliciesTab(name: Memo<String>) -> impl IntoView {
    let action = ServerAction::<PoliciesSave>::new();
    let is_left = watch_left_form();
    let data = create_resource(move || (name.get(), is_left.get()), |(name, _)| draft_read(name, false));
    render_resource_part(data, move |content| {
        view! { <PoliciesEditor workload=content.workload action=action /> }.into_any()
    })
}

/// The form. A step of the wizard passes its footer; the tab has a button of its own.
#[component]
pub fn PoliciesEditor(
    /// The workload with its draft.
    workload: Workload,
    /// The action that saves.
    action: ServerAction<PoliciesSave>,
    /// The footer of the wizard.
    #[prop(optional)]
    footer: Option<RenderFooter>,
) -> impl IntoView {
    let name = workload.name.clone();
    let is_chart = workload.draft.source.is_chart();
    let suggestions = RuleSuggestions::from_source(&workload.draft.source);
    let (base_revision, element) = (RwSignal::new(workload.revision), NodeRef::new());
    let is_editable = domain::actions::check_edit(&workload).is_ok();
    let autosave = FormAutosave::<PoliciesSave>::new(&name, element, base_revision, is_editable);
    let typed = open_left_form::<PoliciesSave>();
    autosave.enter_typed_input(typed.as_ref());
    Effect::new(move |_| {
        if let Some(Ok(saved)) = action.value().get() {
            autosave.record_submission(saved);
        }
    });
    let busy = Signal::derive(move || action.pending().get());
    let (id, end) = match footer {
        Some(footer) => (FORM, footer(Signal::stored(Vec::new()), busy, autosave.status_view())),
        None => ("policies", tab_footer(&workload, autosave.status_view())),
    };
    let outcome = footer.is_none().then(|| {
        save_result(
            move || action.value().get().map(|saved| saved.map(drop)),
            &name,
            "Policies saved in the draft.",
        )
    });
    let error =
        move || action.value().get().and_then(Result::err).map(|error| view! { <ErrorBanner error=error /> });
    let rejected = footer.is_some().then_some(error);
    let current = Signal::derive(move || autosave.latest_fields().map(|save| save.form.policies));
    let owners = workload.owners.join(", ");
    let draft = workload.draft;
    let depends_on = format_dependencies(&draft.depends_on);
    view! {
        <ActionForm
            action=action
            node_ref=element
            attr:id=id
            attr:class=if footer.is_some() { "wizard-step" } else { "stack-md" }
            on:input=move |_| autosave.note_input()
            on:change=move |_| autosave.note_input()
            on:click=move |_| autosave.note_click()
        >
            {outcome} {rejected}
            <input type="hidden" name="form[name]" value=name />
            <input type="hidden" name="form[base_revision]" value=move || base_revision.get().to_string() />
            <PolicyFields owners=owners addon=draft.addon depends_on=depends_on policies=draft.policies is_chart=is_chart suggestions=suggestions typed=typed.map(|typed| typed.form.policies) current=current />
            {end}
        </ActionForm>
    }
    .into_any()
}

fn tab_footer(workload: &Workload, status: AnyView) -> AnyView {
    let save = save_button(workload, "Save policies");
    view! {
        <div class="tab-foot">
            {save} {status} <span class="meta">"Saving changes the draft. Clusters change when you publish."</span>
        </div>
    }
    .into_any()
}
