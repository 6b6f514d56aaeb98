//! The agent's client: HTTP with a client certificate instead of a token. Does not retry; the agent does.

use std::io::Read as _;
use std::time::Duration;

use bytes::Bytes;
use domain::plan::ClusterPlan;
use domain::report::{DesiredState, Heartbeat, ReportAck, ReportBatch};
use domain::schema::EncodedSchema;
use domain::{Digest, PlanId, ReleaseId};
use futures::StreamExt as _;
use futures::stream::BoxStream;
use http::Method;
use http::header::{ACCEPT_ENCODING, CONTENT_ENCODING, CONTENT_TYPE, RETRY_AFTER};
use reqwest::Url;
use serde::Serialize;
use serde::de::DeserializeOwned;

use super::send::{BodyError, read_body, response_error};
use super::sse::SseParser;
use crate::Error;
use crate::agent::{
    DesiredStateNotice, IssuedCertificate, RegisterRequest, RegisterResponse, RenewRequest, SessionRequest,
    SessionResponse, SubmittedHelmRelease,
};

/// How long the hub may delay a response with an unchanged desired state.
const LONG_POLL: Duration = Duration::from_secs(55);
/// Timeout of a response, in addition to [`LONG_POLL`].
const RESPONSE_TIMEOUT: Duration = Duration::from_secs(30);
/// The stream sends a ping at least every 15 s; without bytes for three times that it counts as broken.
const IDLE_TIMEOUT: Duration = Duration::from_secs(45);
/// Maximum size of a response in bytes, before and after decompression (P19).
const MAX_RESPONSE_BYTES: usize = 16 * 1024 * 1024;
/// Upper bound of a `Retry-After`.
const MAX_RETRY_AFTER: Duration = Duration::from_secs(300);

/// Why a call to the hub failed, and when to retry it.
#[derive(Debug, thiserror::Error)]
#[error("{error}")]
pub struct AgentError {
    /// The cause.
    pub error: Error,
    /// The response's `Retry-After`.
    pub retry_after: Option<Duration>,
}

impl AgentError {
    fn without_retry_after(error: Error) -> Self {
        Self { error, retry_after: None }
    }
}

/// A client of one hub. Cheap to clone.
#[derive(Clone)]
pub struct AgentClient {
    http: reqwest::Client,
    hub: Url,
}

impl AgentClient {
    /// A client for the hub at `https://…` with this TLS configuration (see [`crate::tls`]).
    ///
    /// # Errors
    /// The URL is invalid.
    pub fn new(hub: &str, tls: rustls::ClientConfig) -> Result<Self, Error> {
        let invalid = || Error::InvalidServerUrl(hub.chars().take(200).collect());
        let url = Url::parse(hub.trim()).map_err(|_| invalid())?;
        if url.scheme() != "https" || !url.has_host() || !url.username().is_empty() {
            return Err(invalid());
        }
        crate::tls::install_crypto_provider();
        let http = reqwest::Client::builder()
            .user_agent(concat!("flotilla-agent/", env!("CARGO_PKG_VERSION")))
            .tls_backend_preconfigured(tls)
            .connect_timeout(Duration::from_secs(10))
            .redirect(reqwest::redirect::Policy::none())
            .build()
            .map_err(|_| invalid())?;
        Ok(Self { http, hub: url })
    }

    /// Registers an agent. While the registration is pending, the hub delays its response for about a minute, until a
    /// person has decided.
    pub async fn register(&self, register: &RegisterRequest) -> Result<RegisterResponse, AgentError> {
        let mut url = self.url(&["register"]);
        url.query_pairs_mut().append_pair("wait", &LONG_POLL.as_secs().to_string());
        self.post_json(url, register, LONG_POLL + RESPONSE_TIMEOUT).await
    }

    /// Requests a new certificate.
    pub async fn renew_certificate(&self, renew: &RenewRequest) -> Result<IssuedCertificate, AgentError> {
        self.post("renew", renew).await
    }

    /// Starts a session; its incarnation fences the reports.
    pub async fn start_session(&self, request: &SessionRequest) -> Result<SessionResponse, AgentError> {
        self.post("sessions", request).await
    }

