//! Findings of a cluster plan about objects that a publish or a removal leaves as they are on the cluster (G412, G413).

use serde_json::Value;

use super::{FieldChange, diff};
use crate::kubernetes::object::ObjectRef;
use crate::text::finding::Finding;

/// Most fields that a finding names.
const MAX_FIELDS: usize = 5;

/// G412: a custom resource definition of a chart differs from the one on the cluster and is not changed; `None` if it is equal.
pub fn check_chart_crd(object: &ObjectRef, desired: &Value, live: &Value) -> Option<Finding> {
    let is_mark = |change: &FieldChange| change.path.starts_with("/metadata/");
    let mut fields: Vec<String> =
        diff(desired, live).into_iter().filter(|change| !is_mark(change)).map(|change| change.path).collect();
    if fields.is_empty() {
        return None;
    }
    let more = fields.len().saturating_sub(MAX_FIELDS);
    fields.truncate(MAX_FIELDS);
    let and_more = if more > 0 { format!(" and {more} more fields") } else { String::new() };
    let message = format!(
        "{object} of the chart differs from the one on the cluster in {}{and_more}. It is not changed.",
        fields.join(", ")
    );
    let hint = "Set the policy upgradeCrds to true to change it, after reading what the new version of the chart requires.";
    Some(Finding::warning("G412", message, hint).with_object(object.to_string()))
}

/// G413: an object stays on the cluster, for the reason of [`crate::model::chart_object::retention_reason`].
pub fn retained_finding(object: &ObjectRef, reason: &str) -> Finding {
    let message = format!("{object} is left on the cluster: {reason}.");
    Finding::note("G413", message, "Delete it with kubectl if it is not needed any more.")
        .with_object(object.to_string())
}
