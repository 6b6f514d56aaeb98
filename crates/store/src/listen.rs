//! Wake-ups from other servers (PostgreSQL `NOTIFY`). They carry no data: the receiver reads the rows.

use std::pin::Pin;
use std::task::{Context, Poll};
use std::time::Duration;

use futures::stream::{BoxStream, Stream, StreamExt as _, unfold};
use sqlx::postgres::PgListener;

use crate::Error;

/// The PostgreSQL channel.
const CHANNEL: &str = "flotilla";
/// Delay before the first reconnect; doubled after each failure, up to a minute.
const INITIAL_BACKOFF: Duration = Duration::from_secs(1);

/// A stream that yields after every commit that requested a notification. It never ends; it yields also after a lost
/// connection and after each attempt to reconnect, because notifications may have been missed.
pub struct Wakeups(BoxStream<'static, ()>);

impl Stream for Wakeups {
    type Item = ();
    fn poll_next(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<Option<()>> {
        self.0.poll_next_unpin(cx)
    }
}

pub(crate) async fn listen(url: &str) -> Result<Wakeups, Error> {
    let listener = connect_listener(url).await?;
    let start = (Some(listener), url.to_owned(), INITIAL_BACKOFF);
    Ok(Wakeups(unfold(start, |(listener, url, wait)| next_wakeup(listener, url, wait)).boxed()))
}

type WakeupState = (Option<PgListener>, String, Duration);

async fn next_wakeup(listener: Option<PgListener>, url: String, wait: Duration) -> Option<((), WakeupState)> {
    let Some(mut listener) = listener else {
        tokio::time::sleep(wait).await;
        return Some(match connect_listener(&url).await {
            Ok(listener) => ((), (Some(listener), url, INITIAL_BACKOFF)),
            Err(_) => ((), (None, url, (wait * 2).min(Duration::from_secs(60)))),
        });
    };
    match listener.try_recv().await {
        Ok(_) => Some(((), (Some(listener), url, INITIAL_BACKOFF))),
        Err(error) => {
            tracing::warn!(%error, "lost the PostgreSQL connection for wake-ups; reconnecting");
            Some(((), (None, url, INITIAL_BACKOFF)))
        }
    }
}

async fn connect_listener(url: &str) -> Result<PgListener, Error> {
    let mut listener = PgListener::connect(url).await?;
    listener.listen(CHANNEL).await?;
    Ok(listener)
}
