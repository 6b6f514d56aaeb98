//! Calls on the event log.

use http::Method;

use super::Client;
use crate::{Error, EventPage, EventQuery};

impl Client {
    /// Events, newest first.
    pub async fn event_list(&self, query: &EventQuery) -> Result<EventPage, Error> {
        self.api(Method::GET, &["events"]).query(query).json().await
    }
}
