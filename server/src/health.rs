//! Is the server alive, is it ready, which one is it.

use axum::Json;
use axum::extract::State;
use axum::http::StatusCode;
use wire::Version;

use crate::site::Site;

/// The process answers. Asks no database: a slow one must not get the server restarted.
pub async fn live() -> &'static str {
    "ok\n"
}

/// The database answers and the loops run.
pub async fn ready(State(site): State<Site>) -> (StatusCode, &'static str) {
    if !site.loops_alive() {
        return (StatusCode::SERVICE_UNAVAILABLE, "the loops do not run\n");
    }
    match site.hub().ready().await {
        Ok(()) => (StatusCode::OK, "ok\n"),
        Err(error) => {
            tracing::warn!(error = %crate::problem::chain(&error), "not ready");
            (StatusCode::SERVICE_UNAVAILABLE, "the database does not answer\n")
        }
    }
}

/// Which version this is.
pub async fn version() -> Json<Version> {
    Json(Version { version: env!("CARGO_PKG_VERSION").to_owned(), api: "v1".to_owned() })
}
