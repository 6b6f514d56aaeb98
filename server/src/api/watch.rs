//! REST operation: watch changes.

use std::convert::Infallible;
use std::time::Duration;

use axum::extract::State;
use axum::http::HeaderMap;
use axum::response::sse::{Event, KeepAlive, Sse};
use axum::response::{IntoResponse, Response};
use hub::{Actor, DatabaseOutage, Hub};
use serde::Deserialize;
use tokio::sync::mpsc::{Receiver, Sender, channel};
use tokio::time::Instant;
use tokio_stream::wrappers::ReceiverStream;
use utoipa::IntoParams;
use wire::{ChangeNotice, Problem};

use crate::input::{Caller, Query};
use crate::problem::ApiError;
use crate::site::Site;

/// The shortest time between two batches during a burst of events.
const MIN_BATCH_INTERVAL: Duration = Duration::from_millis(250);
/// Batches sent without delay at the start of a burst, so that every stage of a single publish is visible.
const BURST_BATCHES: u32 = 8;
/// A `ping` event is sent after this time without another: a client that receives nothing for longer knows that it is not
/// live, also if the connection is not closed (a paused server, a lost network), and proxies keep the connection.
const PING_INTERVAL: Duration = Duration::from_secs(5);
/// A stream ends after this time; the client reconnects and is authenticated again.
const MAX_STREAM_DURATION: Duration = Duration::from_secs(3600);
/// More pending events than this are sent as `send_resync`.
const MAX_EVENTS: u32 = 500;
/// Pause after a database error.
const RETRY_DELAY: Duration = Duration::from_secs(2);
/// A stream ends if the database can't be reached for longer: the client shows what it has as old, and reconnects.
const OUTAGE_GRACE: Duration = Duration::from_secs(5);
/// How often the credential of a stream is verified again, if nothing tells that it may have ended: another server of the
/// database may have ended it.
const AUTHORIZATION_INTERVAL: Duration = Duration::from_secs(20);
/// Reconnect delay that the stream sends to browsers.
const CLIENT_RETRY_DELAY: Duration = Duration::from_secs(2);

/// Query parameters.
#[derive(Debug, Default, Deserialize, IntoParams)]
#[serde(rename_all = "camelCase", default, deny_unknown_fields)]
#[into_params(parameter_in = Query)]
pub struct WatchQuery {
    /// Resume after this position, for clients that can't send `Last-Event-ID`. The header takes precedence.
    pub after: Option<i64>,
    /// The same as `after`, which takes precedence.
    pub since: Option<i64>,
}

/// Streams changes as server-sent events.
///
/// `id` is the position in the event log; a client that reconnects with `Last-Event-ID` misses no change. `change`
/// carries a `ChangeNotice`. After its first eight batches a burst is sent as at most four batches a second, with only
/// the last change per object. `resync` means that too many changes were missed: query everything again. `ping` is sent
/// after five seconds without another event. The stream ends after an hour, and when the session or token has ended or the role
/// was changed.
#[utoipa::path(
    get,
    path = "/api/v1/watch",
    tag = "events",
    params(("Last-Event-ID" = Option<i64>, Header, description = "Resume after this position"), WatchQuery),
    responses(
        (status = 200, content_type = "text/event-stream", body = String, description = "`change`, `resync` and `ping` events"),
        (status = 429, body = Problem, content_type = "application/problem+json", headers(("Retry-After")),
            description = "The user has too many open streams")
    )
)]
pub async fn watch_changes(
    State(site): State<Site>,
    Caller(actor): Caller,
    Query(params): Query<WatchQuery>,
    headers: HeaderMap,
) -> Result<Response, ApiError> {
    let header = headers.get("last-event-id").and_then(|value| value.to_str().ok()?.parse().ok());
    let permit = actor.user().map(|user| site.streams().open_stream(user)).transpose()?;
    let (sender, receiver) = channel(64);
    let follower = EventStreamer { seq: 0, sender, site, actor };
    tokio::spawn(async move {
        let _permit = permit;
        follower.run(header.or(params.after).or(params.since)).await;
    });
    let ping = Event::default().event("ping").data("{}");
    let keep_alive = KeepAlive::new().interval(PING_INTERVAL).event(ping);
    Ok((
        [("x-accel-buffering", "no"), ("cache-control", "no-store")],
        Sse::new(event_stream(receiver)).keep_alive(keep_alive),
    )
        .into_response())
}

fn event_stream(receiver: Receiver<Event>) -> impl futures::Stream<Item = Result<Event, Infallible>> {
    futures::StreamExt::map(ReceiverStream::new(receiver), Ok)
}

/// Delays batches during a burst.
#[derive(Default)]
struct BatchPacer {
    /// Batches sent without delay since the last pause.
    burst_batches: u32,
}

impl BatchPacer {
    /// The delay before the next batch, if its first event came `after` the last batch.
    fn next_delay(&mut self, after: Duration) -> Duration {
        if after >= MIN_BATCH_INTERVAL {
            self.burst_batches = 0;
        }
        self.burst_batches = self.burst_batches.saturating_add(1);
        if self.burst_batches > BURST_BATCHES { MIN_BATCH_INTERVAL } else { Duration::ZERO }
    }
}

