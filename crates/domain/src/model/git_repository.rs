//! Git repositories of a project that need credentials, a webhook or signed commits.

use std::fmt;

use serde::{Deserialize, Serialize};

use crate::kubernetes::name;
use crate::kubernetes::time::Timestamp;
use crate::model::remote::{check_url, is_oci_url};
use crate::text::finding::Finding;

/// Longest secret, in bytes.
const MAX_SECRET_BYTES: usize = 16 << 10;
/// Shortest secret of a webhook, in bytes.
const MIN_WEBHOOK_SECRET_BYTES: usize = 16;
/// Most bytes of the allowed signers.
const MAX_SIGNERS_BYTES: usize = 64 << 10;

/// User name and token for a repository. They are sent to the origin of its URL only, and never shown again.
#[derive(Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
#[serde(rename_all = "camelCase")]
pub struct GitCredentials {
    /// The user name; many servers accept any for a token.
    pub user_name: String,
    /// The password, or a token that takes its place.
    pub password: String,
}

impl fmt::Debug for GitCredentials {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("GitCredentials").field("user_name", &self.user_name).finish_non_exhaustive()
    }
}

/// A repository to add or to change. Omitted secrets of an existing one stay as they are, if the URL has the same scheme, host
/// and port.
#[derive(Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
#[serde(rename_all = "camelCase")]
pub struct GitRepositoryPut {
    /// Its URL, as sources name it.
    pub url: String,
    /// The credentials; absent for a public repository.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub credentials: Option<GitCredentials>,
    /// The secret of its webhook, at least 16 bytes; absent without a webhook.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub webhook_secret: Option<String>,
    /// SSH public keys that commits must be signed with, one a line (`ssh-ed25519 AAAA… name`); empty to accept any commit, absent
    /// to leave them as they are.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub allowed_signers: Option<String>,
}

impl fmt::Debug for GitRepositoryPut {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let fields = (&self.url, &self.credentials, self.webhook_secret.is_some());
        f.debug_struct("GitRepositoryPut").field("fields", &fields).finish_non_exhaustive()
    }
}

/// A repository, without its secrets.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
#[serde(rename_all = "camelCase")]
pub struct GitRepository {
    /// Its name, which the address of its webhook ends with.
    pub name: String,
    /// Its URL.
    pub url: String,
    /// The user name that it is signed in to with; empty for a public repository.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub user_name: String,
    /// Whether it has a webhook.
    #[serde(default)]
    pub has_webhook: bool,
    /// The SSH public keys that commits must be signed with, one a line.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub allowed_signers: String,
    /// Who added it.
    pub created_by: String,
    /// When it was added.
    pub created_at: Timestamp,
    /// Its revision.
    pub revision: i64,
}

impl GitRepositoryPut {
    /// G121: checks the fields themselves.
    pub fn check(&self, name: &str) -> Vec<Finding> {
        let error =
            |message: String, hint: &str, path: &str| Finding::error("G121", message, hint).with_path(path);
        let mut findings: Vec<Finding> = check_url(&self.url, "/url").into_iter().collect();
        if is_oci_url(&self.url) {
            let message = "oci:// is the URL of a registry, not of a Git repository.".to_owned();
            let hint = "Credentials of a registry are those of a chart repository: flotilla chart repo add NAME oci://REGISTRY/PATH.";
            findings.push(error(message, hint, "/url"));
        }
        if !name::is_label(name) {
            let message =
                format!("{:?} is no name of a Git repository.", name.chars().take(80).collect::<String>());
            findings.push(error(message, "Use lower-case letters, digits and \"-\", at most 63.", "/name"));
        }
        if let Some(credentials) = &self.credentials {
            if credentials.user_name.trim().is_empty() || credentials.password.is_empty() {
                let message = "The credentials need a user name and a password or token.".to_owned();
                findings.push(error(
                    message,
                    "Write both; for a token the user name is often git or oauth2.",
                    "/credentials",
                ));
            }
            if credentials.password.len() > MAX_SECRET_BYTES {
                let message = format!("The secret has more than {MAX_SECRET_BYTES} bytes.");
                findings.push(error(message, "Use a shorter one.", "/credentials/password"));
            }
        }
        if let Some(secret) = &self.webhook_secret
            && !(MIN_WEBHOOK_SECRET_BYTES..=MAX_SECRET_BYTES).contains(&secret.len())
        {
            let message = format!(
                "The secret of a webhook has {MIN_WEBHOOK_SECRET_BYTES} to {MAX_SECRET_BYTES} bytes."
            );
            findings.push(error(message, "Generate one: openssl rand -hex 32.", "/webhookSecret"));
        }
        if self.allowed_signers.as_ref().is_some_and(|keys| keys.len() > MAX_SIGNERS_BYTES) {
            let message = format!("The allowed signers have more than {MAX_SIGNERS_BYTES} bytes.");
            findings.push(error(message, "Remove some.", "/allowedSigners"));
        }
        findings
    }
}
