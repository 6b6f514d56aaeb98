//! The API client: one typed method per operation of the REST API.
//!
//! Reads are retried after a connection error and in an outage of the server's database; writes too, with the same
//! `Idempotency-Key`, so that they take effect once (P2, P21). Nothing else is retried after a response.

use std::time::Duration;

use domain::fleet::FleetOverview;
use domain::page::ListQuery;
use http::{HeaderName, HeaderValue, Method};
use reqwest::Url;
use serde::Serialize;
use serde::de::DeserializeOwned;

use crate::{Error, ServerVersion};

mod agent;
mod attempts;
mod audit;
mod chart;
mod chart_repository;
mod cluster;
mod drift;
mod event;
mod git;
mod helm_release;
mod identity_provider;
mod incident;
mod join;
mod operation;
mod placement;
mod project;
mod search;
mod send;
mod session;
mod sse;
mod token;
mod user;
mod watch;
mod workload;

pub use agent::{AgentClient, AgentError, DesiredStateStream};
pub use chart::{RenderQuery, ValuesQuery};
pub use chart_repository::CatalogQuery;
pub use search::SearchRequest;
pub use token::generate_token_secret;
pub use watch::WatchStream;
pub use workload::RevisionQuery;

use send::ApiCall;

/// The only project so far.
const PROJECT: &str = "default";
/// The only organization.
const ORGANIZATION: &str = "default";

/// Timeout of one response; above the longest `wait` that the API accepts.
const RESPONSE_TIMEOUT: Duration = Duration::from_secs(75);

/// A client of one server with one token. Cheap to clone.
#[derive(Clone)]
pub struct Client {
    http: reqwest::Client,
    server_url: Url,
    bearer: Option<HeaderValue>,
}

impl std::fmt::Debug for Client {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Client").field("server", &self.server_url.as_str()).finish_non_exhaustive()
    }
}

impl Client {
    /// A client for `server_url` (`http://…` or `https://…`) with an API token, which may be empty.
    ///
    /// # Errors
    /// The URL or the token is invalid. Nothing is sent.
    pub fn new(server: &str, token: &str) -> Result<Self, Error> {
        let invalid = || Error::InvalidServerUrl(server.chars().take(200).collect());
        let url = Url::parse(server.trim()).map_err(|_| invalid())?;
        if !matches!(url.scheme(), "http" | "https") || !url.has_host() || !url.username().is_empty() {
            return Err(invalid());
        }
        let bearer = match token.trim() {
            "" => None,
            token => {
                let mut value =
                    HeaderValue::from_str(&format!("Bearer {token}")).map_err(|_| Error::InvalidToken)?;
                value.set_sensitive(true);
                Some(value)
            }
        };
        crate::tls::install_crypto_provider();
        let http = reqwest::Client::builder()
            .user_agent(concat!("flotilla/", env!("CARGO_PKG_VERSION")))
            .connect_timeout(Duration::from_secs(10))
            // A redirect could send the token to another host.
            .redirect(reqwest::redirect::Policy::none())
            .build()
            .map_err(|_| invalid())?;
        Ok(Self { http, server_url: url, bearer })
    }

    /// The URL of the server.
    pub fn server_url(&self) -> &str {
        self.server_url.as_str().trim_end_matches('/')
    }

    /// The server's version; needs no token.
    pub async fn get_version(&self) -> Result<ServerVersion, Error> {
        self.call(Method::GET, &["version"]).send_json().await
    }

    /// The fleet overview; the query selects the rows.
    pub async fn get_fleet(&self, query: &ListQuery) -> Result<FleetOverview, Error> {
        self.api_call(Method::GET, &["fleet"]).query(query).send_json().await
    }

