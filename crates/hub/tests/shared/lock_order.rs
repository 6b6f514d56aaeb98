//! A request waits for another transaction before it locks a row that the other one locks next (docs/consistency.md). The other
//! transaction is the test's own: it locks the rows of the verb that the request races with, in the order of that verb.

use std::net::Ipv4Addr;

use domain::cluster::ClusterKind;
use domain::placement::NewMembers;
use domain::request::ClusterPatch;
use domain::role::Role;
use domain::rollout::RolloutStrategy;
use domain::user::NewUser;
use hub::{Actor, Error, Hub, NewCluster, PublishOptions, SignInClient};
use sqlx::{ConnectOptions as _, Executor as _, PgConnection};

use crate::{TIMEOUT, create_database, new_workload, open_server, wait_until};

/// The requests that wait for a row of this database.
const WAITING: &str =
    "SELECT COUNT(*) FROM pg_stat_activity WHERE datname = current_database() AND wait_event_type = 'Lock'";

/// A transaction of the test.
struct OtherTransaction {
    connection: PgConnection,
    observer: PgConnection,
}

impl OtherTransaction {
    async fn begin(database: &str) -> Self {
        let options: sqlx::postgres::PgConnectOptions = database.parse().unwrap();
        let (connection, observer) = (options.connect().await.unwrap(), options.connect().await.unwrap());
        let mut transaction = Self { connection, observer };
        transaction.execute("BEGIN").await;
        transaction
    }

    async fn execute(&mut self, statement: &'static str) {
        self.connection.execute(sqlx::raw_sql(statement)).await.unwrap();
    }

    /// Waits until a request waits for this transaction.
    async fn wait_for_request(&mut self) {
        let started = tokio::time::Instant::now();
        while sqlx::query_scalar::<_, i64>(WAITING).fetch_one(&mut self.observer).await.unwrap() == 0 {
            assert!(started.elapsed() < TIMEOUT, "no request waits");
            tokio::time::sleep(std::time::Duration::from_millis(20)).await;
        }
    }

