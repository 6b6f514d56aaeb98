//! Operations on releases.

use axum::http::{Method, StatusCode};

use crate::problem::ApiError;

pub mod get;
pub mod list;

/// Path of one release.
const RELEASE_PATH: &str = "/api/v1/projects/{project}/workloads/{workload}/releases/{cluster}";

/// The answer to a write to a release, with a hint: only the system creates, changes and removes releases (S4-2). `None` for
/// another path or method.
pub fn reject_write(method: &Method, path: &str) -> Option<ApiError> {
    let is_write = matches!(*method, Method::PUT | Method::PATCH | Method::DELETE);
    (is_write && path == RELEASE_PATH).then(|| {
        ApiError::new(
            StatusCode::FORBIDDEN,
            "SystemOwned",
            "A release is derived from its workload and can't be edited. Change the workload or its placement and publish, or unpublish it.",
        )
    })
}
