//! REST operation: report rollout.

use axum::Json;
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
    let report = hub.report_rollout(&path.workload, params.revision).await?;
    Ok(match params.format {
        RolloutReportFormat::Md => {
            ([(CONTENT_TYPE, "text/markdown; charset=utf-8")], report.to_markdown()).into_response()
        }
        RolloutReportFormat::Csv => {
            ([(CONTENT_TYPE, "text/csv; charset=utf-8")], report.to_csv()).into_response()
        }
        RolloutReportFormat::Json => Json(report).into_response(),
    })
}
