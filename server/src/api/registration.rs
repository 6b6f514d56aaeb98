//! Operations on agents that ask to join.

pub mod list;
