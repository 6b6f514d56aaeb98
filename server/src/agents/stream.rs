//! `GET /agent/v1/stream`: server-sent events with the version of the cluster's desired state. They carry no data: the
//! agent fetches the desired state.

use std::convert::Infallible;
use std::time::Duration;

use axum::extract::State;
use axum::http::header::CACHE_CONTROL;
use axum::response::sse::{Event, KeepAlive, Sse};
use axum::response::{IntoResponse, Response};
use hub::{AuthenticatedAgent, Hub};
use rand::Rng as _;
use tokio::sync::mpsc::{Sender, channel};
use tokio_stream::wrappers::ReceiverStream;
use wire::agent::DesiredStateNotice;

use super::AgentApiState;
use super::authenticate::AgentConnection;

/// Interval of keep-alive comments.
const PING_INTERVAL: Duration = Duration::from_secs(15);
/// Range of a stream's lifetime, in seconds: streams end so that agents spread over all servers.
const LIFETIME_SECONDS: std::ops::Range<u64> = 2_700..4_500;
/// The longest wait in the hub for a new version.
const MAX_WAIT: Duration = Duration::from_secs(3_600);
/// Pause after a database error.
const RETRY_DELAY: Duration = Duration::from_secs(2);

/// Opens a stream. It ends as soon as the certificate is revoked.
pub async fn handler(
    State(agents): State<AgentApiState>,
    AgentConnection(agent): AgentConnection,
) -> Response {
    let (sender, receiver) = channel(4);
    tokio::spawn(async move {
        let _counted = agents.site.metrics().track_stream();
        let hub = agents.site.hub();
        let lasts = Duration::from_secs(rand::rng().random_range(LIFETIME_SECONDS));
        tokio::select! {
            () = send_versions(hub, &agent, &sender) => {}
            error = hub.wait_until_agent_revoked(&agent) => tracing::info!(%error, cluster = %agent.cluster, "an agent's stream is closed"),
            () = sender.closed() => {}
            () = agents.site.stop().cancelled() => {}
            () = tokio::time::sleep(lasts) => {}
        }
    });
    let events = futures::StreamExt::map(ReceiverStream::new(receiver), Ok::<_, Infallible>);
    let stream = Sse::new(events).keep_alive(KeepAlive::new().interval(PING_INTERVAL).text("ping"));
    ([(CACHE_CONTROL, "no-store")], stream).into_response()
}

/// Sends every new version until the client disconnects.
async fn send_versions(hub: &Hub, agent: &AuthenticatedAgent, sender: &Sender<Event>) {
    let mut sent = -1;
    loop {
        match hub.get_desired_state_version(agent.cluster, sent, MAX_WAIT).await {
            Ok(version) if version != sent => {
                sent = version;
                let data = serde_json::to_string(&DesiredStateNotice { version }).unwrap_or_default();
                if sender.send(Event::default().event("desired-state").data(data)).await.is_err() {
                    return;
                }
            }
            Ok(_) => {}
            Err(error) => {
                tracing::debug!(error = %crate::problem::error_chain(&error), "can't read the desired-state version for an agent's stream; retrying in 2 s");
                tokio::time::sleep(RETRY_DELAY).await;
            }
        }
    }
}
