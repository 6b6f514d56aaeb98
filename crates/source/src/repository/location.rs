//! Addresses of repositories.

use std::fmt;

use domain::chart::is_chart_name;
use domain::image::ImageReference;
use egress::{Credentials, Url, registry_host};

use super::error::{RepositoryError, RepositoryErrorKind, shorten};
use crate::identity::{authority_identity, url_identity};

/// Longest URL of a repository, in bytes.
const MAX_URL_BYTES: usize = 500;
/// The token endpoint of Docker Hub, whose host differs from that of the registry.
const DOCKER_HUB_TOKENS: &str = "https://auth.docker.io/token";

/// A repository of charts, with the credentials for it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Repository {
    pub(super) location: Location,
    pub(super) credentials: Option<Credentials>,
}

/// What a user says about a repository.
#[derive(Debug, Clone, Copy, Default)]
pub struct RepositoryOptions<'a> {
    /// `https://host/path` or `http://host/path` of the folder with `index.yaml`, or `oci://host/path`.
    pub url: &'a str,
    /// Whether an OCI registry is requested over plain HTTP.
    pub plain_http: bool,
    /// The credentials.
    pub login: Option<Login<'a>>,
}

/// User name and password.
#[derive(Clone, Copy)]
pub struct Login<'a> {
    /// The user name; empty for a token.
    pub user_name: &'a str,
    /// The password, or a token that takes its place.
    pub password: &'a str,
    /// URL of the registry's token endpoint, if it is at another host than the registry; empty otherwise.
    pub token_endpoint: &'a str,
}

impl fmt::Debug for Login<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Login").field("user_name", &self.user_name).finish_non_exhaustive()
    }
}

/// The address or the credentials of a repository are not valid.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("The repository is not valid: {0}.")]
pub struct InvalidRepository(String);

#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum Location {
    /// The folder with `index.yaml`; its path ends with a slash.
    Http(Url),
    Oci(OciRegistry),
}

/// A registry, and the path below which it has charts.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct OciRegistry {
    host: String,
    path: String,
    plain_http: bool,
}

/// One chart or artifact of a registry.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct OciReference {
    /// `https://host/v2/path/name/`.
    pub(super) base: Url,
    /// The tag of the version, or the digest of a manifest; empty without one.
    pub(super) tag: String,
    /// `oci://host/path/name`, for messages.
    pub(super) shown: String,
}

impl Repository {
    /// Checks what a user says.
    ///
    /// # Errors
    /// A URL is not valid or contains credentials, or the credentials can't be sent.
    pub fn new(options: RepositoryOptions<'_>) -> Result<Self, InvalidRepository> {
        let location = Location::parse(options.url.trim(), options.plain_http)?;
        let credentials = options.login.map(|login| location.credentials(login)).transpose()?;
        Ok(Self { location, credentials })
    }
}

impl Repository {
    /// Whether it is a registry, which has no list of its charts.
    pub const fn is_registry(&self) -> bool {
        matches!(self.location, Location::Oci(_))
    }

    /// The repository at another path of the same registry, with the same credentials; `None` if this one is no registry, or `url` is
    /// not below its path.
    pub fn at_path_below(&self, url: &str) -> Option<Self> {
        let Location::Oci(registry) = &self.location else { return None };
        let Ok(Location::Oci(below)) = Location::parse(url, registry.plain_http) else { return None };
        let is_below = registry.path.is_empty()
            || below
                .path
                .strip_prefix(&registry.path)
                .is_some_and(|rest| rest.is_empty() || rest.starts_with('/'));
        (is_below && below.authority() == registry.authority())
            .then(|| Self { location: Location::Oci(below), credentials: self.credentials.clone() })
    }

    /// Whether another repository has the same scheme, host and port, so that the same credentials are for it.
    pub fn has_same_origin(&self, other: &Self) -> bool {
        match (&self.location, &other.location) {
            (Location::Http(a), Location::Http(b)) => a.origin() == b.origin(),
            (Location::Oci(a), Location::Oci(b)) => {
                a.authority() == b.authority() && a.plain_http == b.plain_http
            }
            _ => false,
        }
    }

