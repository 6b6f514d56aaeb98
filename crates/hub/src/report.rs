//! The agents' side: wants, bundles, reports.
//!
//! The cluster is an argument that comes from the credential, never from a message: whatever an agent writes, it can
//! only read and move what belongs to its own cluster.

mod begin;
mod bundle;
mod record;
mod schema;
mod wants;

pub(crate) use schema::Schemas;
