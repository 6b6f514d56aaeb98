//! One API call: building, sending with retries where that is safe, and reading the response.

use std::time::Duration;

use bytes::{Bytes, BytesMut};
use futures::StreamExt as _;
use http::{HeaderName, HeaderValue, Method};
use rand::Rng;
use reqwest::Url;
use serde::Serialize;
use serde::de::DeserializeOwned;

use super::attempts::Attempts;
use super::{Client, RESPONSE_TIMEOUT, decode};
use crate::{Error, Problem};

/// Maximum size of a response, in bytes.
const MAX_RESPONSE_BYTES: usize = 64 * 1024 * 1024;

/// An API call to send.
pub(super) struct ApiCall<'c> {
    client: &'c Client,
    method: Method,
    url: Url,
    headers: Vec<(HeaderName, HeaderValue)>,
    body: Result<Option<Bytes>, String>,
    content_type: &'static str,
}

/// A response.
pub(super) struct ApiResponse {
    pub(super) body: Bytes,
    pub(super) status: u16,
    /// Its `Retry-After`, in seconds.
    pub(super) retry_after: Option<Duration>,
}

impl<'c> ApiCall<'c> {
    pub(super) fn new(client: &'c Client, method: Method, url: Url) -> Self {
        Self { client, method, url, headers: Vec::new(), body: Ok(None), content_type: "application/json" }
    }

    #[cfg(test)]
    pub(super) fn url(&self) -> &Url {
        &self.url
    }

    /// A call that fails without being sent, because of a name that can't be in a URL.
    pub(super) fn with_invalid_name(self) -> Self {
        Self { body: Err("the name is empty or consists of dots".to_owned()), ..self }
    }

    pub(super) fn into_url(self) -> Url {
        self.url
    }

    pub(super) fn query(mut self, query: &impl Serialize) -> Self {
        let pairs = super::query_pairs(query);
        if !pairs.is_empty() {
            self.url.query_pairs_mut().extend_pairs(pairs);
        }
        self
    }

    pub(super) fn flag(mut self, name: &str, on: bool) -> Self {
        if on {
            self.url.query_pairs_mut().append_pair(name, "true");
        }
        self
    }

    pub(super) fn header(mut self, header: Option<(HeaderName, HeaderValue)>) -> Self {
        self.headers.extend(header);
        self
    }

    pub(super) fn body(mut self, body: &impl Serialize) -> Self {
        let bytes = serde_json::to_vec(body).map(|bytes| Some(bytes.into())).map_err(|e| e.to_string());
        self.body = self.body.and(bytes);
        self
    }

    /// A body that is no JSON.
    pub(super) fn raw_body(mut self, content_type: &'static str, body: Vec<u8>) -> Self {
        self.body = self.body.and(Ok(Some(body.into())));
        self.content_type = content_type;
        self
    }

    /// Sends the call and decodes the response.
    pub(super) async fn send_json<T: DeserializeOwned>(self) -> Result<T, Error> {
        let response = self.send().await?;
        decode(response.status, &response.body)
    }

    /// Sends the call and ignores the response's body.
    pub(super) async fn send_ignoring_body(self) -> Result<(), Error> {
        self.send().await.map(drop)
    }

    /// Sends the call, again after connection errors and outages of the server's database (see [`Attempts`]).
    pub(super) async fn send(self) -> Result<ApiResponse, Error> {
        self.send_tracked().await.0
    }

