//! The deadline of a release: it marks, and nothing follows from it (S2-3).

use super::{Gate, Release, ReleaseGoal};
use crate::kubernetes::time::Timestamp;

impl Release {
    /// Begins the deadline of what is being delivered, and ends that of what is operational, held back or over. `revision` is the one that
    /// was desired before: another one begins it again, a repeated delivery of the same one does not.
    pub(super) fn update_deadline(&mut self, revision: Option<u32>, at: Timestamp) {
        let is_delivered = self.goal == ReleaseGoal::Present
            && self.gate == Gate::Open
            && !self.is_suspended()
            && self.desired.is_some()
            && self.desired == self.released;
        let is_unfinished = is_delivered && self.stages.current().is_some();
        let began = self.deadline_at.filter(|_| self.revision == revision);
        self.deadline_at = match self.policies.deadline_millis() {
            Some(millis) if is_unfinished => began.or_else(|| Some(at.plus_millis(millis))),
            _ => None,
        };
    }
}

/// `past its deadline for 5 min`, for people; `None` without a deadline, or before it.
pub fn describe_missed_deadline(deadline_at: Option<Timestamp>, now: Timestamp) -> Option<String> {
    let deadline_at = deadline_at.filter(|deadline_at| *deadline_at <= now)?;
    Some(format!("past its deadline for {}", deadline_at.format_age(now)))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::model::health::{Health, HealthStatus};
    use crate::model::policy::{DeletionPolicy, Policies};
    use crate::model::release::stage::StageReason;
    use crate::model::release::tests::{at, bundle, new_release};
    use crate::model::release::{
        DesiredRevision, Reason, ReleaseState, RenderOutcome, StageName, StageState, SyncStatus,
    };
    use crate::model::report::{ReleaseReport, StageReport};

    fn half_an_hour() -> Policies {
        Policies { deadline: "30m".parse().ok(), ..Policies::default() }
    }

    /// A report in which every stage is done but, without success, the one of the images.
    fn report(release: &Release, is_operational: bool) -> ReleaseReport {
        let failed = StageState::Failed(StageReason::new(Reason::ImagePullFailed, "401"));
        let stages = StageName::ALL.iter().copied().filter(|name| name.is_reported_by_agent());
        let state = |name| match name {
            StageName::ImagesPulled if !is_operational => failed.clone(),
            StageName::Operational if !is_operational => StageState::Pending,
            _ => StageState::Done,
        };
        let degraded = Health::new(HealthStatus::Degraded, "ImagePullFailed", "401");
        ReleaseReport {
            release: release.id(),
            generation: release.generation(),
            applied: release.released().cloned(),
            stages: stages.map(|name| StageReport { name, state: state(name) }).collect(),
            sync: SyncStatus::Synced,
            health: if is_operational { Health::healthy() } else { degraded },
            resources: Vec::new(),
            drift: Vec::new(),
            drift_omitted: 0,
            removed: false,
        }
    }

    fn delivered() -> Release {
        let mut release = new_release();
        release.set_desired_revision(1, RenderOutcome::Bundle(bundle(1)), half_an_hour(), at(10));
        release
    }

    #[test]
    fn s2_3_a_missed_deadline_is_a_mark_and_ends_with_the_success() {
        let mut release = delivered();
        assert_eq!(release.deadline_at(), Some(at(1_810)));
        release.apply_report(&report(&release, false), at(20)).unwrap();
        release.apply_report(&report(&release, false), at(4_000)).unwrap();
        assert_eq!(release.deadline_at(), Some(at(1_810)), "reports do not move it");
        assert_eq!(describe_missed_deadline(release.deadline_at(), at(1_809)), None);
        let mark = describe_missed_deadline(release.deadline_at(), at(1_810 + 300));
        assert_eq!(mark.as_deref(), Some("past its deadline for 5 min"));
        // Nothing is aborted: the same bundle is desired, and the same generation is expected.
        assert_eq!((release.state(), release.generation()), (ReleaseState::Degraded, 1));
        assert!(release.desired_release("web").is_some());
        release.apply_report(&report(&release, true), at(5_000)).unwrap();
        assert_eq!((release.state(), release.deadline_at()), (ReleaseState::Healthy, None));
        // What stops to be operational has the whole time again.
        release.apply_report(&report(&release, false), at(6_000)).unwrap();
        assert_eq!(release.deadline_at(), Some(at(7_800)));
        release.remove(DeletionPolicy::Foreground, "Unpublished by ana.", at(6_001));
        assert_eq!(release.deadline_at(), None);
    }

    #[test]
    fn s2_3_the_deadline_begins_with_the_delivery_and_again_with_another_revision() {
        let mut release = delivered();
        release.set_desired_revision(1, RenderOutcome::Bundle(bundle(1)), half_an_hour(), at(50));
        assert_eq!(release.deadline_at(), Some(at(1_810)), "the same revision is the same delivery");
        let next = |outcome| DesiredRevision { revision: 2, outcome, policies: half_an_hour() };
        release.gate_revision(next(RenderOutcome::Bundle(bundle(2))), "Waits for wave 2.", at(100));
        assert_eq!(release.deadline_at(), None, "what waits for its wave is not late");
        assert!(release.admit(half_an_hour(), at(9_000)));
        assert_eq!(release.deadline_at(), Some(at(10_800)));
        assert!(release.suspend("Suspended by ann.", at(9_010)));
        assert_eq!(release.deadline_at(), None, "what a user suspended is not late");
        assert!(release.resume(at(9_020)));
        assert_eq!(release.deadline_at(), Some(at(10_820)));
        let failed = RenderOutcome::Failed(StageReason::new(Reason::RenderFailed, "values.yaml is missing"));
        release.set_desired_revision(3, failed, half_an_hour(), at(9_100));
        assert_eq!(release.deadline_at(), None, "nothing of revision 3 is delivered");
        release.set_desired_revision(3, RenderOutcome::Bundle(bundle(3)), Policies::default(), at(9_200));
        assert_eq!(release.deadline_at(), None, "there is no limit by default");
    }
}
