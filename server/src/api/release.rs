//! Operations on releases.

use axum::http::StatusCode;
use axum::routing::{MethodRouter, put};

use crate::problem::ApiError;
use crate::site::Site;

pub mod get;
pub mod list;

/// Path of one release.
pub const RELEASE_PATH: &str = "/api/v1/projects/{project}/workloads/{workload}/releases/{cluster}";

/// Rejects every write to a release with a hint: only the system creates, changes and removes releases (S4-2).
pub fn reject_writes() -> MethodRouter<Site> {
    put(reject_write).patch(reject_write).delete(reject_write)
}

async fn reject_write() -> ApiError {
    ApiError::new(
        StatusCode::FORBIDDEN,
        "SystemOwned",
        "A release is derived from its workload and can't be edited. Change the workload or its placement and publish, or unpublish it.",
    )
}
