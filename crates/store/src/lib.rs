//! All SQL of Flotilla, and nothing else: one file per noun, functions that take a [`Tx`].
//!
//! One set of SQL serves SQLite (the embedded default) and PostgreSQL (for several servers), through sqlx's `Any`
//! driver: `$n` parameters, TEXT, BIGINT and binary columns. The engines differ only in the pragmas and the lock file
//! of [`Store::open`], the start of transactions, the clauses that lock rows, the clock, the advisory lock of
//! migrations, and `NOTIFY`. Every test runs on both.
//!
//! The crate contains no business rules: no authorization, no consequences of a change, no clock. It guarantees three
//! things. An invalid row is an error, never a shorter list; only lists that are just displayed leave it out, and log
//! how many. Derived columns (a release's `state`, the counts per state) are written in the transaction that changes
//! their source. Writers do not deadlock: rows that every writer updates (marks, counts, desired-state versions, events)
//! are collected in [`Tx`] and written at its commit, in sorted order, and others are locked in the order that [`Tx`] refers to.

mod admission;
pub mod artifact;
pub mod audit;
pub mod certificate;
pub mod channel;
pub mod chart;
pub mod chart_repository;
pub mod cluster;
mod cursor;
pub mod decision;
mod decode;
pub mod delivery;
pub mod dependency;
pub mod drift;
pub mod elevation;
mod encryption;
mod error;
pub mod event;
pub mod exposure;
pub mod field_revert;
pub mod git;
pub mod git_repository;
pub mod group;
pub mod helm_release_request;
pub mod idempotency;
pub mod identity_provider;
pub mod identity_session;
pub mod incident;
#[cfg(debug_assertions)]
mod injected_fault;
pub mod join_token;
mod label;
mod large_value;
mod listen;
mod migrate;
mod open;
pub mod operation;
mod outage;
mod outage_monitor;
mod page_bytes;
pub mod password_link;
pub mod pending_removal;
pub mod plan;
pub mod project;
pub mod publish_message;
pub mod queue;
pub mod redaction;
pub mod registration;
pub mod release;
pub mod retained_cluster;
pub mod retention;
pub mod revision;
pub mod role_binding;
pub mod rollout;
mod sealed;
pub mod search;
pub mod session;
pub mod setup;
pub mod sign_in_attempt;
mod spec_reference;
mod sql;
mod statistics;
pub mod subscription;
pub mod suspension;
mod table;
pub mod token;
pub mod tombstone;
mod tx;
pub mod user;
pub mod user_identity;
pub mod workload;

pub use admission::{DecodeAdmission, set_decode_admission};
pub use encryption::{EncryptionStatus, default_key_file};
pub use error::Error;
pub use large_value::run_blocking_in_place;
pub use listen::Wakeups;
pub use open::Store;
pub use outage::DatabaseOutage;
pub use sealed::{
    BatchOutcome, DataKeySummary, EncryptionMode, EncryptionProgress, KeyError, KeySource,
    generate_wrapping_key,
};
pub use statistics::StoreStatistics;
pub use tx::{CommitOutcome, Tx};

#[cfg(test)]
mod tests;
