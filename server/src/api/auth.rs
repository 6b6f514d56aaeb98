//! REST operation: can I.

use axum::Json;
use axum::extract::State;
use domain::authorization::UserAction;
use hub::Hub;
use serde::Deserialize;
use utoipa::IntoParams;
use wire::AccessReview;

use crate::input::{Caller, Query};
use crate::problem::ApiError;

/// Query parameters.
#[derive(Debug, Deserialize, IntoParams)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
#[into_params(parameter_in = Query)]
pub struct AccessQuery {
    /// The action, such as `publish`.
    pub action: String,
    /// Name of the workload or cluster that the action concerns; it must exist.
    pub name: Option<String>,
}

/// Whether the role of the caller, and the API token, allow an action, and which role does.
///
/// Roles apply to the whole organisation: the answer is the same for all its workloads and clusters. For one that does not exist
/// there is none.
#[utoipa::path(
    get,
    path = "/api/v1/auth/can-i",
    tag = "users",
    params(AccessQuery),
    responses((status = 200, body = AccessReview))
)]
pub async fn can_i(
    State(hub): State<Hub>,
    Caller(actor): Caller,
    Query(query): Query<AccessQuery>,
) -> Result<Json<AccessReview>, ApiError> {
    let action = UserAction::parse(&query.action).map_err(|error| {
        let names: Vec<&str> = UserAction::ALL.iter().map(|action| action.as_str()).collect();
        ApiError::bad_request(format!("{error}. The actions are {}.", names.join(", ")))
    })?;
    if let Some(name) = &query.name {
        hub.check_action_object(action, name).await?;
    }
    let review = AccessReview::new(&actor.name, actor.role, action);
    Ok(Json(review.limited_to(actor.token_actions())))
}
