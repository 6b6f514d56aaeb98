//! Operations on identity providers.

use serde::Deserialize;

pub mod delete;
pub mod get;
pub mod list;
pub mod put;
pub mod test;

/// Path parameters of a provider.
#[derive(Debug, Deserialize)]
pub struct IdentityProviderPath {
    /// Its name.
    provider: String,
}
