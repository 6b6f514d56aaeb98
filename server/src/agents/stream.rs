//! `GET /agent/v1/stream`: the version of the wants, as it changes. It carries no data: the agent asks for the list.

use std::convert::Infallible;
use std::time::Duration;

use axum::extract::State;
use axum::http::header::CACHE_CONTROL;
use axum::response::sse::{Event, KeepAlive, Sse};
use axum::response::{IntoResponse, Response};
use hub::{AgentId, Hub};
use rand::Rng as _;
use tokio::sync::mpsc::{Sender, channel};
use tokio_stream::wrappers::ReceiverStream;
use wire::agent::WantsNotice;

use super::Agents;
use super::admit::Of;

/// Something is said at least so often.
const PING: Duration = Duration::from_secs(15);
/// A stream lasts about this long, in seconds, so that agents spread over the servers there are.
const LASTS: std::ops::Range<u64> = 2_700..4_500;
/// The longest question to the hub behind it.
const LONGEST_WAIT: Duration = Duration::from_secs(3_600);
/// The pause after a failure of the database.
const AFTER_FAILURE: Duration = Duration::from_secs(2);

/// Begins a stream. It ends at once when the certificate is revoked.
pub async fn handler(State(agents): State<Agents>, Of(agent): Of) -> Response {
    let (sender, receiver) = channel(4);
    tokio::spawn(async move {
        let _counted = agents.site.metrics().stream();
        let hub = agents.site.hub();
        let lasts = Duration::from_secs(rand::rng().random_range(LASTS));
        tokio::select! {
            () = tell(hub, &agent, &sender) => {}
            error = hub.agent_until_revoked(&agent) => tracing::info!(%error, cluster = %agent.cluster, "a stream is cut"),
            () = sender.closed() => {}
            () = agents.site.stop().cancelled() => {}
            () = tokio::time::sleep(lasts) => {}
        }
    });
    let events = futures::StreamExt::map(ReceiverStream::new(receiver), Ok::<_, Infallible>);
    let stream = Sse::new(events).keep_alive(KeepAlive::new().interval(PING).text("ping"));
    ([(CACHE_CONTROL, "no-store")], stream).into_response()
}

/// Tells every new version, until nobody listens any more.
async fn tell(hub: &Hub, agent: &AgentId, sender: &Sender<Event>) {
    let mut told = -1;
    loop {
        match hub.wants_version(agent.cluster, told, LONGEST_WAIT).await {
            Ok(version) if version != told => {
                told = version;
                let data = serde_json::to_string(&WantsNotice { version }).unwrap_or_default();
                if sender.send(Event::default().event("wants").data(data)).await.is_err() {
                    return;
                }
            }
            Ok(_) => {}
            Err(error) => {
                tracing::warn!(error = %crate::problem::chain(&error), "an agent's stream waits for the database");
                tokio::time::sleep(AFTER_FAILURE).await;
            }
        }
    }
}
