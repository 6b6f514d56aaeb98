//! The stream of notices: one `EventSource` per tab, closed while the tab is hidden for long, opened again with patience.

#[cfg(not(feature = "hydrate"))]
pub(super) fn open(_live: super::Live) {}

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

    use super::super::{Batch, Change, Live, Word, page};

    const URL: &str = "/api/v1/watch";
    /// At most four batches a second.
    const BATCH: Duration = Duration::from_millis(250);
    /// A tab hidden for longer gives its connection back.
    const HIDDEN: Duration = Duration::from_secs(60);
    /// A stream broken for longer makes the page stale.
    const STALE: Duration = Duration::from_secs(10);

    #[derive(Default)]
    struct Stream {
        source: Option<EventSource>,
        pending: Vec<Change>,
        everything: bool,
        waiting: bool,
        was_open: bool,
        broken_at: Option<Timestamp>,
        last_seq: i64,
        tries: u32,
    }

    type Shared = Rc<RefCell<Stream>>;

    pub(in super::super) fn open(live: Live) {
        let stream = Shared::default();
        // Much can happen between the server's page and the program that follows it.
        stream.borrow_mut().last_seq = page::log_position();
        connect(&stream, live);
        follow_visibility(&stream, live);
    }

    fn connect(stream: &Shared, live: Live) {
        let since = stream.borrow().last_seq;
        let url = if since > 0 { format!("{URL}?since={since}") } else { URL.to_owned() };
        let Ok(source) = EventSource::new(&url) else { return };
        listen(&source, "open", {
            let stream = Rc::clone(stream);
            move |_| opened(&stream, live)
        });
        listen(&source, "error", {
            let stream = Rc::clone(stream);
            move |_| broken(&stream, live)
        });
        for kind in ["change", "resync"] {
            let stream = Rc::clone(stream);
            listen(&source, kind, move |event| heard(&stream, live, &event));
        }
        stream.borrow_mut().source = Some(source);
    }

    // The closures live as long as the page: the stream does too.
    fn listen(source: &EventSource, kind: &str, hear: impl Fn(Event) + 'static) {
        let closure = Closure::<dyn Fn(Event)>::new(hear);
        let _ = source.add_event_listener_with_callback(kind, closure.as_ref().unchecked_ref());
        closure.forget();
    }

    fn opened(stream: &Shared, live: Live) {
        let gap = {
            let mut stream = stream.borrow_mut();
            let gap = stream.was_open;
            (stream.was_open, stream.tries, stream.broken_at) = (true, 0, None);
            gap
        };
        live.word.set(Word::Live);
        if gap {
            stream.borrow_mut().everything = true;
            flush_soon(stream, live);
        }
    }

    fn broken(stream: &Shared, live: Live) {
        let (closed, tries) = {
            let mut stream = stream.borrow_mut();
            stream.broken_at.get_or_insert_with(page::browser_time);
            let closed =
                stream.source.as_ref().is_none_or(|source| source.ready_state() == EventSource::CLOSED);
            stream.tries += 1;
            (closed, stream.tries)
        };
        if !matches!(live.word.get_untracked(), Word::Stale(_)) {
            live.word.set(Word::Reconnecting);
        }
        let later = Rc::clone(stream);
        set_timeout(
            move || {
                if let Some(since) = later.borrow().broken_at {
                    live.word.set(Word::Stale(since));
                }
            },
            STALE,
        );
        if closed {
            // The browser gave up (a refusal, not a lost connection): ask again, ever more slowly.
            let again = Rc::clone(stream);
            set_timeout(move || connect(&again, live), Duration::from_secs(1 << tries.min(5)));
        }
    }

    fn heard(stream: &Shared, live: Live, event: &Event) {
        let data =
            event.dyn_ref::<MessageEvent>().and_then(|event| event.data().as_string()).unwrap_or_default();
        {
            let mut stream = stream.borrow_mut();
            match serde_json::from_str::<Change>(&data) {
                Ok(change) if event.type_() == "change" => {
                    stream.last_seq = stream.last_seq.max(change.seq);
                    stream.pending.push(change);
                }
                _ => {
                    let seen =
                        event.dyn_ref::<MessageEvent>().and_then(|event| event.last_event_id().parse().ok());
                    stream.last_seq = stream.last_seq.max(seen.unwrap_or(0));
                    stream.everything = true;
                }
            }
        }
        flush_soon(stream, live);
    }

    fn flush_soon(stream: &Shared, live: Live) {
        if std::mem::replace(&mut stream.borrow_mut().waiting, true) {
            return;
        }
        let stream = Rc::clone(stream);
        set_timeout(move || flush(&stream, live), BATCH);
    }

    fn flush(stream: &Shared, live: Live) {
        let (changes, everything) = {
            let mut stream = stream.borrow_mut();
            stream.waiting = false;
            (std::mem::take(&mut stream.pending), std::mem::take(&mut stream.everything))
        };
        let releases: Vec<String> =
            changes.iter().filter_map(|change| change.release).map(|id| id.to_string()).collect();
        live.batch.update(|batch| *batch = Batch { number: batch.number + 1, everything, changes });
        // The query has to come back first.
        set_timeout(move || page::flash(&releases), BATCH);
    }

    fn follow_visibility(stream: &Shared, live: Live) {
        let Some(document) = web_sys::window().and_then(|window| window.document()) else { return };
        let stream = Rc::clone(stream);
        let hear = Closure::<dyn Fn()>::new(move || {
            if page::is_hidden() {
                let stream = Rc::clone(&stream);
                set_timeout(move || close_if_hidden(&stream, live), HIDDEN);
            } else if stream.borrow().source.is_none() {
                connect(&stream, live);
            }
        });
        let _ = document.add_event_listener_with_callback("visibilitychange", hear.as_ref().unchecked_ref());
        hear.forget();
    }

    fn close_if_hidden(stream: &Shared, live: Live) {
        if page::is_hidden()
            && let Some(source) = stream.borrow_mut().source.take()
        {
            source.close();
            live.word.set(Word::Still);
        }
    }
}
