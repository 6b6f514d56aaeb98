//! Liveness, readiness and version.

use axum::Json;
use axum::extract::State;
use axum::http::StatusCode;
use wire::ServerVersion;

use crate::site::Site;

/// The process responds. Does not query the database: a slow database must not restart the server.
pub async fn live() -> &'static str {
    "ok\n"
}

/// The database responds and the loops run.
pub async fn ready(State(site): State<Site>) -> (StatusCode, &'static str) {
    if !site.loops_alive() {
        return (StatusCode::SERVICE_UNAVAILABLE, "the control loops are not running\n");
    }
    match site.hub().check_database().await {
        Ok(()) => (StatusCode::OK, "ok\n"),
        Err(error) => {
            tracing::warn!(error = %crate::problem::error_chain(&error), "the server is not ready: the database does not respond");
            (StatusCode::SERVICE_UNAVAILABLE, "the database does not respond\n")
        }
    }
}

/// The server's version.
pub async fn version() -> Json<ServerVersion> {
    Json(ServerVersion { version: env!("CARGO_PKG_VERSION").to_owned(), api: "v1".to_owned() })
}
