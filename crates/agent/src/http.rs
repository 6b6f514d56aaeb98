//! The link over HTTP: requests authenticated by the cluster's certificate, and a stream of desired-state versions.
//!
//! The stream carries no data. After every connect of it the full desired state is read, whatever its version, which
//! covers missed notices and a hub restored from a backup (P3). Without a stream the agent uses long polling.

use std::sync::atomic::{AtomicU64, Ordering::Relaxed};
use std::time::Duration;

use domain::helm_release::{HelmReleaseReading, HelmReleaseRequest};
use domain::plan::ClusterPlan;
use domain::report::{DesiredState, Heartbeat, ReportAck, ReportBatch};
use domain::schema::EncodedSchema;
use domain::{Digest, PlanId, ReleaseId};
use rand::Rng as _;
use tokio::sync::watch;
use tokio::task::JoinHandle;
use tokio::time::Instant;
use wire::agent::{SessionRequest, SubmittedHelmRelease};
use wire::{AgentClient, AgentError};

use crate::cache::SharedCache;
use crate::identity::{AgentIdentity, JoinError};
use crate::link::{Link, LinkError};
use crate::options::AgentOptions;
use crate::renewal;

/// Polling interval of the version while the stream is open (P6).
const VERSION_POLL_INTERVAL: Duration = Duration::from_secs(60);
/// A stream that was open for this long resets the reconnect delay (P20).
const STABLE_AFTER: Duration = Duration::from_secs(600);

/// Delays between connects of the stream (P20).
#[derive(Debug, Clone, Copy)]
pub struct ReconnectBackoff {
    /// Upper bound of the first delay; doubles with every attempt. The delay is a random 10–100 % of the bound.
    pub initial: Duration,
    /// Largest bound.
    pub max: Duration,
}

impl Default for ReconnectBackoff {
    /// Five seconds to a minute.
    fn default() -> Self {
        Self { initial: Duration::from_secs(5), max: Duration::from_secs(60) }
    }
}

/// State of the stream.
#[derive(Debug, Clone, Copy, Default)]
struct StreamState {
    /// Number of times it was opened.
    connect_count: u64,
    /// Whether it is open.
    is_open: bool,
    /// The version received last.
    version: i64,
}

/// The HTTP link to a hub.
pub struct HttpLink {
    client: watch::Receiver<AgentClient>,
    stream_state: watch::Receiver<StreamState>,
    /// Value of `connect_count` when the full desired state was last read.
    last_full_read: AtomicU64,
    tasks: [JoinHandle<()>; 2],
}

impl HttpLink {
    /// A link that authenticates with this identity, and renews and stores its certificate until dropped.
    ///
    /// # Errors
    /// The certificate can't be used.
    pub fn new(
        identity: AgentIdentity,
        cache: SharedCache,
        options: &AgentOptions,
        reconnect: ReconnectBackoff,
    ) -> Result<Self, JoinError> {
        let (newest, client) = watch::channel(identity.client()?);
        let (state_sender, stream_state) = watch::channel(StreamState::default());
        let tasks = [
            tokio::spawn(follow_stream(client.clone(), state_sender, reconnect)),
            tokio::spawn(renewal::run(identity, cache, options.clone(), newest)),
        ];
        Ok(Self { client, stream_state, last_full_read: AtomicU64::new(0), tasks })
    }

    fn client(&self) -> AgentClient {
        self.client.borrow().clone()
    }

    /// Waits until the version may differ from `since`, at most [`VERSION_POLL_INTERVAL`]; returns `true` if no stream is open.
    async fn wait_for_change(&self, since: i64) -> bool {
        let mut stream = self.stream_state.clone();
        let changed = |now: &StreamState| {
            !now.is_open || now.version != since || now.connect_count != self.last_full_read.load(Relaxed)
        };
        // After a timeout or on a closed channel the caller polls as well.
        let _ = tokio::time::timeout(VERSION_POLL_INTERVAL, stream.wait_for(changed)).await;
        !self.stream_state.borrow().is_open
    }
}

impl Drop for HttpLink {
    fn drop(&mut self) {
        self.tasks.iter().for_each(JoinHandle::abort);
    }
}

impl Link for HttpLink {
    async fn start_session(&self) -> Result<i64, LinkError> {
        let request =
            SessionRequest { version: env!("CARGO_PKG_VERSION").to_owned(), capabilities: Vec::new() };
        Ok(self.client().start_session(&request).await.map_err(link_error)?.incarnation)
    }

