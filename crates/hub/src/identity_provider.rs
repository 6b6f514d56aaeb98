//! Sign-in with OpenID Connect (docs/decisions/0023): the providers, sign-ins with them, the roles that follow from groups, and logouts that
//! a provider sends.
//!
//! A session of such a sign-in refers to a row `identity_session`, and ends with it. The role is read again from the provider when the session is
//! used and the last answer is older than 40 s. What could not be read is not taken for what was read last: a session whose provider does not
//! answer for five minutes ends.

use domain::authorization::UserAction;
use domain::event::{EventKind, NewEvent};
use domain::identity_provider::{
    IdentityProvider, IdentityProviderPut, SignInFailure, SignInProvider, UserIdentity,
};
use domain::{Finding, UserId};
use store::Tx;
use store::identity_provider::IdentityProviderRow;

use crate::hub::CommitEffects;
use crate::{Actor, Error, Hub};

mod authorization;
mod connection;
mod documents;
mod logout;
mod reading;
mod renewal;
mod sign_in;
mod token_request;

pub use authorization::{AuthorizationResponse, SignInStart};
pub use documents::{IdentityFetcher, IdentityRequest, IdentityResponse};
pub use logout::LogoutFailure;

pub(crate) use documents::ProviderDirectory;

/// The provider is asked again when its last answer is older than this, in milliseconds. Streams ask every 20 s, so that a role is at most a minute old
/// where it is used.
const RECHECK_MILLIS: i64 = 40_000;
/// Most providers.
const MAX_PROVIDERS: usize = 20;

impl Hub {
    /// The providers, by name, without their secrets.
    ///
    /// # Errors
    /// The actor may not manage users.
    pub async fn list_identity_providers(&self, actor: &Actor) -> Result<Vec<IdentityProvider>, Error> {
        actor.authorize(UserAction::ManageUsers)?;
        let mut tx = self.read().await?;
        let rows = store::identity_provider::list(&mut tx).await?;
        Ok(rows.into_iter().map(|row| self.describe_provider(row)).collect())
    }

    /// One provider.
    ///
    /// # Errors
    /// There is no such provider.
    pub async fn get_identity_provider(&self, actor: &Actor, name: &str) -> Result<IdentityProvider, Error> {
        actor.authorize(UserAction::ManageUsers)?;
        let mut tx = self.read().await?;
        let row = store::identity_provider::get(&mut tx, name).await?;
        Ok(self.describe_provider(row.ok_or_else(|| provider_not_found(name))?))
    }

    /// The providers that users can sign in with, for the sign-in page.
    pub async fn list_sign_in_providers(&self) -> Result<Vec<SignInProvider>, Error> {
        let mut tx = self.read().await?;
        let rows = store::identity_provider::list(&mut tx).await?;
        let enabled = rows.into_iter().filter(|row| row.enabled);
        Ok(enabled.map(|row| SignInProvider { name: row.name, display_name: row.display_name }).collect())
    }

    /// Adds a provider, or changes it. With `expected` it must have that revision. Its sessions end if it is disabled or belongs to another client.
    ///
    /// # Errors
    /// A field is not valid, the issuer is that of another provider or is changed, or the secret is omitted for another client.
    pub async fn save_identity_provider(
        &self,
        actor: &Actor,
        name: &str,
        put: IdentityProviderPut,
        expected: Option<i64>,
    ) -> Result<IdentityProvider, Error> {
        actor.authorize(UserAction::ManageUsers)?;
        let findings = put.check(name);
        if !findings.is_empty() {
            return Err(Error::Invalid(findings));
        }
        let mut tx = self.write_as(actor, UserAction::ManageUsers).await?;
        let rows = store::identity_provider::list(&mut tx).await?;
        let before = rows.iter().find(|row| row.name == name);
        let current = before.map_or(0, |before| before.revision);
        if expected.is_some_and(|expected| expected != current) {
            return Err(Error::RevisionConflict { current });
        }
        if before.is_none() && rows.len() >= MAX_PROVIDERS {
            let message = format!("There are {MAX_PROVIDERS} identity providers, the most possible.");
            return Err(invalid(message, "Remove one that is not used.", "/name"));
        }
        if let Some(other) = rows.iter().find(|row| row.name != name && row.issuer == put.issuer) {
            let message = format!("The identity provider {:?} has this issuer already.", other.name);
            return Err(Error::AlreadyExists(format!("{message} Change that one, or remove it first.")));
        }
        let row = self.build_provider(actor, name, put, before)?;
        match before {
            None => store::identity_provider::insert(&mut tx, &row).await?,
            Some(before) => {
                if !store::identity_provider::update(&mut tx, &row, before.revision).await? {
                    return Err(Error::RevisionConflict { current });
                }
                if !row.enabled || row.client_id != before.client_id {
                    store::identity_session::delete_by_provider(&mut tx, name).await?;
                }
            }
        }
        let provider = self.describe_provider(row);
        let state = if provider.enabled { "" } else { ", disabled" };
        let message = format!("Identity provider {name} ({}) was saved{state}.", provider.issuer);
        let event = NewEvent::new(EventKind::IdentityProviderSaved, &actor.name, message)
            .with_object("identity provider", name);
        let effects = CommitEffects::with_event(event).with_response(actor, 200, &provider);
        self.commit(tx, effects.with_etag(provider.revision)).await?;
        self.live().notify_credentials();
        Ok(provider)
    }

