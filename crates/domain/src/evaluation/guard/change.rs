//! Differences between the published revision and the draft that need attention (G213, G516).

use super::deletion;
use super::rule_context::{RuleContext, integer};
use crate::text::finding::Finding;

/// Replicas above which a jump is probably a typing error.
const MANY_REPLICAS: i64 = 100;
/// Factor from which an increase of replicas is a jump.
const JUMP_FACTOR: i64 = 10;

/// Compares the draft with the published revision.
pub(super) fn check<'a>(published: &RuleContext<'a>, draft: &RuleContext<'a>) -> Vec<Finding> {
    let mut findings = deletion::pruned_data(published, draft);
    findings.extend(replica_jumps(published, draft));
    findings
}

/// G213: at least ten times the published replicas, and more than a hundred.
fn replica_jumps<'a>(published: &RuleContext<'a>, draft: &RuleContext<'a>) -> Vec<Finding> {
    let mut findings = Vec::new();
    let path = "/spec/replicas";
    for object in draft.pods.iter().map(|pod| pod.owner) {
        let Some(before) = published.find_in_namespace(object, &object.name.kind, &object.name.name) else {
            continue;
        };
        let old = integer(before.get(path)).unwrap_or(1);
        let Some(new) = integer(object.get(path)).filter(|new| *new > MANY_REPLICAS) else { continue };
        if new >= old.max(1).saturating_mul(JUMP_FACTOR) {
            let message = format!("{} goes from {old} to {new} replicas.", object.display_name);
            findings.push(object.warning("G213", path, message, "Check that this is not a typing error."));
        }
    }
    findings
}
