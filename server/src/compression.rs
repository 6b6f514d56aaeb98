//! Compression of responses, with a bound on the encoders that exist at the same time.
//!
//! An encoder has its tables and its window until the last byte of its response is sent. Clients that read slowly would retain many of them,
//! also of static assets, which anyone can request. A response for which no encoder is free is sent as it is.

use std::pin::Pin;
use std::sync::{Arc, LazyLock};
use std::task::{Context, Poll};

use axum::body::{Body, Bytes};
use axum::extract::Request;
use axum::http::header::{ACCEPT_ENCODING, CONTENT_ENCODING};
use axum::http::{Extensions, HeaderMap, StatusCode, Version};
use axum::middleware::Next;
use axum::response::Response;
use hyper::body::{Body as HttpBody, Frame, SizeHint};
use source::memory_limit::process_memory;
use tokio::sync::{OwnedSemaphorePermit, Semaphore};
use tower_http::compression::CompressionLayer;
use tower_http::compression::predicate::{DefaultPredicate, Predicate};

/// What an encoder of Brotli has in memory, with its window.
const ENCODER_BYTES: u64 = 2 << 20;
/// The part of the memory of the process that encoders have together, as a divisor.
const MEMORY_PARTS: u64 = 64;
/// The least and the most encoders at the same time.
const ENCODERS_RANGE: (u64, u64) = (4, 256);

/// The encoders of all listeners of the process.
static ENCODERS: LazyLock<Arc<Semaphore>> =
    LazyLock::new(|| Arc::new(Semaphore::new(count_encoders(process_memory()))));

/// In the extensions of a response for which no encoder is free.
#[derive(Debug, Clone, Copy)]
struct NoEncoder;

/// A body that an encoder reads, and drops with itself.
struct EncodedBody {
    body: Body,
    _encoder: OwnedSemaphorePermit,
}

/// The layer, restricted to responses for which [`reserve_encoder`] has found an encoder.
pub fn restrict_compression(layer: CompressionLayer) -> CompressionLayer<impl Predicate> {
    layer.compress_when(DefaultPredicate::new().and(has_encoder))
}

fn has_encoder(_: StatusCode, _: Version, _: &HeaderMap, extensions: &Extensions) -> bool {
    extensions.get::<NoEncoder>().is_none()
}

/// Middleware directly inside the layer: reserves an encoder for a response that would be compressed.
pub async fn reserve_encoder(request: Request, next: Next) -> Response {
    reserve(&ENCODERS, request, next).await
}

async fn reserve(encoders: &Arc<Semaphore>, request: Request, next: Next) -> Response {
    let is_accepted = request.headers().contains_key(ACCEPT_ENCODING);
    let mut response = next.run(request).await;
    let is_needed = is_accepted
        && !response.headers().contains_key(CONTENT_ENCODING)
        && DefaultPredicate::new().should_compress(&response);
    if !is_needed {
        return response;
    }
    match encoders.clone().try_acquire_owned() {
        Ok(encoder) => response.map(|body| Body::new(EncodedBody { body, _encoder: encoder })),
        Err(_) => {
            response.extensions_mut().insert(NoEncoder);
            response
        }
    }
}

/// How many encoders a process with this memory has at the same time.
fn count_encoders(memory: Option<u64>) -> usize {
    let (least, most) = ENCODERS_RANGE;
    let possible = memory.map_or(most, |memory| memory / MEMORY_PARTS / ENCODER_BYTES);
    usize::try_from(possible.clamp(least, most)).unwrap_or(1)
}

impl HttpBody for EncodedBody {
    type Data = Bytes;
    type Error = axum::Error;

    fn poll_frame(
        mut self: Pin<&mut Self>,
        cx: &mut Context<'_>,
    ) -> Poll<Option<Result<Frame<Bytes>, axum::Error>>> {
        Pin::new(&mut self.body).poll_frame(cx)
    }

    fn is_end_stream(&self) -> bool {
        self.body.is_end_stream()
    }

    fn size_hint(&self) -> SizeHint {
        self.body.size_hint()
    }
}

#[cfg(test)]
mod tests {
    use axum::Router;
    use axum::body::to_bytes;
    use axum::middleware::from_fn;
    use axum::routing::get;
    use tower::ServiceExt as _;

    use super::*;

    /// A server with one encoder.
    fn server() -> Router {
        let encoders = Arc::new(Semaphore::new(1));
        let reserve_one = move |request: Request, next: Next| {
            let encoders = encoders.clone();
            async move { reserve(&encoders, request, next).await }
        };
        Router::new()
            .route("/", get(async || "text ".repeat(10_000)))
            .layer(from_fn(reserve_one))
            .layer(restrict_compression(CompressionLayer::new()))
    }

    async fn read(server: &Router, accepted: Option<&'static str>) -> Response {
        let mut request = Request::builder().uri("/");
        if let Some(accepted) = accepted {
            request = request.header(ACCEPT_ENCODING, accepted);
        }
        server.clone().oneshot(request.body(Body::empty()).unwrap()).await.unwrap()
    }

    fn coding(response: &Response) -> &str {
        response.headers().get(CONTENT_ENCODING).map_or("", |value| value.to_str().unwrap())
    }

    #[tokio::test]
    async fn p19_a_response_that_nobody_reads_retains_its_encoder_and_others_are_sent_as_they_are() {
        let server = server();
        let unread = read(&server, Some("br")).await;
        assert_eq!(coding(&unread), "br");
        for accepted in ["br", "gzip, deflate"] {
            let plain = read(&server, Some(accepted)).await;
            assert_eq!(coding(&plain), "", "{accepted}");
            assert_eq!(to_bytes(plain.into_body(), usize::MAX).await.unwrap().len(), 50_000);
        }
        drop(unread);
        let compressed = read(&server, Some("gzip")).await;
        assert_eq!(coding(&compressed), "gzip");
        assert!(to_bytes(compressed.into_body(), usize::MAX).await.unwrap().len() < 5_000);
        let uncompressed = read(&server, None).await;
        let compressed = read(&server, Some("br")).await;
        assert_eq!((coding(&uncompressed), coding(&compressed)), ("", "br"), "one without needs none");
    }

    #[test]
    fn p19_encoders_have_a_small_part_of_the_memory_together() {
        assert_eq!(count_encoders(None), 256);
        assert_eq!(count_encoders(Some(1 << 30)), 8);
        assert_eq!(count_encoders(Some(64 << 20)), 4);
        assert_eq!(count_encoders(Some(1 << 40)), 256);
    }
}
