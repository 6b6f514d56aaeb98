//! Calls on placement.

use domain::placement::Decision;
use http::Method;

use super::Client;
use crate::{Error, PreviewRequest};

impl Client {
    /// What was decided last for this workload, cluster by cluster with the reasons.
    pub async fn placement_decision(&self, workload: &str) -> Result<Decision, Error> {
        self.project(Method::GET, &["workloads", workload, "placement"]).json().await
    }

    /// What a placement would choose now; stores nothing.
    pub async fn placement_preview(&self, request: &PreviewRequest) -> Result<Decision, Error> {
        self.project(Method::POST, &["placements:preview"]).body(request).json().await
    }
}
