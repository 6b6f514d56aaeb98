//! REST operation: list drift.

use axum::Json;
use axum::extract::State;
use axum::http::{HeaderMap, Uri};
use domain::drift::{DriftItem, DriftQuery, DriftState};
use domain::page::{MAX_LIMIT, Page};
use hub::Hub;
use serde::Deserialize;
use utoipa::IntoParams;

use crate::input::{Caller, Query, page_response};
use crate::problem::ApiError;

/// Query parameters: filters and page.
#[derive(Debug, Default, Deserialize, IntoParams)]
#[serde(rename_all = "camelCase", default, deny_unknown_fields)]
#[into_params(parameter_in = Query)]
pub struct DriftParams {
    /// Only those in this state: `open` or `snoozed`.
    #[param(value_type = Option<DriftState>)]
    state: Option<String>,
    /// Only those of the workload with this name.
    workload: Option<String>,
    /// Only those on the cluster with this name.
    cluster: Option<String>,
    /// At most this many items, 1 to 500; default 50.
    #[param(minimum = 1, maximum = 500)]
    limit: Option<u32>,
    /// The previous page's `next`.
    cursor: Option<String>,
}

impl DriftParams {
    /// An unknown state is rejected: ignoring it would list everything.
    fn into_query(self) -> Result<DriftQuery, ApiError> {
        if self.limit.is_some_and(|limit| limit == 0 || limit > MAX_LIMIT) {
            return Err(ApiError::bad_request(format!("limit must be 1 to {MAX_LIMIT}.")));
        }
        let state = match self.state.as_deref() {
            None | Some("") => None,
            Some(name) => Some(
                DriftState::parse(name)
                    .ok_or_else(|| ApiError::bad_request("state must be open or snoozed."))?,
            ),
        };
        Ok(DriftQuery {
            state,
            workload: self.workload.unwrap_or_default(),
            cluster: self.cluster.unwrap_or_default(),
            cursor: self.cursor,
            limit: self.limit,
        })
    }
}

/// One page of the drift inbox: objects that differ from what was applied, contested ones first, then the oldest. Every entry has its
/// first five fields; `getDrift` returns all that the cluster reported.
#[utoipa::path(
    get,
    path = "/api/v1/drift",
    tag = "drift",
    params(DriftParams),
    responses((status = 200, body = Page<DriftItem>))
)]
pub async fn list_drift(
    State(hub): State<Hub>,
    Caller(actor): Caller,
    Query(params): Query<DriftParams>,
    uri: Uri,
) -> Result<(HeaderMap, Json<Page<DriftItem>>), ApiError> {
    Ok(page_response(hub.list_drift(&actor, &params.into_query()?).await?, &uri))
}
