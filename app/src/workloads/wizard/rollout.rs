//! The step for the rollout: the waves in which a publish reaches its clusters.

use std::collections::BTreeSet;

use domain::Finding;
use domain::cluster::Cluster;
use domain::finding;
use domain::placement::{ClusterGroup, decide};
use domain::rollout::{MAX_WAVES, WavePreview, Weekday, check_fleet, preview_waves};
use leptos::prelude::*;
use leptos_meta::Title;

use super::{FORM, WizardFooter, WizardStep, workload_name};
use crate::components::{ErrorBanner, icon, join_names, pluralize, render_resource};
use crate::errors::AppResult;
use crate::workloads::placement_tab::{PlacementData, placement_read};
use crate::workloads::rollout::WaveList;
use crate::workloads::rollout_form::{RolloutForm, WaveForm, findings_by_field, map_to_fields};
use crate::workloads::text_field::{FieldFindings, TextFieldProps, finding_or_help, text_field};

/// Saves the rollout of the draft. `then` selects where the wizard goes next; `preset` is `canary`, `at-once` or empty and
/// replaces the form, for the preset buttons without JavaScript. Returns the revision of the draft.
#[server(prefix = "/api/fn", endpoint = "rollout_save")]
pub async fn rollout_save(
    name: String,
    base_revision: i64,
    #[server(default)] rollout: RolloutForm,
    #[server(default)] preset: String,
    #[server(default)] then: String,
) -> AppResult<i64> {
    use crate::{errors::AppError, host};
    let (hub, actor) = (host::hub()?, host::actor()?);
    let form = match preset.as_str() {
        "canary" => RolloutForm::canary(),
        "at-once" => RolloutForm::default(),
        _ => rollout,
    };
    let (strategy, _) = form.parse().map_err(|findings| host::with_status(AppError::Invalid(findings)))?;
    let mut spec = host::into_app_result(hub.get_workload(&name).await)?.workload.draft;
    spec.rollout = strategy;
    let edit = hub::WorkloadEdit { spec: Some(spec), labels: None };
    let revision =
        host::into_app_result(hub.edit_workload(&actor, &name, edit, Some(base_revision)).await)?.revision;
    super::redirect_after(&name, WizardStep::Rollout, &then);
    Ok(revision)
}

