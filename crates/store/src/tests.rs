//! Tests of the store, each on both engines.

mod artifacts;
pub(crate) mod both;
mod clusters;
mod concurrency;
mod events;
mod exposures;
mod faults;
mod fixtures;
mod joining;
mod leases;
mod lists;
mod opening;
mod people;
mod placer_queue;
mod releases;
mod repeated_requests;
mod rollouts;
mod tally;
mod workloads;
