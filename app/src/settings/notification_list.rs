//! The query of channels and subscriptions.

use domain::Timestamp;
use domain::notification::{Channel, Subscription};
use leptos::prelude::*;
use serde::{Deserialize, Serialize};

use crate::errors::AppResult;

/// Channels and subscriptions.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct NotificationList {
    /// The channels, by name.
    pub channels: Vec<Channel>,
    /// The subscriptions, oldest first.
    pub subscriptions: Vec<Subscription>,
    /// When this was read.
    pub at: Timestamp,
}

/// Reads all of them.
#[server(prefix = "/api/fn", endpoint = "notifications_read", input = leptos::server_fn::codec::GetUrl)]
pub async fn notifications_read() -> AppResult<NotificationList> {
    use crate::host;
    let hub = host::hub_for_reader()?;
    Ok(NotificationList {
        channels: host::into_app_result(hub.list_channels().await)?,
        subscriptions: host::into_app_result(hub.list_subscriptions().await)?,
        at: hub.clock().now(),
    })
}
