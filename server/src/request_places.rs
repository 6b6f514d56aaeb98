//! How many requests of one user run at once. The others of the same user wait for their turn, before the database is asked, and those of
//! other users do not wait for them: a client with hundreds of connections would otherwise have every connection of the database.
//!
//! A request has its place until its response is there, and no thread works for it. Requests of the console, those of programs and those that
//! wait for something have places of their own, so that a user can look at what a program of theirs does.

use std::collections::HashMap;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering::Relaxed};
use std::time::Duration;

use axum::extract::{MatchedPath, Request, State};
use axum::http::{HeaderMap, Method, StatusCode};
use axum::middleware::Next;
use axum::response::Response;
use hub::Actor;
use parking_lot::Mutex;
use source::retained_memory::run_with_memory;
use tokio::sync::{OwnedSemaphorePermit, Semaphore};
use tokio::time::timeout;

use crate::access::{RouteKind, refuse_busy_request, route_kind};
use crate::custom_verb::to_public_path;
use crate::problem::ApiError;
use crate::request_deadline::preferred_wait;
use crate::site::Site;

/// How long a request waits for its turn: less than others wait for memory ([`source::memory_budget::RESERVE_WAIT`]), because it has that of
/// its body meanwhile.
const TURN_WAIT: Duration = Duration::from_secs(8);
/// Requests of one user that wait for places of one kind.
const MAX_WAITING: usize = 256;
/// `Retry-After` of a request that got no turn, in seconds.
const RETRY_AFTER_SECONDS: u64 = 5;
/// Users whose places exist although none is used.
const MAX_IDLE_USERS: usize = 100;
/// Operations that wait for the results of clusters, if the query requests it.
const PLAN_ROUTES: [&str; 4] = [
    "/api/v1/plans/{plan}",
    "/api/v1/projects/{project}/workloads/{workload}:plan",
    "/api/v1/projects/{project}/workloads/{workload}:publish",
    "/api/v1/projects/{project}/workloads/{workload}/overrides/{name}",
];
/// The read that waits by `Prefer: wait=…`. A workload may be called `status`, too.
const WORKLOAD_STATUS: &str = "/api/v1/projects/{project}/workloads/{workload}/status";
/// Operations whose changes wait for their outcome, unless `Prefer: wait=0` is sent.
const DEPLOYMENTS: &str = "/api/v1/orgs/{org}/clustergroups/{clustergroup}/deployments";

/// What a place is for.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
enum PlaceKind {
    /// A page or a call of the console.
    Console,
    /// An operation of the API.
    Api,
    /// An operation of the API that waits for clusters.
    Wait,
}

impl PlaceKind {
    /// How many places a user has.
    const fn count(self) -> usize {
        match self {
            Self::Console => 16,
            Self::Api => 32,
            Self::Wait => 64,
        }
    }
}

/// The places of all users.
#[derive(Debug, Default)]
pub struct RequestPlaces(Mutex<PlaceTable>);

#[derive(Debug, Default)]
struct PlaceTable {
    users: HashMap<(String, PlaceKind), Arc<UserPlaces>>,
    /// The number of entries at which those that nobody uses are removed.
    sweep_at: usize,
}

#[derive(Debug)]
struct UserPlaces {
    free: Arc<Semaphore>,
    waiting: AtomicUsize,
}

/// A request that waits, until it is dropped.
struct WaitingRequest<'a>(&'a UserPlaces);

impl Drop for WaitingRequest<'_> {
    fn drop(&mut self) {
        self.0.waiting.fetch_sub(1, Relaxed);
    }
}

/// Why a request does not run.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
struct NoTurn {
    /// How many requests of the user run.
    running: usize,
}

impl From<NoTurn> for ApiError {
    fn from(NoTurn { running }: NoTurn) -> Self {
        let detail = format!(
            "You have {running} requests that run already, which is the limit, and others that wait. Nothing was stored. Send fewer at once, or retry after the time in the Retry-After header."
        );
        Self::new(StatusCode::SERVICE_UNAVAILABLE, "ServerBusy", detail).with_retry_after(RETRY_AFTER_SECONDS)
    }
}

impl RequestPlaces {
    /// A place of this user, in the order of their requests.
    async fn acquire(&self, user: &str, kind: PlaceKind) -> Result<OwnedSemaphorePermit, NoTurn> {
        let of_user = self.find_user(user, kind);
        if let Ok(place) = of_user.free.clone().try_acquire_owned() {
            return Ok(place);
        }
        let no_turn = NoTurn { running: kind.count() };
        let before = of_user.waiting.fetch_add(1, Relaxed);
        let _waiting = WaitingRequest(&of_user);
        if before >= MAX_WAITING {
            return Err(no_turn);
        }
        match timeout(TURN_WAIT, of_user.free.clone().acquire_owned()).await {
            Ok(Ok(place)) => Ok(place),
            Ok(Err(_)) | Err(_) => Err(no_turn),
        }
    }

