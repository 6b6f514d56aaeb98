//! Bounded requests that follow redirects by the policy.

use std::sync::Arc;
use std::time::Duration;

use reqwest::header::{
    ACCEPT, AUTHORIZATION, CONTENT_TYPE, ETAG, HeaderMap, HeaderName, HeaderValue, IF_MODIFIED_SINCE,
    IF_NONE_MATCH, LAST_MODIFIED, LOCATION,
};
use reqwest::{Client, Response, StatusCode, Url};
use rustls_platform_verifier::BuilderVerifierExt as _;
use tokio::time::Instant;

use crate::credentials::Credentials;
use crate::error::{FetchError, FetchErrorKind};
use crate::minimum_rate::{MinimumRate, RateWindow, TooSlow};
use crate::network::ReachableNetwork;
use crate::policy::EgressPolicy;

/// Most bytes that are read of a response that is no success; the rest is dropped.
const MAX_ERROR_BYTES: usize = 64 << 10;

/// Name and time limits of a client.
#[derive(Debug, Clone, Copy)]
pub struct EgressOptions {
    /// Value of the `User-Agent` header.
    pub user_agent: &'static str,
    /// Time limit of one connection attempt, TLS included.
    pub connect_timeout: Duration,
    /// Time limit until the head of a response is complete, and between two parts of its body.
    pub read_timeout: Duration,
    /// The least rate at which the body of a response must arrive.
    pub minimum_rate: MinimumRate,
    /// Time limit of a request, with all redirects and the whole response.
    pub timeout: Duration,
}

/// Sends requests to addresses that users choose. Clones share connections.
#[derive(Debug, Clone)]
pub struct EgressClient {
    /// One client per network: a kept connection is never reused for a narrower network.
    public: Client,
    private: Client,
    public_and_private: Client,
    minimum_rate: MinimumRate,
    timeout: Duration,
}

/// What identifies a stored response; a server that has no newer one responds 304 without a body.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct CacheValidators {
    /// Its `ETag`.
    pub etag: Option<String>,
    /// Its `Last-Modified`.
    pub last_modified: Option<String>,
}

impl CacheValidators {
    /// Longest validator that is stored; a longer one is ignored.
    const MAX_BYTES: usize = 500;

    /// Those of a response.
    pub fn from_headers(headers: &HeaderMap) -> Self {
        let text = |name| {
            let value = headers.get(name).and_then(|value: &HeaderValue| value.to_str().ok());
            value.filter(|value| value.len() <= Self::MAX_BYTES).map(str::to_owned)
        };
        Self { etag: text(ETAG), last_modified: text(LAST_MODIFIED) }
    }
}

/// The body of a `POST` request, such as a command of the Git protocol or a message.
#[derive(Debug, Clone, Copy)]
pub struct PostBody<'a> {
    /// Its media type.
    pub content_type: &'static str,
    /// The bytes.
    pub bytes: &'a [u8],
}

/// One request: a `GET`, or a `POST` with a body.
#[derive(Debug, Clone)]
pub struct FetchRequest<'a> {
    /// The URL.
    pub url: Url,
    /// Which URLs may be requested, this one included.
    pub policy: EgressPolicy,
    /// Accepted media types; empty for any.
    pub accept: &'a str,
    /// Sent where they belong to, also after a redirect.
    pub credentials: Option<&'a Credentials>,
    /// Those of the stored response, if there is one.
    pub validators: Option<&'a CacheValidators>,
    /// Most bytes of a successful response.
    pub max_bytes: usize,
    /// Redirects that are followed; one more is an error.
    pub max_redirects: usize,
    /// Further headers. A redirect is sent them too: one with a secret needs `max_redirects` 0.
    pub headers: Vec<(HeaderName, HeaderValue)>,
    /// The body of a `POST`; `None` for a `GET`. A redirect of a `POST` is an error: what is sent is for one server.
    pub body: Option<PostBody<'a>>,
}

/// A complete response.
#[derive(Debug, Clone)]
pub struct FetchResponse {
    /// The URL that responded, after redirects.
    pub url: Url,
    /// The status, which is no redirect.
    pub status: StatusCode,
    /// The headers.
    pub headers: HeaderMap,
    /// The body; of a response that is no success only its beginning.
    pub body: Vec<u8>,
    /// The policy for URLs that this response names.
    pub policy: EgressPolicy,
}

/// When a request ends, and what it was for.
#[derive(Debug, Clone)]
struct Deadline {
    at: Instant,
    timeout: Duration,
    /// The URL of the request, before redirects.
    url: Url,
}

impl Deadline {
    fn to_error(&self) -> FetchError {
        let message = format!("the response was not complete after {} s", self.timeout.as_secs());
        FetchError::new(FetchErrorKind::Timeout, &self.url, message)
    }
}

