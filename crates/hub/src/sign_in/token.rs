//! API tokens: shown once, stored as a hash, always with an expiry.

use domain::api_token::{ApiToken, ApiTokenCreated};
use domain::{Finding, TokenId};

use super::hash_secret;
use crate::{Actor, ActorKind, Error, Hub};

/// Maximum lifetime of a token, in days.
const MAX_DAYS: u32 = 365;
/// Prefix of every token, so that secret scanners recognise it.
const TOKEN_PREFIX: &str = "flt_";

impl Hub {
    /// Creates an API token for the actor (S0-3).
    pub async fn create_token(&self, actor: &Actor, name: &str, days: u32) -> Result<ApiTokenCreated, Error> {
        let Some(user) = actor.user() else {
            return Err(Error::Unauthenticated("Only a user can have API tokens."));
        };
        let mut findings: Vec<Finding> =
            domain::name_check::check_label("Token name", name).into_iter().collect();
        if !(1..=MAX_DAYS).contains(&days) {
            findings.push(Finding::error(
                "TokenLifetime",
                format!("A token can be valid for 1 to {MAX_DAYS} days, not {days}."),
                "90 days suit most uses.",
            ));
        }
        if !findings.is_empty() {
            return Err(Error::Invalid(findings));
        }
        let secret = format!("{TOKEN_PREFIX}{}", self.ids().generate_secret());
        let now = self.clock().now();
        let token = store::token::ApiTokenRecord {
            id: self.ids().generate(TokenId::from_parts),
            user,
            name: name.to_owned(),
            secret_sha256: hash_secret(&secret),
            created_at: now,
            expires_at: Some(now.plus_millis(i64::from(days) * 86_400_000)),
            used_at: None,
        };
        let mut tx = self.write().await?;
        store::token::insert(&mut tx, &token).await?;
        tx.commit().await?;
        Ok(ApiTokenCreated { id: token.id, secret })
    }

    /// The actor's tokens.
    pub async fn list_tokens(&self, actor: &Actor) -> Result<Vec<ApiToken>, Error> {
        let Some(user) = actor.user() else { return Ok(Vec::new()) };
        let mut tx = self.read().await?;
        let tokens = store::token::list(&mut tx, user).await?;
        let info = |token: store::token::ApiTokenRecord| ApiToken {
            id: token.id,
            name: token.name,
            last_used_at: token.used_at,
            expires_at: token.expires_at,
        };
        Ok(tokens.into_iter().map(info).collect())
    }

    /// Deletes a token of the actor.
    pub async fn delete_token(&self, actor: &Actor, id: TokenId) -> Result<(), Error> {
        let mut tx = self.write().await?;
        let is_deleted = match actor.user() {
            Some(user) => store::token::delete(&mut tx, user, id).await?,
            None => false,
        };
        if !is_deleted {
            return Err(Error::not_found("token", id.to_string()));
        }
        tx.commit().await?;
        Ok(())
    }

    /// The actor that a token authenticates.
    pub async fn authenticate_token(&self, secret: &str) -> Result<Actor, Error> {
        const WRONG: Error = Error::Unauthenticated("The API token is not valid, or it has expired.");
        if !secret.starts_with(TOKEN_PREFIX) {
            return Err(WRONG);
        }
        let now = self.clock().now();
        let mut tx = self.read().await?;
        let token = store::token::get_by_hash(&mut tx, &hash_secret(secret), now).await?.ok_or(WRONG)?;
        let user = store::user::get_by_id(&mut tx, token.user).await?.ok_or(WRONG)?;
        drop(tx);
        match self.record_token_use(&token).await {
            // Reads continue while the database accepts no writes.
            Err(error) if error.is_outage() => {
                tracing::debug!(%error, "the use of an API token was not recorded");
            }
            result => result?,
        }
        Ok(Actor::new(user.name, ActorKind::Token(user.id)))
    }

    /// Records when a token was last used, at most once a minute, to avoid a write per request.
    async fn record_token_use(&self, token: &store::token::ApiTokenRecord) -> Result<(), Error> {
        let now = self.clock().now();
        if token.used_at.is_some_and(|last| now.millis_since(last) < 60_000) {
            return Ok(());
        }
        let mut tx = self.write().await?;
        store::token::record_use(&mut tx, token.id, now).await?;
        tx.commit().await?;
        Ok(())
    }
}
