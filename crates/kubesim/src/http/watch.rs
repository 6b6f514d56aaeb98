//! Watches: a stream of changes after a version, read from the bounded history.
//!
//! A watch has no queue of its own: it stores the version it has sent and reads the history from there. A slow client
//! uses no memory and gets 410 once its version has left the history, as on a real server.

use std::collections::VecDeque;
use std::sync::{Arc, Weak};
use std::time::Duration;

use bytes::Bytes;
use futures::Stream;
use serde_json::json;
use tokio::sync::watch::Receiver;
use tokio::time::{Instant, sleep_until};

use super::request::{ApiRequest, ResponseForm};
use super::view;
use crate::cluster::SimState;
use crate::stats::increment;
use crate::status::{ApiResult, StatusCause, StatusError};
use crate::store::{ObjectChange, StoredObject};
use crate::verbs::ResourcePath;
use crate::verbs::list::ListOptions;

/// Interval of bookmarks on an idle watch.
const BOOKMARK_INTERVAL: Duration = Duration::from_secs(60);

/// The error of a watch whose connection was broken.
#[derive(Debug)]
pub struct ConnectionReset;

impl std::fmt::Display for ConnectionReset {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str("connection reset by peer")
    }
}

impl std::error::Error for ConnectionReset {}

struct WatchSession {
    sim: Weak<SimState>,
    target: ResourcePath,
    query: ListOptions,
    form: ResponseForm,
    sent_version: u64,
    pending: VecDeque<Bytes>,
    bookmarks: bool,
    is_first: bool,
    ended: bool,
    changes: Receiver<u64>,
    disconnects: Receiver<u64>,
    closing: Receiver<bool>,
    server_closing: Option<Receiver<bool>>,
    deadline: Instant,
    next_bookmark: Instant,
}

/// Starts a watch.
///
/// # Errors
/// Contradictory parameters. A version that is too old is reported inside the stream.
pub(crate) fn start_watch(
    sim: &Arc<SimState>,
    request: &ApiRequest,
    server: Option<Receiver<bool>>,
) -> ApiResult<impl Stream<Item = Result<Bytes, ConnectionReset>> + Send + use<>> {
    let params = &request.params;
    let mut query = params.list_options(&request.target.kind)?;
    if request.is_single {
        let only = format!("metadata.name={}", request.target.name);
        query.fields = crate::selector::FieldSelector::parse(&request.target.kind.kind, &only)?;
    }
    let initial = should_send_initial(request)?;
    let now = Instant::now();
    let timeout = params.get("timeoutSeconds").parse().ok().filter(|s: &u64| *s > 0);
    let timeout = timeout.unwrap_or_else(|| 1800 + u64::from(rand::random::<u16>() % 1800));
    let mut watch = WatchSession {
        sim: Arc::downgrade(sim),
        target: request.target.clone(),
        form: request.form,
        sent_version: query.resource_version.unwrap_or(0),
        pending: VecDeque::new(),
        bookmarks: params.is_true("allowWatchBookmarks"),
        is_first: true,
        ended: false,
        changes: sim.store.subscribe(request.target.kind.id),
        disconnects: sim.faults.subscribe_watch_disconnects(),
        closing: sim.close_watches.subscribe(),
        server_closing: server,
        deadline: now + Duration::from_secs(timeout),
        next_bookmark: now + BOOKMARK_INTERVAL,
        query,
    };
    watch.queue_initial(sim, initial, params.get("sendInitialEvents") == "true");
    Ok(futures::stream::unfold(watch, WatchSession::next_chunk))
}

/// Whether the stream starts with the existing objects.
fn should_send_initial(request: &ApiRequest) -> ApiResult<bool> {
    let params = &request.params;
    let (initial, matching) = (params.get("sendInitialEvents"), params.get("resourceVersionMatch"));
    let wrong = match (initial, matching) {
        ("", "") => None,
        ("", _) => Some("resourceVersionMatch is forbidden for watch unless sendInitialEvents is provided"),
        (_, "NotOlderThan") => None,
        _ => Some("sendInitialEvents requires setting resourceVersionMatch to NotOlderThan"),
    };
    if let Some(detail) = wrong {
        let cause = StatusCause::forbidden("resourceVersionMatch", detail);
        let mut refusal = StatusError::invalid(&request.target.kind, "", &[cause]);
        refusal.message =
            format!("ListOptions.meta.k8s.io \"\" is invalid: resourceVersionMatch: Forbidden: {detail}");
        return Err(refusal);
    }
    Ok(initial == "true" || (initial != "false" && params.resource_version()?.is_none()))
}

impl WatchSession {
    fn queue_initial(&mut self, sim: &SimState, initial: bool, marked: bool) {
        let namespace = (!self.target.namespace.is_empty()).then_some(self.target.namespace.clone());
        if !initial {
            let (floor, current) = {
                let state = sim.store.lock();
                (state.compacted_version, state.rv)
            };
            match self.query.resource_version {
                None => self.sent_version = current,
                Some(version) if version < floor => self.push_error(&StatusError::expired(version, floor)),
                Some(_) => {}
            }
            return;
        }
        let (objects, rv) = sim.store.list(self.target.kind.id, namespace.as_deref());
        self.sent_version = rv;
        for object in objects {
            if self.query.selects(&object.value) {
                self.push_object("ADDED", &object);
            }
        }
        if marked && self.bookmarks {
            self.push_bookmark(rv, true);
        }
    }