/// A response whose body is read part by part.
#[derive(Debug)]
pub struct ResponseStream {
    url: Url,
    policy: EgressPolicy,
    response: Response,
    /// Most bytes of the body.
    limit: usize,
    received: usize,
    window: RateWindow,
    deadline: Deadline,
}

impl ResponseStream {
    /// The status, which is no redirect.
    pub fn status(&self) -> StatusCode {
        self.response.status()
    }

    /// The URL that responded, after redirects.
    pub fn url(&self) -> &Url {
        &self.url
    }

    /// The headers.
    pub fn headers(&self) -> &HeaderMap {
        self.response.headers()
    }

    /// The policy for URLs that this response names.
    pub fn policy(&self) -> EgressPolicy {
        self.policy
    }

    /// The size of the body that the response states; it has no more bytes than that.
    pub fn stated_bytes(&self) -> Option<usize> {
        self.response.content_length().and_then(|bytes| usize::try_from(bytes).ok())
    }

    /// Appends the next part of the body; `false` at its end. Of a response that is no success, it ends after the beginning.
    ///
    /// # Errors
    /// The response breaks off, is larger than the limit, arrives too slowly, or does not end in time.
    pub async fn read_into(&mut self, body: &mut Vec<u8>) -> Result<bool, FetchError> {
        let read =
            tokio::time::timeout_at(self.deadline.at, self.window.receive(self.response.chunk())).await;
        let read = read.map_err(|_| self.deadline.to_error())?;
        let read = read.map_err(|too_slow| self.too_slow(too_slow))?;
        let read = read.map_err(|error| FetchError::from_reqwest(&self.url, &error))?;
        let Some(chunk) = read else { return Ok(false) };
        self.window.record(chunk.len()).map_err(|too_slow| self.too_slow(too_slow))?;
        let room = self.limit - self.received;
        if chunk.len() > room {
            if self.status().is_success() {
                return Err(self.too_large());
            }
            body.extend_from_slice(&chunk[..room]);
            self.received = self.limit;
            return Ok(false);
        }
        body.extend_from_slice(&chunk);
        self.received += chunk.len();
        Ok(true)
    }

    /// Reads the rest of the body.
    ///
    /// # Errors
    /// As [`Self::read_into`].
    pub async fn read_to_end(mut self) -> Result<FetchResponse, FetchError> {
        let mut body = Vec::new();
        while self.read_into(&mut body).await? {}
        let (status, headers) = (self.status(), self.headers().clone());
        Ok(FetchResponse { url: self.url, status, headers, body, policy: self.policy })
    }

    /// Rejects a success that states more bytes than the limit, before any of them is received.
    fn check_stated_size(&self) -> Result<(), FetchError> {
        match self.response.content_length() {
            Some(length) if self.status().is_success() && length > self.limit as u64 => Err(self.too_large()),
            _ => Ok(()),
        }
    }

    fn too_slow(&self, too_slow: TooSlow) -> FetchError {
        let message = format!("the response is too slow: the server sent {too_slow}");
        FetchError::new(FetchErrorKind::TooSlow, &self.url, message)
    }

    fn too_large(&self) -> FetchError {
        let message = format!("the response has more than {} bytes, the limit", self.limit);
        FetchError::new(FetchErrorKind::TooLarge, &self.url, message)
    }
}

impl FetchRequest<'_> {
    /// The request that a redirect leads to, under the policy for URLs that the response names.
    fn redirect(self, headers: &HeaderMap, policy: EgressPolicy) -> Result<Self, FetchError> {
        if self.body.is_some() {
            return Err(FetchError::new(FetchErrorKind::Redirect, &self.url, "a POST request is redirected"));
        }
        let location = headers.get(LOCATION).and_then(|location| location.to_str().ok());
        match location.and_then(|location| self.url.join(location).ok()) {
            Some(url) => Ok(Self { url, policy, ..self }),
            None => Err(FetchError::new(FetchErrorKind::Redirect, &self.url, "the redirect names no URL")),
        }
    }
}

impl EgressClient {
    /// A client without connections.
    ///
    /// # Errors
    /// There are no trusted root certificates.
    pub fn new(options: EgressOptions) -> Result<Self, EgressUnavailable> {
        let tls = tls_config()?;
        let build = |network: ReachableNetwork| {
            Client::builder()
                .user_agent(options.user_agent)
                .connect_timeout(options.connect_timeout)
                .read_timeout(options.read_timeout)
                // The loop in `follow` decides each redirect.
                .redirect(reqwest::redirect::Policy::none())
                .referer(false)
                .no_proxy()
                .dns_resolver(Arc::new(network))
                .tls_backend_preconfigured(tls.clone())
                .build()
                .map_err(|error| EgressUnavailable(error.to_string()))
        };
        Ok(Self {
            public: build(ReachableNetwork::Public)?,
            private: build(ReachableNetwork::Private)?,
            public_and_private: build(ReachableNetwork::PublicAndPrivate)?,
            minimum_rate: options.minimum_rate,
            timeout: options.timeout,
        })
    }

