//! The source of a workload: its files, the form beside their text, and how a draft of them is saved.

mod autosave;
pub mod fields;
mod form;
#[cfg(feature = "ssr")]
pub mod limits;
mod queries;
mod save;
pub mod starter;
mod step;
mod tab;
mod unwrap;

pub use step::SourcePage;
pub use tab::ConfigTab;
