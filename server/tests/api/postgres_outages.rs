//! A real PostgreSQL that is not reachable, silent, read-only, locked or lost in the middle of a commit (P2, P21).

use std::time::Duration;

use axum::body::Body;
use axum::http::{Method, Request, StatusCode};
use serde_json::json;
use sqlx::Executor as _;
use tokio::time::Instant;

use crate::postgres::{ProxyFault, TestDatabase};
use crate::sessions::{cookie, sign_in};
use crate::test_server::{TestResponse, TestServer, WORKLOADS, new_workload};

/// No answer takes longer: the wait for a connection, and a margin for a busy machine.
const MAX_ANSWER: Duration = Duration::from_secs(40);

/// Ends all connections to the database but that of this statement.
const END_CONNECTIONS: &str = "SELECT COUNT(pg_terminate_backend(pid)) FROM pg_stat_activity \
     WHERE datname = current_database() AND pid <> pg_backend_pid();";

/// A server on PostgreSQL with a publishable workload.
async fn start(test: &str) -> Option<(TestDatabase, TestServer)> {
    let database = TestDatabase::create(test).await?;
    let server = TestServer::start_on(&database.url()).await;
    server.register_cluster("eu-1", &[("env", "prod")]).await;
    server.create_workload("web").await;
    Some((database, server))
}

async fn publish(server: &TestServer) -> TestResponse {
    let key = [("idempotency-key", "publish-1")];
    let path = format!("{WORKLOADS}/web:publish");
    server.send_json(Method::POST, &path, &key, &json!({ "message": "once" })).await
}

/// Publishes until the database answers, as a client does.
async fn publish_until_answered(server: &TestServer) -> TestResponse {
    let began = Instant::now();
    loop {
        let answer = publish(server).await;
        if answer.status != StatusCode::SERVICE_UNAVAILABLE {
            return answer;
        }
        assert!(began.elapsed() < MAX_ANSWER, "{}", answer.text);
    }
}

async fn assert_published_once(server: &TestServer, fault: &str) {
    let published = publish_until_answered(server).await;
    assert_eq!(
        (published.status, &published.json()["revision"]),
        (StatusCode::ACCEPTED, &json!(1)),
        "{fault}"
    );
    let revisions = server.get(&format!("{WORKLOADS}/web/revisions")).await.json();
    assert_eq!(revisions["total"], 1, "{fault}");
}

fn assert_unknown_outcome(answer: &TestResponse) {
    assert_eq!(answer.problem(), (503, "CommitOutcomeUnknown".to_owned()));
    assert!(!answer.header("retry-after").is_empty());
    let detail = answer.json()["detail"].as_str().unwrap().to_owned();
    assert!(detail.contains("not known whether") && detail.contains("same Idempotency-Key"), "{detail}");
}

