//! The placement editor: the form, and for every cluster whether it is selected and why.

use domain::rollout::RolloutStrategy;
use domain::workload::{Workload, WorkloadSpec};
use leptos::prelude::*;
use leptos_router::hooks::use_query_map;
use serde::{Deserialize, Serialize};

use super::candidates::Candidates;
use super::evaluations::{LiveDecision, LivePreview, preview_findings, watch_decision};
use super::fields::{PlacementFields, with_spare_rows};
use super::form::PlacementForm;
use crate::components::{ErrorBanner, render_resource_part};
use crate::errors::AppResult;
use crate::paths::{self, WorkloadTab};
use crate::resource::create_resource;
use crate::workloads::autosave::SavedDraft;
use crate::workloads::draft_form::DraftForm;
use crate::workloads::draft_part::DraftPart;
use crate::workloads::draft_saving::{save_button, save_result};
use crate::workloads::form_autosave::FormAutosave;
use crate::workloads::form_page::{open_left_form, watch_left_form};
use crate::workloads::wizard::{FORM, RenderFooter};

/// Data of the editor.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct PlacementData {
    /// The workload with its draft; without the texts of its files.
    pub workload: Workload,
    /// The fleet to select from.
    pub candidates: Candidates,
}

/// Reads the data of the editor.
#[server(prefix = "/api/fn", endpoint = "placement_read", input = leptos::server_fn::codec::GetUrl)]
pub async fn placement_read(name: String) -> AppResult<PlacementData> {
    use crate::host;
    use crate::workloads::source::limits::clear_texts;
    let (hub, actor) = (host::hub()?, host::actor()?);
    let (workload, fleet) = host::into_app_result(hub.get_draft_with_placement_inputs(&name).await)?;
    let mut workload = host::into_app_result(hub.hide_secrets(&actor, workload).await)?;
    clear_texts(&mut workload.draft.source);
    let groups = host::into_app_result(hub.hide_secrets(&actor, fleet.groups).await)?;
    let candidates = Candidates::new(fleet.clusters, groups, &fleet.current);
    Ok(PlacementData { workload, candidates })
}

/// Saves the placement of the draft. `then` selects where the wizard goes next.
#[server(prefix = "/api/fn", endpoint = "placement_save")]
pub async fn placement_save(
    name: String,
    base_revision: i64,
    placement: PlacementForm,
    #[server(default)] then: String,
) -> AppResult<SavedDraft> {
    use crate::workloads::wizard::{WizardStep, redirect_after};
    use crate::{errors::AppError, host};
    let (hub, actor) = (host::hub()?, host::actor()?);
    let placement = placement.parse().map_err(|findings| host::with_status(AppError::Invalid(findings)))?;
    let patch = hub::DraftPatch { placement: Some(placement), ..Default::default() };
    let revision =
        host::into_app_result(hub.change_draft(&actor, &name, patch, base_revision).await)?.revision;
    redirect_after(&name, WizardStep::Placement, &then);
    Ok(SavedDraft { revision, saved_at: hub.clock().now() })
}

impl DraftForm for PlacementSave {
    fn part(&self) -> DraftPart {
        DraftPart::Placement
    }

    fn set_base_revision(&mut self, revision: i64) {
        self.base_revision = revision;
    }

    async fn save(self) -> AppResult<Option<SavedDraft>> {
        placement_save(self.name, self.base_revision, self.placement, String::new()).await.map(Some)
    }
}

/// The tab with the placement.
#[component]
pub fn PlacementTab(name: Memo<String>) -> impl IntoView {
    let action = ServerAction::<PlacementSave>::new();
    let is_left = watch_left_form();
    let data = create_resource(move || (name.get(), is_left.get()), |(name, _)| placement_read(name));
    render_resource_part(data, move |data| view! { <PlacementEditor data=data action=action /> }.into_any())
}

