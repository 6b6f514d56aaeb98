//! The events of releases that a pass stops or resumes: their clusters report neither.

use domain::Severity;
use domain::event::{EventKind, NewEvent};
use domain::release::{Release, StageName};
use domain::workload::WorkloadHead;

/// Maximum characters of a reason in an event.
const MAX_REASON_CHARS: usize = 400;

/// How many releases stopped at their rendering in this transaction, or continued after it. The cluster reports neither, so
/// without an event open pages would show the state of before.
#[derive(Default)]
pub(super) struct RenderingChanges {
    stopped: u32,
    resumed: u32,
    /// Why one of them stopped.
    reason: String,
    /// How many would be rendered differently now, because the facts of their clusters changed.
    outdated: u32,
    /// Why one of them would.
    notice: String,
    /// How many began to wait for a workload that theirs depends on.
    waiting: u32,
    /// What one of them waits for.
    wait: String,
    /// How many wait no more.
    continued: u32,
    /// How many got a revision that waits, because they are suspended.
    held: u32,
}

impl RenderingChanges {
    pub(super) fn record(&mut self, before: &Release, after: &Release) {
        let reason = |release: &Release| release.stages().get(StageName::Rendered).state.reason().cloned();
        match (reason(before), reason(after)) {
            (None, Some(reason)) => {
                self.stopped += 1;
                reason.text().clone_into(&mut self.reason);
            }
            (Some(_), None) => self.resumed += 1,
            _ => {}
        }
        match (before.is_awaiting_dependency(), after.is_awaiting_dependency()) {
            (false, true) => {
                self.waiting += 1;
                self.wait = after.message();
            }
            (true, false) => self.continued += 1,
            _ => {}
        }
        if after.is_suspended() && before.revision() != after.revision() {
            self.held += 1;
        }
        if before.facts_notice().is_empty() && !after.facts_notice().is_empty() {
            self.outdated += 1;
            after.facts_notice().clone_into(&mut self.notice);
        }
    }

    pub(super) fn into_events(self, workload: &WorkloadHead) -> impl Iterator<Item = NewEvent> {
        let outdated = (self.outdated > 0).then(|| {
            let notice: String = self.notice.chars().take(MAX_REASON_CHARS).collect();
            let plural = if self.outdated == 1 { "" } else { "s" };
            let message = format!("{} on {} cluster{plural}: {notice}", workload.name, self.outdated);
            NewEvent::new(EventKind::ReleaseChanged, "flotilla", message)
                .with_workload(workload.id, &workload.name)
        });
        let held = (self.held > 0).then(|| {
            let message = format!(
                "The desired revision of {} waits on {}, until they are resumed.",
                workload.name,
                count_clusters(self.held)
            );
            NewEvent::new(EventKind::ReleaseChanged, "flotilla", message)
                .with_workload(workload.id, &workload.name)
        });
        let waits = self.dependency_event(workload);
        self.into_event(workload).into_iter().chain(outdated).chain(waits).chain(held)
    }

    /// The event of those that wait for another workload, or continue after it.
    fn dependency_event(&self, workload: &WorkloadHead) -> Option<NewEvent> {
        let name = &workload.name;
        let message = match (self.waiting, self.continued) {
            (0, 0) => return None,
            (0, continued) => {
                format!("{name} waits no more for another workload on {}.", count_clusters(continued))
            }
            (waiting, _) => {
                let wait: String = self.wait.chars().take(MAX_REASON_CHARS).collect();
                format!("{name} is not delivered to {}: {wait}", count_clusters(waiting))
            }
        };
        let event = NewEvent::new(EventKind::ReleaseChanged, "flotilla", message);
        Some(event.with_workload(workload.id, name))
    }

    fn into_event(self, workload: &WorkloadHead) -> Option<NewEvent> {
        let name = &workload.name;
        let (severity, message) = match (self.stopped, self.resumed) {
            (0, 0) => return None,
            (0, resumed) => {
                (Severity::Note, format!("{name} is rendered again for {}.", count_clusters(resumed)))
            }
            (stopped, _) => {
                let reason: String = self.reason.chars().take(MAX_REASON_CHARS).collect();
                (
                    Severity::Warning,
                    format!("{name} is not rendered for {}: {reason}", count_clusters(stopped)),
                )
            }
        };
        let event = NewEvent::new(EventKind::ReleaseChanged, "flotilla", message);
        Some(NewEvent { severity, ..event.with_workload(workload.id, name) })
    }
}

fn count_clusters(count: u32) -> String {
    format!("{count} cluster{}", if count == 1 { "" } else { "s" })
}
