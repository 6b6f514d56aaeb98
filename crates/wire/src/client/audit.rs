//! Operations on the audit log.

use domain::audit::{AuditPage, AuditQuery, AuditVerification};
use http::Method;

use super::Client;
use crate::Error;

impl Client {
    /// Entries, newest first.
    pub async fn list_audit(&self, query: &AuditQuery) -> Result<AuditPage, Error> {
        self.api_call(Method::GET, &["audit"]).query(query).send_json().await
    }

    /// The next lines of the export after a position, in this format: `jsonl` or `ocsf`. Empty at the end.
    pub async fn export_audit(&self, after: i64, format: &str) -> Result<String, Error> {
        let query = serde_json::json!({ "after": after, "format": format });
        let response = self.api_call(Method::GET, &["audit", "export"]).query(&query).send().await?;
        Ok(String::from_utf8_lossy(&response.body).into_owned())
    }

    /// Verifies the whole log on the server.
    pub async fn verify_audit(&self) -> Result<AuditVerification, Error> {
        self.api_call(Method::GET, &["audit", "verification"]).send_json().await
    }
}