    /// Like [`ApiCall::send`]; also returns whether there were several attempts, so that an earlier one may have taken effect.
    pub(super) async fn send_tracked(mut self) -> (Result<ApiResponse, Error>, bool) {
        if !self.method.is_safe() {
            let key = hex::encode(rand::rng().random::<[u8; 16]>());
            let key = HeaderValue::from_str(&key).unwrap_or(HeaderValue::from_static("0"));
            self.headers.push((HeaderName::from_static("idempotency-key"), key));
        }
        if let Err(why) = &self.body {
            return (Err(Error::InvalidResponse { status: 0, cause: why.clone() }), false);
        }
        let mut attempts = Attempts::start();
        loop {
            let (error, retry_after) = match self.send_once().await {
                Ok(response) if response.status < 400 => return (Ok(response), attempts.are_several()),
                Ok(response) => (response_error(response.status, &response.body), response.retry_after),
                Err(error) => (error, None),
            };
            match attempts.next_delay(error, retry_after) {
                Ok(delay) => tokio::time::sleep(delay).await,
                Err(error) => return (Err(error), attempts.are_several()),
            }
        }
    }

    async fn send_once(&self) -> Result<ApiResponse, Error> {
        let mut request =
            self.client.http.request(self.method.clone(), self.url.clone()).timeout(RESPONSE_TIMEOUT);
        if let Some(bearer) = &self.client.bearer {
            request = request.header(http::header::AUTHORIZATION, bearer.clone());
        }
        for (name, value) in &self.headers {
            request = request.header(name, value.clone());
        }
        if let Ok(Some(body)) = &self.body {
            request = request.header(http::header::CONTENT_TYPE, self.content_type).body(body.clone());
        }
        let response = request.send().await.map_err(|error| self.client.connection_error(&error))?;
        let status = response.status().as_u16();
        let retry_after = response.headers().get(http::header::RETRY_AFTER);
        let retry_after = retry_after.and_then(|value| value.to_str().ok()?.parse().ok());
        let retry_after = retry_after.map(Duration::from_secs);
        match read_body(response, MAX_RESPONSE_BYTES).await {
            Ok(body) => Ok(ApiResponse { body, status, retry_after }),
            Err(BodyError::TooLong) => {
                Err(Error::InvalidResponse { status, cause: "it is too long".to_owned() })
            }
            Err(BodyError::Connection(error)) => Err(self.client.connection_error(&error)),
        }
    }
}

/// Why the body of a response can't be read.
#[derive(Debug)]
pub(super) enum BodyError {
    /// It has more bytes than the limit.
    TooLong,
    /// The connection failed.
    Connection(reqwest::Error),
}

/// The whole body. No more than `max_bytes` and one chunk are read, with or without a `Content-Length`.
pub(super) async fn read_body(response: reqwest::Response, max_bytes: usize) -> Result<Bytes, BodyError> {
    let mut bytes = BytesMut::new();
    let mut chunks = response.bytes_stream();
    while let Some(chunk) = chunks.next().await {
        let chunk = chunk.map_err(BodyError::Connection)?;
        if bytes.len() + chunk.len() > max_bytes {
            return Err(BodyError::TooLong);
        }
        bytes.extend_from_slice(&chunk);
    }
    Ok(bytes.freeze())
}

impl Client {
    /// The error of a failed connection, with its root cause: the outer errors only repeat the URL.
    pub(super) fn connection_error(&self, error: &reqwest::Error) -> Error {
        let mut cause: &dyn std::error::Error = error;
        while let Some(next) = cause.source() {
            cause = next;
        }
        Error::Unreachable { server: self.server_url().to_owned(), cause: cause.to_string() }
    }
}

/// The error in an error response.
pub(super) fn response_error(status: u16, body: &[u8]) -> Error {
    match serde_json::from_slice::<Problem>(body) {
        Ok(problem) if !problem.code.is_empty() => Error::Rejected(Box::new(problem)),
        _ => Error::InvalidResponse {
            status,
            cause: String::from_utf8_lossy(body).chars().filter(|c| !c.is_control()).take(200).collect(),
        },
    }
}

