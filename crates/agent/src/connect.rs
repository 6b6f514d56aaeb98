//! Connections to the cluster and to the hub: each is retried until it answers, independently of the other.

use std::time::Duration;

use domain::report::Heartbeat;
use engine::Engine;
use rand::Rng;
use tokio_util::sync::CancellationToken;

use crate::link::{Link, LinkError};
use crate::run::AgentOptions;

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

/// Delays between attempts: doubling, bounded, ±20 %.
pub(crate) struct Backoff {
    next: Duration,
    initial: Duration,
    max: Duration,
}

impl Backoff {
    pub fn new(options: &AgentOptions) -> Self {
        Self {
            next: options.retry_initial_delay,
            initial: options.retry_initial_delay,
            max: options.retry_max_delay,
        }
    }

    /// The next delay.
    pub fn next_delay(&mut self) -> Duration {
        let delay = self.next.mul_f64(rand::rng().random_range(0.8..1.2));
        self.next = (self.next * 2).min(self.max);
        delay
    }

    /// Resets to the first delay, after a success.
    pub fn reset(&mut self) {
        self.next = self.initial;
    }

    /// Logs the error and sleeps: at least for the delay that the hub requested; without such a request, no longer than until
    /// the hub is reachable again.
    pub async fn wait_or_reachable<L: Link>(&mut self, link: &L, what: &str, why: &LinkError) {
        let retry_after = why.retry_after();
        let delay = self.next_delay().max(retry_after.unwrap_or_default());
        tracing::warn!(error = %why, retry_in = ?delay, "{what}");
        tokio::select! {
            () = tokio::time::sleep(delay) => {}
            () = link.wait_until_reachable(), if retry_after.is_none() => self.reset(),
        }
    }

    /// Logs the error and sleeps.
    pub async fn wait(&mut self, what: &str, why: &(dyn std::error::Error + Sync)) {
        let delay = self.next_delay();
        tracing::warn!(error = %why, retry_in = ?delay, "{what}");
        tokio::time::sleep(delay).await;
    }
}
