//! Following changes, for as long as the caller wants.

use std::time::Duration;

use bytes::Bytes;
use futures::StreamExt;
use futures::stream::BoxStream;
use http::{HeaderName, HeaderValue, Method, header};

use super::sse::{Frame, Frames};
use super::{Client, decode};
use crate::{Change, Error, Watched};

/// The stream says something at least every 15 s; after three times that it counts as broken.
const SILENCE: Duration = Duration::from_secs(45);
/// The first wait before connecting again; doubles up to [`LONGEST_WAIT`].
const FIRST_WAIT: Duration = Duration::from_millis(250);
/// The longest wait before connecting again.
const LONGEST_WAIT: Duration = Duration::from_secs(15);

/// Follows the changes of the fleet. It connects again by itself and resumes where it was.
pub struct Watch {
    client: Client,
    after: Option<i64>,
    open: Option<Open>,
    wait: Duration,
}

struct Open {
    bytes: BoxStream<'static, reqwest::Result<Bytes>>,
    frames: Frames,
}

impl Client {
    /// Follows changes after the event at this position; from now on with `None`.
    pub fn watch(&self, after: Option<i64>) -> Watch {
        Watch { client: self.clone(), after, open: None, wait: FIRST_WAIT }
    }
}

impl Watch {
    /// What happens next. A broken connection is opened again, for ever; only a refusal of the server ends it.
    pub async fn next(&mut self) -> Result<Watched, Error> {
        loop {
            let Some(open) = &mut self.open else {
                if self.connect().await? {
                    return Ok(Watched::Open);
                }
                continue;
            };
            if let Some(frame) = open.frames.next() {
                if let Some(watched) = self.understand(&frame)? {
                    return Ok(watched);
                }
                continue;
            }
            match tokio::time::timeout(SILENCE, open.bytes.next()).await {
                Ok(Some(Ok(bytes))) => open.frames.feed(&bytes),
                _ => self.open = None,
            }
        }
    }

    /// Opens the stream; `false` if that did not work this time.
    async fn connect(&mut self) -> Result<bool, Error> {
        let mut request = self.client.http.get(self.client.api(Method::GET, &["watch"]).into_url());
        if let Some(bearer) = &self.client.bearer {
            request = request.header(header::AUTHORIZATION, bearer.clone());
        }
        if let Some(after) = self.after
            && let Ok(after) = HeaderValue::from_str(&after.to_string())
        {
            request = request.header(HeaderName::from_static("last-event-id"), after);
        }
        match tokio::time::timeout(SILENCE, request.send()).await {
            Ok(Ok(answer)) if answer.status().is_success() => {
                self.wait = FIRST_WAIT;
                self.open = Some(Open { bytes: answer.bytes_stream().boxed(), frames: Frames::default() });
                Ok(true)
            }
            Ok(Ok(answer)) if answer.status().is_client_error() && answer.status().as_u16() != 429 => {
                let status = answer.status().as_u16();
                let body = answer.bytes().await.unwrap_or_default();
                Err(super::send::refusal(&super::send::Answer { body, status }))
            }
            _ => {
                tokio::time::sleep(self.wait).await;
                self.wait = (self.wait * 2).min(LONGEST_WAIT);
                Ok(false)
            }
        }
    }

    fn understand(&mut self, frame: &Frame) -> Result<Option<Watched>, Error> {
        if let Ok(seq) = frame.id.parse() {
            self.after = Some(seq);
        }
        match &*frame.event {
            "change" => Ok(Some(Watched::Change(decode::<Change>(200, frame.data.as_bytes())?))),
            "resync" => Ok(Some(Watched::Resync)),
            _ => Ok(None),
        }
    }
}