    /// Sends a request and reads the whole response, whatever its status.
    ///
    /// # Errors
    /// There is no complete response within the limits, or the policy forbids the URL or one that it redirects to.
    pub async fn fetch(&self, request: FetchRequest<'_>) -> Result<FetchResponse, FetchError> {
        self.open(request).await?.read_to_end().await
    }

    /// Sends a request, and leaves the body of the response to be read part by part. All of it has to be read within the time of the
    /// request.
    ///
    /// # Errors
    /// As [`Self::fetch`].
    pub async fn open(&self, request: FetchRequest<'_>) -> Result<ResponseStream, FetchError> {
        let deadline =
            Deadline { at: Instant::now() + self.timeout, timeout: self.timeout, url: request.url.clone() };
        match tokio::time::timeout_at(deadline.at, self.follow(request, deadline.clone())).await {
            Ok(opened) => opened,
            Err(_) => Err(deadline.to_error()),
        }
    }

    async fn follow(
        &self,
        mut request: FetchRequest<'_>,
        deadline: Deadline,
    ) -> Result<ResponseStream, FetchError> {
        let first = request.url.clone();
        for _ in 0..=request.max_redirects {
            let response = self.send(&request).await?;
            let policy = request.policy.after_response(&request.url, response.remote_addr());
            let status = response.status();
            if !is_redirect(status) {
                let limit = if status.is_success() { request.max_bytes } else { MAX_ERROR_BYTES };
                let window = RateWindow::new(self.minimum_rate);
                let stream = ResponseStream {
                    url: request.url,
                    policy,
                    response,
                    limit,
                    received: 0,
                    window,
                    deadline,
                };
                stream.check_stated_size()?;
                return Ok(stream);
            }
            request = request.redirect(response.headers(), policy)?;
        }
        let message = format!("there are more than {} redirects", request.max_redirects);
        Err(FetchError::new(FetchErrorKind::Redirect, &first, message))
    }

    async fn send(&self, request: &FetchRequest<'_>) -> Result<Response, FetchError> {
        let network = request.policy.network(&request.url)?;
        let client = match network {
            ReachableNetwork::Public => &self.public,
            ReachableNetwork::Private => &self.private,
            ReachableNetwork::PublicAndPrivate => &self.public_and_private,
        };
        let mut builder = match request.body {
            None => client.get(request.url.clone()),
            Some(body) => client
                .post(request.url.clone())
                .header(CONTENT_TYPE, body.content_type)
                .body(body.bytes.to_vec()),
        };
        for (name, value) in &request.headers {
            builder = builder.header(name, value);
        }
        if !request.accept.is_empty() {
            builder = builder.header(ACCEPT, request.accept);
        }
        if let Some(header) = request.credentials.and_then(|credentials| credentials.header_for(&request.url))
        {
            builder = builder.header(AUTHORIZATION, header);
        }
        if let Some(validators) = request.validators {
            let headers = [(IF_NONE_MATCH, &validators.etag), (IF_MODIFIED_SINCE, &validators.last_modified)];
            for (name, value) in headers {
                // A stored validator that is no header value any more only costs the whole response.
                if let Some(value) = value.as_deref().and_then(|value| HeaderValue::from_str(value).ok()) {
                    builder = builder.header(name, value);
                }
            }
        }
        builder.send().await.map_err(|error| FetchError::from_reqwest(&request.url, &error))
    }
}

/// The client can't be built.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("no HTTPS request can be sent from here: {0}")]
pub struct EgressUnavailable(String);

/// TLS that trusts the certificates of the system, or those in `SSL_CERT_FILE`: also for a program that makes a connection of its own.
///
/// # Errors
/// There are no trusted root certificates.
pub fn tls_config() -> Result<rustls::ClientConfig, EgressUnavailable> {
    build_tls_config().map_err(|error| EgressUnavailable(error.to_string()))
}

fn build_tls_config() -> Result<rustls::ClientConfig, rustls::Error> {
    let provider = Arc::new(rustls::crypto::ring::default_provider());
    let builder = rustls::ClientConfig::builder_with_provider(provider);
    Ok(builder.with_safe_default_protocol_versions()?.with_platform_verifier()?.with_no_client_auth())
}

/// Whether the response names another URL for a `GET`.
fn is_redirect(status: StatusCode) -> bool {
    matches!(status.as_u16(), 301 | 302 | 303 | 307 | 308)
}

#[cfg(test)]
mod tests;
