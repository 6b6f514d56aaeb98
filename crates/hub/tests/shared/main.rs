//! Two servers on one PostgreSQL database, also with clocks two hours apart (P9, P10), and requests that come at once (P35).

use std::time::Duration;

use domain::cluster::{ClusterKind, Connectivity};
use domain::event::EventKind;
use domain::placement::{Placement, Predicate};
use domain::rollout::{RolloutStrategy, Wave};
use domain::workload::{NewWorkload, Source, SourceFile, WorkloadSpec};
use hub::{Actor, Clock, Error, Hub, HubConfig, KeySource, NewCluster, PublishOptions, RequestKey};
use sqlx::{AssertSqlSafe, ConnectOptions as _, Executor as _, PgConnection};

mod deadlocks;
mod deletions;
mod deployments;
mod helm_chart;
mod lock_order;
mod races;

/// Address of a PostgreSQL server whose user may create databases, or `off`.
const SERVER_VARIABLE: &str = "FLOTILLA_TEST_POSTGRES";
const HOUR: i64 = 3_600_000;
const TIMEOUT: Duration = testkit::patience();

/// Creates a new database for this test; it is deleted with the test server.
async fn create_database(test: &str) -> Option<String> {
    let server = match std::env::var(SERVER_VARIABLE) {
        Ok(off) if off == "off" => {
            eprintln!("{SERVER_VARIABLE}=off: this test did not run");
            return None;
        }
        Ok(server) => server,
        Err(_) => {
            panic!(
                "set {SERVER_VARIABLE} to the address of a PostgreSQL server, or to `off`; `cargo xtask test` does"
            )
        }
    };
    let options: sqlx::postgres::PgConnectOptions = server.parse().unwrap();
    let name = format!("flotilla_{test}_{}", std::process::id());
    let mut admin: PgConnection = options.connect().await.unwrap();
    for statement in [format!("DROP DATABASE IF EXISTS {name}"), format!("CREATE DATABASE {name}")] {
        admin.execute(sqlx::raw_sql(AssertSqlSafe(statement))).await.unwrap();
    }
    Some(format!("{}/{name}", server.rsplit_once('/').unwrap().0))
}

/// One server whose clock is off by this many milliseconds.
async fn open_server(database: &str, off: i64) -> Hub {
    let system = Clock::system();
    let clock = Clock::from_fn(move || system.now().plus_millis(off));
    let keys = Some(KeySource::Value(format!("flotilla-key-1:{}", "A".repeat(43))));
    Hub::open(HubConfig { keys, ..HubConfig::new(database, clock) }).await.unwrap()
}

async fn wait_until(what: &str, ok: impl AsyncFn() -> bool) {
    let started = tokio::time::Instant::now();
    while !ok().await {
        assert!(started.elapsed() < TIMEOUT, "timed out: {what}");
        tokio::time::sleep(Duration::from_millis(20)).await;
    }
}

fn all_clusters_wave() -> Wave {
    Wave { name: "all".to_owned(), ..Wave::default() }
}

