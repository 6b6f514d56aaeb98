//! Operations on the event log.

pub mod list;
