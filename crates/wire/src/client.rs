//! The client: one typed call per operation of the API.
//!
//! A read that meets a broken connection is tried again; a write is tried again under the same `Idempotency-Key`, so
//! that it happens once (P2). Nothing is tried again that the server has answered.

use std::time::Duration;

use domain::fleet::Fleet;
use domain::page::ListQuery;
use http::{HeaderName, HeaderValue, Method};
use reqwest::Url;
use serde::Serialize;
use serde::de::DeserializeOwned;

use crate::{Error, Version};

mod agent;
mod cluster;
mod event;
mod join;
mod placement;
mod send;
mod sse;
mod token;
mod watch;
mod workload;

pub use agent::{AgentClient, AgentError, WantsStream};
pub use watch::Watch;

use send::Call;

/// The only project there is so far.
const PROJECT: &str = "default";

/// How long one answer may take; above the longest wait that can be asked for.
const ANSWER_WITHIN: Duration = Duration::from_secs(75);

/// Speaks to one server in the name of one token. Cheap to clone.
#[derive(Clone)]
pub struct Client {
    http: reqwest::Client,
    server: Url,
    bearer: Option<HeaderValue>,
}

impl std::fmt::Debug for Client {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Client").field("server", &self.server.as_str()).finish_non_exhaustive()
    }
}

impl Client {
    /// A client for `server` (`http://…` or `https://…`) with an API token; an empty token for what needs none.
    ///
    /// # Errors
    /// The address or the token can't be used. Nothing is sent yet.
    pub fn new(server: &str, token: &str) -> Result<Self, Error> {
        let bad = || Error::BadServer(server.chars().take(200).collect());
        let url = Url::parse(server.trim()).map_err(|_| bad())?;
        if !matches!(url.scheme(), "http" | "https") || !url.has_host() || !url.username().is_empty() {
            return Err(bad());
        }
        let bearer = match token.trim() {
            "" => None,
            token => {
                let mut value =
                    HeaderValue::from_str(&format!("Bearer {token}")).map_err(|_| Error::BadToken)?;
                value.set_sensitive(true);
                Some(value)
            }
        };
        crate::tls::choose_provider();
        let http = reqwest::Client::builder()
            .user_agent(concat!("flotilla/", env!("CARGO_PKG_VERSION")))
            .connect_timeout(Duration::from_secs(10))
            // A redirect would carry the token to another place.
            .redirect(reqwest::redirect::Policy::none())
            .build()
            .map_err(|_| bad())?;
        Ok(Self { http, server: url, bearer })
    }

    /// The address of the server.
    pub fn server(&self) -> &str {
        self.server.as_str().trim_end_matches('/')
    }

    /// Which version the server has; needs no token.
    pub async fn version(&self) -> Result<Version, Error> {
        self.call(Method::GET, &["version"]).json().await
    }

    /// The fleet at a glance; the query chooses the rows.
    pub async fn fleet(&self, query: &ListQuery) -> Result<Fleet, Error> {
        self.api(Method::GET, &["fleet"]).query(query).json().await
    }

    /// A call below `/api/v1`.
    fn api(&self, method: Method, path: &[&str]) -> Call<'_> {
        let mut whole = vec!["api", "v1"];
        whole.extend(path);
        self.call(method, &whole)
    }

    /// A call below the project.
    fn project(&self, method: Method, path: &[&str]) -> Call<'_> {
        let mut whole = vec!["projects", PROJECT];
        whole.extend(path);
        self.api(method, &whole)
    }

    fn call(&self, method: Method, path: &[&str]) -> Call<'_> {
        let mut url = self.server.clone();
        if let Ok(mut segments) = url.path_segments_mut() {
            segments.pop_if_empty().extend(path);
        }
        let call = Call::new(self, method, url);
        // An address can't hold these as names: they would be taken for steps and lead elsewhere.
        if path.iter().any(|name| matches!(*name, "" | "." | "..")) { call.impossible() } else { call }
    }
}

/// The query of an address, from anything flat that serialises to a map.
fn pairs(query: &impl Serialize) -> Vec<(String, String)> {
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

fn decode<T: DeserializeOwned>(status: u16, body: &[u8]) -> Result<T, Error> {
    serde_json::from_slice(body).map_err(|error| Error::NotUnderstood { status, why: error.to_string() })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_server_must_be_an_http_address_without_a_password_in_it() {
        assert!(Client::new("http://127.0.0.1:4600", "flt_x").is_ok());
        for bad in ["127.0.0.1:4600", "ftp://host", "", "http://user:pass@host", "javascript:alert(1)"] {
            assert!(matches!(Client::new(bad, ""), Err(Error::BadServer(_))), "{bad}");
        }
        assert!(Client::new("http://host", "flt_\n").is_ok());
        assert!(matches!(Client::new("http://host", "flt_\nx"), Err(Error::BadToken)));
    }

    #[test]
    fn names_can_not_climb_out_of_their_place_in_the_address() {
        let client = Client::new("http://host/sub/", "").unwrap();
        let call = client.project(Method::GET, &["workloads", "../tokens?x=#y/z"]);
        assert_eq!(
            call.url().as_str(),
            "http://host/sub/api/v1/projects/default/workloads/..%2Ftokens%3Fx=%23y%2Fz"
        );
    }

    #[tokio::test]
    async fn a_name_that_an_address_can_not_hold_is_refused_before_anything_is_sent() {
        let client = Client::new("http://127.0.0.1:9", "").unwrap();
        for name in ["", ".", ".."] {
            let error = client.workload_get(name).await.unwrap_err();
            assert!(matches!(error, Error::NotUnderstood { .. }), "{error}");
        }
    }

    #[test]
    fn the_token_is_not_in_the_debug_text() {
        let client = Client::new("http://host", "flt_secret").unwrap();
        assert!(!format!("{client:?}").contains("secret"));
    }
}
