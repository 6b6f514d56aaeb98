//! The sidebar of the review: the plan, the consequences, the confirmation, and the button with the reason why it is disabled.

use domain::Finding;
use domain::authorization::UserAction;
use domain::cluster::Connectivity;
use domain::dependency::HAS_DEPENDENTS;
use leptos::prelude::*;

use super::actions::{PlanCreate, WorkloadPublish};
use super::review::{PlanView, Review};
use crate::components::findings::worst_style;
use crate::components::{
    Age, CopyButton, CopyLine, DisabledReason, ErrorBanner, StatusStyle, icon, join_names, pluralize,
};
use crate::permission::Permission;
use crate::workloads::rollout::panel::WaveList;
use crate::workloads::wizard::WizardStep;

/// The sidebar.
#[component]
pub fn ReviewSidebar(
    review: Review,
    plan_action: ServerAction<PlanCreate>,
    publish: ServerAction<WorkloadPublish>,
) -> impl IntoView {
    let plan = review.plan.clone().map(|plan| plan_summary(&plan, &review, plan_action));
    view! {
        <aside class="stack-md" aria-label="Publish" id="publish">
            {plan}
            <Consequences review=review.clone() />
            <Waves review=review.clone() />
            <PublishControls review=review publish=publish />
        </aside>
    }
    .into_any()
}

fn plan_summary(plan: &PlanView, review: &Review, plan_action: ServerAction<PlanCreate>) -> AnyView {
    let dry_runs = plan.dry_runs;
    let (name, content) = (review.view.workload.name.clone(), review.content.hidden_fields("content"));
    let rejected: usize =
        plan.groups.iter().filter(|one| one.group.counts.rejected > 0).map(|one| one.count).sum();
    let mut run = vec![format!("{} accepted", dry_runs.completed - rejected.min(dry_runs.completed))];
    let parts =
        [(rejected, "rejected"), (dry_runs.not_requested, "not validated"), (dry_runs.pending, "waiting")];
    run.extend(parts.into_iter().filter(|(n, _)| *n > 0).map(|(n, word)| format!("{n} {word}")));
    let again = move || match plan_action.value().get() {
        Some(Err(error)) => view! { <ErrorBanner error=error /> }.into_any(),
        _ => ().into_any(),
    };
    let left = plan.expires_at.millis_since(review.read_at) / 60_000;
    view! {
        <section class="stack-sm" aria-labelledby="plan">
            <div class="flex items-center justify-between">
                <h2 class="section" id="plan">
                    "Plan"
                </h2>
                <ActionForm action=plan_action>
                    <Permission action=UserAction::Plan>
                        <input type="hidden" name="name" value=name />
                        {content}
                        <button class="btn btn-sm" type="submit" aria-busy=move || plan_action.pending().get().to_string()>
                            {icon("refresh")}
                            {move || if plan_action.pending().get() { "Planning…" } else { "Plan again" }}
                        </button>
                    </Permission>
                </ActionForm>
            </div>
            {again}
            <dl class="pairs">
                <dt>"Hash"</dt>
                <dd class="flex items-center gap-1">
                    <span class="mono" title=plan.hash.to_string()>{plan.hash.short().to_owned()}</span>
                    <CopyButton text=plan.hash.to_string() label="Copy the hash" />
                </dd>
                <dt>"Created"</dt>
                <dd><Age since=plan.created_at at=review.read_at suffix=" ago" /></dd>
                <dt>"Expires"</dt>
                <dd>{format!("in {left}\u{a0}min")}</dd>
                <dt>"Dry run"</dt>
                <dd aria-live="polite">{run.join(", ")}</dd>
            </dl>
        </section>
    }
    .into_any()
}

