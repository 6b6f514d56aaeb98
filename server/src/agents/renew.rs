//! `POST /agent/v1/renew`: a new certificate for the cluster that the old one names.

use axum::Json;
use axum::extract::State;
use wire::agent::{Issued, Renew};

use super::admit::Of;
use super::{Agents, register};
use crate::input::Body;
use crate::problem::Refusal;

/// Gives out a new certificate.
pub async fn handler(
    State(agents): State<Agents>,
    Of(agent): Of,
    Body(renew): Body<Renew>,
) -> Result<Json<Issued>, Refusal> {
    let made = agents.site.hub().agent_renew(&agents.authority, &agent, &renew.csr).await?;
    Ok(Json(register::issued(&agents, made)))
}
