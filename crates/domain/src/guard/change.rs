//! What is remarkable in the step from the published revision to this one (G213, G516).

use super::deletion;
use super::scene::{Scene, integer};
use crate::finding::Finding;

/// From here on a jump is more likely to be a slip than a wish.
const MANY: i64 = 100;
/// How much more is a jump.
const JUMP: i64 = 10;

/// Everything that is to be said of the step.
pub(super) fn check<'a>(before: &Scene<'a>, now: &Scene<'a>) -> Vec<Finding> {
    let mut findings = deletion::pruned(before, now);
    findings.extend(replicas(before, now));
    findings
}

/// G213: ten times as many replicas as are published, and more than a hundred.
fn replicas<'a>(before: &Scene<'a>, now: &Scene<'a>) -> Vec<Finding> {
    let mut findings = Vec::new();
    let path = "/spec/replicas";
    for subject in now.pods.iter().map(|pod| pod.owner) {
        let Some(published) = before.beside(subject, &subject.name.kind, &subject.name.name) else {
            continue;
        };
        let was = integer(published.get(path)).unwrap_or(1);
        let Some(many) = integer(subject.get(path)).filter(|many| *many > MANY) else { continue };
        if many >= was.max(1).saturating_mul(JUMP) {
            let message = format!("{} goes from {was} to {many} replicas.", subject.shown);
            findings.push(subject.warning(
                "G213",
                path,
                message,
                "Make sure that this is no slip of the keyboard.",
            ));
        }
    }
    findings
}
