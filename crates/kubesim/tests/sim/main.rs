//! The simulated cluster through its clients: an in-process kube client, and kubectl over HTTP.

mod apply;
mod controllers;
mod faults;
mod kubectl;
mod lifecycle;
mod reviews;
mod support;
mod watch;
