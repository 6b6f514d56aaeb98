//! When to look again: the server's event stream says so, and a clock does too, because a stream may be held up by
//! whatever stands in between.

use std::time::Duration;

use tokio::sync::mpsc;
use tokio::task::JoinHandle;
use tokio::time::timeout;
use wire::{Client, Watched};

/// While the stream is open, the clock is only the safety net.
const WITH_STREAM: Duration = Duration::from_secs(10);
/// Without a stream the clock is all there is.
const WITHOUT_STREAM: Duration = Duration::from_secs(2);

/// Says when to look again.
pub struct Signals {
    events: mpsc::Receiver<Watched>,
    listener: JoinHandle<()>,
    open: bool,
}

impl Signals {
    /// Begins to listen.
    pub fn start(client: &Client) -> Self {
        let mut watch = client.watch(None);
        let (sender, events) = mpsc::channel(64);
        // On its own, so that a look in between does not break off an attempt to connect.
        let listener = tokio::spawn(async move {
            while let Ok(watched) = watch.next().await {
                if sender.send(watched).await.is_err() {
                    return;
                }
            }
        });
        Self { events, listener, open: false }
    }

    /// Waits until it is time to look again.
    pub async fn next(&mut self) {
        self.next_within(if self.open { WITH_STREAM } else { WITHOUT_STREAM }).await;
    }

    /// The same, but at most so long.
    pub async fn next_within(&mut self, longest: Duration) {
        match timeout(longest, self.events.recv()).await {
            Ok(Some(first)) => {
                self.took(&first);
                while let Ok(more) = self.events.try_recv() {
                    self.took(&more);
                }
            }
            // The server refuses the stream; the clock goes on.
            Ok(None) => {
                self.open = false;
                tokio::time::sleep(longest.min(WITHOUT_STREAM)).await;
            }
            // Silence for so long while something is awaited: the stream may be broken without our knowing.
            Err(_) => self.open = false,
        }
    }

    fn took(&mut self, _: &Watched) {
        self.open = true;
    }
}

impl Drop for Signals {
    fn drop(&mut self) {
        self.listener.abort();
    }
}
