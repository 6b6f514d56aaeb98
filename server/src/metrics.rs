//! What is counted, as OpenMetrics text. Labels are few and fixed: no name of a workload or cluster is ever one.

use std::sync::atomic::AtomicU64;
use std::time::Instant;

use axum::extract::{MatchedPath, Request, State};
use axum::http::header::CONTENT_TYPE;
use axum::middleware::Next;
use axum::response::{IntoResponse, Response};
use domain::page::ListQuery;
use prometheus_client::encoding::EncodeLabelSet;
use prometheus_client::encoding::text::encode;
use prometheus_client::metrics::counter::Counter;
use prometheus_client::metrics::family::Family;
use prometheus_client::metrics::gauge::Gauge;
use prometheus_client::metrics::histogram::{Histogram, exponential_buckets};
use prometheus_client::registry::Registry;

use crate::problem::{Label, Refusal};
use crate::site::Site;

/// One route with one method and one answer.
#[derive(Debug, Clone, PartialEq, Eq, Hash, EncodeLabelSet)]
struct Answered {
    route: String,
    method: &'static str,
    status: u16,
}

#[derive(Debug, Clone, PartialEq, Eq, Hash, EncodeLabelSet)]
struct Failed {
    error: &'static str,
}

#[derive(Debug, Clone, PartialEq, Eq, Hash, EncodeLabelSet)]
struct Batch {
    outcome: &'static str,
}

#[derive(Debug, Clone, PartialEq, Eq, Hash, EncodeLabelSet)]
struct InState {
    state: &'static str,
}

/// The counters.
#[derive(Debug)]
pub struct Metrics {
    registry: Registry,
    requests: Family<Answered, Counter>,
    seconds: Histogram,
    errors: Family<Failed, Counter>,
    reports: Family<Batch, Counter>,
    releases: Family<InState, Gauge>,
    clusters_silent: Gauge,
    streams: Gauge,
    scrapes: Counter<u64, AtomicU64>,
}

impl Default for Metrics {
    fn default() -> Self {
        let mut registry = Registry::with_prefix("flotilla");
        let metrics = Self {
            requests: Family::default(),
            // 1 ms to 16 s.
            seconds: Histogram::new(exponential_buckets(0.001, 2.0, 15)),
            errors: Family::default(),
            reports: Family::default(),
            releases: Family::default(),
            clusters_silent: Gauge::default(),
            streams: Gauge::default(),
            scrapes: Counter::default(),
            registry: Registry::default(),
        };
        registry.register("http_requests", "Requests answered", metrics.requests.clone());
        registry.register("http_request_seconds", "Time until the answer began", metrics.seconds.clone());
        registry.register("hub_errors", "Refusals and failures by kind", metrics.errors.clone());
        registry.register("agent_reports", "Batches of reports by outcome", metrics.reports.clone());
        registry.register("releases", "Releases by state", metrics.releases.clone());
        registry.register(
            "clusters_silent",
            "Clusters not heard from in time",
            metrics.clusters_silent.clone(),
        );
        registry.register("sse_clients", "Open event streams", metrics.streams.clone());
        registry.register("scrapes", "Times these numbers were read", metrics.scrapes.clone());
        Self { registry, ..metrics }
    }
}

impl Metrics {
    /// A batch of reports came in.
    pub fn reported(&self, taken: bool) {
        let outcome = if taken { "taken" } else { "dropped" };
        self.reports.get_or_create(&Batch { outcome }).inc();
    }

    /// A stream was opened; it counts until this is dropped.
    pub fn stream(&self) -> Streaming {
        self.streams.inc();
        Streaming(self.streams.clone())
    }

    fn answered(&self, route: String, method: &'static str, response: &Response) {
        let status = response.status().as_u16();
        self.requests.get_or_create(&Answered { route, method, status }).inc();
        if let Some(Label(error)) = response.extensions().get() {
            self.errors.get_or_create(&Failed { error }).inc();
        }
    }
}

/// An open stream.
#[derive(Debug)]
pub struct Streaming(Gauge);

impl Drop for Streaming {
    fn drop(&mut self) {
        self.0.dec();
    }
}

/// Counts and times every request.
pub async fn count(State(site): State<Site>, request: Request, next: Next) -> Response {
    let route = request.extensions().get::<MatchedPath>();
    let route = route.map_or_else(|| "none".to_owned(), |path| crate::colon::outside(path.as_str()));
    let method = method_word(request.method().as_str());
    let began = Instant::now();
    let response = next.run(request).await;
    site.metrics().seconds.observe(began.elapsed().as_secs_f64());
    site.metrics().answered(route, method, &response);
    response
}

/// Methods are whatever a client sends; as a label only the known ones.
fn method_word(method: &str) -> &'static str {
    const KNOWN: [&str; 7] = ["GET", "HEAD", "POST", "PUT", "PATCH", "DELETE", "OPTIONS"];
    KNOWN.into_iter().find(|known| *known == method).unwrap_or("other")
}

/// All numbers as text.
pub async fn text(State(site): State<Site>) -> Result<Response, Refusal> {
    let metrics = site.metrics();
    metrics.scrapes.inc();
    let fleet = site.hub().fleet(&ListQuery { limit: Some(1), ..ListQuery::default() }).await?;
    for state in domain::release::State::ALL {
        let gauge = metrics.releases.get_or_create(&InState { state: state.word() });
        gauge.set(i64::from(fleet.counts.of(state)));
    }
    metrics.clusters_silent.set(i64::from(fleet.clusters_silent));
    let mut text = String::new();
    encode(&mut text, &metrics.registry)
        .map_err(|error| Refusal::from(hub::Error::Internal(Box::new(error))))?;
    Ok(([(CONTENT_TYPE, "application/openmetrics-text; version=1.0.0; charset=utf-8")], text).into_response())
}