    fn find_user(&self, user: &str, kind: PlaceKind) -> Arc<UserPlaces> {
        let mut table = self.0.lock();
        if table.users.len() >= table.sweep_at {
            // What waits refers to its user, and what runs has a place.
            table.users.retain(|(_, kind), of_user| {
                Arc::strong_count(of_user) > 1 || of_user.free.available_permits() < kind.count()
            });
            table.sweep_at = MAX_IDLE_USERS.max(2 * table.users.len());
        }
        let create = || {
            Arc::new(UserPlaces {
                free: Arc::new(Semaphore::new(kind.count())),
                waiting: AtomicUsize::new(0),
            })
        };
        table.users.entry((user.to_owned(), kind)).or_insert_with(create).clone()
    }
}

/// Middleware: runs a request of a signed-in user or a program in its turn. Its body has arrived: it may arrive slowly, and would have a place.
pub async fn run_in_turn(State(site): State<Site>, request: Request, next: Next) -> Response {
    let user = request.extensions().get::<Actor>().map(|actor| actor.name.clone());
    let kind = find_kind(&request, route_kind(&site, request.uri().path()));
    let (Some(user), Some(kind)) = (user, kind) else { return next.run(request).await };
    match site.request_places().acquire(&user, kind).await {
        Ok(place) => run_with_memory(place, next.run(request)).await,
        Err(no_turn) => refuse_busy_request(&site, request.uri().path(), request.headers(), no_turn.into()),
    }
}

/// What kind of place a request needs; none for what anyone may request.
fn find_kind(request: &Request, kind: RouteKind) -> Option<PlaceKind> {
    match kind {
        RouteKind::Public | RouteKind::Signed => None,
        RouteKind::ServerFn | RouteKind::Page => Some(PlaceKind::Console),
        RouteKind::Api if waits_for_clusters(request) => Some(PlaceKind::Wait),
        RouteKind::Api => Some(PlaceKind::Api),
    }
}

/// Whether an operation of the API waits for clusters: for the results of a plan, for the status of a workload or for the outcome of a
/// deployment.
pub fn waits_for_clusters(request: &Request) -> bool {
    let route = request.extensions().get::<MatchedPath>().map(|route| to_public_path(route.as_str()));
    let (method, route) = (request.method(), route.unwrap_or_default());
    is_waiting_operation(method, &route, request.uri().query(), request.headers())
}

fn is_waiting_operation(method: &Method, route: &str, query: Option<&str>, headers: &HeaderMap) -> bool {
    if PLAN_ROUTES.contains(&route) {
        let mut pairs = query.unwrap_or_default().split('&');
        return pairs.any(|pair| match pair.split_once('=') {
            Some(("wait", seconds)) => seconds.parse().is_ok_and(|seconds: u64| seconds > 0),
            Some(("dryRun", value)) => value == "true",
            _ => false,
        });
    }
    let preferred = preferred_wait(headers);
    if method.is_safe() {
        return route == WORKLOAD_STATUS && preferred.is_some_and(|wait| !wait.is_zero());
    }
    let path = route.strip_prefix(DEPLOYMENTS);
    let is_deployment = path.is_some_and(|path| path.is_empty() || path.starts_with('/'));
    is_deployment && preferred.is_none_or(|wait| !wait.is_zero())
}

#[cfg(test)]
mod tests {
    use axum::body::Body;
    use axum::http::HeaderValue;
    use futures::poll;

    use super::*;
    use crate::test_router::{TestRouter, WORKLOADS};

    async fn take_all(places: &RequestPlaces, user: &str, kind: PlaceKind) -> Vec<OwnedSemaphorePermit> {
        let mut taken = Vec::new();
        for _ in 0..kind.count() {
            taken.push(places.acquire(user, kind).await.unwrap());
        }
        taken
    }

    #[tokio::test]
    async fn p20_requests_of_one_user_run_in_turns_and_those_of_others_do_not_wait_for_them() {
        let places = RequestPlaces::default();
        let mut running = take_all(&places, "eve", PlaceKind::Api).await;
        let mut first = Box::pin(places.acquire("eve", PlaceKind::Api));
        let mut second = Box::pin(places.acquire("eve", PlaceKind::Api));
        assert!(poll!(first.as_mut()).is_pending() && poll!(second.as_mut()).is_pending());
        for (user, kind) in [("bob", PlaceKind::Api), ("eve", PlaceKind::Console), ("eve", PlaceKind::Wait)] {
            drop(places.acquire(user, kind).await.unwrap());
        }
        drop(running.pop());
        assert!(poll!(second.as_mut()).is_pending(), "the first one is served first");
        let served = first.await.unwrap();
        drop(served);
        drop(second.await.unwrap());
    }

