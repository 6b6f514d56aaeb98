//! Two servers on one PostgreSQL database, with clocks two hours apart (P9, P10).

use std::time::Duration;

use domain::cluster::{ClusterKind, Reach};
use domain::event::EventKind;
use domain::placement::{Placement, Predicate};
use domain::rollout::{RolloutStrategy, Wave};
use domain::workload::{NewWorkload, Source, SourceFile, WorkloadSpec};
use hub::{Actor, Clock, Config, Error, Hub, NewCluster, Terms};
use sqlx::{AssertSqlSafe, ConnectOptions as _, Executor as _, PgConnection};

/// Address of a PostgreSQL server whose user may make databases, or `off`.
const SERVER: &str = "FLOTILLA_TEST_POSTGRES";
const HOUR: i64 = 3_600_000;
const PATIENCE: Duration = Duration::from_secs(60);

/// A database of its own; gone with the server of the tests.
async fn database() -> Option<String> {
    let server = match std::env::var(SERVER) {
        Ok(off) if off == "off" => {
            eprintln!("{SERVER}=off: this test did not run");
            return None;
        }
        Ok(server) => server,
        Err(_) => {
            panic!("set {SERVER} to the address of a PostgreSQL server, or to `off`; `cargo xtask test` does")
        }
    };
    let options: sqlx::postgres::PgConnectOptions = server.parse().unwrap();
    let name = format!("flotilla_shared_{}", std::process::id());
    let mut admin: PgConnection = options.connect().await.unwrap();
    for statement in [format!("DROP DATABASE IF EXISTS {name}"), format!("CREATE DATABASE {name}")] {
        admin.execute(sqlx::raw_sql(AssertSqlSafe(statement))).await.unwrap();
    }
    Some(format!("{}/{name}", server.rsplit_once('/').unwrap().0))
}

/// One server; its clock is wrong by so many milliseconds.
async fn server(database: &str, off: i64) -> Hub {
    let right = Clock::system();
    let clock = Clock::from_fn(move || right.now().plus_millis(off));
    Hub::open(Config { database: database.to_owned(), clock }).await.unwrap()
}

async fn until(what: &str, ok: impl AsyncFn() -> bool) {
    let begun = tokio::time::Instant::now();
    while !ok().await {
        assert!(begun.elapsed() < PATIENCE, "not: {what}");
        tokio::time::sleep(Duration::from_millis(20)).await;
    }
}

fn everything() -> Wave {
    Wave { name: "all".to_owned(), ..Wave::default() }
}

fn workload(name: &str) -> NewWorkload {
    let text = format!(
        "apiVersion: v1\nkind: Service\nmetadata:\n  name: {name}\nspec:\n  type: NodePort\n  \
         ports: [{{port: 80, nodePort: 31000}}]\n"
    );
    NewWorkload {
        name: name.to_owned(),
        spec: WorkloadSpec {
            namespace: "shop".to_owned(),
            source: Source::Yaml { files: vec![SourceFile { name: "app.yaml".to_owned(), text }] },
            placement: Placement { predicates: vec![Predicate::default()], ..Placement::default() },
            // The loop that lets clusters through shares the database too.
            rollout: RolloutStrategy { waves: vec![everything()], ..RolloutStrategy::default() },
            ..WorkloadSpec::default()
        },
        ..NewWorkload::default()
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn p9_p10_two_servers_with_clocks_two_hours_apart_share_work_and_agree_who_is_alive() {
    let Some(database) = database().await else { return };
    let (ahead, behind) = (server(&database, HOUR).await, server(&database, -HOUR).await);
    let off = ahead.clock().now().millis() - behind.clock().now().millis();
    assert!(off.abs() < 60_000, "they are {off} ms apart");
    // One serves people and agents, the other does the work.
    let loops = behind.spawn_loops();
    let actor = Actor::system();
    let register = async |name: &str| {
        let new = NewCluster { lease_seconds: 2, ..NewCluster::new(name, ClusterKind::Agent) };
        let id = ahead.cluster_register(&actor, new).await.unwrap().id;
        ahead.agent_begin(id).await.unwrap();
        ahead.cluster_heartbeat(id).await.unwrap();
        id
    };
    let alive = register("alive").await;
    let version = ahead.wants(alive, -1, Duration::ZERO).await.unwrap().version;
    ahead.workload_create(&actor, workload("web")).await.unwrap();
    ahead.workload_publish(&actor, "web", "", Terms::default()).await.unwrap();
    until("the other server has placed it", async || {
        ahead.cluster_heartbeat(alive).await.unwrap();
        let list = ahead.wants(alive, -1, Duration::ZERO).await.unwrap();
        list.version > version && list.releases.len() == 1
    })
    .await;

    // G303: what one server gave out, the other does not give again.
    behind.workload_create(&actor, workload("api")).await.unwrap();
    match behind.workload_publish(&actor, "api", "", Terms::default()).await {
        Err(Error::Invalid(findings)) => assert_eq!(findings[0].code, "G303", "{findings:#?}"),
        other => panic!("{other:?}"),
    }

    // Whoever falls silent is marked by the other server; whoever is heard from here is not.
    register("silent").await;
    let reach = async |name: &str| behind.cluster_view(name).await.unwrap().cluster.reach;
    until("the silent one is offline", async || {
        ahead.cluster_heartbeat(alive).await.unwrap();
        reach("silent").await == Reach::Offline
    })
    .await;
    assert_eq!(reach("alive").await, Reach::Online);
    let events = ahead.events_after(0, 500).await.unwrap();
    let gone = |name: &str| {
        let about = |event: &&domain::event::Event| {
            event.kind == EventKind::ClusterReach
                && event.cluster_name == name
                && event.message.contains("not heard")
        };
        events.iter().filter(about).count()
    };
    assert_eq!((gone("alive"), gone("silent")), (0, 2), "late, then offline");
    loops.stop().await;
}
