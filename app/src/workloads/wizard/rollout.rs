//! The step that asks in which waves a publish reaches its clusters.

use std::collections::BTreeSet;

use domain::Finding;
use domain::cluster::Cluster;
use domain::finding;
use domain::placement::{ClusterGroup, decide};
use domain::rollout::{MAX_WAVES, WaveOutlook, Weekday, check_fleet, outlook};
use leptos::prelude::*;
use leptos_meta::Title;

use super::{FORM, Step, WizardFoot, named};
use crate::components::{Said, count_of, icon, joined, loaded};
use crate::errors::Answer;
use crate::workloads::field::{Input, Wrong, input, message};
use crate::workloads::placement_tab::{PlacementData, placement_read};
use crate::workloads::rollout::WaveList;
use crate::workloads::rollout_form::{RolloutForm, WaveForm, at_fields, by_field};

/// Saves the rollout of the draft; `then` says where the wizard goes on. `preset` is `canary` or `at-once`: how the buttons
/// above the form work without script.
#[server(prefix = "/api/fn", endpoint = "rollout_save")]
pub async fn rollout_save(
    name: String,
    seen: i64,
    #[server(default)] rollout: RolloutForm,
    #[server(default)] preset: String,
    #[server(default)] then: String,
) -> Answer<i64> {
    use crate::{errors::AppError, host};
    let (hub, actor) = (host::hub()?, host::actor()?);
    let form = match preset.as_str() {
        "canary" => RolloutForm::canary(),
        "at-once" => RolloutForm::default(),
        _ => rollout,
    };
    let (strategy, _) = form.strategy().map_err(|findings| host::refused(AppError::Invalid(findings)))?;
    let mut spec = host::answer(hub.workload_view(&name).await)?.workload.draft;
    spec.rollout = strategy;
    let edit = hub::WorkloadEdit { spec: Some(spec), labels: None };
    let revision = host::answer(hub.workload_edit(&actor, &name, edit, Some(seen)).await)?.revision;
    super::go_on(&name, Step::Rollout, &then);
    Ok(revision)
}

/// The page.
#[component]
pub fn RolloutPage() -> impl IntoView {
    let name = named();
    let action = ServerAction::<RolloutSave>::new();
    let data = Resource::new(move || name.get(), placement_read);
    view! {
        {move || view! { <Title text=format!("Rollout of {}", name.get()) /> }}
        {loaded(data, move |data| show(data, action))}
    }
    .into_any()
}

/// The clusters it would go to, in the order of the decision.
struct Chosen {
    clusters: Vec<Cluster>,
    groups: Vec<ClusterGroup>,
}

/// What is to be said of the form, and the waves it stands for.
type Judged = (Vec<Finding>, Vec<WaveOutlook>);

fn judge(form: &RolloutForm, chosen: &Chosen) -> Judged {
    let mut findings = form.findings();
    let Ok((strategy, rows)) = form.strategy() else { return (findings, Vec::new()) };
    let clusters: Vec<&Cluster> = chosen.clusters.iter().collect();
    findings.extend(at_fields(check_fleet(&strategy, &clusters, &chosen.groups), &rows));
    finding::sort(&mut findings);
    (findings, outlook(&strategy, &clusters, &chosen.groups))
}

fn show(data: PlacementData, action: ServerAction<RolloutSave>) -> AnyView {
    let workload = data.workload;
    let fleet = data.candidates.fleet();
    let decision = decide(&workload.draft.placement, &fleet.clusters, &fleet.groups, &fleet.current);
    let order: Vec<_> = decision.chosen().map(|verdict| verdict.cluster).collect();
    let by_id: std::collections::HashMap<_, _> =
        fleet.clusters.into_iter().map(|cluster| (cluster.id, cluster)).collect();
    let clusters = order.iter().filter_map(|id| by_id.get(id).cloned()).collect();
    let chosen = StoredValue::new(Chosen { clusters, groups: fleet.groups });
    let form = RwSignal::new(RolloutForm::of(&workload.draft.rollout));
    let alive = RwSignal::new(false);
    Effect::new(move |_| {
        form.update(|form| form.waves.retain(|row| !row.is_blank()));
        alive.set(true);
    });
    let judged = Memo::new(move |_| form.with(|form| chosen.with_value(|chosen| judge(form, chosen))));
    let wrong: Wrong = Memo::new(move |_| judged.with(|(findings, _)| by_field(findings)));
    let findings = Signal::derive(move || judged.with(|(findings, _)| findings.clone()));
    let seen = super::seen(workload.revision, move || action.value().get().and_then(Result::ok));
    view! {
        <ActionForm action=action attr:id=FORM attr:class="wizard-step">
            <input type="hidden" name="name" value=workload.name.clone() />
            <input type="hidden" name="seen" value=move || seen.get().to_string() />
            {move || action.value().get().and_then(Result::err).map(|error| view! { <Said error=error /> })}
            <div class="grid gap-10 lg:grid-cols-[minmax(0,1fr)_344px]">
                <div class="fields">
                    {presets(form)}
                    {waves(form, wrong, alive)}
                    {rest(form, wrong)}
                </div>
                {live(judged, chosen)}
            </div>
            <WizardFoot step=Step::Rollout findings=findings busy=action.pending() />
        </ActionForm>
    }
    .into_any()
}

