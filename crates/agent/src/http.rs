//! The link over HTTP: requests in the name of the cluster's certificate, and a stream that says when to ask.
//!
//! The stream carries no data. On every connect of it the whole list is read again, whatever its version: what was
//! missed, or what a hub restored from a backup wants now, is seen then (P3). Without a stream the list is asked for with
//! a long question instead.

use std::sync::atomic::{AtomicU64, Ordering::Relaxed};
use std::time::Duration;

use domain::plan::Effect;
use domain::report::{ReportAck, ReportBatch, Wants};
use domain::schema::Written;
use domain::{Digest, PlanId, ReleaseId};
use rand::Rng as _;
use tokio::sync::watch;
use tokio::task::JoinHandle;
use tokio::time::Instant;
use wire::agent::Begin;
use wire::{AgentClient, AgentError};

use crate::identity::{Identity, JoinError};
use crate::keep::Keeper;
use crate::link::{Link, LinkError};
use crate::renewal;
use crate::run::Options;

/// Even with a stream the version is asked for so often (P6).
const LOOK_AGAIN: Duration = Duration::from_secs(60);
/// After a stream that held so long, the next wait is the first again (P20).
const GOOD: Duration = Duration::from_secs(600);

/// How long to wait before connecting again (P20).
#[derive(Debug, Clone, Copy)]
pub struct Reconnect {
    /// The first wait at most; every wait is a random part of it. Doubles.
    pub first: Duration,
    /// The longest wait.
    pub max: Duration,
}

impl Default for Reconnect {
    /// Five seconds to a minute.
    fn default() -> Self {
        Self { first: Duration::from_secs(5), max: Duration::from_secs(60) }
    }
}

/// What is known of the stream.
#[derive(Debug, Clone, Copy, Default)]
struct Heard {
    /// How often it was opened.
    connects: u64,
    /// Whether it is open.
    open: bool,
    /// The version told last.
    version: i64,
}

/// The link to a hub over HTTP.
pub struct HttpLink {
    client: watch::Receiver<AgentClient>,
    heard: watch::Receiver<Heard>,
    /// The connect after which the whole list was read last.
    compared: AtomicU64,
    tasks: [JoinHandle<()>; 2],
}

impl HttpLink {
    /// A link in the name of this identity, which is renewed and kept as long as the link is there.
    ///
    /// # Errors
    /// The certificate can't be used.
    pub fn new(
        identity: Identity,
        keeper: Keeper,
        options: &Options,
        reconnect: Reconnect,
    ) -> Result<Self, JoinError> {
        let (newest, client) = watch::channel(identity.client()?);
        let (say, heard) = watch::channel(Heard::default());
        let tasks = [
            tokio::spawn(follow(client.clone(), say, reconnect)),
            tokio::spawn(renewal::run(identity, keeper, options.clone(), newest)),
        ];
        Ok(Self { client, heard, compared: AtomicU64::new(0), tasks })
    }

    fn client(&self) -> AgentClient {
        self.client.borrow().clone()
    }

    /// Waits until the stream says that there may be something else than `since`; `true` if there is no stream to wait for.
    async fn until_news(&self, since: i64) -> bool {
        let mut heard = self.heard.clone();
        let news =
            |now: &Heard| !now.open || now.version != since || now.connects != self.compared.load(Relaxed);
        // A closed channel or too long a silence: look, whatever it is.
        let _ = tokio::time::timeout(LOOK_AGAIN, heard.wait_for(news)).await;
        !self.heard.borrow().open
    }
}

impl Drop for HttpLink {
    fn drop(&mut self) {
        self.tasks.iter().for_each(JoinHandle::abort);
    }
}

impl Link for HttpLink {
    async fn begin(&self) -> Result<i64, LinkError> {
        let begin = Begin { version: env!("CARGO_PKG_VERSION").to_owned(), capabilities: Vec::new() };
        Ok(self.client().begin(&begin).await.map_err(failed)?.incarnation)
    }

