//! Tests of the memory for responses.

use axum::Router;
use axum::middleware::from_fn;
use axum::routing::{MethodRouter, get, post, put};
use domain::ClusterId;
use source::client_shares::ClientShares;
use source::memory_budget::{AGENT_RESPONSES, MemoryBudget};
use source::retained_memory::RetainedMemory;
use tokio::time::{Instant, sleep};
use tower::ServiceExt as _;

use super::*;
use crate::router::RESPONSE_TIMEOUT;
use crate::test_router::{TestRouter, WORKLOADS};

/// The route of the sync of a deployment, which waits for its outcome, and a path of it.
const SYNC_ROUTE: &str = "/api/v1/orgs/{org}/clustergroups/{clustergroup}/deployments/{releaseName}/sync";
const SYNC_PATH: &str = "/api/v1/orgs/default/clustergroups/eu/deployments/web/sync";

fn response(bytes: usize) -> Response {
    Body::from(vec![b'a'; bytes]).into_response()
}

#[tokio::test]
async fn p19_a_large_response_retains_its_memory_until_its_last_byte_is_sent() {
    static BUDGET: LazyLock<MemoryBudget> = LazyLock::new(|| MemoryBudget::new("a test", 8 << 20));
    static SHARES: ClientShares = ClientShares::new(&BUDGET, "a test of one client");
    let memory = SHARES.reserve("ada".to_owned(), 3 << 20).await.unwrap();
    let sent = attach(memory, response(1 << 20), Duration::ZERO).await.unwrap();
    assert_eq!(BUDGET.free_bytes(), 7 << 20, "what was needed to build it is free again");
    assert_eq!(sent.body().size_hint().exact(), Some(1 << 20));
    let mut bytes = to_bytes(sent.into_body(), usize::MAX).await.unwrap();
    let end = bytes.split_off(bytes.len() - 1);
    drop(bytes);
    assert_eq!(BUDGET.free_bytes(), 7 << 20);
    drop(end);
    assert_eq!(BUDGET.free_bytes(), 8 << 20);
}

#[tokio::test]
async fn p19_a_response_of_unexpected_size_is_refused_if_its_memory_is_not_free_and_a_small_one_never() {
    static BUDGET: LazyLock<MemoryBudget> = LazyLock::new(|| MemoryBudget::new("a test", 4 << 20));
    static SHARES: ClientShares = ClientShares::new(&BUDGET, "a test of one client");
    let reserve = async |client: &str, bytes: u64| SHARES.reserve(client.to_owned(), bytes).await.unwrap();
    let others = (BUDGET.reserve(1 << 20).await.unwrap(), reserve("bob", 2 << 20).await);
    let refused = attach(reserve("ada", 0).await, response(2 << 20), Duration::ZERO).await.unwrap_err();
    assert!(refused.to_string().contains("a test (4 MiB)"), "{refused}");
    assert_eq!(BUDGET.free_bytes(), 1 << 20);
    let rest = BUDGET.reserve(1 << 20).await.unwrap();
    attach(reserve("ada", 0).await, response(64 << 10), Duration::ZERO).await.unwrap();
    drop((others, rest));
    attach(reserve("ada", 0).await, response(2 << 20), Duration::ZERO).await.unwrap();
}

#[tokio::test]
async fn p19_the_largest_response_to_one_client_leaves_half_of_the_memory_to_others() {
    static BUDGET: LazyLock<MemoryBudget> = LazyLock::new(|| MemoryBudget::new("a test", 4 << 20));
    static SHARES: ClientShares = ClientShares::new(&BUDGET, "a test of one client");
    let memory = SHARES.reserve("ada".to_owned(), BUILD_FACTOR * (3 << 20)).await.unwrap();
    assert_eq!(BUDGET.free_bytes(), 2 << 20, "while it is built");
    let sent = attach(memory, response(3 << 20), Duration::ZERO).await.unwrap();
    assert_eq!(BUDGET.free_bytes(), 2 << 20, "while it is sent");
    let memory = SHARES.reserve("bob".to_owned(), 0).await.unwrap();
    attach(memory, response(2 << 20), Duration::ZERO).await.unwrap();
    drop(sent);
}

#[tokio::test]
async fn p19_bundles_that_one_agent_does_not_read_leave_half_of_the_memory_to_others() {
    // Two of them are three quarters of the share of an agent.
    let bytes = usize::try_from(AGENT_RESPONSES.bytes() / 16 * 3).unwrap();
    let bundle = get(move || async move { vec![0_u8; bytes] });
    let router = Router::new().route("/agent/v1/releases/{release}/bundle/{digest}", bundle);
    let router = router.layer(from_fn(reserve_agent_response));
    let read = async |cluster: u64, digest: &str| {
        let agent = AuthenticatedAgent { cluster: ClusterId::from_parts(cluster, 1), serial: String::new() };
        let request = Request::get(format!("/agent/v1/releases/1/bundle/{digest}")).extension(agent);
        router.clone().oneshot(request.body(Body::empty()).unwrap()).await.unwrap()
    };
    let unread = (read(1, "a").await, read(1, "b").await);
    assert_eq!((unread.0.status(), unread.1.status()), (StatusCode::OK, StatusCode::OK));
    let refused = read(1, "c").await;
    assert_eq!(refused.status(), StatusCode::SERVICE_UNAVAILABLE);
    let text = to_bytes(refused.into_body(), usize::MAX).await.unwrap();
    assert!(String::from_utf8_lossy(&text).contains("responses to your cluster"), "{text:?}");
    let other = read(2, "a").await;
    assert_eq!(other.status(), StatusCode::OK);
    drop(unread);
    assert_eq!(read(1, "c").await.status(), StatusCode::OK);
}

