//! Git repositories of a project that need credentials, a webhook or signed commits.

use std::fmt;

use serde::{Deserialize, Serialize};

use crate::kubernetes::name;
use crate::kubernetes::time::Timestamp;
use crate::model::remote::{check_url, is_oci_url};
use crate::model::ssh_url::is_ssh_url;
use crate::text::finding::Finding;

/// Longest secret, in bytes.
const MAX_SECRET_BYTES: usize = 16 << 10;
/// Shortest secret of a webhook, in bytes.
const MIN_WEBHOOK_SECRET_BYTES: usize = 16;
/// Most bytes of the allowed signers.
const MAX_SIGNERS_BYTES: usize = 64 << 10;

/// Most bytes of the known hosts.
const MAX_KNOWN_HOSTS_BYTES: usize = 64 << 10;

/// User name and token for a repository over HTTPS, or private key and known hosts for one over SSH. They are used for the server of its
/// URL only, and never shown again.
#[derive(Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
#[serde(rename_all = "camelCase")]
pub struct GitCredentials {
    /// HTTPS: the user name; many servers accept any for a token.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub user_name: String,
    /// HTTPS: the password, or a token that takes its place.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub password: String,
    /// SSH: the private key without a passphrase, as `ssh-keygen` writes it. Empty to retain the stored one.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub private_key: String,
    /// SSH: the keys of the server, as they stand in a file of known hosts (`ssh-keyscan HOST`). Empty to retain the stored ones; without
    /// any, the server is not trusted.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub known_hosts: String,
}

impl GitCredentials {
    /// User name and password, or a token.
    pub fn basic(user_name: impl Into<String>, password: impl Into<String>) -> Self {
        Self { user_name: user_name.into(), password: password.into(), ..Self::default() }
    }

    /// What is missing of a key of SSH, from the credentials that are stored.
    pub fn retain_ssh(&mut self, stored: &Self) {
        for (field, stored) in
            [(&mut self.private_key, &stored.private_key), (&mut self.known_hosts, &stored.known_hosts)]
        {
            if field.trim().is_empty() {
                field.clone_from(stored);
            }
        }
    }

    /// G121: whether they fit the URL. Paths are relative to the repository.
    fn check(&self, url: &str) -> Vec<Finding> {
        let error = |message: &str, hint: &str, path: &str| {
            Finding::error("G121", message, hint).with_path(format!("/credentials{path}"))
        };
        let (has_login, has_key) = (
            !self.user_name.trim().is_empty() || !self.password.is_empty(),
            !self.private_key.trim().is_empty() || !self.known_hosts.trim().is_empty(),
        );
        let mut findings = Vec::new();
        if is_ssh_url(url) {
            if has_login || !has_key {
                let message = "A repository over SSH needs a private key and known hosts, and no user name and password.";
                let hint =
                    "Write the private key of a deploy key; the user is in the URL, as in git@host:path.";
                findings.push(error(message, hint, ""));
            }
        } else if has_key {
            let message = "A private key and known hosts are for URLs over SSH only.";
            let hint = "Write the URL as ssh://git@host/path or git@host:path, or a user name and a token.";
            findings.push(error(message, hint, "/privateKey"));
        } else if self.user_name.trim().is_empty() || self.password.is_empty() {
            let message = "The credentials need a user name and a password or token.";
            findings.push(error(
                message,
                "Write both; for a token the user name is often git or oauth2.",
                "",
            ));
        }
        for (secret, most, path) in [
            (&self.password, MAX_SECRET_BYTES, "/password"),
            (&self.private_key, MAX_SECRET_BYTES, "/privateKey"),
            (&self.known_hosts, MAX_KNOWN_HOSTS_BYTES, "/knownHosts"),
        ] {
            if secret.len() > most {
                findings.push(error(
                    &format!("The secret has more than {most} bytes."),
                    "Use a shorter one.",
                    path,
                ));
            }
        }
        findings
    }
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
    /// Whether it has a private key, for a URL over SSH.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub has_private_key: bool,
    /// Whether it has known hosts, without which a server over SSH is not trusted.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub has_known_hosts: bool,
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

/// How the server signs in to a Git repository.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum GitLogin {
    /// Not at all: anybody can read it.
    Public,
    /// With this user name, and a password or token.
    User(String),
    /// Over SSH, with a private key.
    SshKey,
    /// Over SSH, with a private key; but no server is trusted, so that it can't be read.
    NoKnownHosts,
    /// Over SSH, but without a private key, so that it can't be read.
    NoSshKey,
}

