//! Helm releases that users want to adopt, read on the cluster and sent to the hub. Each request is answered once.

use std::collections::HashMap;
use std::sync::Arc;

use domain::helm_release::HelmReleaseRequest;
use domain::report::DesiredState;
use tokio::sync::watch;
use tokio_util::task::AbortOnDropHandle;

use crate::backoff::Backoff;
use crate::context::AgentContext;
use crate::link::Link;

/// Requests that are answered at the same time; the others follow with the next desired state.
const MAX_CONCURRENT: usize = 4;

/// Answers the requests in the newest desired state. A request that is no longer in it is cancelled.
pub(crate) async fn run<L: Link>(
    agent: &Arc<AgentContext<L>>,
    mut newest: watch::Receiver<Option<DesiredState>>,
) {
    let mut running: HashMap<HelmReleaseRequest, AbortOnDropHandle<()>> = HashMap::new();
    while newest.changed().await.is_ok() {
        let requests = newest
            .borrow_and_update()
            .as_ref()
            .map(|state| state.helm_release_requests.clone())
            .unwrap_or_default();
        running.retain(|request, _| requests.contains(request));
        for request in requests.into_iter().take(MAX_CONCURRENT) {
            running.entry(request.clone()).or_insert_with(|| {
                AbortOnDropHandle::new(tokio::spawn(process_request(agent.clone(), request)))
            });
        }
    }
}

/// Reads one release and sends it; retries for as long as the hub requests it.
async fn process_request<L: Link>(agent: Arc<AgentContext<L>>, request: HelmReleaseRequest) {
    let mut backoff = Backoff::new(&agent.options);
    loop {
        let reading = agent.engine.read_helm_release(&request.namespace, &request.name).await;
        let Err(error) = agent.link.submit_helm_release(&request, reading).await else { return };
        let message = "a Helm release could not be sent and will be sent again";
        backoff.wait_or_reachable(&agent.link, message, &error).await;
    }
}
