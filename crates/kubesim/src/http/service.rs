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
use crate::cluster::Cluster;
use crate::faults::Fate;

/// Largest request body, as the real server's.
const MAX_BODY: usize = 3 * 1024 * 1024;

/// The cluster cannot be reached.
#[derive(Clone, Copy, Debug)]
pub struct Unreachable;

impl std::fmt::Display for Unreachable {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str("dial tcp: connect: connection refused")
    }
}

impl std::error::Error for Unreachable {}

/// Answers requests to the cluster's API; what a `kube::Client` takes in place of a connection.
#[derive(Clone, Debug)]
pub struct ApiService {
    pub(crate) cluster: Cluster,
    pub(crate) closing: Option<Receiver<bool>>,
}

type Answering = Pin<Box<dyn Future<Output = Result<Response<Body>, Unreachable>> + Send>>;

impl<B> Service<Request<B>> for ApiService
where
    B: HttpBody<Data = Bytes> + Send + 'static,
    B::Error: Into<Box<dyn std::error::Error + Send + Sync>>,
{
    type Response = Response<Body>;
    type Error = Unreachable;
    type Future = Answering;

    fn poll_ready(&mut self, _: &mut Context<'_>) -> Poll<Result<(), Unreachable>> {
        Poll::Ready(Ok(()))
    }

    fn call(&mut self, request: Request<B>) -> Answering {
        let service = self.clone();
        Box::pin(async move {
            match service.cluster.sim.faults.fate() {
                Fate::Pass(delay) if delay.is_zero() => {}
                Fate::Pass(delay) => {
                    tokio::time::sleep(delay).await;
                    if service.cluster.sim.faults.is_offline() {
                        return Err(Unreachable);
                    }
                }
                Fate::Offline => return Err(Unreachable),
                Fate::Hang => std::future::pending().await,
                Fate::Refuse(code) => return Ok(dispatch::fault(&service.cluster, code)),
            }
            let (head, body) = request.into_parts();
            let body = match Limited::new(body, MAX_BODY).collect().await {
                Ok(body) => body.to_bytes(),
                Err(_) => return Ok(too_large()),
            };
            Ok(dispatch::answer(&service.cluster, &head, &body, service.closing))
        })
    }
}

fn too_large() -> Response<Body> {
    let refusal = crate::status::Refusal::too_large();
    let mut response = Response::new(Body::from(refusal.body().to_string()));
    *response.status_mut() = StatusCode::PAYLOAD_TOO_LARGE;
    response
}

/// The same for a router, which has no way to drop a connection: an unreachable cluster answers 503 there.
#[derive(Clone, Debug)]
struct Answerer(ApiService);

impl Service<Request<Body>> for Answerer {
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

impl Cluster {
    /// The API as a service, for `kube::Client::new(cluster.service(), "default")`.
    pub fn service(&self) -> ApiService {
        ApiService { cluster: self.clone(), closing: None }
    }

    /// The API as a router, to be mounted somewhere.
    pub fn router(&self) -> axum::Router {
        axum::Router::new().fallback_service(Answerer(self.service()))
    }
}
