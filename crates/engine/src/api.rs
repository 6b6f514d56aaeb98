//! Client of the API server: get, list, apply, create, patch, delete.
//!
//! Every request has a deadline and counts against one concurrency limit, so a slow server delays requests but blocks
//! none for ever (P11, P12). Requests are not retried here: the caller decides whether and when to retry.

use std::sync::Arc;
use std::time::Duration;

use bytes::Bytes;
use domain::Timestamp;
use domain::managed_fields::FIELD_MANAGER;
use http::{Method, Request, StatusCode, header};
use kube::client::Body;
use serde_json::Value;
use tokio::sync::Semaphore;

use crate::Options;
use crate::error::Error;

mod error_response;
mod percent_encoding;
mod reachability;
mod served_kind;
mod server_time;

pub(crate) use self::percent_encoding::encode_query;
pub(crate) use error_response::from_client_error;
pub use reachability::DetectedOutage;
pub(crate) use reachability::Reachability;
pub(crate) use served_kind::ServedKind;

use server_time::ServerTime;

/// Largest response that is read, in bytes: above a full list page of objects of etcd's maximum size.
const RESPONSE_BYTES_MAX: u64 = 512 << 20;

/// Client of one API server. Clones share the concurrency limit and the reachability.
#[derive(Clone)]
pub(crate) struct ApiClient {
    client: kube::Client,
    permits: Arc<Semaphore>,
    deadline: Duration,
    reachability: Arc<Reachability>,
    options: Options,
    server_time: Arc<ServerTime>,
    /// The impersonated user; the agent's own identity if `None`.
    impersonated_user: Option<Arc<str>>,
}

/// Whether a server-side apply takes over fields owned by other managers (`force`).
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum ForceConflicts {
    /// Conflicts are reported.
    No,
    /// Fields are taken over.
    Yes,
}

/// Result of an apply.
#[derive(Debug, Clone)]
pub(crate) struct ApplyResponse {
    /// The object after the apply.
    pub object: Value,
    /// Whether the apply created it.
    pub created: bool,
}

impl ApiClient {
    /// A client whose requests all fail, for tests of cached state.
    #[cfg(test)]
    pub(crate) fn unreachable() -> Self {
        let unreachable = tower::service_fn(|_: Request<Body>| async {
            Err::<http::Response<Body>, _>(std::io::Error::other("unreachable"))
        });
        let options = Options::new(|| Timestamp::from_millis(0));
        Self::new(kube::Client::new(unreachable, "default"), &options)
    }

    pub(crate) fn new(client: kube::Client, options: &Options) -> Self {
        Self {
            client,
            permits: Arc::new(Semaphore::new(options.concurrency.max(1))),
            deadline: options.request_deadline,
            reachability: Arc::new(Reachability::new(options.clock.clone())),
            options: options.clone(),
            server_time: Arc::default(),
            impersonated_user: None,
        }
    }

    /// The same client, impersonating a service account (namespace and name) to limit a workload to its permissions.
    /// Requires the permission to impersonate it.
    pub(crate) fn impersonating(&self, account: Option<(&str, &str)>) -> Self {
        let user =
            account.map(|(namespace, name)| format!("system:serviceaccount:{namespace}:{name}").into());
        Self { impersonated_user: user, ..self.clone() }
    }

    /// Reachability of the server.
    pub(crate) fn reachability(&self) -> &Reachability {
        &self.reachability
    }

    /// The API server's time; the agent's clock until the first response.
    pub(crate) fn now(&self) -> Timestamp {
        self.server_time.to_server_time(self.options.now())
    }

    /// Requests the server's version, to detect a server that accepts connections and sends no response. Two failures in a
    /// row are an outage, so a failed request is repeated once.
    pub(crate) async fn probe(&self) {
        let prober = Self { deadline: self.deadline.min(self.options.probe_deadline), ..self.clone() };
        for _ in 0..2 {
            match prober.get_bytes("/version").await {
                Err(error) if error.is_unreachable() => {}
                _ => return,
            }
        }
    }

    /// Reads one path.
    pub(crate) async fn get(&self, path: &str) -> Result<Value, Error> {
        self.get_as(path, "application/json").await
    }

    /// Reads one path with an `AcceptArgs` header.
    pub(crate) async fn get_as(&self, path: &str, accept: &str) -> Result<Value, Error> {
        let request = Request::get(path).header(header::ACCEPT, accept);
        Ok(self.send_for_json(request, Vec::new()).await?.1)
    }