    /// The URL in the form that all spellings of a repository share, for comparisons only. A registry is the same with and without TLS.
    pub fn identity(&self) -> String {
        match &self.location {
            Location::Http(url) => url_identity(url),
            Location::Oci(registry) => format!("oci://{}/{}", registry.authority(), registry.path),
        }
    }
}

impl fmt::Display for Repository {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match &self.location {
            Location::Http(url) => f.write_str(url.as_str()),
            Location::Oci(registry) => write!(f, "oci://{}", registry.join("")),
        }
    }
}

fn invalid<T>(reason: impl Into<String>) -> Result<T, InvalidRepository> {
    Err(InvalidRepository(reason.into()))
}

impl Location {
    fn parse(text: &str, plain_http: bool) -> Result<Self, InvalidRepository> {
        if text.len() > MAX_URL_BYTES {
            return invalid(format!("its URL has {} bytes; at most {MAX_URL_BYTES} are allowed", text.len()));
        }
        if let Some(rest) = text.strip_prefix("oci://") {
            return OciRegistry::parse(rest, plain_http).map(Self::Oci);
        }
        let mut url = parse_url(text)?;
        if !matches!(url.scheme(), "https" | "http") {
            return invalid(format!(
                "{:?} is no scheme of a repository; write https:// or oci://",
                shorten(url.scheme())
            ));
        }
        if url.query().is_some() || url.fragment().is_some() {
            return invalid("its URL must not contain \"?\" or \"#\"");
        }
        if url.path().ends_with("/index.yaml") {
            return invalid("write the URL of the folder, without index.yaml");
        }
        if !url.path().ends_with('/') {
            let path = format!("{}/", url.path());
            url.set_path(&path);
        }
        Ok(Self::Http(url))
    }

    fn credentials(&self, login: Login<'_>) -> Result<Credentials, InvalidRepository> {
        let (url, hub) = match self {
            Self::Http(url) => (url.clone(), false),
            Self::Oci(registry) => {
                (registry.base()?, registry_host(&registry.host) == registry_host("docker.io"))
            }
        };
        let is_token = login.user_name.is_empty();
        if is_token && matches!(self, Self::Oci(_)) {
            return invalid("a registry needs a user name with the token as its password");
        }
        let credentials = match is_token {
            true => Credentials::bearer(&url, login.password),
            false => Credentials::basic(&url, login.user_name, login.password),
        };
        let mut credentials = credentials.map_err(|error| InvalidRepository(error.to_string()))?;
        let endpoint =
            if login.token_endpoint.is_empty() && hub { DOCKER_HUB_TOKENS } else { login.token_endpoint };
        if !endpoint.is_empty() {
            credentials = credentials.also_for(&parse_url(endpoint)?);
        }
        Ok(credentials)
    }
}

/// A URL without credentials, which would be stored and logged with it.
fn parse_url(text: &str) -> Result<Url, InvalidRepository> {
    let url = match Url::parse(text) {
        Ok(url) if url.has_host() => url,
        _ => return invalid(format!("{:?} is no URL, such as https://charts.example.com", shorten(text))),
    };
    if !url.username().is_empty() || url.password().is_some() {
        return invalid("its URL must not contain a user name or password; they are separate fields");
    }
    Ok(url)
}

