//! Why a request failed.

use std::error::Error as _;

use reqwest::Url;

/// Most characters of a URL that a message repeats.
const MAX_URL_CHARS: usize = 200;

/// A request that has no response.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("{url}: {message}")]
pub struct FetchError {
    /// The kind of failure.
    pub kind: FetchErrorKind,
    /// The URL without user, query and fragment, which can contain secrets.
    pub url: String,
    /// What happened, as a sentence without its full stop.
    pub message: String,
}

/// Kinds of failures, by what can be done about them.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum FetchErrorKind {
    /// The policy forbids the URL, or one that it led to.
    NotAllowed,
    /// The server can't be reached, or the response broke off; later it may succeed.
    Unreachable,
    /// The response did not end in time.
    Timeout,
    /// The response arrives more slowly than the least rate.
    TooSlow,
    /// The response is larger than the limit.
    TooLarge,
    /// There were more redirects than are followed, or one that leads nowhere.
    Redirect,
    /// The server requests credentials that are not for the address where they are requested.
    Credentials,
    /// The response does not follow the protocol.
    InvalidResponse,
}

impl FetchError {
    pub(crate) fn new(kind: FetchErrorKind, url: &Url, message: impl Into<String>) -> Self {
        Self { kind, url: describe_url(url), message: message.into() }
    }

    pub(crate) fn from_reqwest(url: &Url, error: &reqwest::Error) -> Self {
        let refused = source_chain(error).find_map(|source| source.downcast_ref::<AddressRefused>());
        if let Some(refused) = refused {
            return Self::new(FetchErrorKind::NotAllowed, url, refused.to_string());
        }
        if error.is_timeout() {
            return Self::new(FetchErrorKind::Timeout, url, "the server did not respond in time");
        }
        // The outermost texts only repeat the URL; the innermost names the cause.
        let cause = source_chain(error).last().map_or_else(|| error.to_string(), ToString::to_string);
        Self::new(FetchErrorKind::Unreachable, url, format!("the request failed: {cause}"))
    }
}

fn source_chain(error: &reqwest::Error) -> impl Iterator<Item = &(dyn std::error::Error + 'static)> {
    std::iter::successors(error.source(), |error: &&(dyn std::error::Error + 'static)| (*error).source())
}

/// A name has only addresses that may not be connected to.
#[derive(Debug, Clone, thiserror::Error)]
#[error("{reason}")]
pub(crate) struct AddressRefused {
    pub reason: &'static str,
}

/// A URL for messages.
fn describe_url(url: &Url) -> String {
    let mut shown = format!("{}://{}", url.scheme(), url.host_str().unwrap_or_default());
    if let Some(port) = url.port() {
        shown.push_str(&format!(":{port}"));
    }
    shown.push_str(url.path());
    shown.chars().take(MAX_URL_CHARS).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_message_names_the_url_without_its_secrets() {
        let url = Url::parse("https://user:pass@store.example.com:444/a/b?signature=secret#c").unwrap();
        let error = FetchError::new(FetchErrorKind::TooLarge, &url, "the response is too large");
        assert_eq!(error.to_string(), "https://store.example.com:444/a/b: the response is too large");
    }
}
