//! Names and passwords.

use std::sync::{Arc, OnceLock};

use argon2::Argon2;
use argon2::password_hash::{PasswordHasher, PasswordVerifier, phc::PasswordHash};
use domain::audit::{AuditOutcome, AuditRecord};
use domain::authorization::UserAction;
use domain::role::Role;
use domain::{Finding, UserId, name_check};
use store::role_binding;
use tokio::sync::Semaphore;

use super::password_rules::{MAX_PASSWORD_BYTES, check_password};
use super::{NewSession, SignInClient};
use crate::{Actor, Error, Hub, audit};

/// Concurrent hash computations: each takes 19 MiB and one core.
const MAX_CONCURRENT_HASHES: usize = 2;

/// Limits concurrent password hashing, so that sign-in can't exhaust the server.
pub(crate) struct HashLimiter(Arc<Semaphore>);

impl HashLimiter {
    pub fn new() -> Self {
        Self(Arc::new(Semaphore::new(MAX_CONCURRENT_HASHES)))
    }

    async fn run_hash<T: Send + 'static>(
        &self,
        work: impl FnOnce() -> T + Send + 'static,
    ) -> Result<T, Error> {
        let acquired = self.0.clone().acquire_owned().await;
        let permit = acquired.map_err(|error| Error::Internal(Box::new(error)))?;
        // A client that does not wait ends the request, and not the computation.
        let work = move || {
            let result = work();
            drop(permit);
            result
        };
        tokio::task::spawn_blocking(work).await.map_err(|error| Error::Internal(Box::new(error)))
    }
}

impl Hub {
    /// The user with this name, created as administrator if missing. For the demo.
    pub async fn ensure_user(&self, name: &str, password: &str) -> Result<UserId, Error> {
        let mut tx = self.read().await?;
        let found = store::user::get_by_name(&mut tx, name).await?;
        drop(tx);
        if let Some(user) = found {
            return Ok(user.id);
        }
        let user = self.build_user(name, password).await?;
        let mut tx = self.write().await?;
        let record = AuditRecord {
            subject: format!("user {}", user.name),
            message: format!("{} was created as {} when the server started.", user.name, Role::Admin),
            ..Actor::system().audit_record(UserAction::ManageUsers.as_str(), AuditOutcome::Succeeded)
        };
        tx.record_audit(record, self.clock().now());
        store::user::insert(&mut tx, &user).await?;
        role_binding::put(&mut tx, user.id, Role::Admin).await?;
        tx.commit().await?;
        Ok(user.id)
    }

    /// A new user with a checked name and a hashed password, not stored yet.
    pub(super) async fn build_user(&self, name: &str, password: &str) -> Result<store::user::UserRow, Error> {
        let findings = check_credentials(name, password);
        if !findings.is_empty() {
            return Err(Error::Invalid(findings));
        }
        Ok(store::user::UserRow {
            id: self.ids().generate(UserId::from_parts),
            name: name.to_owned(),
            password_hash: self.hash_password(password).await?,
            created_at: self.clock().now(),
            session_epoch: 0,
            disabled_at: None,
            last_sign_in_at: None,
        })
    }

    /// Signs a user in. An unknown name and a wrong password give the same error in the same time; after some of them the
    /// next attempts have to wait.
    pub async fn sign_in(
        &self,
        name: &str,
        password: &str,
        client: &SignInClient,
    ) -> Result<NewSession, Error> {
        const WRONG: Error = Error::Unauthenticated("The name or the password is not correct.");
        const DISABLED: Error =
            Error::Unauthenticated("This user is disabled. An administrator can enable it again.");
        if password.len() > MAX_PASSWORD_BYTES {
            return Err(WRONG);
        }
        let mut tx = self.read().await?;
        let found = store::user::get_by_name(&mut tx, name).await?;
        drop(tx);
        let attempt = self.begin_attempt(client, name).await?;
        // An invited user has no hash yet.
        let hash = found.as_ref().map(|user| user.password_hash.clone()).filter(|hash| !hash.is_empty());
        let hash = hash.unwrap_or_else(|| dummy_hash().to_owned());
        let password = password.to_owned();
        let is_correct = self.hash_limiter().run_hash(move || verify_password(&hash, &password)).await?;
        match found {
            // Only to whoever has the password.
            Some(user) if is_correct && user.disabled_at.is_some() => {
                attempt.fail(client, Some(&user.name));
                self.record_failed_sign_in(name, client, "The user is disabled.").await;
                Err(DISABLED)
            }
            Some(user) if is_correct && !user.password_hash.is_empty() => {
                let device = attempt.succeed(client, &user.name).await?;
                self.record_sign_in(&user, client).await?;
                Ok(NewSession {
                    user: user.id,
                    name: user.name,
                    epoch: user.session_epoch,
                    device,
                    identity: None,
                })
            }
            found => {
                attempt.fail(client, found.map(|user| user.name).as_deref());
                self.record_failed_sign_in(name, client, "Wrong name or password.").await;
                Err(WRONG)
            }
        }
    }

