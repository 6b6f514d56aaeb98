//! The API server, as few verbs: read, list, apply, create, patch, delete.
//!
//! Every request runs under one deadline and within one limit of parallel requests, so a slow server delays but never
//! wedges anything (P11, P12). No request is repeated here: who asked knows whether and when to ask again.

use std::sync::Arc;
use std::time::Duration;

use bytes::Bytes;
use domain::Timestamp;
use http::{Method, Request, StatusCode, header};
use kube::client::Body;
use serde_json::Value;
use tokio::sync::Semaphore;

use crate::Options;
use crate::error::Error;

mod path;
mod reach;
mod refusal;
mod server_time;

pub(crate) use path::Resource;
pub(crate) use reach::Reach;
pub(crate) use refusal::of_client;

use server_time::ServerTime;

/// The field manager of everything the engine writes (DESIGN 3.5).
pub const FIELD_MANAGER: &str = "flotilla";

/// Largest answer that is read, in bytes: a full list page of the largest objects etcd takes stays below it.
const ANSWER_MAX: u64 = 512 << 20;

/// One API server.
#[derive(Clone)]
pub(crate) struct Api {
    client: kube::Client,
    permits: Arc<Semaphore>,
    deadline: Duration,
    reach: Arc<Reach>,
    options: Options,
    server_time: Arc<ServerTime>,
    /// The user to act as; the agent's own if empty.
    acting: Option<Arc<str>>,
}

/// Whether a server-side apply may take fields away from other managers.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Force {
    /// Conflicts are reported.
    No,
    /// Fields are taken over.
    Yes,
}

/// What an apply gave.
#[derive(Debug, Clone)]
pub(crate) struct Applied {
    /// The object as it is now.
    pub object: Value,
    /// Whether it was not there before.
    pub created: bool,
}

impl Api {
    /// A server that nobody reaches, for tests of what is kept on this side.
    #[cfg(test)]
    pub(crate) fn deaf() -> Self {
        let nobody = tower::service_fn(|_: Request<Body>| async {
            Err::<http::Response<Body>, _>(std::io::Error::other("nobody there"))
        });
        let options = Options::new(|| Timestamp::from_millis(0));
        Self::new(kube::Client::new(nobody, "default"), &options)
    }

    pub(crate) fn new(client: kube::Client, options: &Options) -> Self {
        Self {
            client,
            permits: Arc::new(Semaphore::new(options.concurrency.max(1))),
            deadline: options.request_deadline,
            reach: Arc::new(Reach::new(options.clock.clone())),
            options: options.clone(),
            server_time: Arc::default(),
            acting: None,
        }
    }

    /// The same, acting as a service account (namespace and name), so that a workload can do no more than it may. The
    /// agent needs the right to impersonate it.
    pub(crate) fn acting_as(&self, account: Option<(&str, &str)>) -> Self {
        let user =
            account.map(|(namespace, name)| format!("system:serviceaccount:{namespace}:{name}").into());
        Self { acting: user, ..self.clone() }
    }

    /// Whether the server is heard from.
    pub(crate) fn reach(&self) -> &Reach {
        &self.reach
    }

    /// What time it is for the API server; by our own clock as long as it has not said.
    pub(crate) fn now(&self) -> Timestamp {
        self.server_time.at(self.options.now())
    }

    /// Reads one path.
    pub(crate) async fn get(&self, path: &str) -> Result<Value, Error> {
        self.get_as(path, "application/json").await
    }

    /// Reads one path in one representation.
    pub(crate) async fn get_as(&self, path: &str, accept: &str) -> Result<Value, Error> {
        let request = Request::get(path).header(header::ACCEPT, accept);
        Ok(self.call(request, Vec::new()).await?.1)
    }

    /// Reads one path as it comes.
    pub(crate) async fn bytes(&self, path: &str) -> Result<Bytes, Error> {
        let request = Request::get(path).header(header::ACCEPT, "application/json");
        Ok(self.exchange_in_time(request, Vec::new()).await?.1)
    }