/// Returns when the database can't be reached for longer than [`OUTAGE_GRACE`].
async fn wait_for_long_outage(mut outage: tokio::sync::watch::Receiver<Option<DatabaseOutage>>) {
    let is_unreachable = |outage: &Option<DatabaseOutage>| *outage == Some(DatabaseOutage::Unreachable);
    while outage.wait_for(is_unreachable).await.is_ok() {
        let ended = outage.wait_for(|outage| !is_unreachable(outage));
        if tokio::time::timeout(OUTAGE_GRACE, ended).await.is_err() {
            return;
        }
    }
}

/// Returns when the credential of the actor does not give the same role any more.
async fn wait_until_unauthorized(hub: &Hub, actor: &Actor) {
    let mut changes = hub.subscribe_credentials();
    loop {
        // In an outage it is not known: what the stream sends is read from the same database.
        if matches!(hub.is_still_authorized(actor).await, Ok(false)) {
            return;
        }
        // An error of `changed` means that the hub is gone, and so is the stream.
        let _ = tokio::time::timeout(AUTHORIZATION_INTERVAL, changes.changed()).await;
    }
}

/// The client has disconnected.
struct ClientDisconnected;

/// Sends changes to one client.
struct EventStreamer {
    seq: i64,
    sender: Sender<Event>,
    site: Site,
    actor: Actor,
}

impl EventStreamer {
    async fn run(mut self, after: Option<i64>) {
        let _counted = self.site.metrics().track_stream();
        let stop = self.site.stop().clone();
        let outage = self.site.hub().subscribe_outage();
        let (hub, actor) = (self.site.hub().clone(), self.actor.clone());
        tokio::select! {
            () = wait_until_unauthorized(&hub, &actor) => {}
            () = stop.cancelled() => {}
            () = tokio::time::sleep(MAX_STREAM_DURATION) => {}
            () = wait_for_long_outage(outage) => {}
            _ = self.stream_changes(after) => {}
        }
    }

    async fn stream_changes(&mut self, after: Option<i64>) -> Result<(), ClientDisconnected> {
        let mut notices = self.site.hub().subscribe_events();
        let last = *notices.borrow_and_update();
        self.seq = after.unwrap_or(last);
        // An event without data is not dispatched, but sets the client's position and reconnect delay.
        self.send_event(Event::default().id(self.seq.to_string()).retry(CLIENT_RETRY_DELAY)).await?;
        if self.seq > last {
            // The client's position is ahead of the event log: it belongs to another database.
            self.send_resync(last).await?;
        }
        let mut outage = self.site.hub().subscribe_outage();
        let mut resumed = after.is_some() && self.seq < last;
        let mut pace = BatchPacer::default();
        loop {
            let sent_at = Instant::now();
            let last = *notices.borrow_and_update();
            if resumed || last > self.seq {
                self.send_changes(resumed, last).await?;
                resumed = false;
            }
            tokio::select! {
                () = self.sender.closed() => return Err(ClientDisconnected),
                changed = notices.changed() => changed.map_err(|_| ClientDisconnected)?,
                // What pages show of it is part of their queries.
                changed = outage.changed() => {
                    changed.map_err(|_| ClientDisconnected)?;
                    self.send_resync(self.seq).await?;
                }
            }
            tokio::time::sleep_until(sent_at + pace.next_delay(sent_at.elapsed())).await;
        }
    }

    /// Sends the changes after the last position.
    async fn send_changes(&mut self, resumed: bool, last: i64) -> Result<(), ClientDisconnected> {
        let events = loop {
            match self.site.hub().list_changes_after(self.seq, MAX_EVENTS).await {
                Ok(events) => break events,
                Err(error) => {
                    tracing::debug!(error = %crate::problem::error_chain(&error), "can't read events for a stream; retrying in 2 s");
                    tokio::time::sleep(RETRY_DELAY).await;
                }
            }
        };
        let first = events.first().map(|event| event.seq);
        // The events between have been deleted by retention.
        let forgotten = resumed && first.is_none_or(|first| first > self.seq + 1);
        let too_many = u32::try_from(events.len()).is_ok_and(|n| n >= MAX_EVENTS);
        if forgotten || too_many {
            return self.send_resync(last.max(events.last().map_or(0, |event| event.seq))).await;
        }
        for change in ChangeNotice::from_events(&events) {
            self.seq = change.seq;
            let data = serde_json::to_string(&change).unwrap_or_default();
            self.send_event(Event::default().id(change.seq.to_string()).event("change").data(data)).await?;
        }
        Ok(())
    }

    async fn send_resync(&mut self, seq: i64) -> Result<(), ClientDisconnected> {
        self.seq = seq;
        self.send_event(Event::default().id(seq.to_string()).event("resync").data("{}")).await
    }

    async fn send_event(&self, event: Event) -> Result<(), ClientDisconnected> {
        self.sender.send(event).await.map_err(|_| ClientDisconnected)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_first_batches_are_sent_without_delay_and_a_long_burst_four_times_a_second() {
        let mut pace = BatchPacer::default();
        let soon = Duration::from_millis(3);
        let pauses: Vec<Duration> = (0..10).map(|_| pace.next_delay(soon)).collect();
        assert_eq!(pauses[..8], [Duration::ZERO; 8]);
        assert_eq!(pauses[8..], [MIN_BATCH_INTERVAL; 2]);
        assert_eq!(pace.next_delay(MIN_BATCH_INTERVAL), Duration::ZERO, "a pause ends the burst");
        assert_eq!(pace.next_delay(soon), Duration::ZERO);
    }
}
