//! The thirteen stages of a release: done, now with its facts, later. Every wait says since when, why, which attempt and when next.

use domain::Timestamp;
use domain::release::{Stage, StageState, Stages};
use domain::time::short_duration;
use leptos::prelude::*;

use super::{Look, icon_sized};
use crate::live;

/// The stages on one line.
#[component]
pub fn Timeline(
    /// The stages.
    stages: Stages,
    /// The server's time.
    at: Timestamp,
) -> impl IntoView {
    let now_at = stages.current().map(|stage| stage.name);
    let all: Vec<Stage> = stages.iter().cloned().collect();
    view! {
        <ol class="stages" aria-label="Stages">
            {all
                .into_iter()
                .map(|stage| {
                    let current = now_at == Some(stage.name);
                    entry(stage, current, at)
                })
                .collect_view()}
        </ol>
    }
    .into_any()
}

fn entry(stage: Stage, current: bool, at: Timestamp) -> impl IntoView {
    let (class, look) = face(&stage.state, current);
    let now = live::now(at);
    let fact = {
        let stage = stage.clone();
        move || fact(&stage, now.get())
    };
    let end = {
        let stage = stage.clone();
        move || end(&stage, now.get())
    };
    view! {
        <li class=format!("stage {class} {}", look.hue) title=stage.name.sentence() aria-current=current.then_some("step")>
            {icon_sized(look.icon, "icon icon-16")}
            <div class="stage-main">
                <span class="stage-word">{stage.name.word()}</span>
                " "
                <span class="stage-fact">{fact}</span>
            </div>
            <span class="stage-end">{end}</span>
        </li>
    }
}

fn face(state: &StageState, current: bool) -> (&'static str, Look) {
    let look = |icon, hue| Look { icon, hue, loud: "state-quiet" };
    match state {
        StageState::Done => ("stage-done", look("stage-done", "hue-unknown")),
        StageState::Skipped { .. } => ("stage-done", look("stage-skipped", "hue-unknown")),
        StageState::Failed(_) => ("stage-now", look("failed", "hue-degraded")),
        StageState::Waiting(_) => ("stage-now", look("blocked", "hue-drifted")),
        StageState::Running { .. } => ("stage-now", look("progressing", "hue-progressing")),
        StageState::Pending if current => ("stage-now", look("pending", "hue-progressing")),
        StageState::Pending => ("stage-later", look("stage-later", "hue-unknown")),
    }
}

fn fact(stage: &Stage, now: Timestamp) -> String {
    let since = stage.started_at.map(|start| format!(" for {}", start.age(now))).unwrap_or_default();
    match &stage.state {
        StageState::Failed(trouble) | StageState::Waiting(trouble) => {
            let attempt = if trouble.attempts > 0 {
                format!(" · attempt {}", trouble.attempts)
            } else {
                String::new()
            };
            format!("{}{since} · {}{attempt}", stage.state.word(), trouble.reason)
        }
        StageState::Running { .. } => format!("running{since}"),
        _ => String::new(),
    }
}

fn end(stage: &Stage, now: Timestamp) -> String {
    match &stage.state {
        StageState::Skipped { message } => message.clone(),
        StageState::Done => match (stage.started_at, stage.finished_at) {
            // What was over at once has no duration worth reading.
            (Some(start), Some(end)) if end.since(start) >= 10 => short_duration(end.since(start)),
            _ => String::new(),
        },
        StageState::Failed(trouble) | StageState::Waiting(trouble) => match trouble.next_retry {
            Some(next) if next > now => format!("next try in {}", short_duration(next.since(now))),
            Some(_) => "trying now".to_owned(),
            None => String::new(),
        },
        _ => String::new(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use domain::release::StageName;
    use domain::release::stage::Trouble;

    #[test]
    fn s2_3_a_failed_stage_says_since_when_why_which_attempt_and_when_next() {
        let at = Timestamp::from_millis(1_000_000);
        let mut stages = Stages::default();
        let trouble = Trouble {
            reason: "ImagePullFailed".into(),
            message: "401".into(),
            attempts: 14,
            next_retry: Some(at.plus_millis(168_000)),
        };
        stages.set(StageName::ImagesPulled, StageState::Failed(trouble), at.plus_millis(-40 * 60_000));
        let stage = stages.get(StageName::ImagesPulled);
        assert_eq!(fact(stage, at), "failed for 40 min · ImagePullFailed · attempt 14");
        assert_eq!(end(stage, at), "next try in 2 min");
    }

    #[test]
    fn a_stage_that_is_done_shows_how_long_it_took() {
        let at = Timestamp::from_millis(1_000_000);
        let mut stages = Stages::default();
        stages.set(StageName::Applied, StageState::Running { message: String::new() }, at);
        stages.set(StageName::Applied, StageState::Done, at.plus_millis(3_200));
        assert_eq!(end(stages.get(StageName::Applied), at), "3 s");
    }
}
