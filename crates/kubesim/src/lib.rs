//! An in-memory Kubernetes API server with the controllers that make workloads come alive.
//!
//! `kubesim` stands in for a cluster where a real one would be too slow or too heavy: in the demo, in fast tests and
//! in benchmarks. It answers a `kube` client in this process ([`Cluster::service`]) or any client over HTTP
//! ([`Cluster::serve`]), and where it answers at all it means to answer as the real server does: the same defaults,
//! the same `Status` bodies, server-side apply with field ownership, watches with bookmarks and 410.
//!
//! # Rooms
//! `schema` (what fields a kind has) · `kinds` (what is served) · `store` (objects, versions, history) · `decode`,
//! `defaults`, `validate`, `admission` (what a write passes) · `apply`, `patch` (how it changes an object) · `verbs`
//! (one verb a file) · `http` (paths, documents, watches, sockets) · `clockwork` (one controller a file) · `faults`.
//!
//! # What goes wrong by name
//! Besides the switches of [`Faults`], some names cause a fault by themselves:
//!
//! | where | what it contains | what happens |
//! |---|---|---|
//! | image | `does-not-exist`, `nonexistent` | `ErrImagePull`, then `ImagePullBackOff` |
//! | image | `crashloop`; or a command or argument `exit 1` or `false`; or env `KUBESIM_FAULT=crash` | `CrashLoopBackOff`, exit code 1 |
//! | image | `oomkill`; or env `KUBESIM_FAULT=oom` | killed with `OOMKilled`, exit code 137, then `CrashLoopBackOff` |
//! | image | `neverready`; or env `KUBESIM_FAULT=never-ready` | runs, fails its readiness probe for ever |
//! | pod name | `unschedulable` | stays Pending, `Unschedulable` |
//!
//! # What is missing on purpose
//! Authentication and authorisation (everybody may do everything), protobuf (so `kubectl create deployment` and the
//! other generators, which send nothing else, are answered with 415; everything that sends a manifest works),
//! exec/attach/port-forward, CEL and OpenAPI value constraints of custom resources (types, pruning and defaults are
//! honoured), conversion webhooks, API priority and fairness. Probes are not run: a container without an ailment is
//! ready once it has started. `events.k8s.io` and core events are kept apart; the controllers write core events.

mod admission;
mod apply;
mod clock;
mod clockwork;
mod cluster;
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

pub use cluster::{Cluster, Options};
pub use faults::{AdmissionRule, Faults, Rates};
pub use http::{ApiService, Server, Unreachable};
pub use stats::Stats;

/// Why the cluster refused something asked of it directly.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Problem {
    /// HTTP status code the API would answer with.
    pub code: u16,
    /// The reason of its `Status`.
    pub reason: &'static str,
    /// Its message.
    pub message: String,
}

impl std::fmt::Display for Problem {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str(&self.message)
    }
}

impl std::error::Error for Problem {}

impl From<status::Refusal> for Problem {
    fn from(refusal: status::Refusal) -> Problem {
        Problem { code: refusal.code, reason: refusal.reason, message: refusal.message.clone() }
    }
}
