//! The rail of steps: where one is, what is behind, what the guard rails found in each step.

use leptos::prelude::*;

use super::standing::Standing;
use super::{FORM, Step};
use crate::components::findings::{tally, worst};
use crate::components::icon;
use crate::frame::{rail_brand, rail_keys};
use crate::paths;

/// The rail. `at` is the workload's name and the step; `None` before the workload has a name.
#[component]
pub fn StepRail(
    /// Where one is.
    at: Memo<Option<(String, Step)>>,
    /// How the stored draft stands.
    standing: Signal<Standing>,
) -> impl IntoView {
    view! {
        <nav class="rail" id="rail" popover="manual" aria-label="Steps">
            {rail_brand()}
            {move || leave(at.get(), standing.with(|standing| standing.editable))}
            <div class="wizard-about rail-word">
                {move || match at.get() {
                    Some((name, _)) => view! { <p class="name truncate">{name}</p> }.into_any(),
                    None => view! { <p class="strong">"New workload"</p> }.into_any(),
                }}
                <p class="meta">{move || standing.with(about)}</p>
            </div>
            <ol class="wizard-steps">
                {Step::ALL
                    .map(|step| {
                        view! { <li>{move || item(step, at.get(), &standing.get())}</li> }
                    })
                    .collect_view()}
            </ol>
            <div class="rail-foot">
                {rail_keys()}
            </div>
        </nav>
    }
    .into_any()
}

fn about(standing: &Standing) -> String {
    match standing.published {
        Some(number) => format!("Draft of r{}", number + 1),
        None if standing.namespace.is_empty() => "Nothing is stored yet".to_owned(),
        None => format!("New workload in {}", standing.namespace),
    }
}

/// Whether the step has a form that its buttons can send.
fn has_form(at: Option<&(String, Step)>, editable: bool) -> bool {
    editable && at.is_some_and(|(_, step)| *step != Step::Review)
}

fn leave(at: Option<(String, Step)>, editable: bool) -> AnyView {
    let inside = || {
        view! {
            {icon("arrow-left")}
            <span class="rail-word">"Leave, keep draft"</span>
        }
    };
    if has_form(at.as_ref(), editable) {
        return view! {
            // Enter in a field stores and stays: the first submit button of a form is the one that Enter presses.
            <button class="sr-only" type="submit" form=FORM name="then" value="stay" tabindex="-1">
                "Save draft"
            </button>
            <button class="rail-item w-full" type="submit" form=FORM name="then" value="leave" formnovalidate=true title="Leave, keep draft">
                {inside()}
            </button>
        }
        .into_any();
    }
    let (href, word) = match &at {
        Some((name, _)) => (paths::workload(name), "Leave, keep draft"),
        None => (paths::WORKLOADS.to_owned(), "All workloads"),
    };
    view! {
        <a class="rail-item" href=href title=word>
            {icon("arrow-left")}
            <span class="rail-word">{word}</span>
        </a>
    }
    .into_any()
}

fn item(step: Step, at: Option<(String, Step)>, standing: &Standing) -> AnyView {
    let current = at.as_ref().map(|(_, step)| *step);
    let is_current = current == Some(step);
    let done = current.is_some_and(|current| step.number() < current.number());
    let class = if done { "rail-item step step-done w-full" } else { "rail-item step w-full" };
    let found = standing.in_step(step);
    let marks = (!found.is_empty()).then(|| {
        let (n, words, look) = (found.len(), tally(&found), worst(&found));
        view! {
            <span class="rail-count flex items-center gap-1" title=words.clone()>
                {look.mark()}
                <span aria-hidden="true">{n}</span>
                <span class="sr-only">{words.clone()}</span>
            </span>
        }
    });
    let number = if done { icon("check").into_any() } else { step.number().into_any() };
    let inside = view! {
        <span class="step-no">{number}</span>
        <span class="rail-word">{step.word()}</span>
        {marks}
    };
    let aria = is_current.then_some("step");
    match at {
        None => view! { <span class=class aria-disabled="true">{inside}</span> }.into_any(),
        Some(at) if has_form(Some(&at), standing.editable) && !is_current => view! {
            <button class=class type="submit" form=FORM name="then" value=step.slug() formnovalidate=true title=step.word()>
                {inside}
            </button>
        }
        .into_any(),
        Some((name, _)) => view! {
            <a class=class href=step.path(&name) aria-current=aria title=step.word()>
                {inside}
            </a>
        }
        .into_any(),
    }
}
