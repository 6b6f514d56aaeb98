//! New members: clusters that match only after the publish (S1-9, `product.md` F.7.1).

use super::{Decision, NewMembers, Step, StepResult};
use crate::id::ClusterId;

/// Takes back the choice of clusters that do not have the workload yet, unless the policy says `auto`: nobody has said
/// yet what differs there. A publish does not call this; it is how a person lets new members in.
pub fn hold_new_members(decision: &mut Decision, policy: NewMembers, current: &[ClusterId]) {
    let held = policy == NewMembers::Manual;
    for verdict in decision.verdicts.iter_mut().filter(|verdict| verdict.chosen) {
        let is_new = !current.contains(&verdict.cluster);
        verdict.chosen = !(held && is_new);
        verdict.steps.push(StepResult {
            step: Step::NewMember,
            passed: verdict.chosen,
            asked: format!("newMembers: {}", if held { "manual" } else { "auto" }),
            seen: if is_new { "matches only since the publish" } else { "has the workload" }.to_owned(),
            remedy: if verdict.chosen { "" } else { "publish again, or set newMembers to auto" }.to_owned(),
        });
    }
    // Held clusters are the nearest of the refused: all they need is a publish.
    decision.verdicts.sort_by_key(|verdict| !verdict.chosen);
}

#[cfg(test)]
mod tests {
    use super::super::Verdict;
    use super::*;

    #[test]
    fn s1_9_a_cluster_that_joins_later_waits_for_the_next_publish_unless_the_policy_says_auto() {
        let old = ClusterId::from_parts(1, 1);
        let new = ClusterId::from_parts(2, 2);
        let verdict = |cluster| Verdict { cluster, name: String::new(), chosen: true, steps: Vec::new() };
        let decision = Decision { verdicts: vec![verdict(old), verdict(new)], ..Decision::default() };

        let mut manual = decision.clone();
        hold_new_members(&mut manual, NewMembers::Manual, &[old]);
        assert_eq!(manual.chosen().map(|v| v.cluster).collect::<Vec<_>>(), [old]);
        assert_eq!(manual.verdicts[1].refusal().unwrap().step, Step::NewMember);

        let mut auto = decision;
        hold_new_members(&mut auto, NewMembers::Auto, &[old]);
        assert_eq!(auto.chosen().count(), 2);
    }
}
