//! Writers of many rows lock them in one order (docs/consistency.md): PostgreSQL cancels none of their transactions as a deadlock.

use std::fmt::Debug;
use std::time::Duration;

use domain::ClusterId;
use domain::cluster::{ClusterFacts, ClusterKind};
use domain::health::{Health, HealthStatus};
use domain::placement::ClusterGroup;
use domain::release::{StageName, StageState, SyncStatus};
use domain::report::{DesiredPhase, DesiredRelease, ReleaseReport, ReportBatch, StageReport};
use domain::request::ClusterPatch;
use domain::rollout::RolloutAction;
use domain::workload::Source;
use hub::{Actor, Error, Hub, NewCluster, PublishOptions};
use sqlx::ConnectOptions as _;
use tokio::task::JoinSet;

use crate::{create_database, new_workload, open_server};

/// Requests of each writer.
const ROUNDS: usize = 100;
const CLUSTERS: usize = 5;
const WORKLOADS: usize = 3;

/// Whether a request was executed. It may be refused because another one changed the same rows before, but not because the
/// database cancelled it.
fn is_executed<T: Debug>(what: &str, result: Result<T, Error>) -> bool {
    match result {
        Ok(_) => true,
        Err(error) => {
            assert!(!error.is_outage() && !matches!(error, Error::Internal(_)), "{what}: {error:?}");
            false
        }
    }
}

/// A cluster whose agent reports everything in every round, each time in another order and with another health.
struct Agent {
    hub: Hub,
    id: ClusterId,
    incarnation: i64,
}

impl Agent {
    async fn register(hub: &Hub, number: usize) -> Self {
        let name = format!("cluster-{number}");
        let new = NewCluster { lease_seconds: 600, ..NewCluster::new(&name, ClusterKind::Simulated) };
        let id = hub.register_cluster(&Actor::system(), new).await.unwrap().id;
        let incarnation = hub.begin_agent_incarnation(id).await.unwrap();
        hub.record_heartbeat(id).await.unwrap();
        Self { hub: hub.clone(), id, incarnation }
    }

    async fn report(&self, round: usize) -> bool {
        let state = self.hub.get_desired_state(self.id, -1, Duration::ZERO).await.unwrap();
        let mut releases: Vec<ReleaseReport> =
            state.releases.iter().map(|desired| report_release(desired, round % 5 == 4)).collect();
        if round % 2 == 1 {
            releases.reverse();
        }
        let facts =
            ClusterFacts { kubernetes_version: format!("v1.3{}.0", round % 2), ..ClusterFacts::default() };
        let batch = ReportBatch {
            incarnation: self.incarnation,
            seq: i64::try_from(round).unwrap() + 1,
            facts: Some(facts),
            schema: None,
            leftovers: None,
            releases,
        };
        is_executed("report", self.hub.record_reports(self.id, batch).await)
    }

    /// The API server of the cluster does not respond, and then it does: both change all releases of the cluster.
    async fn lose_api_server(&self) -> bool {
        let lost = self.hub.record_api_server_outage(self.id, "no answer").await;
        is_executed("outage", lost) && is_executed("heartbeat", self.hub.record_heartbeat(self.id).await)
    }
}

fn report_release(desired: &DesiredRelease, is_failing: bool) -> ReleaseReport {
    let applied = match &desired.phase {
        DesiredPhase::Present { bundle, .. } => Some(bundle.clone()),
        DesiredPhase::Absent { .. } => None,
    };
    let is_failing = is_failing && applied.is_some();
    let is_done =
        |name: &StageName| name.is_reported_by_agent() && (!is_failing || *name < StageName::Operational);
    let stages = StageName::ALL.iter().copied().filter(is_done);
    ReleaseReport {
        release: desired.release,
        generation: desired.generation,
        stages: stages.map(|name| StageReport { name, state: StageState::Done }).collect(),
        sync: if applied.is_some() { SyncStatus::Synced } else { SyncStatus::Removed },
        health: if is_failing {
            Health { status: HealthStatus::Degraded, reason: "CrashLoop".to_owned(), ..Health::default() }
        } else {
            Health::healthy()
        },
        resources: Vec::new(),
        drift: Vec::new(),
        drift_omitted: 0,
        removed: applied.is_none(),
        applied,
    }
}

