//! Operations on the event log.

use http::Method;

use super::Client;
use crate::{Error, EventPage, EventQuery};

impl Client {
    /// Events, newest first.
    pub async fn list_events(&self, query: &EventQuery) -> Result<EventPage, Error> {
        self.api_call(Method::GET, &["events"]).query(query).send_json().await
    }
}
