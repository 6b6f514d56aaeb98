//! The engine against simulated clusters, in one process.

mod apply;
mod drift;
mod harness;
mod health;
mod preflight;
mod remove;
mod restart;
