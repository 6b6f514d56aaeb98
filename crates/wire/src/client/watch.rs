//! The watch stream of changes.

use std::time::Duration;

use bytes::Bytes;
use futures::StreamExt;
use futures::stream::BoxStream;
use http::{HeaderName, HeaderValue, Method, header};

use super::send::{read_body, response_error};
use super::sse::{SseFrame, SseParser};
use super::{Client, decode};
use crate::{ChangeNotice, Error, WatchEvent};

/// The stream sends a ping every 5 s (older servers every 15 s); without bytes for longer it counts as broken.
const IDLE_TIMEOUT: Duration = Duration::from_secs(45);
/// The first delay before a reconnect; doubles up to [`MAX_DELAY`].
const INITIAL_DELAY: Duration = Duration::from_millis(250);
/// The longest delay before a reconnect.
const MAX_DELAY: Duration = Duration::from_secs(15);

/// Maximum size of an error response, in bytes; a longer one is reported without its text.
const MAX_PROBLEM_BYTES: usize = 1024 * 1024;

/// A stream of the fleet's changes. Reconnects automatically and resumes after the last event received.
pub struct WatchStream {
    client: Client,
    last_event: Option<i64>,
    connection: Option<OpenConnection>,
    delay: Duration,
}

struct OpenConnection {
    bytes: BoxStream<'static, reqwest::Result<Bytes>>,
    frames: SseParser,
}

impl Client {
    /// Watches changes after the event at this position; from now on with `None`.
    pub fn watch(&self, after: Option<i64>) -> WatchStream {
        WatchStream { client: self.clone(), last_event: after, connection: None, delay: INITIAL_DELAY }
    }
}

impl WatchStream {
    /// The next item. Reconnects without limit; only an error response of the server (4xx except 429) ends the stream.
    pub async fn next(&mut self) -> Result<WatchEvent, Error> {
        loop {
            let Some(open) = &mut self.connection else {
                if self.connect().await? {
                    return Ok(WatchEvent::Opened);
                }
                continue;
            };
            if let Some(frame) = open.frames.next_frame() {
                if let Some(event) = self.parse_frame(&frame)? {
                    return Ok(event);
                }
                continue;
            }
            match tokio::time::timeout(IDLE_TIMEOUT, open.bytes.next()).await {
                Ok(Some(Ok(bytes))) => open.frames.feed(&bytes),
                _ => self.connection = None,
            }
        }
    }

    /// Opens the stream; after a failure sleeps and returns `false`.
    async fn connect(&mut self) -> Result<bool, Error> {
        let mut request = self.client.http.get(self.client.api_call(Method::GET, &["watch"]).into_url());
        if let Some(bearer) = &self.client.bearer {
            request = request.header(header::AUTHORIZATION, bearer.clone());
        }
        if let Some(after) = self.last_event
            && let Ok(after) = HeaderValue::from_str(&after.to_string())
        {
            request = request.header(HeaderName::from_static("last-event-id"), after);
        }
        match tokio::time::timeout(IDLE_TIMEOUT, request.send()).await {
            Ok(Ok(response)) if response.status().is_success() => {
                self.delay = INITIAL_DELAY;
                self.connection = Some(OpenConnection {
                    bytes: response.bytes_stream().boxed(),
                    frames: SseParser::default(),
                });
                Ok(true)
            }
            Ok(Ok(response)) if response.status().is_client_error() && response.status().as_u16() != 429 => {
                let status = response.status().as_u16();
                let body = read_body(response, MAX_PROBLEM_BYTES).await.unwrap_or_default();
                Err(response_error(status, &body))
            }
            _ => {
                tokio::time::sleep(self.delay).await;
                self.delay = (self.delay * 2).min(MAX_DELAY);
                Ok(false)
            }
        }
    }

    fn parse_frame(&mut self, frame: &SseFrame) -> Result<Option<WatchEvent>, Error> {
        if let Ok(seq) = frame.id.parse() {
            self.last_event = Some(seq);
        }
        match &*frame.event {
            "change" => Ok(Some(WatchEvent::Changed(decode::<ChangeNotice>(200, frame.data.as_bytes())?))),
            "resync" => Ok(Some(WatchEvent::ResyncRequired)),
            _ => Ok(None),
        }
    }
}
