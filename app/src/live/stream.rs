//! The stream of notices: one `EventSource` per tab, closed while the tab is hidden for more than a minute, reopened with
//! backoff.

#[cfg(not(feature = "hydrate"))]
pub(super) fn open(_live: super::LiveUpdates) {}

#[cfg(feature = "hydrate")]
pub(super) use browser::open;

#[cfg(feature = "hydrate")]
mod browser {
    use std::cell::RefCell;
    use std::rc::Rc;
    use std::time::Duration;

    use domain::Timestamp;
    use leptos::prelude::*;
    use wasm_bindgen::JsCast;
    use wasm_bindgen::closure::Closure;
    use web_sys::{Event, EventSource, MessageEvent};

    use super::super::{LiveMessage, LiveNotice, LiveUpdates, NoticeBatch, page};

    const URL: &str = "/api/v1/watch";
    /// At most four batches a second.
    const BATCH: Duration = Duration::from_millis(250);
    /// A tab hidden for longer closes its connection.
    const HIDDEN: Duration = Duration::from_secs(60);
    /// A stream that has failed for longer makes the page stale.
    const STALE: Duration = Duration::from_secs(10);
    /// A stream without an event for longer counts as failed, also if its connection is open: the server sends a ping every
    /// 5 s.
    const SILENT_MILLIS: i64 = 12_000;
    /// How often the silence is checked.
    const SILENCE_CHECK: Duration = Duration::from_secs(3);

    #[derive(Default)]
    struct Stream {
        source: Option<EventSource>,
        pending: Vec<LiveNotice>,
        resync: bool,
        flush_scheduled: bool,
        was_open: bool,
        broken_at: Option<Timestamp>,
        /// When the last event arrived, or the connection was opened.
        last_event_at: Option<Timestamp>,
        last_seq: i64,
        attempts: u32,
    }

    type Shared = Rc<RefCell<Stream>>;

    pub(in super::super) fn open(live: LiveUpdates) {
        let stream = Shared::default();
        // Start at the position of the server-rendered page: events may occur before the stream is open.
        stream.borrow_mut().last_seq = page::log_position();
        connect(&stream, live);
        follow_visibility(&stream, live);
        set_interval(move || reconnect_if_silent(&stream, live), SILENCE_CHECK);
    }

    /// Replaces a stream whose connection is open but brings nothing: the server is paused, or the network is gone.
    fn reconnect_if_silent(stream: &Shared, live: LiveUpdates) {
        let now = page::browser_time();
        let silent_since = {
            let mut stream = stream.borrow_mut();
            let Some(last) = stream.last_event_at.filter(|last| now.millis_since(*last) > SILENT_MILLIS)
            else {
                return;
            };
            let Some(source) = stream.source.take() else { return };
            source.close();
            *stream.broken_at.get_or_insert(last)
        };
        live.message.set(LiveMessage::Stale(silent_since));
        connect(stream, live);
    }

    fn connect(stream: &Shared, live: LiveUpdates) {
        let since = stream.borrow().last_seq;
        let url = if since > 0 { format!("{URL}?since={since}") } else { URL.to_owned() };
        let Ok(source) = EventSource::new(&url) else { return };
        listen(&source, "open", {
            let stream = Rc::clone(stream);
            move |_| handle_open(&stream, live)
        });
        listen(&source, "error", {
            let stream = Rc::clone(stream);
            move |_| handle_error(&stream, live)
        });
        listen(&source, "ping", {
            let stream = Rc::clone(stream);
            move |_| stream.borrow_mut().last_event_at = Some(page::browser_time())
        });
        for kind in ["change", "resync"] {
            let stream = Rc::clone(stream);
            listen(&source, kind, move |event| handle_notice(&stream, live, &event));
        }
        let mut stream = stream.borrow_mut();
        (stream.source, stream.last_event_at) = (Some(source), Some(page::browser_time()));
    }

    // The closures are leaked: they live as long as the page, like the stream.
    fn listen(source: &EventSource, kind: &str, listener: impl Fn(Event) + 'static) {
        let closure = Closure::<dyn Fn(Event)>::new(listener);
        let _ = source.add_event_listener_with_callback(kind, closure.as_ref().unchecked_ref());
        closure.forget();
    }

