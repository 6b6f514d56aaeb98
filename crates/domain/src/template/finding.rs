//! Problems of templates, in the words of guard rails (G115).

use super::Problem;
use crate::cluster::Cluster;
use crate::finding::Finding;
use crate::object::ObjectRef;

/// What a problem in an object is to a person; `None` for what only matters per cluster.
pub(crate) fn static_finding(problem: &Problem, object: &ObjectRef) -> Option<Finding> {
    let (pointer, finding) = match problem {
        Problem::Missing { .. } => return None,
        Problem::Bad { pointer, why } => {
            (pointer, Finding::error("G115", format!("{object}: {}", why.message), why.hint.clone()))
        }
        Problem::Foreign { pointer, written, meant } => {
            let message = format!("{object}: {written:?} is no variable of ours and is left as it is.");
            (pointer, Finding::warning("G115", message, format!("Did you mean {meant}?")))
        }
    };
    Some(finding.about(object.to_string()).at(pointer))
}

/// What a cluster does not have. An ordinary workload is refused for it; an addon waits there.
pub(crate) fn missing_finding(
    problem: &Problem,
    object: &ObjectRef,
    cluster: &Cluster,
    waits: bool,
) -> Option<Finding> {
    let Problem::Missing { pointer, variable } = problem else { return None };
    let message = format!("{object} asks for {variable}, which is not known of the cluster.");
    let finding = if waits {
        Finding::warning(
            "G115",
            format!("{message} Nothing is applied there until it is."),
            variable.remedy(),
        )
    } else {
        Finding::error("G115", message, variable.remedy())
    };
    Some(finding.about(object.to_string()).at(pointer).on(vec![cluster.name.clone()]))
}
