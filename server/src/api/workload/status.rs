//! `GET …/workloads/{workload}/status`

use std::time::Duration;

use axum::Json;
use axum::extract::State;
use axum::http::HeaderMap;
use domain::page::{ListQuery, MAX_LIMIT};
use hub::Hub;
use tokio::time::Instant;
use wire::{Problem, Status};

use crate::input::{At, OfWorkload};
use crate::problem::Refusal;

/// The longest wait a client may ask for.
const LONGEST_WAIT: Duration = Duration::from_secs(60);
/// While waiting, the database is asked at most this often.
const AT_MOST_EVERY: Duration = Duration::from_millis(250);

/// How it does on all its clusters: counts, and one entry per cluster, worst first. There is no single status.
///
/// With `Prefer: wait=30` the answer comes once nothing is on its way any more, or after that many seconds.
#[utoipa::path(
    get,
    path = "/api/v1/projects/{project}/workloads/{workload}/status",
    tag = "workloads",
    operation_id = "workloadStatus",
    params(
        ("project" = String, Path, description = "`default`"),
        ("workload" = String, Path),
        ("Prefer" = Option<String>, Header, description = "`wait=30`, at most 60 seconds")
    ),
    responses(
        (status = 200, body = Status),
        (status = "default", body = Problem, content_type = "application/problem+json")
    )
)]
pub async fn handler(
    State(hub): State<Hub>,
    At(of): At<OfWorkload>,
    headers: HeaderMap,
) -> Result<Json<Status>, Refusal> {
    let until = Instant::now() + wait(&headers);
    let mut notices = hub.notices();
    loop {
        notices.mark_unchanged();
        let status = status(&hub, &of.workload).await?;
        if status.is_settled() || Instant::now() >= until {
            return Ok(Json(status));
        }
        tokio::time::sleep_until(until.min(Instant::now() + AT_MOST_EVERY)).await;
        // The hub's end and the end of the wait are the same to us: look once more and answer.
        let _ = tokio::time::timeout_at(until, notices.changed()).await;
    }
}

async fn status(hub: &Hub, workload: &str) -> Result<Status, Refusal> {
    let mut query = ListQuery { limit: Some(MAX_LIMIT), ..ListQuery::default() };
    let mut releases = Vec::new();
    loop {
        let page = hub.release_list(workload, &query).await?;
        releases.extend(page.items);
        query.cursor = page.next;
        if query.cursor.is_none() {
            return Ok(Status::of(releases, hub.rollout_view(workload, None).await?));
        }
    }
}

/// The wait asked for; none if the header is missing or says something else, for it is only a preference.
fn wait(headers: &HeaderMap) -> Duration {
    let preferences = headers.get_all("prefer").iter().filter_map(|value| value.to_str().ok());
    let mut parts = preferences.flat_map(|value| value.split([',', ';']));
    let seconds = parts.find_map(|part| part.trim().strip_prefix("wait=")?.parse().ok());
    Duration::from_secs(seconds.unwrap_or(0)).min(LONGEST_WAIT)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_wait_is_bounded_and_nonsense_is_none() {
        let asked = |value: &str| {
            let mut headers = HeaderMap::new();
            headers.insert("prefer", value.parse().unwrap());
            wait(&headers).as_secs()
        };
        assert_eq!(asked("wait=30"), 30);
        assert_eq!(asked("respond-async, wait=5"), 5);
        assert_eq!(asked("wait=99999999"), 60);
        assert_eq!(asked("wait=-1"), 0);
        assert_eq!(wait(&HeaderMap::new()).as_secs(), 0);
    }
}
