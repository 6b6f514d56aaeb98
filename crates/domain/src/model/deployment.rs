//! Deployments of a chart to a cluster group: the workload of one chart and one group in the form of the multi-cluster
//! deployment API (S1-10 … S1-23).
//!
//! A deployment is no object of its own. It is a workload whose source is a chart and whose placement is exactly one cluster
//! group; it is found by the name of its Helm release. So everything else of the product shows and changes it too.

use std::collections::BTreeMap;

use serde::de::{Deserializer, Error as _};
use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};

use crate::kubernetes::digest::Digest;
use crate::kubernetes::id::{ClusterId, OperationId};
use crate::kubernetes::time::Timestamp;
use crate::model::health::HealthStatus;
use crate::model::operation::{OperationStatus, OperationTarget};
use crate::model::placement::{Placement, Predicate};
use crate::model::release::{Release, Tombstone};
use crate::model::workload::WorkloadSpec;
use crate::text::finding::Finding;

mod chart_values;
mod group;
mod history;
mod release_name;
mod request_modes;
mod status;
#[cfg(test)]
mod tests;

pub use chart_values::{OVERRIDE_PRIORITY, ValuesUpdate, list_value_overrides, read_chart_values};
pub use group::{ClusterGroupRequest, ClusterGroupView, GroupMember, member_status};
pub use history::DeploymentRevision;
pub use release_name::format_release_name;
pub use request_modes::set_request_modes;
pub use status::{DeliveryKind, DeploymentStatus};

/// Values of a chart: a map.
pub type ChartValues = Map<String, Value>;

/// The request to create or to change a deployment. `dryrun` and `dryRun` are the same field, and flags may be texts
/// (`"true"`), as clients of the original API send them.
#[derive(Debug, Clone, Default, PartialEq, Deserialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
#[serde(rename_all = "camelCase", default)]
pub struct DeploymentRequest {
    /// The chart, `repository/name`; required to create.
    pub name: String,
    /// Version of the chart; by default the newest one, or the current one of a deployment that is changed.
    pub version: String,
    /// Name of the Helm release; by default two random words.
    pub release_name: String,
    /// Namespace; by default `default`.
    pub namespace: String,
    /// The common values.
    #[serde(deserialize_with = "read_values")]
    #[cfg_attr(feature = "openapi", schema(value_type = Object))]
    pub values: ChartValues,
    /// Values for single clusters, by name of the cluster; merged over the common ones.
    #[serde(deserialize_with = "read_overrides")]
    #[cfg_attr(feature = "openapi", schema(value_type = Object))]
    pub value_overrides: BTreeMap<String, ChartValues>,
    /// Whether the values of the request are merged over the stored ones instead of replacing them (S1-18).
    #[serde(deserialize_with = "read_flag")]
    #[cfg_attr(feature = "openapi", schema(value_type = BooleanOrText))]
    pub reuse_values: bool,
    /// Whether the request is only checked.
    #[serde(alias = "dryrun", deserialize_with = "read_flag")]
    #[cfg_attr(feature = "openapi", schema(value_type = BooleanOrText))]
    pub dry_run: bool,
    /// Whether one cluster is updated after the other. Waves that are set on the workload take precedence.
    #[serde(deserialize_with = "read_flag")]
    #[cfg_attr(feature = "openapi", schema(value_type = BooleanOrText))]
    pub rolling_mode: bool,
    /// Whether a cluster on which it fails is rolled back there; a first installation is removed.
    #[serde(deserialize_with = "read_flag")]
    #[cfg_attr(feature = "openapi", schema(value_type = BooleanOrText))]
    pub atomic: bool,
    /// Rejected unless empty: the content of a chart is uploaded as a chart of the project.
    #[serde(deserialize_with = "read_package")]
    #[cfg_attr(feature = "openapi", schema(value_type = String, default = ""))]
    pub package: bool,
}

/// A flag of a [`DeploymentRequest`] in the OpenAPI document.
#[cfg(feature = "openapi")]
#[derive(Debug)]
pub struct BooleanOrText;

#[cfg(feature = "openapi")]
impl utoipa::PartialSchema for BooleanOrText {
    fn schema() -> utoipa::openapi::RefOr<utoipa::openapi::Schema> {
        let boolean = utoipa::openapi::ObjectBuilder::new().schema_type(utoipa::openapi::Type::Boolean);
        let text = utoipa::openapi::ObjectBuilder::new()
            .schema_type(utoipa::openapi::Type::String)
            .enum_values(Some(["true", "false"]));
        let flag = utoipa::openapi::OneOfBuilder::new().item(boolean).item(text);
        flag.description(Some("A boolean, or its text in any case, as clients of the original API send it"))
            .into()
    }
}

