//! Namespaces.

use domain::health::Health;

use super::object_view::ObjectView;
use super::{healthy, progressing};

pub(super) fn assess(view: &ObjectView<'_>) -> Health {
    if view.text("/status/phase") != "Terminating" {
        return healthy("");
    }
    let blocked_by: Vec<&str> = ["NamespaceContentRemaining", "NamespaceFinalizersRemaining"]
        .into_iter()
        .filter_map(|kind| view.condition(kind).filter(|c| c.is_true()).map(|c| c.message))
        .collect();
    let message = if blocked_by.is_empty() { "is being deleted".to_owned() } else { blocked_by.join(" ") };
    progressing("Terminating", message)
}
