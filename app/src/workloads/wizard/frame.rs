//! The frame of the wizard: rail of steps, top bar with the title of the step.

use leptos::prelude::*;
use leptos_router::components::Outlet;
use leptos_router::hooks::use_location;

use super::draft_status::draft_status_read;
use super::rail::StepRail;
use super::step::WizardStep;
use super::step_findings::StepFindings;
use crate::components::icon;
use crate::frame::{LiveStatus, ShortcutHelp, focus_content_on_navigation};
use crate::live::{self, Topic};
use crate::resource::create_resource;
use crate::theme::ThemeSwitch;

/// The frame with the page of a step in it.
#[component]
pub fn WizardFrame() -> impl IntoView {
    focus_content_on_navigation();
    let path = use_location().pathname;
    let at = Memo::new(move |_| WizardStep::from_path(&path.get()));
    let version = live::watch_version(|| Some(Topic::Fleet));
    let data = create_resource(
        move || {
            (
                at.get().map(|(name, _)| name).unwrap_or_default(),
                at.get().map(|(_, step)| step.number()),
                version.get(),
            )
        },
        |(name, ..)| draft_status_read(name),
    );
    // Errors are shown by the page of the step; the frame ignores them.
    let read = Signal::derive(move || data.get().and_then(Result::ok));
    let status = Signal::derive(move || read.get().unwrap_or_default());
    let findings = StepFindings::provide(read);
    Effect::new(move |_| {
        at.track();
        findings.set_touched(false);
    });
    view! {
        <a class="skip" href="#content" rel="external">
            "Skip to content"
        </a>
        <div class="frame">
            <Transition>
                <StepRail at=at status=status findings=findings />
            </Transition>
            <div class="frame-main">
                <header class="topbar">
                    <button class="btn btn-icon btn-quiet rail-toggle" type="button" popovertarget="rail" aria-label="Steps">
                        {icon("menu")}
                    </button>
                    {move || title(at.get())}
                    <div class="topbar-end">
                        <LiveStatus />
                        <ThemeSwitch />
                    </div>
                </header>
                <main
                    class="content"
                    id="content"
                    tabindex="-1"
                    on:focusout=move |event| {
                        if live::page::is_field_event(&event) {
                            findings.set_touched(true);
                        }
                    }
                    on:input=move |event| {
                        // The editor checks while a person types.
                        if live::page::is_editor_event(&event) {
                            findings.set_touched(true);
                        }
                    }
                >
                    <Outlet />
                </main>
            </div>
        </div>
        <ShortcutHelp />
    }
    .into_any()
}

/// The heading of the step; the review has a heading of its own.
fn title(at: Option<(String, WizardStep)>) -> AnyView {
    let Some((name, step)) = at else {
        return view! { <span class="crumbs min-w-0">"New workload"</span> }.into_any();
    };
    let place = format!("Step {} of {}", step.number(), WizardStep::ALL.len());
    if step == WizardStep::Review {
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
            <h1 class="title" tabindex="-1" data-step-heading="">{step.label()}</h1>
            <p class="meta truncate max-sm:hidden">{step.description()}</p>
            <p class="meta sm:hidden">{place}</p>
        </div>
    }
    .into_any()
}
