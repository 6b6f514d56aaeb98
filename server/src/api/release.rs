//! Operations on releases.

use axum::http::StatusCode;
use axum::routing::{MethodRouter, put};

use crate::problem::Refusal;
use crate::site::Site;

pub mod get;
pub mod list;

/// Where one release is.
pub const ONE: &str = "/api/v1/projects/{project}/workloads/{workload}/releases/{cluster}";

/// Releases are made, changed and removed by the system alone; whoever tries is told how to get what they want (S4-2).
pub fn system_owned() -> MethodRouter<Site> {
    put(refuse).patch(refuse).delete(refuse)
}

async fn refuse() -> Refusal {
    Refusal::new(
        StatusCode::FORBIDDEN,
        "SystemOwned",
        "A release follows from its workload: nobody edits it. Change the workload or its placement and publish, or unpublish it.",
    )
}
