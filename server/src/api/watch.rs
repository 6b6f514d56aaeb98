//! `GET /watch`: server-sent events, signals only. Who is told looks again (DESIGN 3.11).

use std::convert::Infallible;
use std::time::Duration;

use axum::extract::State;
use axum::http::HeaderMap;
use axum::response::sse::{Event, KeepAlive, Sse};
use axum::response::{IntoResponse, Response};
use serde::Deserialize;
use tokio::sync::mpsc::{Receiver, Sender, channel};
use tokio::time::Instant;
use tokio_stream::wrappers::ReceiverStream;
use utoipa::IntoParams;
use wire::{Change, Problem};

use crate::input::{Caller, Query};
use crate::problem::Refusal;
use crate::site::Site;

/// Between two batches passes at least this time while there is no end of news.
const BETWEEN_BATCHES: Duration = Duration::from_millis(250);
/// So many batches after a quiet moment are told at once: who publishes one workload sees every step as it is taken.
const AT_ONCE: u32 = 8;
/// Something is said at least this often, so that proxies and clients know that the stream lives.
const PING: Duration = Duration::from_secs(15);
/// A stream ends after this time; the client connects again and is let in anew.
const LONGEST: Duration = Duration::from_secs(3600);
/// More changes than this at once are a `resync`.
const MOST: u32 = 500;
/// The wait before the database is asked again after it failed.
const AFTER_FAILURE: Duration = Duration::from_secs(2);
/// What a browser should wait before it connects again.
const RETRY: Duration = Duration::from_secs(2);

/// Where to begin.
#[derive(Debug, Default, Deserialize, IntoParams)]
#[serde(rename_all = "camelCase", default)]
#[into_params(parameter_in = Query)]
pub struct Params {
    /// Resume after this position, for who can't send `Last-Event-ID`, which counts more.
    #[serde(alias = "since")]
    pub after: Option<i64>,
}

/// Follows what changes, as server-sent events.
///
/// `id` is the position in the event log; a client that comes back with `Last-Event-ID` misses nothing. `change` carries
/// a `Change`; after its first eight batches a burst comes as at most four batches a second, of changes about the same
/// things only the last. `resync`
/// means: too much was missed, look at everything again. The stream ends after an hour.
#[utoipa::path(
    get,
    path = "/api/v1/watch",
    tag = "events",
    operation_id = "watch",
    params(
        ("Last-Event-ID" = Option<i64>, Header, description = "Resume after this position"),
        Params
    ),
    responses(
        (status = 200, content_type = "text/event-stream", body = String, description = "`change` and `resync` events"),
        (status = "default", body = Problem, content_type = "application/problem+json")
    )
)]
pub async fn handler(
    State(site): State<Site>,
    Caller(_actor): Caller,
    Query(params): Query<Params>,
    headers: HeaderMap,
) -> Result<Response, Refusal> {
    let header = headers.get("last-event-id").and_then(|value| value.to_str().ok()?.parse().ok());
    let (sender, receiver) = channel(64);
    let follower = Follower { seq: 0, sender, site };
    tokio::spawn(follower.run(header.or(params.after)));
    let keep_alive = KeepAlive::new().interval(PING).text("ping");
    Ok((
        [("x-accel-buffering", "no"), ("cache-control", "no-store")],
        Sse::new(events(receiver)).keep_alive(keep_alive),
    )
        .into_response())
}

fn events(receiver: Receiver<Event>) -> impl futures::Stream<Item = Result<Event, Infallible>> {
    futures::StreamExt::map(ReceiverStream::new(receiver), Ok)
}

/// How long news may be held back.
#[derive(Default)]
struct Pace {
    /// Batches told at once since the last quiet moment.
    at_once: u32,
}

impl Pace {
    /// The pause between the last batch and the next one, for news that came so long after the last.
    fn pause(&mut self, after: Duration) -> Duration {
        if after >= BETWEEN_BATCHES {
            self.at_once = 0;
        }
        self.at_once = self.at_once.saturating_add(1);
        if self.at_once > AT_ONCE { BETWEEN_BATCHES } else { Duration::ZERO }
    }
}

/// The client is gone.
struct Gone;

/// Tells one client.
struct Follower {
    seq: i64,
    sender: Sender<Event>,
    site: Site,
}

impl Follower {
    async fn run(mut self, after: Option<i64>) {
        let _counted = self.site.metrics().stream();
        let stop = self.site.stop().clone();
        tokio::select! {
            () = stop.cancelled() => {}
            () = tokio::time::sleep(LONGEST) => {}
            _ = self.follow(after) => {}
        }
    }

    async fn follow(&mut self, after: Option<i64>) -> Result<(), Gone> {
        let mut notices = self.site.hub().notices();
        let last = *notices.borrow_and_update();
        self.seq = after.unwrap_or(last);
        // Without data it is not dispatched, but it tells the client where it is and how long to wait.
        self.send(Event::default().id(self.seq.to_string()).retry(RETRY)).await?;
        if self.seq > last {
            // The client has seen more than there is: it knew another database.
            self.resync(last).await?;
        }
        let mut resumed = after.is_some() && self.seq < last;
        let mut pace = Pace::default();
        loop {
            let told_at = Instant::now();
            let last = *notices.borrow_and_update();
            if resumed || last > self.seq {
                self.tell(resumed, last).await?;
                resumed = false;
            }
            tokio::select! {
                () = self.sender.closed() => return Err(Gone),
                changed = notices.changed() => changed.map_err(|_| Gone)?,
            }
            tokio::time::sleep_until(told_at + pace.pause(told_at.elapsed())).await;
        }
    }

    /// Tells what came after the last position.
    async fn tell(&mut self, resumed: bool, last: i64) -> Result<(), Gone> {
        let events = loop {
            match self.site.hub().events_after(self.seq, MOST).await {
                Ok(events) => break events,
                Err(error) => {
                    tracing::warn!(error = %crate::problem::chain(&error), "a stream waits for the database");
                    tokio::time::sleep(AFTER_FAILURE).await;
                }
            }
        };
        let first = events.first().map(|event| event.seq);
        // What lay between has been forgotten: nobody can say any more what it was.
        let forgotten = resumed && first.is_none_or(|first| first > self.seq + 1);
        let too_many = u32::try_from(events.len()).is_ok_and(|n| n >= MOST);
        if forgotten || too_many {
            return self.resync(last.max(events.last().map_or(0, |event| event.seq))).await;
        }
        for change in Change::of_many(&events) {
            self.seq = change.seq;
            let data = serde_json::to_string(&change).unwrap_or_default();
            self.send(Event::default().id(change.seq.to_string()).event("change").data(data)).await?;
        }
        Ok(())
    }

    async fn resync(&mut self, seq: i64) -> Result<(), Gone> {
        self.seq = seq;
        self.send(Event::default().id(seq.to_string()).event("resync").data("{}")).await
    }

    async fn send(&self, event: Event) -> Result<(), Gone> {
        self.sender.send(event).await.map_err(|_| Gone)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_first_batches_are_told_at_once_and_an_endless_burst_four_times_a_second() {
        let mut pace = Pace::default();
        let soon = Duration::from_millis(3);
        let pauses: Vec<Duration> = (0..10).map(|_| pace.pause(soon)).collect();
        assert_eq!(pauses[..8], [Duration::ZERO; 8]);
        assert_eq!(pauses[8..], [BETWEEN_BATCHES; 2]);
        assert_eq!(pace.pause(BETWEEN_BATCHES), Duration::ZERO, "a quiet moment ends the burst");
        assert_eq!(pace.pause(soon), Duration::ZERO);
    }
}
