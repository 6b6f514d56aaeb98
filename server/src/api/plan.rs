//! Operations on plans.

pub mod create;
pub mod get;

use std::time::Duration;

use axum::Json;
use axum::http::header::LOCATION;
use axum::http::{HeaderValue, StatusCode};
use axum::response::{IntoResponse, Response};
use domain::plan::Plan;
use serde::Deserialize;
use utoipa::IntoParams;

/// The longest wait for dry-run results, in seconds.
const MAX_WAIT_SECONDS: u64 = 30;

/// How long to wait for the clusters' dry-run results.
#[derive(Debug, Default, Deserialize, IntoParams)]
#[serde(rename_all = "camelCase", default, deny_unknown_fields)]
#[into_params(parameter_in = Query)]
pub struct WaitQuery {
    /// Seconds to wait, at most 30; 0 returns immediately with the results received so far.
    #[param(required = false)]
    wait: u64,
}

impl WaitQuery {
    /// The wait, limited to 30 s.
    pub fn duration(&self) -> Duration {
        limit_wait(self.wait)
    }
}

/// A wait of these seconds, limited to 30 s.
pub fn limit_wait(seconds: u64) -> Duration {
    Duration::from_secs(seconds.min(MAX_WAIT_SECONDS))
}

/// The response with a created plan and its address.
pub fn created_plan(plan: Plan) -> Response {
    let location = format!("/api/v1/plans/{}", plan.id);
    let location = HeaderValue::from_str(&location).unwrap_or(HeaderValue::from_static("/"));
    (StatusCode::CREATED, [(LOCATION, location)], Json(plan)).into_response()
}
