//! Namespaces.

use domain::health::Health;

use super::object_view::ObjectView;
use super::{healthy, progressing};

pub(super) fn assess(view: &ObjectView<'_>) -> Health {
    if view.text("/status/phase") != "Terminating" {
        return healthy("");
    }
    let holds: Vec<&str> = ["NamespaceContentRemaining", "NamespaceFinalizersRemaining"]
        .into_iter()
        .filter_map(|kind| view.condition(kind).filter(|c| c.is_true()).map(|c| c.message))
        .collect();
    let message = if holds.is_empty() { "is being deleted".to_owned() } else { holds.join(" ") };
    progressing("Terminating", message)
}
