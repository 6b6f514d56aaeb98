//! Responses in JSON with the content of a workload, which may have many MiB: to write them takes longer than other requests should wait.

use axum::Json;
use axum::response::{IntoResponse, Response};
use hub::run_blocking_in_place;
use serde::Serialize;

/// JSON that is written beside the threads that serve other requests, whatever the size of an earlier response was.
#[derive(Debug)]
pub struct ContentJson<T>(pub T);

impl<T: Serialize> IntoResponse for ContentJson<T> {
    fn into_response(self) -> Response {
        run_blocking_in_place(|| Json(self.0).into_response())
    }
}

#[cfg(test)]
mod tests {
    use std::sync::mpsc::{Receiver, channel};
    use std::time::Duration;

    use axum::http::StatusCode;
    use parking_lot::Mutex;
    use serde::ser::{Error as _, Serializer};

    use super::*;

    /// Content that is written as soon as another task has run.
    struct AwaitedContent(Mutex<Receiver<()>>);

    impl Serialize for AwaitedContent {
        fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
            self.0.lock().recv_timeout(Duration::from_secs(60)).map_err(S::Error::custom)?;
            serializer.serialize_str("written")
        }
    }

    #[tokio::test(flavor = "multi_thread", worker_threads = 1)]
    async fn p20_other_tasks_of_the_thread_run_while_the_content_of_a_response_is_written() {
        let writing = tokio::spawn(async {
            let (sender, receiver) = channel();
            tokio::spawn(async move { sender.send(()) });
            ContentJson(AwaitedContent(Mutex::new(receiver))).into_response().status()
        });
        assert_eq!(writing.await.unwrap(), StatusCode::OK);
    }
}
