//! Operations on the caller's sessions in the console, and the status of the server.

use domain::server_status::ServerStatus;
use domain::session::UserSession;
use http::Method;

use super::Client;
use crate::Error;

impl Client {
    /// The status of the server.
    pub async fn get_server_status(&self) -> Result<ServerStatus, Error> {
        self.api_call(Method::GET, &["server-status"]).send_json().await
    }

    /// The caller's sessions.
    pub async fn list_sessions(&self) -> Result<Vec<UserSession>, Error> {
        self.api_call(Method::GET, &["sessions"]).send_json().await
    }

    /// Ends a session.
    pub async fn revoke_session(&self, id: &str) -> Result<(), Error> {
        self.api_call(Method::DELETE, &["sessions", id]).send_ignoring_body().await
    }

    /// Ends all sessions.
    pub async fn revoke_sessions(&self) -> Result<(), Error> {
        self.api_call(Method::DELETE, &["sessions"]).send_ignoring_body().await
    }
}