/// The consequences of publishing, with numbers of clusters and objects.
#[component]
fn Consequences(review: Review) -> impl IntoView {
    let selected = u32::try_from(review.decision.selected().count()).unwrap_or(u32::MAX);
    let away = review.connectivity.values().filter(|reach| **reach == Connectivity::Offline).count();
    let away = (away > 0).then(|| {
        let away = pluralize(u32::try_from(away).unwrap_or(0), "cluster");
        view! { <li class="text-2">{format!("{away} offline; they get it when they reconnect and block no other cluster.")}</li> }
    });
    let changes_nothing = review.changes_nothing();
    let objects = pluralize(review.objects, "object");
    let effect = if changes_nothing {
        format!(" retain their {objects} unchanged; a new revision is recorded.")
    } else {
        format!(" get {objects} each.")
    };
    view! {
        <section class="stack-sm">
            <h2 class="section">"What publishing does"</h2>
            <ul class="grid gap-1">
                <li>
                    <b class="strong">{pluralize(selected, "cluster")}</b>
                    {effect}
                </li>
                {away}
            </ul>
        </section>
    }
    .into_any()
}

/// The waves of the rollout; empty without waves. Those of the published revision can't be changed here.
#[component]
fn Waves(review: Review) -> impl IntoView {
    let href = WizardStep::Rollout.path(&review.view.workload.name);
    let change = review.content.is_draft().then(|| {
        view! {
            <a class="link" href=href>
                "Change"
            </a>
        }
    });
    let (waves, on_failure) = (review.waves, review.on_failure);
    let n = u32::try_from(waves.len()).unwrap_or(u32::MAX);
    (n > 0).then(|| {
        view! {
            <section class="stack-sm" aria-labelledby="waves">
                <div class="flex items-center justify-between">
                    <h2 class="section" id="waves">
                        {pluralize(n, "wave")}
                    </h2>
                    {change}
                </div>
                <WaveList waves=Signal::stored(waves) />
                <p class="meta">{on_failure.description()}</p>
            </section>
        }
    })
}

/// The warning about clusters that lose the workload; with a field if the number has to be typed.
fn removal_warning(plan: &PlanView, workload: &str, typed: RwSignal<String>) -> Option<AnyView> {
    let losing = &plan.blast_radius.losing;
    let n = u32::try_from(losing.len()).unwrap_or(u32::MAX);
    let objects: u32 = plan
        .groups
        .iter()
        .filter(|one| one.group.change == domain::plan::TargetChange::Remove)
        .map(|one| one.group.counts.delete.saturating_mul(u32::try_from(one.count).unwrap_or(u32::MAX)))
        .sum();
    let field = plan.blast_radius.confirmation().map(|number| {
        view! {
            <div class="field">
                <label class="field-label" for="confirm">
                    {format!("Type {number} to confirm")}
                </label>
                <input
                    class="input input-mono w-24"
                    id="confirm"
                    name="form[confirm]"
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
                <p class="strong">{icon("warning")} {format!(" {} of {} would lose {workload}", n, pluralize(plan.blast_radius.current, "cluster"))}</p>
                <p class="text-2">
                    {format!("{}. {} deleted there. Rolling back to the earlier revision deploys it there again.", join_names(losing, losing.len(), 6), pluralize(objects, "object"))}
                </p>
                {field}
            </div>
        }
        .into_any()
    })
}

