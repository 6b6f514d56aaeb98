//! The footer of a step: findings on the left, Back and Continue on the right.

use domain::Finding;
use domain::authorization::UserAction;
use leptos::prelude::*;

use super::step::WizardStep;
use super::step_findings::{StepFindings, with_stored_findings};
use super::step_form::FORM;
use crate::components::findings::{summarize_findings, worst_style};
use crate::components::pluralize;
use crate::permission::Permission;

/// What the foot says of a step that nobody has filled in.
const NOT_FILLED_IN: &str = "Nothing is filled in yet; you can continue";

/// Renders the footer of a form from its findings, whether it is being submitted, and the state of automatic saves.
pub type RenderFooter = fn(Signal<Vec<Finding>>, Signal<bool>, AnyView) -> AnyView;

/// The footer of a step's form, inside or below the form. Findings block only the publish.
#[component]
pub fn WizardFooter(
    /// The step.
    step: WizardStep,
    /// Findings about the input of the form.
    #[prop(into)]
    findings: Signal<Vec<Finding>>,
    /// Whether the form is being submitted.
    #[prop(into)]
    busy: Signal<bool>,
    /// The state of automatic saves; shown before the buttons.
    status: AnyView,
) -> impl IntoView {
    let findings = with_stored_findings(step, findings);
    let context = use_context::<StepFindings>();
    if let Some(context) = context {
        context.record(step, findings);
    }
    let is_quiet = move || context.is_some_and(|context| context.is_quiet(step));
    let next = step.next().unwrap_or(WizardStep::Review).label();
    view! {
        <div class="footbar footbar-edge">
            <span class="reason">
                {move || (!is_quiet()).then(|| findings.with(|all| worst_style(all).icon_view()))}
                <span aria-live="polite">
                    {move || if is_quiet() { NOT_FILLED_IN.to_owned() } else { findings.with(|all| describe_findings(all)) }}
                </span>
            </span>
            <span class="flex flex-wrap items-center gap-2">
                {status}
                <button class="btn" type="submit" form=FORM name="then" value="back" formnovalidate=true>
                    "Back"
                </button>
                <Permission action=UserAction::Edit>
                    <button class="btn btn-primary" type="submit" form=FORM name="then" value="next" aria-busy=move || busy.get().to_string()>
                        {move || if busy.get() { "Saving…".to_owned() } else { format!("Continue to {next}") }}
                    </button>
                </Permission>
            </span>
        </div>
    }
    .into_any()
}

/// Summarises the findings and whether a person can continue.
fn describe_findings(findings: &[Finding]) -> String {
    let errors = findings.iter().filter(|finding| finding.is_blocking()).count();
    match (errors, findings.len()) {
        (0, 0) => "No findings".to_owned(),
        (0, _) => format!("{}; you can continue", summarize_findings(findings)),
        (n, _) => {
            let errors = pluralize(u32::try_from(n).unwrap_or(u32::MAX), "error");
            format!("{errors} to fix before publishing; you can continue")
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_footer_summarises_findings() {
        let (error, warning) = (Finding::error("G214", "m", "h"), Finding::warning("G202", "m", "h"));
        assert_eq!(describe_findings(&[]), "No findings");
        assert_eq!(describe_findings(std::slice::from_ref(&warning)), "1 warning; you can continue");
        assert_eq!(
            describe_findings(&[error, warning]),
            "1 error to fix before publishing; you can continue"
        );
    }
}
