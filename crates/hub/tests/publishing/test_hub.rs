//! A hub on its own database, with a clock that the test advances, and agents simulated by the test.

use std::sync::Arc;
use std::sync::atomic::{AtomicI64, Ordering::SeqCst};
use std::time::Duration;

use domain::cluster::{ClusterFacts, ClusterKind};
use domain::health::Health;
use domain::labels::Labels;
use domain::placement::{ClusterGroup, Placement, Predicate};
use domain::release::{StageName, StageState, SyncStatus};
use domain::report::{
    DesiredPhase, DesiredRelease, DesiredState, ReleaseReport, ReportAck, ReportBatch, StageReport,
};
use domain::workload::{NewWorkload, Source, SourceFile, WorkloadSpec};
use domain::{ClusterId, Timestamp};
use hub::{Actor, Clock, Hub, HubConfig, Loops, NewCluster, PublishOptions, WorkloadEdit};
use source::scratch::ScratchFolder;
use sqlx::Connection as _;
use sqlx::sqlite::SqliteConnection;
use tokio::sync::Mutex;

/// Time limit of every wait, long enough for a loaded machine.
pub const WAIT_TIMEOUT: Duration = testkit::patience();

/// The manifest most tests publish.
pub const CONFIG: &str =
    "apiVersion: v1\nkind: ConfigMap\nmetadata:\n  name: settings\ndata:\n  colour: blue\n";

pub struct TestHub {
    pub hub: Hub,
    pub actor: Actor,
    time: Arc<AtomicI64>,
    loops: Option<Loops>,
    dir: tempfile::TempDir,
}

impl TestHub {
    /// A hub for which the time that the test advances was observed.
    pub async fn open() -> Self {
        Self::open_with(Clock::with_counted_leaps).await
    }

    /// A hub for which every leap of the clock is a pause, as after a suspend of its host.
    pub async fn open_with_pauses() -> Self {
        Self::open_with(|clock| clock).await
    }

    async fn open_with(adapt: impl Fn(Clock) -> Clock) -> Self {
        let time = Arc::new(AtomicI64::new(1_763_665_200_000));
        Self::open_at(tempfile::tempdir().unwrap(), time, adapt).await
    }

    async fn open_at(dir: tempfile::TempDir, time: Arc<AtomicI64>, adapt: impl Fn(Clock) -> Clock) -> Self {
        let source = time.clone();
        let clock = adapt(Clock::from_fn(move || Timestamp::from_millis(source.load(SeqCst))));
        let database = format!("sqlite://{}", dir.path().join("flotilla.db").display());
        let hub = Hub::open(HubConfig::new(database, clock)).await.unwrap();
        let loops = Some(hub.spawn_loops());
        Self { hub, actor: Actor::system(), time, loops, dir }
    }

    pub fn advance_clock(&self, seconds: i64) {
        self.time.fetch_add(seconds * 1000, SeqCst);
    }

    /// A folder for renderings.
    pub fn scratch(&self) -> ScratchFolder {
        ScratchFolder::open(&self.dir.path().join("scratch")).unwrap()
    }

    async fn connect_to_database(&self) -> SqliteConnection {
        let url = format!("sqlite://{}", self.dir.path().join("flotilla.db").display());
        SqliteConnection::connect(&url).await.unwrap()
    }

    /// Deletes the bytes of every bundle, to simulate data loss.
    pub async fn delete_artifacts(&self) {
        self.execute_sql("DELETE FROM artifact").await;
    }

    /// Executes a statement on a connection of its own, to simulate what the store never writes.
    pub async fn execute_sql(&self, statement: &str) {
        let mut database = self.connect_to_database().await;
        sqlx::query(sqlx::AssertSqlSafe(statement.to_owned())).execute(&mut database).await.unwrap();
        database.close().await.unwrap();
    }

    /// The number that a statement reads.
    pub async fn count(&self, statement: &'static str) -> i64 {
        let mut database = self.connect_to_database().await;
        let (count,): (i64,) = sqlx::query_as(statement).fetch_one(&mut database).await.unwrap();
        database.close().await.unwrap();
        count
    }

    /// When the placer handles a workload next, in milliseconds; `None` if it is not due.
    pub async fn placer_due(&self, workload: &str) -> Option<i64> {
        let mut database = self.connect_to_database().await;
        let query =
            "SELECT q.due_at FROM placer_queue q JOIN workload w ON w.id = q.workload_id WHERE w.name = $1";
        let found: (Option<i64>,) =
            sqlx::query_as(query).bind(workload.to_owned()).fetch_one(&mut database).await.unwrap();
        database.close().await.unwrap();
        found.0
    }

    /// Lets the placer run now, also over a claim that it has not settled.
    pub async fn run_placer(&self) {
        self.run_placer_after_heartbeats(&[]).await;
    }

