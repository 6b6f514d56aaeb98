//! The formats in which entries of the audit log leave the server.

use domain::audit::AuditEntry;
use serde::Deserialize;
use utoipa::ToSchema;

/// The format of an exported entry.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Deserialize, ToSchema, clap::ValueEnum)]
#[serde(rename_all = "camelCase")]
pub enum AuditFormat {
    /// The entry, with its hashes: it can be verified.
    #[default]
    Jsonl,
    /// An event of the Open Cybersecurity Schema Framework.
    Ocsf,
}

impl AuditFormat {
    /// An entry as one line of JSON.
    pub fn format_line(self, entry: &AuditEntry) -> String {
        let value = match self {
            Self::Jsonl => serde_json::json!(entry),
            Self::Ocsf => entry.to_ocsf(),
        };
        format!("{value}\n")
    }
}
