//! The hub handle: store, clock, ids, live notices and loop signals behind one `Arc`.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;
use std::time::Duration;

use domain::audit::AuditOutcome;
use domain::authorization::UserAction;
use domain::event::NewEvent;
use domain::incident::DEFAULT_DELAY_MILLIS;
use domain::{ClusterId, ProjectId, Timestamp, WorkloadId};
use rand::Rng;
use serde::Serialize;
use store::idempotency::IdempotencyRecord;
use store::{DatabaseOutage, KeySource, Store, StoreStatistics, Tx};
use tokio::sync::watch;

use crate::actor::Actor;
use crate::audit::{AuditFileState, DenialCounts, describe_user};
use crate::chart::{ChartFetcher, ChartRenderer};
use crate::chart_repository::RepositoryReader;
use crate::clock::Clock;
use crate::decoded_memory::reserve_decoded;
use crate::encryption::resolve_key_source;
use crate::error::Error;
use crate::fetch_queues::FetchQueues;
use crate::git::GitReader;
use crate::idempotency::{ETAG, LOCATION, format_etag};
use crate::identity_provider::ProviderDirectory;
use crate::live::LiveNotices;
use crate::loops::{LoopSignals, RetentionStatistics};
use crate::mark_pace::MarkPace;
use crate::notification::NotificationSettings;
use crate::pauses::PauseDetector;
use crate::report::SchemaCache;
use crate::sign_in::{HashLimiter, SignInStatistics};
use crate::supervise::TaskRegistry;

/// Options of [`Hub::open`].
#[derive(Debug, Clone)]
pub struct HubConfig {
    /// `sqlite:///path/to/file.db` or `postgres://…`.
    pub database: String,
    /// The keys that wrap the data keys of the database; for SQLite by default the file `keys/flotilla.key` beside it.
    pub keys: Option<KeySource>,
    /// The clock.
    pub clock: Clock,
    /// How long a release fails before that is an incident.
    pub incident_delay: Duration,
}

impl HubConfig {
    /// A database with the default keys and delays.
    pub fn new(database: impl Into<String>, clock: Clock) -> Self {
        Self {
            database: database.into(),
            keys: None,
            clock,
            incident_delay: Duration::from_millis(DEFAULT_DELAY_MILLIS.unsigned_abs()),
        }
    }
}

/// Generates ids and secrets from the clock and the system's random number generator.
#[derive(Debug, Clone)]
pub struct IdGenerator(Clock);

impl IdGenerator {
    /// A new id, such as `ids.generate(WorkloadId::from_parts)`.
    pub fn generate<T>(&self, from_parts: impl Fn(u64, u128) -> T) -> T {
        from_parts(u64::try_from(self.0.now().millis()).unwrap_or_default(), rand::rng().random())
    }

    /// 32 random bytes in hex.
    pub fn generate_secret(&self) -> String {
        hex::encode(rand::rng().random::<[u8; 32]>())
    }
}

/// The control plane. Cheap to clone; all clones share the same state.
#[derive(Clone)]
pub struct Hub(Arc<Inner>);

struct Inner {
    store: Store,
    clock: Clock,
    ids: IdGenerator,
    project: ProjectId,
    started_at: Timestamp,
    live: LiveNotices,
    signals: LoopSignals,
    hash_limiter: HashLimiter,
    denials: DenialCounts,
    sign_in_statistics: SignInStatistics,
    schema_cache: SchemaCache,
    chart_renderer: ChartRenderer,
    chart_fetcher: ChartFetcher,
    repository_reader: RepositoryReader,
    git_reader: GitReader,
    fetch_queues: FetchQueues,
    pause_detector: PauseDetector,
    tasks: TaskRegistry,
    retention: RetentionStatistics,
    notification_settings: NotificationSettings,
    provider_directory: ProviderDirectory,
    audit_file: AuditFileState,
    mark_pace: MarkPace,
    incident_delay: Duration,
}

