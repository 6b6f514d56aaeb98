//! REST operation: get workload status.

use std::time::Duration;

use axum::Json;
use axum::extract::State;
use axum::http::HeaderMap;
use domain::page::{ListQuery, MAX_LIMIT};
use hub::Hub;
use tokio::time::Instant;
use wire::WorkloadStatus;

use crate::input::{Path, WorkloadPath};
use crate::problem::ApiError;
use crate::request_deadline::ArrivalTime;

/// The shortest time between two database queries while waiting.
const MIN_POLL_INTERVAL: Duration = Duration::from_millis(250);

/// The workload's status on all its clusters: counts, and one entry per cluster, worst first.
///
/// With `Prefer: wait=30` the response follows once no release is in progress, or after that many seconds.
#[utoipa::path(
    get,
    path = "/api/v1/projects/{project}/workloads/{workload}/status",
    tag = "workloads",
    params(("Prefer" = Option<String>, Header, description = "`wait=30`, at most 60 seconds")),
    responses((status = 200, body = WorkloadStatus))
)]
pub async fn get_workload_status(
    State(hub): State<Hub>,
    Path(path): Path<WorkloadPath>,
    arrival: ArrivalTime,
    headers: HeaderMap,
) -> Result<Json<WorkloadStatus>, ApiError> {
    let until = arrival.deadline(&headers, Duration::ZERO);
    let mut notices = hub.subscribe_events();
    loop {
        notices.mark_unchanged();
        let status = load_status(&hub, &path.workload).await?;
        if status.is_settled() || Instant::now() >= until {
            return Ok(Json(status));
        }
        tokio::time::sleep_until(until.min(Instant::now() + MIN_POLL_INTERVAL)).await;
        // On a timeout and on the hub's shutdown alike: query once more and respond.
        let _ = tokio::time::timeout_at(until, notices.changed()).await;
    }
}

async fn load_status(hub: &Hub, workload: &str) -> Result<WorkloadStatus, ApiError> {
    let mut query = ListQuery { limit: Some(MAX_LIMIT), ..ListQuery::default() };
    let mut releases = Vec::new();
    loop {
        let page = hub.list_releases(workload, &query).await?;
        releases.extend(page.items);
        query.cursor = page.next;
        if query.cursor.is_none() {
            let rollout = hub.get_rollout(workload, None).await?;
            let failures = hub.list_workload_failures(workload).await?;
            return Ok(WorkloadStatus::from_releases(releases, rollout, failures));
        }
    }
}
