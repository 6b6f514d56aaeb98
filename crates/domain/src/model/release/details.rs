//! The details of a release, as the page of its workload shows them.

use serde::{Deserialize, Serialize};
use serde_json::Value;

use super::ReleaseView;
use crate::kubernetes::object::ObjectRef;

/// A release for its details on the page of the workload.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct ReleaseDetails {
    /// The release with its resources.
    pub view: ReleaseView,
    /// The newest revision before the published one that was healthy on every cluster.
    pub healthy_revision: Option<u32>,
    /// The values that the desired revision has for the drifted fields.
    pub desired_values: DesiredValues,
}

/// The desired values of the drifted fields of a release.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub enum DesiredValues {
    /// The applied revision is the desired one.
    AsApplied,
    /// The values of the desired revision, which is not applied yet.
    Other(Vec<DesiredFieldValue>),
    /// Another revision is desired, and its objects can't be read at the moment.
    Unreadable,
}

/// The value of a drifted field in a desired revision that is not applied yet.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct DesiredFieldValue {
    /// The object.
    pub object: ObjectRef,
    /// The path of the field.
    pub path: String,
    /// The value; `None` if the desired revision does not set the field.
    pub value: Option<Value>,
}
