//! Calls on API tokens.

use domain::TokenId;
use http::Method;

use super::Client;
use crate::{Error, NewToken, Token, TokenCreated};

impl Client {
    /// The caller's tokens.
    pub async fn token_list(&self) -> Result<Vec<Token>, Error> {
        self.api(Method::GET, &["tokens"]).json().await
    }

    /// Makes a token; its secret is in the answer and nowhere else.
    pub async fn token_create(&self, new: &NewToken) -> Result<TokenCreated, Error> {
        self.api(Method::POST, &["tokens"]).body(new).json().await
    }

    /// Ends a token.
    pub async fn token_delete(&self, id: TokenId) -> Result<(), Error> {
        self.api(Method::DELETE, &["tokens", &id.to_string()]).nothing().await
    }
}
