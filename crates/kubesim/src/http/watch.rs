//! Watches: a stream of changes from a version on, read from the bounded history.
//!
//! A watch holds no queue of its own: it remembers the version it has sent and reads the history from there, so a
//! slow client costs nothing and in the end meets 410, as on a real server.

use std::collections::VecDeque;
use std::sync::{Arc, Weak};
use std::time::Duration;

use bytes::Bytes;
use futures::Stream;
use serde_json::json;
use tokio::sync::watch::Receiver;
use tokio::time::{Instant, sleep_until};

use super::request::{Asked, Form};
use super::view;
use crate::cluster::Sim;
use crate::stats::add;
use crate::status::{Answer, Cause, Refusal};
use crate::store::{Change, Stored};
use crate::verbs::Target;
use crate::verbs::list::Query;

/// How often a quiet watch tells its version.
const BOOKMARK_EVERY: Duration = Duration::from_secs(60);

/// A broken connection, as the client meets it.
#[derive(Debug)]
pub struct Cut;

impl std::fmt::Display for Cut {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str("connection reset by peer")
    }
}

impl std::error::Error for Cut {}

struct Watch {
    sim: Weak<Sim>,
    target: Target,
    query: Query,
    form: Form,
    at: u64,
    ready: VecDeque<Bytes>,
    bookmarks: bool,
    first: bool,
    over: bool,
    bell: Receiver<u64>,
    cut: Receiver<u64>,
    closing: Receiver<bool>,
    server: Option<Receiver<bool>>,
    deadline: Instant,
    bookmark: Instant,
}

/// Starts a watch.
///
/// # Errors
/// Parameters that contradict each other. A version that is too old is told inside the stream.
pub(crate) fn start(
    sim: &Arc<Sim>,
    asked: &Asked,
    server: Option<Receiver<bool>>,
) -> Answer<impl Stream<Item = Result<Bytes, Cut>> + Send + use<>> {
    let params = &asked.params;
    let mut query = params.query(&asked.target.kind)?;
    if asked.one {
        let only = format!("metadata.name={}", asked.target.name);
        query.fields = crate::selector::FieldSelector::parse(&asked.target.kind.kind, &only)?;
    }
    let initial = initial_events(asked)?;
    let now = Instant::now();
    let lasts = params.get("timeoutSeconds").parse().ok().filter(|s: &u64| *s > 0);
    let lasts = lasts.unwrap_or_else(|| 1800 + u64::from(rand::random::<u16>() % 1800));
    let mut watch = Watch {
        sim: Arc::downgrade(sim),
        target: asked.target.clone(),
        form: asked.form,
        at: query.version.unwrap_or(0),
        ready: VecDeque::new(),
        bookmarks: params.flag("allowWatchBookmarks"),
        first: true,
        over: false,
        bell: sim.store.bell(asked.target.kind.id),
        cut: sim.faults.cuts(),
        closing: sim.closing.subscribe(),
        server,
        deadline: now + Duration::from_secs(lasts),
        bookmark: now + BOOKMARK_EVERY,
        query,
    };
    watch.begin(sim, initial, params.get("sendInitialEvents") == "true");
    Ok(futures::stream::unfold(watch, Watch::next))
}

/// Whether the stream begins with what exists.
fn initial_events(asked: &Asked) -> Answer<bool> {
    let params = &asked.params;
    let (initial, matching) = (params.get("sendInitialEvents"), params.get("resourceVersionMatch"));
    let wrong = match (initial, matching) {
        ("", "") => None,
        ("", _) => Some("resourceVersionMatch is forbidden for watch unless sendInitialEvents is provided"),
        (_, "NotOlderThan") => None,
        (_, "") => Some("sendInitialEvents requires setting resourceVersionMatch to NotOlderThan"),
        _ => Some("sendInitialEvents requires setting resourceVersionMatch to NotOlderThan"),
    };
    if let Some(detail) = wrong {
        let cause = Cause::forbidden("resourceVersionMatch", detail);
        let mut refusal = Refusal::invalid(&asked.target.kind, "", &[cause]);
        refusal.message =
            format!("ListOptions.meta.k8s.io \"\" is invalid: resourceVersionMatch: Forbidden: {detail}");
        return Err(refusal);
    }
    Ok(initial == "true" || (initial != "false" && params.version()?.is_none()))
}

impl Watch {
    fn begin(&mut self, sim: &Sim, initial: bool, marked: bool) {
        let namespace = (!self.target.namespace.is_empty()).then_some(self.target.namespace.clone());
        if !initial {
            let (floor, current) = {
                let state = sim.store.lock();
                (state.floor, state.rv)
            };
            match self.query.version {
                None => self.at = current,
                Some(asked) if asked < floor => self.fail(&Refusal::expired(asked, floor)),
                Some(_) => {}
            }
            return;
        }
        let (objects, rv) = sim.store.list(self.target.kind.id, namespace.as_deref());
        self.at = rv;
        for object in objects {
            if self.query.selects(&object.value) {
                self.send("ADDED", &object);
            }
        }
        if marked && self.bookmarks {
            self.mark(rv, true);
        }
    }