impl Hub {
    /// Opens the database, migrates its schema and creates the default project.
    pub async fn open(config: HubConfig) -> Result<Self, Error> {
        store::set_decode_admission(reserve_decoded);
        let keys = resolve_key_source(&config.database, config.keys)?;
        let store = Store::open(&config.database, &keys, config.clock.now()).await?;
        sync_clock_with_database(&store, &config.clock).await?;
        let ids = IdGenerator(config.clock.clone());
        let mut tx = store.write().await?;
        let project = ids.generate(ProjectId::from_parts);
        let project = store::project::ensure_default(&mut tx, project, config.clock.now()).await?;
        let last_seq = store::event::last_seq(&mut tx).await?;
        if !store.is_postgres() {
            // SQLite has one server at a time: claims from before this start are stale.
            let now = config.clock.now();
            store::queue::PLACER.release_all_claims(&mut tx, now).await?;
            store::queue::ROLLOUTS.release_all_claims(&mut tx, now).await?;
            store::queue::INCIDENTS.release_all_claims(&mut tx, now).await?;
        }
        let last_heartbeat = store::cluster::last_heartbeat(&mut tx).await?;
        tx.commit().await?;
        let last_heartbeat = last_heartbeat.filter(|_| !config.clock.counts_leaps());
        let pause_detector = PauseDetector::new(last_heartbeat, config.clock.now());
        Ok(Self(Arc::new(Inner {
            store,
            ids,
            project,
            started_at: config.clock.now(),
            live: LiveNotices::new(last_seq),
            signals: LoopSignals::default(),
            hash_limiter: HashLimiter::new(),
            denials: DenialCounts::default(),
            sign_in_statistics: SignInStatistics::default(),
            schema_cache: SchemaCache::default(),
            chart_renderer: ChartRenderer::default(),
            chart_fetcher: ChartFetcher::default(),
            repository_reader: RepositoryReader::default(),
            git_reader: GitReader::default(),
            fetch_queues: FetchQueues::default(),
            pause_detector,
            tasks: TaskRegistry::default(),
            retention: RetentionStatistics::default(),
            notification_settings: NotificationSettings::default(),
            provider_directory: ProviderDirectory::default(),
            audit_file: AuditFileState::default(),
            mark_pace: MarkPace::default(),
            incident_delay: config.incident_delay,
            clock: config.clock,
        })))
    }

    /// Adjusts the clock to the database's, if several servers may share the database.
    pub(crate) async fn sync_clock(&self) -> Result<(), Error> {
        sync_clock_with_database(self.store(), self.clock()).await
    }

    /// The clock.
    pub fn clock(&self) -> &Clock {
        &self.0.clock
    }

    /// When this server opened the database.
    pub fn started_at(&self) -> Timestamp {
        self.0.started_at
    }

    /// Succeeds if the database can be read (`/readyz`).
    pub async fn check_database(&self) -> Result<(), Error> {
        let mut tx = self.read().await?;
        store::event::last_seq(&mut tx).await?;
        Ok(())
    }

    /// Closes the database after its open transactions; later calls fail as if it could not be reached.
    pub async fn close(&self) {
        self.store().close().await;
    }

    /// Follows whether the database is in an outage; the value is that of now.
    pub fn subscribe_outage(&self) -> watch::Receiver<Option<DatabaseOutage>> {
        self.store().subscribe_outage()
    }