    /// The same after heartbeats of these clusters: a silent one keeps what it should remove, and the clock of the test stands.
    pub async fn run_placer_after_heartbeats(&self, clusters: &[ClusterId]) {
        self.advance_clock(31);
        for cluster in clusters {
            self.hub.record_heartbeat(*cluster).await.unwrap();
        }
        let group = ClusterGroup { name: "any".into(), ..ClusterGroup::default() };
        self.hub.save_group(&self.actor, group, None).await.unwrap();
    }

    /// Whether the placer has seen every change.
    pub async fn is_placed(&self) -> bool {
        let mut database = self.connect_to_database().await;
        let query = "SELECT COUNT(*) FROM placer_queue WHERE due_at IS NOT NULL";
        let (due,): (i64,) = sqlx::query_as(query).fetch_one(&mut database).await.unwrap();
        database.close().await.unwrap();
        due == 0
    }

    /// Marks every rollout as due and waits until the loop has claimed and settled each of them once more.
    pub async fn run_rollout_loop(&self) {
        let mut database = self.connect_to_database().await;
        let query =
            "SELECT COALESCE(SUM(claim_epoch), 0), COUNT(*), COALESCE(SUM(claimed), 0) FROM rollout_queue";
        let (claims, rollouts, _): (i64, i64, i64) =
            sqlx::query_as(query).fetch_one(&mut database).await.unwrap();
        sqlx::query("UPDATE rollout_queue SET dirty_epoch = dirty_epoch + 1, due_at = $1")
            .bind(self.time.load(SeqCst))
            .execute(&mut database)
            .await
            .unwrap();
        let database = Mutex::new(database);
        wait_until("every rollout is settled", async || {
            let mut database = database.lock().await;
            let (after, _, leased): (i64, i64, i64) =
                sqlx::query_as(query).fetch_one(&mut *database).await.unwrap();
            after >= claims + rollouts && leased == 0
        })
        .await;
        database.into_inner().close().await.unwrap();
    }

    pub async fn close(mut self) {
        self.stop_loops().await;
    }

    /// Another hub on the same database. No agent of this one may be left.
    pub async fn restart(mut self) -> Self {
        self.stop_loops().await;
        let Self { hub, time, dir, .. } = self;
        hub.close().await;
        drop(hub);
        Self::open_at(dir, time, Clock::with_counted_leaps).await
    }

    /// Stops the loops, so that only the test itself reads and writes.
    pub async fn stop_loops(&mut self) {
        if let Some(loops) = self.loops.take() {
            loops.stop().await;
        }
    }

    pub async fn register_cluster(&self, name: &str, labels: &[(&str, &str)]) -> TestAgent {
        let labels: Labels = labels.iter().map(|(k, v)| ((*k).to_owned(), (*v).to_owned())).collect();
        let new = NewCluster { labels, ..NewCluster::new(name, ClusterKind::Simulated) };
        let id = self.hub.register_cluster(&self.actor, new).await.unwrap().id;
        let incarnation = self.hub.begin_agent_incarnation(id).await.unwrap();
        self.hub.record_heartbeat(id).await.unwrap();
        TestAgent { hub: self.hub.clone(), id, incarnation, seq: 0, version: -1 }
    }

    /// A registered cluster whose lease is this long.
    pub async fn register_cluster_with_lease(&self, name: &str, lease_seconds: u32) -> TestAgent {
        let new = NewCluster { lease_seconds, ..NewCluster::new(name, ClusterKind::Simulated) };
        let id = self.hub.register_cluster(&self.actor, new).await.unwrap().id;
        self.hub.record_heartbeat(id).await.unwrap();
        self.reconnect_agent(name).await
    }

    /// An agent of a registered cluster, which has sent nothing yet.
    pub async fn reconnect_agent(&self, name: &str) -> TestAgent {
        let id = self.hub.get_cluster(name).await.unwrap().cluster.id;
        let incarnation = self.hub.begin_agent_incarnation(id).await.unwrap();
        TestAgent { hub: self.hub.clone(), id, incarnation, seq: 0, version: -1 }
    }

    pub async fn create_draft(&self, name: &str, placement: Placement) {
        let spec = WorkloadSpec {
            namespace: "shop".into(),
            source: source(CONFIG),
            placement,
            ..Default::default()
        };
        let new = NewWorkload { name: name.into(), spec, ..NewWorkload::default() };
        self.hub.create_workload(&self.actor, new).await.unwrap();
    }

    /// Creates a workload and publishes it.
    pub async fn publish_new(&self, name: &str, placement: Placement) {
        self.create_draft(name, placement).await;
        self.publish(name).await;
    }

    /// Changes the draft of a workload.
    pub async fn edit_draft(&self, name: &str, change: impl FnOnce(&mut WorkloadSpec)) {
        let mut spec = self.hub.get_workload(name).await.unwrap().workload.draft;
        change(&mut spec);
        let edit = WorkloadEdit { spec: Some(spec), ..WorkloadEdit::default() };
        self.hub.edit_workload(&self.actor, name, edit, None).await.unwrap();
    }

    pub async fn publish(&self, name: &str) -> u32 {
        self.hub.publish_workload(&self.actor, name, "", PublishOptions::default()).await.unwrap().revision
    }