    /// Renews the lease, or reports that the API server does not respond.
    pub async fn send_heartbeat(&self, heartbeat: &Heartbeat) -> Result<(), AgentError> {
        self.post::<serde_json::Value>("heartbeat", heartbeat).await.map(drop)
    }

    /// Sends a batch of reports.
    pub async fn send_reports(&self, batch: &ReportBatch) -> Result<ReportAck, AgentError> {
        self.post("reports", batch).await
    }

    /// The full desired state if its version differs from `since`, otherwise `None`. With `wait`, `None` is returned only
    /// after about a minute.
    pub async fn fetch_desired_state(
        &self,
        since: i64,
        wait: bool,
    ) -> Result<Option<DesiredState>, AgentError> {
        let wait = if wait { LONG_POLL } else { Duration::ZERO };
        let mut url = self.url(&["desired-state"]);
        url.query_pairs_mut()
            .append_pair("since", &since.to_string())
            .append_pair("wait", &wait.as_secs().to_string());
        let request = self.http.request(Method::GET, url).timeout(wait + RESPONSE_TIMEOUT);
        let (status, body) = self.send(request).await?;
        if status == 304 {
            return Ok(None);
        }
        super::decode(status, &body).map(Some).map_err(AgentError::without_retry_after)
    }

    /// The bytes of a bundle; the caller checks the digest.
    pub async fn fetch_bundle(&self, release: ReleaseId, digest: &Digest) -> Result<Vec<u8>, AgentError> {
        self.fetch_bytes(self.url(&["releases", &release.to_string(), "bundle", digest.as_str()])).await
    }

    /// The bytes of the bundle for a plan's dry run; the caller checks the digest.
    pub async fn fetch_planned_bundle(&self, plan: PlanId, digest: &Digest) -> Result<Vec<u8>, AgentError> {
        self.fetch_bytes(self.url(&["plans", &plan.to_string(), "bundle", digest.as_str()])).await
    }

    /// Sends the result of a plan's dry run.
    pub async fn submit_cluster_plan(
        &self,
        plan: PlanId,
        cluster_plan: &ClusterPlan,
    ) -> Result<(), AgentError> {
        let path = ["plans", &plan.to_string(), "cluster-plan"];
        self.post_to::<serde_json::Value>(&path, cluster_plan).await.map(drop)
    }

    /// Sends what the cluster has of a requested Helm release.
    pub async fn submit_helm_release(&self, submitted: &SubmittedHelmRelease) -> Result<(), AgentError> {
        self.post::<serde_json::Value>("helm-release", submitted).await.map(drop)
    }

    /// Uploads the schema that a report named.
    pub async fn upload_schema(&self, schema: &EncodedSchema) -> Result<(), AgentError> {
        let url = self.url(&["schema", schema.digest.as_str()]);
        let request = self.http.request(Method::PUT, url).timeout(RESPONSE_TIMEOUT * 4);
        let request = request.header(CONTENT_TYPE, "application/json").body(schema.text.clone());
        self.send(request).await.map(drop)
    }

    async fn fetch_bytes(&self, url: Url) -> Result<Vec<u8>, AgentError> {
        let request = self.http.request(Method::GET, url).timeout(RESPONSE_TIMEOUT * 4);
        let (_, body) = self.send(request.header(ACCEPT_ENCODING, "br")).await?;
        Ok(body.to_vec())
    }

    /// Opens the stream of desired-state versions.
    pub async fn open_stream(&self) -> Result<DesiredStateStream, AgentError> {
        let request = self.http.request(Method::GET, self.url(&["stream"])).send();
        let response = tokio::time::timeout(IDLE_TIMEOUT, request).await;
        let response =
            response.map_err(|_| self.timeout_error())?.map_err(|error| self.connection_error(&error))?;
        if !response.status().is_success() {
            return Err(self.response_error(response).await);
        }
        Ok(DesiredStateStream { bytes: response.bytes_stream().boxed(), frames: SseParser::default() })
    }

    async fn post<T: DeserializeOwned>(&self, name: &str, body: &impl Serialize) -> Result<T, AgentError> {
        self.post_to(&[name], body).await
    }

    async fn post_to<T: DeserializeOwned>(
        &self,
        path: &[&str],
        body: &impl Serialize,
    ) -> Result<T, AgentError> {
        self.post_json(self.url(path), body, RESPONSE_TIMEOUT).await
    }

