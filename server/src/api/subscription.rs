//! Subscriptions: which incidents are sent to which channel.

pub mod create;
pub mod delete;
pub mod list;