#[cfg(feature = "openapi")]
impl utoipa::ToSchema for BooleanOrText {}

fn read_flag<'de, D: Deserializer<'de>>(deserializer: D) -> Result<bool, D::Error> {
    match Value::deserialize(deserializer)? {
        Value::Null => Ok(false),
        Value::Bool(flag) => Ok(flag),
        Value::String(text) if text.eq_ignore_ascii_case("true") => Ok(true),
        Value::String(text) if text.eq_ignore_ascii_case("false") || text.is_empty() => Ok(false),
        other => Err(D::Error::custom(format!("{other} is neither true nor false"))),
    }
}

/// Whether there is content.
fn read_package<'de, D: Deserializer<'de>>(deserializer: D) -> Result<bool, D::Error> {
    Ok(match Value::deserialize(deserializer)? {
        Value::Null => false,
        Value::String(text) => !text.is_empty(),
        Value::Array(bytes) => !bytes.is_empty(),
        _ => true,
    })
}

fn read_values<'de, D: Deserializer<'de>>(deserializer: D) -> Result<ChartValues, D::Error> {
    Ok(Option::<ChartValues>::deserialize(deserializer)?.unwrap_or_default())
}

fn read_overrides<'de, D: Deserializer<'de>>(
    deserializer: D,
) -> Result<BTreeMap<String, ChartValues>, D::Error> {
    let read =
        Option::<BTreeMap<String, Option<ChartValues>>>::deserialize(deserializer)?.unwrap_or_default();
    Ok(read.into_iter().map(|(cluster, values)| (cluster, values.unwrap_or_default())).collect())
}

/// The placement of a deployment: every member of the group. A publish adds new members, nothing else does (S1-9), and a
/// cluster that leaves the group loses the deployment at once, whatever the others run (S1-8).
pub fn group_placement(group: &str) -> Placement {
    Placement {
        predicates: vec![Predicate { groups: vec![group.to_owned()], ..Predicate::default() }],
        min_available_clusters: Some(0),
        ..Placement::default()
    }
}

/// The group of which this spec is a deployment; `None` if it is none.
pub fn deployment_group(spec: &WorkloadSpec) -> Option<&str> {
    spec.source.chart()?;
    let [predicate] = spec.placement.predicates.as_slice() else { return None };
    let [group] = predicate.groups.as_slice() else { return None };
    (*predicate == Predicate { groups: vec![group.clone()], ..Predicate::default() }).then_some(group)
}

/// A deployment in a list.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
#[serde(rename_all = "camelCase")]
pub struct DeploymentSummary {
    /// Name of the Helm release.
    pub release_name: String,
    /// The chart as it was requested: `repository/name`.
    pub chart: String,
    /// Name of the chart.
    pub chart_name: String,
    /// Version of the chart.
    pub chart_version: String,
    /// Number of the published revision.
    pub version: u32,
    /// Namespace.
    pub namespace: String,
    /// When it was created.
    pub created_at: Timestamp,
    /// When it was last changed.
    pub updated_at: Timestamp,
}

/// A deployment with the state of each cluster (S1-19). It has no single status.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
#[serde(rename_all = "camelCase")]
pub struct DeploymentView {
    /// Its fields in lists.
    #[serde(flatten)]
    pub summary: DeploymentSummary,
    /// What the chart is, in its author's words; may be empty.
    pub description: String,
    /// The common values.
    #[cfg_attr(feature = "openapi", schema(value_type = Object))]
    pub values: ChartValues,
    /// Values for single clusters, by name of the cluster.
    #[cfg_attr(feature = "openapi", schema(value_type = Object))]
    pub value_overrides: BTreeMap<String, ChartValues>,
    /// Its clusters, by name.
    pub target_clusters: Vec<TargetClusterStatus>,
    /// Its newest revisions, newest first, as `helm history` lists them; at most ten.
    #[serde(default)]
    pub history: Vec<DeploymentRevision>,
}

