//! Metrics in the OpenMetrics text format. Labels are few and fixed: names of workloads or clusters are never labels.

use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Instant;

use axum::extract::{MatchedPath, Request, State};
use axum::http::header::CONTENT_TYPE;
use axum::middleware::Next;
use axum::response::{IntoResponse, Response};
use domain::page::ListQuery;
use domain::report::ReportAck;
use hub::TableStatistics;
use prometheus_client::encoding::EncodeLabelSet;
use prometheus_client::encoding::text::encode;
use prometheus_client::metrics::counter::Counter;
use prometheus_client::metrics::family::Family;
use prometheus_client::metrics::gauge::Gauge;
use prometheus_client::metrics::histogram::{Histogram, exponential_buckets};
use prometheus_client::registry::Registry;

use crate::listener::ConnectionStatistics;
use crate::problem::{ApiError, ErrorLabel};
use crate::site::Site;

mod audit_file;
mod connections;
mod encryption;
mod renderers;

use audit_file::AuditFileMetrics;
use connections::ConnectionMetrics;
use encryption::EncryptionMetrics;
use renderers::RendererMetrics;

/// Labels of a request: route, method, status.
#[derive(Debug, Clone, PartialEq, Eq, Hash, EncodeLabelSet)]
struct RequestLabels {
    route: String,
    method: &'static str,
    status: u16,
}

#[derive(Debug, Clone, PartialEq, Eq, Hash, EncodeLabelSet)]
struct ErrorLabels {
    error: &'static str,
}

#[derive(Debug, Clone, PartialEq, Eq, Hash, EncodeLabelSet)]
struct ReportLabels {
    outcome: &'static str,
}

#[derive(Debug, Clone, PartialEq, Eq, Hash, EncodeLabelSet)]
struct TaskLabels {
    task: &'static str,
}

#[derive(Debug, Clone, PartialEq, Eq, Hash, EncodeLabelSet)]
struct OutageLabels {
    cause: &'static str,
}

#[derive(Debug, Clone, PartialEq, Eq, Hash, EncodeLabelSet)]
struct TableLabels {
    table: &'static str,
}

#[derive(Debug, Clone, PartialEq, Eq, Hash, EncodeLabelSet)]
struct StateLabels {
    state: &'static str,
}

#[derive(Debug, Clone, PartialEq, Eq, Hash, EncodeLabelSet)]
struct ModeLabels {
    mode: &'static str,
}

/// Counters by labels.
type CounterFamily<L> = Family<L, Counter<u64, AtomicU64>>;

/// A gauge that has no negative values.
type UnsignedGauge = Gauge<u64, AtomicU64>;

/// All metrics.
#[derive(Debug)]
pub struct Metrics {
    registry: Registry,
    requests: Family<RequestLabels, Counter>,
    seconds: Histogram,
    errors: Family<ErrorLabels, Counter>,
    reports: Family<ReportLabels, Counter>,
    releases: Family<StateLabels, Gauge>,
    clusters_offline: Gauge,
    table_rows: Family<TableLabels, Gauge>,
    deleted_rows: CounterFamily<TableLabels>,
    retention_failures: CounterFamily<TableLabels>,
    database_failures: CounterFamily<OutageLabels>,
    database_deadlocks: Counter<u64, AtomicU64>,
    streams: Gauge,
    task_restarts: CounterFamily<TaskLabels>,
    failed_passes: CounterFamily<TaskLabels>,
    tasks_stopped: Family<TaskLabels, Gauge>,
    scrapes: Counter<u64, AtomicU64>,
    connections: ConnectionMetrics,
    encryption: EncryptionMetrics,
    renderers: RendererMetrics,
    audit_file: AuditFileMetrics,
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
            clusters_offline: Gauge::default(),
            table_rows: Family::default(),
            deleted_rows: Family::default(),
            retention_failures: Family::default(),
            database_failures: Family::default(),
            database_deadlocks: Counter::default(),
            streams: Gauge::default(),
            task_restarts: Family::default(),
            failed_passes: Family::default(),
            tasks_stopped: Family::default(),
            scrapes: Counter::default(),
            connections: ConnectionMetrics::register(&mut registry),
            encryption: EncryptionMetrics::register(&mut registry),
            renderers: RendererMetrics::register(&mut registry),
            audit_file: AuditFileMetrics::register(&mut registry),
            registry: Registry::default(),
        };
        registry.register("http_requests", "HTTP requests", metrics.requests.clone());
        registry.register("http_request_seconds", "Time until the response began", metrics.seconds.clone());
        registry.register("hub_errors", "Errors by code", metrics.errors.clone());
        registry.register("agent_reports", "Report batches by outcome", metrics.reports.clone());
        registry.register("releases", "Releases by state", metrics.releases.clone());
        registry.register(
            "clusters_offline",
            "Clusters whose lease has expired",
            metrics.clusters_offline.clone(),
        );
        registry.register(
            "table_rows",
            "Rows of the tables that have a retention, after its last pass",
            metrics.table_rows.clone(),
        );
        registry.register(
            "retention_deleted_rows",
            "Rows deleted by retention since the start",
            metrics.deleted_rows.clone(),
        );
        registry.register(
            "retention_failures",
            "Passes of retention that failed since the start",
            metrics.retention_failures.clone(),
        );
        registry.register(
            "database_failures",
            "Statements and commits that failed because the database was not available, by cause",
            metrics.database_failures.clone(),
        );
        registry.register(
            "database_deadlocks",
            "Transactions that PostgreSQL cancelled because of a deadlock",
            metrics.database_deadlocks.clone(),
        );
        registry.register("sse_clients", "Open event streams", metrics.streams.clone());
        registry.register("task_restarts", "Restarts of background tasks", metrics.task_restarts.clone());
        registry.register(
            "task_failed_passes",
            "Passes of background loops that failed",
            metrics.failed_passes.clone(),
        );
        registry.register("tasks_stopped", "Background tasks that do not run", metrics.tasks_stopped.clone());
        registry.register("scrapes", "Scrapes of these metrics", metrics.scrapes.clone());
        Self { registry, ..metrics }
    }
}