    fn handle_open(stream: &Shared, live: LiveUpdates) {
        let gap = {
            let mut stream = stream.borrow_mut();
            let gap = stream.was_open;
            (stream.was_open, stream.attempts, stream.broken_at) = (true, 0, None);
            stream.last_event_at = Some(page::browser_time());
            gap
        };
        live.message.set(LiveMessage::Live);
        if gap {
            stream.borrow_mut().resync = true;
            flush_soon(stream, live);
        }
    }

    fn handle_error(stream: &Shared, live: LiveUpdates) {
        let (closed, tries) = {
            let mut stream = stream.borrow_mut();
            stream.broken_at.get_or_insert_with(page::browser_time);
            let closed =
                stream.source.as_ref().is_none_or(|source| source.ready_state() == EventSource::CLOSED);
            stream.attempts += 1;
            (closed, stream.attempts)
        };
        if !matches!(live.message.get_untracked(), LiveMessage::Stale(_)) {
            live.message.set(LiveMessage::Reconnecting);
        }
        let shared = Rc::clone(stream);
        set_timeout(
            move || {
                if let Some(since) = shared.borrow().broken_at {
                    live.message.set(LiveMessage::Stale(since));
                }
            },
            STALE,
        );
        if closed {
            // The browser gave up (an error response, not a lost connection): retry with exponential backoff, at most 32 s.
            let shared = Rc::clone(stream);
            set_timeout(move || connect(&shared, live), Duration::from_secs(1 << tries.min(5)));
        }
    }

    fn handle_notice(stream: &Shared, live: LiveUpdates, event: &Event) {
        let data =
            event.dyn_ref::<MessageEvent>().and_then(|event| event.data().as_string()).unwrap_or_default();
        {
            let mut stream = stream.borrow_mut();
            stream.last_event_at = Some(page::browser_time());
            match serde_json::from_str::<LiveNotice>(&data) {
                Ok(change) if event.type_() == "change" => {
                    stream.last_seq = stream.last_seq.max(change.seq);
                    stream.pending.push(change);
                }
                _ => {
                    let event_id =
                        event.dyn_ref::<MessageEvent>().and_then(|event| event.last_event_id().parse().ok());
                    stream.last_seq = stream.last_seq.max(event_id.unwrap_or(0));
                    stream.resync = true;
                }
            }
        }
        flush_soon(stream, live);
    }

    fn flush_soon(stream: &Shared, live: LiveUpdates) {
        if std::mem::replace(&mut stream.borrow_mut().flush_scheduled, true) {
            return;
        }
        let stream = Rc::clone(stream);
        set_timeout(move || flush(&stream, live), BATCH);
    }

    fn flush(stream: &Shared, live: LiveUpdates) {
        let (changes, everything) = {
            let mut stream = stream.borrow_mut();
            stream.flush_scheduled = false;
            (std::mem::take(&mut stream.pending), std::mem::take(&mut stream.resync))
        };
        let releases: Vec<String> =
            changes.iter().filter_map(|change| change.release).map(|id| id.to_string()).collect();
        live.batch
            .update(|batch| *batch = NoticeBatch { number: batch.number + 1, resync: everything, changes });
        // Delayed, because the query has to return first.
        set_timeout(move || page::flash(&releases), BATCH);
    }

    fn follow_visibility(stream: &Shared, live: LiveUpdates) {
        let Some(document) = web_sys::window().and_then(|window| window.document()) else { return };
        let stream = Rc::clone(stream);
        let listener = Closure::<dyn Fn()>::new(move || {
            if page::is_hidden() {
                let stream = Rc::clone(&stream);
                set_timeout(move || close_if_hidden(&stream, live), HIDDEN);
            } else if stream.borrow().source.is_none() {
                connect(&stream, live);
            }
        });
        let _ =
            document.add_event_listener_with_callback("visibilitychange", listener.as_ref().unchecked_ref());
        listener.forget();
    }

    fn close_if_hidden(stream: &Shared, live: LiveUpdates) {
        if page::is_hidden()
            && let Some(source) = stream.borrow_mut().source.take()
        {
            source.close();
            live.message.set(LiveMessage::Inactive);
        }
    }
}
