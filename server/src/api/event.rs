//! Questions about the event log.

pub mod list;
