//! Operations on API tokens.

use domain::TokenId;
use domain::api_token::TOKEN_PREFIX;
use http::Method;
use rand::Rng;

use super::Client;
use crate::{ApiToken, ApiTokenCreated, Error, NewApiToken};

/// A new secret of an API token, which the server does not know: only its hash is sent ([`NewApiToken::secret_hash`]).
pub fn generate_token_secret() -> String {
    format!("{TOKEN_PREFIX}{}", hex::encode(rand::rng().random::<[u8; 32]>()))
}

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
