//! Operations on the audit log.

pub mod export;
pub mod list;
pub mod verify;