impl fmt::Display for GitLogin {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Public => "Public",
            Self::User(name) => name.as_str(),
            Self::SshKey => "SSH key",
            Self::NoKnownHosts => "SSH key, no known hosts",
            Self::NoSshKey => "No SSH key",
        })
    }
}

impl GitRepository {
    /// How the server signs in to it.
    pub fn login(&self) -> GitLogin {
        match (self.has_private_key, self.has_known_hosts) {
            (true, true) => GitLogin::SshKey,
            (true, false) => GitLogin::NoKnownHosts,
            (false, has_known_hosts) if has_known_hosts || is_ssh_url(&self.url) => GitLogin::NoSshKey,
            (false, _) if self.user_name.is_empty() => GitLogin::Public,
            (false, _) => GitLogin::User(self.user_name.clone()),
        }
    }
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
        findings.extend(self.credentials.iter().flat_map(|credentials| credentials.check(&self.url)));
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

#[cfg(test)]
mod tests {
    use super::*;

    fn check(url: &str, credentials: GitCredentials) -> Vec<String> {
        let put = GitRepositoryPut {
            url: url.into(),
            credentials: Some(credentials),
            ..GitRepositoryPut::default()
        };
        put.check("deploy").into_iter().map(|found| found.path).collect()
    }

    #[test]
    fn g121_credentials_fit_the_way_in_which_the_repository_is_read() {
        let (https, ssh) = ("https://git.example.com/deploy", "git@git.example.com:deploy");
        let login = GitCredentials::basic("git", "s3cret");
        let key = GitCredentials { private_key: "key".into(), ..GitCredentials::default() };
        assert_eq!((check(https, login.clone()), check(ssh, key.clone())), (Vec::new(), Vec::new()));
        assert_eq!(check(ssh, login), ["/credentials"]);
        assert_eq!(check(https, key.clone()), ["/credentials/privateKey"]);
        assert_eq!(check(https, GitCredentials::default()), ["/credentials"]);
        let large = GitCredentials { known_hosts: "a".repeat(MAX_KNOWN_HOSTS_BYTES + 1), ..key };
        assert_eq!(check(ssh, large), ["/credentials/knownHosts"]);
    }

    #[test]
    fn a_private_key_is_in_no_debug_output() {
        let key = GitCredentials { private_key: "canary".into(), ..GitCredentials::default() };
        let put = GitRepositoryPut { credentials: Some(key.clone()), ..GitRepositoryPut::default() };
        assert!(!format!("{key:?} {put:?}").contains("canary"));
    }

    #[test]
    fn a_new_known_host_retains_the_stored_key() {
        let stored =
            GitCredentials { private_key: "key".into(), known_hosts: "old".into(), ..Default::default() };
        let mut new = GitCredentials { known_hosts: "new".into(), ..GitCredentials::default() };
        new.retain_ssh(&stored);
        assert_eq!((&*new.private_key, &*new.known_hosts), ("key", "new"));
    }

    #[test]
    fn a_repository_over_ssh_without_a_key_is_not_public() {
        let login = |url: &str, user: &str, (has_private_key, has_known_hosts): (bool, bool)| {
            let repository = GitRepository {
                name: "deploy".into(),
                url: url.into(),
                user_name: user.into(),
                has_private_key,
                has_known_hosts,
                has_webhook: false,
                allowed_signers: String::new(),
                created_by: "ada".into(),
                created_at: Timestamp::default(),
                revision: 1,
            };
            repository.login().to_string()
        };
        let (https, ssh) = ("https://git.example.com/deploy", "git@git.example.com:deploy");
        assert_eq!(login(https, "", (false, false)), "Public");
        assert_eq!(login(https, "oauth2", (false, false)), "oauth2");
        assert_eq!(login(ssh, "", (true, true)), "SSH key");
        assert_eq!(login(ssh, "", (true, false)), "SSH key, no known hosts");
        assert_eq!(login(ssh, "", (false, true)), "No SSH key");
        assert_eq!(login(ssh, "", (false, false)), "No SSH key");
    }
}
