//! The frame of the wizard: the rail of steps, the top bar with the step's title.

use leptos::prelude::*;
use leptos_router::components::Outlet;
use leptos_router::hooks::use_location;

use super::Step;
use super::rail::StepRail;
use super::standing::standing_read;
use crate::components::icon;
use crate::frame::{Help, LiveWord};
use crate::live::{self, Topic};
use crate::theme::ThemeSwitch;

/// The frame with the page of a step in it.
#[component]
pub fn WizardFramed() -> impl IntoView {
    let path = use_location().pathname;
    let at = Memo::new(move |_| Step::of_path(&path.get()));
    let version = live::version(|| Some(Topic::Fleet));
    let data = Resource::new(
        move || {
            (
                at.get().map(|(name, _)| name).unwrap_or_default(),
                at.get().map(|(_, step)| step.number()),
                version.get(),
            )
        },
        |(name, ..)| standing_read(name),
    );
    // The page below says what is wrong with the workload itself; the frame stays quiet.
    let standing = Signal::derive(move || data.get().and_then(Result::ok).unwrap_or_default());
    view! {
        <a class="skip" href="#content" rel="external">
            "Skip to content"
        </a>
        <div class="frame">
            <Transition>
                <StepRail at=at standing=standing />
            </Transition>
            <div class="frame-main">
                <header class="topbar">
                    <button class="btn btn-icon btn-quiet rail-toggle" type="button" popovertarget="rail" aria-label="Steps">
                        {icon("menu")}
                    </button>
                    {move || title(at.get())}
                    <div class="topbar-end">
                        <LiveWord />
                        <ThemeSwitch />
                    </div>
                </header>
                <main class="content" id="content" tabindex="-1">
                    <Outlet />
                </main>
            </div>
        </div>
        <Help />
    }
    .into_any()
}

/// The step as the page's heading; the review has a heading of its own.
fn title(at: Option<(String, Step)>) -> AnyView {
    let Some((name, step)) = at else {
        return view! { <span class="crumbs min-w-0">"New workload"</span> }.into_any();
    };
    let place = format!("Step {} of {}", step.number(), Step::ALL.len());
    if step == Step::Review {
        return view! {
            <p class="wizard-title">
                <span class="name truncate">{name}</span>
                <span class="meta">{place}</span>
            </p>
        }
        .into_any();
    }
    view! {
        <div class="wizard-title">
            <h1 class="title">{step.word()}</h1>
            <p class="meta truncate max-sm:hidden">{step.about()}</p>
            <p class="meta sm:hidden">{place}</p>
        </div>
    }
    .into_any()
}
