//! API tokens: shown once, stored as a hash, always with an expiry.

use domain::api_token::{ApiToken, ApiTokenCreated, NewApiToken, TOKEN_PREFIX};
use domain::authorization::UserAction;
use domain::event::describe_object;
use domain::token_actions::TokenActions;
use domain::{Finding, Timestamp, TokenId, UserId};
use store::token::ApiTokenRecord;
use store::{Tx, role_binding};

use super::hash_secret;
use crate::hub::CommitEffects;
use crate::{Actor, ActorKind, Credential, Error, Hub};

/// Maximum lifetime of a token, in days.
const MAX_DAYS: u32 = 365;
const INVALID_TOKEN: Error = Error::Unauthenticated("The API token is not valid, or it has expired.");

impl Hub {
    /// Creates an API token for the actor (S0-3). Its secret is in the result and nowhere else, or only with the client that has generated it.
    ///
    /// A token that creates another one gives it none of what it does not have itself: not a higher role, not another project and not
    /// a later end. Without a project or with more days, the new token has the project and the end of its creator.
    ///
    /// # Errors
    /// The role is higher than that of the actor, an action does not exist or the role does not allow it, or the actor is a token that may not create tokens, has
    /// another project or is for fewer actions. There is a token with this secret already.
    pub async fn create_token(&self, actor: &Actor, new: &NewApiToken) -> Result<ApiTokenCreated, Error> {
        actor.authorize(UserAction::ManageOwnTokens)?;
        let user = check_creation(actor, new)?;
        let role = new.role.unwrap_or(actor.role);
        let actions = new.actions.as_deref().map(|names| TokenActions::check(names, role)).transpose();
        let actions = actions.map_err(|finding| Error::Invalid(vec![finding]))?;
        self.check_project(new.project.as_deref())?;
        let (secret, secret_sha256) = match &new.secret_hash {
            Some(hash) => (None, hash.as_str().trim_start_matches("sha256:").to_owned()),
            None => {
                let secret = format!("{TOKEN_PREFIX}{}", self.ids().generate_secret());
                let hash = hash_secret(&secret);
                (Some(secret), hash)
            }
        };
        let now = self.clock().now();
        let mut tx = self.write_as(actor, UserAction::ManageOwnTokens).await?;
        let creator = load_creator(&mut tx, actor, now).await?;
        let requested = ApiTokenRecord {
            id: self.ids().generate(TokenId::from_parts),
            user,
            name: new.name.clone(),
            secret_sha256,
            created_at: now,
            expires_at: Some(now.plus_millis(i64::from(new.days) * 86_400_000)),
            used_at: None,
            role,
            project: new.project.is_some().then(|| self.project()),
            can_mint: new.may_mint(actor.role) && may_mint(actor),
            actions,
        };
        let token = match &creator {
            Some(creator) => limit_to_creator(requested, creator)?,
            None => requested,
        };
        store::token::insert(&mut tx, &token).await?;
        let minting = if token.can_mint { ", which may create tokens" } else { "" };
        let limit =
            token.actions.as_ref().map(|actions| format!(", only for {}", actions.names().join(", ")));
        let message = format!(
            "{} created the API token {} with the role {} for at most {} days{minting}{}.",
            actor.name,
            token.name,
            token.role,
            new.days,
            limit.unwrap_or_default()
        );
        tx.describe_audit(describe_token(token.id), message);
        let (created, stored) = match secret {
            Some(secret) => {
                let created = ApiTokenCreated::new(to_view(&token), secret);
                let stored = created.without_secret();
                (created, stored)
            }
            None => {
                let created = ApiTokenCreated::with_secret_of_client(to_view(&token));
                (created.clone(), created)
            }
        };
        let effects = CommitEffects::default().with_response(actor, 201, &stored);
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
        self.load_tokens(&mut tx, user).await
    }

    /// The tokens of a user.
    pub(crate) async fn load_tokens(&self, tx: &mut Tx, user: UserId) -> Result<Vec<ApiToken>, Error> {
        Ok(store::token::list(tx, user).await?.iter().map(to_view).collect())
    }

