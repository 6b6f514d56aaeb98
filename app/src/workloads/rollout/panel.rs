//! A rollout: preview of its waves, and its progress.

use domain::Timestamp;
use domain::authorization::UserAction;
use domain::rollout::{Rollout, RolloutAction, RolloutState, WavePreview, WaveProgress};
use leptos::prelude::*;

use crate::components::{ErrorBanner, StatusStyle, join_names, pluralize};
use crate::errors::AppResult;
use crate::live;
use crate::paths;
use crate::permission::{PermittedLink, Refusal, document_user, use_refusal};

/// The waves with their clusters and limits, in order.
#[component]
pub fn WaveList(#[prop(into)] waves: Signal<Vec<WavePreview>>) -> impl IntoView {
    let row = |outlook: WavePreview| {
        let wave = outlook.wave;
        let mut rules = Vec::new();
        rules.extend(wave.max_concurrency.map(|most| format!("max {most} concurrent")));
        rules.extend(wave.max_failures.map(|most| format!("max {most} failures")));
        rules.extend(wave.max_deferred.map(|most| format!("max {most} deferred")));
        rules.extend(wave.soak.map(|soak| format!("soak {soak}")));
        let names = join_names(&outlook.cluster_names, outlook.clusters as usize, 4);
        view! {
            <li>
                <p>
                    <span class="name">{wave.name}</span>
                    {format!(" {}", pluralize(outlook.clusters, "cluster"))}
                    {wave.approval.then(|| view! { <span class="tag ml-2">"needs approval"</span> })}
                    {wave.approval_after.then(|| view! { <span class="tag ml-2">"result needs approval"</span> })}
                </p>
                <p class="meta">{names}</p>
                {(!rules.is_empty()).then(|| view! { <p class="meta">{rules.join(", ")}</p> })}
            </li>
        }
    };
    view! {
        <ol class="waves">{move || waves.get().into_iter().map(row).collect_view()}</ol>
    }
    .into_any()
}

/// Applies an action to the rollout of the published revision.
#[server(prefix = "/api/fn", endpoint = "rollout_control")]
pub async fn rollout_control(name: String, action: RolloutAction) -> AppResult<()> {
    use crate::host;
    host::into_app_result(host::hub()?.control_rollout(&host::actor()?, &name, action).await)?;
    leptos_axum::redirect(&paths::workload(&name));
    Ok(())
}

/// The progress of a rollout by wave, and its actions. Empty once it is completed or superseded.
#[component]
pub fn RolloutPanel(
    /// The workload.
    name: String,
    /// The rollout of the published revision, if it has waves.
    rollout: Option<Rollout>,
    /// The server's time when the page was rendered.
    at: Timestamp,
) -> impl IntoView {
    let shown =
        |rollout: &Rollout| !matches!(rollout.state, RolloutState::Completed | RolloutState::Superseded);
    rollout.filter(shown).map(|rollout| rollout_panel(name, rollout, at))
}

const fn required_action(verb: RolloutAction) -> UserAction {
    match verb {
        RolloutAction::Approve => UserAction::ApproveRollout,
        _ => UserAction::ControlRollout,
    }
}

/// The actions that the state of the rollout allows, and why this user may not take some of them.
fn action_buttons(name: &str, rollout: &Rollout) -> AnyView {
    let verbs = RolloutAction::ALL.iter().copied().filter(|verb| rollout.check_action(*verb).is_ok());
    let verbs: Vec<RolloutAction> = verbs.collect();
    // The highest role that one of the buttons needs: its reason is shown for all.
    let needed = verbs.iter().map(|verb| required_action(*verb)).max_by_key(|action| action.required_role());
    let refusal = needed.map(use_refusal);
    let refusal = move || refusal?.get().map(|refusal| view! { <Refusal refusal=refusal /> });
    let is_abortable = verbs.contains(&RolloutAction::Abort);
    let ended = rollout.state.is_given_up();
    // The server decides; this only says it before the click.
    let not_approver = document_user().and_then(|user| rollout.check_approver(&user).err());
    let not_approver = not_approver.filter(|_| verbs.contains(&RolloutAction::Approve));
    let is_not_approver = not_approver.is_some();
    let not_approver = not_approver.map(|why| view! { <span class="meta">{why.to_string()}</span> });
    let buttons = verbs.into_iter().filter(|verb| *verb != RolloutAction::Abort).map(|verb| {
        let is_refused = use_refusal(required_action(verb));
        let is_own = is_not_approver && verb == RolloutAction::Approve;
        view! {
            <button
                class="btn btn-sm"
                type="submit"
                name="action"
                value=verb.as_str()
                disabled=move || is_own || is_refused.get().is_some()
            >
                {action_label(verb)}
            </button>
        }
    });
    view! {
        {buttons.collect_view()}
        {is_abortable.then(|| view! {
            <PermittedLink action=UserAction::ControlRollout class="btn btn-sm" href=paths::workload_dialog(name, "abort") label="Abort…" />
        })}
        {ended.then(|| view! {
            <PermittedLink action=UserAction::Plan class="btn btn-sm" href=paths::roll_back(name, rollout.revision)
                label=format!("Publish r{} again", rollout.revision) />
        })}
        {not_approver}
        {refusal}
    }
    .into_any()
}