    /// Server-side apply of one object.
    pub(crate) async fn apply(
        &self,
        path: &str,
        body: Vec<u8>,
        force: Force,
        dry_run: bool,
    ) -> Result<Applied, Error> {
        let force = force == Force::Yes;
        let dry = if dry_run { "&dryRun=All" } else { "" };
        let uri = format!("{path}?fieldManager={FIELD_MANAGER}&force={force}{dry}");
        let request = Request::patch(uri).header(header::CONTENT_TYPE, "application/apply-patch+yaml");
        let (status, object) = self.call(request, body).await?;
        Ok(Applied { object, created: status == StatusCode::CREATED })
    }

    /// Creates one object.
    pub(crate) async fn create(&self, collection: &str, object: &Value) -> Result<Value, Error> {
        let uri = format!("{collection}?fieldManager={FIELD_MANAGER}");
        let request = Request::post(uri).header(header::CONTENT_TYPE, "application/json");
        Ok(self.call(request, object.to_string().into_bytes()).await?.1)
    }

    /// Merges `patch` into one object.
    pub(crate) async fn merge(&self, path: &str, patch: &Value) -> Result<Value, Error> {
        let uri = format!("{path}?fieldManager={FIELD_MANAGER}");
        let request = Request::patch(uri).header(header::CONTENT_TYPE, "application/merge-patch+json");
        Ok(self.call(request, patch.to_string().into_bytes()).await?.1)
    }

    /// Deletes one object, if it still has this uid.
    pub(crate) async fn delete(&self, path: &str, uid: &str, propagation: &str) -> Result<(), Error> {
        let options = serde_json::json!({
            "apiVersion": "v1",
            "kind": "DeleteOptions",
            "propagationPolicy": propagation,
            "preconditions": { "uid": uid },
        });
        let request = Request::builder()
            .method(Method::DELETE)
            .uri(path)
            .header(header::CONTENT_TYPE, "application/json");
        self.call(request, options.to_string().into_bytes()).await?;
        Ok(())
    }

    /// The client, for watches: they are long and so outside the limit of parallel requests.
    pub(crate) fn client(&self) -> &kube::Client {
        &self.client
    }

    /// How long one request may take.
    pub(crate) fn deadline(&self) -> Duration {
        self.deadline
    }

    async fn call(
        &self,
        request: http::request::Builder,
        body: Vec<u8>,
    ) -> Result<(StatusCode, Value), Error> {
        let (status, bytes) = self.exchange_in_time(request, body).await?;
        let value = serde_json::from_slice(&bytes).map_err(|e| Error::Unreadable(e.to_string()))?;
        Ok((status, value))
    }

    async fn exchange_in_time(
        &self,
        request: http::request::Builder,
        body: Vec<u8>,
    ) -> Result<(StatusCode, Bytes), Error> {
        let request = match &self.acting {
            Some(user) => request.header("Impersonate-User", &**user),
            None => request,
        };
        let request = request.body(Body::from(body)).map_err(|e| Error::Invalid(e.to_string()))?;
        // The semaphore is never closed, so the only error cannot happen; without a permit one request more does no harm.
        let _permit = self.permits.acquire().await.ok();
        let answer = match tokio::time::timeout(self.deadline, self.exchange(request)).await {
            Ok(answer) => answer,
            Err(_) => Err(Error::Timeout(self.deadline)),
        };
        self.reach.note(answer.as_ref().err());
        answer
    }

    async fn exchange(&self, request: Request<Body>) -> Result<(StatusCode, Bytes), Error> {
        let response = self.client.send(request).await.map_err(|e| refusal::of_client(&e))?;
        let status = response.status();
        if self.options.server_time {
            self.server_time.note(response.headers(), self.options.now());
        }
        let retry_after = refusal::retry_after(response.headers());
        let length =
            response.headers().get(header::CONTENT_LENGTH).and_then(|v| v.to_str().ok()?.parse().ok());
        if length.is_some_and(|length: u64| length > ANSWER_MAX) {
            return Err(Error::Unreadable(format!("it is longer than {} MiB", ANSWER_MAX >> 20)));
        }
        let bytes = response.into_body().collect_bytes().await.map_err(|e| refusal::of_client(&e))?;
        if !status.is_success() {
            return Err(refusal::of_status(status, &bytes, retry_after));
        }
        Ok((status, bytes))
    }
}
