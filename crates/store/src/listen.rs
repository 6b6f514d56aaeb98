//! Wake-ups from other servers. They carry nothing: whoever is woken reads the rows.

use std::pin::Pin;
use std::task::{Context, Poll};
use std::time::Duration;

use futures::stream::{BoxStream, Stream, StreamExt as _, unfold};
use sqlx::postgres::PgListener;

use crate::Error;

/// Channel on PostgreSQL.
const CHANNEL: &str = "flotilla";
/// Wait before the next try to listen again, doubled each time up to a minute.
const FIRST_WAIT: Duration = Duration::from_secs(1);

/// A stream that yields whenever another server committed something to look at. It never ends; after a lost
/// connection it yields once more, because something may have been missed.
pub struct Wakeups(BoxStream<'static, ()>);

impl Stream for Wakeups {
    type Item = ();
    fn poll_next(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<Option<()>> {
        self.0.poll_next_unpin(cx)
    }
}

pub(crate) async fn listen(url: &str) -> Result<Wakeups, Error> {
    let listener = connect(url).await?;
    let start = (Some(listener), url.to_owned(), FIRST_WAIT);
    Ok(Wakeups(unfold(start, |(listener, url, wait)| next(listener, url, wait)).boxed()))
}

type Listening = (Option<PgListener>, String, Duration);

async fn next(listener: Option<PgListener>, url: String, wait: Duration) -> Option<((), Listening)> {
    let Some(mut listener) = listener else {
        tokio::time::sleep(wait).await;
        return Some(match connect(&url).await {
            Ok(listener) => ((), (Some(listener), url, FIRST_WAIT)),
            Err(_) => ((), (None, url, (wait * 2).min(Duration::from_secs(60)))),
        });
    };
    match listener.try_recv().await {
        Ok(_) => Some(((), (Some(listener), url, FIRST_WAIT))),
        Err(error) => {
            tracing::warn!(%error, "lost the connection for wake-ups; listening again");
            Some(((), (None, url, FIRST_WAIT)))
        }
    }
}

async fn connect(url: &str) -> Result<PgListener, Error> {
    let mut listener = PgListener::connect(url).await?;
    listener.listen(CHANNEL).await?;
    Ok(listener)
}
