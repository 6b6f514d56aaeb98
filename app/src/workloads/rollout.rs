//! A rollout: the waves it will have, and how far it is.

use domain::Timestamp;
use domain::rollout::{Rollout, RolloutState, RolloutVerb, WaveOutlook, WaveProgress};
use leptos::prelude::*;

use crate::components::{Look, Said, count_of, joined};
use crate::errors::Answer;
use crate::live;

/// Waves with what they are made of, in order.
#[component]
pub fn WaveList(#[prop(into)] waves: Signal<Vec<WaveOutlook>>) -> impl IntoView {
    let row = |outlook: WaveOutlook| {
        let wave = outlook.wave;
        let mut rules = Vec::new();
        rules.extend(wave.max_concurrency.map(|most| format!("{most} at a time")));
        rules.extend(wave.max_failures.map(|most| format!("{most} may fail")));
        rules.extend(wave.soak.map(|soak| format!("soaks {soak}")));
        let names = joined(&outlook.first, outlook.clusters as usize, 4);
        view! {
            <li>
                <p>
                    <span class="name">{wave.name}</span>
                    {format!(" {}", count_of(outlook.clusters, "cluster"))}
                    {wave.approval.then(|| view! { <span class="tag ml-2">"needs approval"</span> })}
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

/// Says something to the rollout of what is published.
#[server(prefix = "/api/fn", endpoint = "rollout_steer")]
pub async fn rollout_steer(name: String, verb: RolloutVerb) -> Answer<()> {
    use crate::{host, paths};
    host::answer(host::hub()?.rollout_steer(&host::actor()?, &name, verb).await)?;
    leptos_axum::redirect(&paths::workload(&name));
    Ok(())
}

/// How far a rollout is, wave by wave, and what may be said to it. Nothing once it is over, unless a person ended it.
#[component]
pub fn RolloutPanel(
    /// The workload.
    name: String,
    /// Its rollout, if what is published went in waves.
    rollout: Option<Rollout>,
    /// The server's time when the page was made.
    at: Timestamp,
) -> impl IntoView {
    let shown =
        |rollout: &Rollout| !matches!(rollout.state, RolloutState::Completed | RolloutState::Superseded);
    rollout.filter(shown).map(|rollout| panel(name, rollout, at))
}

fn panel(name: String, rollout: Rollout, at: Timestamp) -> AnyView {
    let action = ServerAction::<RolloutSteer>::new();
    let said_no =
        move || action.value().get().and_then(Result::err).map(|error| view! { <Said error=error /> });
    let verbs = RolloutVerb::ALL.into_iter().filter(|verb| rollout.can(*verb).is_ok());
    let verbs = verbs.map(|verb| {
        view! {
            <button class="btn btn-sm" type="submit" name="verb" value=verb.word()>
                {word(verb)}
            </button>
        }
    });
    let verbs = verbs.collect_view();
    let look = look(&rollout.state);
    let now = live::now(at);
    let title = format!("Rollout of r{}", rollout.revision);
    let rows =
        rollout.waves.iter().enumerate().map(|(n, progress)| wave(&rollout, n, progress)).collect_view();
    let sentence = {
        let rollout = rollout.clone();
        move || rollout.sentence(now.get())
    };
    view! {
        <section class="rollout stack-sm" aria-labelledby="rollout">
            <div class="flex flex-wrap items-baseline gap-x-4 gap-y-2">
                <h2 class="section" id="rollout">
                    {title}
                </h2>
                <p class="flex gap-2 grow">
                    {look.mark()} <span>{sentence}</span>
                </p>
                // Without the times, which count down: they would be read out again and again.
                <p class="sr-only" role="status">
                    {format!("{}, {}", rollout.state.word(), rollout.at_wave())}
                </p>
                <ActionForm action=action attr:class="flex flex-wrap gap-2">
                    <input type="hidden" name="name" value=name />
                    {verbs}
                </ActionForm>
            </div>
            {said_no}
            <ol class="waves">{rows}</ol>
        </section>
    }
    .into_any()
}

fn wave(rollout: &Rollout, at: usize, progress: &WaveProgress) -> impl IntoView + use<> {
    let parts = [
        (progress.failing, "failing", "hue-degraded"),
        (progress.moving, "on the way", "hue-progressing"),
        (progress.deferred, "offline", "hue-unknown"),
        (progress.operational, "operational", "hue-healthy"),
        (progress.held, "waiting", "strip-waiting"),
    ];
    let there = parts.into_iter().filter(|(n, ..)| *n > 0);
    let words: Vec<String> = there.clone().map(|(n, word, _)| format!("{n} {word}")).collect();
    let words = if words.is_empty() { "no clusters".to_owned() } else { words.join(", ") };
    let strip = there.map(|(n, _, hue)| view! { <i class=hue style=format!("flex-grow:{n}")></i> });
    let by = progress.approved_by.as_ref().map(|by| format!(", approved by {by}")).unwrap_or_default();
    let is_current = at == rollout.wave as usize && rollout.state.is_active();
    view! {
        <li aria-current=is_current.then_some("step")>
            <p class="flex flex-wrap items-baseline gap-x-3">
                <span class="name">{progress.name.clone()}</span>
                <span class="text-2">{rollout.wave_word(at)}</span>
                <span class="text-3 ml-auto">{format!("{}{by}", count_of(progress.clusters, "cluster"))}</span>
            </p>
            <div class="strip strip-row" aria-hidden="true">{strip.collect_view()}</div>
            <p class="meta">{words.clone()}</p>
        </li>
    }
}

const fn word(verb: RolloutVerb) -> &'static str {
    match verb {
        RolloutVerb::Pause => "Pause",
        RolloutVerb::Resume => "Resume",
        RolloutVerb::Approve => "Approve",
        RolloutVerb::Promote => "Go on now",
        RolloutVerb::Abort => "End rollout",
    }
}

const fn look(state: &RolloutState) -> Look {
    let (icon, hue, loud) = match state {
        RolloutState::Running => ("progressing", "hue-progressing", "state-look"),
        RolloutState::Soaking { .. } => ("healthy", "hue-healthy", "state-quiet"),
        RolloutState::AwaitingApproval => ("blocked", "hue-drifted", "state-look"),
        RolloutState::Paused { .. } | RolloutState::Aborted { .. } => {
            ("suspended", "hue-paused", "state-look")
        }
        RolloutState::AutoPaused { .. } => ("failed", "hue-degraded", "state-broken"),
        RolloutState::Completed | RolloutState::Superseded => ("removed", "hue-unknown", "state-quiet"),
    };
    Look { icon, hue, loud }
}
