//! `POST /agent/v1/renew`: a new certificate for the cluster that the old one names.

use axum::Json;
use axum::extract::State;
use axum::response::{IntoResponse as _, Response};
use wire::agent::{IssuedCertificate, RenewRequest};

use super::authenticate::AgentConnection;
use super::{AgentApiState, register};
use crate::input::AgentMessage;
use crate::problem::ApiError;

/// Issues a new certificate. The rate is limited per agent, because a signature and a write cost more than a request.
pub async fn handler(
    State(agents): State<AgentApiState>,
    AgentConnection(agent): AgentConnection,
    AgentMessage(renew): AgentMessage<RenewRequest>,
) -> Result<Json<IssuedCertificate>, Response> {
    agents.rate_limits.check_renewal(agent.cluster).map_err(|limited| limited.into_response())?;
    let renewed = agents.site.hub().renew_agent_certificate(&agents.authority, &agent, &renew.csr).await;
    let certificate = renewed.map_err(|error| ApiError::from(error).into_response())?;
    Ok(Json(register::issued_certificate(&agents, certificate)))
}
