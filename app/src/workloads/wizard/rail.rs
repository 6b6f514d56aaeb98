//! The rail of steps: current and completed steps, and the findings of each.

use domain::Finding;
use leptos::prelude::*;
use leptos_router::NavigateOptions;
use leptos_router::hooks::{use_navigate, use_query_map};

use super::draft_status::DraftStatus;
use super::step::WizardStep;
use super::step_findings::StepFindings;
use super::step_form::FORM;
use crate::components::findings::{summarize_findings, worst_style};
use crate::components::icon;
use crate::frame::{rail_brand, rail_shortcuts};
use crate::live::form;
use crate::paths;

/// The rail. `at` is the workload's name and the step; `None` before the workload has a name.
#[component]
pub fn StepRail(
    /// Name of the workload and current step.
    at: Memo<Option<(String, WizardStep)>>,
    /// The status of the stored draft.
    status: Signal<DraftStatus>,
    /// The findings of the open step.
    findings: StepFindings,
) -> impl IntoView {
    let follow = follow_without_form();
    let query = use_query_map();
    let restored = Memo::new(move |_| query.read().get("revision"));
    view! {
        <nav class="rail" id="rail" popover="auto" aria-label="Steps">
            {rail_brand()}
            {move || leave_link(at.get(), status.with(|status| status.editable), follow)}
            <div class="wizard-about rail-word">
                {move || match at.get() {
                    Some((name, _)) => view! { <p class="name truncate">{name}</p> }.into_any(),
                    None => view! { <p class="strong">"New workload"</p> }.into_any(),
                }}
                <p class="meta">{move || status.with(|status| describe_draft(status, restored.get()))}</p>
            </div>
            <ol class="wizard-steps">
                {WizardStep::ALL
                    .map(|step| {
                        view! {
                            <li>{move || {
                                let at = at.get();
                                let open = at.as_ref().map(|(_, step)| *step);
                                status.with(|status| step_item(step, at, status, findings.of_step(step, open, status), follow))
                            }}</li>
                        }
                    })
                    .collect_view()}
            </ol>
            <div class="rail-foot">
                {rail_shortcuts()}
            </div>
        </nav>
    }
    .into_any()
}

/// What is reviewed or edited. `restored` is the number of the revision to which a rollback is reviewed.
fn describe_draft(status: &DraftStatus, restored: Option<String>) -> String {
    match status.published {
        _ if restored.is_some() => format!("Rollback to r{}", restored.unwrap_or_default()),
        Some(number) => format!("Draft of r{}", number + 1),
        None if status.namespace.is_empty() => "Not saved yet".to_owned(),
        None => format!("New workload in {}", status.namespace),
    }
}

/// Follows a path after a click on a button of the rail while the page of the step is still being loaded: a submit button
/// whose form is missing does nothing. There is nothing to save then.
fn follow_without_form() -> Callback<String> {
    let navigate = use_navigate();
    Callback::new(move |path: String| {
        if !form::has_form(FORM) {
            navigate(&path, NavigateOptions::default());
        }
    })
}

/// Whether the step has a form that the buttons of the rail can submit.
fn has_form(at: Option<&(String, WizardStep)>, editable: bool) -> bool {
    editable && at.is_some_and(|(_, step)| *step != WizardStep::Review)
}

fn leave_link(at: Option<(String, WizardStep)>, editable: bool, follow: Callback<String>) -> AnyView {
    let inside = || {
        view! {
            {icon("arrow-left")}
            <span class="rail-word">"Save draft and close"</span>
        }
    };
    let (href, word) = match &at {
        Some((name, _)) => (paths::workload(name), "Save draft and close"),
        None => (paths::WORKLOADS.to_owned(), "All workloads"),
    };
    if has_form(at.as_ref(), editable) {
        return view! {
            // Enter in a field saves and stays: browsers use the first submit button of the form.
            <button class="sr-only" type="submit" form=FORM name="then" value="stay" tabindex="-1">
                "Save draft"
            </button>
            <button class="rail-item w-full" type="submit" form=FORM name="then" value="leave" formnovalidate=true title="Save draft and close" on:click=move |_| follow.run(href.clone())>
                {inside()}
            </button>
        }
        .into_any();
    }
    view! {
        <a class="rail-item" href=href title=word>
            {icon("arrow-left")}
            <span class="rail-word">{word}</span>
        </a>
    }
    .into_any()
}

fn step_item(
    step: WizardStep,
    at: Option<(String, WizardStep)>,
    status: &DraftStatus,
    found: Vec<Finding>,
    follow: Callback<String>,
) -> AnyView {
    let current = at.as_ref().map(|(_, step)| *step);
    let is_current = current == Some(step);
    let done = current.is_some_and(|current| step.number() < current.number());
    let class = if done { "rail-item step step-done w-full" } else { "rail-item step w-full" };
    let marks = (!found.is_empty()).then(|| {
        let (n, words, look) = (found.len(), summarize_findings(&found), worst_style(&found));
        view! {
            <span class="rail-count flex items-center gap-1" title=words.clone()>
                {look.icon_view()}
                <span aria-hidden="true">{n}</span>
                <span class="sr-only">{words.clone()}</span>
            </span>
        }
    });
    let number = if done { icon("check").into_any() } else { step.number().into_any() };
    let inside = view! {
        <span class="step-no">{number}</span>
        <span class="rail-word">{step.label()}</span>
        {marks}
    };
    let aria = is_current.then_some("step");
    match at {
        None => view! { <span class=class aria-disabled="true">{inside}</span> }.into_any(),
        Some(at) if has_form(Some(&at), status.editable) && !is_current => view! {
            <button
                class=class
                type="submit"
                form=FORM
                name="then"
                value=step.slug()
                formnovalidate=true
                title=step.label()
                on:click=move |_| follow.run(step.path(&at.0))
            >
                {inside}
            </button>
        }
        .into_any(),
        Some((name, _)) => view! {
            <a class=class href=step.path(&name) aria-current=aria title=step.label()>
                {inside}
            </a>
        }
        .into_any(),
    }
}
