//! Operations on placement and cluster groups.

use domain::placement::{ClusterGroup, Decision};
use http::Method;

use super::Client;
use crate::{ClusterGroupPut, Error, PreviewRequest};

impl Client {
    /// The last placement decision of this workload, per cluster with the reasons.
    pub async fn get_placement_decision(&self, workload: &str) -> Result<Decision, Error> {
        self.project_call(Method::GET, &["workloads", workload, "placement"]).send_json().await
    }

    /// What a placement would select now; stores nothing.
    pub async fn preview_placement(&self, request: &PreviewRequest) -> Result<Decision, Error> {
        self.project_call(Method::POST, &["placements:preview"]).body(request).send_json().await
    }

    /// All cluster groups, by name.
    pub async fn list_groups(&self) -> Result<Vec<ClusterGroup>, Error> {
        self.api_call(Method::GET, &["cluster-groups"]).send_json().await
    }

    /// Creates or replaces a cluster group.
    pub async fn put_group(&self, name: &str, put: &ClusterGroupPut) -> Result<ClusterGroup, Error> {
        self.api_call(Method::PUT, &["cluster-groups", name]).body(put).send_json().await
    }

    /// Deletes a cluster group; rejected while a workload refers to it.
    pub async fn delete_group(&self, name: &str) -> Result<(), Error> {
        self.api_call(Method::DELETE, &["cluster-groups", name]).send_ignoring_body().await
    }
}
