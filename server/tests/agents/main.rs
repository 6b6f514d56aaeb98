//! Agents over a real socket with TLS: joining, what a certificate allows, and what survives being away.

// The console's pages are one nested type each; rendering them nests futures as deep.
#![recursion_limit = "512"]

mod away;
mod certificates;
mod house;
mod joining;
mod lossy;
mod restored;
mod skewed;
mod soak;
mod told;
mod trespass;
