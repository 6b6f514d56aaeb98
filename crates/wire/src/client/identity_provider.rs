//! Operations on identity providers, and why a user has a role.

use domain::identity_provider::{IdentityProvider, IdentityProviderPut, ProviderTest, UserIdentity};
use http::Method;

use super::Client;
use crate::Error;

/// The collection of providers.
const PROVIDERS: &str = "identity-providers";

impl Client {
    /// The identity providers, by name.
    pub async fn list_identity_providers(&self) -> Result<Vec<IdentityProvider>, Error> {
        self.api_call(Method::GET, &[PROVIDERS]).send_json().await
    }

    /// One identity provider.
    pub async fn get_identity_provider(&self, name: &str) -> Result<IdentityProvider, Error> {
        self.api_call(Method::GET, &[PROVIDERS, name]).send_json().await
    }

    /// Adds an identity provider, or changes it.
    pub async fn put_identity_provider(
        &self,
        name: &str,
        put: &IdentityProviderPut,
    ) -> Result<IdentityProvider, Error> {
        self.api_call(Method::PUT, &[PROVIDERS, name]).body(put).send_json().await
    }

    /// Tests the connection to an identity provider.
    pub async fn test_identity_provider(&self, name: &str) -> Result<ProviderTest, Error> {
        self.api_call(Method::POST, &[PROVIDERS, &format!("{name}:test")]).send_json().await
    }

    /// Removes an identity provider, and ends its sessions.
    pub async fn remove_identity_provider(&self, name: &str) -> Result<(), Error> {
        self.api_call(Method::DELETE, &[PROVIDERS, name]).send_ignoring_body().await
    }

    /// Why a user has the role.
    pub async fn get_user_identity(&self, name: &str) -> Result<UserIdentity, Error> {
        self.api_call(Method::GET, &["users", name, "identity"]).send_json().await
    }
}