    async fn wants(&self, since: i64) -> Result<Wants, LinkError> {
        let mut wait = false;
        loop {
            let connects = self.heard.borrow().connects;
            let known = if connects == self.compared.load(Relaxed) { since } else { -1 };
            let mut heard = self.heard.clone();
            heard.mark_unchanged();
            let client = self.client();
            let answer = tokio::select! {
                answer = client.wants(known, wait) => answer.map_err(failed)?,
                // The stream opened while a long question was waiting: everything is compared anew.
                _ = heard.wait_for(|now| wait && now.connects != connects) => { wait = false; continue }
            };
            if let Some(list) = answer {
                self.compared.store(connects, Relaxed);
                return Ok(list);
            }
            wait = self.until_news(since).await;
        }
    }

    async fn bundle(&self, release: ReleaseId, digest: &Digest) -> Result<Vec<u8>, LinkError> {
        self.client().bundle(release, digest).await.map_err(refused_or_failed)
    }

    async fn planned_bundle(&self, plan: PlanId, digest: &Digest) -> Result<Vec<u8>, LinkError> {
        self.client().planned_bundle(plan, digest).await.map_err(refused_or_failed)
    }

    async fn answer(&self, plan: PlanId, effect: Effect) -> Result<(), LinkError> {
        match self.client().answer(plan, &effect).await {
            // The plan is over, or has its answer: nobody waits for this one.
            Err(error) if error.error.is_not_found() => Ok(()),
            other => other.map_err(failed),
        }
    }

    async fn report(&self, batch: ReportBatch) -> Result<ReportAck, LinkError> {
        self.client().report(&batch).await.map_err(failed)
    }

    async fn schema(&self, schema: &Written) -> Result<(), LinkError> {
        self.client().schema(schema).await.map_err(refused_or_failed)
    }

    async fn heartbeat(&self) -> Result<(), LinkError> {
        self.client().heartbeat().await.map_err(failed)
    }

    async fn heard_again(&self) {
        let mut heard = self.heard.clone();
        let connects = heard.borrow().connects;
        // The sender lives as long as this link: a closed channel means that the agent ends.
        let _ = heard.wait_for(|now| now.connects != connects).await;
    }
}

fn refused_or_failed(error: AgentError) -> LinkError {
    if error.error.is_not_found() { LinkError::Refused(error.to_string()) } else { failed(error) }
}

fn failed(error: AgentError) -> LinkError {
    match error.retry_after {
        Some(after) => LinkError::Later { why: error.to_string(), after },
        None => LinkError::Unreachable(error.to_string()),
    }
}

/// Keeps a stream open, for ever.
async fn follow(mut client: watch::Receiver<AgentClient>, say: watch::Sender<Heard>, reconnect: Reconnect) {
    let mut most = reconnect.first;
    loop {
        let current = client.borrow_and_update().clone();
        let mut asked_for = Duration::ZERO;
        match current.stream().await {
            Ok(mut stream) => {
                let begun = Instant::now();
                let (mut opened, mut renewed) = (false, false);
                while !renewed {
                    tokio::select! {
                        version = stream.next() => {
                            let Some(version) = version else { break };
                            say.send_modify(|heard| {
                                heard.connects += u64::from(!opened);
                                (heard.open, heard.version) = (true, version);
                            });
                            opened = true;
                        }
                        changed = client.changed() => renewed = changed.is_ok(),
                    }
                }
                say.send_modify(|heard| heard.open = false);
                if begun.elapsed() >= GOOD || renewed {
                    most = reconnect.first;
                }
                if renewed {
                    continue;
                }
            }
            Err(error) => {
                asked_for = error.retry_after.unwrap_or_default();
                tracing::debug!(%error, "the stream can't be opened");
            }
        }
        let wait = most.mul_f64(rand::rng().random_range(0.1..1.0)).max(asked_for);
        tokio::time::sleep(wait).await;
        most = (most * 2).min(reconnect.max);
    }
}
