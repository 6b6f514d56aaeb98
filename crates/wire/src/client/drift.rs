//! Operations on the drift inbox.

use domain::DriftId;
use domain::drift::{
    DriftAdoptRequest, DriftIgnoreRequest, DriftItem, DriftQuery, DriftRevertRequest, DriftSnoozeRequest,
};
use domain::page::Page;
use domain::workload::Workload;
use http::Method;

use super::{Client, if_match};
use crate::Error;

impl Client {
    /// One page of the inbox, contested entries first, then the oldest.
    pub async fn list_drift(&self, query: &DriftQuery) -> Result<Page<DriftItem>, Error> {
        self.api_call(Method::GET, &["drift"]).query(query).send_json().await
    }

    /// One entry, with all reported fields and their desired values.
    pub async fn get_drift(&self, id: DriftId) -> Result<DriftItem, Error> {
        self.api_call(Method::GET, &["drift", &id.to_string()]).send_json().await
    }

    /// Requests the cluster to apply the workload again now.
    pub async fn revert_drift(&self, id: DriftId) -> Result<DriftItem, Error> {
        self.api_call(Method::POST, &["drift", &format!("{id}:revert")]).send_json().await
    }

    /// Requests the cluster to write fields back, and nothing else of the object.
    pub async fn revert_drift_fields(
        &self,
        id: DriftId,
        request: &DriftRevertRequest,
    ) -> Result<DriftItem, Error> {
        let call = self.api_call(Method::POST, &["drift", &format!("{id}:revertFields")]);
        call.body(request).send_json().await
    }

    /// Writes live values into the draft; rejected if the revision of the workload is not `revision`.
    pub async fn adopt_drift(
        &self,
        id: DriftId,
        request: &DriftAdoptRequest,
        revision: i64,
    ) -> Result<Workload, Error> {
        let call = self.api_call(Method::POST, &["drift", &format!("{id}:adopt")]);
        call.header(Some(if_match(revision))).body(request).send_json().await
    }

    /// Leaves fields to others by a rule of the draft; rejected if the revision of the workload is not `revision`.
    pub async fn ignore_drift(
        &self,
        id: DriftId,
        request: &DriftIgnoreRequest,
        revision: i64,
    ) -> Result<Workload, Error> {
        let call = self.api_call(Method::POST, &["drift", &format!("{id}:ignore")]);
        call.header(Some(if_match(revision))).body(request).send_json().await
    }

    /// Hides an entry until a time, or shows it again.
    pub async fn snooze_drift(&self, id: DriftId, request: &DriftSnoozeRequest) -> Result<DriftItem, Error> {
        self.api_call(Method::POST, &["drift", &format!("{id}:snooze")]).body(request).send_json().await
    }
}