#[tokio::test(flavor = "multi_thread")]
async fn p2_p21_a_commit_with_an_unknown_outcome_is_resolved_by_the_idempotency_key() {
    for (name, fault) in [
        ("lost", ProxyFault::LoseCommit { then_cut: true }),
        ("lost_once", ProxyFault::LoseCommit { then_cut: false }),
        ("answer_lost", ProxyFault::LoseCommitAnswer { then_cut: true }),
    ] {
        let Some((database, server)) = start(name).await else { return };
        database.set_fault(fault);
        assert_unknown_outcome(&publish(&server).await);
        database.set_fault(ProxyFault::None);
        assert_published_once(&server, name).await;
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn p2_p21_a_commit_whose_answer_is_lost_is_a_success_if_the_stored_response_can_be_read() {
    let Some((database, server)) = start("resolved").await else { return };
    database.set_fault(ProxyFault::LoseCommitAnswer { then_cut: false });
    let published = publish(&server).await;
    assert_eq!(published.status, StatusCode::ACCEPTED, "{}", published.text);
    assert_eq!(published.header("idempotency-replayed"), "true");
    assert_published_once(&server, "resolved").await;
}

#[tokio::test(flavor = "multi_thread")]
async fn p2_p21_a_connection_that_postgresql_ends_during_a_commit_publishes_once() {
    let Some((database, server)) = start("terminated").await else { return };
    // COMMIT waits in this trigger.
    database
        .execute(
            "CREATE FUNCTION wait_at_commit() RETURNS trigger LANGUAGE plpgsql AS \
             $$ BEGIN PERFORM pg_sleep(60); RETURN NULL; END $$; \
             CREATE CONSTRAINT TRIGGER wait_at_commit AFTER INSERT ON revision \
             DEFERRABLE INITIALLY DEFERRED FOR EACH ROW EXECUTE FUNCTION wait_at_commit();",
        )
        .await;
    let end_commit = async {
        let mut connection = database.connect().await;
        loop {
            let ended: i64 = sqlx::query_scalar(
                "SELECT COUNT(pg_terminate_backend(pid)) FROM pg_stat_activity \
                 WHERE datname = current_database() AND state = 'active' AND query = 'COMMIT'",
            )
            .fetch_one(&mut connection)
            .await
            .unwrap();
            if ended > 0 {
                break;
            }
            tokio::time::sleep(Duration::from_millis(20)).await;
        }
    };
    let (answer, ()) = tokio::join!(publish(&server), end_commit);
    assert_unknown_outcome(&answer);
    database.execute("DROP TRIGGER wait_at_commit ON revision;").await;
    assert_published_once(&server, "terminated").await;
}

/// One request of every class of routes.
struct RouteClasses<'a> {
    server: &'a TestServer,
    cookie: String,
}

impl RouteClasses<'_> {
    async fn send_all(&self) -> Vec<(&'static str, TestResponse)> {
        let page = Request::get("/workloads").header("cookie", &self.cookie).header("accept", "text/html");
        let call = Request::get("/api/fn/frame_read").header("cookie", &self.cookie);
        let call = call.header("accept", "application/json");
        let server = self.server;
        let (read, write, page, call, stream, sign_in) = tokio::join!(
            server.get(WORKLOADS),
            publish(server),
            server.send_raw(page.body(Body::empty()).unwrap()),
            server.send_raw(call.body(Body::empty()).unwrap()),
            server.get("/api/v1/watch"),
            sign_in(server),
        );
        vec![
            ("read", read),
            ("write", write),
            ("page", page),
            ("server function", call),
            ("stream", stream),
            ("sign-in", sign_in),
        ]
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn p21_without_a_connection_every_class_of_routes_answers_503_in_a_bounded_time() {
    let Some((database, server)) = start("unreachable").await else { return };
    let classes = RouteClasses { server: &server, cookie: cookie(&sign_in(&server).await) };
    for fault in [ProxyFault::Cut, ProxyFault::Silence] {
        database.set_fault(fault);
        let answers = tokio::time::timeout(MAX_ANSWER, classes.send_all()).await;
        for (class, answer) in answers.unwrap_or_else(|_| panic!("{fault:?}: no answer")) {
            assert_eq!(answer.status, StatusCode::SERVICE_UNAVAILABLE, "{fault:?}, {class}: {}", answer.text);
            assert!(!answer.header("retry-after").is_empty(), "{fault:?}, {class}");
        }
        let ready = tokio::time::timeout(MAX_ANSWER, server.get("/readyz")).await.unwrap();
        assert_eq!(ready.status, StatusCode::SERVICE_UNAVAILABLE);
        assert!(ready.text.contains("database"), "{}", ready.text);
        assert_eq!(server.get("/livez").await.status, StatusCode::OK);
        database.set_fault(ProxyFault::None);
        // Without a restart.
        assert_published_once(&server, "reachable again").await;
        assert_eq!(server.get("/readyz").await.status, StatusCode::OK);
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn p21_on_a_read_only_standby_reads_continue_and_writes_are_503() {
    let Some((database, server)) = start("standby").await else { return };
    let cookie = cookie(&sign_in(&server).await);
    let read_only = "ALTER DATABASE {database} SET default_transaction_read_only = ";
    database.execute(&format!("{read_only} on; {END_CONNECTIONS}")).await;
    let written = publish_until(&server, |answer| answer.text.contains("read-only")).await;
    assert_eq!(written.problem(), (503, "DatabaseUnavailable".to_owned()));
    assert_eq!(server.get(WORKLOADS).await.status, StatusCode::OK);
    assert_eq!(server.get("/readyz").await.status, StatusCode::OK);
    let page = Request::get("/workloads").header("cookie", &cookie).body(Body::empty()).unwrap();
    let page = server.send_raw(page).await;
    assert_eq!(page.status, StatusCode::OK, "{}", page.text);
    assert!(page.text.contains("The database is read-only: nothing can be saved"), "{}", page.text);
    database.execute(&format!("BEGIN READ WRITE; {read_only} off; COMMIT; {END_CONNECTIONS}")).await;
    assert_published_once(&server, "writable again").await;
}

/// Publishes until the answer is as expected: lost connections are first noticed when they are used.
async fn publish_until(server: &TestServer, is_expected: impl Fn(&TestResponse) -> bool) -> TestResponse {
    let began = Instant::now();
    loop {
        let answer = publish(server).await;
        if is_expected(&answer) {
            return answer;
        }
        assert!(began.elapsed() < MAX_ANSWER, "{}", answer.text);
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn p21_a_lock_that_is_held_for_long_is_a_503_and_nothing_is_stored() {
    let Some((database, server)) = start("locked").await else { return };
    let mut holder = database.connect().await;
    holder.execute("BEGIN; LOCK TABLE workload IN SHARE MODE;").await.unwrap();
    let refused =
        tokio::time::timeout(MAX_ANSWER, server.post(WORKLOADS, &new_workload("other"))).await.unwrap();
    assert_eq!(refused.problem(), (503, "DatabaseUnavailable".to_owned()));
    assert!(refused.text.contains("did not answer in time"), "{}", refused.text);
    holder.execute("ROLLBACK;").await.unwrap();
    assert_eq!(server.get(&format!("{WORKLOADS}/other")).await.status, StatusCode::NOT_FOUND);
    assert_eq!(server.post(WORKLOADS, &new_workload("other")).await.status, StatusCode::CREATED);
}
