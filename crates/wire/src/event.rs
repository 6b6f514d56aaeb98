//! Requests and responses about the event log.

use domain::event::Event;
use serde::{Deserialize, Serialize};

pub use domain::request::EventQuery;

/// One page of events.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
#[serde(rename_all = "camelCase")]
pub struct EventPage {
    /// Events, newest first.
    pub items: Vec<Event>,
    /// The `before` of the next page; absent on the last page.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub next: Option<i64>,
}
