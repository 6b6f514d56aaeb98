//! `POST /agent/v1/reports`: what an agent says of its releases, and what it found out about its cluster.

use axum::Json;
use axum::extract::State;
use domain::report::{ReportAck, ReportBatch};

use super::Agents;
use super::admit::Of;
use crate::input::Body;
use crate::problem::Refusal;

/// Takes a batch; an older or replayed one is answered and dropped.
pub async fn handler(
    State(agents): State<Agents>,
    Of(agent): Of,
    Body(batch): Body<ReportBatch>,
) -> Result<Json<ReportAck>, Refusal> {
    let ack = agents.site.hub().record_reports(agent.cluster, batch).await?;
    agents.site.metrics().reported(ack.taken);
    Ok(Json(ack))
}
