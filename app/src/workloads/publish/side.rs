//! The right column of the review: the plan, what publishing does, what has to be said twice, and the button with its
//! reason.

use domain::Finding;
use domain::cluster::Reach;
use leptos::prelude::*;

use super::read::{Planned, Review};
use super::send::{PlanMake, WorkloadPublish};
use crate::components::findings::worst;
use crate::components::{Age, CopyLine, Look, Reason, Said, count_of, icon, joined};
use crate::paths::{self, Tab};
use crate::workloads::rollout::WaveList;
use crate::workloads::wizard::Step;

/// The column.
#[component]
pub fn Side(
    review: Review,
    make: ServerAction<PlanMake>,
    publish: ServerAction<WorkloadPublish>,
) -> impl IntoView {
    let plan = review.plan.clone().map(|plan| about(&plan, &review, make));
    view! {
        <aside class="stack-md" aria-label="Publish">
            {plan}
            <Consequences review=review.clone() />
            <Waves review=review.clone() />
            <PublishForm review=review publish=publish />
        </aside>
    }
    .into_any()
}

fn about(plan: &Planned, review: &Review, make: ServerAction<PlanMake>) -> AnyView {
    let heard = plan.heard;
    let name = review.view.workload.name.clone();
    let refused: usize =
        plan.groups.iter().filter(|one| one.group.tally.refused > 0).map(|one| one.count).sum();
    let mut run = vec![format!("{} accepted", heard.answered - refused.min(heard.answered))];
    let parts = [(refused, "refused"), (heard.not_asked, "not tested"), (heard.open, "asked")];
    run.extend(parts.into_iter().filter(|(n, _)| *n > 0).map(|(n, word)| format!("{n} {word}")));
    let again = move || match make.value().get() {
        Some(Err(error)) => view! { <Said error=error /> }.into_any(),
        _ => ().into_any(),
    };
    let left = plan.expires_at.since(review.at) / 60_000;
    view! {
        <section class="stack-sm" aria-labelledby="plan">
            <div class="flex items-center justify-between">
                <h2 class="section" id="plan">
                    "Plan"
                </h2>
                <ActionForm action=make>
                    <input type="hidden" name="name" value=name />
                    <button class="btn btn-sm" type="submit" aria-busy=move || make.pending().get().to_string()>
                        {icon("refresh")}
                        {move || if make.pending().get() { "Asking…" } else { "Plan again" }}
                    </button>
                </ActionForm>
            </div>
            {again}
            <dl class="pairs">
                <dt>"Hash"</dt>
                <dd class="mono" title=plan.hash.to_string()>{plan.hash.short().to_owned()}</dd>
                <dt>"Made"</dt>
                <dd><Age since=plan.created_at at=review.at suffix=" ago" /></dd>
                <dt>"Expires"</dt>
                <dd>{format!("in {left} min")}</dd>
                <dt>"Dry run"</dt>
                <dd aria-live="polite">{run.join(", ")}</dd>
            </dl>
        </section>
    }
    .into_any()
}

/// What publishing does, in counts.
#[component]
fn Consequences(review: Review) -> impl IntoView {
    let chosen = u32::try_from(review.decision.chosen().count()).unwrap_or(u32::MAX);
    let away = review.away.values().filter(|reach| **reach == Reach::Offline).count();
    let away = (away > 0).then(|| {
        let away = count_of(u32::try_from(away).unwrap_or(0), "cluster");
        view! { <li class="text-2">{format!("{away} offline; they get it when they return and hold nobody up.")}</li> }
    });
    view! {
        <section class="stack-sm">
            <h2 class="section">"What publishing does"</h2>
            <ul class="grid gap-1">
                <li>
                    <b class="strong">{count_of(chosen, "cluster")}</b>
                    {format!(" get {} each.", count_of(review.objects, "object"))}
                </li>
                {away}
                <li class="text-2">"Each cluster is told, pulls, applies in order, and confirms. Nothing is cut short by a time limit."</li>
            </ul>
        </section>
    }
    .into_any()
}

/// In which waves it goes; nothing if it goes everywhere at once.
#[component]
fn Waves(review: Review) -> impl IntoView {
    let href = Step::Rollout.path(&review.view.workload.name);
    let waves = review.waves;
    let n = u32::try_from(waves.len()).unwrap_or(u32::MAX);
    (n > 0).then(|| {
        view! {
            <section class="stack-sm" aria-labelledby="waves">
                <div class="flex items-center justify-between">
                    <h2 class="section" id="waves">
                        {count_of(n, "wave")}
                    </h2>
                    <a class="link" href=href>
                        "Change"
                    </a>
                </div>
                <WaveList waves=Signal::stored(waves) />
            </section>
        }
    })
}

