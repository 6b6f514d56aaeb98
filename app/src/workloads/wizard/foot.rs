//! The foot of a step: findings left, Back and Continue right.

use domain::Finding;
use leptos::prelude::*;

use super::{FORM, Step};
use crate::components::count_of;
use crate::components::findings::{tally, worst};

/// The foot of a step's form, inside it or below it. Findings stop nobody before the review.
#[component]
pub fn WizardFoot(
    /// The step.
    step: Step,
    /// What the guard rails say of what stands in the form.
    #[prop(into)]
    findings: Signal<Vec<Finding>>,
    /// While the form is on its way.
    #[prop(into)]
    busy: Signal<bool>,
    /// Whether what was typed is stored; shown before the buttons.
    #[prop(optional, into)]
    state: ViewFn,
) -> impl IntoView {
    let next = step.next().unwrap_or(Step::Review).word();
    view! {
        <div class="footbar footbar-edge">
            <span class="reason">
                {move || findings.with(|all| worst(all).mark())}
                <span aria-live="polite">{move || findings.with(|all| said(all))}</span>
            </span>
            <span class="flex flex-wrap items-center gap-2">
                {state.run()}
                <button class="btn" type="submit" form=FORM name="then" value="back" formnovalidate=true>
                    "Back"
                </button>
                <button class="btn btn-primary" type="submit" form=FORM name="then" value="next" aria-busy=move || busy.get().to_string()>
                    {move || if busy.get() { "Storing…".to_owned() } else { format!("Continue to {next}") }}
                </button>
            </span>
        </div>
    }
    .into_any()
}

/// What the findings mean for going on.
fn said(findings: &[Finding]) -> String {
    let errors = findings.iter().filter(|finding| finding.blocks()).count();
    match (errors, findings.len()) {
        (0, 0) => "No findings".to_owned(),
        (0, _) => format!("{}; going on is fine", tally(findings)),
        (n, _) => {
            let errors = count_of(u32::try_from(n).unwrap_or(u32::MAX), "error");
            format!("{errors} to mend before publishing; going on is fine")
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_foot_says_what_findings_mean_for_going_on() {
        let (error, warning) = (Finding::error("G214", "m", "h"), Finding::warning("G202", "m", "h"));
        assert_eq!(said(&[]), "No findings");
        assert_eq!(said(std::slice::from_ref(&warning)), "1 warning; going on is fine");
        assert_eq!(said(&[error, warning]), "1 error to mend before publishing; going on is fine");
    }
}