/// Message and publish button. A disabled button shows its reason.
#[component]
fn PublishControls(review: Review, publish: ServerAction<WorkloadPublish>) -> impl IntoView {
    let workload = review.view.workload.name.clone();
    let content = review.content.hidden_fields("form[content]");
    let selected = u32::try_from(review.decision.selected().count()).unwrap_or(u32::MAX);
    let verb = format!("Publish to {}", pluralize(selected, "cluster"));
    let typed = RwSignal::new(String::new());
    let acknowledged = RwSignal::new(false);
    let can_force = review.can_force();
    let hash = review.plan.as_ref().map(|plan| plan.hash.to_string()).unwrap_or_default();
    let command = show_command(&review, acknowledged);
    let confirmation = review.plan.as_ref().and_then(|plan| plan.blast_radius.confirmation());
    let lost = review.plan.as_ref().and_then(|plan| removal_warning(plan, &workload, typed));
    let button = match disabled_reason(&review) {
        None => publish_button(verb, (confirmation, typed), publish.pending(), review.changes_nothing()),
        Some(reason) if can_force => forced_publish_button(verb, reason, acknowledged, publish.pending()),
        Some((look, why)) => view! {
            <button class="btn w-full" type="button" aria-disabled="true" aria-describedby="why-publish">
                {verb}
            </button>
            <DisabledReason id="why-publish" look=look>
                {why}
            </DisabledReason>
        }
        .into_any(),
    };
    view! {
        <ActionForm action=publish attr:class="stack-md">
            <Permission action=UserAction::Publish>
                <input type="hidden" name="form[name]" value=workload />
                <input type="hidden" name="form[plan]" value=hash />
                {content}
                {lost}
                {can_force.then(|| force_option(&review.forcible_codes, acknowledged))}
                <div class="field">
                    <label class="field-label" for="message">
                        "Message " <span class="field-note">"optional"</span>
                    </label>
                    <input class="input" id="message" name="form[message]" maxlength="500" placeholder="What changes, for the history" />
                </div>
                {move || publish.value().get().and_then(Result::err).map(|error| view! { <ErrorBanner error=error /> })}
                {button}
                <p class="meta">"It is shown as published once the server has stored it."</p>
            </Permission>
        </ActionForm>
        {command}
    }
    .into_any()
}

/// The command that does the same, with the forced codes once they are acknowledged.
fn show_command(review: &Review, acknowledged: RwSignal<bool>) -> AnyView {
    let Some(line) = command_line(review) else { return ().into_any() };
    if !review.can_force() {
        return view! { <CopyLine line=line /> }.into_any();
    }
    let options: String = review.forcible_codes.iter().map(|code| format!(" --force {code}")).collect();
    let forced = format!("{line}{options}");
    view! {
        <div hidden=move || acknowledged.get()>
            <CopyLine line=line />
        </div>
        <div hidden=move || !acknowledged.get()>
            <CopyLine line=forced />
        </div>
    }
    .into_any()
}

/// The command that does the same; none for an override, which it publishes in another way.
fn command_line(review: &Review) -> Option<String> {
    let name = &review.view.workload.name;
    if !review.content.override_name.is_empty() {
        return None;
    }
    Some(match (&review.plan, review.content.revision) {
        (Some(plan), None) => format!("flotilla publish {name} --plan {} --wait", plan.hash),
        (None, None) => format!("flotilla plan {name}"),
        (Some(plan), Some(number)) => {
            format!("flotilla rollback {name} {number} --plan {} --wait", plan.hash)
        }
        (None, Some(number)) => format!("flotilla plan {name} --revision {number}"),
    })
}

/// The enabled button; the main action unless it would change nothing. The server checks the confirmed number too: without
/// JavaScript nothing else does.
fn publish_button(
    verb: String,
    (confirmation, typed): (Option<u32>, RwSignal<String>),
    pending: Memo<bool>,
    changes_nothing: bool,
) -> AnyView {
    let is_unconfirmed =
        move || confirmation.is_some_and(|number| typed.with(|text| text.trim() != number.to_string()));
    let touched = move || typed.with(|text| !text.is_empty());
    view! {
        <button
            class="btn w-full"
            class:btn-primary=!changes_nothing
            type="submit"
            aria-busy=move || pending.get().to_string()
        >
            {move || if pending.get() { "Publishing…".to_owned() } else { verb.clone() }}
        </button>
        {move || {
            (is_unconfirmed() && touched())
                .then(|| {
                    view! {
                        <DisabledReason id="why-number" look=StatusStyle { icon: "warning", hue: "hue-drifted", emphasis: "state-quiet" }>
                            {format!("That is not the number of clusters that would lose it: {}.", confirmation.unwrap_or_default())}
                        </DisabledReason>
                    }
                })
        }}
    }
    .into_any()
}

