//! The findings of the open step: those that the page finds while a person types, and those of the stored draft that only the server
//! finds, because it knows the clusters. Page, foot and rail show the same. A step that nobody has filled in shows none before a
//! person leaves a field of it.

use domain::Finding;
use domain::finding::sort_findings;
use leptos::prelude::*;

use super::draft_status::DraftStatus;
use super::step::WizardStep;

/// The findings of the open step, provided by the frame. They are set in the browser only: what the server renders first has the
/// findings of the page alone.
#[derive(Clone, Copy)]
pub struct StepFindings {
    /// The status of the stored draft, once it is read.
    stored: RwSignal<Option<DraftStatus>>,
    /// What the page of the open step shows.
    shown: RwSignal<Option<(WizardStep, Vec<Finding>)>>,
    /// Whether a person has left a field of the open step.
    is_touched: RwSignal<bool>,
}

impl StepFindings {
    /// Provides them to the pages of the steps.
    pub(super) fn provide(status: Signal<Option<DraftStatus>>) -> Self {
        let findings = Self {
            stored: RwSignal::new(None),
            shown: RwSignal::new(None),
            is_touched: RwSignal::new(false),
        };
        Effect::new(move |_| findings.stored.set(status.get()));
        provide_context(findings);
        findings
    }

    /// The findings of a step for the rail: those that its page shows, else those of the stored draft. The review shows all.
    pub(super) fn of_step(
        self,
        step: WizardStep,
        open: Option<WizardStep>,
        status: &DraftStatus,
    ) -> Vec<Finding> {
        match self.shown.get().filter(|(shown, _)| *shown == step) {
            Some((_, findings)) => findings,
            None if open == Some(WizardStep::Review) => status.findings_of_step(step),
            None if status.empty_steps.contains(&step) => Vec::new(),
            None => status.findings_of_filled_steps(step),
        }
    }

    /// Records that a person has left a field of the open step, or opened another step.
    pub(super) fn set_touched(self, is_touched: bool) {
        // The wizard may have been left since the field.
        let _ = self.is_touched.try_set(is_touched);
    }

    /// The findings of the stored draft for the open step; `None` while they are not to be shown.
    fn of_open_step(self, step: WizardStep) -> Option<Vec<Finding>> {
        if self.is_quiet(step) {
            return None;
        }
        Some(
            self.stored.with(|status| {
                status.as_ref().map(|status| status.findings_of_step(step)).unwrap_or_default()
            }),
        )
    }

    /// Whether the open step is one that nobody has filled in, of which a person has left no field either.
    pub(super) fn is_quiet(self, step: WizardStep) -> bool {
        let is_empty = |status: &DraftStatus| status.empty_steps.contains(&step);
        !self.is_touched.get() && self.stored.with(|status| status.as_ref().is_some_and(is_empty))
    }

    /// Records what the page of a step shows.
    pub(super) fn record(self, step: WizardStep, findings: Memo<Vec<Finding>>) {
        Effect::new(move |_| self.shown.set(Some((step, findings.get()))));
        on_cleanup(move || {
            // The next step may have recorded its own.
            let _ = self.shown.try_update(|shown| {
                if shown.as_ref().is_some_and(|(recorded, _)| *recorded == step) {
                    *shown = None;
                }
            });
        });
    }
}

/// The findings of a page together with those of the stored draft for its step. Outside the wizard, those of the page.
pub fn with_stored_findings(step: WizardStep, live: Signal<Vec<Finding>>) -> Memo<Vec<Finding>> {
    let context = use_context::<StepFindings>();
    Memo::new(move |_| match context {
        Some(context) => {
            context.of_open_step(step).map_or_else(Vec::new, |stored| combine_findings(live.get(), stored))
        }
        None => live.get(),
    })
}

/// The same for a step with a new draft: no findings either before the status of the draft is read.
pub fn with_stored_findings_of_new(step: WizardStep, live: Signal<Vec<Finding>>) -> Memo<Vec<Finding>> {
    let context = use_context::<StepFindings>();
    let all = with_stored_findings(step, live);
    Memo::new(move |_| match context {
        Some(context) if !context.is_touched.get() && context.stored.with(Option::is_none) => Vec::new(),
        _ => all.get(),
    })
}

/// All of `live`, and those of `stored` that are about something else.
fn combine_findings(mut live: Vec<Finding>, stored: Vec<Finding>) -> Vec<Finding> {
    let is_same = |a: &Finding, b: &Finding| (&a.code, &a.object, &a.path) == (&b.code, &b.object, &b.path);
    let added: Vec<Finding> =
        stored.into_iter().filter(|one| !live.iter().any(|known| is_same(known, one))).collect();
    if !added.is_empty() {
        live.extend(added);
        sort_findings(&mut live);
    }
    live
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_finding_of_page_and_stored_draft_is_shown_once() {
        let finding = |code: &str, object: &str| Finding::warning(code, "m", "h").with_object(object);
        let live = vec![finding("G212", "Deployment web"), finding("G216", "Deployment web")];
        let stored = vec![finding("G212", "Deployment web"), finding("G203", "Deployment web")];
        let codes =
            |findings: Vec<Finding>| -> Vec<String> { findings.into_iter().map(|one| one.code).collect() };
        let mut combined = codes(combine_findings(live.clone(), stored));
        combined.sort();
        assert_eq!(combined, ["G203", "G212", "G216"]);
        assert_eq!(codes(combine_findings(live.clone(), Vec::new())), codes(live));
    }
}
