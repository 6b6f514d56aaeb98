//! Tests of the store, each on both engines.

mod artifacts;
mod clusters;
mod concurrency;
mod counts;
pub(crate) mod databases;
mod events;
mod exposures;
mod faults;
mod fixtures;
mod joining;
mod json_columns;
mod lists;
mod older_servers;
mod opening;
mod placer_queue;
mod releases;
mod repeated_requests;
mod retention;
mod rollouts;
mod sign_in_attempts;
mod tombstones;
mod unreadable_rows;
mod users;
mod workloads;
