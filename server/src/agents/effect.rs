//! `POST /agent/v1/plans/{plan}/effect`: an agent says what a plan would do on its cluster.

use axum::Json;
use axum::extract::State;
use domain::PlanId;
use domain::plan::Effect;
use serde::Deserialize;

use super::Agents;
use super::admit::Of;
use crate::input::{At, Body};
use crate::problem::Refusal;

/// Which plan.
#[derive(Debug, Deserialize)]
pub struct Which {
    plan: String,
}

/// Keeps the answer; the second one to a question, or one to a plan that is over, is not found.
pub async fn handler(
    State(agents): State<Agents>,
    Of(agent): Of,
    At(which): At<Which>,
    Body(effect): Body<Effect>,
) -> Result<Json<serde_json::Value>, Refusal> {
    let missing = || hub::Error::not_found("plan", which.plan.chars().take(80).collect::<String>());
    let plan: PlanId = which.plan.parse().map_err(|_| missing())?;
    agents.site.hub().plan_answer(agent.cluster, plan, effect).await?;
    Ok(Json(serde_json::json!({})))
}
