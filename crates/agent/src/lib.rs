//! One cluster's side of Flotilla: pull what the cluster should hold, let the engine make it so, report.
//!
//! The agent decides nothing. It keeps asking for the whole list of wants, hands bundles to the [`engine`], and hands
//! the engine's reports to the hub; what is lost on the way is made good by the next whole list or whole report. It
//! dials out only, and it knows one cluster only.

mod connect;
mod link;
mod pulse;
mod reports;
mod run;
mod wants;

pub use engine::Options as EngineOptions;
pub use link::{Link, LinkError};
pub use run::{Options, run};
