//! An in-memory Kubernetes API server with the controllers that run workloads.
//!
//! `kubesim` replaces a real cluster where one would be too slow or too heavy: in the demo, in fast tests and in
//! benchmarks. It serves a `kube` client in this process ([`SimCluster::service`]) or any client over HTTP
//! ([`SimCluster::serve`]). What it supports behaves as on the real server: the same defaults, the same `Status` bodies,
//! server-side apply with field ownership, watches with bookmarks and 410.
//!
//! # Modules
//! `schema` (fields of each kind) · `kinds` (served kinds) · `store` (objects, versions, history) · `decode`,
//! `defaults`, `validate`, `admission` (the stages of a write) · `apply`, `patch` (how a write changes an object) ·
//! `verbs` (one file per verb) · `http` (paths, documents, watches, sockets) · `clockwork` (one file per controller) ·
//! `faults` (fault injection).
//!
//! # Faults triggered by names
//! In addition to the settings of [`Faults`], some names trigger a fault:
//!
//! | where | contains | effect |
//! |---|---|---|
//! | image | `does-not-exist`, `nonexistent` | `ErrImagePull`, then `ImagePullBackOff` |
//! | image | `crashloop`; or a command or argument `exit 1` or `false`; or env `KUBESIM_FAULT=crash` | `CrashLoopBackOff`, exit code 1 |
//! | image | `oomkill`; or env `KUBESIM_FAULT=oom` | killed with `OOMKilled`, exit code 137, then `CrashLoopBackOff` |
//! | image | `neverready`; or env `KUBESIM_FAULT=never-ready` | runs, its readiness probe always fails |
//! | pod name | `is_unschedulable` | stays Pending, `Unschedulable` |
//!
//! # Not supported, by design
//! Authentication and authorization (every request is allowed, and reviews of the own permissions say so), protobuf
//! (`kubectl create deployment` and the other generators send only protobuf and get 415; commands that send a manifest
//! work), exec/attach/port-forward, CEL (but the rule `self == oldSelf` of a field) and OpenAPI value constraints of custom resources (types, pruning and defaults are supported), conversion webhooks, API
//! priority and fairness. Probes are not run: a container without a fault is ready once it has started.
//! `events.k8s.io` and core events are stored separately; the controllers write core events.

mod admission;
mod apply;
mod clock;
mod cluster;
mod controllers;
mod convert;
mod decode;
mod defaults;
mod faults;
mod http;
mod kinds;
mod object;
mod patch;
mod quantity;
mod schema;
mod selector;
mod snapshot;
mod stats;
mod status;
mod store;
mod validate;
mod verbs;

pub use cluster::{SimCluster, SimOptions};
pub use faults::{AdmissionRule, ErrorRates, Faults};
pub use http::{ApiService, ConnectionRefused, ServerHandle};
pub use stats::Stats;
pub use store::ObservedChange;

/// The error of a direct call on a [`SimCluster`].
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct SimError {
    /// HTTP status code of the equivalent API response.
    pub code: u16,
    /// `reason` of its `Status`.
    pub reason: &'static str,
    /// `message` of its `Status`.
    pub message: String,
}

impl std::fmt::Display for SimError {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str(&self.message)
    }
}

impl std::error::Error for SimError {}

impl From<status::StatusError> for SimError {
    fn from(refusal: status::StatusError) -> SimError {
        SimError { code: refusal.code, reason: refusal.reason, message: refusal.message.clone() }
    }
}
