//! The footer of a step: findings on the left, Back and Continue on the right.

use domain::Finding;
use leptos::prelude::*;

use super::step::WizardStep;
use super::step_form::FORM;
use crate::components::findings::{summarize_findings, worst_style};
use crate::components::pluralize;

/// Renders the footer of a form from its findings and whether it is being submitted.
pub type RenderFooter = fn(Signal<Vec<Finding>>, Signal<bool>) -> AnyView;

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
    #[prop(optional, into)]
    state: ViewFn,
) -> impl IntoView {
    let next = step.next().unwrap_or(WizardStep::Review).label();
    view! {
        <div class="footbar footbar-edge">
            <span class="reason">
                {move || findings.with(|all| worst_style(all).icon_view())}
                <span aria-live="polite">{move || findings.with(|all| describe_findings(all))}</span>
            </span>
            <span class="flex flex-wrap items-center gap-2">
                {state.run()}
                <button class="btn" type="submit" form=FORM name="then" value="back" formnovalidate=true>
                    "Back"
                </button>
                <button class="btn btn-primary" type="submit" form=FORM name="then" value="next" aria-busy=move || busy.get().to_string()>
                    {move || if busy.get() { "Saving…".to_owned() } else { format!("Continue to {next}") }}
                </button>
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