impl OciRegistry {
    pub(super) fn parse(rest: &str, plain_http: bool) -> Result<Self, InvalidRepository> {
        let (host, path) = rest.split_once('/').unwrap_or((rest, ""));
        let registry = Self { host: host.to_owned(), path: path.trim_matches('/').to_owned(), plain_http };
        if host.contains('@') {
            return invalid("its URL must not contain a user name or password; they are separate fields");
        }
        // The rules for images are the same; any name completes the path.
        let example = registry.join("chart");
        match ImageReference::parse(&example) {
            Ok(reference)
                if reference.registry == host && reference.tag.is_none() && reference.digest.is_none() =>
            {
                registry.base().map(|_| registry)
            }
            Ok(_) => invalid(format!(
                "oci://{} names no registry and path, such as oci://ghcr.io/charts",
                shorten(rest)
            )),
            Err(reason) => invalid(format!("oci://{}: {reason}", shorten(rest))),
        }
    }

    /// Host, path and this name.
    fn join(&self, name: &str) -> String {
        let parts = [self.host.as_str(), self.path.as_str(), name];
        parts.into_iter().filter(|part| !part.is_empty()).collect::<Vec<_>>().join("/")
    }

    /// Host and port that are connected to, in the form that all spellings share: without the usual port, and one for Docker Hub.
    fn authority(&self) -> String {
        self.base().map_or_else(|_| self.host.clone(), |base| authority_identity(&base))
    }

    /// The URL of the registry's API.
    fn base(&self) -> Result<Url, InvalidRepository> {
        let scheme = if self.plain_http { "http" } else { "https" };
        parse_url(&format!("{scheme}://{}/v2/", registry_host(&self.host)))
    }

    /// One chart, and one version of it.
    ///
    /// # Errors
    /// The registry can't have a chart of this name or version.
    pub(super) fn chart(&self, name: &str, version: Option<&str>) -> Result<OciReference, RepositoryError> {
        let shown = format!("oci://{}", self.join(name));
        let cannot_exist = |reason: &str| {
            let message = format!("There is no chart {} in a registry: {reason}.", shorten(&shown));
            RepositoryError::new(RepositoryErrorKind::NotFound, message, "Check the name and the version.")
        };
        if !is_chart_name(name) {
            return Err(cannot_exist("its name is not valid"));
        }
        // A tag can't contain the plus of a version with build metadata; Helm replaces it.
        let tag = version.unwrap_or_default().replace('+', "_");
        let reference = if tag.is_empty() { self.join(name) } else { format!("{}:{tag}", self.join(name)) };
        let reference = ImageReference::parse(&reference).map_err(cannot_exist)?;
        let base = self.base().ok().and_then(|base| base.join(&format!("{}/", reference.repository)).ok());
        let base = base.ok_or_else(|| cannot_exist("its name is not valid"))?;
        Ok(OciReference { base, tag, shown })
    }

