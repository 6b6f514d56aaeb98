//! Credentials and the servers that receive them.

use base64::Engine as _;
use base64::prelude::BASE64_STANDARD;
use reqwest::Url;
use reqwest::header::HeaderValue;

/// The value of an `Authorization` header, and the origins (scheme, host and port) that it is sent to. A redirect, a chart or a
/// token endpoint at another origin does not receive it. The value does not occur in `Debug` output.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Credentials {
    header: HeaderValue,
    origins: Vec<String>,
}

/// The credentials can't be sent.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
pub enum InvalidCredentials {
    /// HTTP separates user name and password by the first colon.
    #[error("a user name must not contain a colon")]
    ColonInUserName,
    /// HTTP headers contain printable ASCII only.
    #[error("a token must consist of printable ASCII characters")]
    TokenCharacters,
}

impl Credentials {
    /// User name and password, for the origin of this URL.
    ///
    /// # Errors
    /// The user name contains a colon.
    pub fn basic(url: &Url, user_name: &str, password: &str) -> Result<Self, InvalidCredentials> {
        if user_name.contains(':') {
            return Err(InvalidCredentials::ColonInUserName);
        }
        let pair = BASE64_STANDARD.encode(format!("{user_name}:{password}"));
        Self::new(url, &format!("Basic {pair}"))
    }

    /// A bearer token, for the origin of this URL.
    ///
    /// # Errors
    /// The token has characters that no header may contain.
    pub fn bearer(url: &Url, token: &str) -> Result<Self, InvalidCredentials> {
        Self::new(url, &format!("Bearer {token}"))
    }

    fn new(url: &Url, value: &str) -> Result<Self, InvalidCredentials> {
        let mut header = HeaderValue::from_str(value).map_err(|_| InvalidCredentials::TokenCharacters)?;
        header.set_sensitive(true);
        Ok(Self { header, origins: vec![origin(url)] })
    }

    /// Sends them to the origin of this URL as well, such as that of the registry's token endpoint.
    #[must_use]
    pub fn also_for(mut self, url: &Url) -> Self {
        self.origins.push(origin(url));
        self
    }

    /// The header for a request to this URL; `None` at another origin.
    pub(crate) fn header_for(&self, url: &Url) -> Option<HeaderValue> {
        self.origins.contains(&origin(url)).then(|| self.header.clone())
    }
}

/// Scheme, host and port. The port of the scheme is left out, so that both spellings are equal.
fn origin(url: &Url) -> String {
    url.origin().ascii_serialization()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn url(text: &str) -> Url {
        Url::parse(text).unwrap()
    }

    #[test]
    fn credentials_are_bound_to_scheme_host_and_port() {
        let credentials =
            Credentials::basic(&url("https://charts.example.com/team/"), "ci", "s3cret").unwrap();
        assert!(credentials.header_for(&url("https://charts.example.com:443/other/a.tgz")).is_some());
        for other in [
            "http://charts.example.com/team/",
            "https://charts.example.com:8443/team/",
            "https://charts.example.com.evil.test/",
            "https://evil.test/charts.example.com/",
            "https://example.com/",
        ] {
            assert_eq!(credentials.header_for(&url(other)), None, "{other}");
        }
        let also = credentials.also_for(&url("https://auth.example.com/token"));
        assert!(also.header_for(&url("https://auth.example.com/other")).is_some());
    }

    #[test]
    fn debug_output_has_no_secret_and_invalid_credentials_are_refused() {
        let credentials = Credentials::basic(&url("https://a.test/"), "ci", "s3cret").unwrap();
        let shown = format!("{credentials:?}");
        assert!(
            !shown.contains("s3cret") && !shown.contains(&BASE64_STANDARD.encode("ci:s3cret")),
            "{shown}"
        );
        let colon = Credentials::basic(&url("https://a.test/"), "a:b", "c");
        assert_eq!(colon, Err(InvalidCredentials::ColonInUserName));
        let line = Credentials::bearer(&url("https://a.test/"), "a\r\nX-Other: b");
        assert_eq!(line, Err(InvalidCredentials::TokenCharacters));
    }
}
