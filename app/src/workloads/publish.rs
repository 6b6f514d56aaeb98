//! The review of a draft and its publish: the last step of the wizard.

mod actions;
pub mod changes;
mod content;
mod review;
mod sidebar;
mod step;

pub use step::PublishPage;
