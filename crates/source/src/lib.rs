//! Sources of manifests other than files: charts, read from untrusted archives and rendered by Helm in a sandbox.
//!
//! Charts are fetched from repositories and registries ([`repository`]), manifests, charts and kustomizations from Git
//! ([`git`]).
//!
//! Nothing here reads a database or decides where a workload runs. An archive is read into a bounded map and never unpacked
//! ([`archive`]); Helm is a process without network, without the environment of the server, and with limits on memory, time and
//! output ([`helm`], [`sandbox`]). What is read at once is bounded in sum ([`memory_budget`]) and for each user ([`client_shares`], [`requester`]), also in the tasks that a request spawns ([`request_context`]). Its files are in a private folder of the server that is deleted after it ([`scratch`]).

pub mod archive;
pub mod client_shares;
pub mod git;
pub mod helm;
mod identity;
pub mod kustomize;
pub mod memory_budget;
pub mod memory_limit;
mod messages;
pub mod readme;
mod remote_access;
pub mod repository;
pub mod request_context;
pub mod requester;
mod reserved_body;
pub mod retained_memory;
pub mod sandbox;
pub mod scratch;
pub mod unknown_values;

pub use remote_access::RemoteAccess;