    async fn record_sign_in(&self, user: &store::user::UserRow, client: &SignInClient) -> Result<(), Error> {
        let now = self.clock().now();
        let mut tx = self.write().await?;
        tx.record_audit(audit::sign_in_record(&user.name, client, "Signed in with a password."), now);
        store::user::record_sign_in(&mut tx, user.id, now).await?;
        tx.commit().await?;
        Ok(())
    }

    /// Whether this is the password with this hash.
    pub(super) async fn verify_password_hash(&self, hash: String, password: String) -> Result<bool, Error> {
        self.hash_limiter().run_hash(move || verify_password(&hash, &password)).await
    }

    pub(super) async fn hash_password(&self, password: &str) -> Result<String, Error> {
        let password = password.to_owned();
        let hash = self.hash_limiter().run_hash(move || compute_hash(&password)).await?;
        hash.map_err(|why| Error::Internal(why.into()))
    }
}

fn compute_hash(password: &str) -> Result<String, String> {
    Argon2::default()
        .hash_password(password.as_bytes())
        .map(|hash| hash.to_string())
        .map_err(|why| why.to_string())
}

fn verify_password(hash: &str, password: &str) -> bool {
    PasswordHash::new(hash)
        .is_ok_and(|hash| Argon2::default().verify_password(password.as_bytes(), &hash).is_ok())
}

/// A hash to verify against for an unknown name, so that it takes as long as a known one.
fn dummy_hash() -> &'static str {
    static HASH: OnceLock<String> = OnceLock::new();
    HASH.get_or_init(|| compute_hash("nobody has this password").unwrap_or_default())
}

fn check_credentials(user: &str, password: &str) -> Vec<Finding> {
    check_user_name(user).into_iter().chain(check_password(user, password)).collect()
}

/// Why a new user can't have a name (G101): it is not valid, or it is that of Flotilla itself in histories and the audit log.
pub(crate) fn check_user_name(name: &str) -> Option<Finding> {
    let reserved = || {
        let message = format!("Name {name:?} is that of the system in histories and the audit log.");
        Finding::error(name_check::INVALID_NAME, message, "Choose another name.")
    };
    name_check::check_label("Name", name).or_else(|| (name == Actor::system().name).then(reserved))
}

#[cfg(test)]
mod tests {
    use std::sync::mpsc;
    use std::time::Duration;

    use tokio::sync::oneshot;

    use super::*;

    #[tokio::test]
    async fn p20_a_password_is_hashed_to_its_end_in_its_place_although_its_client_is_gone() {
        let limiter = Arc::new(HashLimiter::new());
        let (started, has_started) = oneshot::channel();
        let (proceed, may_proceed) = mpsc::channel::<()>();
        let request = {
            let limiter = limiter.clone();
            tokio::spawn(async move {
                let work = move || {
                    let _ = started.send(());
                    may_proceed.recv_timeout(Duration::from_secs(60)).is_ok()
                };
                limiter.run_hash(work).await.is_ok()
            })
        };
        has_started.await.unwrap();
        request.abort();
        assert!(request.await.unwrap_err().is_cancelled());
        assert_eq!(limiter.0.available_permits(), MAX_CONCURRENT_HASHES - 1);
        proceed.send(()).unwrap();
        while limiter.0.available_permits() < MAX_CONCURRENT_HASHES {
            tokio::time::sleep(Duration::from_millis(1)).await;
        }
    }
}
