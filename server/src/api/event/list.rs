//! REST operation: list events.

use axum::Json;
use axum::extract::State;
use domain::page::MAX_LIMIT;
use hub::Hub;
use wire::{EventPage, EventQuery};

use crate::input::Query;
use crate::problem::ApiError;

/// Events, newest first. Follow `next` as `before` for older ones: a page has fewer than `limit` where its events are long.
#[utoipa::path(
    get,
    path = "/api/v1/events",
    tag = "events",
    params(EventQuery),
    responses((status = 200, body = EventPage))
)]
pub async fn list_events(
    State(hub): State<Hub>,
    Query(query): Query<EventQuery>,
) -> Result<Json<EventPage>, ApiError> {
    let limit = query.limit();
    if limit == 0 || limit > MAX_LIMIT {
        return Err(ApiError::bad_request(format!("limit must be 1 to {MAX_LIMIT}.")));
    }
    let listed = hub.list_events(&query).await?;
    Ok(Json(EventPage { items: listed.events, next: listed.next }))
}
