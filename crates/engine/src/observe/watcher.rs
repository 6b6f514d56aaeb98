//! List, then watch, as long as the kind is served.
//!
//! A watch that ends resumes from its resource version; an expired version causes a new list; a failed watch is retried
//! with exponential back-off. Cached objects stay until an event of the server removes them (P11).

use std::time::Duration;

use futures::StreamExt;
use http::{Request, header};
use kube::core::WatchEvent;
use rand::Rng;
use serde_json::Value;

use crate::api::{ApiClient, encode_query};
use crate::error::Error;

/// Objects per page of a list.
const PAGE: u32 = 500;
/// Requested duration of one watch, in seconds.
const WATCH_SECONDS: u32 = 290;
/// First back-off after a failure; doubles.
const BACKOFF_FIRST: Duration = Duration::from_millis(50);
/// Longest back-off while the server responds with errors.
const BACKOFF_MAX_REJECTED: Duration = Duration::from_secs(15);
/// Longest back-off while the server is unreachable: retries cost it nothing, and missed changes wait for the next one.
const BACKOFF_MAX_UNREACHABLE: Duration = Duration::from_millis(1_500);

/// What is listed and watched.
#[derive(Debug, Clone)]
pub(crate) struct WatchTarget {
    /// URL of the collection.
    pub path: String,
    /// Label selector; empty for everything.
    pub label_selector: String,
    /// Field selector; empty for everything.
    pub field_selector: String,
    /// Whether to request metadata only.
    pub metadata_only: bool,
    /// Longest back-off while the server responds with errors.
    pub max_backoff: Duration,
}

impl WatchTarget {
    /// Complete objects of a collection, without selectors.
    pub fn new(path: String) -> Self {
        Self {
            path,
            label_selector: String::new(),
            field_selector: String::new(),
            metadata_only: false,
            max_backoff: BACKOFF_MAX_REJECTED,
        }
    }

    /// Metadata of the objects of a collection, without selectors.
    pub fn new_metadata_only(path: String) -> Self {
        Self { metadata_only: true, ..Self::new(path) }
    }
}

/// An event of a target.
pub(crate) enum WatcherEvent {
    /// A list has started; it may lack objects written from now on.
    ListStarted,
    /// All objects, and the resource version of the collection; 0 if versions are not numeric.
    Listed(Vec<Value>, u64),
    /// An object was created or changed.
    Upserted(Value),
    /// An object was deleted; its last state.
    Deleted(Value),
    /// The target can't be read; cached objects may be stale.
    Failing(Error),
    /// The watch works again after a failure.
    Resumed,
    /// The cluster does not serve the kind (any more).
    NotServed,
}

/// Lists and watches a target until it is no longer served or the future is dropped.
pub(crate) async fn list_and_watch(
    api: ApiClient,
    target: WatchTarget,
    mut handle: impl FnMut(WatcherEvent) + Send,
) {
    let mut pause = BACKOFF_FIRST;
    loop {
        handle(WatcherEvent::ListStarted);
        let mut version = match list(&api, &target).await {
            Ok((items, version)) => {
                handle(WatcherEvent::Listed(items, version.parse().unwrap_or(0)));
                pause = BACKOFF_FIRST;
                version
            }
            Err(Error::ApiMissing(_) | Error::NotFound(_)) => return handle(WatcherEvent::NotServed),
            Err(Error::Gone) => continue,
            Err(error) => {
                let longest = max_backoff(&target, &error);
                handle(WatcherEvent::Failing(error));
                back_off(&api, &mut pause, longest).await;
                continue;
            }
        };
        let mut failing = false;
        loop {
            let started_at = tokio::time::Instant::now();
            let end = watch_once(&api, &target, &mut version, &mut |event| {
                if std::mem::take(&mut failing) {
                    pause = BACKOFF_FIRST;
                    handle(WatcherEvent::Resumed);
                }
                if let Some(event) = event {
                    handle(event);
                }
            })
            .await;
            match end {
                Ok(()) if started_at.elapsed() > Duration::from_secs(1) => {}
                // Back off if the server closes the watch immediately.
                Ok(()) => back_off(&api, &mut pause, target.max_backoff).await,
                Err(Error::Gone) => break,
                Err(Error::ApiMissing(_) | Error::NotFound(_)) => return handle(WatcherEvent::NotServed),
                Err(error) => {
                    failing = true;
                    let longest = max_backoff(&target, &error);
                    handle(WatcherEvent::Failing(error));
                    back_off(&api, &mut pause, longest).await;
                }
            }
        }
    }
}

/// Backs off; returns early when another request finds the server reachable again.
async fn back_off(api: &ApiClient, pause: &mut Duration, longest: Duration) {
    let jitter = rand::rng().random_range(0.8..1.2);
    let sleep = tokio::time::sleep((*pause).min(longest).mul_f64(jitter));
    *pause = (*pause * 2).min(longest);
    let mut outage = api.reachability().subscribe();
    if outage.borrow().is_none() {
        return sleep.await;
    }
    tokio::select! {
        () = sleep => {}
        _ = outage.wait_for(Option::is_none) => {}
    }
}