    /// An artifact: the repository that this location names itself, at a tag or a digest.
    ///
    /// # Errors
    /// The location names a registry without a repository.
    pub(super) fn artifact(&self, reference: &str) -> Result<OciReference, InvalidRepository> {
        let shown = format!("oci://{}", self.join(""));
        if self.path.is_empty() {
            return invalid(format!("{shown} names no artifact"));
        }
        let base = self.base()?.join(&format!("{}/", self.path));
        let base = base.map_err(|_| InvalidRepository(format!("{shown} is no URL")))?;
        Ok(OciReference { base, tag: reference.to_owned(), shown })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn parse(url: &str) -> Result<Repository, String> {
        let options = RepositoryOptions { url, ..RepositoryOptions::default() };
        Repository::new(options).map_err(|error| error.to_string())
    }

    #[test]
    fn a_repository_is_a_folder_or_the_path_of_a_registry() {
        for (url, shown) in [
            ("https://charts.example.com", "https://charts.example.com/"),
            (" https://charts.example.com/team ", "https://charts.example.com/team/"),
            ("http://10.0.0.7:8080/charts/", "http://10.0.0.7:8080/charts/"),
            ("oci://ghcr.io/stefanprodan/charts/", "oci://ghcr.io/stefanprodan/charts"),
            ("oci://registry.example.com:5000", "oci://registry.example.com:5000"),
        ] {
            assert_eq!(parse(url).map(|repository| repository.to_string()), Ok(shown.to_owned()), "{url}");
        }
    }

    #[test]
    fn spellings_of_one_repository_have_one_identity() {
        let identity = |url: &str| parse(url).map(|repository| repository.identity()).unwrap();
        for (one, other) in [
            ("https://charts.example.com/team", "https://Charts.Example.com:443/%74eam/"),
            ("oci://ghcr.io/charts", "oci://ghcr.io:443/charts/"),
            ("oci://docker.io/acme", "oci://registry-1.docker.io/acme"),
        ] {
            assert_eq!(identity(one), identity(other), "{one} {other}");
        }
        assert_ne!(identity("https://charts.example.com/a"), identity("https://charts.example.com/A"));
        assert_ne!(identity("oci://ghcr.io/charts"), identity("oci://ghcr.io/charts/web"));
        let registry = parse("oci://ghcr.io/acme").unwrap();
        assert!(registry.at_path_below("oci://ghcr.io:443/acme/deploy").is_some());
        assert!(registry.at_path_below("oci://ghcr.io/acme-2/deploy").is_none());
    }

    #[test]
    fn other_urls_are_refused_with_the_reason() {
        for (url, reason) in [
            ("charts.example.com", "is no URL"),
            ("", "is no URL"),
            ("file:///etc", "is no URL"),
            ("file://host/etc", "\"file\" is no scheme"),
            ("ftp://charts.example.com/", "\"ftp\" is no scheme"),
            ("https://ci:secret@charts.example.com/", "must not contain a user name"),
            ("oci://ci:secret@ghcr.io/charts", "must not contain a user name"),
            ("https://charts.example.com/?token=secret", "must not contain \"?\""),
            ("https://charts.example.com/index.yaml", "without index.yaml"),
            ("oci://charts", "names no registry"),
            ("oci://ghcr.io/charts/web:1.0.0", "repository name"),
            ("oci://ghcr.io/../admin", "repository name"),
            ("oci://ghcr.io/Charts", "lower case"),
        ] {
            let error = parse(url).unwrap_err();
            assert!(error.contains(reason), "{url}: {error}");
            assert!(!error.contains("secret"), "{error}");
        }
        assert!(parse(&format!("https://{}/", "a".repeat(500))).unwrap_err().contains("at most 500"));
    }

    #[test]
    fn a_chart_of_a_registry_has_a_url_and_a_tag() {
        let registry = OciRegistry::parse("docker.io/bitnamicharts", false).unwrap();
        let chart = registry.chart("nginx", Some("1.2.3+build.4")).unwrap();
        assert_eq!(chart.base.as_str(), "https://registry-1.docker.io/v2/bitnamicharts/nginx/");
        assert_eq!((&*chart.tag, &*chart.shown), ("1.2.3_build.4", "oci://docker.io/bitnamicharts/nginx"));
        for (name, version) in [
            ("Web", "1.0.0"),
            ("../web", "1.0.0"),
            ("web", "1.0.0/../.."),
            ("web", "1.0 .0"),
            ("a?b", "1.0.0"),
        ] {
            let error = registry.chart(name, Some(version)).unwrap_err();
            assert_eq!(error.kind, RepositoryErrorKind::NotFound, "{name} {version}");
        }
    }

    #[test]
    fn the_password_of_a_repository_is_not_shown() {
        let login =
            Login { user_name: "ci", password: "s3cret", token_endpoint: "https://auth.example.com/token" };
        let options = RepositoryOptions {
            url: "oci://registry.example.com/charts",
            login: Some(login),
            ..Default::default()
        };
        let shown = format!("{options:?} {:?}", Repository::new(options).unwrap());
        assert!(!shown.contains("s3cret"), "{shown}");
        assert!(shown.contains("https://auth.example.com"), "{shown}");
        let wrong = Login { user_name: "a:b", ..login };
        let error = Repository::new(RepositoryOptions { login: Some(wrong), ..options }).unwrap_err();
        assert!(error.to_string().contains("colon"), "{error}");
    }
}
