//! The thirteen stages of a release: done, current with details and what has to hold, later (S2-14). A waiting stage shows since when, why, the attempt
//! and the next retry.

use domain::Timestamp;
use domain::release::{Stage, StageName, StageState, Stages};
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
    let about = current.then(|| view! { <p class="stage-about">{stage.name.requirement()}</p> });
    let title = match &stage.state {
        _ if current => None,
        StageState::Done => Some(stage.name.description().to_owned()),
        StageState::Skipped { message } => Some(message.clone()).filter(|message| !message.is_empty()),
        _ => Some(stage.name.requirement()),
    };
    view! {
        <li class=format!("stage {class} {}", look.hue) aria-current=current.then_some("step") title=title>
            {icon_sized(look.icon, "icon icon-16")}
            <div class="stage-main">
                <span class="stage-word">{stage.name.label()}</span>
                " "
                <span class="stage-fact">{fact}</span>
                {about}
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

/// Why a stage was skipped, in a few words.
fn shorten_skip(name: StageName, message: &str) -> String {
    match name {
        StageName::Approved => "not needed".to_owned(),
        StageName::Pruned if message.contains("nothing to prune") => "nothing to prune".to_owned(),
        _ => message.trim_end_matches('.').to_owned(),
    }
}

fn stage_timing(stage: &Stage, now: Timestamp) -> String {
    match &stage.state {
        StageState::Skipped { message } => shorten_skip(stage.name, message),
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
    use domain::release::Reason;
    use domain::release::stage::StageReason;

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
    fn a_skipped_stage_has_a_short_reason() {
        assert_eq!(shorten_skip(StageName::Approved, "No approval is required."), "not needed");
        assert_eq!(shorten_skip(StageName::Pruned, "There was nothing to prune."), "nothing to prune");
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
    fn only_the_current_stage_explains_itself_and_no_goal_is_stated_as_a_fact() {
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
        assert_eq!(page.matches("stage-about").count(), 1, "{page}");
        assert!(page.contains("Done when no container waits for its image."), "{page}");
        assert!(page.contains("title=\"Every object is applied, in order.\""), "{page}");
        assert!(page.contains("title=\"Done when every object is healthy.\""), "{page}");
        assert!(
            page.contains("title=\"There is nothing to prune.\""),
            "the reason of what was skipped: {page}"
        );
        assert!(!page.contains("No container waits") && !page.contains("Every object is healthy"), "{page}");
    }
}