/// Two ways to begin. With script they fill the form; without, the server stores them.
fn presets(form: RwSignal<RolloutForm>) -> AnyView {
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
                "Waves go one after another: the next begins when every cluster of the one before is operational, and stayed so for its soak time. Without waves every cluster gets it at once."
            </p>
            <div class="flex flex-wrap items-center gap-2">
                <span class="text-2">"Begin with"</span>
                {preset("canary", "Canary first", RolloutForm::canary)}
                {preset("at-once", "All at once", RolloutForm::default)}
            </div>
        </div>
    }
    .into_any()
}

fn waves(form: RwSignal<RolloutForm>, wrong: Wrong, alive: RwSignal<bool>) -> AnyView {
    let count = Memo::new(move |_| form.with(|form| form.waves.len()));
    view! {
        <For each=move || 0..count.get() key=|at| *at children=move |at| wave(Row { form, wrong, count, alive, at }) />
        <p class="field-help">{message(wrong, "/rollout/waves".to_owned(), "")}</p>
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

/// A part of a wave that is typed.
#[derive(Clone, Copy)]
struct Part {
    key: &'static str,
    label: &'static str,
    placeholder: &'static str,
    help: &'static str,
    of: fn(&mut WaveForm) -> &mut String,
}

const WHO: [Part; 4] = [
    Part {
        key: "name",
        label: "Name",
        placeholder: "canary",
        help: "Small letters, digits, dashes.",
        of: |row| &mut row.name,
    },
    Part {
        key: "clusters",
        label: "Clusters",
        placeholder: "all that are left",
        help: "Names; or in a group, or with labels.",
        of: |row| &mut row.clusters,
    },
    Part { key: "groups", label: "Groups", placeholder: "eu", help: "", of: |row| &mut row.groups },
    Part {
        key: "selector",
        label: "Labels",
        placeholder: "ring=canary",
        help: "As kubectl -l takes them.",
        of: |row| &mut row.selector,
    },
];

const HOW: [Part; 4] = [
    Part {
        key: "take",
        label: "Of these",
        placeholder: "all",
        help: "1, or 25% of all chosen.",
        of: |row| &mut row.take,
    },
    Part {
        key: "concurrency",
        label: "At a time",
        placeholder: "all",
        help: "2, or 25% of the wave.",
        of: |row| &mut row.concurrency,
    },
    Part {
        key: "failures",
        label: "May fail",
        placeholder: "0",
        help: "With more it pauses itself.",
        of: |row| &mut row.failures,
    },
    Part {
        key: "soak",
        label: "Soak time",
        placeholder: "none",
        help: "90s, 10m, 1h30m, 2d.",
        of: |row| &mut row.soak,
    },
];

/// One wave of the form.
#[derive(Clone, Copy)]
struct Row {
    form: RwSignal<RolloutForm>,
    wrong: Wrong,
    /// How many there are.
    count: Memo<usize>,
    /// Whether script runs.
    alive: RwSignal<bool>,
    at: usize,
}

fn wave(row: Row) -> AnyView {
    let Row { form, wrong, count, alive, at } = row;
    let field = move |part: &Part| {
        let Part { key, label, placeholder, help, of } = *part;
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
        let of = Input {
            root: "rollout",
            key: format!("waves/{at}/{key}"),
            label,
            placeholder,
            help,
            ..Input::default()
        };
        input(wrong, of, read, write)
    };
    let asks = move || form.with(|form| form.waves.get(at).is_some_and(|row| row.approval == "yes"));
    let title = move || {
        let name =
            form.with(|form| form.waves.get(at).map(|row| row.name.trim().to_owned())).unwrap_or_default();
        if name.is_empty() { format!("Wave {}", at + 1) } else { format!("Wave {}: {name}", at + 1) }
    };
    let (id, name) = (format!("wave-{at}"), format!("wave-{at}"));
    // Nobody with script needs the spare row.
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
                {tools(form, count, at)}
            </div>
            <div class="grid gap-x-3 gap-y-2 sm:grid-cols-2 xl:grid-cols-4">{WHO.iter().map(field).collect_view()}</div>
            <div class="grid grid-cols-2 gap-x-3 gap-y-2 xl:grid-cols-4">{HOW.iter().map(field).collect_view()}</div>
            <label class="choice">
                <input
                    class="checkbox"
                    type="checkbox"
                    name=format!("rollout[waves][{at}][approval]")
                    value="yes"
                    checked=untrack(asks)
                    prop:checked=asks
                    on:change=move |ev| {
                        let said = if event_target_checked(&ev) { "yes" } else { "" };
                        form.update(|form| {
                            if let Some(row) = form.waves.get_mut(at) {
                                row.approval = said.to_owned();
                            }
                        });
                    }
                />
                "Somebody has to approve it before it begins"
            </label>
        </div>
    }
    .into_any()
}

/// Up, down, away. Without script a wave goes when its fields are emptied.
fn tools(form: RwSignal<RolloutForm>, count: Memo<usize>, at: usize) -> AnyView {
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

fn rest(form: RwSignal<RolloutForm>, wrong: Wrong) -> AnyView {
    let text = move |key: &'static str, label, placeholder, help, of: fn(&mut RolloutForm) -> &mut String| {
        let read = move || form.with(|form| of(&mut form.clone()).clone());
        let write = move |text: String| form.update(|form| *of(form) = text);
        let of = Input { root: "rollout", key: key.to_owned(), label, placeholder, help, ..Input::default() };
        input(wrong, of, read, write)
    };
    let open = untrack(move || {
        form.with(|form| !form.from.is_empty() || !form.days.is_empty() || !form.fail_after.is_empty())
    });
    let day = move |day: Weekday| {
        let on = move || form.with(|form| form.days.iter().any(|one| one == day.word()));
        view! {
            <label class="choice">
                <input
                    class="checkbox"
                    type="checkbox"
                    name="rollout[days][]"
                    value=day.word()
                    checked=untrack(on)
                    prop:checked=on
                    on:change=move |ev| {
                        let ticked = event_target_checked(&ev);
                        form.update(|form| {
                            let mut days: BTreeSet<String> = form.days.drain(..).collect();
                            if ticked {
                                days.insert(day.word().to_owned());
                            } else {
                                days.remove(day.word());
                            }
                            form.days = days.into_iter().collect();
                        });
                    }
                />
                {capital(day.word())}
            </label>
        }
    };
    view! {
        <details class="fold" open=open>
            <summary>"When, and what counts as a failure"</summary>
            <div class="fields pt-3">
                <fieldset class="field">
                    <legend class="field-label mb-1">"Begin on clusters only on these days"</legend>
                    <div class="flex flex-wrap gap-x-4 gap-y-1">{Weekday::ALL.map(day).collect_view()}</div>
                    <p class="field-help">"None ticked means every day."</p>
                </fieldset>
                <div class="grid grid-cols-2 gap-x-3 gap-y-2 xl:grid-cols-4">
                    {text("from", "From", "22:00", "Empty for any time.", |form| &mut form.from)}
                    {text("to", "To", "04:00", "May be on the next day.", |form| &mut form.to)}
                    {text("offset", "Ahead of UTC", "+00:00", "Such as +01:00.", |form| &mut form.offset)}
                    {text("fail_after", "Counts as failed after", "1m", "Broken for so long.", |form| &mut form.fail_after)}
                </div>
            </div>
        </details>
    }
    .into_any()
}

fn capital(word: &str) -> String {
    let (first, rest) = word.split_at(1);
    format!("{}{rest}", first.to_uppercase())
}

/// What the waves are made of now.
fn live(judged: Memo<Judged>, chosen: StoredValue<Chosen>) -> AnyView {
    let all = chosen.with_value(|chosen| u32::try_from(chosen.clusters.len()).unwrap_or(u32::MAX));
    let lead = move || {
        let waves = judged.with(|(_, waves)| waves.len());
        match waves {
            0 => format!("{} at once", count_of(all, "cluster")),
            n => {
                format!("{} in {}", count_of(all, "cluster"), count_of(u32::try_from(n).unwrap_or(0), "wave"))
            }
        }
    };
    view! {
        <section class="stack-sm" aria-labelledby="waves" aria-live="polite">
            <h2 class="section" id="waves">
                {lead}
            </h2>
            <WaveList waves=Signal::derive(move || judged.with(|(_, waves)| waves.clone())) />
            {move || judged.with(|(findings, _)| findings.iter().map(line).collect_view())}
        </section>
    }
    .into_any()
}

fn line(finding: &Finding) -> impl IntoView + use<> {
    let look = crate::components::findings::worst(std::slice::from_ref(finding));
    let on = if finding.clusters.is_empty() {
        String::new()
    } else {
        format!(" {}", joined(&finding.clusters, finding.clusters.len(), 5))
    };
    let text = format!("{} {}{on}", finding.message, finding.hint);
    view! {
        <p class="flex gap-2">
            {look.mark()} <span><span class="mono">{finding.code.clone()}</span> {format!(" {text}")}</span>
        </p>
    }
}
