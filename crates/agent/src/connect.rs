//! Connections to the cluster and to the hub: each is retried until it answers, independently of the other.

use domain::report::Heartbeat;
use engine::Engine;
use tokio_util::sync::CancellationToken;

use crate::backoff::Backoff;
use crate::link::Link;
use crate::options::AgentOptions;

/// Connects the engine to the cluster; `None` if cancelled first.
pub(crate) async fn connect_engine<L: Link>(
    link: &L,
    client: kube::Client,
    options: &AgentOptions,
    cancel: &CancellationToken,
) -> Option<Engine> {
    let connected = async {
        let mut backoff = Backoff::new(options);
        loop {
            match Engine::connect(client.clone(), options.engine.clone()).await {
                Ok(engine) => break engine,
                Err(error) => {
                    // The hub has to know why the cluster does not report. Sending is best effort: it is repeated.
                    if error.is_unreachable() {
                        let _ = link
                            .send_heartbeat(Heartbeat { api_server_error: Some(error.to_string()) })
                            .await;
                    }
                    backoff.wait("the cluster's API server does not answer", &error).await;
                }
            }
        }
    };
    tokio::select! {
        engine = connected => Some(engine),
        () = cancel.cancelled() => None,
    }
}

/// Starts a session with the hub and returns its incarnation. Cancel safe.
pub(crate) async fn start_session<L: Link>(link: &L, options: &AgentOptions) -> i64 {
    let mut backoff = Backoff::new(options);
    loop {
        match link.start_session().await {
            Ok(incarnation) => return incarnation,
            Err(error) => backoff.wait_or_reachable(link, "the hub does not answer", &error).await,
        }
    }
}