/// The editor with a live preview. A step of the wizard passes its footer; the tab has a button of its own.
#[component]
pub fn PlacementEditor(
    /// The workload and its fleet.
    data: PlacementData,
    /// The action that saves.
    action: ServerAction<PlacementSave>,
    /// The footer of the wizard.
    #[prop(optional)]
    footer: Option<RenderFooter>,
) -> impl IntoView {
    let workload = data.workload;
    let fleet = data.candidates.into_fleet();
    let typed = open_left_form::<PlacementSave>().map(|typed| typed.placement);
    let begin = typed.or_else(|| PlacementForm::from_query(&use_query_map().get_untracked()));
    let begin = begin.unwrap_or_else(|| PlacementForm::from_placement(&workload.draft.placement));
    let form = RwSignal::new(with_spare_rows(begin, &fleet));
    let fleet = StoredValue::new(fleet);
    let decision = watch_decision(form, fleet);
    let has_fields = Memo::new(move |_| form.with(|form| form.as_text != "yes"));
    let default_available = watch_default_available(workload.draft.rollout.clone(), decision);
    let findings = Signal::derive(move || {
        decision.with(|decision| fleet.with_value(|fleet| preview_findings(decision, fleet)))
    });
    let base_revision = RwSignal::new(workload.revision);
    let element = NodeRef::new();
    let is_editable = domain::actions::check_edit(&workload).is_ok();
    let autosave = FormAutosave::<PlacementSave>::new(&workload.name, element, base_revision, is_editable);
    Effect::new(move |_| {
        if let Some(Ok(saved)) = action.value().get() {
            autosave.record_submission(saved);
        }
    });
    let name = workload.name.clone();
    let busy = Signal::derive(move || action.pending().get());
    let status = view! {
        <a class="link foot-count inline-flex min-h-6 items-center" href="#placement-result" rel="external">{move || decision.with(summarize_decision)}</a>
        {autosave.status_view()}
    };
    let (id, end) = match footer {
        Some(footer) => (FORM, footer(findings, busy, status.into_any())),
        None => ("placement", tab_footer(&workload, status.into_any())),
    };
    let outcome = footer.is_none().then(|| {
        save_result(
            move || action.value().get().map(|saved| saved.map(drop)),
            &name,
            "Placement saved in the draft.",
        )
    });
    let error =
        move || action.value().get().and_then(Result::err).map(|error| view! { <ErrorBanner error=error /> });
    let rejected = footer.is_some().then_some(error);
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
            <input type="hidden" name="name" value=name />
            <input type="hidden" name="base_revision" value=move || base_revision.get().to_string() />
            <div class="grid gap-10 lg:grid-cols-[372px_minmax(0,1fr)]">
                <PlacementFields form=form fleet=fleet decision=decision default_available=default_available />
                <section class="min-w-0" id="placement-result" tabindex="-1" aria-label="Result of the placement">
                    <LivePreview preview=decision fleet=fleet has_fields=has_fields />
                </section>
            </div>
            {end}
        </ActionForm>
    }
    .into_any()
}

/// How many clusters must run the workload while others lose it, if the form has no number, and how many are selected.
fn watch_default_available(
    rollout: RolloutStrategy,
    decision: Memo<LiveDecision>,
) -> Memo<Option<(u32, u32)>> {
    let spec = WorkloadSpec { rollout, ..WorkloadSpec::default() };
    Memo::new(move |_| {
        decision.with(|decided| {
            let (_, decision) = decided.as_ref().ok()?;
            let selected = u32::try_from(decision.selected().count()).ok()?;
            Some((spec.min_available(selected), selected))
        })
    })
}

/// How many clusters the form selects: the link in the foot to the tables, which are below the form on a narrow screen.
fn summarize_decision(decided: &LiveDecision) -> String {
    match decided {
        Ok((_, decision)) => {
            format!("{} of {} selected", decision.selected().count(), decision.evaluations.len())
        }
        Err(_) => "Not valid yet".to_owned(),
    }
}

fn tab_footer(workload: &Workload, status: AnyView) -> AnyView {
    let save = save_button(workload, "Save placement");
    view! {
        <input type="hidden" name="tab" value=WorkloadTab::Placement.slug() />
        <div class="tab-foot">
            {save}
            <noscript>
                <button class="btn" type="submit" formmethod="get" formaction=paths::workload(&workload.name)>
                    "Preview"
                </button>
            </noscript>
            <span class="meta">"Saving changes the draft. Clusters change when you publish."</span>
            {status}
        </div>
    }
    .into_any()
}
