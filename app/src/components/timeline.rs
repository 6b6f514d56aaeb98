//! The thirteen stages of a release: done, skipped, current, later, each with a sentence that explains it (S2-14). A waiting stage shows since when,
//! why, the attempt and the next retry.

use domain::Timestamp;
use domain::release::{Stage, StageState, Stages};
use domain::time::format_duration;
use leptos::prelude::*;

use super::icon::icon_sized;
use super::status::StatusStyle;
use crate::live;

/// The stages as an ordered list.
#[component]
pub fn Timeline(
    /// The stages.
    stages: Stages,
    /// The server's time.
    at: Timestamp,
    /// Whether a narrow screen shows one line until it is opened.
    #[prop(optional)]
    folded: bool,
) -> impl IntoView {
    let now_at = stages.current().map(|stage| stage.name);
    let all: Vec<Stage> = stages.iter().cloned().collect();
    let fold = folded.then(|| {
        view! {
            <details class="fold stages-fold">
                <summary>{summarize_stages(&stages)}</summary>
            </details>
        }
    });
    view! {
        {fold}
        <ol class="stages" aria-label="Stages">
            {all
                .into_iter()
                .map(|stage| {
                    let current = now_at == Some(stage.name);
                    stage_item(stage, current, at)
                })
                .collect_view()}
        </ol>
    }
    .into_any()
}

/// `Failed at Images pulled, stage 11 of 13`.
fn summarize_stages(stages: &Stages) -> String {
    let count = stages.iter().count();
    let Some(current) = stages.current() else {
        return format!("All {count} stages completed");
    };
    let position = stages.iter().position(|stage| stage.name == current.name).unwrap_or_default() + 1;
    let verb = match current.state {
        StageState::Failed(_) => "Failed at",
        StageState::Waiting(_) => "Waiting at",
        _ => "At",
    };
    format!("{verb} {}, stage {position} of {count}", current.name.label())
}

fn stage_item(stage: Stage, current: bool, at: Timestamp) -> impl IntoView {
    let (class, look) = stage_style(&stage.state, current);
    let now = live::server_now(at);
    let fact = {
        let stage = stage.clone();
        move || stage_detail(&stage, now.get())
    };
    let end = {
        let stage = stage.clone();
        move || stage_timing(&stage, now.get())
    };
    view! {
        <li class=format!("stage {class} {}", look.hue) aria-current=current.then_some("step")>
            {icon_sized(look.icon, "icon icon-16")}
            <div class="stage-main">
                <span class="stage-word">{stage.name.label()}</span>
                " "
                <span class="stage-fact">{fact}</span>
                <p class="stage-about">{stage.explanation()}</p>
            </div>
            <span class="stage-end">{end}</span>
        </li>
    }
}

fn stage_style(state: &StageState, current: bool) -> (&'static str, StatusStyle) {
    let look = |icon, hue| StatusStyle { icon, hue, emphasis: "state-quiet" };
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

fn stage_detail(stage: &Stage, now: Timestamp) -> String {
    let since = stage.started_at.map(|start| format!(" for {}", start.format_age(now))).unwrap_or_default();
    match &stage.state {
        StageState::Failed(reason) | StageState::Waiting(reason) => {
            let attempt =
                if reason.attempts > 0 { format!(" · attempt {}", reason.attempts) } else { String::new() };
            format!("{}{since} · {}{attempt}", stage.state.as_str(), reason.reason)
        }
        StageState::Running { .. } => format!("running{since}"),
        _ => String::new(),
    }
}

fn stage_timing(stage: &Stage, now: Timestamp) -> String {
    match &stage.state {
        StageState::Skipped { .. } => "skipped".to_owned(),
        StageState::Done => match (stage.started_at, stage.finished_at) {
            // Durations below 10 ms are not displayed.
            (Some(start), Some(end)) if end.millis_since(start) >= 10 => {
                format_duration(end.millis_since(start))
            }
            _ => String::new(),
        },
        StageState::Failed(reason) | StageState::Waiting(reason) => match reason.next_retry {
            Some(next) if next > now => format!("next try in {}", format_duration(next.millis_since(now))),
            Some(_) => "trying now".to_owned(),
            None => String::new(),
        },
        _ => String::new(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use domain::release::stage::StageReason;
    use domain::release::{Reason, StageName};

    #[test]
    fn s2_3_a_failed_stage_shows_its_start_reason_attempt_and_next_retry() {
        let at = Timestamp::from_millis(1_000_000);
        let mut stages = Stages::default();
        let reason = StageReason {
            attempts: 14,
            next_retry: Some(at.plus_millis(168_000)),
            ..StageReason::new(Reason::ImagePullFailed, "401")
        };
        stages.set(StageName::ImagesPulled, StageState::Failed(reason), at.plus_millis(-40 * 60_000));
        let stage = stages.get(StageName::ImagesPulled);
        assert_eq!(stage_detail(stage, at), "failed for 40 min · ImagePullFailed · attempt 14");
        assert_eq!(stage_timing(stage, at), "next try in 2 min");
    }

    #[test]
    fn the_stages_are_summarized_by_the_current_one() {
        let at = Timestamp::from_millis(1_000_000);
        let mut stages = Stages::default();
        assert_eq!(summarize_stages(&stages), "At Accepted, stage 1 of 13");
        let failed = StageState::Failed(StageReason::new(Reason::ImagePullFailed, "401"));
        for stage in stages.clone().iter() {
            stages.set(stage.name, StageState::Done, at);
        }
        assert_eq!(summarize_stages(&stages), "All 13 stages completed");
        stages.set(StageName::ImagesPulled, failed, at);
        assert_eq!(summarize_stages(&stages), "Failed at Images pulled, stage 11 of 13");
    }

    #[test]
    fn a_completed_stage_shows_its_duration() {
        let at = Timestamp::from_millis(1_000_000);
        let mut stages = Stages::default();
        stages.set(StageName::Applied, StageState::Running { message: String::new() }, at);
        stages.set(StageName::Applied, StageState::Done, at.plus_millis(3_200));
        assert_eq!(stage_timing(stages.get(StageName::Applied), at), "3 s");
    }

    #[cfg(feature = "ssr")]
    #[test]
    fn s2_14_every_stage_explains_itself_as_text_and_no_goal_is_stated_as_a_fact() {
        let at = Timestamp::from_millis(1_000_000);
        let mut stages = Stages::default();
        for name in StageName::ALL.iter().filter(|name| **name < StageName::ImagesPulled) {
            stages.set(*name, StageState::Done, at);
        }
        let skipped = StageState::Skipped { message: "There is nothing to prune.".to_owned() };
        stages.set(StageName::Pruned, skipped, at);
        let failed = StageState::Failed(StageReason::new(Reason::ImagePullFailed, "401"));
        stages.set(StageName::ImagesPulled, failed, at);
        let page = crate::render_tests::render_html(move || view! { <Timeline stages=stages at=at /> });
        assert_eq!(page.matches("stage-about").count(), 13, "{page}");
        for explanation in [
            "Done when no container waits for its image.",
            "Every object is applied, in order.",
            "Done when every object is healthy.",
            "There is nothing to prune.",
        ] {
            assert!(page.contains(explanation), "{explanation}: {page}");
        }
        assert!(!page.contains("title="), "not only by hover: {page}");
        assert!(!page.contains("No container waits") && !page.contains("Every object is healthy"), "{page}");
    }
}
