//! Calls on placement and cluster groups.

use domain::placement::{ClusterGroup, Decision};
use http::Method;

use super::Client;
use crate::{Error, GroupPut, PreviewRequest};

impl Client {
    /// What was decided last for this workload, cluster by cluster with the reasons.
    pub async fn placement_decision(&self, workload: &str) -> Result<Decision, Error> {
        self.project(Method::GET, &["workloads", workload, "placement"]).json().await
    }

    /// What a placement would choose now; stores nothing.
    pub async fn placement_preview(&self, request: &PreviewRequest) -> Result<Decision, Error> {
        self.project(Method::POST, &["placements:preview"]).body(request).json().await
    }

    /// All cluster groups, by name.
    pub async fn group_list(&self) -> Result<Vec<ClusterGroup>, Error> {
        self.api(Method::GET, &["cluster-groups"]).json().await
    }

    /// Makes a cluster group or replaces it.
    pub async fn group_put(&self, name: &str, put: &GroupPut) -> Result<ClusterGroup, Error> {
        self.api(Method::PUT, &["cluster-groups", name]).body(put).json().await
    }

    /// Forgets a cluster group; refused while a workload asks for it.
    pub async fn group_delete(&self, name: &str) -> Result<(), Error> {
        self.api(Method::DELETE, &["cluster-groups", name]).nothing().await
    }
}
