//! REST operation: list incidents.

use axum::Json;
use axum::extract::State;
use axum::http::{HeaderMap, Uri};
use domain::incident::{IncidentQuery, IncidentState, IncidentSummary};
use domain::page::{MAX_LIMIT, Page};
use hub::Hub;
use serde::Deserialize;
use utoipa::IntoParams;

use crate::input::{Query, page_response};
use crate::problem::ApiError;

/// Query parameters: filters and page.
#[derive(Debug, Default, Deserialize, IntoParams)]
#[serde(rename_all = "camelCase", default, deny_unknown_fields)]
#[into_params(parameter_in = Query)]
pub struct IncidentParams {
    /// Only those in this state: `open` or `closed`.
    #[param(value_type = Option<IncidentState>)]
    state: Option<String>,
    /// Only those of the workload with this name.
    workload: Option<String>,
    /// At most this many items, 1 to 500; default 50.
    #[param(minimum = 1, maximum = 500)]
    limit: Option<u32>,
    /// The previous page's `next`.
    cursor: Option<String>,
}

impl IncidentParams {
    /// An unknown state is rejected: ignoring it would list everything.
    fn into_query(self) -> Result<IncidentQuery, ApiError> {
        if self.limit.is_some_and(|limit| limit == 0 || limit > MAX_LIMIT) {
            return Err(ApiError::bad_request(format!("limit must be 1 to {MAX_LIMIT}.")));
        }
        let state = match self.state.as_deref() {
            None | Some("") => None,
            Some(name) => Some(
                IncidentState::parse(name)
                    .ok_or_else(|| ApiError::bad_request("state must be open or closed."))?,
            ),
        };
        Ok(IncidentQuery {
            state,
            workload: self.workload.unwrap_or_default(),
            cursor: self.cursor,
            limit: self.limit,
        })
    }
}

/// One page of incidents, newest first.
#[utoipa::path(
    get,
    path = "/api/v1/incidents",
    tag = "incidents",
    params(IncidentParams),
    responses((status = 200, body = Page<IncidentSummary>))
)]
pub async fn list_incidents(
    State(hub): State<Hub>,
    Query(params): Query<IncidentParams>,
    uri: Uri,
) -> Result<(HeaderMap, Json<Page<IncidentSummary>>), ApiError> {
    Ok(page_response(hub.list_incidents(&params.into_query()?).await?, &uri))
}