fn max_backoff(target: &WatchTarget, error: &Error) -> Duration {
    if error.is_unreachable() { BACKOFF_MAX_UNREACHABLE } else { target.max_backoff }
}

fn accept_header(target: &WatchTarget, kind: &str) -> String {
    if target.metadata_only {
        format!("application/json;as={kind};g=meta.k8s.io;v=v1,application/json")
    } else {
        "application/json".to_owned()
    }
}

pub(super) async fn list(api: &ApiClient, target: &WatchTarget) -> Result<(Vec<Value>, String), Error> {
    let selection = selector_query(target);
    let mut items = Vec::new();
    let mut token = String::new();
    loop {
        let next =
            if token.is_empty() { String::new() } else { format!("&continue={}", encode_query(&token)) };
        let url = format!("{}?limit={PAGE}{selection}{next}", target.path);
        let mut page = api.get_as(&url, &accept_header(target, "PartialObjectMetadataList")).await?;
        let kind = page["kind"].as_str().and_then(|kind| kind.strip_suffix("List")).map(str::to_owned);
        let api_version = page["apiVersion"].clone();
        if let Value::Array(list) = page["items"].take() {
            items.extend(list.into_iter().map(|item| with_type_meta(item, &api_version, kind.as_deref())));
        }
        token = page.pointer("/metadata/continue").and_then(Value::as_str).unwrap_or_default().to_owned();
        if token.is_empty() {
            let version =
                page.pointer("/metadata/resourceVersion").and_then(Value::as_str).unwrap_or_default();
            return Ok((items, version.to_owned()));
        }
    }
}

fn selector_query(target: &WatchTarget) -> String {
    let part = |name: &str, value: &str| match value {
        "" => String::new(),
        value => format!("&{name}={}", encode_query(value)),
    };
    part("labelSelector", &target.label_selector) + &part("fieldSelector", &target.field_selector)
}

/// Adds `apiVersion` and `kind`, which list items lack.
fn with_type_meta(mut item: Value, api_version: &Value, kind: Option<&str>) -> Value {
    if let (Some(map), Some(kind)) = (item.as_object_mut(), kind) {
        map.entry("apiVersion").or_insert_with(|| api_version.clone());
        map.entry("kind").or_insert_with(|| kind.into());
    }
    item
}

/// Runs one watch. Calls `handle` with `None` when the server has accepted it, then with every event.
async fn watch_once(
    api: &ApiClient,
    target: &WatchTarget,
    version: &mut String,
    handle: &mut (impl FnMut(Option<WatcherEvent>) + Send),
) -> Result<(), Error> {
    let url = format!(
        "{}?watch=true&allowWatchBookmarks=true&timeoutSeconds={WATCH_SECONDS}{}&resourceVersion={}",
        target.path,
        selector_query(target),
        encode_query(version),
    );
    let request = Request::get(url)
        .header(header::ACCEPT, accept_header(target, "PartialObjectMetadata"))
        .body(Vec::new())
        .map_err(|e| Error::Invalid(e.to_string()))?;
    let response = tokio::time::timeout(api.deadline(), api.client().request_events::<Value>(request)).await;
    let response = match response {
        Ok(Ok(stream)) => Ok(stream),
        Ok(Err(error)) => Err(crate::api::from_client_error(&error)),
        Err(_) => Err(Error::Timeout(api.deadline())),
    };
    api.reachability().record_result(response.as_ref().err());
    let mut stream = std::pin::pin!(response?);
    handle(None);
    let idle = Duration::from_secs(u64::from(WATCH_SECONDS) + 10);
    while let Ok(Some(event)) = tokio::time::timeout(idle, stream.next()).await {
        match event {
            Ok(WatchEvent::Added(object) | WatchEvent::Modified(object)) => {
                update_version(version, &object);
                handle(Some(WatcherEvent::Upserted(object)));
            }
            Ok(WatchEvent::Deleted(object)) => {
                update_version(version, &object);
                handle(Some(WatcherEvent::Deleted(object)));
            }
            Ok(WatchEvent::Bookmark(bookmark)) => *version = bookmark.metadata.resource_version,
            Ok(WatchEvent::Error(status)) => {
                return Err(crate::api::from_client_error(&kube::Error::Api(status)));
            }
            Err(error) => {
                let error = crate::api::from_client_error(&error);
                api.reachability().record_result(Some(&error));
                return Err(error);
            }
        }
    }
    Ok(())
}

fn update_version(version: &mut String, object: &Value) {
    if let Some(latest) = object.pointer("/metadata/resourceVersion").and_then(Value::as_str) {
        latest.clone_into(version);
    }
}
