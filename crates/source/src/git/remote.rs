//! A repository and how it is signed in to.

use domain::ssh_url::{SshUrl, is_ssh_url};
use egress::{Credentials, Url};

use super::ssh::SshCredentials;
use crate::identity::{authority_identity, path_identity};

/// A repository, with the credentials for it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct GitRemote {
    address: RemoteAddress,
}

/// Where a repository is.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum RemoteAddress {
    /// Over HTTPS or HTTP.
    Http { url: Url, credentials: Option<Credentials> },
    /// Over SSH.
    Ssh { url: SshUrl, credentials: Option<SshCredentials> },
}

/// The address or the credentials of a repository are not valid.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("The Git repository is not valid: {0}.")]
pub struct InvalidGitRemote(String);

impl GitRemote {
    /// Checks the URL, and binds user name and password to its origin.
    ///
    /// # Errors
    /// The URL is not valid, or the credentials can't be sent.
    pub fn new(url: &str, login: Option<(&str, &str)>) -> Result<Self, InvalidGitRemote> {
        let shown: String = url.chars().filter(|c| !c.is_control()).take(80).collect();
        if is_ssh_url(url) {
            let url = SshUrl::parse(url).map_err(|error| InvalidGitRemote(format!("{shown:?}: {error}")))?;
            if login.is_some() {
                return Err(InvalidGitRemote(
                    "a user name and a password are for URLs over HTTPS".to_owned(),
                ));
            }
            return Ok(Self { address: RemoteAddress::Ssh { url, credentials: None } });
        }
        let url = Url::parse(url.trim()).ok().filter(Url::has_host);
        let mut url = url.ok_or_else(|| InvalidGitRemote(format!("{shown:?} is no URL")))?;
        if !url.username().is_empty() || url.password().is_some() {
            return Err(InvalidGitRemote("its URL contains a user name or password".to_owned()));
        }
        if url.query().is_some() || url.fragment().is_some() {
            return Err(InvalidGitRemote("its URL contains \"?\" or \"#\"".to_owned()));
        }
        let path = url.path().trim_end_matches('/').to_owned();
        url.set_path(&path);
        let credentials = login.map(|(user, password)| Credentials::basic(&url, user, password));
        let credentials = credentials.transpose().map_err(|error| InvalidGitRemote(error.to_string()))?;
        Ok(Self { address: RemoteAddress::Http { url, credentials } })
    }

    /// The same repository with a private key and known hosts.
    ///
    /// # Errors
    /// It is not read over SSH.
    pub fn with_ssh_credentials(self, ssh: SshCredentials) -> Result<Self, InvalidGitRemote> {
        match self.address {
            RemoteAddress::Ssh { url, .. } => {
                Ok(Self { address: RemoteAddress::Ssh { url, credentials: Some(ssh) } })
            }
            RemoteAddress::Http { .. } => {
                Err(InvalidGitRemote("a private key is for URLs over SSH".to_owned()))
            }
        }
    }

    pub(super) fn address(&self) -> &RemoteAddress {
        &self.address
    }

    /// The URL in the form that all spellings of a repository share, for comparisons only: that of every URL, without `.git` at its end
    /// and in lower case, because many Git servers accept their paths in any.
    pub fn identity(&self) -> String {
        let url = match &self.address {
            RemoteAddress::Http { url, .. } => url,
            RemoteAddress::Ssh { url, .. } => return url.identity(),
        };
        let path = path_identity(url).to_ascii_lowercase();
        let mut path = path.as_str();
        while let Some(rest) = path.strip_suffix(".git").or_else(|| path.strip_suffix('/')) {
            path = rest;
        }
        format!("{}://{}{path}", url.scheme(), authority_identity(url))
    }

    /// Whether another repository has the same scheme, host and port, and over SSH the same user, so that the same credentials are for it.
    pub fn has_same_origin(&self, other: &Self) -> bool {
        match (&self.address, &other.address) {
            (RemoteAddress::Http { url, .. }, RemoteAddress::Http { url: other, .. }) => {
                url.origin() == other.origin()
            }
            (RemoteAddress::Ssh { url, .. }, RemoteAddress::Ssh { url: other, .. }) => {
                url.has_same_server(other)
            }
            _ => false,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn spellings_of_one_git_repository_have_one_identity() {
        let identity = |url: &str| GitRemote::new(url, None).unwrap().identity();
        let one = identity("https://git.example.com/acme/deploy");
        for spelling in [
            "https://git.example.com/acme/deploy.git",
            "https://git.example.com/acme/deploy.git/",
            "https://git.example.com/acme/deploy/.git",
            "https://git.example.com:443/acme/deploy/",
            "https://GIT.example.com./Acme/Deploy.GIT",
            "https://git.example.com/acme/%64eploy%2egit",
        ] {
            assert_eq!(identity(spelling), one, "{spelling}");
        }
        for other in [
            "http://git.example.com/acme/deploy",
            "https://git.example.com/acme/deploy2",
            "https://git.example.com:8443/acme/deploy",
        ] {
            assert_ne!(identity(other), one, "{other}");
        }
        let ssh = identity("git@git.example.com:acme/deploy.git");
        assert_eq!(identity("ssh://git@git.example.com/acme/deploy"), ssh);
        assert_ne!(ssh, one, "another way to the same server has other credentials");
        // Credentials of one host are never those of another.
        assert_ne!(identity("https://example.git"), identity("https://example"));
    }
}
