//! The step for the rollout: the waves in which a publish reaches its clusters.

use domain::Finding;
use domain::cluster::Cluster;
use domain::finding;
use domain::placement::{ClusterGroup, decide};
use domain::rollout::{WavePreview, check_fleet, preview_waves};
use leptos::prelude::*;
use leptos_meta::Title;

use super::fields::{on_failure_field, schedule_fields, wave_list};
use super::form::{RolloutForm, RolloutPreset, findings_by_field, map_to_fields};
use super::panel::WaveList;
use crate::components::{ErrorBanner, join_names, pluralize, render_resource};
use crate::errors::AppResult;
use crate::resource::create_resource;
use crate::workloads::autosave::SavedDraft;
use crate::workloads::draft_form::DraftForm;
use crate::workloads::draft_part::DraftPart;
use crate::workloads::form_autosave::FormAutosave;
use crate::workloads::form_page::{open_left_form, watch_left_form};
use crate::workloads::placement::tab::{PlacementData, placement_read};
use crate::workloads::text_field::FieldFindings;
use crate::workloads::wizard::{FORM, WizardFooter, WizardStep, workload_name};

/// Saves the rollout of the draft. `then` selects where the wizard goes next; `preset` is `canary`, `at-once` or empty and
/// replaces the waves ([`RolloutPreset`]), for the preset buttons without JavaScript.
#[server(prefix = "/api/fn", endpoint = "rollout_save")]
pub async fn rollout_save(
    name: String,
    base_revision: i64,
    #[server(default)] rollout: RolloutForm,
    #[server(default)] preset: String,
    #[server(default)] then: String,
) -> AppResult<SavedDraft> {
    use crate::workloads::wizard::redirect_after;
    use crate::{errors::AppError, host};
    let (hub, actor) = (host::hub()?, host::actor()?);
    let mut form = rollout;
    if let Some(preset) = RolloutPreset::parse(&preset) {
        preset.apply(&mut form);
    }
    let (strategy, _) = form.parse().map_err(|findings| host::with_status(AppError::Invalid(findings)))?;
    let patch = hub::DraftPatch { rollout: Some(strategy), ..Default::default() };
    let revision =
        host::into_app_result(hub.change_draft(&actor, &name, patch, base_revision).await)?.revision;
    redirect_after(&name, WizardStep::Rollout, &then);
    Ok(SavedDraft { revision, saved_at: hub.clock().now() })
}

impl DraftForm for RolloutSave {
    fn part(&self) -> DraftPart {
        DraftPart::Rollout
    }

    fn set_base_revision(&mut self, revision: i64) {
        self.base_revision = revision;
    }

    async fn save(self) -> AppResult<Option<SavedDraft>> {
        let (preset, then) = (String::new(), String::new());
        rollout_save(self.name, self.base_revision, self.rollout, preset, then).await.map(Some)
    }
}

/// Names of clusters that the preview of a rollout without waves shows; the others are counted.
const NAMES_SHOWN: usize = 12;

/// The page.
#[component]
pub fn RolloutPage() -> impl IntoView {
    let name = workload_name();
    let action = ServerAction::<RolloutSave>::new();
    let is_left = watch_left_form();
    let data = create_resource(move || (name.get(), is_left.get()), |(name, _)| placement_read(name));
    view! {
        {move || view! { <Title text=format!("Rollout of {}", name.get()) /> }}
        {render_resource(data, move |data| show_rollout(data, action))}
    }
    .into_any()
}

/// The selected clusters, in the order of the decision.
struct SelectedClusters {
    clusters: Vec<Cluster>,
    groups: Vec<ClusterGroup>,
}

/// Findings about the form, and its waves.
type RolloutPreview = (Vec<Finding>, Vec<WavePreview>);

fn preview_rollout(form: &RolloutForm, selected: &SelectedClusters) -> RolloutPreview {
    let mut findings = form.findings();
    let Ok((strategy, rows)) = form.parse() else { return (findings, Vec::new()) };
    let clusters: Vec<&Cluster> = selected.clusters.iter().collect();
    findings.extend(map_to_fields(check_fleet(&strategy, &clusters, &selected.groups), &rows));
    finding::sort_findings(&mut findings);
    (findings, preview_waves(&strategy, &clusters, &selected.groups))
}

