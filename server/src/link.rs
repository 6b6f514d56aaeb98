//! The link of an agent in this process: direct calls instead of HTTP, for one cluster.

use std::time::Duration;

use agent::{Link, LinkError};
use domain::plan::Effect;
use domain::report::{ReportAck, ReportBatch, Wants};
use domain::schema::Written;
use domain::{ClusterId, Digest, PlanId, ReleaseId};

use crate::site::Site;

/// The agent asks again after so long even if nothing changed (`product.md` F.6).
const LONG_POLL: Duration = Duration::from_secs(55);

/// Calls the hub for one cluster; the agent can't name another.
pub struct InProcess {
    site: Site,
    cluster: ClusterId,
}

impl InProcess {
    /// The link for this cluster.
    pub fn new(site: Site, cluster: ClusterId) -> Self {
        Self { site, cluster }
    }
}

impl Link for InProcess {
    async fn begin(&self) -> Result<i64, LinkError> {
        self.site.hub().agent_begin(self.cluster).await.map_err(unreachable)
    }

    async fn wants(&self, since: i64) -> Result<Wants, LinkError> {
        self.site.hub().wants(self.cluster, since, LONG_POLL).await.map_err(unreachable)
    }

    async fn bundle(&self, release: ReleaseId, digest: &Digest) -> Result<Vec<u8>, LinkError> {
        self.site.hub().bundle(self.cluster, release, digest).await.map_err(refused_or_unreachable)
    }

    async fn planned_bundle(&self, plan: PlanId, digest: &Digest) -> Result<Vec<u8>, LinkError> {
        self.site.hub().planned_bundle(self.cluster, plan, digest).await.map_err(refused_or_unreachable)
    }

    async fn answer(&self, plan: PlanId, effect: Effect) -> Result<(), LinkError> {
        match self.site.hub().plan_answer(self.cluster, plan, effect).await {
            // The plan is over, or has its answer: nobody waits for this one.
            Err(hub::Error::NotFound { .. }) => Ok(()),
            other => other.map_err(unreachable),
        }
    }

    async fn report(&self, batch: ReportBatch) -> Result<ReportAck, LinkError> {
        let ack = self.site.hub().record_reports(self.cluster, batch).await.map_err(unreachable)?;
        self.site.metrics().reported(ack.taken);
        Ok(ack)
    }

    async fn schema(&self, schema: &Written) -> Result<(), LinkError> {
        let bytes = schema.text.clone().into_bytes();
        let given = self.site.hub().schema_given(self.cluster, &schema.digest, bytes).await;
        given.map_err(refused_or_unreachable)
    }

    async fn heartbeat(&self) -> Result<(), LinkError> {
        self.site.hub().cluster_heartbeat(self.cluster).await.map_err(unreachable)
    }
}

fn refused_or_unreachable(error: hub::Error) -> LinkError {
    match error {
        hub::Error::NotFound { .. } => LinkError::Refused(error.to_string()),
        other => unreachable(other),
    }
}

fn unreachable(error: hub::Error) -> LinkError {
    LinkError::Unreachable(crate::problem::chain(&error))
}
