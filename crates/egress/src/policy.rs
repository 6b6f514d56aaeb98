//! Which URLs may be requested.

use std::net::SocketAddr;

use reqwest::Url;

use crate::error::{FetchError, FetchErrorKind};
use crate::network::ReachableNetwork;

/// The addresses that may be connected to, per scheme; `None` if the scheme is not used. Other schemes are never used.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct EgressPolicy {
    /// Addresses for `https` URLs.
    pub https: Option<ReachableNetwork>,
    /// Addresses for `http` URLs.
    pub http: Option<ReachableNetwork>,
}

impl EgressPolicy {
    /// HTTPS at public addresses.
    pub const PUBLIC_HTTPS: Self = Self { https: Some(ReachableNetwork::Public), http: None };

    /// The addresses that may be connected to for this URL. Names are decided when they are resolved.
    ///
    /// # Errors
    /// The URL has another scheme, names a user, or its host is an address that is not allowed.
    pub(crate) fn network(self, url: &Url) -> Result<ReachableNetwork, FetchError> {
        let refuse = |reason: &str| Err(FetchError::new(FetchErrorKind::NotAllowed, url, reason));
        let network = match url.scheme() {
            "https" => self.https,
            "http" => self.http,
            _ => return refuse("only http and https URLs are requested"),
        };
        // Credentials in a URL would be sent to wherever it points to, and be logged with it.
        if !url.username().is_empty() || url.password().is_some() {
            return refuse("a URL must not contain a user name or password");
        }
        match network {
            None => refuse(&format!("{} is not allowed here", url.scheme())),
            Some(network) if !network.allows_host(url) => refuse(network.describe_refusal()),
            Some(network) => Ok(network),
        }
    }

    /// The policy for URLs that a response from `url` at this address names. A server on the internet must not direct requests into
    /// a closed network, and one that is reached over TLS must not direct them to plain HTTP. An unknown address counts as public.
    pub(crate) fn after_response(self, url: &Url, remote: Option<SocketAddr>) -> Self {
        let is_private = remote.is_some_and(|address| ReachableNetwork::Private.contains(address.ip()));
        let narrow = |network: Option<ReachableNetwork>| {
            if is_private {
                network
            } else {
                network.filter(|network| network.includes_public()).map(|_| ReachableNetwork::Public)
            }
        };
        Self { https: narrow(self.https), http: narrow(self.http).filter(|_| url.scheme() == "http") }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const CLOSED: EgressPolicy = EgressPolicy {
        https: Some(ReachableNetwork::PublicAndPrivate),
        http: Some(ReachableNetwork::Private),
    };

    fn url(text: &str) -> Url {
        Url::parse(text).unwrap()
    }

    #[test]
    fn a_url_is_refused_by_scheme_user_and_address() {
        let policy = EgressPolicy::PUBLIC_HTTPS;
        for refused in [
            "file:///etc/passwd",
            "gopher://example.com/",
            "ftp://example.com/",
            "http://example.com/",
            "https://user@example.com/",
            "https://user:password@example.com/",
            "https://:password@example.com/",
            "https://127.0.0.1/",
            "https://0x7f.1/",
            "https://2130706433/",
            "https://\u{2460}\u{2461}\u{2466}.0.0.1/",
            "https://169.254.169.254/",
            "https://[fd00::1]/",
            "https://[::ffff:10.0.0.1]/",
        ] {
            let error = policy.network(&url(refused)).unwrap_err();
            assert_eq!(error.kind, FetchErrorKind::NotAllowed, "{refused}");
            assert!(!error.to_string().contains("password@"), "{error}");
        }
        assert_eq!(policy.network(&url("https://example.com/a")), Ok(ReachableNetwork::Public));
        assert_eq!(CLOSED.network(&url("http://10.0.0.7/")), Ok(ReachableNetwork::Private));
        assert!(CLOSED.network(&url("http://8.8.8.8/")).is_err(), "plain HTTP over the internet");
    }

    #[test]
    fn a_server_on_the_internet_names_no_address_of_the_closed_network() {
        let page = url("https://charts.example.com/");
        let at = |address: &str| CLOSED.after_response(&page, Some(address.parse().unwrap()));
        assert_eq!(at("8.8.8.8:443"), EgressPolicy::PUBLIC_HTTPS);
        assert_eq!(CLOSED.after_response(&page, None), EgressPolicy::PUBLIC_HTTPS, "an unknown address");
        assert_eq!(
            at("10.0.0.7:443"),
            EgressPolicy { http: None, ..CLOSED },
            "TLS does not lead to plain HTTP"
        );
        let plain = url("http://charts.internal/");
        let private = Some("10.0.0.7:80".parse().unwrap());
        assert_eq!(CLOSED.after_response(&plain, private), CLOSED);
        let everywhere = EgressPolicy { https: None, http: Some(ReachableNetwork::PublicAndPrivate) };
        let public = Some("8.8.8.8:80".parse().unwrap());
        assert_eq!(everywhere.after_response(&plain, public).http, Some(ReachableNetwork::Public));
    }
}
