//! Links with which a user sets a password, once: of an invitation, or after a reset.

use domain::audit::AuditRecord;
use domain::event::{EventKind, NewEvent};
use domain::{Timestamp, UserId};
use store::user::UserRow;
use store::{Tx, password_link};

use super::attempts::remember_device;
use super::password_rules::check_password;
use super::{NewSession, SignInClient, hash_secret};
use crate::hub::{CommitEffects, IdGenerator};
use crate::{Error, Hub, audit};

/// The page that sets a password.
const PAGE: &str = "/set-password";

const WRONG: Error = Error::Unauthenticated(
    "This link is not valid any more: it was used, replaced or has expired. Ask an administrator for another one.",
);

/// Stores a link for this user, in place of an earlier one; returns its path on this server.
pub(crate) async fn issue_password_link(
    tx: &mut Tx,
    ids: &IdGenerator,
    user: UserId,
    expires_at: Timestamp,
) -> Result<String, Error> {
    let secret = ids.generate_secret();
    password_link::put(tx, user, &hash_secret(&secret), expires_at).await?;
    Ok(format!("{PAGE}?token={secret}"))
}

impl Hub {
    /// The name of the user of a link, if it is valid. Attempts are not counted: the secret has 256 random bits.
    ///
    /// # Errors
    /// It is not.
    pub async fn find_password_link(&self, secret: &str) -> Result<String, Error> {
        let mut tx = self.read().await?;
        Ok(self.load_link_user(&mut tx, &hash_secret(secret.trim())).await?.name)
    }

    /// Sets the password of the user of a link, ends the sessions of the user, and signs the user in. The link is deleted and
    /// the audit record `set-password` is stored in the same transaction.
    ///
    /// # Errors
    /// The link is not valid any more, or the password is easy to guess.
    pub async fn set_password_with_link(
        &self,
        secret: &str,
        password: &str,
        client: &SignInClient,
    ) -> Result<NewSession, Error> {
        let hash = hash_secret(secret.trim());
        let mut tx = self.read().await?;
        let user = self.load_link_user(&mut tx, &hash).await?;
        drop(tx);
        if let Some(rejected) = check_password(&user.name, password) {
            return Err(Error::Invalid(vec![rejected]));
        }
        let password_hash = self.hash_password(password).await?;
        let mut tx = self.write().await?;
        // The user first, as what replaces or deletes the link does.
        let mut account = store::user::lock(&mut tx, user.id).await?.ok_or(WRONG)?;
        if !password_link::consume(&mut tx, &hash).await? || account.disabled_at.is_some() {
            return Err(WRONG);
        }
        let now = self.clock().now();
        account.password_hash = password_hash;
        account.session_epoch += 1;
        account.last_sign_in_at = Some(now);
        store::user::update(&mut tx, &account).await?;
        let device = self.ids().generate_secret();
        remember_device(&mut tx, &device, &account.name, now).await?;
        let message = format!("{} set a new password.", account.name);
        // The event says the same.
        let signed_in = audit::sign_in_record(&account.name, client, "");
        tx.record_audit(AuditRecord { action: "set-password".to_owned(), ..signed_in }, now);
        let event =
            NewEvent::new(EventKind::UserChanged, &account.name, message).with_object("user", &account.name);
        self.commit(tx, CommitEffects::with_event(event)).await?;
        self.live().notify_credentials();
        Ok(NewSession {
            user: account.id,
            name: account.name,
            epoch: account.session_epoch,
            device,
            identity: None,
        })
    }

    async fn load_link_user(&self, tx: &mut Tx, hash: &str) -> Result<UserRow, Error> {
        let user = password_link::find_user(tx, hash, self.clock().now()).await?.ok_or(WRONG)?;
        let account = store::user::get_by_id(tx, user).await?;
        account.filter(|account| account.disabled_at.is_none()).ok_or(WRONG)
    }
}