fn new_workload(name: &str) -> NewWorkload {
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
            // So that the rollouts loop is also part of the test.
            rollout: RolloutStrategy { waves: vec![all_clusters_wave()], ..RolloutStrategy::default() },
            ..WorkloadSpec::default()
        },
        ..NewWorkload::default()
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn p9_p10_two_servers_with_clocks_two_hours_apart_share_work_and_agree_on_connectivity() {
    let Some(database) = create_database("two_servers").await else { return };
    let (ahead, behind) = (open_server(&database, HOUR).await, open_server(&database, -HOUR).await);
    let off = ahead.clock().now().millis() - behind.clock().now().millis();
    assert!(off.abs() < 60_000, "the clocks differ by {off} ms");
    // One serves requests, the other runs the loops.
    let loops = behind.spawn_loops();
    let actor = Actor::system();
    let register = async |name: &str, lease_seconds| {
        let new = NewCluster { lease_seconds, ..NewCluster::new(name, ClusterKind::Agent) };
        let id = ahead.register_cluster(&actor, new).await.unwrap().id;
        ahead.begin_agent_incarnation(id).await.unwrap();
        ahead.record_heartbeat(id).await.unwrap();
        id
    };
    // Longer than any stall of this test, shorter than the clocks are apart.
    let alive = register("alive", 600).await;
    let version = ahead.get_desired_state(alive, -1, Duration::ZERO).await.unwrap().version;
    ahead.create_workload(&actor, new_workload("web")).await.unwrap();
    ahead.publish_workload(&actor, "web", "", PublishOptions::default()).await.unwrap();
    wait_until("the other server has placed it", async || {
        ahead.record_heartbeat(alive).await.unwrap();
        let list = ahead.get_desired_state(alive, -1, Duration::ZERO).await.unwrap();
        list.version > version && list.releases.len() == 1
    })
    .await;

    // G303: a node port taken through one server is taken for the other.
    behind.create_workload(&actor, new_workload("api")).await.unwrap();
    match behind.publish_workload(&actor, "api", "", PublishOptions::default()).await {
        Err(Error::Invalid(findings)) => assert_eq!(findings[0].code, "G303", "{findings:#?}"),
        other => panic!("{other:?}"),
    }

    // The other server marks clusters without a heartbeat, and not those whose heartbeats this server receives.
    register("silent", 2).await;
    let reach = async |name: &str| behind.get_cluster(name).await.unwrap().cluster.connectivity;
    wait_until("the silent cluster is offline", async || {
        ahead.record_heartbeat(alive).await.unwrap();
        reach("silent").await == Connectivity::Offline
    })
    .await;
    assert_eq!(reach("alive").await, Connectivity::Online);
    let events = ahead.list_events_after(0, 500).await.unwrap();
    let reported = |name: &str| {
        let matches = |event: &&domain::event::Event| {
            event.kind == EventKind::ClusterConnectivity
                && event.cluster_name == name
                && event.message.contains("no heartbeat")
        };
        events.iter().filter(matches).count()
    };
    assert_eq!((reported("alive"), reported("silent")), (0, 2), "late, then offline");
    loops.stop().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn of_two_servers_with_the_set_up_token_one_creates_the_first_user() {
    let Some(database) = create_database("sign_up").await else { return };
    let (one, other) = (open_server(&database, 0).await, open_server(&database, 0).await);
    let token = one.create_setup_token().await.unwrap().unwrap();
    let client = hub::SignInClient { network: std::net::Ipv4Addr::LOCALHOST.into(), device: None };
    let (first, second) = tokio::join!(
        one.sign_up_first_user(&token, "ada", "correct horse battery", &client),
        other.sign_up_first_user(&token, "eve", "correct horse battery", &client),
    );
    let created = [&first, &second].into_iter().filter(|result| result.is_ok()).count();
    assert_eq!(created, 1, "{first:?} {second:?}");
    let rejected = if first.is_ok() { second } else { first };
    assert!(matches!(rejected, Err(Error::Unauthenticated(_))), "{rejected:?}");
}

/// Rounds of a race; each begins with both requests at once.
const RACE_ROUNDS: usize = 12;

#[tokio::test(flavor = "multi_thread")]
async fn p2_p9_two_servers_with_one_key_publish_one_revision() {
    let Some(database) = create_database("one_key").await else { return };
    let (one, other) = (open_server(&database, 0).await, open_server(&database, 0).await);
    let actor = Actor::system();
    one.register_cluster(&actor, NewCluster::new("alive", ClusterKind::Agent)).await.unwrap();
    one.create_workload(&actor, new_workload("web")).await.unwrap();
    for round in 1..=RACE_ROUNDS {
        let request = RequestKey { key: format!("key-{round}"), request_hash: "hash".to_owned() };
        let actor = actor.clone().with_request_key(request);
        let publish = async |hub: &Hub| {
            let _ = hub.publish_workload(&actor, "web", "", PublishOptions::default()).await;
        };
        tokio::join!(publish(&one), publish(&other));
        let stored = other.stored_response(&actor, &format!("key-{round}"), "hash").await.unwrap();
        assert_eq!(stored.map(|response| response.status), Some(202), "round {round}");
        let published = one.get_workload("web").await.unwrap().workload.published;
        assert_eq!(published, Some(u32::try_from(round).unwrap()));
    }
}