    /// A call below `/api/v1`.
    fn api_call(&self, method: Method, path: &[&str]) -> ApiCall<'_> {
        let mut segments = vec!["api", "v1"];
        segments.extend(path);
        self.call(method, &segments)
    }

    /// A call below the project.
    fn project_call(&self, method: Method, path: &[&str]) -> ApiCall<'_> {
        let mut segments = vec!["projects", PROJECT];
        segments.extend(path);
        self.api_call(method, &segments)
    }

    fn call(&self, method: Method, path: &[&str]) -> ApiCall<'_> {
        let mut url = self.server_url.clone();
        if let Ok(mut segments) = url.path_segments_mut() {
            segments.pop_if_empty().extend(path);
        }
        let call = ApiCall::new(self, method, url);
        // A URL can't contain these as names: an empty or dot segment changes the path.
        if path.iter().any(|name| matches!(*name, "" | "." | "..")) { call.with_invalid_name() } else { call }
    }
}

/// Query parameters from a value that serialises to a flat map.
fn query_pairs(query: &impl Serialize) -> Vec<(String, String)> {
    let Ok(serde_json::Value::Object(fields)) = serde_json::to_value(query) else {
        return Vec::new();
    };
    let text = |value: serde_json::Value| match value {
        serde_json::Value::String(text) => text,
        other => other.to_string(),
    };
    fields.into_iter().filter(|(_, value)| !value.is_null()).map(|(key, value)| (key, text(value))).collect()
}

fn if_match(revision: i64) -> (HeaderName, HeaderValue) {
    let value = HeaderValue::from_str(&format!("\"{revision}\"")).unwrap_or(HeaderValue::from_static("*"));
    (http::header::IF_MATCH, value)
}

/// The cause of a successful response without the body that it has otherwise.
const NO_BODY: &str =
    "it has no body. A server without memory for a large response sends none after a change: read the object";

fn decode<T: DeserializeOwned>(status: u16, body: &[u8]) -> Result<T, Error> {
    let explain = |error: serde_json::Error| match body {
        [] => NO_BODY.to_owned(),
        _ => error.to_string(),
    };
    serde_json::from_slice(body).map_err(|error| Error::InvalidResponse { status, cause: explain(error) })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_response_without_a_body_says_that_a_change_may_have_been_made() {
        let error = decode::<String>(200, b"").unwrap_err().to_string();
        assert!(error.contains("(status 200)") && error.contains("read the object"), "{error}");
        let error = decode::<String>(200, b"{").unwrap_err().to_string();
        assert!(!error.contains("read the object"), "{error}");
    }

    #[test]
    fn a_server_url_must_be_http_without_credentials() {
        assert!(Client::new("http://127.0.0.1:4600", "flt_x").is_ok());
        for invalid in ["127.0.0.1:4600", "ftp://host", "", "http://user:pass@host", "javascript:alert(1)"] {
            assert!(matches!(Client::new(invalid, ""), Err(Error::InvalidServerUrl(_))), "{invalid}");
        }
        assert!(Client::new("http://host", "flt_\n").is_ok());
        assert!(matches!(Client::new("http://host", "flt_\nx"), Err(Error::InvalidToken)));
    }

    #[test]
    fn names_can_not_escape_their_path_segment() {
        let client = Client::new("http://host/sub/", "").unwrap();
        let call = client.project_call(Method::GET, &["workloads", "../tokens?x=#y/z"]);
        assert_eq!(
            call.url().as_str(),
            "http://host/sub/api/v1/projects/default/workloads/..%2Ftokens%3Fx=%23y%2Fz"
        );
    }

    #[tokio::test]
    async fn a_name_that_is_no_path_segment_is_rejected_before_a_request_is_sent() {
        let client = Client::new("http://127.0.0.1:9", "").unwrap();
        for name in ["", ".", ".."] {
            let error = client.get_workload(name).await.unwrap_err();
            assert!(matches!(error, Error::InvalidResponse { .. }), "{error}");
        }
    }

    #[test]
    fn the_token_is_not_in_the_debug_output() {
        let client = Client::new("http://host", "flt_secret").unwrap();
        assert!(!format!("{client:?}").contains("secret"));
    }
}