/// The page.
#[component]
pub fn RolloutPage() -> impl IntoView {
    let name = workload_name();
    let action = ServerAction::<RolloutSave>::new();
    let data = Resource::new(move || name.get(), placement_read);
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

fn preview_rollout(form: &RolloutForm, chosen: &SelectedClusters) -> RolloutPreview {
    let mut findings = form.findings();
    let Ok((strategy, rows)) = form.parse() else { return (findings, Vec::new()) };
    let clusters: Vec<&Cluster> = chosen.clusters.iter().collect();
    findings.extend(map_to_fields(check_fleet(&strategy, &clusters, &chosen.groups), &rows));
    finding::sort_findings(&mut findings);
    (findings, preview_waves(&strategy, &clusters, &chosen.groups))
}

fn show_rollout(data: PlacementData, action: ServerAction<RolloutSave>) -> AnyView {
    let workload = data.workload;
    let fleet = data.candidates.into_fleet();
    let decision = decide(&workload.draft.placement, &fleet.clusters, &fleet.groups, &fleet.current);
    let order: Vec<_> = decision.selected().map(|verdict| verdict.cluster).collect();
    let by_id: std::collections::HashMap<_, _> =
        fleet.clusters.into_iter().map(|cluster| (cluster.id, cluster)).collect();
    let clusters = order.iter().filter_map(|id| by_id.get(id).cloned()).collect();
    let chosen = StoredValue::new(SelectedClusters { clusters, groups: fleet.groups });
    let form = RwSignal::new(RolloutForm::from_strategy(&workload.draft.rollout));
    let alive = RwSignal::new(false);
    Effect::new(move |_| {
        form.update(|form| form.waves.retain(|row| !row.is_blank()));
        alive.set(true);
    });
    let judged =
        Memo::new(move |_| form.with(|form| chosen.with_value(|chosen| preview_rollout(form, chosen))));
    let wrong: FieldFindings = Memo::new(move |_| judged.with(|(findings, _)| findings_by_field(findings)));
    let findings = Signal::derive(move || judged.with(|(findings, _)| findings.clone()));
    let base_revision =
        super::track_base_revision(workload.revision, move || action.value().get().and_then(Result::ok));
    view! {
        <ActionForm action=action attr:id=FORM attr:class="wizard-step">
            <input type="hidden" name="name" value=workload.name.clone() />
            <input type="hidden" name="base_revision" value=move || base_revision.get().to_string() />
            {move || action.value().get().and_then(Result::err).map(|error| view! { <ErrorBanner error=error /> })}
            <div class="grid gap-10 lg:grid-cols-[minmax(0,1fr)_344px]">
                <div class="fields">
                    {preset_buttons(form)}
                    {wave_list(form, wrong, alive)}
                    {schedule_fields(form, wrong)}
                </div>
                {live_preview(judged, chosen)}
            </div>
            <WizardFooter step=WizardStep::Rollout findings=findings busy=action.pending() />
        </ActionForm>
    }
    .into_any()
}

/// The preset buttons. With JavaScript they fill the form; without, the server stores the preset.
fn preset_buttons(form: RwSignal<RolloutForm>) -> AnyView {
    let preset = |value: &'static str, word: &'static str, make: fn() -> RolloutForm| {
        view! {
            <button
                class="btn btn-sm"
                type="submit"
                name="preset"
                value=value
                formnovalidate=true
                on:click=move |ev| {
                    ev.prevent_default();
                    form.set(make());
                }
            >
                {word}
            </button>
        }
    };
    view! {
        <div class="stack-sm">
            <p class="text-2">
                "Waves run in order: the next one starts when every cluster of the previous one is operational and has been for its soak time. Without waves, all clusters get it at once."
            </p>
            <div class="flex flex-wrap items-center gap-2">
                <span class="text-2">"Start from"</span>
                {preset("canary", "Canary first", RolloutForm::canary)}
                {preset("at-once", "All at once", RolloutForm::default)}
            </div>
        </div>
    }
    .into_any()
}

fn wave_list(form: RwSignal<RolloutForm>, wrong: FieldFindings, alive: RwSignal<bool>) -> AnyView {
    let count = Memo::new(move |_| form.with(|form| form.waves.len()));
    view! {
        <For each=move || 0..count.get() key=|at| *at children=move |at| wave_fields(WaveRow { form, wrong, count, is_hydrated: alive, at }) />
        <p class="field-help">{finding_or_help(wrong, "/rollout/waves".to_owned(), "")}</p>
        <div>
            <button
                class="btn btn-sm btn-quiet"
                type="button"
                disabled=move || { count.get() >= MAX_WAVES }
                on:click=move |_| form.update(|form| form.waves.push(WaveForm::default()))
            >
                {icon("plus")}
                {move || if count.get() == 0 { "Add a wave" } else { "Another wave" }}
            </button>
        </div>
    }
    .into_any()
}

/// Properties of a text field of a wave.
#[derive(Clone, Copy)]
struct WaveFieldProps {
    key: &'static str,
    label: &'static str,
    placeholder: &'static str,
    help: &'static str,
    value_mut: fn(&mut WaveForm) -> &mut String,
}

const TARGET_FIELDS: [WaveFieldProps; 4] = [
    WaveFieldProps {
        key: "name",
        label: "Name",
        placeholder: "canary",
        help: "Lower-case letters, digits, dashes.",
        value_mut: |row| &mut row.name,
    },
    WaveFieldProps {
        key: "clusters",
        label: "Clusters",
        placeholder: "all remaining",
        help: "Names; or in a group, or with labels.",
        value_mut: |row| &mut row.clusters,
    },
    WaveFieldProps {
        key: "groups",
        label: "Groups",
        placeholder: "eu",
        help: "",
        value_mut: |row| &mut row.groups,
    },
    WaveFieldProps {
        key: "selector",
        label: "Labels",
        placeholder: "ring=canary",
        help: "Syntax of kubectl -l.",
        value_mut: |row| &mut row.selector,
    },
];

const LIMIT_FIELDS: [WaveFieldProps; 4] = [
    WaveFieldProps {
        key: "max_clusters",
        label: "Max clusters",
        placeholder: "all",
        help: "1, or 25% of all selected.",
        value_mut: |row| &mut row.max_clusters,
    },
    WaveFieldProps {
        key: "concurrency",
        label: "Max concurrent",
        placeholder: "all",
        help: "2, or 25% of the wave.",
        value_mut: |row| &mut row.concurrency,
    },
    WaveFieldProps {
        key: "failures",
        label: "Max failures",
        placeholder: "0",
        help: "With more, the rollout pauses.",
        value_mut: |row| &mut row.failures,
    },
    WaveFieldProps {
        key: "soak",
        label: "Soak time",
        placeholder: "none",
        help: "90s, 10m, 1h30m, 2d.",
        value_mut: |row| &mut row.soak,
    },
];

/// One wave of the form.
#[derive(Clone, Copy)]
struct WaveRow {
    form: RwSignal<RolloutForm>,
    wrong: FieldFindings,
    /// Number of waves.
    count: Memo<usize>,
    /// Whether the page is hydrated.
    is_hydrated: RwSignal<bool>,
    at: usize,
}

fn wave_fields(row: WaveRow) -> AnyView {
    let WaveRow { form, wrong, count, is_hydrated: alive, at } = row;
    let field = move |part: &WaveFieldProps| {
        let WaveFieldProps { key, label, placeholder, help, value_mut: of } = *part;
        let read = move || {
            let mut row = form.with(|form| form.waves.get(at).cloned().unwrap_or_default());
            std::mem::take(of(&mut row))
        };
        let write = move |text: String| {
            form.update(|form| {
                if let Some(row) = form.waves.get_mut(at) {
                    *of(row) = text;
                }
            });
        };
        let of = TextFieldProps {
            form: "rollout",
            path: format!("waves/{at}/{key}"),
            label,
            placeholder,
            help,
            ..TextFieldProps::default()
        };
        text_field(wrong, of, read, write)
    };
    let needs_approval =
        move || form.with(|form| form.waves.get(at).is_some_and(|row| row.approval == "yes"));
    let title = move || {
        let name =
            form.with(|form| form.waves.get(at).map(|row| row.name.trim().to_owned())).unwrap_or_default();
        if name.is_empty() { format!("Wave {}", at + 1) } else { format!("Wave {}: {name}", at + 1) }
    };
    let (id, name) = (format!("wave-{at}"), format!("wave-{at}"));
    // The spare row is only for browsers without JavaScript.
    let spare = move || {
        let blank = form.with(|form| form.waves.get(at).is_some_and(WaveForm::is_blank));
        !alive.get() && blank && at + 1 == count.get()
    };
    view! {
        <div role="group" class="wave" class:wave-spare=spare aria-labelledby=name>
            <div class="flex items-center gap-1">
                <h2 class="field-label" id=id>
                    {title}
                </h2>
                {wave_buttons(form, count, at)}
            </div>
            <div class="grid gap-x-3 gap-y-2 sm:grid-cols-2 xl:grid-cols-4">{TARGET_FIELDS.iter().map(field).collect_view()}</div>
            <div class="grid grid-cols-2 gap-x-3 gap-y-2 xl:grid-cols-4">{LIMIT_FIELDS.iter().map(field).collect_view()}</div>
            <label class="choice">
                <input
                    class="checkbox"
                    type="checkbox"
                    name=format!("rollout[waves][{at}][approval]")
                    value="yes"
                    checked=untrack(needs_approval)
                    prop:checked=needs_approval
                    on:change=move |ev| {
                        let value = if event_target_checked(&ev) { "yes" } else { "" };
                        form.update(|form| {
                            if let Some(row) = form.waves.get_mut(at) {
                                row.approval = value.to_owned();
                            }
                        });
                    }
                />
                "Requires approval before it starts"
            </label>
        </div>
    }
    .into_any()
}

/// Buttons that move and remove a wave. Without JavaScript a wave is removed by clearing its fields.
fn wave_buttons(form: RwSignal<RolloutForm>, count: Memo<usize>, at: usize) -> AnyView {
    let swap = move |other: usize| {
        form.update(|form| {
            if at.max(other) < form.waves.len() {
                form.waves.swap(at, other);
            }
        });
    };
    let remove = move || {
        form.update(|form| {
            if at < form.waves.len() {
                form.waves.remove(at);
            }
        });
    };
    let tool =
        |mark: &'static str, word: &'static str, off: Signal<bool>, act: Box<dyn Fn() + Send + Sync>| {
            view! {
                <button
                    class="btn btn-sm btn-icon"
                    type="button"
                    aria-label=format!("{word} wave {}", at + 1)
                    title=word
                    disabled=move || off.get()
                    on:click=move |_| act()
                >
                    {icon(mark)}
                </button>
            }
        };
    let last = Signal::derive(move || at + 1 >= count.get());
    view! {
        <span class="ml-auto flex gap-1">
            {tool("arrow-up", "Move up", Signal::stored(at == 0), Box::new(move || swap(at.saturating_sub(1))))}
            {tool("arrow-down", "Move down", last, Box::new(move || swap(at + 1)))}
            {tool("close", "Remove", Signal::stored(false), Box::new(remove))}
        </span>
    }
    .into_any()
}

fn schedule_fields(form: RwSignal<RolloutForm>, wrong: FieldFindings) -> AnyView {
    let text = move |key: &'static str, label, placeholder, help, of: fn(&mut RolloutForm) -> &mut String| {
        let read = move || form.with(|form| of(&mut form.clone()).clone());
        let write = move |text: String| form.update(|form| *of(form) = text);
        let of = TextFieldProps {
            form: "rollout",
            path: key.to_owned(),
            label,
            placeholder,
            help,
            ..TextFieldProps::default()
        };
        text_field(wrong, of, read, write)
    };
    let open = untrack(move || {
        form.with(|form| !form.from.is_empty() || !form.days.is_empty() || !form.fail_after.is_empty())
    });
    let day = move |day: Weekday| {
        let on = move || form.with(|form| form.days.iter().any(|one| one == day.as_str()));
        view! {
            <label class="choice">
                <input
                    class="checkbox"
                    type="checkbox"
                    name="rollout[days][]"
                    value=day.as_str()
                    checked=untrack(on)
                    prop:checked=on
                    on:change=move |ev| {
                        let ticked = event_target_checked(&ev);
                        form.update(|form| {
                            let mut days: BTreeSet<String> = form.days.drain(..).collect();
                            if ticked {
                                days.insert(day.as_str().to_owned());
                            } else {
                                days.remove(day.as_str());
                            }
                            form.days = days.into_iter().collect();
                        });
                    }
                />
                {capitalize(day.as_str())}
            </label>
        }
    };
    view! {
        <details class="fold" open=open>
            <summary>"Schedule and failure timeout"</summary>
            <div class="fields pt-3">
                <fieldset class="field">
                    <legend class="field-label mb-1">"Start clusters only on these days"</legend>
                    <div class="flex flex-wrap gap-x-4 gap-y-1">{Weekday::ALL.iter().copied().map(day).collect_view()}</div>
                    <p class="field-help">"None ticked means every day."</p>
                </fieldset>
                <div class="grid grid-cols-2 gap-x-3 gap-y-2 xl:grid-cols-4">
                    {text("from", "From", "22:00", "Empty for any time.", |form| &mut form.from)}
                    {text("to", "To", "04:00", "May be on the next day.", |form| &mut form.to)}
                    {text("offset", "Ahead of UTC", "+00:00", "Such as +01:00.", |form| &mut form.offset)}
                    {text("fail_after", "Failure timeout", "1m", "How long a cluster may fail.", |form| &mut form.fail_after)}
                </div>
            </div>
        </details>
    }
    .into_any()
}

fn capitalize(word: &str) -> String {
    let (first, rest) = word.split_at(1);
    format!("{}{rest}", first.to_uppercase())
}

/// The live preview of the waves.
fn live_preview(judged: Memo<RolloutPreview>, chosen: StoredValue<SelectedClusters>) -> AnyView {
    let all = chosen.with_value(|chosen| u32::try_from(chosen.clusters.len()).unwrap_or(u32::MAX));
    let lead = move || {
        let waves = judged.with(|(_, waves)| waves.len());
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
    view! {
        <section class="stack-sm" aria-labelledby="waves" aria-live="polite">
            <h2 class="section" id="waves">
                {lead}
            </h2>
            <WaveList waves=Signal::derive(move || judged.with(|(_, waves)| waves.clone())) />
            {move || judged.with(|(findings, _)| findings.iter().map(finding_line).collect_view())}
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
