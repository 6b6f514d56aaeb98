//! Tests of the engine against simulated clusters, in one process.

mod apply;
mod busy_cluster;
mod catch_up;
mod charts;
mod drift;
mod harness;
mod health;
mod hooks;
mod jobs;
mod policies;
mod preflight;
mod records;
mod remove;
mod restart;
mod scalers;
mod superseded_hooks;
