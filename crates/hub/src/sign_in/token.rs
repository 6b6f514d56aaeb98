//! API tokens: shown once, stored as a hash, always with an expiry.

use domain::api_token::{ApiToken, ApiTokenCreated, NewApiToken};
use domain::authorization::UserAction;
use domain::{Finding, TokenId, UserId};
use store::role_binding;
use store::token::ApiTokenRecord;

use super::hash_secret;
use crate::hub::CommitEffects;
use crate::{Actor, ActorKind, Credential, Error, Hub};

/// Maximum lifetime of a token, in days.
const MAX_DAYS: u32 = 365;
/// Prefix of every token, so that secret scanners recognise it.
const TOKEN_PREFIX: &str = "flt_";

impl Hub {
    /// Creates an API token for the actor (S0-3). Its secret is in the result and nowhere else.
    ///
    /// # Errors
    /// The role is higher than that of the actor, or the actor is a token that may not create tokens.
    pub async fn create_token(&self, actor: &Actor, new: &NewApiToken) -> Result<ApiTokenCreated, Error> {
        actor.authorize(UserAction::ManageOwnTokens)?;
        let user = check_creation(actor, new)?;
        self.check_project(new.project.as_deref())?;
        let secret = format!("{TOKEN_PREFIX}{}", self.ids().generate_secret());
        let now = self.clock().now();
        let token = ApiTokenRecord {
            id: self.ids().generate(TokenId::from_parts),
            user,
            name: new.name.clone(),
            secret_sha256: hash_secret(&secret),
            created_at: now,
            expires_at: Some(now.plus_millis(i64::from(new.days) * 86_400_000)),
            used_at: None,
            role: new.role.unwrap_or(actor.role),
            project: new.project.is_some().then(|| self.project()),
            can_mint: new.may_mint(actor.role) && may_mint(actor),
        };
        let created = ApiTokenCreated::new(to_view(&token), secret);
        let mut tx = self.write_as(actor, UserAction::ManageOwnTokens).await?;
        store::token::insert(&mut tx, &token).await?;
        let effects = CommitEffects::default().with_response(actor, 201, &created.without_secret());
        self.commit(tx, effects).await?;
        Ok(created)
    }

    /// The only project is `default`; any other is not found.
    fn check_project(&self, project: Option<&str>) -> Result<(), Error> {
        match project {
            None | Some(store::project::DEFAULT) => Ok(()),
            Some(other) => Err(Error::not_found("project", other.chars().take(80).collect::<String>())),
        }
    }

    /// The actor's tokens.
    pub async fn list_tokens(&self, actor: &Actor) -> Result<Vec<ApiToken>, Error> {
        actor.authorize(UserAction::ManageOwnTokens)?;
        let Some(user) = actor.user() else { return Ok(Vec::new()) };
        let mut tx = self.read().await?;
        let tokens = store::token::list(&mut tx, user).await?;
        Ok(tokens.iter().map(to_view).collect())
    }

    /// Deletes a token of the actor.
    ///
    /// # Errors
    /// The actor has no such token, or is another token that may not create tokens.
    pub async fn delete_token(&self, actor: &Actor, id: TokenId) -> Result<(), Error> {
        actor.authorize(UserAction::ManageOwnTokens)?;
        let is_itself = matches!(&actor.credential, Some(Credential::Token { id: own, .. }) if *own == id);
        if !is_itself {
            require_minting(actor)?;
        }
        let mut tx = self.write_as(actor, UserAction::ManageOwnTokens).await?;
        let is_deleted = match actor.user() {
            Some(user) => store::token::delete(&mut tx, user, id).await?,
            None => false,
        };
        if !is_deleted {
            return Err(Error::not_found("token", id.to_string()));
        }
        self.commit(tx, CommitEffects::default().with_empty_response(actor, 204)).await?;
        self.live().notify_credentials();
        Ok(())
    }

    /// The actor that a token authenticates: its user, with the lower of both roles.
    pub async fn authenticate_token(&self, secret: &str) -> Result<Actor, Error> {
        const WRONG: Error = Error::Unauthenticated("The API token is not valid, or it has expired.");
        if !secret.starts_with(TOKEN_PREFIX) {
            return Err(WRONG);
        }
        let now = self.clock().now();
        let mut tx = self.read().await?;
        let token = store::token::get_by_hash(&mut tx, &hash_secret(secret), now).await?.ok_or(WRONG)?;
        let user = store::user::get_by_id(&mut tx, token.user).await?.ok_or(WRONG)?;
        // A user with a password has no identity at a provider.
        let is_usable = !user.password_hash.is_empty() || self.has_usable_identity(&mut tx, user.id).await?;
        if user.disabled_at.is_some() || !is_usable {
            return Err(WRONG);
        }
        let role = role_binding::get(&mut tx, user.id).await?.ok_or(WRONG)?.min(token.role);
        drop(tx);
        match self.record_token_use(&token).await {
            // Reads continue while the database accepts no writes.
            Err(error) if error.is_outage() => {
                tracing::debug!(%error, "the use of an API token was not recorded");
            }
            result => result?,
        }
        let credential = Credential::Token { id: token.id, can_mint: token.can_mint };
        Ok(Actor::new(user.name, ActorKind::Token(user.id), role).with_credential(credential))
    }

    /// Records when a token was last used, at most once a minute, to avoid a write per request.
    async fn record_token_use(&self, token: &ApiTokenRecord) -> Result<(), Error> {
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

/// Whether the actor may create and revoke tokens: a person, or a token that was created for it.
fn may_mint(actor: &Actor) -> bool {
    !matches!(actor.credential, Some(Credential::Token { can_mint: false, .. }))
}

fn require_minting(actor: &Actor) -> Result<(), Error> {
    if may_mint(actor) {
        return Ok(());
    }
    Err(Error::TokenLimited(
        "This API token may not create or revoke tokens. Do it in the console under Settings, or with a token that was created with canMint."
            .to_owned(),
    ))
}

/// Checks the new token against the rights of the actor; returns the user that it is for.
fn check_creation(actor: &Actor, new: &NewApiToken) -> Result<UserId, Error> {
    let Some(user) = actor.user() else {
        return Err(Error::Unauthenticated("Only a user can have API tokens."));
    };
    require_minting(actor)?;
    if let Some(role) = new.role.filter(|role| *role > actor.role) {
        return Err(Error::TokenLimited(format!(
            "A token can't have a higher role than its creator: {role} is above {}. An admin can raise your role under Settings, People.",
            actor.role
        )));
    }
    let mut findings: Vec<Finding> =
        domain::name_check::check_label("Token name", &new.name).into_iter().collect();
    if !(1..=MAX_DAYS).contains(&new.days) {
        findings.push(Finding::error(
            "TokenLifetime",
            format!("A token can be valid for 1 to {MAX_DAYS} days, not {}.", new.days),
            "30 days suit most uses.",
        ));
    }
    if findings.is_empty() { Ok(user) } else { Err(Error::Invalid(findings)) }
}

fn to_view(token: &ApiTokenRecord) -> ApiToken {
    ApiToken {
        id: token.id,
        name: token.name.clone(),
        role: token.role,
        project: token.project.map(|_| store::project::DEFAULT.to_owned()),
        can_mint: token.can_mint,
        last_used_at: token.used_at,
        expires_at: token.expires_at,
    }
}
