//! REST operation: report rollout.

use axum::extract::State;
use axum::http::header::CONTENT_TYPE;
use axum::response::{IntoResponse, Response};
use domain::rollout::RolloutReport;
use hub::Hub;
use serde::Deserialize;
use utoipa::{IntoParams, ToSchema};

use crate::input::{Path, Query, WorkloadPath};
use crate::problem::ApiError;

/// The format of a report.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Deserialize, ToSchema)]
#[serde(rename_all = "camelCase")]
pub enum RolloutReportFormat {
    /// Markdown, for people.
    #[default]
    Md,
    /// The clusters as CSV, for spreadsheets.
    Csv,
    /// JSON.
    Json,
}

/// Which rollout to report, and how.
#[derive(Debug, Default, Deserialize, IntoParams)]
#[serde(rename_all = "camelCase", default, deny_unknown_fields)]
#[into_params(parameter_in = Query)]
pub struct RolloutReportParams {
    /// Number of the revision; by default the published one.
    pub revision: Option<u32>,
    /// The format.
    #[param(required = false, inline)]
    pub format: RolloutReportFormat,
}

/// A rollout with its waves, approvals and clusters as a report. In CSV no cell is a formula of a spreadsheet. At most 20 000 clusters; the
/// report says how many are left out.
#[utoipa::path(
    get,
    path = "/api/v1/projects/{project}/workloads/{workload}/rollout/report",
    tag = "rollouts",
    params(RolloutReportParams),
    responses((
        status = 200,
        content((String = "text/markdown"), (String = "text/csv"), (RolloutReport = "application/json"))
    ))
)]
pub async fn report_rollout(
    State(hub): State<Hub>,
    Path(path): Path<WorkloadPath>,
    Query(params): Query<RolloutReportParams>,
) -> Result<Response, ApiError> {
    let format = params.format;
    let write = move |report: &RolloutReport| match format {
        RolloutReportFormat::Md => report.to_markdown(),
        RolloutReportFormat::Csv => report.to_csv(),
        RolloutReportFormat::Json => serde_json::json!(report).to_string(),
    };
    let text = hub.report_rollout(&path.workload, params.revision, write).await?;
    let content_type = match format {
        RolloutReportFormat::Md => "text/markdown; charset=utf-8",
        RolloutReportFormat::Csv => "text/csv; charset=utf-8",
        RolloutReportFormat::Json => "application/json",
    };
    Ok(([(CONTENT_TYPE, content_type)], text).into_response())
}
