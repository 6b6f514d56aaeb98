//! Renders pages of the console, each of them on one thread and to its end.
//!
//! The memos of a page are computed when they are first read, and its suspended parts are separate tasks. On two threads, one
//! of them can read a memo while the other computes it: it finds no value and ends in a panic, and the page is never
//! complete. The tasks of a page that is dropped half-way also find values that no longer exist. Neither happens here.

use std::sync::LazyLock;
use std::thread::available_parallelism;

use axum::body::{Body, to_bytes};
use axum::http::StatusCode;
use axum::response::{IntoResponse, Response};
use tokio::time::timeout;
use tokio_util::task::LocalPoolHandle;
use tracing::instrument::{Instrument, WithSubscriber};

use crate::problem::ApiError;
use crate::router::RESPONSE_TIMEOUT;

/// Threads per processor core: a page that computes for long delays fewer of the others.
const THREADS_PER_CORE: usize = 2;

/// The threads that render pages, shared by all servers of a process. What a page spawns runs on the thread of the page.
static THREADS: LazyLock<LocalPoolHandle> = LazyLock::new(|| {
    let cores = available_parallelism().map_or(1, usize::from);
    LocalPoolHandle::new(cores * THREADS_PER_CORE)
});

/// Renders a page completely, also if its client no longer waits. A page that takes longer than a response may, or that
/// panics, becomes an error.
pub async fn render_page<F>(render: impl FnOnce() -> F + Send + 'static) -> Response
where
    F: Future<Output = Response> + Send + 'static,
{
    let complete = async move {
        let (parts, body) = render().await.into_parts();
        let bytes = to_bytes(body, usize::MAX).await.ok()?;
        Some(Response::from_parts(parts, Body::from(bytes)))
    };
    let bounded = timeout(RESPONSE_TIMEOUT, complete).in_current_span().with_current_subscriber();
    match THREADS.spawn_pinned(move || bounded).await {
        Ok(Ok(Some(page))) => page,
        Ok(Err(_)) => ApiError::from_status(StatusCode::SERVICE_UNAVAILABLE).into_response(),
        Ok(Ok(None)) | Err(_) => ApiError::from_status(StatusCode::INTERNAL_SERVER_ERROR).into_response(),
    }
}

#[cfg(test)]
mod tests {
    use std::thread::{self, ThreadId};

    use tokio::sync::oneshot;

    use super::*;

    #[tokio::test(flavor = "multi_thread", worker_threads = 2)]
    async fn a_page_and_everything_that_it_spawns_run_on_one_thread() {
        let page = render_page(|| async {
            let here = thread::current().id();
            let spawned = (0..64).map(|_| {
                tokio::spawn(async {
                    tokio::task::yield_now().await;
                    thread::current().id()
                })
            });
            let mut threads: Vec<ThreadId> = Vec::new();
            for task in spawned {
                threads.push(task.await.unwrap());
            }
            assert!(threads.iter().all(|thread| *thread == here));
            "rendered".into_response()
        });
        let page = page.await;
        assert_eq!(page.status(), StatusCode::OK);
        assert_eq!(to_bytes(page.into_body(), 100).await.unwrap(), "rendered");
    }

    #[tokio::test]
    async fn a_page_is_rendered_to_its_end_although_its_request_is_gone() {
        let (started, has_started) = oneshot::channel();
        let (proceed, may_proceed) = oneshot::channel::<()>();
        let (finished, has_finished) = oneshot::channel();
        let request = tokio::spawn(render_page(|| async {
            started.send(()).unwrap();
            may_proceed.await.unwrap();
            finished.send(()).unwrap();
            ().into_response()
        }));
        has_started.await.unwrap();
        request.abort();
        assert!(request.await.unwrap_err().is_cancelled());
        proceed.send(()).unwrap();
        has_finished.await.unwrap();
    }

    #[tokio::test]
    async fn a_page_that_panics_becomes_an_error() {
        let page = render_page(|| async { panic!("the page is wrong") }).await;
        assert_eq!(page.status(), StatusCode::INTERNAL_SERVER_ERROR);
    }
}
