//! One call: built, sent, sent again where that is safe, and its answer read.

use std::time::Duration;

use bytes::Bytes;
use http::{HeaderName, HeaderValue, Method};
use rand::Rng;
use reqwest::Url;
use serde::Serialize;
use serde::de::DeserializeOwned;

use super::{ANSWER_WITHIN, Client, decode};
use crate::{Error, Problem};

/// Times a call is sent in all when the connection breaks.
const TRIES: u32 = 5;
/// The wait before the second try; doubles each time.
const FIRST_WAIT: Duration = Duration::from_millis(200);
/// An answer longer than this is not one of ours.
const LONGEST_ANSWER: usize = 64 * 1024 * 1024;

/// A call being built.
pub(super) struct Call<'c> {
    client: &'c Client,
    method: Method,
    url: Url,
    headers: Vec<(HeaderName, HeaderValue)>,
    body: Result<Option<Bytes>, String>,
}

/// What came back.
pub(super) struct Answer {
    pub(super) body: Bytes,
    pub(super) status: u16,
}

impl<'c> Call<'c> {
    pub(super) fn new(client: &'c Client, method: Method, url: Url) -> Self {
        Self { client, method, url, headers: Vec::new(), body: Ok(None) }
    }

    #[cfg(test)]
    pub(super) fn url(&self) -> &Url {
        &self.url
    }

    /// A call that can't be sent.
    pub(super) fn impossible(self) -> Self {
        Self { body: Err("there can be no such name".to_owned()), ..self }
    }

    pub(super) fn into_url(self) -> Url {
        self.url
    }

    pub(super) fn query(mut self, query: &impl Serialize) -> Self {
        let pairs = super::pairs(query);
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

    /// Sends it and reads the answer.
    pub(super) async fn json<T: DeserializeOwned>(self) -> Result<T, Error> {
        let answer = self.send().await?;
        decode(answer.status, &answer.body)
    }

    /// Sends it; there is nothing to read.
    pub(super) async fn nothing(self) -> Result<(), Error> {
        self.send().await.map(drop)
    }

    /// Sends it, up to [`TRIES`] times if the connection breaks.
    pub(super) async fn send(self) -> Result<Answer, Error> {
        self.outcome().await.0
    }

    /// The same, and whether the connection broke on the way, so that an earlier try may have been carried out.
    pub(super) async fn outcome(mut self) -> (Result<Answer, Error>, bool) {
        if self.method == Method::POST {
            let key = hex::encode(rand::rng().random::<[u8; 16]>());
            let key = HeaderValue::from_str(&key).unwrap_or(HeaderValue::from_static("0"));
            self.headers.push((HeaderName::from_static("idempotency-key"), key));
        }
        if let Err(why) = &self.body {
            return (Err(Error::NotUnderstood { status: 0, why: why.clone() }), false);
        }
        let (mut tried, mut wait) = (1, FIRST_WAIT);
        loop {
            match self.once().await {
                Ok(answer) if answer.status < 400 => return (Ok(answer), tried > 1),
                Ok(answer) => return (Err(refusal(&answer)), tried > 1),
                Err(error) if tried == TRIES => return (Err(error), true),
                Err(_) => tokio::time::sleep(wait).await,
            }
            (tried, wait) = (tried + 1, wait * 2);
        }
    }

    async fn once(&self) -> Result<Answer, Error> {
        let mut request =
            self.client.http.request(self.method.clone(), self.url.clone()).timeout(ANSWER_WITHIN);
        if let Some(bearer) = &self.client.bearer {
            request = request.header(http::header::AUTHORIZATION, bearer.clone());
        }
        for (name, value) in &self.headers {
            request = request.header(name, value.clone());
        }
        if let Ok(Some(body)) = &self.body {
            request = request.header(http::header::CONTENT_TYPE, "application/json").body(body.clone());
        }
        let answer = request.send().await.map_err(|error| self.client.unreachable(&error))?;
        let status = answer.status().as_u16();
        if answer.content_length().is_some_and(|length| length > LONGEST_ANSWER as u64) {
            return Err(Error::NotUnderstood { status, why: "it is too long".to_owned() });
        }
        let body = answer.bytes().await.map_err(|error| self.client.unreachable(&error))?;
        Ok(Answer { body, status })
    }
}

impl Client {
    /// The error of a broken connection, with the cause at its root: the outer ones only repeat the address.
    pub(super) fn unreachable(&self, error: &reqwest::Error) -> Error {
        let mut cause: &dyn std::error::Error = error;
        while let Some(next) = cause.source() {
            cause = next;
        }
        Error::Unreachable { server: self.server().to_owned(), why: cause.to_string() }
    }
}

/// What the server's refusal says.
pub(super) fn refusal(answer: &Answer) -> Error {
    match serde_json::from_slice::<Problem>(&answer.body) {
        Ok(problem) if !problem.code.is_empty() => Error::Refused(Box::new(problem)),
        _ => Error::NotUnderstood {
            status: answer.status,
            why: String::from_utf8_lossy(&answer.body)
                .chars()
                .filter(|c| !c.is_control())
                .take(200)
                .collect(),
        },
    }
}
