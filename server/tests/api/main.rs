//! The web application in one process over a real database: routes, responses and authentication.

mod access;
mod assets;
mod clusters;
mod groups;
mod idempotency;
mod openapi;
mod outages;
mod overrides;
mod postgres;
mod postgres_outages;
mod problems;
mod sessions;
mod sign_in_limits;
mod test_server;
mod watch;
mod workloads;
