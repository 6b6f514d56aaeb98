//! The agent's client: HTTP with a certificate instead of a token. Nothing is tried again here; the agent does that.

use std::io::Read as _;
use std::time::Duration;

use bytes::{Bytes, BytesMut};
use domain::plan::Effect;
use domain::report::{ReportAck, ReportBatch, Wants};
use domain::schema::Written;
use domain::{Digest, PlanId, ReleaseId};
use futures::StreamExt as _;
use futures::stream::BoxStream;
use http::Method;
use http::header::{ACCEPT_ENCODING, CONTENT_ENCODING, CONTENT_TYPE, RETRY_AFTER};
use reqwest::Url;
use serde::Serialize;
use serde::de::DeserializeOwned;

use super::send::{Answer, refusal};
use super::sse::Frames;
use crate::Error;
use crate::agent::{Begin, Begun, Issued, Register, Registered, Renew, WantsNotice};

/// How long the hub may hold a question about wants (`product.md` F.6).
const LONG_POLL: Duration = Duration::from_secs(55);
/// How long any other answer may take.
const ANSWER_WITHIN: Duration = Duration::from_secs(30);
/// The stream says something at least every 15 s; after three times that it counts as broken.
const SILENCE: Duration = Duration::from_secs(45);
/// Longest answer read, in bytes, and longest bundle after it was unpacked (P19).
const LONGEST_ANSWER: usize = 16 * 1024 * 1024;
/// Longest wait that a `Retry-After` may ask for.
const LONGEST_RETRY: Duration = Duration::from_secs(300);

/// Why the hub gave no answer, and for how long it wants to be left alone.
#[derive(Debug, thiserror::Error)]
#[error("{error}")]
pub struct AgentError {
    /// Why.
    pub error: Error,
    /// What its `Retry-After` said.
    pub retry_after: Option<Duration>,
}

impl AgentError {
    fn bare(error: Error) -> Self {
        Self { error, retry_after: None }
    }

    /// Whether the hub said no, as against not answering.
    pub fn is_refusal(&self) -> bool {
        matches!(self.error, Error::Refused(_))
    }
}

/// Speaks to one hub. Cheap to clone.
#[derive(Clone)]
pub struct AgentClient {
    http: reqwest::Client,
    hub: Url,
}

impl AgentClient {
    /// A client for the hub at `https://…` with this TLS configuration (see [`crate::tls`]).
    ///
    /// # Errors
    /// The address can't be used.
    pub fn new(hub: &str, tls: rustls::ClientConfig) -> Result<Self, Error> {
        let bad = || Error::BadServer(hub.chars().take(200).collect());
        let url = Url::parse(hub.trim()).map_err(|_| bad())?;
        if url.scheme() != "https" || !url.has_host() || !url.username().is_empty() {
            return Err(bad());
        }
        crate::tls::choose_provider();
        let http = reqwest::Client::builder()
            .user_agent(concat!("flotilla-agent/", env!("CARGO_PKG_VERSION")))
            .tls_backend_preconfigured(tls)
            .connect_timeout(Duration::from_secs(10))
            .redirect(reqwest::redirect::Policy::none())
            .build()
            .map_err(|_| bad())?;
        Ok(Self { http, hub: url })
    }

    /// Asks to join.
    pub async fn register(&self, register: &Register) -> Result<Registered, AgentError> {
        self.post("register", register).await
    }

    /// Asks for a new certificate.
    pub async fn renew(&self, renew: &Renew) -> Result<Issued, AgentError> {
        self.post("renew", renew).await
    }

    /// Begins; the answer fences the reports.
    pub async fn begin(&self, begin: &Begin) -> Result<Begun, AgentError> {
        self.post("begin", begin).await
    }

    /// Renews the lease.
    pub async fn heartbeat(&self) -> Result<(), AgentError> {
        self.post::<serde_json::Value>("heartbeat", &serde_json::json!({})).await.map(drop)
    }

    /// Hands reports over.
    pub async fn report(&self, batch: &ReportBatch) -> Result<ReportAck, AgentError> {
        self.post("reports", batch).await
    }

    /// The full list of wants, once its version is another than `since`; `None` if it stays for about a minute, or at
    /// once without `wait`.
    pub async fn wants(&self, since: i64, wait: bool) -> Result<Option<Wants>, AgentError> {
        let wait = if wait { LONG_POLL } else { Duration::ZERO };
        let mut url = self.url(&["wants"]);
        url.query_pairs_mut()
            .append_pair("since", &since.to_string())
            .append_pair("wait", &wait.as_secs().to_string());
        let request = self.http.request(Method::GET, url).timeout(wait + ANSWER_WITHIN);
        let (status, body) = self.send(request).await?;
        if status == 304 {
            return Ok(None);
        }
        super::decode(status, &body).map(Some).map_err(AgentError::bare)
    }

    /// The bytes of a bundle; the caller checks the digest.
    pub async fn bundle(&self, release: ReleaseId, digest: &Digest) -> Result<Vec<u8>, AgentError> {
        self.bytes(self.url(&["releases", &release.to_string(), "bundle", digest.as_str()])).await
    }

    /// The bytes of the bundle that a plan asks about; the caller checks the digest.
    pub async fn planned_bundle(&self, plan: PlanId, digest: &Digest) -> Result<Vec<u8>, AgentError> {
        self.bytes(self.url(&["plans", &plan.to_string(), "bundle", digest.as_str()])).await
    }

    /// Answers a plan's question.
    pub async fn answer(&self, plan: PlanId, effect: &Effect) -> Result<(), AgentError> {
        let path = ["plans", &plan.to_string(), "effect"];
        self.post_to::<serde_json::Value>(&path, effect).await.map(drop)
    }

