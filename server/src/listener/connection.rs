//! One connection: its handshake, then HTTP/1.1 with time limits.

use std::convert::Infallible;
use std::net::SocketAddr;
use std::pin::{Pin, pin};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering::Relaxed};
use std::task::{Context, Poll};

use axum::Router;
use axum::body::Body;
use axum::extract::ConnectInfo;
use axum::http::header::{CONNECTION, CONTENT_ENCODING};
use axum::http::{HeaderValue, Request, Response, StatusCode};
use axum::response::IntoResponse as _;
use bytes::Bytes;
use hyper::body::{Body as HttpBody, Frame, Incoming, SizeHint};
use hyper::server::conn::http1;
use hyper::service::service_fn;
use hyper_util::rt::{TokioIo, TokioTimer};
use tokio::net::TcpStream;
use tokio_util::sync::CancellationToken;
use tower::ServiceExt as _;

use super::minimum_rate::{MinimumRateStream, RetainedResponse, UnsentResponses};
use super::table::{ConnectionEntry, ConnectionRefusal};
use super::{AcceptedStream, Handshake, ListenerState, Peer};
use crate::problem::ApiError;

/// Paths that are served also on a connection beyond the limit: they need neither a user nor much work.
const HEALTH_PATHS: [&str; 4] = ["/livez", "/readyz", "/healthz", "/version"];
/// `Retry-After` of a refused connection, in seconds.
const RETRY_AFTER_SECONDS: u64 = 5;
/// A compressed response has about this part of the bytes that it retains.
const COMPRESSED_PARTS: u64 = 8;
/// Largest head of a request, in bytes: whoever connects can send one, and leave it unfinished. Proxies and browsers send far less, and a
/// query of the console or of the API has a few KiB.
const MAX_HEAD_BYTES: usize = 32 << 10;

/// An accepted connection.
pub struct Connection<H> {
    pub(super) shared: Arc<ListenerState<H>>,
    pub(super) entry: Arc<ConnectionEntry>,
    pub(super) stream: TcpStream,
    pub(super) address: SocketAddr,
}

impl<H: Handshake> Connection<H> {
    /// Serves it until it ends, or has to be closed for another.
    pub async fn run(self, router: Router, stop: CancellationToken) {
        let entry = self.entry.clone();
        tokio::select! {
            () = self.serve(router, stop) => {}
            () = entry.wait_until_closed() => {}
        }
    }

    async fn serve(self, router: Router, stop: CancellationToken) {
        let Self { shared, entry, stream, address } = self;
        let limits = &shared.limits;
        let handshake = tokio::time::timeout(limits.handshake_timeout, shared.handshake.accept(stream));
        let AcceptedStream { io, certificate, cluster } = match handshake.await {
            Ok(Ok(accepted)) => accepted,
            Ok(Err(error)) => return tracing::debug!(%address, %error, "a handshake failed"),
            Err(_) => return tracing::debug!(%address, "a handshake timed out"),
        };
        if let Some(cluster) = cluster {
            entry.set_cluster(cluster);
        }
        let unsent = UnsentResponses::default();
        let io = MinimumRateStream::new(io, limits.response_rate, unsent.clone());
        let has_request = Arc::new(AtomicBool::new(false));
        let requests = RequestHandler {
            router,
            peer: Peer { address, certificate },
            entry,
            unsent,
            has_request: has_request.clone(),
        };
        let service = service_fn(move |request| requests.clone().respond(request));
        let mut builder = http1::Builder::new();
        builder.timer(TokioTimer::new()).header_read_timeout(limits.idle_timeout);
        builder.max_buf_size(MAX_HEAD_BYTES);
        let mut connection = pin!(builder.serve_connection(TokioIo::new(io), service));
        let mut first_request = pin!(tokio::time::sleep(limits.header_timeout));
        let (mut is_first, mut is_stopping) = (true, false);
        loop {
            tokio::select! {
                ended = connection.as_mut() => {
                    if let Err(error) = ended {
                        tracing::debug!(%address, %error, "a connection failed");
                    }
                    return;
                }
                () = &mut first_request, if is_first => {
                    is_first = false;
                    if !has_request.load(Relaxed) {
                        return tracing::debug!(%address, "a connection sent no request in time");
                    }
                }
                () = stop.cancelled(), if !is_stopping => {
                    is_stopping = true;
                    connection.as_mut().graceful_shutdown();
                }
            }
        }
    }
}

