//! Findings for template errors (G115).

use super::TemplateError;
use crate::kubernetes::object::ObjectRef;
use crate::text::finding::{Finding, shorten};

/// Most bytes of a message: expressions are copied to it.
const MAX_MESSAGE_BYTES: usize = 1_000;

/// The finding for an error in an object that does not depend on the cluster; `None` for a missing value.
pub(crate) fn static_finding(problem: &TemplateError, object: &ObjectRef) -> Option<Finding> {
    let object = object.to_string();
    error_finding(problem, &object).map(|finding| finding.with_object(object))
}

/// The finding for an error in values of this layer that does not depend on the cluster; `None` for a missing value.
pub(crate) fn values_finding(problem: &TemplateError, layer: &str) -> Option<Finding> {
    error_finding(problem, &format!("Values ({layer})"))
}

fn error_finding(problem: &TemplateError, subject: &str) -> Option<Finding> {
    let (pointer, finding) = match problem {
        TemplateError::MissingValue { .. } => return None,
        TemplateError::Invalid { pointer, error: why } => {
            let message = shorten(format!("{subject}: {}", why.message), MAX_MESSAGE_BYTES);
            (pointer, Finding::error("G115", message, why.hint.clone()))
        }
        TemplateError::UnknownRoot { pointer, text: written, suggestion: meant } => {
            let message = format!("{subject}: {written:?} is not a Flotilla variable and is left unchanged.");
            (pointer, Finding::warning("G115", message, format!("Did you mean {meant}?")))
        }
        TemplateError::Omitted { count } => {
            let message =
                format!("{subject}: {count} more expressions have errors; only the first are listed.");
            return Some(Finding::warning(
                "G115",
                message,
                "Correct those that are listed, then check again.",
            ));
        }
    };
    Some(finding.with_path(pointer))
}

/// The finding for a value that the cluster of this name does not have: a warning if the release waits for it, else an error.
pub(crate) fn missing_finding(
    problem: &TemplateError,
    object: &ObjectRef,
    cluster: &str,
    waits: bool,
) -> Option<Finding> {
    let TemplateError::MissingValue { pointer, variable } = problem else { return None };
    let message = format!("{object} uses {variable}, which is not known for this cluster.");
    let message = shorten(message, MAX_MESSAGE_BYTES);
    let finding = if waits {
        Finding::warning(
            "G115",
            format!("{message} Nothing is applied there until it is known."),
            variable.hint(),
        )
    } else {
        Finding::error("G115", message, variable.hint())
    };
    Some(finding.with_object(object.to_string()).with_path(pointer).with_clusters(vec![cluster.to_owned()]))
}