/// The box about clusters that lose it; with a field when the number has to be typed.
fn lost(plan: &Planned, workload: &str, typed: RwSignal<String>) -> Option<AnyView> {
    let losing = &plan.radius.losing;
    let n = u32::try_from(losing.len()).unwrap_or(u32::MAX);
    let objects: u32 = plan
        .groups
        .iter()
        .filter(|one| one.group.change == domain::plan::TargetChange::Lose)
        .map(|one| one.group.tally.delete.saturating_mul(u32::try_from(one.count).unwrap_or(u32::MAX)))
        .sum();
    let field = plan.radius.confirmation().map(|number| {
        view! {
            <div class="field">
                <label class="field-label" for="confirm">
                    {format!("Type {number} to confirm")}
                </label>
                <input
                    class="input input-mono w-24"
                    id="confirm"
                    name="confirm"
                    inputmode="numeric"
                    autocomplete="off"
                    maxlength="6"
                    on:input=move |ev| typed.set(event_target_value(&ev))
                />
            </div>
        }
    });
    (n > 0).then(|| {
        view! {
            <div class="warn-box hue-drifted stack-sm">
                <p class="strong">{icon("warning")} {format!(" {} of {} would lose {workload}", n, count_of(plan.radius.current, "cluster"))}</p>
                <p class="text-2">
                    {format!("{}. {} deleted there. A publish of the earlier revision brings it back.", joined(losing, losing.len(), 6), count_of(objects, "object"))}
                </p>
                {field}
            </div>
        }
        .into_any()
    })
}

/// Message and button. A button that can't be pressed says why.
#[component]
fn PublishForm(review: Review, publish: ServerAction<WorkloadPublish>) -> impl IntoView {
    let workload = review.view.workload.name.clone();
    let chosen = u32::try_from(review.decision.chosen().count()).unwrap_or(u32::MAX);
    let verb = format!("Publish to {}", count_of(chosen, "cluster"));
    let typed = RwSignal::new(String::new());
    let hash = review.plan.as_ref().map(|plan| plan.hash.to_string()).unwrap_or_default();
    let line = match &review.plan {
        Some(plan) => format!("flotilla publish {workload} --plan {} --wait", plan.hash),
        None => format!("flotilla plan {workload}"),
    };
    let asked = review.plan.as_ref().and_then(|plan| plan.radius.confirmation());
    let lost = review.plan.as_ref().and_then(|plan| lost(plan, &workload, typed));
    let button = match refusal(&review) {
        None => ready(verb, asked, typed, publish.pending()),
        Some((look, why)) => view! {
            <button class="btn w-full" type="button" aria-disabled="true" aria-describedby="why-publish">
                {verb}
            </button>
            <Reason id="why-publish" look=look>
                {why}
            </Reason>
        }
        .into_any(),
    };
    view! {
        <ActionForm action=publish attr:class="stack-md">
            <input type="hidden" name="name" value=workload />
            <input type="hidden" name="plan" value=hash />
            {lost}
            <div class="field">
                <label class="field-label" for="message">
                    "Message " <span class="field-note">"optional"</span>
                </label>
                <input class="input" id="message" name="message" maxlength="500" placeholder="What changes, for those who read the history" />
            </div>
            {move || publish.value().get().and_then(Result::err).map(|error| view! { <Said error=error /> })}
            {button}
            <p class="meta">"Nothing is shown as done until the server stored it."</p>
        </ActionForm>
        <CopyLine line=line />
    }
    .into_any()
}

/// The button that works. Before script has read what was typed, the server judges the number.
fn ready(verb: String, asked: Option<u32>, typed: RwSignal<String>, pending: Memo<bool>) -> AnyView {
    let held = move || asked.is_some_and(|number| typed.with(|text| text.trim() != number.to_string()));
    let touched = move || typed.with(|text| !text.is_empty());
    view! {
        <button class="btn btn-primary w-full" type="submit" aria-busy=move || pending.get().to_string()>
            {move || if pending.get() { "Storing…".to_owned() } else { verb.clone() }}
        </button>
        {move || {
            (held() && touched())
                .then(|| {
                    view! {
                        <Reason id="why-number" look=Look { icon: "warning", hue: "hue-drifted", loud: "state-quiet" }>
                            {format!("That is not the number of clusters that would lose it: {}.", asked.unwrap_or_default())}
                        </Reason>
                    }
                })
        }}
    }
    .into_any()
}

/// Why it can't be published now.
fn refusal(review: &Review) -> Option<(Look, AnyView)> {
    let errors: Vec<Finding> = review.findings().iter().filter(|finding| finding.blocks()).cloned().collect();
    let lock = Look { icon: "lock", hue: "hue-unknown", loud: "state-quiet" };
    if let Some(why) = &review.refusal {
        return Some((lock, why.clone().into_any()));
    }
    if let Some(first) = errors.first() {
        let place = first
            .place
            .as_ref()
            .map(|place| format!(", {} line {}", place.file, place.line))
            .unwrap_or_default();
        let href = paths::workload_tab(&review.view.workload.name, Tab::Config);
        let n = u32::try_from(errors.len()).unwrap_or(u32::MAX);
        let link = format!("{}{place}", first.code);
        let why = view! { {format!("{} to fix first: ", count_of(n, "error"))} <a class="link" href=href>{link}</a> };
        return Some((worst(&errors), why.into_any()));
    }
    match &review.plan {
        None => Some((lock, "Plan first: then you see what you publish.".into_any())),
        Some(plan) if plan.heard.open > 0 => {
            let n = count_of(u32::try_from(plan.heard.open).unwrap_or(u32::MAX), "cluster");
            Some((lock, format!("{n} asked for a dry run; at most 20 s.").into_any()))
        }
        Some(_) => None,
    }
}
