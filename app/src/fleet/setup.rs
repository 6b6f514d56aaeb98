//! The steps in which a new server is set up. They are on the page of the fleet until there is a workload.

use leptos::prelude::*;
use serde::{Deserialize, Serialize};

use crate::components::icon;
use crate::paths::{self, SettingsTab};

/// How far a server is set up.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub struct SetupProgress {
    /// Whether a cluster has joined.
    pub has_clusters: bool,
    /// Whether there are other users or an identity provider; `None` if the user may not see that.
    pub has_people: Option<bool>,
}

/// How far a step is.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum StepState {
    Done,
    Next,
    Optional,
    Later,
    /// The user may not see it.
    Hidden,
}

impl StepState {
    /// Classes, icon and word.
    const fn style(self) -> (&'static str, &'static str, &'static str) {
        match self {
            Self::Done => ("state state-quiet hue-healthy", "check", "Done"),
            Self::Next => ("state state-quiet hue-progressing", "arrow-right", "Next"),
            Self::Optional => ("state state-quiet hue-unknown", "minus", "Optional"),
            Self::Later => ("state state-quiet hue-unknown", "minus", "Later"),
            Self::Hidden => ("state state-quiet hue-unknown", "lock", "For an admin"),
        }
    }
}

/// The states of the steps after the first one, which is done by whoever reads this.
const fn step_states(progress: SetupProgress) -> [StepState; 3] {
    let SetupProgress { has_clusters, has_people } = progress;
    let people = match has_people {
        Some(true) => StepState::Done,
        Some(false) => StepState::Optional,
        None => StepState::Hidden,
    };
    if has_clusters {
        [StepState::Done, people, StepState::Next]
    } else {
        [StepState::Next, people, StepState::Later]
    }
}

/// The steps.
#[component]
pub fn SetupSteps(
    /// How far they are.
    progress: SetupProgress,
) -> impl IntoView {
    let [cluster, people, workload] = step_states(progress);
    let providers = paths::settings_tab(SettingsTab::IdentityProviders);
    view! {
        <section class="stack-sm" aria-labelledby="setup-steps">
            <h2 class="section" id="setup-steps">"Set up in four steps"</h2>
            <ol class="stack-sm">
                {show_step(StepState::Done, view! { "1. Sign up the first user" }.into_any(), "You are signed in.")}
                {show_step(
                    cluster,
                    view! { "2. " <a class="link" href=paths::JOIN>"Join a cluster"</a> }.into_any(),
                    "Its agent connects to this server.",
                )}
                {show_step(
                    people,
                    view! {
                        "3. " <a class="link" href=paths::PEOPLE>"Invite people"</a> " or add an "
                        <a class="link" href=providers>"identity provider"</a>
                    }
                    .into_any(),
                    "Each has a role.",
                )}
                {show_step(
                    workload,
                    view! { "4. " <a class="link" href=paths::WORKLOAD_NEW>"Describe a workload"</a> " and publish it" }.into_any(),
                    "The plan shows what changes before anything does.",
                )}
            </ol>
        </section>
    }
    .into_any()
}

fn show_step(state: StepState, title: AnyView, text: &'static str) -> AnyView {
    let (style, mark, word) = state.style();
    view! {
        <li class="flex flex-wrap items-center gap-2">
            <span class=style>{icon(mark)} {word}</span>
            <span>{title}</span>
            <span class="text-2">{text}</span>
        </li>
    }
    .into_any()
}

#[cfg(all(test, feature = "ssr"))]
mod tests {
    use super::*;

    #[test]
    fn the_next_step_is_the_first_required_one_that_is_not_done() {
        let states = |has_clusters, has_people| step_states(SetupProgress { has_clusters, has_people });
        assert_eq!(states(false, Some(false)), [StepState::Next, StepState::Optional, StepState::Later]);
        assert_eq!(states(true, Some(true)), [StepState::Done, StepState::Done, StepState::Next]);
        assert_eq!(states(true, None), [StepState::Done, StepState::Hidden, StepState::Next]);
    }
}
