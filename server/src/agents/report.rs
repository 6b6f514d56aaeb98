//! `POST /agent/v1/reports`: an agent's reports of its releases and the facts of its cluster.

use axum::Json;
use axum::extract::State;
use domain::report::{ReportAck, ReportBatch};

use super::AgentApiState;
use super::authenticate::AgentConnection;
use super::rate_limit::ReportPermit;
use crate::input::AgentMessage;
use crate::problem::ApiError;

/// Records a batch. A stale or replayed batch is acknowledged with 200 and `accepted: false`, and ignored. The rate limit
/// is checked before the body is read.
pub async fn handler(
    State(agents): State<AgentApiState>,
    AgentConnection(agent): AgentConnection,
    _: ReportPermit,
    AgentMessage(batch): AgentMessage<ReportBatch>,
) -> Result<Json<ReportAck>, ApiError> {
    let recorded = agents.site.hub().record_reports(agent.cluster, batch).await;
    agents.site.metrics().count_report_batch(&recorded);
    Ok(Json(recorded?))
}
