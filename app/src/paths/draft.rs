//! Addresses of the steps in which a draft is edited.

use super::{percent_encode, query, workload};

/// A step of the wizard by its slug: `source`, `placement`, `overrides`, `policies`.
pub fn edit(name: &str, step: &str) -> String {
    format!("{}/edit/{}", workload(name), percent_encode(step))
}

/// The step of the source, with the dialog that makes the chart of an object the source.
pub fn unwrap_dialog(name: &str) -> String {
    query(&edit(name, "source"), &[("dialog", "unwrap")])
}
