//! The connection from an agent to its hub.
//!
//! All agents run the same code; only the link differs: HTTP for an agent in a cluster that the hub can't reach, a direct
//! call for a cluster that the server itself serves.

use std::future::Future;
use std::time::Duration;

use domain::helm_release::{HelmReleaseReading, HelmReleaseRequest};
use domain::plan::ClusterPlan;
use domain::report::{DesiredState, Heartbeat, ReportAck, ReportBatch};
use domain::schema::EncodedSchema;
use domain::{Digest, PlanId, ReleaseId};

/// Why a call to the hub failed.
#[derive(Debug, thiserror::Error)]
pub enum LinkError {
    /// The hub can't be reached or does not answer; retried without limit.
    #[error("the hub does not answer: {0}")]
    Unreachable(String),
    /// The hub has no such object for this cluster, such as a bundle that a newer desired state no longer names.
    #[error("the hub rejected the request: {0}")]
    Rejected(String),
    /// The hub does not know the session of these reports, because it was restored from a backup: a new one is needed.
    #[error("{0}")]
    SessionUnknown(String),
    /// The hub requested a delay (`Retry-After`).
    #[error("the hub requested to retry after {delay:?}: {message}")]
    RetryAfter {
        /// The hub's message.
        message: String,
        /// The delay.
        delay: Duration,
    },
}

impl LinkError {
    /// The delay that the hub requested, if any.
    pub const fn retry_after(&self) -> Option<Duration> {
        match self {
            Self::RetryAfter { delay: after, .. } => Some(*after),
            Self::Unreachable(_) | Self::Rejected(_) | Self::SessionUnknown(_) => None,
        }
    }
}

/// The calls of an agent to the hub. Every call concerns only the cluster of the link's credential.
pub trait Link: Send + Sync + 'static {
    /// Starts a session and returns its incarnation, which fences the agent's reports: the hub counts it up for every
    /// session of this cluster, so no clock has to be right (P10).
    fn start_session(&self) -> impl Future<Output = Result<i64, LinkError>> + Send;

    /// The full desired state, as soon as its version is greater than `since`, or after less than a minute even if nothing
    /// changed.
    fn fetch_desired_state(&self, since: i64)
    -> impl Future<Output = Result<DesiredState, LinkError>> + Send;

    /// The canonical bytes of a bundle. The caller checks the digest.
    fn fetch_bundle(
        &self,
        release: ReleaseId,
        digest: &Digest,
    ) -> impl Future<Output = Result<Vec<u8>, LinkError>> + Send;

    /// The canonical bytes of the bundle that a plan's dry run needs. The caller checks the digest.
    fn fetch_planned_bundle(
        &self,
        plan: PlanId,
        digest: &Digest,
    ) -> impl Future<Output = Result<Vec<u8>, LinkError>> + Send;

    /// Sends the result of a plan's dry run.
    fn submit_cluster_plan(
        &self,
        plan: PlanId,
        cluster_plan: ClusterPlan,
    ) -> impl Future<Output = Result<(), LinkError>> + Send;

    /// Sends what the cluster has of a requested Helm release.
    fn submit_helm_release(
        &self,
        request: &HelmReleaseRequest,
        reading: HelmReleaseReading,
    ) -> impl Future<Output = Result<(), LinkError>> + Send;

    /// Sends a batch of reports; [`LinkError::SessionUnknown`] if it has to be sent in a new session.
    fn send_reports(&self, batch: ReportBatch) -> impl Future<Output = Result<ReportAck, LinkError>> + Send;

    /// Uploads the schema that a report named, because the hub requested it.
    fn upload_schema(&self, schema: &EncodedSchema) -> impl Future<Output = Result<(), LinkError>> + Send;

    /// Renews the lease, or reports that the cluster's API server does not respond.
    fn send_heartbeat(&self, heartbeat: Heartbeat) -> impl Future<Output = Result<(), LinkError>> + Send;

    /// Completes when the hub becomes reachable again, so that a caller can cut its retry delay short. Never completes if
    /// the link can't detect that.
    fn wait_until_reachable(&self) -> impl Future<Output = ()> + Send {
        std::future::pending()
    }
}
