//! Operations on cluster groups with the paths and bodies of the multi-cluster deployment API (S1-1, S1-2, S1-28). The same
//! groups as those of `group`; here members are ids, and what leaves a group loses its deployments at once.

use serde::Deserialize;

pub mod create;
pub mod delete;
pub mod disable_feature;
pub mod enable_feature;
pub mod get;
pub mod get_feature;
pub mod list;
pub mod list_features;
pub mod update;
pub mod update_feature;

/// Path parameters of a cluster group.
#[derive(Debug, Deserialize)]
pub struct ClusterGroupPath {
    /// Its id.
    pub clustergroup: String,
}

/// Path parameters of a feature.
#[derive(Debug, Deserialize)]
pub struct FeaturePath {
    /// Id of the group.
    clustergroup: String,
    /// Name of the feature.
    feature: String,
}
