//! List, then watch, for as long as the kind is served.
//!
//! A watch that ends goes on where it was; one that is too old begins with a new list; one that breaks is tried again
//! with growing pauses. What was seen stays until the server itself says otherwise (DESIGN 3.8, P11).

use std::time::Duration;

use futures::StreamExt;
use http::{Request, header};
use kube::core::WatchEvent;
use rand::Rng;
use serde_json::Value;

use crate::api::Api;
use crate::error::Error;

/// Objects per page of a list.
const PAGE: u32 = 500;
/// How long a watch may last before the server ends it, in seconds.
const WATCH_SECONDS: u32 = 290;
/// First pause after a failure; it doubles.
const PAUSE_FIRST: Duration = Duration::from_millis(50);
/// Longest pause while the server refuses: it has enough to do.
const PAUSE_REFUSED: Duration = Duration::from_secs(15);
/// Longest pause while the server is silent: asking costs it nothing, and a change made meanwhile waits for it.
const PAUSE_SILENT: Duration = Duration::from_millis(1_500);

/// What is followed.
#[derive(Debug, Clone)]
pub(crate) struct Target {
    /// URL of the collection.
    pub path: String,
    /// Label selector; empty for everything.
    pub selector: String,
    /// Field selector; empty for everything.
    pub fields: String,
    /// Whether metadata is enough.
    pub metadata_only: bool,
    /// Longest pause while the server refuses.
    pub patience: Duration,
}

impl Target {
    /// Everything in a collection, whole.
    pub fn all(path: String) -> Self {
        Self {
            path,
            selector: String::new(),
            fields: String::new(),
            metadata_only: false,
            patience: PAUSE_REFUSED,
        }
    }

    /// The same without anything but metadata.
    pub fn metadata(path: String) -> Self {
        Self { metadata_only: true, ..Self::all(path) }
    }
}

/// What is told about a target.
pub(crate) enum Event {
    /// A list is asked for; what is written from now on may be missing in it.
    Listing,
    /// This is all there is, as of this version of the whole collection; 0 where versions are no numbers.
    Listed(Vec<Value>, u64),
    /// An object is new or changed.
    Put(Value),
    /// An object is gone; its last state.
    Deleted(Value),
    /// The target can't be read for now; what was seen may be stale.
    Failing(Error),
    /// The watch goes on after a failure.
    Resumed,
    /// The cluster does not serve it (any more).
    NotServed,
}

/// Follows a target until it is not served or the future is dropped.
pub(crate) async fn follow(api: Api, target: Target, mut tell: impl FnMut(Event) + Send) {
    let mut pause = PAUSE_FIRST;
    loop {
        tell(Event::Listing);
        let mut version = match list(&api, &target).await {
            Ok((items, version)) => {
                tell(Event::Listed(items, version.parse().unwrap_or(0)));
                pause = PAUSE_FIRST;
                version
            }
            Err(Error::ApiMissing(_) | Error::NotFound(_)) => return tell(Event::NotServed),
            Err(Error::Gone) => continue,
            Err(error) => {
                let longest = longest(&target, &error);
                tell(Event::Failing(error));
                rest(&api, &mut pause, longest).await;
                continue;
            }
        };
        let mut failing = false;
        loop {
            let begun = tokio::time::Instant::now();
            let end = watch(&api, &target, &mut version, &mut |event| {
                if std::mem::take(&mut failing) {
                    pause = PAUSE_FIRST;
                    tell(Event::Resumed);
                }
                if let Some(event) = event {
                    tell(event);
                }
            })
            .await;
            match end {
                Ok(()) if begun.elapsed() > Duration::from_secs(1) => {}
                // A server that hangs up at once is not asked again at once.
                Ok(()) => rest(&api, &mut pause, target.patience).await,
                Err(Error::Gone) => break,
                Err(Error::ApiMissing(_) | Error::NotFound(_)) => return tell(Event::NotServed),
                Err(error) => {
                    failing = true;
                    let longest = longest(&target, &error);
                    tell(Event::Failing(error));
                    rest(&api, &mut pause, longest).await;
                }
            }
        }
    }
}

/// Pauses, but no longer than until somebody else hears a silent server again.
async fn rest(api: &Api, pause: &mut Duration, longest: Duration) {
    let jitter = rand::rng().random_range(0.8..1.2);
    let time_out = tokio::time::sleep((*pause).min(longest).mul_f64(jitter));
    *pause = (*pause * 2).min(longest);
    let mut silence = api.reach().subscribe();
    if silence.borrow().is_none() {
        return time_out.await;
    }
    tokio::select! {
        () = time_out => {}
        _ = silence.wait_for(Option::is_none) => {}
    }
}

