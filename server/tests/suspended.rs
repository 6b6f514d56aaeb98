//! A server that is suspended while it holds a claim, and continues after another server has taken the work over (P9).

use std::path::Path;
use std::time::Duration;

use domain::cluster::ClusterKind;
use domain::placement::{Placement, Predicate};
use domain::workload::{NewWorkload, Source, SourceFile, WorkloadSpec};
use hub::{Actor, Clock, Hub, HubConfig, KeySource, NewCluster, PublishOptions};
use sqlx::{AssertSqlSafe, ConnectOptions as _, Executor as _, PgConnection, Row as _};
use testkit::StartedServer;
use tokio::process::{Child, Command};

/// More clusters than the placer writes in one transaction.
const CLUSTERS: usize = 201;
const TIMEOUT: Duration = testkit::patience();

/// A database of its own, without the queries of the product.
struct TestDatabase {
    url: String,
    connection: tokio::sync::Mutex<PgConnection>,
}

impl TestDatabase {
    async fn create() -> Option<Self> {
        let server = match std::env::var("FLOTILLA_TEST_POSTGRES") {
            Ok(off) if off == "off" => {
                eprintln!("FLOTILLA_TEST_POSTGRES=off: this test did not run");
                return None;
            }
            Ok(server) => server,
            Err(_) => panic!("set FLOTILLA_TEST_POSTGRES to the address of a PostgreSQL server, or to `off`"),
        };
        let connect = async |url: &str| -> PgConnection {
            url.parse::<sqlx::postgres::PgConnectOptions>().unwrap().connect().await.unwrap()
        };
        let name = format!("flotilla_suspended_{}", std::process::id());
        let mut admin = connect(&server).await;
        for statement in [format!("DROP DATABASE IF EXISTS {name}"), format!("CREATE DATABASE {name}")] {
            admin.execute(sqlx::raw_sql(AssertSqlSafe(statement))).await.unwrap();
        }
        let url = format!("{}/{name}", server.rsplit_once('/').unwrap().0);
        let connection = tokio::sync::Mutex::new(connect(&url).await);
        Some(Self { url, connection })
    }

    async fn fetch_number(&self, statement: &'static str) -> i64 {
        let row = sqlx::query(statement).fetch_one(&mut *self.connection.lock().await).await.unwrap();
        row.get(0)
    }

    async fn execute(&self, statement: &'static str) {
        self.connection.lock().await.execute(statement).await.unwrap();
    }
}

async fn wait_until(what: &str, ok: impl AsyncFn() -> bool) {
    let started = tokio::time::Instant::now();
    while !ok().await {
        assert!(started.elapsed() < TIMEOUT, "timed out: {what}");
        tokio::time::sleep(Duration::from_millis(20)).await;
    }
}

/// The key of the encrypted columns.
const KEY: &str = "flotilla-key-1:AAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAA";

async fn open_hub(url: &str) -> Hub {
    let keys = Some(KeySource::Value(KEY.to_owned()));
    Hub::open(HubConfig { keys, ..HubConfig::new(url, Clock::system()) }).await.unwrap()
}

async fn start_server(url: &str, stop_file: &Path) -> Child {
    let mut server = Command::new(env!("CARGO_BIN_EXE_flotilla-server"));
    server.args(["--log", "error", "serve", "--listen", "127.0.0.1:0", "--database", url]);
    server.env("FLOTILLA_STOP_FILE", stop_file).env("FLOTILLA_KEY", KEY);
    StartedServer::spawn(&mut server).await.expect("the server starts").child
}

fn is_stopped(child: &Child) -> bool {
    let status = std::fs::read_to_string(format!("/proc/{}/stat", child.id().unwrap())).unwrap();
    status.rsplit(") ").next().unwrap().starts_with('T')
}

async fn publish(hub: &Hub, name: &str, value: &str) {
    let text = format!(
        "apiVersion: v1\nkind: ConfigMap\nmetadata: {{name: {name}}}\ndata: {{value: \"{value}\"}}\n"
    );
    let spec = WorkloadSpec {
        namespace: "default".to_owned(),
        source: Source::Yaml { files: vec![SourceFile { name: "app.yaml".to_owned(), text }] },
        placement: Placement { predicates: vec![Predicate::default()], ..Placement::default() },
        ..WorkloadSpec::default()
    };
    let actor = Actor::system();
    let new = NewWorkload { name: name.to_owned(), spec: spec.clone(), ..NewWorkload::default() };
    if hub.create_workload(&actor, new).await.is_err() {
        let edit = hub::WorkloadEdit { spec: Some(spec), ..hub::WorkloadEdit::default() };
        hub.edit_workload(&actor, name, edit, None).await.unwrap();
    }
    hub.publish_workload(&actor, name, "", PublishOptions::default()).await.unwrap();
}

#[tokio::test(flavor = "multi_thread")]
async fn i3_p9_a_server_that_was_suspended_beyond_its_claim_writes_nothing_of_it() {
    let Some(database) = TestDatabase::create().await else { return };
    let hub = open_hub(&database.url).await;
    for number in 0..CLUSTERS {
        let new = NewCluster::new(&format!("eu-{number}"), ClusterKind::Agent);
        hub.register_cluster(&Actor::system(), new).await.unwrap();
    }
    let folder = tempfile::tempdir().unwrap();
    let stop_file = folder.path().join("stop");
    let server = start_server(&database.url, &stop_file).await;
    let placed = async |count: i64, statement: &'static str| database.fetch_number(statement).await == count;
    let all = i64::try_from(CLUSTERS).unwrap();
    const OF_WEB: &str = "SELECT COUNT(*) FROM release WHERE workload_name = 'web'";
    const AT_3: &str = "SELECT COUNT(*) FROM release WHERE workload_name = 'web' AND revision = 3";
    const OF_OTHER: &str = "SELECT COUNT(*) FROM release WHERE workload_name = 'other'";
    const QUEUED: &str = "SELECT COUNT(*) FROM placer_queue WHERE due_at IS NOT NULL";

    publish(&hub, "web", "1").await;
    wait_until("revision 1 is placed", async || placed(all, OF_WEB).await && placed(0, QUEUED).await).await;
    // The server decides for revision 2 and is suspended before it writes that.
    std::fs::write(&stop_file, "placer.decided").unwrap();
    publish(&hub, "web", "2").await;
    wait_until("the server is suspended", async || is_stopped(&server)).await;
    // Its claim expires, and another server places revision 3.
    publish(&hub, "web", "3").await;
    database.execute("UPDATE placer_queue SET due_at = 0 WHERE claimed = 1").await;
    let loops = hub.spawn_loops();
    wait_until("revision 3 is placed", async || placed(all, AT_3).await && placed(0, QUEUED).await).await;
    loops.stop().await;
    // The server continues: first with what it had decided, then with another workload.
    let pid = server.id().unwrap().to_string();
    assert!(Command::new("kill").args(["-CONT", &pid]).status().await.unwrap().success());
    publish(&hub, "other", "1").await;
    wait_until("the server has placed the other workload", async || placed(all, OF_OTHER).await).await;
    assert_eq!(database.fetch_number(AT_3).await, all, "releases at the published revision");
}
