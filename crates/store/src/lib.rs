//! Every SQL statement of Flotilla, and nothing else: one file per noun, functions that take a [`Tx`].
//!
//! One set of SQL serves SQLite (the embedded default) and PostgreSQL (what a team runs), through sqlx's `Any` driver:
//! `$n` parameters, TEXT, BIGINT and binary columns. The engines differ in four places only: the pragmas and the lock
//! file in [`Store::open`], the clause that locks rows, the advisory lock of migrations, and `NOTIFY`. Every test runs
//! on both.
//!
//! This room has no opinions: it doesn't know who may do what, what follows from a change, or what time it is. It keeps
//! three promises of its own. A row that says the impossible is logged and left out of lists instead of breaking them.
//! Derived columns (a release's `state`, the counts per state) are written in the transaction that changes what they
//! follow from. And writers never deadlock on what everybody writes: counts, versions of wants and events are
//! collected in [`Tx`] and written at its commit, sorted.

pub mod artifact;
pub mod cluster;
mod cursor;
pub mod decision;
mod error;
pub mod event;
pub mod exposure;
pub mod group;
pub mod idempotency;
pub mod identity;
pub mod join_token;
mod label;
pub mod lease;
mod listen;
mod migrate;
mod open;
pub mod plan;
pub mod project;
pub mod queue;
mod record;
pub mod registration;
pub mod release;
pub mod revision;
pub mod rollout;
pub mod session;
pub mod setup;
mod sql;
pub mod token;
mod tx;
pub mod user;
pub mod workload;

pub use error::Error;
pub use listen::Wakeups;
pub use open::Store;
pub use tx::{Committed, Tx};

#[cfg(test)]
mod tests;
