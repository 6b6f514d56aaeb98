//! When an index is read, and which result is stored.

use std::sync::atomic::AtomicI64;
use std::sync::atomic::Ordering::SeqCst;

use domain::chart_repository::NewChartRepository;
use source::RemoteAccess;
use source::repository::RepositoryClient;
use source::requester::run_for_requester;
use testkit::{HttpResponse, HttpServer};

use super::*;
use crate::fetch_queues::{INDEXES, fetch_key};
use crate::{Clock, HubConfig};

fn failure() -> ReadFailure {
    ReadFailure { message: "The server is down.".into(), hint: String::new() }
}

#[test]
fn p19_a_refresh_that_ended_the_server_is_not_due_again_at_once() {
    let now = Timestamp::from_millis(1_000);
    assert!(is_due(&RepositoryStatus::default(), now));
    let good = unchanged_status(RepositoryStatus::default(), Timestamp::from_millis(-REFRESH_MILLIS));
    assert!(is_due(&good, now));
    for before in
        [RepositoryStatus::default(), good, failed_status(RepositoryStatus::default(), failure(), now)]
    {
        let attempted = attempted_status(before.clone(), now);
        assert!(!is_due(&attempted, now.plus_millis(REFRESH_MILLIS - 1)));
        assert!(is_due(&attempted, now.plus_millis(REFRESH_MILLIS)));
        assert_eq!((attempted.refreshed_at, attempted.failure), (before.refreshed_at, before.failure));
    }
}

#[test]
fn p19_the_pause_grows_with_each_refresh_during_which_the_server_ended_and_the_status_says_so() {
    let mut now = Timestamp::from_millis(1_000);
    let mut status = RepositoryStatus { chart_count: Some(3), ..RepositoryStatus::default() };
    let mut pauses = Vec::new();
    for attempts in 0..9 {
        status = attempted_status(status, now);
        assert_eq!(status.failure.as_ref().map_or(0, |failure| failure.attempts), attempts);
        // What a user requests before it is due changes nothing, because the last one may still run.
        assert_eq!(attempted_status(status.clone(), now), status);
        let due = status.next_refresh_at.unwrap();
        pauses.push(due.millis_since(now) / 60_000);
        now = due;
    }
    assert_eq!(pauses, [10, 20, 40, 80, 160, 320, 640, 1_280, 1_440]);
    let shown = status.failure.clone().unwrap();
    assert!(shown.message.contains("attempts in a row: 8"), "{shown:?}");
    assert!(shown.hint.contains("waits 1440 minutes"), "{shown:?}");
    assert_eq!(status.chart_count, Some(3), "the last index stays");
    for ended in [unchanged_status(status.clone(), now), failed_status(status, failure(), now)] {
        let next = attempted_status(ended.clone(), now);
        assert_eq!((ended.unfinished_refreshes, next.unfinished_refreshes), (0, 1));
    }
}

#[test]
fn a_failed_refresh_keeps_the_last_index_and_is_repeated_with_growing_pauses() {
    let now = Timestamp::from_millis(1_000);
    let good =
        RepositoryStatus { chart_count: Some(3), ..unchanged_status(RepositoryStatus::default(), now) };
    let mut status = good;
    let mut pauses = Vec::new();
    for _ in 0..9 {
        status = failed_status(status, failure(), now);
        pauses.push(status.next_refresh_at.unwrap().millis_since(now) / 60_000);
    }
    assert_eq!(pauses, [1, 2, 4, 8, 16, 32, 60, 60, 60]);
    assert_eq!((status.chart_count, status.refreshed_at), (Some(3), Some(now)));
    assert_eq!(unchanged_status(status, now).failure, None);
}

const INDEX: &str =
    "apiVersion: v1\nentries:\n  web:\n  - {name: web, version: 1.0.0, urls: [web-1.0.0.tgz]}\n";

/// A hub with the repository `acme`, whose index was read once.
struct TestRepository {
    hub: Hub,
    server: HttpServer,
    time: Arc<AtomicI64>,
    _folder: tempfile::TempDir,
}