    /// Deletes a token of the actor.
    ///
    /// # Errors
    /// The actor has no such token, or is another token that may not create tokens.
    pub async fn delete_token(&self, actor: &Actor, id: TokenId) -> Result<(), Error> {
        actor.authorize(UserAction::ManageOwnTokens)?;
        let user = actor.user().ok_or_else(|| Error::not_found("token", id.to_string()))?;
        let mut tx = self.write_as(actor, UserAction::ManageOwnTokens).await?;
        remove_token(&mut tx, actor, (user, &actor.name), id).await?;
        self.commit(tx, CommitEffects::default().with_empty_response(actor, 204)).await?;
        self.live().notify_credentials();
        Ok(())
    }

    /// The actor that a token authenticates: its user, with the lower of both roles.
    pub async fn authenticate_token(&self, secret: &str) -> Result<Actor, Error> {
        const WRONG: Error = INVALID_TOKEN;
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
        let role = role_binding::get_effective(&mut tx, user.id, now).await?.ok_or(WRONG)?.min(token.role);
        drop(tx);
        match self.record_token_use(&token).await {
            // Reads continue while the database accepts no writes.
            Err(error) if error.is_outage() => {
                tracing::debug!(%error, "the use of an API token was not recorded");
            }
            result => result?,
        }
        let credential = Credential::Token { id: token.id, can_mint: token.can_mint, actions: token.actions };
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

/// Deletes a token of the user with this id and name, and says so in the audit record; the caller commits.
///
/// # Errors
/// The user has no such token, or the actor is another token that may not revoke tokens.
pub(crate) async fn remove_token(
    tx: &mut Tx,
    actor: &Actor,
    (user, owner): (UserId, &str),
    id: TokenId,
) -> Result<(), Error> {
    let is_itself = matches!(&actor.credential, Some(Credential::Token { id: own, .. }) if *own == id);
    if !is_itself {
        require_minting(actor)?;
    }
    // One that can't be read is deleted without its name.
    let tokens = store::token::list(tx, user).await?;
    let name = tokens.into_iter().find(|token| token.id == id).map(|token| format!(" {}", token.name));
    if !store::token::delete(tx, user, id).await? {
        return Err(Error::not_found("token", id.to_string()));
    }
    let message = format!("The API token{} of {owner} was revoked.", name.unwrap_or_default());
    tx.describe_audit(describe_token(id), message);
    Ok(())
}

/// The token that authenticated the actor, if one did.
///
/// # Errors
/// It was revoked or has expired since.
async fn load_creator(tx: &mut Tx, actor: &Actor, now: Timestamp) -> Result<Option<ApiTokenRecord>, Error> {
    let Some(Credential::Token { id, .. }) = &actor.credential else { return Ok(None) };
    let found = store::token::get(tx, *id, now).await?;
    found.map(Some).ok_or(INVALID_TOKEN)
}

/// The new token with no more rights than the token that creates it.
fn limit_to_creator(new: ApiTokenRecord, creator: &ApiTokenRecord) -> Result<ApiTokenRecord, Error> {
    let project = match (new.project, creator.project) {
        (Some(new), Some(own)) if new != own => {
            return Err(Error::TokenLimited(
                "This API token is for another project. Create the new one in the console under Settings."
                    .to_owned(),
            ));
        }
        (new, own) => new.or(own),
    };
    let expires_at = match (new.expires_at, creator.expires_at) {
        (Some(new), Some(own)) => Some(new.min(own)),
        (new, own) => new.or(own),
    };
    let actions = match (&new.actions, &creator.actions) {
        (Some(requested), Some(own)) if !requested.is_within(own) => {
            return Err(Error::TokenLimited(format!(
                "This API token is only for {}, and creates none for other actions. Create the new one in the console under Settings.",
                own.names().join(", ")
            )));
        }
        (requested, own) => requested.as_ref().or(own.as_ref()).cloned(),
    };
    Ok(ApiTokenRecord {
        actions,
        role: new.role.min(creator.role),
        can_mint: new.can_mint && creator.can_mint,
        project,
        expires_at,
        ..new
    })
}

/// A token as the subject of the audit log: its name is not unique.
fn describe_token(id: TokenId) -> String {
    describe_object("API token", &id.to_string())
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
        actions: token.actions.as_ref().map(TokenActions::names),
        last_used_at: token.used_at,
        expires_at: token.expires_at,
    }
}
