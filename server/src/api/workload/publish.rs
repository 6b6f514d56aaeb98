//! REST operation: publish workload.

use std::time::Duration;

use axum::Json;
use axum::extract::{FromRequestParts, State};
use axum::http::header::LOCATION;
use axum::http::request::Parts;
use axum::http::{HeaderValue, StatusCode};
use axum::response::{IntoResponse, Response};
use domain::plan::Plan;
use domain::workload::PublishResult;
use hub::Hub;
use wire::{Problem, PublishRequest};

use crate::etag::IfMatch;
use crate::input::{Body, Caller, DryRunQuery, Path, Query, WorkloadPath};
use crate::problem::ApiError;
use crate::request_deadline::ArrivalTime;

/// How long a dry run waits for the clusters' results.
const DRY_RUN_TIMEOUT: Duration = Duration::from_secs(20);

/// Header and query parameters.
#[derive(Debug)]
pub struct PublishParams {
    /// The draft's revision that the caller has read.
    if_match: IfMatch,
    /// Whether to return a plan instead of publishing.
    dry_run: DryRunQuery,
    arrival: ArrivalTime,
}

impl<S: Send + Sync> FromRequestParts<S> for PublishParams {
    type Rejection = ApiError;

    async fn from_request_parts(parts: &mut Parts, state: &S) -> Result<Self, ApiError> {
        let Query(dry_run) = Query::from_request_parts(parts, state).await?;
        let if_match = IfMatch::from_request_parts(parts, state).await?;
        Ok(Self { if_match, dry_run, arrival: ArrivalTime::of_request(&parts.extensions)? })
    }
}

/// Stores the draft, or the content of an earlier `revision` again, as a revision and rolls it out to the clusters that its
/// placement selects (S0-1 … S0-5). A rollback is such a publish of an earlier revision; the draft stays as it is.
///
/// The response follows once the revision is stored; the status has the progress of the clusters. With `dryRun=true`
/// nothing is published and the plan is returned, with findings, placement decision and the changes on each cluster.
///
/// What clusters rejected in a valid plan of the same changes is rejected here too (`PlanRejected`), whether the request names
/// the plan by `planHash` or not, unless `force` lists the codes. Without such a plan no cluster has tried the changes:
/// `validation` in the response says so.
#[utoipa::path(
    post,
    path = "/api/v1/projects/{project}/workloads/{workload}/-/publish",
    tag = "workloads",
    params(
        ("If-Match" = Option<String>, Header, description = "The ETag of the draft that was read"),
        DryRunQuery
    ),
    request_body = PublishRequest,
    responses(
        (status = 202, body = PublishResult, headers(("Location")), description = "The revision is stored; the rollout is in progress"),
        (status = 200, body = Plan, description = "Dry run: the plan"),
        (status = 409, body = Problem, content_type = "application/problem+json",
            description = "More clusters would lose the workload than allowed without `confirm`"),
        (status = 412, body = Problem, content_type = "application/problem+json",
            description = "The draft has changed since it was read, or the plan is stale (`PlanStale`)"),
        (status = 422, body = Problem, content_type = "application/problem+json",
            description = "A guard rail rejected it, or clusters rejected its plan with codes that `force` does not list (`PlanRejected`)")
    )
)]
pub async fn publish_workload(
    State(hub): State<Hub>,
    Caller(actor): Caller,
    Path(path): Path<WorkloadPath>,
    params: PublishParams,
    Body(request): Body<PublishRequest>,
) -> Result<Response, ApiError> {
    let options = hub::PublishOptions {
        content: request.revision.map_or(hub::PublishContent::Draft, hub::PublishContent::Revision),
        draft_revision: params.if_match.0,
        plan_hash: request.plan_hash,
        confirmed_removals: request.confirm,
        force: request.force,
        response: hub::PublishResponse::Publish,
    };
    if params.dry_run.dry_run {
        let created = hub.create_plan(&actor, &path.workload, &options).await?;
        return Ok(
            Json(hub.wait_for_plan(created.id, params.arrival.limit(DRY_RUN_TIMEOUT)).await?).into_response()
        );
    }
    let published = hub.publish_workload(&actor, &path.workload, &request.message, options).await?;
    let status = hub::workload_status_path(&path.workload);
    let location = HeaderValue::from_str(&status).unwrap_or(HeaderValue::from_static("/"));
    Ok((StatusCode::ACCEPTED, [(LOCATION, location)], Json(published)).into_response())
}
