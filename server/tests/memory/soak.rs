//! Many publishes and reports leak nothing: memory, file descriptors and rows have no slope (P30).

use std::collections::BTreeMap;

use domain::report::{DesiredPhase, DesiredRelease, ReleaseReport, ReportBatch};
use domain::workload::NewWorkload;
use serde_json::json;
use sqlx::{Connection as _, Row as _};
use wire::agent::SessionRequest;
use wire::{AgentClient, PublishRequest, WorkloadPut};

use crate::server_process::{ServerProcess, wait_until, workload_spec};

/// Rounds in each quarter of the run. The first one fills caches and pools.
const ROUNDS_PER_QUARTER: u32 = 40;
/// So many that the rate of one agent does not limit the run.
const CLUSTERS: usize = 4;
/// How much the memory may grow from the end of the second quarter to that of the last, in KiB: a leak of 40 KiB per round is
/// found; about 10 KiB are page caches of SQLite, whose database grows by history.
const MAX_GROWTH_KIB: u64 = 40 * 2 * ROUNDS_PER_QUARTER as u64;
/// Pooled connections come and go.
const MAX_MORE_DESCRIPTORS: usize = 3;
/// Tables whose rows the retention loop deletes by age, and the audit log, whose entries are not deleted.
const HISTORY: [&str; 5] = ["event", "audit_entry", "artifact", "idempotency_record", "operation"];

/// What the server uses at one time.
#[derive(Debug)]
struct Usage {
    memory_kib: u64,
    descriptors: usize,
    /// Rows by table, without those of history.
    rows: BTreeMap<String, i64>,
}

impl Usage {
    async fn measure(server: &ServerProcess) -> Self {
        let url = format!("sqlite://{}?mode=ro", server.database_file().display());
        let mut database = sqlx::SqliteConnection::connect(&url).await.unwrap();
        let tables = "SELECT name FROM sqlite_schema WHERE type = 'table' AND name NOT LIKE 'sqlite_%'";
        let tables = sqlx::query(tables).fetch_all(&mut database).await.unwrap();
        let mut rows = BTreeMap::new();
        for table in tables.iter().map(|row| row.get::<String, _>(0)) {
            if HISTORY.contains(&table.as_str()) {
                continue;
            }
            let count = sqlx::AssertSqlSafe(format!("SELECT COUNT(*) FROM \"{table}\""));
            rows.insert(table, sqlx::query(count).fetch_one(&mut database).await.unwrap().get(0));
        }
        database.close().await.unwrap();
        let descriptors = server.count_file_descriptors();
        Self { memory_kib: server.memory_kib("VmRSS"), descriptors, rows }
    }
}

/// The agent of a cluster: it reports every release as applied or as removed.
struct SoakAgent {
    cluster: String,
    client: AgentClient,
    incarnation: i64,
    seq: i64,
    version: i64,
}

impl SoakAgent {
    async fn fetch_release(&mut self) -> DesiredRelease {
        loop {
            let state = self.client.fetch_desired_state(self.version, true).await.unwrap();
            let Some(mut state) = state else { continue };
            self.version = state.version;
            if let Some(release) = state.releases.pop() {
                return release;
            }
        }
    }

    /// Reports the desired release once as done.
    async fn report(&mut self) {
        let desired = self.fetch_release().await;
        let (applied, sync, removed) = match &desired.phase {
            DesiredPhase::Present { bundle, .. } => (Some(bundle.clone()), "Synced", false),
            DesiredPhase::Absent { .. } => (None, "Removed", true),
        };
        let stages = ["notified", "pulled", "preflight", "applied", "pruned", "imagesPulled", "operational"];
        let stages = stages.map(|name| json!({"name": name, "state": {"state": "done"}}));
        let report = json!({"release": desired.release, "generation": desired.generation, "applied": applied,
            "stages": stages, "sync": sync, "health": {"status": "Healthy"}, "resources": [], "removed": removed});
        let report: ReleaseReport = serde_json::from_value(report).unwrap();
        self.seq += 1;
        let (incarnation, seq) = (self.incarnation, self.seq);
        let batch = ReportBatch {
            incarnation,
            seq,
            facts: None,
            schema: None,
            leftovers: None,
            releases: vec![report],
        };
        loop {
            match self.client.send_reports(&batch).await {
                Ok(ack) => break assert!(ack.accepted),
                // Its rate is limited.
                Err(error) => {
                    let delay = error.retry_after.unwrap_or_else(|| panic!("{error}"));
                    tokio::time::sleep(delay).await;
                }
            }
        }
    }
}

/// A workload is published, deployed, edited, planned, deleted and removed.
async fn run_round(server: &ServerProcess, agent: &mut SoakAgent, round: u32) {
    let name = format!("web-{round}");
    let text = |value: u32| {
        format!("apiVersion: v1\nkind: ConfigMap\nmetadata: {{name: web}}\ndata: {{value: \"{value}\"}}\n")
    };
    let spec = workload_spec(text(round), &[&agent.cluster]);
    let new = NewWorkload { name: name.clone(), spec, ..NewWorkload::default() };
    server.client.create_workload(&new).await.unwrap();
    server.client.publish_workload(&name, &PublishRequest::default(), None).await.unwrap();
    agent.report().await;
    let put =
        WorkloadPut { spec: workload_spec(text(round + 1), &[&agent.cluster]), ..WorkloadPut::default() };
    let current = server.client.get_workload(&name).await.unwrap().workload.revision;
    server.client.put_workload(&name, &put, current).await.unwrap();
    server.client.plan_workload(&name, 0).await.unwrap();
    server.client.delete_workload(&name, &Default::default()).await.unwrap();
    agent.report().await;
    wait_until("the workload is deleted", async || {
        server.client.get_workload(&name).await.is_err_and(|error| error.is_not_found())
    })
    .await;
}

#[tokio::test]
async fn p30_memory_descriptors_and_rows_have_no_slope_over_hundreds_of_publishes_and_reports() {
    let server = ServerProcess::start(0).await;
    let mut agents = Vec::new();
    for number in 0..CLUSTERS {
        let cluster = format!("eu-{number}");
        let client = server.join_agent(&cluster).await;
        let incarnation = client.start_session(&SessionRequest::default()).await.unwrap().incarnation;
        agents.push(SoakAgent { cluster, client, incarnation, seq: 0, version: -1 });
    }
    // Readers of the database are opened when they are needed: all of them, before anything is measured.
    let query = Default::default();
    let reads = (0..64).map(|_| server.client.list_workloads(&query));
    futures::future::try_join_all(reads).await.unwrap();
    let mut quarters = Vec::new();
    for quarter in 0..4 {
        for round in 0..ROUNDS_PER_QUARTER {
            let agent = &mut agents[round as usize % CLUSTERS];
            run_round(&server, agent, quarter * ROUNDS_PER_QUARTER + round).await;
        }
        quarters.push(Usage::measure(&server).await);
    }
    let [_, second, _, last] = &quarters[..] else { panic!("{quarters:?}") };
    let growth = last.memory_kib.saturating_sub(second.memory_kib);
    assert!(growth < MAX_GROWTH_KIB, "memory grew by {growth} KiB: {quarters:?}");
    assert!(last.descriptors <= second.descriptors + MAX_MORE_DESCRIPTORS, "{quarters:?}");
    assert_eq!(last.rows, second.rows);
}
