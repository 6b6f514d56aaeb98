//! The link of an in-process agent: direct calls of the hub instead of HTTP, for one cluster.

use std::time::Duration;

use agent::{Link, LinkError};
use domain::helm_release::{HelmReleaseReading, HelmReleaseRequest};
use domain::plan::ClusterPlan;
use domain::report::{DesiredState, Heartbeat, ReportAck, ReportBatch};
use domain::schema::EncodedSchema;
use domain::{ClusterId, Digest, PlanId, ReleaseId};

use crate::site::Site;

/// The longest wait for a new desired state; then the agent fetches again.
const MAX_WAIT: Duration = Duration::from_secs(55);

/// Calls the hub for one cluster; the agent can't address another.
pub struct InProcessLink {
    site: Site,
    cluster: ClusterId,
}

impl InProcessLink {
    /// The link for this cluster.
    pub fn new(site: Site, cluster: ClusterId) -> Self {
        Self { site, cluster }
    }
}

impl Link for InProcessLink {
    async fn start_session(&self) -> Result<i64, LinkError> {
        self.site.hub().begin_agent_incarnation(self.cluster).await.map_err(unreachable)
    }

    async fn fetch_desired_state(&self, since: i64) -> Result<DesiredState, LinkError> {
        self.site.hub().get_desired_state(self.cluster, since, MAX_WAIT).await.map_err(unreachable)
    }

    async fn fetch_bundle(&self, release: ReleaseId, digest: &Digest) -> Result<Vec<u8>, LinkError> {
        self.site.hub().get_bundle(self.cluster, release, digest).await.map_err(rejected_or_unreachable)
    }

    async fn fetch_planned_bundle(&self, plan: PlanId, digest: &Digest) -> Result<Vec<u8>, LinkError> {
        self.site.hub().get_planned_bundle(self.cluster, plan, digest).await.map_err(rejected_or_unreachable)
    }

    async fn submit_cluster_plan(&self, plan: PlanId, effect: ClusterPlan) -> Result<(), LinkError> {
        match self.site.hub().record_dry_run_result(self.cluster, plan, effect).await {
            // The plan has expired or already has this result.
            Err(hub::Error::NotFound { .. }) => Ok(()),
            other => other.map_err(unreachable),
        }
    }

    async fn submit_helm_release(
        &self,
        request: &HelmReleaseRequest,
        reading: HelmReleaseReading,
    ) -> Result<(), LinkError> {
        match self.site.hub().record_helm_release(self.cluster, request, reading).await {
            // The request has ended or is answered already.
            Err(hub::Error::NotFound { .. }) => Ok(()),
            other => other.map_err(unreachable),
        }
    }

    async fn send_reports(&self, batch: ReportBatch) -> Result<ReportAck, LinkError> {
        let recorded = self.site.hub().record_reports(self.cluster, batch).await;
        self.site.metrics().count_report_batch(&recorded);
        recorded.map_err(|error| match error {
            hub::Error::SessionUnknown => LinkError::SessionUnknown(error.to_string()),
            other => unreachable(other),
        })
    }

    async fn upload_schema(&self, schema: &EncodedSchema) -> Result<(), LinkError> {
        let bytes = schema.text.clone().into_bytes();
        let stored = self.site.hub().store_schema(self.cluster, &schema.digest, bytes).await;
        stored.map_err(|error| match error {
            hub::Error::Invalid(_) => LinkError::Rejected(error.to_string()),
            other => rejected_or_unreachable(other),
        })
    }

    async fn send_heartbeat(&self, heartbeat: Heartbeat) -> Result<(), LinkError> {
        let hub = self.site.hub();
        let recorded = match heartbeat.api_server_error {
            None => hub.record_heartbeat(self.cluster).await,
            Some(error) => hub.record_api_server_outage(self.cluster, &error).await,
        };
        recorded.map_err(unreachable)
    }
}

fn rejected_or_unreachable(error: hub::Error) -> LinkError {
    match error {
        hub::Error::NotFound { .. } => LinkError::Rejected(error.to_string()),
        hub::Error::BeingRestored { retry_after_seconds, .. } => LinkError::RetryAfter {
            message: error.to_string(),
            delay: Duration::from_secs(retry_after_seconds.into()),
        },
        other => unreachable(other),
    }
}

fn unreachable(error: hub::Error) -> LinkError {
    LinkError::Unreachable(crate::problem::error_chain(&error))
}
