//! Operations on registrations of agents.

pub mod list;
