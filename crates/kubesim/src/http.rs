//! The API over HTTP: one tower service for in-process kube clients and for TCP connections.

mod discovery;
mod dispatch;
mod openapi;
mod request;
mod review;
pub(crate) mod serve;
mod service;
mod table;
mod view;
mod watch;

pub use serve::ServerHandle;
pub use service::{ApiService, ConnectionRefused};
