//! Compression of responses, with a bound on the encoders that exist at the same time.
//!
//! An encoder has its tables and its window until the last byte of its response is sent, and clients that read slowly would retain many of
//! them. A response for which no encoder is free is sent as it is, and so is one whose client accepts no coding of the listener. Static
//! assets, which anyone can request, need none: their variants are made at the start ([`crate::assets`]).
//!
//! To compress a large response takes long. It is compressed in parts, after each of which other responses have their turn, and beside the
//! threads that serve all others.

use std::pin::Pin;
use std::sync::{Arc, LazyLock};
use std::task::{Context, Poll};

use axum::body::{Body, Bytes};
use axum::extract::Request;
use axum::http::header::{ACCEPT_ENCODING, CONTENT_ENCODING, VARY};
use axum::http::{Extensions, HeaderMap, HeaderValue, StatusCode, Version};
use axum::middleware::Next;
use axum::response::Response;
use hub::run_blocking_in_place;
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

/// A response of more bytes is compressed in parts of this size.
const PART_BYTES: usize = 64 << 10;

/// In the extensions of a response that is sent as it is: no encoder is free, the client accepts no coding, or the best variant was chosen
/// already.
#[derive(Debug, Clone, Copy)]
pub struct NoEncoder;

/// In the extensions of a large response that is compressed.
#[derive(Debug, Clone, Copy)]
struct LargeEncoding;

/// A body that an encoder reads in parts, and drops with itself.
struct EncodedBody {
    body: Body,
    /// What was read of it and is not yet encoded.
    rest: Bytes,
    /// Whether other tasks had their turn since the last part.
    has_yielded: bool,
    _encoder: OwnedSemaphorePermit,
}

/// A body that computes for long: other tasks of its thread are handed over to another one meanwhile.
struct ComputedBody(Body);

/// The layer, restricted to responses for which [`reserve_encoder`] has found an encoder.
pub fn restrict_compression(layer: CompressionLayer) -> CompressionLayer<impl Predicate> {
    layer.compress_when(DefaultPredicate::new().and(has_encoder))
}

fn has_encoder(_: StatusCode, _: Version, _: &HeaderMap, extensions: &Extensions) -> bool {
    extensions.get::<NoEncoder>().is_none()
}

/// Middleware directly inside the layer of the console: reserves an encoder for a response that would be compressed.
pub async fn reserve_encoder(request: Request, next: Next) -> Response {
    reserve(&ENCODERS, &["br", "gzip"], request, next).await
}

/// The same for the layer of the agents' listener, which compresses with Brotli only.
pub async fn reserve_agent_encoder(request: Request, next: Next) -> Response {
    reserve(&ENCODERS, &["br"], request, next).await
}

/// Whether a client accepts a coding, and does not prefer the response as it is.
pub fn accepts_coding(headers: &HeaderMap, coding: &str) -> bool {
    let weight = find_weight(headers, coding);
    weight > 0.0 && weight >= find_weight(headers, "identity")
}

/// The weight of a coding in the request, from 0 to 1; 0 if it is not listed.
fn find_weight(headers: &HeaderMap, coding: &str) -> f32 {
    let all = headers.get_all(ACCEPT_ENCODING).iter().filter_map(|value| value.to_str().ok());
    let weights = all.flat_map(|value| value.split(',')).filter_map(|accepted| {
        let (name, weight) = accepted.split_once(';').unwrap_or((accepted, "q=1"));
        let weight: f32 = weight.trim().strip_prefix("q=")?.parse().ok()?;
        (name.trim().eq_ignore_ascii_case(coding) && (0.0..=1.0).contains(&weight)).then_some(weight)
    });
    weights.fold(0.0, f32::max)
}

async fn reserve(encoders: &Arc<Semaphore>, codings: &[&str], request: Request, next: Next) -> Response {
    let is_accepted = codings.iter().any(|coding| accepts_coding(request.headers(), coding));
    let mut response = next.run(request).await;
    let is_compressible = !response.headers().contains_key(CONTENT_ENCODING)
        && response.extensions().get::<NoEncoder>().is_none()
        && DefaultPredicate::new().should_compress(&response);
    if !is_compressible {
        return response;
    }
    if !is_accepted {
        // Without an encoder it is not compressed, however the layer reads the header.
        return send_plain(response);
    }
    match encoders.clone().try_acquire_owned() {
        Ok(encoder) => {
            if response.body().size_hint().upper().is_none_or(|bytes| bytes > PART_BYTES as u64) {
                response.extensions_mut().insert(LargeEncoding);
            }
            response.map(|body| {
                Body::new(EncodedBody { body, rest: Bytes::new(), has_yielded: false, _encoder: encoder })
            })
        }
        Err(_) => send_plain(response),
    }
}

/// The response as it is; to a request that accepts other codings it may be compressed.
fn send_plain(mut response: Response) -> Response {
    response.extensions_mut().insert(NoEncoder);
    response.headers_mut().append(VARY, HeaderValue::from_static("accept-encoding"));
    response
}