/// Answers the requests of a connection.
#[derive(Clone)]
struct RequestHandler {
    router: Router,
    peer: Peer,
    entry: Arc<ConnectionEntry>,
    unsent: UnsentResponses,
    has_request: Arc<AtomicBool>,
}

impl RequestHandler {
    async fn respond(self, request: Request<Incoming>) -> Result<Response<GuardedBody>, Infallible> {
        self.has_request.store(true, Relaxed);
        // Anyone can send the head of a request and leave its body unfinished: until it is complete, the connection waits.
        let has_arrived = request.body().is_end_stream();
        let is_open = if has_arrived { self.entry.begin_request() } else { self.entry.receive_part() };
        if !is_open {
            // The connection is being closed for another one.
            return std::future::pending().await;
        }
        let guard = RequestGuard(self.entry.clone());
        let response = match self.entry.refusal() {
            Some(refusal) if !HEALTH_PATHS.contains(&request.uri().path()) => refuse(refusal),
            _ => {
                let mut request = request.map(|body| match has_arrived {
                    true => Body::new(body),
                    false => Body::new(CountedBody { body, entry: self.entry.clone() }),
                });
                request.extensions_mut().insert(ConnectInfo(self.peer));
                self.router.oneshot(request).await?
            }
        };
        self.entry.begin_request();
        if let Some(mut retained) = response.extensions().get::<RetainedResponse>().cloned() {
            if response.headers().contains_key(CONTENT_ENCODING) {
                retained.bytes /= COMPRESSED_PARTS;
            }
            self.unsent.add(retained);
        }
        Ok(response.map(|body| GuardedBody { body, _guard: guard }))
    }
}

fn refuse(refusal: ConnectionRefusal) -> Response<Body> {
    let (status, detail) = match refusal {
        ConnectionRefusal::Listener | ConnectionRefusal::WithoutCertificate => (
            StatusCode::SERVICE_UNAVAILABLE,
            "The server has as many open connections as it may have. Retry after the time in the Retry-After header.".to_owned(),
        ),
        ConnectionRefusal::Client { limit } => (
            StatusCode::TOO_MANY_REQUESTS,
            format!("This client has {limit} open connections already, which is the limit. Close some of them, then retry after the time in the Retry-After header."),
        ),
    };
    let error = ApiError::new(status, "TooManyConnections", detail).with_retry_after(RETRY_AFTER_SECONDS);
    let mut response = error.into_response();
    response.headers_mut().insert(CONNECTION, HeaderValue::from_static("close"));
    response
}

/// The body of a request. Its connection counts as one that waits until it is complete.
struct CountedBody {
    body: Incoming,
    entry: Arc<ConnectionEntry>,
}

impl HttpBody for CountedBody {
    type Data = Bytes;
    type Error = hyper::Error;

    fn poll_frame(
        mut self: Pin<&mut Self>,
        cx: &mut Context<'_>,
    ) -> Poll<Option<Result<Frame<Bytes>, hyper::Error>>> {
        let this = &mut *self;
        let polled = Pin::new(&mut this.body).poll_frame(cx);
        match &polled {
            Poll::Pending => {}
            Poll::Ready(Some(Ok(_))) if !this.body.is_end_stream() => {
                this.entry.receive_part();
            }
            Poll::Ready(_) => {
                this.entry.begin_request();
            }
        }
        polled
    }

    fn is_end_stream(&self) -> bool {
        self.body.is_end_stream()
    }

    fn size_hint(&self) -> SizeHint {
        self.body.size_hint()
    }
}

/// Marks the connection as waiting again when the response was sent.
struct RequestGuard(Arc<ConnectionEntry>);

impl Drop for RequestGuard {
    fn drop(&mut self) {
        self.0.end_request();
    }
}

/// The body of a response, with the guard of its request.
struct GuardedBody {
    body: Body,
    _guard: RequestGuard,
}

impl HttpBody for GuardedBody {
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
