//! API tokens: shown once, stored as a hash, always with an end.

use domain::{Finding, TokenId};

use super::{NewToken, TokenInfo, fingerprint};
use crate::{Actor, ActorKind, Error, Hub};

/// Longest life of a token, in days.
const MOST_DAYS: u32 = 365;
/// Head of every token, so that secret scanners know it.
const HEAD: &str = "flt_";

impl Hub {
    /// Makes an API token for the actor (S0-3).
    pub async fn token_create(&self, actor: &Actor, name: &str, days: u32) -> Result<NewToken, Error> {
        let Some(user) = actor.user() else {
            return Err(Error::Unauthenticated("Only a person has API tokens."));
        };
        let mut findings: Vec<Finding> = domain::name::check_label("Token name", name).into_iter().collect();
        if !(1..=MOST_DAYS).contains(&days) {
            findings.push(Finding::error(
                "TokenLife",
                format!("A token lives 1 to {MOST_DAYS} days, not {days}."),
                "90 days suit most uses.",
            ));
        }
        if !findings.is_empty() {
            return Err(Error::Invalid(findings));
        }
        let secret = format!("{HEAD}{}", self.ids().secret());
        let now = self.clock().now();
        let token = store::token::Token {
            id: self.ids().make(TokenId::from_parts),
            user,
            name: name.to_owned(),
            sha256: fingerprint(&secret),
            created_at: now,
            expires_at: Some(now.plus_millis(i64::from(days) * 86_400_000)),
            used_at: None,
        };
        let mut tx = self.write().await?;
        store::token::insert(&mut tx, &token).await?;
        tx.commit().await?;
        Ok(NewToken { id: token.id, secret })
    }

    /// The actor's tokens.
    pub async fn token_list(&self, actor: &Actor) -> Result<Vec<TokenInfo>, Error> {
        let Some(user) = actor.user() else { return Ok(Vec::new()) };
        let mut tx = self.read().await?;
        let tokens = store::token::list(&mut tx, user).await?;
        let info = |token: store::token::Token| TokenInfo {
            id: token.id,
            name: token.name,
            last_used_at: token.used_at,
            expires_at: token.expires_at,
        };
        Ok(tokens.into_iter().map(info).collect())
    }

    /// Ends a token of the actor.
    pub async fn token_delete(&self, actor: &Actor, id: TokenId) -> Result<(), Error> {
        let mut tx = self.write().await?;
        let mine = match actor.user() {
            Some(user) => store::token::delete(&mut tx, user, id).await?,
            None => false,
        };
        if !mine {
            return Err(Error::not_found("token", id.to_string()));
        }
        tx.commit().await?;
        Ok(())
    }

    /// Who a token stands for.
    pub async fn token_actor(&self, secret: &str) -> Result<Actor, Error> {
        const WRONG: Error = Error::Unauthenticated("The API token is not valid, or it has expired.");
        if !secret.starts_with(HEAD) {
            return Err(WRONG);
        }
        let now = self.clock().now();
        let mut tx = self.read().await?;
        let token = store::token::by_hash(&mut tx, &fingerprint(secret), now).await?.ok_or(WRONG)?;
        let user = store::user::by_id(&mut tx, token.user).await?.ok_or(WRONG)?;
        drop(tx);
        self.note_use(&token).await?;
        Ok(Actor::new(user.name, ActorKind::Token(user.id)))
    }

    /// Remembers when a token was last used, to the minute: a write per request would cost more than it tells.
    async fn note_use(&self, token: &store::token::Token) -> Result<(), Error> {
        let now = self.clock().now();
        if token.used_at.is_some_and(|last| now.since(last) < 60_000) {
            return Ok(());
        }
        let mut tx = self.write().await?;
        store::token::touch_used(&mut tx, token.id, now).await?;
        tx.commit().await?;
        Ok(())
    }
}
