//! A hub on a database of its own, with a clock that the test moves, and an agent played by the test.

use std::sync::Arc;
use std::sync::atomic::{AtomicI64, Ordering::SeqCst};
use std::time::Duration;

use domain::cluster::{ClusterFacts, ClusterKind};
use domain::health::Health;
use domain::labels::Labels;
use domain::placement::{Placement, Predicate};
use domain::release::{StageName, StageState, Sync};
use domain::report::{Goal, ReleaseReport, ReportAck, ReportBatch, StageReport, Want, Wants};
use domain::workload::{NewWorkload, Source, SourceFile, WorkloadSpec};
use domain::{ClusterId, Timestamp};
use hub::{Actor, Clock, Config, Hub, Loops, NewCluster, Terms};
use sqlx::Connection as _;

/// The manifest most tests publish.
pub const CONFIG: &str =
    "apiVersion: v1\nkind: ConfigMap\nmetadata:\n  name: settings\ndata:\n  colour: blue\n";

pub struct House {
    pub hub: Hub,
    pub actor: Actor,
    time: Arc<AtomicI64>,
    loops: Option<Loops>,
    dir: tempfile::TempDir,
}

impl House {
    pub async fn open() -> Self {
        let dir = tempfile::tempdir().unwrap();
        let time = Arc::new(AtomicI64::new(1_763_665_200_000));
        let told = time.clone();
        let clock = Clock::from_fn(move || Timestamp::from_millis(told.load(SeqCst)));
        let database = format!("sqlite://{}", dir.path().join("flotilla.db").display());
        let hub = Hub::open(Config { database, clock }).await.unwrap();
        let loops = Some(hub.spawn_loops());
        Self { hub, actor: Actor::system(), time, loops, dir }
    }

    pub fn pass(&self, seconds: i64) {
        self.time.fetch_add(seconds * 1000, SeqCst);
    }

    /// Loses the bytes of every bundle, as a disk may.
    pub async fn lose_artifacts(&self) {
        let url = format!("sqlite://{}", self.dir.path().join("flotilla.db").display());
        let mut database = sqlx::sqlite::SqliteConnection::connect(&url).await.unwrap();
        sqlx::query("DELETE FROM artifact").execute(&mut database).await.unwrap();
        database.close().await.unwrap();
    }

    pub async fn close(mut self) {
        if let Some(loops) = self.loops.take() {
            loops.stop().await;
        }
    }

    pub async fn cluster(&self, name: &str, labels: &[(&str, &str)]) -> Agent {
        let labels: Labels = labels.iter().map(|(k, v)| ((*k).to_owned(), (*v).to_owned())).collect();
        let new = NewCluster { labels, ..NewCluster::new(name, ClusterKind::Simulated) };
        let id = self.hub.cluster_register(&self.actor, new).await.unwrap().id;
        let incarnation = self.hub.agent_begin(id).await.unwrap();
        self.hub.cluster_heartbeat(id).await.unwrap();
        Agent { hub: self.hub.clone(), id, incarnation, seq: 0, version: -1 }
    }

    pub async fn draft(&self, name: &str, placement: Placement) {
        let spec = WorkloadSpec {
            namespace: "shop".into(),
            source: source(CONFIG),
            placement,
            ..Default::default()
        };
        let new = NewWorkload { name: name.into(), labels: Labels::new(), spec };
        self.hub.workload_create(&self.actor, new).await.unwrap();
    }

    pub async fn publish(&self, name: &str) -> u32 {
        self.hub.workload_publish(&self.actor, name, "", Terms::default()).await.unwrap().revision
    }

    /// Messages of the whole log, oldest first.
    pub async fn log(&self) -> Vec<String> {
        self.hub.events_after(0, 500).await.unwrap().into_iter().map(|event| event.message).collect()
    }
}

pub fn source(text: &str) -> Source {
    Source::Yaml { files: vec![SourceFile { name: "app.yaml".into(), text: text.into() }] }
}

pub fn everywhere() -> Placement {
    Placement { predicates: vec![Predicate::default()], ..Placement::default() }
}

pub fn labelled(selector: &str) -> Placement {
    let predicate = Predicate { label_selector: selector.parse().unwrap(), ..Predicate::default() };
    Placement { predicates: vec![predicate], ..Placement::default() }
}

/// One cluster's agent, played by hand.
pub struct Agent {
    hub: Hub,
    pub id: ClusterId,
    pub incarnation: i64,
    pub seq: i64,
    version: i64,
}

impl Agent {
    pub fn hub(&self) -> &Hub {
        &self.hub
    }

    /// The next list of wants that is not the one seen last; waits for it.
    pub async fn next(&mut self) -> Wants {
        let wants = self.hub.wants(self.id, self.version, Duration::from_secs(20)).await.unwrap();
        assert!(wants.version > self.version, "no newer wants came");
        self.version = wants.version;
        wants
    }

    /// Waits until the list of wants is as the condition says.
    pub async fn until(&mut self, condition: impl Fn(&Wants) -> bool) -> Wants {
        loop {
            let wants = self.next().await;
            if condition(&wants) {
                return wants;
            }
        }
    }

    /// Waits for one want.
    pub async fn one(&mut self) -> Want {
        self.until(|wants| wants.releases.len() == 1).await.releases.remove(0)
    }

    pub async fn send(&mut self, report: ReleaseReport) -> ReportAck {
        self.hand_over(None, vec![report]).await
    }

    /// Tells of its cluster, as every agent does once it is connected.
    pub async fn tell(&mut self, facts: ClusterFacts) {
        assert!(self.hand_over(Some(facts), Vec::new()).await.taken);
    }

    async fn hand_over(&mut self, facts: Option<ClusterFacts>, releases: Vec<ReleaseReport>) -> ReportAck {
        self.seq += 1;
        let batch =
            ReportBatch { incarnation: self.incarnation, seq: self.seq, facts, schema: None, releases };
        self.hub.record_reports(self.id, batch).await.unwrap()
    }

    /// Does what is wanted, and says so.
    pub async fn obey(&mut self, want: &Want) {
        let report = obeyed(want);
        assert!(self.send(report).await.taken);
    }
}

/// The report of an agent that has done everything it was asked.
pub fn obeyed(want: &Want) -> ReleaseReport {
    let present = match &want.goal {
        Goal::Present { bundle, .. } => Some(bundle.clone()),
        Goal::Absent { .. } => None,
    };
    let stages = StageName::ALL.into_iter().filter(|name| name.is_agents());
    ReleaseReport {
        release: want.release,
        generation: want.generation,
        stages: stages.map(|name| StageReport { name, state: StageState::Done }).collect(),
        sync: if present.is_some() { Sync::Synced } else { Sync::Removed },
        health: Health::healthy(),
        resources: Vec::new(),
        drift: Vec::new(),
        gone: present.is_none(),
        applied: present,
    }
}