    /// How many statements failed with each outage since the start, by its label.
    pub fn count_outage_failures(&self) -> [(&'static str, u64); DatabaseOutage::ALL.len()] {
        DatabaseOutage::ALL.map(|outage| (outage.as_str(), self.store().count_outage_failures(outage)))
    }

    /// Keeps an SQLite database from growing beyond this number of pages, which has the effect of a full disk; `None` ends it.
    /// For tests, in debug builds only.
    ///
    /// # Errors
    /// The database is busy.
    #[cfg(debug_assertions)]
    pub async fn limit_database_pages(&self, pages: Option<u32>) -> Result<(), Error> {
        Ok(self.store().limit_pages(pages).await?)
    }

    /// Lets all transactions after the next `skipped` fail with this outage; `None` ends it. For tests, in debug builds only.
    #[cfg(debug_assertions)]
    pub fn inject_outage(&self, fault: Option<(DatabaseOutage, u64)>) {
        self.store().inject_outage(fault);
    }

    /// The transactions and statements of this server since its start.
    pub fn store_statistics(&self) -> StoreStatistics {
        self.store().statistics()
    }

    pub(crate) fn store(&self) -> &Store {
        &self.0.store
    }

    pub(crate) fn ids(&self) -> &IdGenerator {
        &self.0.ids
    }

    pub(crate) fn project(&self) -> ProjectId {
        self.0.project
    }

    pub(crate) fn live(&self) -> &LiveNotices {
        &self.0.live
    }

    pub(crate) fn signals(&self) -> &LoopSignals {
        &self.0.signals
    }

    /// Attempts to sign in on this server.
    pub fn sign_in_statistics(&self) -> &SignInStatistics {
        &self.0.sign_in_statistics
    }

    pub(crate) fn denials(&self) -> &DenialCounts {
        &self.0.denials
    }

    pub(crate) fn audit_file_state(&self) -> &AuditFileState {
        &self.0.audit_file
    }

    pub(crate) fn hash_limiter(&self) -> &HashLimiter {
        &self.0.hash_limiter
    }

    pub(crate) fn schema_cache(&self) -> &SchemaCache {
        &self.0.schema_cache
    }

    pub(crate) fn chart_renderer(&self) -> &ChartRenderer {
        &self.0.chart_renderer
    }

    pub(crate) fn chart_fetcher(&self) -> &ChartFetcher {
        &self.0.chart_fetcher
    }

    pub(crate) fn repository_reader(&self) -> &RepositoryReader {
        &self.0.repository_reader
    }

    pub(crate) fn git_reader(&self) -> &GitReader {
        &self.0.git_reader
    }

    pub(crate) fn fetch_queues(&self) -> &FetchQueues {
        &self.0.fetch_queues
    }

    pub(crate) fn tasks(&self) -> &TaskRegistry {
        &self.0.tasks
    }

    pub(crate) fn pause_detector(&self) -> &PauseDetector {
        &self.0.pause_detector
    }

    pub(crate) fn retention(&self) -> &RetentionStatistics {
        &self.0.retention
    }

    pub(crate) fn notification_settings(&self) -> &NotificationSettings {
        &self.0.notification_settings
    }

    pub(crate) fn provider_directory(&self) -> &ProviderDirectory {
        &self.0.provider_directory
    }

    pub(crate) fn mark_pace(&self) -> &MarkPace {
        &self.0.mark_pace
    }

    /// How long a release fails before that is an incident, in milliseconds.
    pub(crate) fn incident_delay_millis(&self) -> i64 {
        i64::try_from(self.0.incident_delay.as_millis()).unwrap_or(i64::MAX)
    }

    pub(crate) async fn read(&self) -> Result<Tx, Error> {
        Ok(self.0.store.read().await?)
    }

    pub(crate) async fn write(&self) -> Result<Tx, Error> {
        Ok(self.0.store.write().await?)
    }

    /// A write by a user, which is recorded in the audit log when it is committed. If the request has an idempotency key, it is not
    /// committed without the response ([`CommitEffects::with_response`]).
    ///
    /// # Errors
    /// What authenticated the request has ended since, or does not allow the action any more.
    pub(crate) async fn write_as(&self, actor: &Actor, action: UserAction) -> Result<Tx, Error> {
        let mut tx = self.write().await?;
        let checked = Box::pin(self.require_credential(&mut tx, actor, action)).await;
        if let Err(refusal) = checked {
            // `SQLite` has one writer, which the audit log needs too.
            drop(tx);
            if let Error::Forbidden(denied) = &refusal {
                Box::pin(self.record_denial(actor, denied, &describe_user(&actor.name))).await;
            }
            return Err(refusal);
        }
        if actor.request_key.is_some() {
            tx.require_response();
        }
        tx.record_audit(actor.audit_record(action.as_str(), AuditOutcome::Succeeded), self.clock().now());
        Ok(tx)
    }

    /// Commits a write with its events, then notifies agents, pages and loops; never before the commit (P31).
    pub(crate) async fn commit(&self, mut tx: Tx, effects: CommitEffects) -> Result<(), Error> {
        let now = self.clock().now();
        if let Some((actor, key, record)) = &effects.response {
            // In the same transaction: a client that lost the response repeats the request and gets this one (P2).
            store::idempotency::put(&mut tx, key, actor, record, now).await?;
        }
        let rollouts = !effects.changed_connectivity.is_empty() || !effects.dirty_rollouts.is_empty();
        for cluster in &effects.changed_connectivity {
            let due = effects.marks_due.unwrap_or(now);
            self.mark_connectivity_change(&mut tx, *cluster, due).await?;
        }
        let dirty: Vec<WorkloadId> = effects.dirty_rollouts.iter().copied().collect();
        store::queue::ROLLOUTS.mark(&mut tx, &dirty, now).await?;
        store::event::append(&mut tx, &effects.events, now).await?;
        store::cluster::bump_desired_state(&mut tx, &effects.changed_clusters).await?;
        tx.notify_on_commit();
        let committed = tx.commit().await?;
        if let Some(seq) = committed.last_event {
            self.live().notify_event(seq);
        }
        self.live().notify_desired_state(&effects.changed_clusters);
        if effects.wake_placer || committed.has_placer_marks {
            self.signals().placer.notify_one();
        }
        if rollouts {
            self.signals().rollouts.notify_one();
        }
        if committed.has_incident_marks {
            self.signals().incidents.notify_one();
        }
        if effects.wake_deliveries {
            self.signals().deliveries.notify_one();
        }
        Ok(())
    }
}

async fn sync_clock_with_database(store: &Store, clock: &Clock) -> Result<(), Error> {
    if let Some(time) = store.database_time().await? {
        clock.adjust_to(time);
    }
    Ok(())
}

/// Side effects of a write; [`Hub::commit`] applies them.
#[derive(Debug, Default)]
pub(crate) struct CommitEffects {
    /// Events to append.
    pub events: Vec<NewEvent>,
    /// Clusters whose desired state changed.
    pub changed_clusters: Vec<ClusterId>,
    /// Whether workloads were marked dirty.
    pub wake_placer: bool,
    /// Workloads whose rollouts have to be re-evaluated.
    pub dirty_rollouts: BTreeSet<WorkloadId>,
    /// Clusters whose connectivity changed: rollouts and dependencies of workloads on them have to be re-evaluated.
    pub changed_connectivity: BTreeSet<ClusterId>,
    /// From when on the marks are due that a report of an agent causes for workloads of others ([`MarkPace`]).
    pub marks_due: Option<Timestamp>,
    /// Whether messages were written into the outbox.
    pub wake_deliveries: bool,
    /// The response to store: actor name, idempotency key, response.
    pub response: Option<(String, String, IdempotencyRecord)>,
}

impl CommitEffects {
    /// One event; wakes the placer.
    pub fn with_event_for_placer(event: NewEvent) -> Self {
        Self { events: vec![event], wake_placer: true, ..Self::default() }
    }