/// The checkbox that forces the codes with which clusters rejected the plan.
fn force_option(codes: &[String], acknowledged: RwSignal<bool>) -> AnyView {
    let is_decided = |code: &String| domain::guard::catalogue::is_forcible_on_hub(code);
    let has_dependents = codes.iter().any(|code| code == HAS_DEPENDENTS);
    let (label, effect) = if codes.iter().all(|code| code == HAS_DEPENDENTS) {
        (
            "Publish although other workloads depend on it there",
            "They stay on these clusters, and no new revision of them is delivered there without it. The history names who forced it.",
        )
    } else if has_dependents {
        (
            "Publish although these findings hold it",
            "What they describe happens. The history names who forced it.",
        )
    } else if codes.iter().all(is_decided) {
        (
            "Publish and replace the generated values",
            "The named values change on these clusters. The history names who forced it.",
        )
    } else if codes.iter().any(is_decided) {
        (
            "Publish, replace the generated values, and ignore that clusters reject it",
            "The named values change; the rejected objects are expected to fail there, and all others are applied. The history names who forced it.",
        )
    } else {
        (
            "Publish although clusters reject it",
            "These objects are expected to fail there; all others are applied. The history names who forced it.",
        )
    };
    view! {
        <label class="choice">
            <input
                type="checkbox"
                class="checkbox"
                name="form[force]"
                value=codes.join(",")
                on:change=move |ev| acknowledged.set(event_target_checked(&ev))
            />
            {format!("{label}: {}", codes.join(", "))}
        </label>
        <p class="text-2">{effect}</p>
    }
    .into_any()
}

/// The button of a plan that clusters rejected: enabled by the checkbox. The server checks the codes too.
fn forced_publish_button(
    verb: String,
    (look, why): (StatusStyle, AnyView),
    acknowledged: RwSignal<bool>,
    pending: Memo<bool>,
) -> AnyView {
    view! {
        <button
            class=move || if acknowledged.get() { "btn btn-danger w-full" } else { "btn w-full" }
            type="submit"
            aria-disabled=move || (!acknowledged.get()).then_some("true")
            aria-describedby=move || (!acknowledged.get()).then_some("why-publish")
            aria-busy=move || pending.get().to_string()
            on:click=move |ev| {
                if !acknowledged.get_untracked() {
                    ev.prevent_default();
                }
            }
        >
            {move || if pending.get() { "Publishing…".to_owned() } else { verb.clone() }}
        </button>
        <div hidden=move || acknowledged.get()>
            <DisabledReason id="why-publish" look=look>
                {why}
            </DisabledReason>
        </div>
    }
    .into_any()
}

/// Why it can't be published now, if so.
fn disabled_reason(review: &Review) -> Option<(StatusStyle, AnyView)> {
    let errors: Vec<Finding> =
        review.findings().iter().filter(|finding| finding.is_blocking()).cloned().collect();
    let lock = StatusStyle { icon: "lock", hue: "hue-unknown", emphasis: "state-quiet" };
    if let Some(why) = &review.blocked_reason {
        return Some((lock, why.clone().into_any()));
    }
    if let Some(first) = errors.first() {
        let place = first
            .location
            .as_ref()
            .map(|place| format!(", {} line {}", place.file, place.line))
            .unwrap_or_default();
        let href = review.correction_path(first);
        let n = u32::try_from(errors.len()).unwrap_or(u32::MAX);
        let link = format!("{}{place}", first.code);
        let why = view! { {format!("{} to fix first: ", pluralize(n, "error"))} <a class="link" href=href>{link}</a> };
        return Some((worst_style(&errors), why.into_any()));
    }
    match &review.plan {
        None => Some((lock, "Create a plan first: it shows what would be published.".into_any())),
        Some(plan) if plan.dry_runs.pending > 0 => {
            let n = pluralize(u32::try_from(plan.dry_runs.pending).unwrap_or(u32::MAX), "cluster");
            Some((lock, format!("Waiting for the dry run of {n}, at most 20 s.").into_any()))
        }
        Some(_) => None,
    }
}
