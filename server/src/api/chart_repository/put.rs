//! REST operation: put chart repository.

use axum::Json;
use axum::extract::State;
use axum::http::HeaderMap;
use domain::chart_repository::{ChartRepository, ChartRepositoryPut};
use hub::Hub;

use super::ChartRepositoryPath;
use crate::etag::{IfMatch, etag_header};
use crate::input::{Body, Caller, Path};
use crate::problem::ApiError;

/// Changes a repository and reads its index. Omitted credentials stay as they are, if the URL leads to the same scheme, host and
/// port.
#[utoipa::path(
    put,
    path = "/api/v1/projects/{project}/chart-repositories/{repository}",
    tag = "charts",
    params(("If-Match" = Option<String>, Header, description = "The ETag that was read")),
    request_body = ChartRepositoryPut,
    responses((status = 200, body = ChartRepository, headers(("ETag"))))
)]
pub async fn put_chart_repository(
    State(hub): State<Hub>,
    Caller(actor): Caller,
    Path(path): Path<ChartRepositoryPath>,
    IfMatch(expected): IfMatch,
    Body(put): Body<ChartRepositoryPut>,
) -> Result<(HeaderMap, Json<ChartRepository>), ApiError> {
    let repository = hub.change_chart_repository(&actor, &path.repository, put, expected).await?;
    Ok((etag_header(repository.revision), Json(repository)))
}