    /// Adds the response to store under the actor's request key, if there is one.
    pub fn with_response(self, actor: &Actor, status: u16, body: &impl Serialize) -> Self {
        self.with_body(actor, status, || serde_json::to_string(body).unwrap_or_default())
    }

    /// Adds a response without a body to store under the actor's request key, if there is one.
    pub fn with_empty_response(self, actor: &Actor, status: u16) -> Self {
        self.with_body(actor, status, String::new)
    }

    /// Adds the revision of what the response contains to the stored response, if there is one.
    pub fn with_etag(mut self, revision: i64) -> Self {
        if let Some((_, _, record)) = &mut self.response {
            record.headers.insert(ETAG.to_owned(), format_etag(revision));
        }
        self
    }

    /// Adds the address of what the response is about to the stored response, if there is one.
    pub fn with_location(mut self, path: String) -> Self {
        if let Some((_, _, record)) = &mut self.response {
            record.headers.insert(LOCATION.to_owned(), path);
        }
        self
    }

    fn with_body(mut self, actor: &Actor, status: u16, body: impl FnOnce() -> String) -> Self {
        self.response = actor.request_key.as_ref().map(|request| {
            let record = IdempotencyRecord {
                request_hash: request.request_hash.clone(),
                status,
                headers: BTreeMap::new(),
                body: body(),
            };
            (actor.name.clone(), request.key.clone(), record)
        });
        self
    }

    /// Whether something was changed that clusters or pages are notified of.
    pub fn has_changes(&self) -> bool {
        !self.changed_clusters.is_empty() || !self.events.is_empty()
    }

    /// Adds the effects of another verb in the same transaction, but not its response.
    pub fn append(&mut self, other: Self) {
        self.events.extend(other.events);
        self.wake_placer |= other.wake_placer;
        self.changed_clusters.extend(other.changed_clusters);
        self.dirty_rollouts.extend(other.dirty_rollouts);
        self.changed_connectivity.extend(other.changed_connectivity);
        self.marks_due = self.marks_due.or(other.marks_due);
        self.wake_deliveries |= other.wake_deliveries;
    }

    /// One event.
    pub fn with_event(event: NewEvent) -> Self {
        Self { events: vec![event], ..Self::default() }
    }
}