    fn push_object(&mut self, kind: &str, object: &Arc<StoredObject>) {
        let object = crate::convert::convert_from_storage(&self.target.kind, self.target.version, object);
        let body = view::event_body(&self.target, self.form, &object, self.is_first);
        self.is_first = false;
        self.push_event(kind, &body);
    }

    fn push_event(&mut self, kind: &str, body: &[u8]) {
        let mut line = Vec::with_capacity(body.len() + 40);
        line.extend_from_slice(b"{\"type\":\"");
        line.extend_from_slice(kind.as_bytes());
        line.extend_from_slice(b"\",\"object\":");
        line.extend_from_slice(body);
        line.extend_from_slice(b"}\n");
        self.pending.push_back(Bytes::from(line));
    }

    fn push_bookmark(&mut self, rv: u64, end_of_initial: bool) {
        let mut metadata = json!({"resourceVersion": rv.to_string(), "creationTimestamp": null});
        if end_of_initial {
            metadata["annotations"] = json!({"k8s.io/initial-events-end": "true"});
        }
        let (kind, version) = match self.form {
            ResponseForm::Metadata => ("PartialObjectMetadata", "meta.k8s.io/v1"),
            _ => (&*self.target.kind.kind, &*self.target.version().api_version),
        };
        let body = json!({"kind": kind, "apiVersion": version, "metadata": metadata}).to_string();
        self.push_event("BOOKMARK", body.as_bytes());
    }

    fn push_error(&mut self, refusal: &StatusError) {
        self.push_event("ERROR", refusal.body().to_string().as_bytes());
        self.ended = true;
    }

    /// Reads the changes since `sent_version`.
    fn read_changes(&mut self, sim: &SimState) {
        let (changes, rv) = {
            let state = sim.store.lock();
            let changes = state
                .kind_store(self.target.kind.id)
                .map_or(Ok(Vec::new()), |b| b.history.changes_after(self.sent_version));
            (changes, state.rv)
        };
        match changes {
            Err(oldest) => self.push_error(&StatusError::expired(self.sent_version, oldest)),
            Ok(changes) => {
                changes.iter().for_each(|change| self.push_change(change));
                self.sent_version = rv.max(self.sent_version);
            }
        }
    }

    /// Queues the event of one change, as seen through the watch's selector.
    fn push_change(&mut self, change: &ObjectChange) {
        let namespace = &self.target.namespace;
        if !namespace.is_empty() && change.key.split('/').next() != Some(namespace) {
            return;
        }
        let before = change.old.as_ref().filter(|o| self.query.selects(&o.value)).cloned();
        let after = !change.deleted && self.query.selects(&change.new.value);
        match (before, after) {
            (None, true) => self.push_object("ADDED", &change.new),
            (Some(_), true) => self.push_object("MODIFIED", &change.new),
            (Some(_), false) if change.deleted => self.push_object("DELETED", &change.new),
            (Some(old), false) => {
                // It no longer matches: the client gets the previous object, with the version of the change.
                let mut value = old.value.clone();
                crate::object::set_value(&mut value, "metadata.resourceVersion", change.rv.to_string());
                self.push_object("DELETED", &Arc::new(StoredObject::new(change.rv, value)));
            }
            (None, false) => {}
        }
    }

    async fn next_chunk(mut self) -> Option<(Result<Bytes, ConnectionReset>, WatchSession)> {
        loop {
            if let Some(chunk) = self.drain_pending() {
                return Some((Ok(chunk), self));
            }
            if self.ended {
                return None;
            }
            let sim = self.sim.upgrade()?;
            self.changes.mark_unchanged();
            self.read_changes(&sim);
            drop(sim);
            if !self.pending.is_empty() {
                continue;
            }
            match self.wait_for_wake().await {
                WakeReason::Change => {}
                WakeReason::Bookmark => {
                    self.next_bookmark = Instant::now() + BOOKMARK_INTERVAL;
                    if self.bookmarks {
                        self.push_bookmark(self.sent_version, false);
                    }
                }
                WakeReason::End => return None,
                WakeReason::Disconnect => {
                    self.ended = true;
                    return Some((Err(ConnectionReset), self));
                }
            }
        }
    }

    /// All pending events as one chunk.
    fn drain_pending(&mut self) -> Option<Bytes> {
        let first = self.pending.pop_front()?;
        let sim = self.sim.upgrade();
        let count = |events: usize, bytes: usize| {
            if let Some(sim) = &sim {
                increment(&sim.counters.watch_events, events);
                increment(&sim.counters.bytes_out, bytes);
            }
        };
        if self.pending.is_empty() {
            count(1, first.len());
            return Some(first);
        }
        let mut chunk = first.to_vec();
        let mut events = 1;
        while let Some(line) = self.pending.pop_front() {
            chunk.extend_from_slice(&line);
            events += 1;
        }
        count(events, chunk.len());
        Some(Bytes::from(chunk))
    }

    async fn wait_for_wake(&mut self) -> WakeReason {
        let server = async {
            match &mut self.server_closing {
                Some(server) => drop(server.wait_for(|closing| *closing).await),
                None => std::future::pending().await,
            }
        };
        tokio::select! {
            changed = self.changes.changed() => if changed.is_ok() { WakeReason::Change } else { WakeReason::End },
            _ = self.disconnects.changed() => WakeReason::Disconnect,
            _ = self.closing.changed() => WakeReason::End,
            () = server => WakeReason::End,
            () = sleep_until(self.deadline) => WakeReason::End,
            () = sleep_until(self.next_bookmark) => WakeReason::Bookmark,
        }
    }
}

enum WakeReason {
    Change,
    Bookmark,
    End,
    Disconnect,
}