impl TestRepository {
    async fn open() -> Self {
        let folder = tempfile::tempdir().unwrap();
        let database = format!("sqlite://{}", folder.path().join("flotilla.db").display());
        let time = Arc::new(AtomicI64::new(1_763_665_200_000));
        let source = time.clone();
        let clock = Clock::from_fn(move || Timestamp::from_millis(source.load(SeqCst)));
        let hub = Hub::open(HubConfig::new(database, clock.with_counted_leaps())).await.unwrap();
        hub.set_repository_client(RepositoryClient::new(RemoteAccess::PrivateHttp).unwrap());
        let server = HttpServer::start(|_, _| HttpResponse::ok(INDEX)).await;
        let new = NewChartRepository {
            name: "acme".to_owned(),
            url: server.url("/charts"),
            ..NewChartRepository::default()
        };
        let added = Box::pin(hub.create_chart_repository(&Actor::system(), new)).await.unwrap();
        assert_eq!((added.status.chart_count, added.status.failure), (Some(1), None));
        Self { hub, server, time, _folder: folder }
    }

    async fn row(&self) -> ChartRepositoryRow {
        self.hub.find_repository("acme").await.unwrap().unwrap()
    }
}

#[tokio::test]
async fn p20_an_index_that_several_users_request_at_once_is_read_by_one_of_them() {
    let test = TestRepository::open().await;
    let row = test.row().await;
    let before = test.server.requests().len();
    let running = test.hub.repository_reader().refresh_lock("acme").lock_owned().await;
    let requests = ["ada", "bob", "eve"]
        .map(|user| start_for_requester(user.to_owned(), || test.hub.start_refresh(&row)));
    test.time.fetch_add(1_000, SeqCst);
    drop(running);
    for request in requests {
        request.await.unwrap();
    }
    assert_eq!(test.server.requests().len(), before + 1);
    // What is requested after a read began is read again: its content may be newer.
    test.hub.start_refresh(&row).await.unwrap();
    assert_eq!(test.server.requests().len(), before + 2);
    assert_eq!(test.row().await.status.unfinished_refreshes, 0);
}

#[tokio::test]
async fn p20_a_refresh_that_has_no_turn_is_refused_and_leaves_the_status_for_all_others() {
    let test = TestRepository::open().await;
    let row = test.row().await;
    let positions = run_for_requester("eve".to_owned(), async {
        let key = fetch_key(&row.url);
        let count = INDEXES.running_of_key + INDEXES.waiting_of_key;
        (0..count).map(|_| test.hub.fetch_queues().indexes.enqueue(&key).unwrap()).collect::<Vec<_>>()
    })
    .await;
    let actor = Actor::system();
    let refresh = test.hub.refresh_chart_repository(&actor, "acme");
    let refused = run_for_requester("eve".to_owned(), Box::pin(refresh)).await.unwrap_err();
    assert!(matches!(refused, Error::ServerBusy { .. }), "{refused}");
    assert_eq!(test.row().await, row);

    drop(positions);
    test.time.fetch_add(1_000, SeqCst);
    let refresh = test.hub.refresh_chart_repository(&actor, "acme");
    let refreshed = run_for_requester("eve".to_owned(), Box::pin(refresh)).await.unwrap();
    assert_eq!(refreshed.status.refreshed_at, Some(test.hub.clock().now()));
}

#[tokio::test]
async fn a_result_is_not_stored_over_the_one_that_another_server_has_stored_during_the_read() {
    let test = TestRepository::open().await;
    let began_with = test.row().await;
    let other = ChartRepositoryRow { etag: Some("\"2\"".to_owned()), ..began_with.clone() };
    let mut tx = test.hub.write().await.unwrap();
    assert!(store::chart_repository::update(&mut tx, &other, other.revision).await.unwrap());
    tx.commit().await.unwrap();

    let is_stored = store_fetched(&test.hub, &began_with, Ok(FetchedIndex::Unchanged), false).await.unwrap();
    assert!(!is_stored, "it is read again");
    assert_eq!(test.row().await, other);
    let is_stored = store_fetched(&test.hub, &began_with, Err(failure()), true).await.unwrap();
    assert!(is_stored && test.row().await.status.failure.is_some(), "the last read");
}