fn longest(target: &Target, error: &Error) -> Duration {
    if error.is_silence() { PAUSE_SILENT } else { target.patience }
}

fn accept(target: &Target, what: &str) -> String {
    if target.metadata_only {
        format!("application/json;as={what};g=meta.k8s.io;v=v1,application/json")
    } else {
        "application/json".to_owned()
    }
}

async fn list(api: &Api, target: &Target) -> Result<(Vec<Value>, String), Error> {
    let selection = selection(target);
    let mut items = Vec::new();
    let mut token = String::new();
    loop {
        let next = if token.is_empty() { String::new() } else { format!("&continue={}", encoded(&token)) };
        let url = format!("{}?limit={PAGE}{selection}{next}", target.path);
        let mut page = api.get_as(&url, &accept(target, "PartialObjectMetadataList")).await?;
        let kind = page["kind"].as_str().and_then(|kind| kind.strip_suffix("List")).map(str::to_owned);
        let api_version = page["apiVersion"].clone();
        if let Value::Array(list) = page["items"].take() {
            items.extend(list.into_iter().map(|item| with_type(item, &api_version, kind.as_deref())));
        }
        token = page.pointer("/metadata/continue").and_then(Value::as_str).unwrap_or_default().to_owned();
        if token.is_empty() {
            let version =
                page.pointer("/metadata/resourceVersion").and_then(Value::as_str).unwrap_or_default();
            return Ok((items, version.to_owned()));
        }
    }
}

fn selection(target: &Target) -> String {
    let part = |name: &str, value: &str| match value {
        "" => String::new(),
        value => format!("&{name}={}", encoded(value)),
    };
    part("labelSelector", &target.selector) + &part("fieldSelector", &target.fields)
}

/// Items of a list carry no kind of their own.
fn with_type(mut item: Value, api_version: &Value, kind: Option<&str>) -> Value {
    if let (Some(map), Some(kind)) = (item.as_object_mut(), kind) {
        map.entry("apiVersion").or_insert_with(|| api_version.clone());
        map.entry("kind").or_insert_with(|| kind.into());
    }
    item
}

/// One watch; tells every event, and `None` as soon as the server has taken the watch.
async fn watch(
    api: &Api,
    target: &Target,
    version: &mut String,
    tell: &mut (impl FnMut(Option<Event>) + Send),
) -> Result<(), Error> {
    let url = format!(
        "{}?watch=true&allowWatchBookmarks=true&timeoutSeconds={WATCH_SECONDS}{}&resourceVersion={}",
        target.path,
        selection(target),
        encoded(version),
    );
    let request = Request::get(url)
        .header(header::ACCEPT, accept(target, "PartialObjectMetadata"))
        .body(Vec::new())
        .map_err(|e| Error::Invalid(e.to_string()))?;
    let begun = tokio::time::timeout(api.deadline(), api.client().request_events::<Value>(request)).await;
    let begun = match begun {
        Ok(Ok(stream)) => Ok(stream),
        Ok(Err(error)) => Err(crate::api::of_client(&error)),
        Err(_) => Err(Error::Timeout(api.deadline())),
    };
    api.reach().note(begun.as_ref().err());
    let mut stream = std::pin::pin!(begun?);
    tell(None);
    let idle = Duration::from_secs(u64::from(WATCH_SECONDS) + 10);
    while let Ok(Some(event)) = tokio::time::timeout(idle, stream.next()).await {
        match event {
            Ok(WatchEvent::Added(object) | WatchEvent::Modified(object)) => {
                note_version(version, &object);
                tell(Some(Event::Put(object)));
            }
            Ok(WatchEvent::Deleted(object)) => {
                note_version(version, &object);
                tell(Some(Event::Deleted(object)));
            }
            Ok(WatchEvent::Bookmark(bookmark)) => *version = bookmark.metadata.resource_version,
            Ok(WatchEvent::Error(status)) => return Err(crate::api::of_client(&kube::Error::Api(status))),
            Err(error) => {
                let error = crate::api::of_client(&error);
                api.reach().note(Some(&error));
                return Err(error);
            }
        }
    }
    Ok(())
}

fn note_version(version: &mut String, object: &Value) {
    if let Some(seen) = object.pointer("/metadata/resourceVersion").and_then(Value::as_str) {
        seen.clone_into(version);
    }
}

/// Query values: letters, digits and a few signs stay.
fn encoded(text: &str) -> String {
    use std::fmt::Write as _;
    text.bytes().fold(String::new(), |mut out, byte| {
        match byte {
            b'a'..=b'z' | b'A'..=b'Z' | b'0'..=b'9' | b'-' | b'.' | b'_' | b'~' => out.push(byte as char),
            other => {
                let _ = write!(out, "%{other:02X}");
            }
        }
        out
    })
}