/// Middleware directly outside of the layer: compresses a large response beside the threads that serve others.
pub async fn encode_beside_others(request: Request, next: Next) -> Response {
    let response = next.run(request).await;
    if response.extensions().get::<LargeEncoding>().is_none() {
        return response;
    }
    response.map(|body| Body::new(ComputedBody(body)))
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
        let this = &mut *self;
        if this.rest.is_empty() {
            match Pin::new(&mut this.body).poll_frame(cx) {
                Poll::Ready(Some(Ok(frame))) => match frame.into_data() {
                    Ok(bytes) => this.rest = bytes,
                    Err(frame) => return Poll::Ready(Some(Ok(frame))),
                },
                other => return other,
            }
        } else if !this.has_yielded {
            this.has_yielded = true;
            cx.waker().wake_by_ref();
            return Poll::Pending;
        }
        this.has_yielded = false;
        let part = this.rest.split_to(this.rest.len().min(PART_BYTES));
        Poll::Ready(Some(Ok(Frame::data(part))))
    }

    fn is_end_stream(&self) -> bool {
        self.rest.is_empty() && self.body.is_end_stream()
    }

    fn size_hint(&self) -> SizeHint {
        let (of_body, rest) = (self.body.size_hint(), self.rest.len() as u64);
        let mut hint = SizeHint::new();
        hint.set_lower(of_body.lower() + rest);
        if let Some(upper) = of_body.upper() {
            hint.set_upper(upper + rest);
        }
        hint
    }
}

impl HttpBody for ComputedBody {
    type Data = Bytes;
    type Error = axum::Error;

    fn poll_frame(
        mut self: Pin<&mut Self>,
        cx: &mut Context<'_>,
    ) -> Poll<Option<Result<Frame<Bytes>, axum::Error>>> {
        run_blocking_in_place(|| Pin::new(&mut self.0).poll_frame(cx))
    }

    fn is_end_stream(&self) -> bool {
        self.0.is_end_stream()
    }

    fn size_hint(&self) -> SizeHint {
        self.0.size_hint()
    }
}

#[cfg(test)]
mod tests {
    use std::sync::mpsc;
    use std::time::Duration;

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
            async move { reserve(&encoders, &["br", "gzip"], request, next).await }
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

    #[tokio::test]
    async fn p19_a_client_that_accepts_no_coding_takes_no_encoder() {
        let server = server();
        let mut unread = Vec::new();
        for accepted in
            ["identity", "zstd", "br;q=0", "gzip;q=0.000, br;q=0.0", "br;q=0.5, identity", "*;q=0"]
        {
            let plain = read(&server, Some(accepted)).await;
            assert_eq!(coding(&plain), "", "{accepted}");
            assert_eq!(plain.headers()[VARY], "accept-encoding", "{accepted}");
            unread.push(plain);
            let compressed = read(&server, Some("br")).await;
            assert_eq!(coding(&compressed), "br", "the encoder is free after {accepted}");
        }
        let weighted = read(&server, Some("identity;q=0.5, GZIP;q=0.8")).await;
        assert_eq!(coding(&weighted), "gzip");
    }

    #[tokio::test]
    async fn p19_what_the_layer_would_compress_without_an_encoder_is_sent_as_it_is() {
        let unknown = read(&server(), Some("x-gzip")).await;
        assert_eq!(coding(&unknown), "");
        assert_eq!(to_bytes(unknown.into_body(), usize::MAX).await.unwrap().len(), 50_000);
    }

    #[tokio::test]
    async fn p20_others_have_their_turn_after_each_part_of_a_large_response_that_is_compressed() {
        let encoder = Arc::new(Semaphore::new(1)).try_acquire_owned().unwrap();
        let (body, rest) = (Body::from(vec![b'a'; 10 * PART_BYTES + 1]), Bytes::new());
        let body = Body::new(EncodedBody { body, rest, has_yielded: false, _encoder: encoder });
        assert_eq!(body.size_hint().exact(), Some(10 * PART_BYTES as u64 + 1));
        let mut reading = Box::pin(to_bytes(body, usize::MAX));
        let mut turns = 0;
        let read = loop {
            match futures::poll!(reading.as_mut()) {
                Poll::Ready(read) => break read.unwrap(),
                Poll::Pending => turns += 1,
            }
        };
        assert_eq!((read.len(), turns), (10 * PART_BYTES + 1, 10));
    }

    #[tokio::test(flavor = "multi_thread", worker_threads = 1)]
    async fn p20_other_tasks_of_the_thread_run_while_a_large_response_is_compressed() {
        let large = || async {
            let (sender, receiver) = mpsc::channel();
            let text = futures::stream::once(async move {
                // The other task has the same thread.
                tokio::spawn(async move { sender.send(()) });
                let sent = receiver.recv_timeout(Duration::from_secs(60));
                sent.map(|()| Bytes::from("sent".repeat(1_000))).map_err(std::io::Error::other)
            });
            Body::from_stream(text)
        };
        let server = Router::new()
            .route("/", get(large))
            .layer(from_fn(reserve_encoder))
            .layer(restrict_compression(CompressionLayer::new()))
            .layer(from_fn(encode_beside_others));
        let reading = async move {
            let compressed = read(&server, Some("gzip")).await;
            assert_eq!(coding(&compressed), "gzip");
            to_bytes(compressed.into_body(), usize::MAX).await.unwrap().len()
        };
        let bytes = tokio::spawn(reading).await.unwrap();
        assert!((1..1_000).contains(&bytes), "{bytes}");
    }

    #[test]
    fn p19_encoders_have_a_small_part_of_the_memory_together() {
        assert_eq!(count_encoders(None), 256);
        assert_eq!(count_encoders(Some(1 << 30)), 8);
        assert_eq!(count_encoders(Some(64 << 20)), 4);
        assert_eq!(count_encoders(Some(1 << 40)), 256);
    }
}
