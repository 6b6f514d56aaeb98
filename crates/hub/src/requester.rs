//! The user whose request a task works on ([`source::requester`]).

pub use source::requester::run_for_requester;
pub(crate) use source::requester::{current_turn, start_for_requester};
