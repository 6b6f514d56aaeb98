//! `POST …/workloads/{workload}/rollout:{verb}`

use axum::Json;
use axum::extract::State;
use domain::rollout::{Rollout, RolloutVerb};
use hub::Hub;
use serde::Deserialize;
use wire::Problem;

use crate::input::{At, Caller};
use crate::problem::Refusal;

/// What is said, and of which workload.
#[derive(Debug, Deserialize)]
pub struct Said {
    workload: String,
    verb: RolloutVerb,
}

/// Says something to the rollout of the published revision.
///
/// `pause` lets no more clusters through; `resume` goes on, and lets failures of now pass; `approve` is the yes that a wave
/// asks for; `promote` ends a soak time; `abort` ends the rollout, and clusters that it has not reached keep what they have.
#[utoipa::path(
    post,
    path = "/api/v1/projects/{project}/workloads/{workload}/rollout/-/{verb}",
    tag = "rollouts",
    operation_id = "rolloutSteer",
    params(
        ("project" = String, Path, description = "`default`"),
        ("workload" = String, Path),
        ("verb" = inline(RolloutVerb), Path),
        ("Idempotency-Key" = Option<String>, Header, description = "The request is carried out once per key")
    ),
    responses(
        (status = 200, body = Rollout),
        (status = "default", body = Problem, content_type = "application/problem+json")
    )
)]
pub async fn handler(
    State(hub): State<Hub>,
    Caller(actor): Caller,
    At(said): At<Said>,
) -> Result<Json<Rollout>, Refusal> {
    Ok(Json(hub.rollout_steer(&actor, &said.workload, said.verb).await?))
}
