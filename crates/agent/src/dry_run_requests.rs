//! Dry runs that the hub requests for its plans: what would change on this cluster. Each request is answered once.

use std::collections::HashMap;
use std::sync::Arc;

use domain::bundle::Bundle;
use domain::guard::{ImageAvailability, check_images};
use domain::plan::ClusterPlan;
use domain::report::{DesiredPhase, DesiredState, DryRunRequest};
use domain::{Digest, Finding, PlanId};
use tokio::sync::{Semaphore, watch};
use tokio_util::task::AbortOnDropHandle;

use crate::backoff::Backoff;
use crate::context::AgentContext;
use crate::link::{Link, LinkError};

/// Concurrent dry runs: one costs the API server as much as an apply.
const MAX_CONCURRENT: usize = 2;

/// Answers the requests in the newest desired state. A request that is no longer in it is cancelled.
pub(crate) async fn run<L: Link>(
    agent: &Arc<AgentContext<L>>,
    mut newest: watch::Receiver<Option<DesiredState>>,
) {
    let permits = Arc::new(Semaphore::new(MAX_CONCURRENT));
    let mut running: HashMap<PlanId, AbortOnDropHandle<()>> = HashMap::new();
    while newest.changed().await.is_ok() {
        let requests = newest
            .borrow_and_update()
            .as_ref()
            .map(|state| state.dry_run_requests.clone())
            .unwrap_or_default();
        running.retain(|plan, _| requests.iter().any(|request| request.plan == *plan));
        for request in requests {
            running.entry(request.plan).or_insert_with(|| {
                AbortOnDropHandle::new(tokio::spawn(process_request(agent.clone(), permits.clone(), request)))
            });
        }
    }
}

/// Runs one request and sends the result; retries for as long as the hub requests it.
async fn process_request<L: Link>(
    agent: Arc<AgentContext<L>>,
    permits: Arc<Semaphore>,
    request: DryRunRequest,
) {
    let mut backoff = Backoff::new(&agent.options);
    loop {
        match try_process(&agent, &permits, &request).await {
            Ok(()) => return,
            Err(error) => {
                backoff
                    .wait_or_reachable(
                        &agent.link,
                        "the dry run for a plan failed and will be retried",
                        &error,
                    )
                    .await
            }
        }
    }
}

async fn try_process<L: Link>(
    agent: &AgentContext<L>,
    permits: &Semaphore,
    request: &DryRunRequest,
) -> Result<(), LinkError> {
    let bundle = match &request.desired_phase {
        DesiredPhase::Present { bundle: digest, .. } => {
            let bytes = agent.link.fetch_planned_bundle(request.plan, digest).await?;
            verify_bundle(&bytes, digest)?
        }
        DesiredPhase::Absent { .. } => Bundle::default(),
    };
    let dry_run = async {
        // The semaphore is never closed.
        let _permit = permits.acquire().await;
        let DryRunRequest { workload, release, desired_phase, .. } = request;
        agent.engine.dry_run(workload, *release, desired_phase, &bundle).await
    };
    // Image checks hold no permit, so a slow registry delays no other dry run.
    let (mut cluster_plan, image_findings): (ClusterPlan, _) =
        tokio::join!(dry_run, find_missing_images(agent, &bundle));
    cluster_plan.findings.extend(image_findings);
    cluster_plan.limit_fields();
    agent.link.submit_cluster_plan(request.plan, cluster_plan).await
}

/// Findings about images that can't be pulled; none if registries are not queried.
async fn find_missing_images<L: Link>(agent: &AgentContext<L>, bundle: &Bundle) -> Vec<Finding> {
    let Some(registries) = &agent.options.registries else { return Vec::new() };
    let availability = registries.check_availability(bundle).await;
    let has_platforms = availability.values().any(|image| matches!(image, ImageAvailability::Available(_)));
    let facts = if has_platforms { agent.engine.read_facts().await.ok() } else { None };
    check_images(bundle, &availability, &facts.map(|facts| facts.node_pools).unwrap_or_default())
}

/// Rejects bytes whose digest is not the requested one (S0-7).
fn verify_bundle(bytes: &[u8], digest: &Digest) -> Result<Bundle, LinkError> {
    if Digest::compute(bytes) != *digest {
        return Err(LinkError::Unreachable(format!(
            "the bytes received for bundle {} do not match its digest",
            digest.short()
        )));
    }
    Bundle::from_bytes(bytes).map_err(|why| LinkError::Rejected(why.to_string()))
}
