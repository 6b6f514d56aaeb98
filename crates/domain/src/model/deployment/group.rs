//! Cluster groups in the form of the multi-cluster deployment API (S1-1).

use serde::{Deserialize, Serialize};

use crate::kubernetes::id::ClusterId;
use crate::model::cluster::{Cluster, Connectivity};
use crate::text::finding::Finding;

/// The request to create a group or to change its members.
#[derive(Debug, Clone, Default, PartialEq, Eq, Deserialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
#[serde(rename_all = "camelCase", default)]
pub struct ClusterGroupRequest {
    /// Its name, which can't be changed.
    pub name: String,
    /// Ids of its members.
    pub members: Vec<ClusterId>,
    /// Whether its members may be in no other group; without it, an update retains what is stored.
    pub exclusive: Option<bool>,
}

/// A group with its members.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
#[serde(rename_all = "camelCase")]
pub struct ClusterGroupView {
    /// Its id, which paths contain: its name.
    pub id: String,
    /// The same.
    pub uid: String,
    /// Its name.
    pub name: String,
    /// The organisation.
    pub organization_id: String,
    /// Its members, by name; also those that its selector matches.
    pub members: Vec<GroupMember>,
    /// Whether its members may be in no other group.
    pub exclusive: bool,
    /// Names of the features that are enabled or not completely disabled yet.
    pub enabled_features: Vec<String>,
    /// Its revision, which is also the ETag of the response.
    #[serde(default)]
    pub revision: i64,
    /// Its clusters that are in another group although one of both is exclusive; not in a list of groups.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub findings: Vec<Finding>,
}

/// A member of a group.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
#[serde(rename_all = "camelCase")]
pub struct GroupMember {
    /// Id of the cluster; empty for a member that is no registered cluster.
    pub id: String,
    /// Its cloud provider; may be empty.
    pub cloud: String,
    /// Its Kubernetes distribution; may be empty.
    pub distribution: String,
    /// Its name.
    pub name: String,
    /// `RUNNING`, `WARNING`, `UNREACHABLE` or `cluster not found`.
    pub status: String,
}

impl GroupMember {
    /// A registered cluster.
    pub fn from_cluster(cluster: &Cluster) -> Self {
        Self {
            id: cluster.id.to_string(),
            cloud: cluster.facts.provider.clone(),
            distribution: cluster.facts.distribution().to_owned(),
            name: cluster.name.clone(),
            status: member_status(cluster.connectivity).to_owned(),
        }
    }

    /// A member that is not registered, or no longer.
    pub fn not_found(name: &str) -> Self {
        Self {
            id: String::new(),
            cloud: String::new(),
            distribution: String::new(),
            name: name.to_owned(),
            status: "cluster not found".to_owned(),
        }
    }
}

/// The status word of a member with this connectivity. Only running clusters and those with a warning may join a group.
pub const fn member_status(connectivity: Connectivity) -> &'static str {
    match connectivity {
        Connectivity::Online => "RUNNING",
        Connectivity::Late => "WARNING",
        Connectivity::Offline => "UNREACHABLE",
    }
}