#[tokio::test]
async fn p19_the_read_of_a_workload_with_the_name_status_waits_for_memory_whatever_it_prefers() {
    let server = TestRouter::start("reader-of-status").await;
    let user = "reader-of-status".to_owned();
    let in_use = UNKNOWN_RESPONSES_TO_USERS.reserve(user, u64::MAX).await.unwrap();
    let read = |workload: &str| {
        let request = server.request(Method::GET, &format!("{WORKLOADS}/{workload}"));
        server.send(request.header("prefer", "wait=1"), Body::empty())
    };
    assert_eq!(read("web/status").await.status(), StatusCode::NOT_FOUND, "it reserves nothing");
    assert!(!in_use.is_share_contended());
    let mut waiting = Box::pin(read("status"));
    while !in_use.is_share_contended() {
        tokio::select! {
            response = &mut waiting => panic!("it has reserved nothing: {}", response.status()),
            () = tokio::time::sleep(Duration::from_millis(1)) => {}
        }
    }
    drop(in_use);
    assert_eq!(waiting.await.status(), StatusCode::NOT_FOUND);
}

#[test]
fn p19_responses_to_signed_in_users_are_counted_and_public_ones_are_not() {
    for kind in [RouteKind::Api, RouteKind::ServerFn, RouteKind::Page] {
        assert!(is_counted(kind), "{kind:?}");
    }
    assert!(!is_counted(RouteKind::Public) && !is_counted(RouteKind::Signed));
    assert!(has_read_verb("/api/v1/projects/default/workloads/web/-/validate"));
    assert!(!has_read_verb("/api/v1/projects/default/workloads/web/-/publish"));
    assert!(!has_read_verb("/api/v1/projects/default/workloads/validate"));
}

#[tokio::test]
async fn p19_a_change_whose_response_gets_no_memory_is_answered_without_a_body_and_what_changed_nothing_is_refused()
 {
    static BUDGET: LazyLock<MemoryBudget> = LazyLock::new(|| MemoryBudget::new("a test", 4 << 20));
    static SHARES: ClientShares = ClientShares::new(&BUDGET, "a test of one client");
    let others = BUDGET.reserve(3 << 20).await.unwrap();
    let changed = || {
        let mut response = response(2 << 20);
        *response.status_mut() = StatusCode::CREATED;
        response.headers_mut().insert("etag", HeaderValue::from_static("\"7\""));
        response
    };
    let memory = SHARES.reserve("ada".to_owned(), 0).await.unwrap();
    let minimal = attach_to_change(memory, changed(), false, Duration::ZERO).await.unwrap();
    assert_eq!((minimal.status(), minimal.body().size_hint().exact()), (StatusCode::CREATED, Some(0)));
    assert_eq!(minimal.headers()["etag"], "\"7\"");
    assert_eq!(minimal.headers()["preference-applied"], "return=minimal");
    let memory = SHARES.reserve("ada".to_owned(), 0).await.unwrap();
    assert!(attach_to_change(memory, changed(), true, Duration::ZERO).await.is_err());
    let memory = SHARES.reserve("ada".to_owned(), 0).await.unwrap();
    let rejected = (StatusCode::UNPROCESSABLE_ENTITY, vec![b'a'; 2 << 20]).into_response();
    assert!(attach_to_change(memory, rejected, false, Duration::ZERO).await.is_err(), "nothing was changed");
    drop(others);
    let memory = SHARES.reserve("ada".to_owned(), 0).await.unwrap();
    let complete = attach_to_change(memory, changed(), false, Duration::ZERO).await.unwrap();
    assert_eq!(complete.body().size_hint().exact(), Some(2 << 20));
    assert_eq!(BUDGET.free_bytes(), 2 << 20);
}

