//! The simulated cluster as clients meet it: a kube client in this process, and kubectl over HTTP.

mod apply;
mod clockwork;
mod faults;
mod kubectl;
mod lifecycle;
mod support;
mod watch;