    fn send(&mut self, kind: &str, object: &Arc<Stored>) {
        let object = crate::convert::outward(&self.target.kind, self.target.version, object);
        let body = view::event(&self.target, self.form, &object, self.first);
        self.first = false;
        self.push(kind, &body);
    }

    fn push(&mut self, kind: &str, body: &[u8]) {
        let mut line = Vec::with_capacity(body.len() + 40);
        line.extend_from_slice(b"{\"type\":\"");
        line.extend_from_slice(kind.as_bytes());
        line.extend_from_slice(b"\",\"object\":");
        line.extend_from_slice(body);
        line.extend_from_slice(b"}\n");
        self.ready.push_back(Bytes::from(line));
    }

    fn mark(&mut self, rv: u64, end_of_initial: bool) {
        let mut metadata = json!({"resourceVersion": rv.to_string(), "creationTimestamp": null});
        if end_of_initial {
            metadata["annotations"] = json!({"k8s.io/initial-events-end": "true"});
        }
        let (kind, version) = match self.form {
            Form::Metadata => ("PartialObjectMetadata", "meta.k8s.io/v1"),
            _ => (&*self.target.kind.kind, &*self.target.version().api_version),
        };
        let body = json!({"kind": kind, "apiVersion": version, "metadata": metadata}).to_string();
        self.push("BOOKMARK", body.as_bytes());
    }

    fn fail(&mut self, refusal: &Refusal) {
        self.push("ERROR", refusal.body().to_string().as_bytes());
        self.over = true;
    }

    /// Reads what happened since `at`.
    fn catch_up(&mut self, sim: &Sim) {
        let (changes, rv) = {
            let state = sim.store.lock();
            let changes =
                state.peek(self.target.kind.id).map_or(Ok(Vec::new()), |b| b.history.after(self.at));
            (changes, state.rv)
        };
        match changes {
            Err(oldest) => self.fail(&Refusal::expired(self.at, oldest)),
            Ok(changes) => {
                changes.iter().for_each(|change| self.tell(change));
                self.at = rv.max(self.at);
            }
        }
    }

    /// One change, as a client with this selector sees it.
    fn tell(&mut self, change: &Change) {
        let namespace = &self.target.namespace;
        if !namespace.is_empty() && change.key.split('/').next() != Some(namespace) {
            return;
        }
        let before = change.old.as_ref().filter(|o| self.query.selects(&o.value)).cloned();
        let after = !change.deleted && self.query.selects(&change.new.value);
        match (before, after) {
            (None, true) => self.send("ADDED", &change.new),
            (Some(_), true) => self.send("MODIFIED", &change.new),
            (Some(_), false) if change.deleted => self.send("DELETED", &change.new),
            (Some(old), false) => {
                // It left the selection: the client gets it as it knew it, with the version of the change.
                let mut value = old.value.clone();
                crate::object::put(&mut value, "metadata.resourceVersion", change.rv.to_string());
                self.send("DELETED", &Arc::new(Stored::new(change.rv, value)));
            }
            (None, false) => {}
        }
    }

    async fn next(mut self) -> Option<(Result<Bytes, Cut>, Watch)> {
        loop {
            if let Some(chunk) = self.drain() {
                return Some((Ok(chunk), self));
            }
            if self.over {
                return None;
            }
            let sim = self.sim.upgrade()?;
            self.bell.mark_unchanged();
            self.catch_up(&sim);
            drop(sim);
            if !self.ready.is_empty() {
                continue;
            }
            match self.wait().await {
                Woken::Bell => {}
                Woken::Bookmark => {
                    self.bookmark = Instant::now() + BOOKMARK_EVERY;
                    if self.bookmarks {
                        self.mark(self.at, false);
                    }
                }
                Woken::End => return None,
                Woken::Cut => {
                    self.over = true;
                    return Some((Err(Cut), self));
                }
            }
        }
    }

    /// All waiting events as one chunk.
    fn drain(&mut self) -> Option<Bytes> {
        let first = self.ready.pop_front()?;
        let sim = self.sim.upgrade();
        let count = |events: usize, bytes: usize| {
            if let Some(sim) = &sim {
                add(&sim.counters.watch_events, events);
                add(&sim.counters.bytes_out, bytes);
            }
        };
        if self.ready.is_empty() {
            count(1, first.len());
            return Some(first);
        }
        let mut chunk = first.to_vec();
        let mut events = 1;
        while let Some(line) = self.ready.pop_front() {
            chunk.extend_from_slice(&line);
            events += 1;
        }
        count(events, chunk.len());
        Some(Bytes::from(chunk))
    }

    async fn wait(&mut self) -> Woken {
        let server = async {
            match &mut self.server {
                Some(server) => drop(server.wait_for(|closing| *closing).await),
                None => std::future::pending().await,
            }
        };
        tokio::select! {
            rung = self.bell.changed() => if rung.is_ok() { Woken::Bell } else { Woken::End },
            _ = self.cut.changed() => Woken::Cut,
            _ = self.closing.changed() => Woken::End,
            () = server => Woken::End,
            () = sleep_until(self.deadline) => Woken::End,
            () = sleep_until(self.bookmark) => Woken::Bookmark,
        }
    }
}

enum Woken {
    Bell,
    Bookmark,
    End,
    Cut,
}