#[tokio::test]
async fn p19_what_a_change_has_started_retains_its_memory_although_its_client_is_gone() {
    const USER: &str = "gone-after-a-change";
    let key = SizeKey::of_change(USER, &Method::POST, &"/workloads/gone".parse().unwrap());
    SIZES.record(&key, &response(1 << 20));
    let (started, mut has_started) = tokio::sync::mpsc::unbounded_channel();
    let (proceed, may_proceed) = std::sync::mpsc::channel::<()>();
    let may_proceed = Arc::new(Mutex::new(may_proceed));
    let handler = post(move || {
        let (started, may_proceed) = (started.clone(), may_proceed.clone());
        async move {
            let retained = RetainedMemory::current();
            let work = move || {
                started.send(()).unwrap();
                let _ = may_proceed.lock().recv_timeout(Duration::from_secs(60));
                drop(retained);
            };
            tokio::task::spawn_blocking(work).await.unwrap();
        }
    });
    let respond = |request: Request, next: Next| async move {
        respond_to_change(USER.to_owned(), RouteKind::Api, request, next).await.unwrap()
    };
    let router = Router::new().route("/workloads/gone", handler).layer(from_fn(respond));
    let share = RESPONSES_TO_USERS.reserve(USER.to_owned(), 0).await.unwrap();
    let free = share.free_bytes();
    let request = Request::post("/workloads/gone").body(Body::empty()).unwrap();
    let change = tokio::spawn(router.oneshot(request));
    has_started.recv().await.unwrap();
    change.abort();
    assert!(change.await.is_err_and(|error| error.is_cancelled()));
    assert_eq!(share.free_bytes(), free - (BUILD_FACTOR << 20).min(free));
    proceed.send(()).unwrap();
    while share.free_bytes() < free {
        tokio::time::sleep(Duration::from_millis(1)).await;
    }
}

/// A router with this sync of a deployment, for which this user has the memory for responses.
fn sync_router(user: &'static str, handler: MethodRouter) -> Router {
    let respond = move |request: Request, next: Next| async move {
        respond_to_change(user.to_owned(), RouteKind::Api, request, next).await.unwrap()
    };
    Router::new().route(SYNC_ROUTE, handler).layer(from_fn(respond))
}

/// What is free of the share of a user.
async fn free_bytes(user: &str) -> u64 {
    RESPONSES_TO_USERS.reserve(user.to_owned(), 0).await.unwrap().free_bytes()
}

#[tokio::test]
async fn p19_a_change_that_waits_for_clusters_reserves_nothing_for_its_response_while_it_waits() {
    const USER: &str = "waits-for-a-sync";
    let key = SizeKey::of_change(USER, &Method::PUT, &SYNC_PATH.parse().unwrap());
    let router = sync_router(USER, put(|| async { free_bytes(USER).await.to_string() }));
    let free = free_bytes(USER).await;
    for (prefer, in_use) in [("wait=60", 0), ("wait=0", BUILD_FACTOR << 20)] {
        SIZES.record(&key, &response(1 << 20));
        let request = Request::put(SYNC_PATH).header("prefer", prefer).body(Body::empty()).unwrap();
        let sent = router.clone().oneshot(request).await.unwrap();
        let free_meanwhile = to_bytes(sent.into_body(), 100).await.unwrap();
        assert_eq!(free_meanwhile, (free - in_use.min(free)).to_string(), "{prefer}");
    }
}

#[tokio::test(start_paused = true)]
async fn p19_a_change_that_has_waited_for_clusters_is_answered_in_time_although_its_response_gets_no_memory()
{
    const USER: &str = "syncs-without-memory";
    let _in_use = RESPONSES_TO_USERS.reserve(USER.to_owned(), u64::MAX).await.unwrap();
    let handler = put(|| async {
        sleep(Duration::from_secs(60)).await;
        response(1 << 20)
    });
    let request = Request::put(SYNC_PATH).header("prefer", "wait=60").body(Body::empty()).unwrap();
    let arrived = Instant::now();
    let minimal = sync_router(USER, handler).oneshot(request).await.unwrap();
    assert!(arrived.elapsed() < RESPONSE_TIMEOUT, "{:?}", arrived.elapsed());
    assert_eq!((minimal.status(), minimal.body().size_hint().exact()), (StatusCode::OK, Some(0)));
    assert_eq!(minimal.headers()["preference-applied"], "return=minimal");
}

#[tokio::test]
async fn p19_a_read_of_unknown_size_reserves_what_is_usual_and_of_a_known_one_what_it_needs() {
    let key = SizeKey::of_read("eve", &"/workloads/of-a-test".parse().unwrap());
    let share = UNKNOWN_RESPONSES_TO_USERS.reserve("eve".to_owned(), 0).await.unwrap();
    let free = share.free_bytes();
    let unknown = reserve_for_read("eve".to_owned(), RouteKind::Page, &key).await.unwrap();
    assert_eq!(share.free_bytes(), free - UNKNOWN_PAGE_BYTES.min(free));
    drop(unknown);
    SIZES.record(&key, &response(1 << 20));
    let known = reserve_for_read("eve".to_owned(), RouteKind::Page, &key).await.unwrap();
    assert_eq!(share.free_bytes(), free);
    drop(known);
    SIZES.record(&key, &response(1 << 10));
    let small = reserve_for_read("eve".to_owned(), RouteKind::Page, &key).await.unwrap();
    assert_eq!(share.free_bytes(), free - SMALL_PAGE_BYTES);
    drop(small);
}