/// A deployment on one cluster.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
#[serde(rename_all = "camelCase")]
pub struct TargetClusterStatus {
    /// Id of the cluster.
    pub cluster_id: ClusterId,
    /// Name of the cluster.
    pub cluster_name: String,
    /// Its cloud provider; may be empty.
    pub cloud: String,
    /// Its Kubernetes distribution; may be empty.
    pub distribution: String,
    /// The status.
    pub status: DeploymentStatus,
    /// Whether what is applied differs from what is desired, or the cluster left the group.
    pub stale: bool,
    /// Version of the applied chart; empty while none is.
    pub version: String,
    /// The health, which the status does not contain.
    pub health: HealthStatus,
    /// Why it failed or waits; may be empty.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub error: String,
}

impl TargetClusterStatus {
    /// A cluster that was deleted while the deployment was on it. It owes the removal of the objects, by this tombstone.
    pub fn cluster_not_found(tombstone: &Tombstone) -> Self {
        let why = "The cluster was deleted. It removes the objects when it joins again.";
        Self {
            cluster_id: tombstone.cluster,
            cluster_name: tombstone.cluster_name.clone(),
            cloud: String::new(),
            distribution: String::new(),
            status: DeploymentStatus::ClusterNotFound,
            stale: true,
            version: String::new(),
            health: HealthStatus::Unknown,
            error: why.to_owned(),
        }
    }
}

/// Whether what is applied differs from what is desired.
pub fn is_stale(release: &Release) -> bool {
    let desired: Option<&Digest> = release.desired();
    !release.is_present() || release.applied().is_none() || release.applied() != desired
}

/// The outcome of a request on one cluster.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
#[serde(rename_all = "camelCase")]
pub struct TargetClusterOutcome {
    /// Id of the cluster.
    pub cluster_id: ClusterId,
    /// Name of the cluster.
    pub cluster_name: String,
    /// Whether the request succeeded there; not whether the deployment is healthy.
    pub status: OperationStatus,
    /// Why it failed or is deferred.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub error: Option<String>,
}

impl TargetClusterOutcome {
    /// A cluster on which there was nothing to do, because it has the deployment as desired.
    pub fn unchanged(target: &TargetClusterStatus) -> Self {
        Self {
            cluster_id: target.cluster_id,
            cluster_name: target.cluster_name.clone(),
            status: OperationStatus::Succeeded,
            error: None,
        }
    }
}

impl From<OperationTarget> for TargetClusterOutcome {
    fn from(target: OperationTarget) -> Self {
        let OperationTarget { cluster_id, cluster_name, status, error, .. } = target;
        Self { cluster_id, cluster_name, status, error }
    }
}

/// The response to a request that changes a deployment.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
#[serde(rename_all = "camelCase")]
pub struct DeploymentResult {
    /// Name of the Helm release.
    pub release_name: String,
    /// The operation; `None` for a dry run, and if there was nothing to do.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub operation: Option<OperationId>,
    /// The outcome as a sentence: what failed where and why (S1-10); empty if everything succeeded.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub message: String,
    /// Its clusters, by name.
    pub target_clusters: Vec<TargetClusterOutcome>,
    /// What was found without rejecting the request.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub findings: Vec<Finding>,
}

impl DeploymentResult {
    /// Whether it succeeded on every cluster.
    pub fn is_success(&self) -> bool {
        self.target_clusters.iter().all(|target| target.status == OperationStatus::Succeeded)
    }

    /// Whether it is still in progress on a cluster, and failed on none.
    pub fn is_in_progress(&self) -> bool {
        !self.is_partial_failure() && !self.is_success()
    }

    /// Whether it failed on a cluster, or a cluster is unreachable.
    pub fn is_partial_failure(&self) -> bool {
        let failed = |status| matches!(status, OperationStatus::Failed | OperationStatus::Deferred);
        self.target_clusters.iter().any(|target| failed(target.status))
    }
}

/// The message of a partial failure (S1-10).
pub fn describe_failures(release_name: &str, targets: &[TargetClusterOutcome]) -> String {
    let failures: Vec<String> = targets
        .iter()
        .filter(|target| matches!(target.status, OperationStatus::Failed | OperationStatus::Deferred))
        .map(|target| {
            let cause = target.error.as_deref().unwrap_or("The cause is not known.");
            format!("CLUSTER: {} CAUSE: {cause}", target.cluster_name)
        })
        .collect();
    if failures.is_empty() {
        return String::new();
    }
    format!(
        "Some operations related to multi-cluster deployment {release_name} were not successful: {}",
        failures.join(" | ")
    )
}