    fn build_provider(
        &self,
        actor: &Actor,
        name: &str,
        put: IdentityProviderPut,
        before: Option<&IdentityProviderRow>,
    ) -> Result<IdentityProviderRow, Error> {
        let settings = put.settings();
        let mut row = IdentityProviderRow {
            name: name.to_owned(),
            display_name: put.display_name.unwrap_or_else(|| name.to_owned()),
            issuer: put.issuer,
            client_id: put.client_id,
            client_secret: put.client_secret,
            settings,
            enabled: put.enabled.unwrap_or(true),
            created_by: actor.name.clone(),
            created_at: self.clock().now(),
            revision: 1,
        };
        let Some(before) = before else { return Ok(row) };
        if before.issuer != row.issuer {
            let message = "The issuer of an identity provider can't be changed: its users are known by it.";
            return Err(invalid(
                message.to_owned(),
                "Add another provider, then remove this one.",
                "/issuer",
            ));
        }
        if row.client_secret.is_none() {
            // The secret belongs to the client that it was entered for.
            if before.client_secret.is_some() && before.client_id != row.client_id {
                let message = "The client is another one, and the stored secret is for the previous one.";
                return Err(invalid(
                    message.to_owned(),
                    "Enter the secret of the new client.",
                    "/clientSecret",
                ));
            }
            row.client_secret.clone_from(&before.client_secret);
        }
        (row.created_by, row.created_at) = (before.created_by.clone(), before.created_at);
        row.revision = before.revision + 1;
        Ok(row)
    }

    /// Removes a provider with its secret, and ends its sessions. Its users stay: nobody can sign in as one of them before there is a provider with the
    /// same issuer again.
    ///
    /// # Errors
    /// There is no such provider.
    pub async fn remove_identity_provider(&self, actor: &Actor, name: &str) -> Result<(), Error> {
        actor.authorize(UserAction::ManageUsers)?;
        let mut tx = self.write_as(actor, UserAction::ManageUsers).await?;
        store::identity_session::delete_by_provider(&mut tx, name).await?;
        if !store::identity_provider::delete(&mut tx, name).await? {
            return Err(provider_not_found(name));
        }
        let message = format!("Identity provider {name} was removed, and its sessions were ended.");
        let event = NewEvent::new(EventKind::IdentityProviderRemoved, &actor.name, message)
            .with_object("identity provider", name);
        self.commit(tx, CommitEffects::with_event(event).with_empty_response(actor, 204)).await?;
        self.live().notify_credentials();
        Ok(())
    }

    /// Why a user has the role: what the provider said, and which roles of groups applied.
    ///
    /// # Errors
    /// There is no such user, or the user signs in with a password.
    pub async fn get_user_identity(&self, actor: &Actor, name: &str) -> Result<UserIdentity, Error> {
        actor.authorize(UserAction::ManageUsers)?;
        let shown = || name.chars().take(80).collect::<String>();
        let mut tx = self.read().await?;
        let account = store::user::get_by_name(&mut tx, name).await?;
        let account = account.ok_or_else(|| Error::not_found("user", shown()))?;
        let identity = store::user_identity::get(&mut tx, account.id).await?;
        let identity = identity.ok_or_else(|| Error::not_found("identity of user", shown()))?;
        let provider = store::identity_provider::get_by_issuer(&mut tx, &identity.issuer).await?;
        Ok(UserIdentity {
            user: account.name,
            provider: provider.map(|provider| provider.name),
            issuer: identity.issuer,
            subject: identity.subject,
            reading: identity.reading,
            checked_at: identity.checked_at,
        })
    }

    /// Whether API tokens of a user are accepted: those of a user of a provider only while it is there and enabled.
    pub(crate) async fn has_usable_identity(&self, tx: &mut Tx, user: UserId) -> Result<bool, Error> {
        let Some(identity) = store::user_identity::get(tx, user).await? else { return Ok(true) };
        let provider = store::identity_provider::get_by_issuer(tx, &identity.issuer).await?;
        Ok(provider.is_some_and(|provider| provider.enabled))
    }

    /// What is shown of a provider: everything but the secret.
    fn describe_provider(&self, row: IdentityProviderRow) -> IdentityProvider {
        IdentityProvider {
            redirect_uri: self.redirect_uri(&row.name),
            logout_uri: format!("{}/auth/{}/back-channel-logout", self.console_url(), row.name),
            name: row.name,
            display_name: row.display_name,
            issuer: row.issuer,
            client_id: row.client_id,
            has_client_secret: row.client_secret.is_some(),
            scopes: row.settings.scopes,
            groups_claim: row.settings.groups_claim,
            name_claim: row.settings.name_claim,
            roles: row.settings.roles,
            enabled: row.enabled,
            created_by: row.created_by,
            created_at: row.created_at,
            revision: row.revision,
        }
    }

    /// Where a provider sends the browser back to: the configured address of the console, whatever address the request was sent to.
    fn redirect_uri(&self, provider: &str) -> String {
        format!("{}/auth/{provider}/callback", self.console_url())
    }

    /// The provider with this name, if users can sign in with it.
    async fn load_enabled_provider(&self, name: &str) -> Result<Option<IdentityProviderRow>, Error> {
        // Anyone can request any text: what is no name of a provider is not looked up.
        if !domain::name::is_label(name) {
            return Ok(None);
        }
        let mut tx = self.read().await?;
        Ok(store::identity_provider::get(&mut tx, name).await?.filter(|row| row.enabled))
    }
}

fn provider_not_found(name: &str) -> Error {
    Error::not_found("identity provider", name.chars().take(80).collect::<String>())
}

fn invalid(message: String, hint: &str, path: &str) -> Error {
    Error::Invalid(vec![Finding::error("IdentityProvider", message, hint).with_path(path)])
}

/// The page of a failed sign-in only says that the database does not respond; the log says why.
impl From<Error> for SignInFailure {
    fn from(error: Error) -> Self {
        tracing::warn!(%error, "a sign-in with an identity provider failed");
        Self::ServerUnavailable
    }
}
