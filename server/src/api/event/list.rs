//! `GET /events`

use axum::Json;
use axum::extract::State;
use domain::page::{DEFAULT_LIMIT, MAX_LIMIT};
use hub::Hub;
use wire::{EventPage, EventQuery, Problem};

use crate::input::Query;
use crate::problem::Refusal;

/// Events, newest first. Follow `next` as `before` for older ones.
#[utoipa::path(
    get,
    path = "/api/v1/events",
    tag = "events",
    operation_id = "eventList",
    params(EventQuery),
    responses(
        (status = 200, body = EventPage),
        (status = "default", body = Problem, content_type = "application/problem+json")
    )
)]
pub async fn handler(
    State(hub): State<Hub>,
    Query(query): Query<EventQuery>,
) -> Result<Json<EventPage>, Refusal> {
    let limit = query.limit.unwrap_or(DEFAULT_LIMIT);
    if limit == 0 || limit > MAX_LIMIT {
        return Err(Refusal::bad_request(format!("limit must be 1 to {MAX_LIMIT}.")));
    }
    let asked =
        hub::EventQuery { before: query.before, workload: query.workload, cluster: query.cluster, limit };
    let items = hub.event_list(&asked).await?;
    let full = u32::try_from(items.len()).is_ok_and(|n| n == limit);
    let next = items.last().filter(|_| full).map(|event| event.seq);
    Ok(Json(EventPage { items, next }))
}
