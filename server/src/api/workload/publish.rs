//! `POST …/workloads/{workload}:publish`

use std::time::Duration;

use axum::Json;
use axum::extract::{FromRequestParts, State};
use axum::http::header::LOCATION;
use axum::http::request::Parts;
use axum::http::{HeaderValue, StatusCode};
use axum::response::{IntoResponse, Response};
use domain::plan::Plan;
use domain::workload::Published;
use hub::Hub;
use wire::{Problem, PublishRequest};

use crate::etag::IfMatch;
use crate::input::{At, Body, Caller, DryRun, OfWorkload, PROJECT, Query};
use crate::problem::Refusal;

/// How long a dry run waits for the clusters' answers.
const DRY_RUN_WITHIN: Duration = Duration::from_secs(20);

/// What the publish depends on.
#[derive(Debug)]
pub struct Terms {
    /// The revision of the draft that was seen.
    seen: IfMatch,
    /// Whether only to say what would happen.
    dry: DryRun,
}

impl<S: Send + Sync> FromRequestParts<S> for Terms {
    type Rejection = Refusal;

    async fn from_request_parts(parts: &mut Parts, state: &S) -> Result<Self, Refusal> {
        let Query(dry) = Query::from_request_parts(parts, state).await?;
        Ok(Self { seen: IfMatch::from_request_parts(parts, state).await?, dry })
    }
}

/// Freezes the draft as a revision and brings it to the clusters its placement chooses (S0-1 … S0-5).
///
/// The answer comes once the revision is stored; the status tells how far the clusters are. With `dryRun=true` nothing
/// is published and the plan is given, with the findings, the placement decision and what would happen on each cluster.
#[utoipa::path(
    post,
    path = "/api/v1/projects/{project}/workloads/{workload}/-/publish",
    tag = "workloads",
    operation_id = "workloadPublish",
    params(
        ("project" = String, Path, description = "`default`"),
        ("workload" = String, Path),
        ("If-Match" = Option<String>, Header, description = "The ETag of the draft that was seen"),
        ("Idempotency-Key" = Option<String>, Header, description = "The request is carried out once per key"),
        DryRun
    ),
    request_body = PublishRequest,
    responses(
        (status = 202, body = Published, description = "The revision is stored and on its way"),
        (status = 200, body = Plan, description = "Dry run: what would happen"),
        (status = 409, body = Problem, content_type = "application/problem+json",
            description = "More clusters would lose it than may without `confirm`"),
        (status = 412, body = Problem, content_type = "application/problem+json",
            description = "The draft or the plan is not the one that was seen (`PlanStale`)"),
        (status = 422, body = Problem, content_type = "application/problem+json", description = "A guard rail refused"),
        (status = "default", body = Problem, content_type = "application/problem+json")
    )
)]
pub async fn handler(
    State(hub): State<Hub>,
    Caller(actor): Caller,
    At(of): At<OfWorkload>,
    terms: Terms,
    Body(request): Body<PublishRequest>,
) -> Result<Response, Refusal> {
    if terms.dry.dry_run {
        let made = hub.plan_make(&actor, &of.workload).await?;
        return Ok(Json(hub.plan_wait(made.id, DRY_RUN_WITHIN).await?).into_response());
    }
    let seen = hub::Terms { seen: terms.seen.0, plan: request.plan_hash, confirm: request.confirm };
    let published = hub.workload_publish(&actor, &of.workload, &request.message, seen).await?;
    let status = format!("/api/v1/projects/{PROJECT}/workloads/{}/status", of.workload);
    let location = HeaderValue::from_str(&status).unwrap_or(HeaderValue::from_static("/"));
    Ok((StatusCode::ACCEPTED, [(LOCATION, location)], Json(published)).into_response())
}