impl Metrics {
    /// Counts a batch of reports. One that could not be recorded is sent again and counted then.
    pub fn count_report_batch(&self, recorded: &Result<ReportAck, hub::Error>) {
        let outcome = match recorded {
            Ok(ack) if ack.accepted => "accepted",
            Ok(_) | Err(hub::Error::SessionUnknown | hub::Error::Invalid(_)) => "rejected",
            Err(_) => return,
        };
        self.reports.get_or_create(&ReportLabels { outcome }).inc();
    }

    /// Counts an open stream until the guard is dropped.
    pub fn track_stream(&self) -> StreamGuard {
        self.streams.inc();
        StreamGuard(self.streams.clone())
    }

    /// Adds the connections of a listener.
    pub fn add_listener(&self, name: &'static str, statistics: Arc<ConnectionStatistics>) {
        self.connections.add_listener(name, statistics);
    }

    fn set_retention(&self, tables: &[TableStatistics]) {
        let to_gauge = |count: u64| i64::try_from(count).unwrap_or(i64::MAX);
        for of in tables {
            let labels = TableLabels { table: of.table };
            if let Some(rows) = of.rows {
                self.table_rows.get_or_create(&labels).set(to_gauge(rows));
            }
            set_counter(&self.deleted_rows, &labels, of.deleted);
            set_counter(&self.retention_failures, &labels, of.failures);
        }
    }

    fn count_response(&self, route: String, method: &'static str, response: &Response) {
        let status = response.status().as_u16();
        self.requests.get_or_create(&RequestLabels { route, method, status }).inc();
        if let Some(ErrorLabel(error)) = response.extensions().get() {
            self.errors.get_or_create(&ErrorLabels { error }).inc();
        }
    }
}

/// Sets a counter to what the hub has counted.
fn set_counter<L: Clone + std::hash::Hash + Eq>(counters: &CounterFamily<L>, labels: &L, count: u64) {
    counters.get_or_create(labels).inner().store(count, Ordering::Relaxed);
}

/// Guard of an open stream; decrements the gauge on drop.
#[derive(Debug)]
pub struct StreamGuard(Gauge);

impl Drop for StreamGuard {
    fn drop(&mut self) {
        self.0.dec();
    }
}

/// Middleware: counts and times every request.
pub async fn record_request(State(site): State<Site>, request: Request, next: Next) -> Response {
    let route = request.extensions().get::<MatchedPath>();
    let route =
        route.map_or_else(|| "none".to_owned(), |path| crate::custom_verb::to_public_path(path.as_str()));
    let method = method_label(request.method().as_str());
    let began = Instant::now();
    let response = next.run(request).await;
    site.metrics().seconds.observe(began.elapsed().as_secs_f64());
    site.metrics().count_response(route, method, &response);
    response
}

/// The method as a label: clients may send any text, so unknown methods become `other`.
fn method_label(method: &str) -> &'static str {
    const KNOWN: [&str; 7] = ["GET", "HEAD", "POST", "PUT", "PATCH", "DELETE", "OPTIONS"];
    KNOWN.into_iter().find(|known| *known == method).unwrap_or("other")
}

/// All metrics as text.
pub async fn render_metrics(State(site): State<Site>) -> Result<Response, ApiError> {
    let metrics = site.metrics();
    metrics.scrapes.inc();
    let fleet = site.hub().get_fleet_status(&ListQuery { limit: Some(1), ..ListQuery::default() }).await?;
    for &state in domain::release::ReleaseState::ALL {
        let gauge = metrics.releases.get_or_create(&StateLabels { state: state.as_str() });
        gauge.set(i64::from(fleet.counts.count(state)));
    }
    metrics.clusters_offline.set(i64::from(fleet.clusters_not_online));
    metrics.encryption.update(&site.hub().encryption_status().await?);
    if let Some(sandbox) = site.hub().renderer_sandbox() {
        metrics.renderers.update(&sandbox);
    }
    if let Some(status) = site.hub().audit_file() {
        metrics.audit_file.update(&status);
    }
    metrics.set_retention(&site.hub().retention_statistics());
    metrics.connections.update(site.hub().sign_in_statistics());
    for (task, status) in site.hub().task_statuses() {
        let labels = TaskLabels { task };
        set_counter(&metrics.task_restarts, &labels, status.restarts);
        set_counter(&metrics.failed_passes, &labels, status.failed_passes);
        let stopped = i64::from(status.expected) - i64::from(status.running);
        metrics.tasks_stopped.get_or_create(&labels).set(stopped);
    }
    for (cause, count) in site.hub().count_outage_failures() {
        set_counter(&metrics.database_failures, &OutageLabels { cause }, count);
    }
    metrics.database_deadlocks.inner().store(site.hub().store_statistics().deadlocks, Ordering::Relaxed);
    let mut text = String::new();
    encode(&mut text, &metrics.registry)
        .map_err(|error| ApiError::from(hub::Error::Internal(Box::new(error))))?;
    Ok(([(CONTENT_TYPE, "application/openmetrics-text; version=1.0.0; charset=utf-8")], text).into_response())
}
