//! Liveness, readiness and version.

use axum::Json;
use axum::extract::State;
use axum::http::StatusCode;
use hub::EncryptionMode;
use wire::ServerVersion;

use crate::listener::LISTENERS;
use crate::site::Site;

/// The process responds. Does not query the database: a slow database must not restart the server.
pub async fn live() -> &'static str {
    "ok\n"
}

/// The database responds, and the loops and listeners run.
pub async fn ready(State(site): State<Site>) -> (StatusCode, String) {
    let mut stopped = site.hub().list_stopped_loops();
    stopped.extend(site.hub().list_stopped_tasks(&LISTENERS));
    if !stopped.is_empty() {
        let names = stopped.join(", ");
        return (StatusCode::SERVICE_UNAVAILABLE, format!("these tasks are not running: {names}\n"));
    }
    match site.hub().check_database().await {
        Ok(()) => {
            let mode = site.hub().encryption_mode();
            let is_complete = mode == EncryptionMode::Complete;
            let encryption = (!is_complete).then(|| format!("encryption: {}\n", mode.as_str()));
            // Everything but charts and kustomizations works.
            let sandbox = site.hub().renderer_sandbox().filter(|sandbox| !sandbox.is_closed());
            let sandbox = sandbox.map(|sandbox| {
                let renders = if sandbox.problem.is_some() { "nothing is rendered" } else { "degraded" };
                format!("renderer sandbox: {renders} ({})\n", sandbox.describe())
            });
            (StatusCode::OK, ["ok\n".to_owned()].into_iter().chain(encryption).chain(sandbox).collect())
        }
        Err(error) => {
            tracing::warn!(error = %crate::problem::error_chain(&error), "the server is not ready: the database does not respond");
            (StatusCode::SERVICE_UNAVAILABLE, "the database does not respond\n".to_owned())
        }
    }
}

/// The server's version.
pub async fn version() -> Json<ServerVersion> {
    Json(ServerVersion { version: env!("CARGO_PKG_VERSION").to_owned(), api: "v1".to_owned() })
}
