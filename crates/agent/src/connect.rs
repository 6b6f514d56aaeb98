//! Connecting: to the cluster, then to the hub, each tried until it answers.

use std::time::Duration;

use engine::Engine;
use rand::Rng;
use tokio_util::sync::CancellationToken;

use crate::link::Link;
use crate::run::Options;

/// The hub's incarnation for this run, and the engine; `None` when cancelled first.
pub(crate) async fn connect<L: Link>(
    link: &L,
    client: kube::Client,
    options: &Options,
    cancel: &CancellationToken,
) -> Option<(i64, Engine)> {
    let both = async {
        let mut backoff = Backoff::new(options);
        let engine = loop {
            match Engine::connect(client.clone(), options.engine.clone()).await {
                Ok(engine) => break engine,
                Err(error) => backoff.wait("the cluster does not answer", &error).await,
            }
        };
        let mut backoff = Backoff::new(options);
        let incarnation = loop {
            match link.begin().await {
                Ok(incarnation) => break incarnation,
                Err(error) => backoff.wait("the hub does not answer", &error).await,
            }
        };
        (incarnation, engine)
    };
    tokio::select! {
        both = both => Some(both),
        () = cancel.cancelled() => None,
    }
}

/// Delays between tries: doubling, bounded, a fifth up or down.
pub(crate) struct Backoff {
    next: Duration,
    first: Duration,
    max: Duration,
}

impl Backoff {
    pub fn new(options: &Options) -> Self {
        Self { next: options.retry_first, first: options.retry_first, max: options.retry_max }
    }

    /// The next delay.
    pub fn delay(&mut self) -> Duration {
        let delay = self.next.mul_f64(rand::rng().random_range(0.8..1.2));
        self.next = (self.next * 2).min(self.max);
        delay
    }

    /// It worked: the next trouble begins with the first delay.
    pub fn reset(&mut self) {
        self.next = self.first;
    }

    /// Logs why, and sleeps.
    pub async fn wait(&mut self, what: &str, why: &(dyn std::error::Error + Sync)) {
        let delay = self.delay();
        tracing::warn!(error = %why, retry_in = ?delay, "{what}");
        tokio::time::sleep(delay).await;
    }
}
