//! REST operation: receive the webhook of a Git repository.

use axum::extract::State;
use axum::http::{HeaderMap, StatusCode};
use futures::StreamExt as _;
use hub::{Hub, WebhookSignature};

use super::GitRepositoryPath;
use crate::input::{Path, StreamedBody, reject_unread_body};
use crate::problem::ApiError;

/// Largest body of a webhook, in bytes.
pub const MAX_WEBHOOK_BYTES: usize = 1 << 20;

/// Checks the refs of a Git repository now, because its server reports a push. The request is authenticated by its signature
/// (`X-Hub-Signature-256` with HMAC-SHA256, or `X-Gitlab-Token`) with the secret of the repository; its body is verified while it arrives, and
/// not read.
#[utoipa::path(
    post,
    path = "/api/v1/projects/{project}/git-webhooks/{repository}",
    tag = "git",
    params(
        ("X-Hub-Signature-256" = Option<String>, Header, description = "sha256= and the HMAC-SHA256 of the body in hex"),
        ("X-Gitlab-Token" = Option<String>, Header, description = "The secret"),
    ),
    request_body(content = serde_json::Value, description = "Any; it is verified and not read"),
    security(()),
    responses((status = 202, description = "The refs are checked"))
)]
pub async fn receive_git_webhook(
    State(hub): State<Hub>,
    Path(path): Path<GitRepositoryPath>,
    headers: HeaderMap,
    StreamedBody(body): StreamedBody,
) -> Result<StatusCode, ApiError> {
    let header = |name: &str| headers.get(name).and_then(|value| value.to_str().ok());
    let hmac = header("x-hub-signature-256").map(WebhookSignature::Hmac);
    let signature = hmac.or_else(|| header("x-gitlab-token").map(WebhookSignature::Token));
    let mut verification = hub.begin_git_webhook(&path.repository, signature).await?;
    let mut parts = body.into_data_stream();
    while let Some(part) = parts.next().await {
        verification.update(&part.map_err(|error| reject_unread_body(&error))?);
    }
    hub.finish_git_webhook(verification).await?;
    Ok(StatusCode::ACCEPTED)
}
