//! Operations on join tokens.

pub mod create;
pub mod delete;
pub mod list;
