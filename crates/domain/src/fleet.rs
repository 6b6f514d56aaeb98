//! The fleet at a glance: workload × cluster, what needs a person, what changed lately.

use serde::{Deserialize, Serialize};

use crate::cluster::Reach;
use crate::event::Event;
use crate::id::{ClusterId, ReleaseId, WorkloadId};
use crate::release::State;
use crate::rollup::Counts;
use crate::time::Timestamp;

/// One page of the fleet. Rows and columns are cut by the server; the counts are over everything.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
#[serde(rename_all = "camelCase")]
pub struct Fleet {
    /// All releases by state.
    pub counts: Counts,
    /// Number of workloads.
    pub workloads_total: u32,
    /// Number of clusters.
    pub clusters_total: u32,
    /// Number of clusters that are not online.
    pub clusters_silent: u32,
    /// The columns shown, by region and name.
    pub columns: Vec<FleetColumn>,
    /// The rows shown, worst first.
    pub rows: Vec<FleetRow>,
    /// Number of rollouts that go on only if a person says so.
    #[serde(default)]
    pub rollouts_waiting: u32,
    /// What needs a person: rollouts that wait for one, then releases, worst and oldest first.
    pub attention: Vec<Attention>,
    /// The last events.
    pub recent: Vec<Event>,
    /// When this was read.
    pub at: Timestamp,
}

/// A cluster as a column.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
#[serde(rename_all = "camelCase")]
pub struct FleetColumn {
    /// The cluster.
    pub id: ClusterId,
    /// Its name.
    pub name: String,
    /// Its region; may be empty.
    pub region: String,
    /// Whether it is heard from.
    pub reach: Reach,
    /// When it was last heard from.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub last_seen: Option<Timestamp>,
}

/// A workload as a row.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
#[serde(rename_all = "camelCase")]
pub struct FleetRow {
    /// The workload.
    pub id: WorkloadId,
    /// Its name.
    pub name: String,
    /// All its releases by state, not only the columns shown.
    pub counts: Counts,
    /// One cell per column; `None` where the workload is not.
    pub cells: Vec<Option<FleetCell>>,
}

/// One release in the matrix.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
#[serde(rename_all = "camelCase")]
pub struct FleetCell {
    /// The release.
    pub release: ReleaseId,
    /// What it is; `Unknown` while the cluster is offline.
    pub state: State,
    /// What it last was; the shape that is drawn hollow while the cluster is offline.
    pub last_known: State,
    /// Since when.
    pub since: Timestamp,
    /// Why, in a sentence.
    pub message: String,
}

/// Something that needs a person: one cause on one workload, over all its clusters.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
#[serde(rename_all = "camelCase")]
pub struct Attention {
    /// The workload.
    pub workload: WorkloadId,
    /// Its name.
    pub workload_name: String,
    /// The worst state among the clusters.
    pub state: State,
    /// The cause, in a sentence.
    pub message: String,
    /// Names of the clusters, at most a handful.
    pub clusters: Vec<String>,
    /// Number of clusters.
    pub count: u32,
    /// Since when.
    pub since: Timestamp,
}