    async fn post_json<T: DeserializeOwned>(
        &self,
        url: Url,
        body: &impl Serialize,
        timeout: Duration,
    ) -> Result<T, AgentError> {
        let body = serde_json::to_vec(body).map_err(|error| {
            AgentError::without_retry_after(Error::InvalidResponse { status: 0, cause: error.to_string() })
        })?;
        let request = self.http.request(Method::POST, url).timeout(timeout);
        let (status, body) = self.send(request.header(CONTENT_TYPE, "application/json").body(body)).await?;
        super::decode(status, &body).map_err(AgentError::without_retry_after)
    }

    async fn send(&self, request: reqwest::RequestBuilder) -> Result<(u16, Bytes), AgentError> {
        let response = request.send().await.map_err(|error| self.connection_error(&error))?;
        let status = response.status().as_u16();
        if status >= 400 {
            return Err(self.response_error(response).await);
        }
        let body = self.read_body(response).await?;
        Ok((status, body))
    }

    /// The whole body, decompressed; at most [`MAX_RESPONSE_BYTES`] before and after that.
    async fn read_body(&self, response: reqwest::Response) -> Result<Bytes, AgentError> {
        let status = response.status().as_u16();
        let invalid = |why: &str| {
            AgentError::without_retry_after(Error::InvalidResponse { status, cause: why.to_owned() })
        };
        let is_compressed = response.headers().get(CONTENT_ENCODING).is_some_and(|encoding| encoding == "br");
        let bytes = read_body(response, MAX_RESPONSE_BYTES).await.map_err(|error| match error {
            BodyError::TooLong => invalid("it is too long"),
            BodyError::Connection(error) => self.connection_error(&error),
        })?;
        if !is_compressed {
            return Ok(bytes);
        }
        let mut body = Vec::new();
        let mut decompressed =
            brotli::Decompressor::new(&*bytes, 64 * 1024).take(MAX_RESPONSE_BYTES as u64 + 1);
        let read = decompressed.read_to_end(&mut body);
        if read.is_err() || body.len() > MAX_RESPONSE_BYTES {
            return Err(invalid("it is too long or can't be decompressed"));
        }
        Ok(body.into())
    }

    async fn response_error(&self, response: reqwest::Response) -> AgentError {
        let status = response.status().as_u16();
        let seconds = response.headers().get(RETRY_AFTER).and_then(|value| value.to_str().ok()?.parse().ok());
        let retry_after = seconds.map(|seconds| Duration::from_secs(seconds).min(MAX_RETRY_AFTER));
        let body = self.read_body(response).await.unwrap_or_default();
        AgentError { error: response_error(status, &body), retry_after }
    }

    fn url(&self, path: &[&str]) -> Url {
        let mut url = self.hub.clone();
        if let Ok(mut segments) = url.path_segments_mut() {
            segments.pop_if_empty().extend(["agent", "v1"]).extend(path);
        }
        url
    }

    fn timeout_error(&self) -> AgentError {
        let server = self.hub.as_str().to_owned();
        AgentError::without_retry_after(Error::Unreachable {
            server,
            cause: "no response in time".to_owned(),
        })
    }

    fn connection_error(&self, error: &reqwest::Error) -> AgentError {
        let mut cause: &dyn std::error::Error = error;
        while let Some(next) = cause.source() {
            cause = next;
        }
        let server = self.hub.as_str().trim_end_matches('/').to_owned();
        AgentError::without_retry_after(Error::Unreachable { server, cause: cause.to_string() })
    }
}

/// A stream of desired-state versions.
pub struct DesiredStateStream {
    bytes: BoxStream<'static, reqwest::Result<Bytes>>,
    frames: SseParser,
}

impl DesiredStateStream {
    /// The next version; `None` once the stream has ended or sent nothing for 45 s. Cancel safe.
    pub async fn next(&mut self) -> Option<i64> {
        loop {
            while let Some(frame) = self.frames.next_frame() {
                if let Ok(DesiredStateNotice { version }) = serde_json::from_str(&frame.data) {
                    return Some(version);
                }
            }
            match tokio::time::timeout(IDLE_TIMEOUT, self.bytes.next()).await {
                Ok(Some(Ok(bytes))) => self.frames.feed(&bytes),
                _ => return None,
            }
        }
    }
}
