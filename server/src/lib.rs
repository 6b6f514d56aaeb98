//! The server: console, REST API and live stream over one hub, with the agents of the clusters it serves itself.
//!
//! [`router`] is the table of contents: every address and the layers a request passes. [`access`] refuses everybody
//! who is not signed in but for a short list. [`api`] holds the REST operations, one file each; [`console`] renders the
//! pages of `app`. [`serve`] and [`demo`] put it all together and end it in order.

// The console's pages are one nested type each; rendering them nests futures as deep.
#![recursion_limit = "512"]

pub mod access;
pub mod agents;
pub mod api;
pub mod args;
pub mod assets;
pub mod attempts;
mod colon;
pub mod console;
pub mod demo;
mod dial;
mod ending;
mod etag;
mod headers;
mod health;
mod idempotency;
mod input;
mod kubeconfig;
pub mod link;
mod metrics;
mod migrate;
pub mod problem;
pub mod router;
mod running;
pub mod serve;
pub mod session;
pub mod site;

pub use router::{Built, build};
pub use site::{Options, Site};
