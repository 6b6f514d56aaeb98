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
use axum::http::{Method, StatusCode};
use axum::middleware::Next;
use axum::response::Response;
use hub::Actor;
use parking_lot::Mutex;
use source::retained_memory::run_with_memory;
use tokio::sync::{OwnedSemaphorePermit, Semaphore};
use tokio::time::timeout;

use crate::access::{RouteKind, refuse_busy_request, route_kind};
use crate::custom_verb::to_public_path;
use crate::input::preferred_wait;
use crate::problem::ApiError;
use crate::response_memory::WORKLOAD_STATUS;
use crate::site::Site;

/// How long a request waits for its turn. What it then does has as long again before it has to be answered.
const TURN_WAIT: Duration = Duration::from_secs(30);
/// Requests of one user that wait for places of one kind.
const MAX_WAITING: usize = 256;
/// `Retry-After` of a request that got no turn, in seconds.
const RETRY_AFTER_SECONDS: u64 = 5;
/// Users whose places exist although none is used.
const MAX_IDLE_USERS: usize = 100;
/// Operations that wait for the results of clusters, if the query says so.
const PLAN_ROUTES: [&str; 4] = [
    "/api/v1/plans/{plan}",
    "/api/v1/projects/{project}/workloads/{workload}:plan",
    "/api/v1/projects/{project}/workloads/{workload}:publish",
    "/api/v1/projects/{project}/workloads/{workload}/overrides/{name}",
];

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
    let route = request.extensions().get::<MatchedPath>().map(|route| to_public_path(route.as_str()));
    match kind {
        RouteKind::Public | RouteKind::Signed => None,
        RouteKind::ServerFn | RouteKind::Page => Some(PlaceKind::Console),
        RouteKind::Api => {
            let prefers_wait =
                *request.method() == Method::GET && preferred_wait(request.headers()).is_some();
            let waits =
                waits_for_clusters(route.as_deref().unwrap_or_default(), request.uri().query(), prefers_wait);
            Some(if waits { PlaceKind::Wait } else { PlaceKind::Api })
        }
    }
}

fn waits_for_clusters(route: &str, query: Option<&str>, prefers_wait: bool) -> bool {
    let mut pairs = query.unwrap_or_default().split('&');
    let has_wait = pairs.any(|pair| match pair.split_once('=') {
        Some(("wait", seconds)) => seconds != "0",
        Some(("dryRun", value)) => value == "true",
        _ => false,
    });
    (PLAN_ROUTES.contains(&route) && has_wait) || (route == WORKLOAD_STATUS && prefers_wait)
}

#[cfg(test)]
mod tests {
    use axum::body::Body;
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
        let mut waiting = Box::pin(server.send(server.request(Method::GET, WORKLOADS), Body::empty()));
        for path in ["/livez", "/api/v1/plans/1?wait=1"] {
            tokio::select! {
                response = &mut waiting => panic!("it has no place: {}", response.status()),
                response = server.send(server.request(Method::GET, path), Body::empty()) => {
                    assert!(!response.status().is_server_error(), "{path}: {}", response.status());
                }
            }
        }
        drop(running);
        assert_eq!(waiting.await.status(), StatusCode::OK);
    }

    #[test]
    fn a_request_that_waits_for_clusters_is_recognized_by_its_route() {
        let publish = "/api/v1/projects/{project}/workloads/{workload}:publish";
        assert!(waits_for_clusters(publish, Some("dryRun=true"), false));
        assert!(!waits_for_clusters(publish, None, true));
        assert!(waits_for_clusters("/api/v1/plans/{plan}", Some("wait=30"), false));
        assert!(!waits_for_clusters("/api/v1/plans/{plan}", Some("wait=0"), false));
        assert!(waits_for_clusters(WORKLOAD_STATUS, None, true));
        assert!(!waits_for_clusters("/api/v1/clusters", Some("wait=30"), true));
    }
}