    /// Reads one path without parsing the body.
    pub(crate) async fn get_bytes(&self, path: &str) -> Result<Bytes, Error> {
        let request = Request::get(path).header(header::ACCEPT, "application/json");
        Ok(self.send_with_deadline(request, Vec::new()).await?.1)
    }

    /// Server-side apply of one object.
    pub(crate) async fn apply(
        &self,
        path: &str,
        body: Vec<u8>,
        force: ForceConflicts,
        dry_run: bool,
    ) -> Result<ApplyResponse, Error> {
        let force = force == ForceConflicts::Yes;
        let dry = if dry_run { "&dryRun=All" } else { "" };
        let uri = format!("{path}?fieldManager={FIELD_MANAGER}&force={force}{dry}");
        let request = Request::patch(uri).header(header::CONTENT_TYPE, "application/apply-patch+yaml");
        let (status, object) = self.send_for_json(request, body).await?;
        Ok(ApplyResponse { object, created: status == StatusCode::CREATED })
    }

    /// Creates one object.
    pub(crate) async fn create(&self, collection: &str, object: &Value) -> Result<Value, Error> {
        let uri = format!("{collection}?fieldManager={FIELD_MANAGER}");
        let request = Request::post(uri).header(header::CONTENT_TYPE, "application/json");
        Ok(self.send_for_json(request, object.to_string().into_bytes()).await?.1)
    }

    /// Merge-patches one object.
    pub(crate) async fn merge_patch(&self, path: &str, patch: &Value) -> Result<Value, Error> {
        let uri = format!("{path}?fieldManager={FIELD_MANAGER}");
        let request = Request::patch(uri).header(header::CONTENT_TYPE, "application/merge-patch+json");
        Ok(self.send_for_json(request, patch.to_string().into_bytes()).await?.1)
    }

    /// Deletes one object, with its uid as a precondition.
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
        self.send_for_json(request, options.to_string().into_bytes()).await?;
        Ok(())
    }

    /// The client, for watches: they are long-lived and exempt from the concurrency limit.
    pub(crate) fn client(&self) -> &kube::Client {
        &self.client
    }

    /// How long one request may take.
    pub(crate) fn deadline(&self) -> Duration {
        self.deadline
    }

    async fn send_for_json(
        &self,
        request: http::request::Builder,
        body: Vec<u8>,
    ) -> Result<(StatusCode, Value), Error> {
        let (status, bytes) = self.send_with_deadline(request, body).await?;
        let value = serde_json::from_slice(&bytes).map_err(|e| Error::Unreadable(e.to_string()))?;
        Ok((status, value))
    }

    async fn send_with_deadline(
        &self,
        request: http::request::Builder,
        body: Vec<u8>,
    ) -> Result<(StatusCode, Bytes), Error> {
        let request = match &self.impersonated_user {
            Some(user) => request.header("Impersonate-User", &**user),
            None => request,
        };
        let request = request.body(Body::from(body)).map_err(|e| Error::Invalid(e.to_string()))?;
        // Fails only if the semaphore is closed, which never happens.
        let _permit = self.permits.acquire().await.ok();
        let response = match tokio::time::timeout(self.deadline, self.send(request)).await {
            Ok(response) => response,
            Err(_) => Err(Error::Timeout(self.deadline)),
        };
        self.reachability.record_result(response.as_ref().err());
        response
    }

    async fn send(&self, request: Request<Body>) -> Result<(StatusCode, Bytes), Error> {
        let response = self.client.send(request).await.map_err(|e| error_response::from_client_error(&e))?;
        let status = response.status();
        if self.options.server_time {
            self.server_time.record_date(response.headers(), self.options.now());
        }
        let retry_after = error_response::retry_after(response.headers());
        let length =
            response.headers().get(header::CONTENT_LENGTH).and_then(|v| v.to_str().ok()?.parse().ok());
        if length.is_some_and(|length: u64| length > RESPONSE_BYTES_MAX) {
            return Err(Error::Unreadable(format!("it is longer than {} MiB", RESPONSE_BYTES_MAX >> 20)));
        }
        let bytes =
            response.into_body().collect_bytes().await.map_err(|e| error_response::from_client_error(&e))?;
        if !status.is_success() {
            return Err(error_response::from_status(status, &bytes, retry_after));
        }
        Ok((status, bytes))
    }
}