    /// Messages of the whole log, oldest first.
    pub async fn event_messages(&self) -> Vec<String> {
        self.hub.list_events_after(0, 500).await.unwrap().into_iter().map(|event| event.message).collect()
    }
}

/// Waits until `find` returns a value.
pub async fn wait_for<T>(what: &str, find: impl AsyncFn() -> Option<T>) -> T {
    let started = tokio::time::Instant::now();
    loop {
        if let Some(found) = find().await {
            return found;
        }
        assert!(started.elapsed() < WAIT_TIMEOUT, "not within {WAIT_TIMEOUT:?}: {what}");
        tokio::time::sleep(Duration::from_millis(20)).await;
    }
}

/// Waits until the condition holds.
pub async fn wait_until(what: &str, is_met: impl AsyncFn() -> bool) {
    wait_for(what, async || is_met().await.then_some(())).await;
}

pub fn source(text: &str) -> Source {
    Source::Yaml { files: vec![SourceFile { name: "app.yaml".into(), text: text.into() }] }
}

pub fn everywhere() -> Placement {
    Placement { predicates: vec![Predicate::default()], ..Placement::default() }
}

pub fn by_label(selector: &str) -> Placement {
    let predicate = Predicate { label_selector: selector.parse().unwrap(), ..Predicate::default() };
    Placement { predicates: vec![predicate], ..Placement::default() }
}

/// One cluster's agent, simulated.
pub struct TestAgent {
    hub: Hub,
    pub id: ClusterId,
    pub incarnation: i64,
    pub seq: i64,
    version: i64,
}

impl TestAgent {
    pub fn hub(&self) -> &Hub {
        &self.hub
    }

    /// Waits for the next version of the desired state.
    pub async fn next_desired_state(&mut self) -> DesiredState {
        let desired_state = self.hub.get_desired_state(self.id, self.version, WAIT_TIMEOUT).await.unwrap();
        assert!(desired_state.version > self.version, "no newer desired state");
        self.version = desired_state.version;
        desired_state
    }

    /// Waits until the desired state meets the condition.
    pub async fn wait_for_desired_state(
        &mut self,
        condition: impl Fn(&DesiredState) -> bool,
    ) -> DesiredState {
        loop {
            let desired_state = self.next_desired_state().await;
            if condition(&desired_state) {
                return desired_state;
            }
        }
    }

    /// Waits for a desired state with one release.
    pub async fn wait_for_release(&mut self) -> DesiredRelease {
        self.wait_for_desired_state(|desired_state| desired_state.releases.len() == 1)
            .await
            .releases
            .remove(0)
    }

    /// Waits for a desired state with one release, and reports it as applied.
    pub async fn apply_release(&mut self) -> DesiredRelease {
        let desired = self.wait_for_release().await;
        self.report_applied(&desired).await;
        desired
    }

    /// Waits until the first release of the desired state is to be removed.
    pub async fn wait_for_removal(&mut self) -> DesiredRelease {
        let is_absent = |desired: &DesiredRelease| matches!(desired.phase, DesiredPhase::Absent { .. });
        let removed = |desired: &DesiredState| desired.releases.first().is_some_and(is_absent);
        self.wait_for_desired_state(removed).await.releases.remove(0)
    }

    pub async fn send_report(&mut self, report: ReleaseReport) -> ReportAck {
        self.send_batch(None, vec![report]).await
    }

    /// Reports facts of the cluster, as every agent does once it is connected.
    pub async fn send_facts(&mut self, facts: ClusterFacts) {
        assert!(self.send_batch(Some(facts), Vec::new()).await.accepted);
    }

    async fn send_batch(&mut self, facts: Option<ClusterFacts>, releases: Vec<ReleaseReport>) -> ReportAck {
        self.seq += 1;
        let batch = ReportBatch {
            incarnation: self.incarnation,
            seq: self.seq,
            facts,
            schema: None,
            leftovers: None,
            releases,
        };
        self.hub.record_reports(self.id, batch).await.unwrap()
    }

    /// Reports the desired release as applied.
    pub async fn report_applied(&mut self, desired: &DesiredRelease) {
        let report = applied_report(desired);
        assert!(self.send_report(report).await.accepted);
    }
}

/// The report of an agent that has applied this desired release.
pub fn applied_report(desired: &DesiredRelease) -> ReleaseReport {
    let present = match &desired.phase {
        DesiredPhase::Present { bundle, .. } => Some(bundle.clone()),
        DesiredPhase::Absent { .. } => None,
    };
    let stages = StageName::ALL.iter().copied().filter(|name| name.is_reported_by_agent());
    ReleaseReport {
        release: desired.release,
        generation: desired.generation,
        stages: stages.map(|name| StageReport { name, state: StageState::Done }).collect(),
        sync: if present.is_some() { SyncStatus::Synced } else { SyncStatus::Removed },
        health: Health::healthy(),
        resources: Vec::new(),
        drift: Vec::new(),
        drift_omitted: 0,
        removed: present.is_none(),
        applied: present,
    }
}
