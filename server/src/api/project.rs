//! Operations on the project.

pub mod get;
pub mod put;
