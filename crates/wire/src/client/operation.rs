//! Operations on workloads, with their outcome per cluster.

use domain::OperationId;
use domain::operation::{Operation, OperationView};
use domain::page::{ListQuery, Page};
use http::Method;

use super::Client;
use crate::Error;

impl Client {
    /// One page of the operations on a workload, newest first.
    pub async fn list_operations(&self, workload: &str, query: &ListQuery) -> Result<Page<Operation>, Error> {
        self.project_call(Method::GET, &["workloads", workload, "operations"]).query(query).send_json().await
    }

    /// One operation with its outcome on each cluster.
    pub async fn get_operation(&self, id: OperationId) -> Result<OperationView, Error> {
        self.api_call(Method::GET, &["operations", &id.to_string()]).send_json().await
    }
}
