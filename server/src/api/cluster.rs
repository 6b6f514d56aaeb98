//! Operations on clusters.

pub mod accept;
pub mod confirm_facts;
pub mod delete;
pub mod get;
pub mod helm_release;
pub mod inject_fault;
pub mod install;
pub mod list;
pub mod onboarding;
pub mod patch;
pub mod preview;
pub mod reject;
pub mod releases;
pub mod resume;
pub mod revoke;
pub mod suspend;
pub mod suspension;