    /// Gives the schema that a report named.
    pub async fn schema(&self, schema: &Written) -> Result<(), AgentError> {
        let url = self.url(&["schema", schema.digest.as_str()]);
        let request = self.http.request(Method::PUT, url).timeout(ANSWER_WITHIN * 4);
        let request = request.header(CONTENT_TYPE, "application/json").body(schema.text.clone());
        self.send(request).await.map(drop)
    }

    async fn bytes(&self, url: Url) -> Result<Vec<u8>, AgentError> {
        let request = self.http.request(Method::GET, url).timeout(ANSWER_WITHIN * 4);
        let (_, body) = self.send(request.header(ACCEPT_ENCODING, "br")).await?;
        Ok(body.to_vec())
    }

    /// Follows the version of the wants.
    pub async fn stream(&self) -> Result<WantsStream, AgentError> {
        let request = self.http.request(Method::GET, self.url(&["stream"])).send();
        let answer = tokio::time::timeout(SILENCE, request).await;
        let answer = answer.map_err(|_| self.silent())?.map_err(|error| self.unreachable(&error))?;
        if !answer.status().is_success() {
            return Err(self.refused(answer).await);
        }
        Ok(WantsStream { bytes: answer.bytes_stream().boxed(), frames: Frames::default() })
    }

    async fn post<T: DeserializeOwned>(&self, what: &str, body: &impl Serialize) -> Result<T, AgentError> {
        self.post_to(&[what], body).await
    }

    async fn post_to<T: DeserializeOwned>(
        &self,
        path: &[&str],
        body: &impl Serialize,
    ) -> Result<T, AgentError> {
        let body = serde_json::to_vec(body)
            .map_err(|error| AgentError::bare(Error::NotUnderstood { status: 0, why: error.to_string() }))?;
        let request = self.http.request(Method::POST, self.url(path)).timeout(ANSWER_WITHIN);
        let (status, body) = self.send(request.header(CONTENT_TYPE, "application/json").body(body)).await?;
        super::decode(status, &body).map_err(AgentError::bare)
    }

    async fn send(&self, request: reqwest::RequestBuilder) -> Result<(u16, Bytes), AgentError> {
        let answer = request.send().await.map_err(|error| self.unreachable(&error))?;
        let status = answer.status().as_u16();
        if status >= 400 {
            return Err(self.refused(answer).await);
        }
        let body = self.body(answer).await?;
        Ok((status, body))
    }

    /// The whole body, unpacked; bounded on both sides of that.
    async fn body(&self, answer: reqwest::Response) -> Result<Bytes, AgentError> {
        let status = answer.status().as_u16();
        let wrong = |why: &str| AgentError::bare(Error::NotUnderstood { status, why: why.to_owned() });
        let packed = answer.headers().get(CONTENT_ENCODING).is_some_and(|encoding| encoding == "br");
        let mut bytes = BytesMut::new();
        let mut chunks = answer.bytes_stream();
        while let Some(chunk) = chunks.next().await {
            let chunk = chunk.map_err(|error| self.unreachable(&error))?;
            if bytes.len() + chunk.len() > LONGEST_ANSWER {
                return Err(wrong("it is too long"));
            }
            bytes.extend_from_slice(&chunk);
        }
        if !packed {
            return Ok(bytes.freeze());
        }
        let mut whole = Vec::new();
        let mut unpacked = brotli::Decompressor::new(&*bytes, 64 * 1024).take(LONGEST_ANSWER as u64 + 1);
        let read = unpacked.read_to_end(&mut whole);
        if read.is_err() || whole.len() > LONGEST_ANSWER {
            return Err(wrong("it is too long or can't be unpacked"));
        }
        Ok(whole.into())
    }

    async fn refused(&self, answer: reqwest::Response) -> AgentError {
        let status = answer.status().as_u16();
        let seconds = answer.headers().get(RETRY_AFTER).and_then(|value| value.to_str().ok()?.parse().ok());
        let retry_after = seconds.map(|seconds| Duration::from_secs(seconds).min(LONGEST_RETRY));
        let body = self.body(answer).await.unwrap_or_default();
        AgentError { error: refusal(&Answer { body, status }), retry_after }
    }

    fn url(&self, path: &[&str]) -> Url {
        let mut url = self.hub.clone();
        if let Ok(mut segments) = url.path_segments_mut() {
            segments.pop_if_empty().extend(["agent", "v1"]).extend(path);
        }
        url
    }

    fn silent(&self) -> AgentError {
        let server = self.hub.as_str().to_owned();
        AgentError::bare(Error::Unreachable { server, why: "no answer in time".to_owned() })
    }

    fn unreachable(&self, error: &reqwest::Error) -> AgentError {
        let mut cause: &dyn std::error::Error = error;
        while let Some(next) = cause.source() {
            cause = next;
        }
        let server = self.hub.as_str().trim_end_matches('/').to_owned();
        AgentError::bare(Error::Unreachable { server, why: cause.to_string() })
    }
}

/// The version of the wants, as it changes.
pub struct WantsStream {
    bytes: BoxStream<'static, reqwest::Result<Bytes>>,
    frames: Frames,
}

impl WantsStream {
    /// The next version; `None` once the stream is over or too long silent. Cancel safe.
    pub async fn next(&mut self) -> Option<i64> {
        loop {
            while let Some(frame) = self.frames.next() {
                if let Ok(WantsNotice { version }) = serde_json::from_str(&frame.data) {
                    return Some(version);
                }
            }
            match tokio::time::timeout(SILENCE, self.bytes.next()).await {
                Ok(Some(Ok(bytes))) => self.frames.feed(&bytes),
                _ => return None,
            }
        }
    }
}