    #[tokio::test(start_paused = true)]
    async fn p20_what_waits_of_one_user_is_bounded_and_gets_a_turn_or_an_error_in_time() {
        let places = RequestPlaces::default();
        let _running = take_all(&places, "eve", PlaceKind::Console).await;
        let mut waiting = Vec::new();
        for _ in 0..MAX_WAITING {
            let mut request = Box::pin(places.acquire("eve", PlaceKind::Console));
            assert!(poll!(request.as_mut()).is_pending());
            waiting.push(request);
        }
        let refused = places.acquire("eve", PlaceKind::Console).await.unwrap_err();
        assert_eq!(refused, NoTurn { running: 16 });
        drop(waiting);
        assert!(places.acquire("eve", PlaceKind::Console).await.is_err(), "it has waited for its turn");
        assert_eq!(places.find_user("eve", PlaceKind::Console).waiting.load(Relaxed), 0);
    }

    #[tokio::test]
    async fn p20_places_of_users_that_request_nothing_are_removed_and_those_in_use_stay() {
        let places = RequestPlaces::default();
        let _running = take_all(&places, "eve", PlaceKind::Api).await;
        for number in 0..10 * MAX_IDLE_USERS {
            drop(places.acquire(&format!("user-{number}"), PlaceKind::Api).await.unwrap());
        }
        assert!(places.0.lock().users.len() <= MAX_IDLE_USERS);
        assert_eq!(places.find_user("eve", PlaceKind::Api).free.available_permits(), 0);
    }

    #[tokio::test]
    async fn p20_a_request_beyond_those_of_its_user_that_run_is_answered_in_its_turn() {
        let server = TestRouter::start("requester").await;
        let running = take_all(server.site.request_places(), "requester", PlaceKind::Api).await;
        let wait = || Box::pin(server.send(server.request(Method::GET, WORKLOADS), Body::empty()));
        let deployment = "/api/v1/orgs/default/clustergroups/none/deployments/web";
        let sync = format!("{deployment}/sync");
        let others = [
            (Method::GET, "/livez"),
            (Method::GET, "/api/v1/plans/1?wait=1"),
            (Method::DELETE, deployment),
            (Method::PUT, sync.as_str()),
        ];
        for (method, path) in others {
            let mut other = Box::pin(server.send(server.request(method, path), Body::empty()));
            let response = loop {
                tokio::select! {
                    // Its time is over, which it may be before the other one is answered; the next one waits.
                    waited = wait() => assert_eq!(waited.status(), StatusCode::SERVICE_UNAVAILABLE),
                    response = &mut other => break response,
                }
            };
            assert!(!response.status().is_server_error(), "{path}: {}", response.status());
        }
        let mut waiting = wait();
        assert!(poll!(waiting.as_mut()).is_pending());
        drop(running);
        assert_eq!(waiting.await.status(), StatusCode::OK);
    }

    /// Whether an operation waits for clusters with this query and this preference.
    fn waits(method: &Method, route: &str, query: &str, prefer: &'static str) -> bool {
        let mut headers = HeaderMap::new();
        headers.insert("prefer", HeaderValue::from_static(prefer));
        is_waiting_operation(method, route, Some(query), &headers)
    }

    #[test]
    fn p19_a_read_that_waits_is_recognized_and_no_other_one_evades_its_reservation() {
        let read = |route: &str, query: &str, prefer: &'static str| waits(&Method::GET, route, query, prefer);
        let plan = "/api/v1/plans/{plan}";
        assert!(read(plan, "wait=30", ""));
        assert!(read(WORKLOAD_STATUS, "", "wait=30"));
        assert!(waits(&Method::HEAD, WORKLOAD_STATUS, "", "wait=30"));
        assert!(!read(plan, "wait=0", "") && !read(plan, "wait=00", ""));
        assert!(!read(plan, "q=await=", ""));
        assert!(!read(WORKLOAD_STATUS, "", "wait=0"));
        assert!(!read("/api/v1/clusters", "wait=30", "wait=30"));
        let workload = "/api/v1/projects/{project}/workloads/{workload}";
        assert!(!read(workload, "", "wait=30"), "also that of the workload with the name status");
        assert!(!read(DEPLOYMENTS, "", "wait=30"), "a list of deployments does not wait");
    }

    #[test]
    fn p20_a_change_that_waits_for_clusters_has_no_place_of_other_changes() {
        let publish = "/api/v1/projects/{project}/workloads/{workload}:publish";
        assert!(waits(&Method::POST, publish, "dryRun=true", ""));
        assert!(!waits(&Method::POST, publish, "", "wait=30"));
        let deployment = format!("{DEPLOYMENTS}/{{releaseName}}");
        let sync = format!("{deployment}/sync");
        let changes = [
            (Method::POST, DEPLOYMENTS),
            (Method::PUT, deployment.as_str()),
            (Method::DELETE, deployment.as_str()),
            (Method::PUT, sync.as_str()),
        ];
        for (method, route) in changes {
            assert!(waits(&method, route, "", ""), "{method} {route} waits by default");
            assert!(waits(&method, route, "", "wait=60"), "{method} {route}");
            assert!(!waits(&method, route, "", "wait=0"), "{method} {route}");
        }
    }
}