fn rollout_panel(name: String, rollout: Rollout, at: Timestamp) -> AnyView {
    let action = ServerAction::<RolloutControl>::new();
    let error =
        move || action.value().get().and_then(Result::err).map(|error| view! { <ErrorBanner error=error /> });
    let verbs = action_buttons(&name, &rollout);
    let look = state_style(&rollout.state);
    let clusters = paths::query(&paths::rollout(&name), &[("revision", &rollout.revision.to_string())]);
    let now = live::server_now(at);
    let title = format!("Rollout of r{}", rollout.revision);
    let rows =
        rollout.waves.iter().enumerate().map(|(n, progress)| wave_item(&rollout, n, progress)).collect_view();
    let sentence = {
        let rollout = rollout.clone();
        move || rollout.message(now.get())
    };
    view! {
        <section class="rollout stack-sm" aria-labelledby="rollout">
            <div class="flex flex-wrap items-baseline gap-x-4 gap-y-2">
                <h2 class="section" id="rollout">
                    {title}
                </h2>
                <p class="flex gap-2 grow">
                    {look.icon_view()} <span>{sentence}</span>
                </p>
                // Without the remaining time: screen readers would announce every change of it.
                <p class="sr-only" role="status">
                    {format!("{}, {}", rollout.state.label(), rollout.current_wave_label())}
                </p>
                <ActionForm action=action attr:class="flex flex-wrap gap-2">
                    <input type="hidden" name="name" value=name />
                    {verbs}
                </ActionForm>
            </div>
            {error}
            <ol class="waves">{rows}</ol>
            <p>
                <a class="link" href=clusters>
                    "Clusters by wave, and report"
                </a>
            </p>
        </section>
    }
    .into_any()
}

fn wave_item(rollout: &Rollout, at: usize, progress: &WaveProgress) -> impl IntoView + use<> {
    let is_over = rollout.state.is_given_up() || matches!(rollout.state, RolloutState::RollingBack { .. });
    let gated = if is_over { "not started" } else { "waiting" };
    let parts = [
        (progress.failing - progress.silent.min(progress.failing), "failing", "hue-degraded"),
        (progress.silent, "offline since the update", "hue-degraded"),
        (
            progress.in_transition - progress.drifted.min(progress.in_transition),
            "in progress",
            "hue-progressing",
        ),
        (progress.drifted, "drifted", "hue-drifted"),
        (progress.deferred, "deferred", "hue-unknown"),
        (progress.rolled_back, "rolled back", "hue-paused"),
        (progress.operational, "operational", "hue-healthy"),
        (progress.gated, gated, "strip-waiting"),
    ];
    let there = parts.into_iter().filter(|(n, ..)| *n > 0);
    let words: Vec<String> = there.clone().map(|(n, word, _)| format!("{n} {word}")).collect();
    let words = if words.is_empty() { "no clusters".to_owned() } else { words.join(", ") };
    let strip = there.map(|(n, _, hue)| view! { <i class=hue style=format!("flex-grow:{n}")></i> });
    let approvals = [("approved", &progress.approved_by), ("result approved", &progress.result_approved_by)];
    let approvals = approvals.into_iter().filter_map(|(what, by)| Some((what, by.as_ref()?)));
    let by: String = approvals.map(|(what, by)| format!(", {what} by {by}")).collect();
    let is_current = at == rollout.wave as usize && rollout.state.is_active();
    view! {
        <li aria-current=is_current.then_some("step")>
            <p class="flex flex-wrap items-baseline gap-x-3">
                <span class="name">{progress.name.clone()}</span>
                <span class="text-2">{rollout.wave_label(at)}</span>
                <span class="text-3 ml-auto">{format!("{}{by}", pluralize(progress.clusters, "cluster"))}</span>
            </p>
            <div class="strip strip-row" aria-hidden="true">{strip.collect_view()}</div>
            <p class="meta">{words.clone()}</p>
        </li>
    }
}

const fn action_label(verb: RolloutAction) -> &'static str {
    match verb {
        RolloutAction::Pause => "Pause",
        RolloutAction::Resume => "Resume",
        RolloutAction::Approve => "Approve",
        RolloutAction::Promote => "Promote (skip soak)",
        RolloutAction::Retry => "Retry failing clusters",
        RolloutAction::Abort => "Abort",
    }
}

pub(super) const fn state_style(state: &RolloutState) -> StatusStyle {
    let (icon, hue, loud) = match state {
        RolloutState::Running => ("progressing", "hue-progressing", "state-attention"),
        RolloutState::Soaking { .. } => ("healthy", "hue-healthy", "state-quiet"),
        RolloutState::AwaitingApproval | RolloutState::AwaitingResultApproval => {
            ("blocked", "hue-drifted", "state-attention")
        }
        RolloutState::AwaitingClusters { .. } => ("unknown", "hue-unknown", "state-attention"),
        RolloutState::Paused { .. } | RolloutState::Aborted { .. } => {
            ("suspended", "hue-paused", "state-attention")
        }
        RolloutState::AutoPaused { .. }
        | RolloutState::RollingBack { .. }
        | RolloutState::RolledBack { .. } => ("failed", "hue-degraded", "state-broken"),
        RolloutState::Completed | RolloutState::Superseded => ("removed", "hue-unknown", "state-quiet"),
    };
    StatusStyle { icon, hue, emphasis: loud }
}
