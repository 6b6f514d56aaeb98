//! Operations on the caller's own sessions in the console.

pub mod list;
pub mod revoke;
pub mod revoke_all;