#[cfg(test)]
mod tests {
    use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};
    use tokio::net::{TcpListener, TcpStream};

    use super::*;

    async fn read_head(stream: &mut TcpStream) -> String {
        let mut head = Vec::new();
        while !head.ends_with(b"\r\n\r\n") {
            head.push(stream.read_u8().await.unwrap());
        }
        String::from_utf8(head).unwrap()
    }

    fn find_key(head: &str) -> &str {
        head.lines().find_map(|line| line.strip_prefix("idempotency-key: ")).unwrap_or_default()
    }

    #[tokio::test]
    async fn p2_every_write_is_retried_with_the_same_idempotency_key() {
        let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let client = Client::new(&format!("http://{}", listener.local_addr().unwrap()), "").unwrap();
        for method in [Method::POST, Method::PUT, Method::PATCH, Method::DELETE] {
            let serve = async {
                let (mut first, _) = listener.accept().await.unwrap();
                let first_head = read_head(&mut first).await;
                drop(first);
                let (mut second, _) = listener.accept().await.unwrap();
                let second_head = read_head(&mut second).await;
                second.write_all(b"HTTP/1.1 204 No Content\r\nconnection: close\r\n\r\n").await.unwrap();
                (first_head, second_head)
            };
            let call = client.call(method.clone(), &["x"]).send_ignoring_body();
            let ((first, second), sent) = tokio::join!(serve, call);
            sent.unwrap();
            assert_eq!(find_key(&first).len(), 32, "{method}: {first}");
            assert_eq!(find_key(&first), find_key(&second), "{method}");
        }
    }

    /// Answers one request with 503 and this code, `Retry-After: 0`; returns the request's head.
    async fn answer_503(listener: &TcpListener, code: &str) -> String {
        let (mut stream, _) = listener.accept().await.unwrap();
        let head = read_head(&mut stream).await;
        let problem = serde_json::to_string(&Problem::new(503, code, "t", "d")).unwrap();
        let response = format!(
            "HTTP/1.1 503 Service Unavailable\r\nretry-after: 0\r\nconnection: close\r\ncontent-length: {}\r\n\r\n{problem}",
            problem.len()
        );
        stream.write_all(response.as_bytes()).await.unwrap();
        head
    }

    #[tokio::test]
    async fn p2_p21_a_write_with_an_unknown_outcome_is_sent_again_with_the_same_key() {
        let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let client = Client::new(&format!("http://{}", listener.local_addr().unwrap()), "").unwrap();
        let serve = async {
            let mut heads = Vec::new();
            for code in ["CommitOutcomeUnknown", "DatabaseUnavailable"] {
                heads.push(answer_503(&listener, code).await);
            }
            let (mut stream, _) = listener.accept().await.unwrap();
            heads.push(read_head(&mut stream).await);
            stream.write_all(b"HTTP/1.1 204 No Content\r\nconnection: close\r\n\r\n").await.unwrap();
            heads
        };
        let (heads, sent) = tokio::join!(serve, client.call(Method::POST, &["x"]).send_ignoring_body());
        sent.unwrap();
        let keys: Vec<&str> = heads.iter().map(|head| find_key(head)).collect();
        assert!(keys[0].len() == 32 && keys.iter().all(|key| *key == keys[0]), "{keys:?}");
    }

    #[tokio::test]
    async fn a_response_without_a_length_is_read_only_up_to_the_limit() {
        let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let client = Client::new(&format!("http://{}", listener.local_addr().unwrap()), "").unwrap();
        // Sends chunks until the client closes the connection.
        let serve = async {
            let (mut stream, _) = listener.accept().await.unwrap();
            read_head(&mut stream).await;
            stream.write_all(b"HTTP/1.1 200 OK\r\ntransfer-encoding: chunked\r\n\r\n").await.unwrap();
            while stream.write_all(b"4\r\nabcd\r\n").await.is_ok() {}
        };
        let read = async {
            let response = client.http.get(client.server_url.clone()).send().await.unwrap();
            read_body(response, 100).await
        };
        let ((), read) = tokio::join!(serve, read);
        assert!(matches!(read, Err(BodyError::TooLong)), "{read:?}");
    }
}