    async fn fetch_desired_state(&self, since: i64) -> Result<DesiredState, LinkError> {
        let mut wait = false;
        loop {
            let connects = self.stream_state.borrow().connect_count;
            let known = if connects == self.last_full_read.load(Relaxed) { since } else { -1 };
            let mut stream = self.stream_state.clone();
            stream.mark_unchanged();
            let client = self.client();
            let response = tokio::select! {
                response = client.fetch_desired_state(known, wait) => response.map_err(link_error)?,
                // The stream opened during a long poll: the full state is read again.
                _ = stream.wait_for(|now| wait && now.connect_count != connects) => { wait = false; continue }
            };
            if let Some(state) = response {
                self.last_full_read.store(connects, Relaxed);
                return Ok(state);
            }
            wait = self.wait_for_change(since).await;
        }
    }

    async fn fetch_bundle(&self, release: ReleaseId, digest: &Digest) -> Result<Vec<u8>, LinkError> {
        self.client().fetch_bundle(release, digest).await.map_err(rejection_or_failure)
    }

    async fn fetch_planned_bundle(&self, plan: PlanId, digest: &Digest) -> Result<Vec<u8>, LinkError> {
        self.client().fetch_planned_bundle(plan, digest).await.map_err(rejection_or_failure)
    }

    async fn submit_cluster_plan(&self, plan: PlanId, cluster_plan: ClusterPlan) -> Result<(), LinkError> {
        match self.client().submit_cluster_plan(plan, &cluster_plan).await {
            // The plan has ended or has this result already.
            Err(error) if error.error.is_not_found() => Ok(()),
            other => other.map_err(link_error),
        }
    }

    async fn submit_helm_release(
        &self,
        request: &HelmReleaseRequest,
        reading: HelmReleaseReading,
    ) -> Result<(), LinkError> {
        match self
            .client()
            .submit_helm_release(&SubmittedHelmRelease { request: request.clone(), reading })
            .await
        {
            // The request has ended or is answered already.
            Err(error) if error.error.is_not_found() => Ok(()),
            other => other.map_err(link_error),
        }
    }

    async fn send_reports(&self, batch: ReportBatch) -> Result<ReportAck, LinkError> {
        self.client().send_reports(&batch).await.map_err(|error| match error.error.code() {
            "SessionUnknown" => LinkError::SessionUnknown(error.to_string()),
            _ => link_error(error),
        })
    }

    async fn upload_schema(&self, schema: &EncodedSchema) -> Result<(), LinkError> {
        let uploaded = self.client().upload_schema(schema).await;
        uploaded.map_err(|error| match error.error.code() {
            // It is too large: it would be refused again.
            "Invalid" => LinkError::Rejected(error.to_string()),
            _ => rejection_or_failure(error),
        })
    }

    async fn send_heartbeat(&self, heartbeat: Heartbeat) -> Result<(), LinkError> {
        self.client().send_heartbeat(&heartbeat).await.map_err(link_error)
    }

    async fn wait_until_reachable(&self) {
        let mut stream = self.stream_state.clone();
        let connects = stream.borrow().connect_count;
        // The sender lives as long as this link: a closed channel means that the agent stops.
        let _ = stream.wait_for(|now| now.connect_count != connects).await;
    }
}

fn rejection_or_failure(error: AgentError) -> LinkError {
    if error.error.is_not_found() { LinkError::Rejected(error.to_string()) } else { link_error(error) }
}

fn link_error(error: AgentError) -> LinkError {
    match error.retry_after {
        Some(after) => LinkError::RetryAfter { message: error.to_string(), delay: after },
        None => LinkError::Unreachable(error.to_string()),
    }
}

/// Keeps the stream open: reconnects after every failure and after every renewal of the certificate.
async fn follow_stream(
    mut client: watch::Receiver<AgentClient>,
    state: watch::Sender<StreamState>,
    reconnect: ReconnectBackoff,
) {
    let mut bound = reconnect.initial;
    loop {
        let current = client.borrow_and_update().clone();
        let mut retry_after = Duration::ZERO;
        match current.open_stream().await {
            Ok(mut stream) => {
                let connected_at = Instant::now();
                let (mut opened, mut renewed) = (false, false);
                while !renewed {
                    tokio::select! {
                        version = stream.next() => {
                            let Some(version) = version else { break };
                            state.send_modify(|stream| {
                                stream.connect_count += u64::from(!opened);
                                (stream.is_open, stream.version) = (true, version);
                            });
                            opened = true;
                        }
                        changed = client.changed() => renewed = changed.is_ok(),
                    }
                }
                state.send_modify(|stream| stream.is_open = false);
                if connected_at.elapsed() >= STABLE_AFTER || renewed {
                    bound = reconnect.initial;
                }
                if renewed {
                    continue;
                }
            }
            Err(error) => {
                retry_after = error.retry_after.unwrap_or_default();
                tracing::debug!(%error, "the stream of desired-state versions can't be opened");
            }
        }
        let delay = bound.mul_f64(rand::rng().random_range(0.1..1.0)).max(retry_after);
        tokio::time::sleep(delay).await;
        bound = (bound * 2).min(reconnect.max);
    }
}