/// Creates a workload with waves and a node port of its own.
async fn create_workload(hub: &Hub, number: usize) {
    let mut workload = new_workload(&format!("web-{number}"));
    let Source::Yaml { files } = &mut workload.spec.source else { unreachable!() };
    files[0].text = files[0].text.replace("31000", &format!("{}", 31_000 + number));
    hub.create_workload(&Actor::system(), workload).await.unwrap();
}

async fn edit_labels(hub: &Hub, round: usize) -> bool {
    let labels = [("round".to_owned(), Some(round.to_string()))].into();
    let patch = ClusterPatch { labels, ..ClusterPatch::default() };
    let name = format!("cluster-{}", round % CLUSTERS);
    is_executed("label edit", hub.edit_cluster(&Actor::system(), &name, patch, None).await)
}

async fn edit_group(hub: &Hub, round: usize) -> bool {
    let members = (0..=round % CLUSTERS).map(|number| format!("cluster-{number}")).collect();
    let group = ClusterGroup { name: "some".to_owned(), members, ..ClusterGroup::default() };
    is_executed("group edit", hub.save_group(&Actor::system(), group, None).await)
}

/// Starts every writer; each returns how many of its requests were executed.
fn spawn_writers(servers: &[Hub; 2], agents: Vec<Agent>) -> JoinSet<(&'static str, usize)> {
    let mut writers = JoinSet::new();
    for (number, agent) in agents.into_iter().enumerate() {
        writers.spawn(async move {
            let mut executed = 0;
            for round in 0..ROUNDS {
                executed += usize::from(agent.report(round).await);
                if (round + number) % 10 == 0 {
                    agent.lose_api_server().await;
                }
            }
            ("report", executed)
        });
    }
    for number in 0..WORKLOADS {
        let servers = servers.clone();
        writers.spawn(async move {
            let (actor, name) = (Actor::system(), format!("web-{number}"));
            let mut executed = 0;
            for round in 0..ROUNDS {
                let hub = &servers[(round + number) % 2];
                let published = hub.publish_workload(&actor, &name, "", PublishOptions::default()).await;
                executed += usize::from(is_executed("publish", published));
                is_executed("sync", hub.sync_workload(&actor, &name, &[]).await);
                is_executed("rollout", hub.control_rollout(&actor, &name, RolloutAction::Promote).await);
            }
            ("publish", executed)
        });
    }
    let hub = servers[0].clone();
    writers.spawn(async move {
        let mut executed = 0;
        for round in 0..ROUNDS {
            executed += usize::from(edit_labels(&hub, round).await);
        }
        ("label edit", executed)
    });
    let hub = servers[1].clone();
    writers.spawn(async move {
        let mut executed = 0;
        for round in 0..ROUNDS {
            executed += usize::from(edit_group(&hub, round).await);
        }
        ("group edit", executed)
    });
    writers
}

/// The deadlocks that PostgreSQL has counted in this database.
async fn count_deadlocks(database: &str) -> i64 {
    let options: sqlx::postgres::PgConnectOptions = database.parse().unwrap();
    let mut connection = options.connect().await.unwrap();
    let count = "SELECT deadlocks FROM pg_stat_database WHERE datname = current_database()";
    sqlx::query_scalar::<_, i64>(count).fetch_one(&mut connection).await.unwrap()
}

#[tokio::test(flavor = "multi_thread")]
async fn p35_a_hundred_rounds_of_publishes_reports_edits_and_rollouts_at_once_have_no_deadlock() {
    let Some(database) = create_database("deadlocks").await else { return };
    let servers = [open_server(&database, 0).await, open_server(&database, 0).await];
    let mut agents = Vec::new();
    for number in 0..CLUSTERS {
        agents.push(Agent::register(&servers[number % 2], number).await);
    }
    for number in 0..WORKLOADS {
        create_workload(&servers[0], number).await;
    }
    let loops = [servers[0].spawn_loops(), servers[1].spawn_loops()];
    let mut writers = spawn_writers(&servers, agents);
    while let Some(written) = writers.join_next().await {
        let (writer, executed) = written.unwrap();
        assert!(
            executed > ROUNDS / 2,
            "only {executed} of {ROUNDS} requests of a writer were executed: {writer}"
        );
    }
    for some in loops {
        some.stop().await;
    }
    let counted = servers.each_ref().map(|hub| hub.store_statistics().deadlocks);
    assert_eq!(counted, [0, 0], "deadlocks of each server");
    for hub in &servers {
        hub.close().await;
    }
    assert_eq!(count_deadlocks(&database).await, 0);
}
