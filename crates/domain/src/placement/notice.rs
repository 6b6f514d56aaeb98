//! Notice: a cluster that no longer matches keeps the workload for a while before it goes (E-6).
//!
//! Labels and taints are changed by many hands, and a slip must not take anything away at once. Whoever changes the label
//! back within the time has undone it, and a person can keep it where it is; a publish is a person's word and waits for
//! nothing.

use serde::{Deserialize, Serialize};

use super::Decision;
use crate::id::ClusterId;
use crate::time::Timestamp;

/// How long it keeps it, in milliseconds: 15 minutes (`product.md` F.4).
pub const NOTICE_MILLIS: i64 = 15 * 60_000;

/// A cluster that has the workload and is no longer chosen.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
#[serde(rename_all = "camelCase")]
pub struct Leaving {
    /// The cluster.
    pub cluster: ClusterId,
    /// Its name.
    pub name: String,
    /// From when on it may be taken away.
    pub at: Timestamp,
    /// Who keeps it there until the next publish, if somebody does.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub kept_by: Option<String>,
}

impl Leaving {
    /// Whether the cluster keeps the workload at this time.
    pub fn stays(&self, now: Timestamp) -> bool {
        self.kept_by.is_some() || self.at > now
    }
}

/// Notes for every cluster in `current` that is refused when it loses the workload: what an earlier decision said of it,
/// or a notice from now on.
pub fn give_notice(
    decision: &mut Decision,
    latest: Option<&Decision>,
    current: &[ClusterId],
    now: Timestamp,
) {
    let before = latest.map_or(&[][..], |latest| &latest.leaving);
    let leaving = |verdict: &super::Verdict| {
        before.iter().find(|one| one.cluster == verdict.cluster).cloned().unwrap_or_else(|| Leaving {
            cluster: verdict.cluster,
            name: verdict.name.clone(),
            at: now.plus_millis(NOTICE_MILLIS),
            kept_by: None,
        })
    };
    decision.leaving =
        decision.refused().filter(|verdict| current.contains(&verdict.cluster)).map(leaving).collect();
}

#[cfg(test)]
mod tests {
    use super::super::Verdict;
    use super::*;

    fn decision(chosen: bool) -> Decision {
        let verdict =
            Verdict { cluster: ClusterId::from_parts(1, 1), name: "eu-1".into(), chosen, steps: Vec::new() };
        Decision { verdicts: vec![verdict], ..Decision::default() }
    }

    fn at(minutes: i64) -> Timestamp {
        Timestamp::from_millis(minutes * 60_000)
    }

    #[test]
    fn e_6_a_cluster_that_no_longer_matches_has_a_quarter_of_an_hour_from_when_that_was_first_seen() {
        let here = [ClusterId::from_parts(1, 1)];
        let mut first = decision(false);
        give_notice(&mut first, None, &here, at(0));
        assert_eq!(first.leaving[0].at, at(15));
        let mut later = decision(false);
        give_notice(&mut later, Some(&first), &here, at(9));
        assert_eq!(later.leaving, first.leaving);
    }

    #[test]
    fn e_6_what_a_person_keeps_stays_until_the_next_publish() {
        let here = [ClusterId::from_parts(1, 1)];
        let mut first = decision(false);
        give_notice(&mut first, None, &here, at(0));
        assert!(first.leaving[0].stays(at(14)) && !first.leaving[0].stays(at(15)));
        first.leaving[0].kept_by = Some("ann".into());
        let mut later = decision(false);
        give_notice(&mut later, Some(&first), &here, at(600));
        assert!(later.leaving[0].stays(at(600)));
    }

    #[test]
    fn e_6_whoever_matches_again_or_never_had_it_has_no_notice() {
        let here = [ClusterId::from_parts(1, 1)];
        let mut gone = decision(false);
        give_notice(&mut gone, None, &here, at(0));
        let mut back = decision(true);
        give_notice(&mut back, Some(&gone), &here, at(1));
        assert_eq!(back.leaving, []);
        let mut never = decision(false);
        give_notice(&mut never, None, &[], at(0));
        assert_eq!(never.leaving, []);
    }
}
