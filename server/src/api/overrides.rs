//! Operations on overrides.

use std::time::Duration;

use axum::Json;
use axum::extract::FromRequestParts;
use axum::http::header::LOCATION;
use axum::http::request::Parts;
use axum::http::{HeaderValue, StatusCode};
use axum::response::{IntoResponse, Response};
use domain::Digest;
use hub::{Actor, Hub, OverrideChange, PublishContent, PublishOptions};
use serde::Deserialize;
use utoipa::IntoParams;

use super::plan::created_plan;
use crate::etag::{RequiredIfMatch, etag_header};
use crate::input::Query;
use crate::problem::ApiError;
use crate::request_deadline::ArrivalTime;

pub mod delete;
pub mod get;
pub mod list;
pub mod put;

/// How long a dry run waits for the clusters' results.
const DRY_RUN_TIMEOUT: Duration = Duration::from_secs(20);

/// Path parameters of an override.
#[derive(Debug, Deserialize)]
pub struct OverridePath {
    /// The workload.
    workload: String,
    /// The override.
    name: String,
}

/// What happens with the change.
#[derive(Debug, Default, PartialEq, Eq, Deserialize, IntoParams)]
#[serde(rename_all = "camelCase", default, deny_unknown_fields)]
#[into_params(parameter_in = Query)]
pub struct OverrideQuery {
    /// `true`: publish the change of the published revision too, without other edits of the draft.
    #[param(required = false)]
    pub now: bool,
    /// `true`, with `now`: store nothing and return the plan.
    #[param(required = false)]
    pub dry_run: bool,
    /// With `now`: the hash of the reviewed plan; rejected with `PlanStale` if the plan would be different now.
    pub plan_hash: Option<Digest>,
    /// With `now`: how many clusters may lose the workload; needed when it is more than a fifth of those that have it
    /// (G505).
    pub confirm: Option<u32>,
    /// With `now`: the codes with which clusters rejected the plan and that are accepted, separated by commas.
    #[param(required = false)]
    pub force: String,
}

/// The condition of a change, and what happens with it.
#[derive(Debug)]
pub struct OverrideParams {
    /// The revision of the workload that the caller has read; `None` for any.
    revision: Option<i64>,
    query: OverrideQuery,
    arrival: ArrivalTime,
}

impl<S: Send + Sync> FromRequestParts<S> for OverrideParams {
    type Rejection = ApiError;

    async fn from_request_parts(parts: &mut Parts, state: &S) -> Result<Self, ApiError> {
        let Query(query) = Query::from_request_parts(parts, state).await?;
        let RequiredIfMatch(revision) = RequiredIfMatch::from_request_parts(parts, state).await?;
        Ok(Self { revision, query, arrival: ArrivalTime::of_request(&parts.extensions)? })
    }
}

/// Makes the change in the draft, publishes it, or plans the publish, as the query requests.
async fn change_override(
    hub: &Hub,
    actor: &Actor,
    workload: &str,
    change: OverrideChange,
    OverrideParams { revision, query, arrival }: OverrideParams,
) -> Result<Response, ApiError> {
    if !query.now {
        if query != OverrideQuery::default() {
            return Err(ApiError::bad_request(
                "dryRun, planHash, confirm and force belong to a publish: send them with now=true, or omit them.",
            ));
        }
        let stored = hub.change_override(actor, workload, change, revision).await?;
        return Ok((etag_header(stored.revision), Json(stored)).into_response());
    }
    let codes = query.force.split(',').map(str::trim).filter(|code| !code.is_empty());
    let options = PublishOptions {
        content: PublishContent::Override(change),
        draft_revision: revision,
        plan_hash: query.plan_hash,
        confirmed_removals: query.confirm,
        force: codes.map(str::to_owned).collect(),
        response: hub::PublishResponse::Publish,
    };
    if query.dry_run {
        let created = hub.create_plan(actor, workload, &options).await?;
        return Ok(created_plan(hub.wait_for_plan(created.id, arrival.limit(DRY_RUN_TIMEOUT)).await?));
    }
    let published = hub.publish_workload(actor, workload, "", options).await?;
    let location =
        HeaderValue::from_str(&hub::workload_status_path(workload)).unwrap_or(HeaderValue::from_static("/"));
    Ok((StatusCode::ACCEPTED, [(LOCATION, location)], Json(published)).into_response())
}