    async fn commit(mut self) {
        self.execute("COMMIT").await;
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn p35_a_password_is_set_while_the_link_of_its_user_is_replaced() {
    let Some(database) = create_database("password_links").await else { return };
    let hub = open_server(&database, 0).await;
    let new = NewUser { name: "bob".to_owned(), role: Role::Viewer };
    let link = hub.invite_user(&Actor::system(), new).await.unwrap().link.unwrap();
    let secret = link.split_once("token=").unwrap().1.to_owned();

    // As a reset of the password does.
    let mut reset = OtherTransaction::begin(&database).await;
    reset.execute("SELECT id FROM user_account WHERE name = 'bob' FOR NO KEY UPDATE").await;
    let server = hub.clone();
    let set = tokio::spawn(async move {
        let client = SignInClient { network: Ipv4Addr::LOCALHOST.into(), device: None };
        server.set_password_with_link(&secret, "correct horse battery", &client).await
    });
    reset.wait_for_request().await;
    reset.execute("UPDATE password_link SET secret_sha256 = 'another'").await;
    reset.commit().await;
    let refused = set.await.unwrap();
    assert!(matches!(refused, Err(Error::Unauthenticated(_))), "{refused:?}");
    assert_eq!(hub.store_statistics().deadlocks, 0);
    hub.close().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn p35_the_certificates_of_a_cluster_are_revoked_while_it_is_deleted() {
    let Some(database) = create_database("revocations").await else { return };
    let hub = open_server(&database, 0).await;
    hub.register_cluster(&Actor::system(), NewCluster::new("eu", ClusterKind::Agent)).await.unwrap();
    let mut joined = OtherTransaction::begin(&database).await;
    joined
        .execute(
            "INSERT INTO registration (fingerprint, token_id, name, state, csr, facts, labels, requested_at, cluster_id) \
             SELECT 'f', 't', 'eu', 'accepted', '', '{}', '{}', 0, id FROM cluster",
        )
        .await;
    joined
        .execute(
            "INSERT INTO agent_certificate (serial, cluster_id, fingerprint, certificate, created_at, not_after) \
             SELECT 's', id, 'f', '', 0, 0 FROM cluster",
        )
        .await;
    joined.commit().await;

    // As a deletion of the cluster does.
    let mut deletion = OtherTransaction::begin(&database).await;
    deletion.execute("SELECT fingerprint FROM registration FOR NO KEY UPDATE").await;
    deletion.execute("SELECT cluster_id FROM cluster_heartbeat FOR NO KEY UPDATE").await;
    let server = hub.clone();
    let revocation = tokio::spawn(async move { server.revoke_cluster(&Actor::system(), "eu").await });
    deletion.wait_for_request().await;
    deletion.execute("DELETE FROM cluster").await;
    deletion.commit().await;
    let refused = revocation.await.unwrap();
    assert!(matches!(refused, Err(Error::NotFound { .. })), "{refused:?}");
    assert_eq!(hub.store_statistics().deadlocks, 0);
    hub.close().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn p35_a_workload_is_published_while_a_cluster_that_retains_it_is_deleted() {
    let Some(database) = create_database("retained_clusters").await else { return };
    let hub = open_server(&database, 0).await;
    let actor = Actor::system();
    hub.register_cluster(&actor, NewCluster::new("eu", ClusterKind::Agent)).await.unwrap();
    hub.create_workload(&actor, new_workload("web")).await.unwrap();
    // It exposes a node port, so that its publish locks the cluster.
    Box::pin(hub.publish_workload(&actor, "web", "", PublishOptions::default())).await.unwrap();
    let mut retained = OtherTransaction::begin(&database).await;
    retained
        .execute(
            "INSERT INTO retained_cluster (workload_id, cluster_id, revision, retained_by, retained_at) \
             SELECT w.id, c.id, 1, 'ana', 0 FROM workload w, cluster c",
        )
        .await;
    retained.commit().await;

    // As a deletion of the cluster with force does.
    let mut deletion = OtherTransaction::begin(&database).await;
    deletion.execute("SELECT cluster_id FROM cluster_heartbeat FOR NO KEY UPDATE").await;
    let server = hub.clone();
    let publish = tokio::spawn(async move {
        Box::pin(server.publish_workload(&Actor::system(), "web", "", PublishOptions::default())).await
    });
    deletion.wait_for_request().await;
    deletion.execute("DELETE FROM cluster").await;
    deletion.commit().await;
    let published = publish.await.unwrap();
    assert!(published.is_ok(), "the cluster is selected no more: {published:?}");
    assert_eq!(hub.store_statistics().deadlocks, 0);
    hub.close().await;
}

async fn label_cluster(hub: &Hub, name: &str, env: &str) {
    let labels = [("env".to_owned(), Some(env.to_owned()))].into();
    let patch = ClusterPatch { labels, ..ClusterPatch::default() };
    hub.edit_cluster(&Actor::system(), name, patch, None).await.unwrap();
}

#[tokio::test(flavor = "multi_thread")]
async fn p35_a_workload_is_placed_while_a_cluster_that_it_is_about_to_leave_is_deleted() {
    let Some(database) = create_database("leaving_clusters").await else { return };
    let hub = open_server(&database, 0).await;
    let actor = Actor::system();
    for name in ["eu", "us", "ap"] {
        hub.register_cluster(&actor, NewCluster::new(name, ClusterKind::Agent)).await.unwrap();
        label_cluster(&hub, name, if name == "ap" { "dev" } else { "prod" }).await;
    }
    let mut new = new_workload("web");
    new.spec.placement.predicates[0].label_selector = "env=prod".parse().unwrap();
    new.spec.placement.new_members = NewMembers::Auto;
    new.spec.rollout = RolloutStrategy::default();
    hub.create_workload(&actor, new).await.unwrap();
    Box::pin(hub.publish_workload(&actor, "web", "", PublishOptions::default())).await.unwrap();
    let loops = hub.spawn_loops();
    let is_placed = async |cluster: &str| {
        hub.get_release("web", cluster).await.is_ok_and(|view| view.release.is_present())
    };
    wait_until("it is placed", async || is_placed("eu").await && is_placed("us").await).await;
    label_cluster(&hub, "eu", "dev").await;
    wait_until("its removal has a notice", async || {
        hub.get_placement_decision("web").await.unwrap().pending_removals.len() == 1
    })
    .await;

    // As a deletion of the cluster with force does.
    let mut deletion = OtherTransaction::begin(&database).await;
    deletion
        .execute("SELECT id FROM release WHERE cluster_id = (SELECT id FROM cluster WHERE name = 'eu') FOR NO KEY UPDATE")
        .await;
    // Another decision replaces the pending removals.
    label_cluster(&hub, "ap", "prod").await;
    deletion.wait_for_request().await;
    deletion
        .execute("DELETE FROM release WHERE cluster_id = (SELECT id FROM cluster WHERE name = 'eu')")
        .await;
    deletion.execute("DELETE FROM cluster WHERE name = 'eu'").await;
    deletion.commit().await;
    wait_until("it is placed on the other cluster", async || is_placed("ap").await).await;
    let pending = hub.get_placement_decision("web").await.unwrap().pending_removals;
    assert_eq!(pending, [], "the cluster is gone");
    loops.stop().await;
    assert_eq!(hub.store_statistics().deadlocks, 0);
    hub.close().await;
}
