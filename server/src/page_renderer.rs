//! Renders pages of the console, each of them on one thread and to its end.
//!
//! The memos of a page are computed when they are first read, and its suspended parts are separate tasks. On two threads, one
//! of them can read a memo while the other computes it: it finds no value and ends in a panic, and the page is never
//! complete. The tasks of a page that is dropped half-way also find values that no longer exist. Neither happens here.
//!
//! Leptos spawns the queries of a page as tasks of their own. They have the turns and the shares of the user who requested the page;
//! otherwise the pages of all users would share those of work in the background.
//!
//! A page whose client is gone is not begun. If it has been begun it ends, within the memory that its request reserved, and its text is not
//! collected any more.

use std::sync::LazyLock;
use std::thread::available_parallelism;

use any_spawner::{CustomExecutor, Executor, PinnedFuture, PinnedLocalFuture};
use axum::body::{Body, Bytes};
use axum::http::StatusCode;
use axum::response::{IntoResponse, Response};
use futures::StreamExt as _;
use tokio::time::timeout;
use tokio_util::sync::CancellationToken;
use tokio_util::task::LocalPoolHandle;
use tracing::instrument::{Instrument, WithSubscriber};

use crate::problem::ApiError;
use crate::response_memory::ResponseMemory;
use crate::router::RESPONSE_TIMEOUT;
use source::request_context::RequestContext;
use source::retained_memory::RetainedMemory;

/// Threads per processor core: a page that computes for long delays fewer of the others.
const THREADS_PER_CORE: usize = 2;

/// The threads that render pages, shared by all servers of a process. What a page spawns runs on the thread of the page.
static THREADS: LazyLock<LocalPoolHandle> = LazyLock::new(|| {
    let cores = available_parallelism().map_or(1, usize::from);
    LocalPoolHandle::new(cores * THREADS_PER_CORE)
});

/// The executor of Leptos: what a task spawns has its user and its memory ([`source::request_context`]).
struct PageExecutor;

impl CustomExecutor for PageExecutor {
    fn spawn(&self, task: PinnedFuture<()>) {
        RequestContext::current().spawn(task);
    }

    fn spawn_local(&self, task: PinnedLocalFuture<()>) {
        tokio::task::spawn_local(RequestContext::current().run(task));
    }

    /// Tokio polls its tasks itself.
    fn poll_local(&self) {}
}

/// Sets the executor of Leptos. Leptos sets another one when it lists the pages, if there is none.
pub fn set_executor() {
    if Executor::init_custom_executor(PageExecutor).is_err() {
        tracing::warn!("another executor spawns the queries of pages: they have no turns of their users");
    }
}

/// Renders a page in the memory that its request reserved, completely also if its client no longer waits. A page that takes longer than a
/// response may, or that panics, becomes an error.
pub async fn render_page<F>(
    memory: Option<ResponseMemory>,
    render: impl FnOnce() -> F + Send + 'static,
) -> Response
where
    F: Future<Output = Response> + Send + 'static,
{
    let abandoned = CancellationToken::new();
    let _until_awaited = abandoned.clone().drop_guard();
    let (context, retained) = (RequestContext::current(), RetainedMemory::current());
    let complete = async move {
        let _memory = (memory, retained);
        if abandoned.is_cancelled() {
            return None;
        }
        let (parts, body) = render().await.into_parts();
        let bytes = collect(body, &abandoned).await?;
        Some(Response::from_parts(parts, Body::from(bytes)))
    };
    let complete = context.run(Box::pin(complete));
    let bounded = timeout(RESPONSE_TIMEOUT, complete).in_current_span().with_current_subscriber();
    match THREADS.spawn_pinned(move || bounded).await {
        Ok(Ok(Some(page))) => page,
        Ok(Err(_)) => ApiError::from_status(StatusCode::SERVICE_UNAVAILABLE).into_response(),
        Ok(Ok(None)) | Err(_) => ApiError::from_status(StatusCode::INTERNAL_SERVER_ERROR).into_response(),
    }
}

/// The text of a page; `None` if it can't be read. It is read to its end in any case, and not collected for a client that is gone.
async fn collect(body: Body, abandoned: &CancellationToken) -> Option<Bytes> {
    let mut parts = body.into_data_stream();
    let mut text: Vec<Bytes> = Vec::new();
    while let Some(part) = parts.next().await {
        let part = part.ok()?;
        if abandoned.is_cancelled() {
            text.clear();
        } else {
            text.push(part);
        }
    }
    Some(if text.len() == 1 { text.remove(0) } else { Bytes::from(text.concat()) })
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;
    use std::thread::{self, ThreadId};

    use axum::body::to_bytes;
    use futures::stream;
    use hub::run_for_requester;
    use source::requester::current_turn;
    use source::retained_memory::run_with_memory;
    use tokio::sync::oneshot;

    use super::*;
    use crate::console;

    #[tokio::test(flavor = "multi_thread", worker_threads = 2)]
    async fn a_page_and_everything_that_it_spawns_run_on_one_thread() {
        let page = render_page(None, || async {
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
    async fn p20_what_a_page_spawns_has_the_turns_and_the_memory_of_the_user_who_requested_it() {
        console::list_pages();
        let reserved = Arc::new(());
        let page = render_page(None, || async {
            let (local, of_local) = oneshot::channel();
            let (sent, of_sent) = oneshot::channel();
            let find = || format!("{} {}", current_turn(), RetainedMemory::current().is_some());
            Executor::spawn(async move { sent.send(find()).unwrap() });
            Executor::spawn_local(async move { local.send(find()).unwrap() });
            let found = [find(), of_sent.await.unwrap(), of_local.await.unwrap()];
            found.join(", ").into_response()
        });
        let request = run_with_memory(reserved.clone(), page);
        let page = run_for_requester("ada".to_owned(), request).await;
        let text = to_bytes(page.into_body(), 100).await.unwrap();
        assert_eq!(text, "user ada true, user ada true, user ada true");
        assert_eq!(Arc::strong_count(&reserved), 1);
    }

    #[tokio::test]
    async fn a_page_is_rendered_to_its_end_although_its_request_is_gone() {
        let (started, has_started) = oneshot::channel();
        let (proceed, may_proceed) = oneshot::channel::<()>();
        let (finished, has_finished) = oneshot::channel();
        let request = tokio::spawn(render_page(None, || async {
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
    async fn p19_a_page_is_read_to_its_end_and_not_collected_once_its_client_is_gone() {
        let abandoned = CancellationToken::new();
        let parts = |end: CancellationToken| {
            let parts = stream::iter(["begin", "middle", "end"]);
            Body::from_stream(parts.map(move |part| {
                if part == "middle" {
                    end.cancel();
                }
                Ok::<_, std::convert::Infallible>(part)
            }))
        };
        let whole = collect(parts(CancellationToken::new()), &abandoned).await.unwrap();
        assert_eq!(whole, "beginmiddleend");
        assert_eq!(collect(parts(abandoned.clone()), &abandoned).await.unwrap(), "");
    }

    #[tokio::test]
    async fn a_page_that_panics_becomes_an_error() {
        let page = render_page(None, || async { panic!("the page is wrong") }).await;
        assert_eq!(page.status(), StatusCode::INTERNAL_SERVER_ERROR);
    }
}
