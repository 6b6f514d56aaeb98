//! The server: console, REST API and live stream over one hub, with the agents of the clusters it serves itself.
//!
//! [`router`] has every route and the middleware layers. [`access`] authenticates requests, except those to public
//! paths. [`api`] has the REST operations, one file each; [`console`] renders the pages of `app`. [`serve`] and [`demo`]
//! start all parts and shut them down in order.

// Each page of the console is one deeply nested type; so are the futures that render it.
#![recursion_limit = "512"]

pub mod access;
mod agent_endpoint;
pub mod agents;
pub mod allocator;
pub mod api;
pub mod args;
mod arriving_body;
pub mod assets;
pub mod audit_file;
mod audit_format;
mod body_memory;
mod body_rate;
pub mod charts;
pub mod client_address;
mod compression;
pub mod console;
mod contended_rate;
mod content_json;
mod custom_verb;
pub mod demo;
mod encoded_text;
mod etag;
mod form_error;
mod headers;
mod health;
mod idempotency;
pub mod identity_provider;
mod input;
mod install;
mod keys;
mod kubeconfig;
mod lifecycle;
pub mod link;
pub mod listener;
mod metrics;
mod migrate;
pub mod notifications;
mod page_renderer;
pub mod problem;
mod public_body_memory;
mod query_parameters;
mod request_deadline;
mod request_places;
mod response_memory;
pub mod router;
pub mod serve;
pub mod session;
mod shutdown;
pub mod site;
mod streams;
#[cfg(test)]
mod test_router;
mod value_memory;

pub use router::{ServerRouter, build_router};
pub use site::{Site, SiteOptions};
