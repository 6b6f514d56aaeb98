//! The whole site in one process, over a real database: every address, what it answers and whom it refuses.

mod access;
mod assets;
mod clusters;
mod groups;
mod house;
mod idempotency;
mod openapi;
mod problems;
mod sessions;
mod watch;
mod workloads;
