//! When to request the status again: on a notice of the server's event stream, and periodically, because a proxy may delay
//! the stream.

use std::time::Duration;

use tokio::sync::mpsc;
use tokio::task::JoinHandle;
use tokio::time::timeout;
use wire::{Client, WatchEvent};

/// Longest pause while the stream is open.
const PAUSE_WITH_STREAM: Duration = Duration::from_secs(10);
/// Pause without a stream.
const PAUSE_WITHOUT_STREAM: Duration = Duration::from_secs(2);

/// Reports when to request the status again.
pub struct ChangeSignals {
    events: mpsc::Receiver<WatchEvent>,
    listener: JoinHandle<()>,
    is_open: bool,
}

impl ChangeSignals {
    /// Opens the event stream in a task of its own.
    pub fn start(client: &Client) -> Self {
        let mut watch = client.watch(None);
        let (sender, events) = mpsc::channel(64);
        // A task of its own, so that a caller that stops waiting does not cancel a connection attempt.
        let listener = tokio::spawn(async move {
            while let Ok(event) = watch.next().await {
                if sender.send(event).await.is_err() {
                    return;
                }
            }
        });
        Self { events, listener, is_open: false }
    }

    /// Waits for the next notice or the end of the pause.
    pub async fn wait(&mut self) {
        self.wait_at_most(if self.is_open { PAUSE_WITH_STREAM } else { PAUSE_WITHOUT_STREAM }).await;
    }

    /// Waits for the next notice, at most `longest`.
    pub async fn wait_at_most(&mut self, longest: Duration) {
        match timeout(longest, self.events.recv()).await {
            Ok(Some(first)) => {
                self.mark_open(&first);
                while let Ok(more) = self.events.try_recv() {
                    self.mark_open(&more);
                }
            }
            // The server rejects the stream; only the pause is left.
            Ok(None) => {
                self.is_open = false;
                tokio::time::sleep(longest.min(PAUSE_WITHOUT_STREAM)).await;
            }
            // No notice during the pause: the stream may be broken without an error.
            Err(_) => self.is_open = false,
        }
    }

    fn mark_open(&mut self, _: &WatchEvent) {
        self.is_open = true;
    }
}

impl Drop for ChangeSignals {
    fn drop(&mut self) {
        self.listener.abort();
    }
}
