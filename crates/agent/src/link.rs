//! The hub's side of an agent.
//!
//! The agent is the same code wherever it runs; only the link differs: HTTP for an agent in a cluster that the hub can't
//! reach, a direct call for a cluster that the server itself serves.

use std::future::Future;
use std::time::Duration;

use domain::plan::Effect;
use domain::report::{ReportAck, ReportBatch, Wants};
use domain::schema::Written;
use domain::{Digest, PlanId, ReleaseId};

/// Why the hub gave no answer.
#[derive(Debug, thiserror::Error)]
pub enum LinkError {
    /// The hub can't be reached or does not answer; tried again for ever.
    #[error("the hub does not answer: {0}")]
    Unreachable(String),
    /// The hub has no such bundle for this cluster; a newer list of wants will say what is wanted instead.
    #[error("the hub does not give this bundle out: {0}")]
    Refused(String),
    /// The hub wants to be left alone for a while (`Retry-After`).
    #[error("the hub asks to wait {after:?}: {why}")]
    Later {
        /// Why.
        why: String,
        /// How long.
        after: Duration,
    },
}

impl LinkError {
    /// How long the hub wants to be left alone, if it said so.
    pub const fn retry_after(&self) -> Option<Duration> {
        match self {
            Self::Later { after, .. } => Some(*after),
            Self::Unreachable(_) | Self::Refused(_) => None,
        }
    }
}

/// What an agent asks of the hub. Every call is about the cluster of the link's credential and no other.
pub trait Link: Send + Sync + 'static {
    /// Tells the hub that an agent starts; the answer fences its reports: it is greater than any given to this cluster
    /// before, by the hub's own counting, so no clock has to be right (P10).
    fn begin(&self) -> impl Future<Output = Result<i64, LinkError>> + Send;

    /// The full list of what the cluster should hold, as soon as its version is greater than `since`, or after a while
    /// (less than a minute) even if nothing changed.
    fn wants(&self, since: i64) -> impl Future<Output = Result<Wants, LinkError>> + Send;

    /// The canonical bytes of a bundle. The caller checks the digest.
    fn bundle(
        &self,
        release: ReleaseId,
        digest: &Digest,
    ) -> impl Future<Output = Result<Vec<u8>, LinkError>> + Send;

    /// The canonical bytes of the bundle that a plan's question is about. The caller checks the digest.
    fn planned_bundle(
        &self,
        plan: PlanId,
        digest: &Digest,
    ) -> impl Future<Output = Result<Vec<u8>, LinkError>> + Send;

    /// Answers a plan's question.
    fn answer(&self, plan: PlanId, effect: Effect) -> impl Future<Output = Result<(), LinkError>> + Send;

    /// Hands a batch of reports over.
    fn report(&self, batch: ReportBatch) -> impl Future<Output = Result<ReportAck, LinkError>> + Send;

    /// Gives the schema that a report named, because the hub asked for it.
    fn schema(&self, schema: &Written) -> impl Future<Output = Result<(), LinkError>> + Send;

    /// Renews the lease: the cluster's API server answers.
    fn heartbeat(&self) -> impl Future<Output = Result<(), LinkError>> + Send;

    /// Ends when the hub is heard after it was away from now on: who waits to ask again need not wait longer. Never, if
    /// the link can't tell.
    fn heard_again(&self) -> impl Future<Output = ()> + Send {
        std::future::pending()
    }
}
