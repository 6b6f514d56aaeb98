//! Connecting: to the cluster and to the hub, each tried until it answers, neither waiting for the other.

use std::time::Duration;

use engine::Engine;
use rand::Rng;
use tokio_util::sync::CancellationToken;

use crate::link::{Link, LinkError};
use crate::run::Options;

/// The engine; `None` when cancelled first.
pub(crate) async fn engine(
    client: kube::Client,
    options: &Options,
    cancel: &CancellationToken,
) -> Option<Engine> {
    let connected = async {
        let mut backoff = Backoff::new(options);
        loop {
            match Engine::connect(client.clone(), options.engine.clone()).await {
                Ok(engine) => break engine,
                Err(error) => backoff.wait("the cluster does not answer", &error).await,
            }
        }
    };
    tokio::select! {
        engine = connected => Some(engine),
        () = cancel.cancelled() => None,
    }
}

/// The hub's incarnation for this run. Cancel safe.
pub(crate) async fn begin<L: Link>(link: &L, options: &Options) -> i64 {
    let mut backoff = Backoff::new(options);
    loop {
        match link.begin().await {
            Ok(incarnation) => return incarnation,
            Err(error) => backoff.wait_for(link, "the hub does not answer", &error).await,
        }
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

    /// Logs why, and sleeps: as long as the hub asked for, or longer; but no longer than until it is heard again.
    pub async fn wait_for<L: Link>(&mut self, link: &L, what: &str, why: &LinkError) {
        let asked_for = why.retry_after();
        let delay = self.delay().max(asked_for.unwrap_or_default());
        tracing::warn!(error = %why, retry_in = ?delay, "{what}");
        tokio::select! {
            () = tokio::time::sleep(delay) => {}
            () = link.heard_again(), if asked_for.is_none() => self.reset(),
        }
    }

    /// Logs why, and sleeps.
    pub async fn wait(&mut self, what: &str, why: &(dyn std::error::Error + Sync)) {
        let delay = self.delay();
        tracing::warn!(error = %why, retry_in = ?delay, "{what}");
        tokio::time::sleep(delay).await;
    }
}
