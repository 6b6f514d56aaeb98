//! The API over HTTP: one tower service for a kube client in this process and for connections.

mod discovery;
mod dispatch;
mod openapi;
mod request;
pub(crate) mod serve;
mod service;
mod table;
mod view;
mod watch;

pub use serve::Server;
pub use service::{ApiService, Unreachable};
