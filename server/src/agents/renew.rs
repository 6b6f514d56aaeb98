//! `POST /agent/v1/renew`: a new certificate for the cluster that the old one names.

use axum::Json;
use axum::extract::State;
use wire::agent::{IssuedCertificate, RenewRequest};

use super::authenticate::AgentConnection;
use super::{AgentApiState, register};
use crate::input::AgentMessage;
use crate::problem::ApiError;

/// Issues a new certificate.
pub async fn handler(
    State(agents): State<AgentApiState>,
    AgentConnection(agent): AgentConnection,
    AgentMessage(renew): AgentMessage<RenewRequest>,
) -> Result<Json<IssuedCertificate>, ApiError> {
    let certificate =
        agents.site.hub().renew_agent_certificate(&agents.authority, &agent, &renew.csr).await?;
    Ok(Json(register::issued_certificate(&agents, certificate)))
}
