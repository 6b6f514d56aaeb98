//! The stages in which a cluster joins, as items of a list.

use domain::Timestamp;
use domain::join::{OnboardingStage, OnboardingState};
use leptos::prelude::*;

use crate::components::{Age, icon_sized};

/// One stage: its name, its facts, its hint while it is the current one, and its time.
pub fn show_stage(stage: OnboardingStage, at: Timestamp) -> AnyView {
    let (class, mark, hue) = match stage.state {
        OnboardingState::Done => ("stage-done", "stage-done", "hue-unknown"),
        OnboardingState::Waiting => ("stage-now", "progressing", "hue-progressing"),
        OnboardingState::Failed => ("stage-now", "failed", "hue-degraded"),
        OnboardingState::Pending => ("stage-later", "stage-later", "hue-unknown"),
    };
    let is_current = class == "stage-now";
    let suffix = if stage.state == OnboardingState::Waiting { "" } else { " ago" };
    let since = stage.since.map(|since| view! { <Age since=since at=at suffix=suffix /> });
    let limit = (stage.state == OnboardingState::Waiting).then_some("; no time limit");
    let hint =
        (is_current && !stage.hint.is_empty()).then(|| view! { <p class="meta">{stage.hint.clone()}</p> });
    view! {
        <li class=format!("stage {class} {hue}") aria-current=is_current.then_some("step")>
            {icon_sized(mark, "icon icon-16")}
            <div class="stage-main">
                <span class="stage-word">{stage.name.label()}</span>
                " "
                <span class="stage-fact">{stage.message.clone()}{limit}</span>
                {hint}
            </div>
            <span class="stage-end">{since}</span>
        </li>
    }
    .into_any()
}