fn show_rollout(data: PlacementData, action: ServerAction<RolloutSave>) -> AnyView {
    let workload = data.workload;
    let fleet = data.candidates.into_fleet();
    let decision = decide(&workload.draft.placement, &fleet.clusters, &fleet.groups, &fleet.current);
    let order: Vec<_> = decision.selected().map(|evaluation| evaluation.cluster).collect();
    let by_id: std::collections::HashMap<_, _> =
        fleet.clusters.into_iter().map(|cluster| (cluster.id, cluster)).collect();
    let clusters = order.iter().filter_map(|id| by_id.get(id).cloned()).collect();
    let selected = StoredValue::new(SelectedClusters { clusters, groups: fleet.groups });
    let typed = open_left_form::<RolloutSave>().map(|typed| typed.rollout);
    let begin = typed.unwrap_or_else(|| RolloutForm::from_strategy(&workload.draft.rollout));
    let form = RwSignal::new(begin);
    let is_hydrated = RwSignal::new(false);
    Effect::new(move |_| {
        form.update(|form| form.waves.retain(|row| !row.is_blank()));
        is_hydrated.set(true);
    });
    let preview =
        Memo::new(move |_| form.with(|form| selected.with_value(|selected| preview_rollout(form, selected))));
    let wrong: FieldFindings = Memo::new(move |_| preview.with(|(findings, _)| findings_by_field(findings)));
    let findings = Signal::derive(move || preview.with(|(findings, _)| findings.clone()));
    let (base_revision, element) = (RwSignal::new(workload.revision), NodeRef::new());
    let is_editable = domain::actions::check_edit(&workload).is_ok();
    let autosave = FormAutosave::<RolloutSave>::new(&workload.name, element, base_revision, is_editable);
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
            <input type="hidden" name="name" value=workload.name.clone() />
            <input type="hidden" name="base_revision" value=move || base_revision.get().to_string() />
            {move || action.value().get().and_then(Result::err).map(|error| view! { <ErrorBanner error=error /> })}
            <div class="grid gap-10 lg:grid-cols-[minmax(0,1fr)_344px]">
                <div class="fields">
                    {preset_buttons(form)}
                    {wave_list(form, wrong, is_hydrated)}
                    {on_failure_field(form, wrong)}
                    {schedule_fields(form, wrong)}
                </div>
                {live_preview(preview, selected)}
            </div>
            <WizardFooter step=WizardStep::Rollout findings=findings busy=action.pending() status=autosave.status_view() />
        </ActionForm>
    }
    .into_any()
}

/// The preset buttons. With JavaScript they fill the form; without, the server stores the preset.
fn preset_buttons(form: RwSignal<RolloutForm>) -> AnyView {
    let current = Memo::new(move |_| form.with(RolloutForm::preset));
    let button = |preset: RolloutPreset, label: &'static str| {
        view! {
            <button
                type="submit"
                name="preset"
                value=preset.as_str()
                formnovalidate=true
                aria-pressed=move || (current.get() == Some(preset)).to_string()
                on:click=move |ev| {
                    ev.prevent_default();
                    form.update(|form| preset.apply(form));
                }
            >
                {label}
            </button>
        }
    };
    let custom = move || current.get().is_none().then(|| view! { <span class="meta">"Custom"</span> });
    view! {
        <div class="stack-sm">
            <div class="flex flex-wrap items-center gap-3">
                <div class="segmented" role="group" aria-label="Start from">
                    {button(RolloutPreset::AtOnce, "All at once")}
                    {button(RolloutPreset::Canary, "Canary first")}
                </div>
                {custom}
            </div>
            <p class="text-2">
                "Waves run in order: the next one starts when every cluster of the previous one is operational and has been for its soak time. Without waves, all clusters get it at once."
            </p>
        </div>
    }
    .into_any()
}

/// The live preview of the waves.
fn live_preview(preview: Memo<RolloutPreview>, selected: StoredValue<SelectedClusters>) -> AnyView {
    let all = selected.with_value(|selected| u32::try_from(selected.clusters.len()).unwrap_or(u32::MAX));
    let lead = move || {
        let waves = preview.with(|(_, waves)| waves.len());
        match waves {
            0 => format!("{} at once", pluralize(all, "cluster")),
            n => {
                format!(
                    "{} in {}",
                    pluralize(all, "cluster"),
                    pluralize(u32::try_from(n).unwrap_or(0), "wave")
                )
            }
        }
    };
    let names = move || {
        let names = selected.with_value(|selected| {
            selected.clusters.iter().map(|cluster| cluster.name.clone()).collect::<Vec<_>>()
        });
        view! { <p class="meta">{join_names(&names, names.len(), NAMES_SHOWN)}</p> }
    };
    view! {
        <section class="stack-sm" aria-labelledby="waves" aria-live="polite">
            <h2 class="section" id="waves">
                {lead}
            </h2>
            <WaveList waves=Signal::derive(move || preview.with(|(_, waves)| waves.clone())) />
            {move || preview.with(|(_, waves)| waves.is_empty()).then(names)}
            {move || preview.with(|(findings, _)| findings.iter().map(finding_line).collect_view())}
        </section>
    }
    .into_any()
}

fn finding_line(finding: &Finding) -> impl IntoView + use<> {
    let look = crate::components::findings::worst_style(std::slice::from_ref(finding));
    let on = if finding.clusters.is_empty() {
        String::new()
    } else {
        format!(" {}", join_names(&finding.clusters, finding.clusters.len(), 5))
    };
    let text = format!("{} {}{on}", finding.message, finding.hint);
    view! {
        <p class="flex gap-2">
            {look.icon_view()} <span><span class="mono">{finding.code.clone()}</span> {format!(" {text}")}</span>
        </p>
    }
}
