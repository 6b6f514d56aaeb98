//! Channels for notifications.

use serde::Deserialize;

pub mod create;
pub mod delete;
pub mod get;
pub mod list;
pub mod preview;
pub mod set_template;
pub mod test;

/// Path parameters of a channel.
#[derive(Debug, Deserialize)]
pub struct ChannelPath {
    /// Its name.
    channel: String,
}
