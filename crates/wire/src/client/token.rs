//! Operations on API tokens.

use domain::TokenId;
use http::Method;

use super::Client;
use crate::{ApiToken, ApiTokenCreated, Error, NewApiToken};

impl Client {
    /// The caller's tokens.
    pub async fn list_tokens(&self) -> Result<Vec<ApiToken>, Error> {
        self.api_call(Method::GET, &["tokens"]).send_json().await
    }

    /// Creates a token. Only this response contains its secret.
    pub async fn create_token(&self, new: &NewApiToken) -> Result<ApiTokenCreated, Error> {
        self.api_call(Method::POST, &["tokens"]).body(new).send_json().await
    }

    /// Revokes a token.
    pub async fn delete_token(&self, id: TokenId) -> Result<(), Error> {
        self.api_call(Method::DELETE, &["tokens", &id.to_string()]).send_ignoring_body().await
    }
}
