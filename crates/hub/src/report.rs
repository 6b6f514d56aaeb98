//! The agents' API: desired state, bundles, reports.
//!
//! The cluster argument comes from the credential, never from a message: an agent can only read and change what belongs
//! to its own cluster.

mod bundle;
mod desired_state;
mod incarnation;
mod record;
mod schema;
mod tombstone;

pub(crate) use schema::{NamedSchemas, ReportedSchemas, SchemaCache};
