//! Releases as pages and the API show them.

use serde::{Deserialize, Serialize};

use super::condition::{release_conditions, resource_conditions};
use super::{Release, ReleaseState};
use crate::model::condition::Condition;
use crate::model::report::ResourceStatus;

/// A release with the names and derived fields that pages and the API show (S1-19).
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
#[serde(rename_all = "camelCase")]
pub struct ReleaseView {
    /// Name of the workload.
    pub workload_name: String,
    /// Name of the cluster.
    pub cluster_name: String,
    /// Region of the cluster; may be empty.
    pub region: String,
    /// The derived state.
    pub state: ReleaseState,
    /// The last known state; present only while the cluster is offline.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub last_known_state: Option<ReleaseState>,
    /// Why it is in this state, as a sentence for people.
    pub message: String,
    /// The release itself.
    #[serde(flatten)]
    pub release: Release,
    /// Its finalizers: the release is not deleted while its record may exist on the cluster (S3-10).
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub finalizers: Vec<String>,
    /// Conditions in the form of Kubernetes.
    #[serde(default)]
    pub conditions: Vec<Condition>,
    /// Its objects.
    #[serde(default)]
    pub resources: Vec<ResourceStatus>,
}

impl ReleaseView {
    /// The view of a release without resources; add them by [`ReleaseView::with_resources`].
    pub fn new(release: Release, workload_name: String, cluster_name: String, region: String) -> Self {
        let state = release.state();
        Self {
            workload_name,
            cluster_name,
            region,
            state,
            last_known_state: (state == ReleaseState::Unknown).then(|| release.last_known_state()),
            message: release.message(),
            finalizers: release.finalizers(),
            conditions: release_conditions(&release, &[]),
            release,
            resources: Vec::new(),
        }
    }

    /// Adds the objects, and derives the conditions of the release and of each object.
    #[must_use]
    pub fn with_resources(mut self, resources: Vec<ResourceStatus>) -> Self {
        self.conditions = release_conditions(&self.release, &resources);
        self.resources = resources;
        for resource in &mut self.resources {
            resource.conditions = resource_conditions(resource);
        }
        self
    }
}
