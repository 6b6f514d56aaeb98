//! The tower service.

use std::convert::Infallible;
use std::future::Future;
use std::pin::Pin;
use std::task::{Context, Poll};

use axum::body::{Body, HttpBody};
use axum::response::IntoResponse;
use bytes::Bytes;
use http::{Request, Response, StatusCode};
use http_body_util::{BodyExt, Limited};
use tokio::sync::watch::Receiver;
use tower::Service;

use super::dispatch;
use crate::cluster::SimCluster;
use crate::faults::FaultAction;

/// Maximum request body in bytes, as on the real server.
const MAX_BODY_BYTES: usize = 3 * 1024 * 1024;

/// The cluster cannot be reached.
#[derive(Clone, Copy, Debug)]
pub struct ConnectionRefused;

impl std::fmt::Display for ConnectionRefused {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str("dial tcp: connect: connection refused")
    }
}

impl std::error::Error for ConnectionRefused {}

/// The cluster's API as a tower service; a `kube::Client` accepts it in place of a connection.
#[derive(Clone, Debug)]
pub struct ApiService {
    pub(crate) cluster: SimCluster,
    pub(crate) closing: Option<Receiver<bool>>,
}

type ResponseFuture = Pin<Box<dyn Future<Output = Result<Response<Body>, ConnectionRefused>> + Send>>;

impl<B> Service<Request<B>> for ApiService
where
    B: HttpBody<Data = Bytes> + Send + 'static,
    B::Error: Into<Box<dyn std::error::Error + Send + Sync>>,
{
    type Response = Response<Body>;
    type Error = ConnectionRefused;
    type Future = ResponseFuture;

    fn poll_ready(&mut self, _: &mut Context<'_>) -> Poll<Result<(), ConnectionRefused>> {
        Poll::Ready(Ok(()))
    }

    fn call(&mut self, request: Request<B>) -> ResponseFuture {
        let service = self.clone();
        Box::pin(async move {
            match service.cluster.sim.faults.next_fault_action(request.uri().path()) {
                FaultAction::Pass(delay) if delay.is_zero() => {}
                FaultAction::Pass(delay) => {
                    tokio::time::sleep(delay).await;
                    if service.cluster.sim.faults.is_offline() {
                        return Err(ConnectionRefused);
                    }
                }
                FaultAction::Offline => return Err(ConnectionRefused),
                FaultAction::Hang => std::future::pending().await,
                FaultAction::Fail(code) => return Ok(dispatch::fault_response(&service.cluster, code)),
            }
            let (head, body) = request.into_parts();
            let body = match Limited::new(body, MAX_BODY_BYTES).collect().await {
                Ok(body) => body.to_bytes(),
                Err(_) => return Ok(too_large_response()),
            };
            Ok(dispatch::handle_request(&service.cluster, &head, &body, service.closing))
        })
    }
}

fn too_large_response() -> Response<Body> {
    let refusal = crate::status::StatusError::too_large();
    let mut response = Response::new(Body::from(refusal.body().to_string()));
    *response.status_mut() = StatusCode::PAYLOAD_TOO_LARGE;
    response
}

/// The same for a router, which cannot drop a connection: an unreachable cluster returns 503.
#[derive(Clone, Debug)]
struct RouterService(ApiService);

impl Service<Request<Body>> for RouterService {
    type Response = Response<Body>;
    type Error = Infallible;
    type Future = Pin<Box<dyn Future<Output = Result<Response<Body>, Infallible>> + Send>>;

    fn poll_ready(&mut self, _: &mut Context<'_>) -> Poll<Result<(), Infallible>> {
        Poll::Ready(Ok(()))
    }

    fn call(&mut self, request: Request<Body>) -> Self::Future {
        let answer = self.0.call(request);
        Box::pin(async move {
            Ok(answer
                .await
                .unwrap_or_else(|e| (StatusCode::SERVICE_UNAVAILABLE, e.to_string()).into_response()))
        })
    }
}

impl SimCluster {
    /// The API as a service, for `kube::Client::new(cluster.service(), "default")`.
    pub fn service(&self) -> ApiService {
        ApiService { cluster: self.clone(), closing: None }
    }

    /// The API as an axum router.
    pub fn router(&self) -> axum::Router {
        axum::Router::new().fallback_service(RouterService(self.service()))
    }
}
