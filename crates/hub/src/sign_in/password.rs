//! Names and passwords.

use std::sync::{Arc, OnceLock};

use argon2::Argon2;
use argon2::password_hash::{PasswordHasher, PasswordVerifier, phc::PasswordHash};
use domain::UserId;
use domain::{Finding, name};
use tokio::sync::Semaphore;

use super::Session;
use crate::{Error, Hub};

/// Shortest password taken, in characters.
const SHORTEST: usize = 12;
/// Longest password taken, in bytes: nobody types more, and hashing it would cost.
const LONGEST: usize = 1024;
/// Hashes computed at once: each takes 19 MiB and a core for a moment.
const AT_ONCE: usize = 2;

/// Lets few hashes be computed at once, so that sign-in can't eat the server.
pub(crate) struct PasswordGate(Arc<Semaphore>);

impl PasswordGate {
    pub fn new() -> Self {
        Self(Arc::new(Semaphore::new(AT_ONCE)))
    }

    async fn compute<T: Send + 'static>(
        &self,
        work: impl FnOnce() -> T + Send + 'static,
    ) -> Result<T, Error> {
        let _permit = self.0.acquire().await.map_err(|error| Error::Internal(Box::new(error)))?;
        tokio::task::spawn_blocking(work).await.map_err(|error| Error::Internal(Box::new(error)))
    }
}

impl Hub {
    /// Makes a person, or finds the one with this name: the demo's own way in.
    pub async fn ensure_user(&self, name: &str, password: &str) -> Result<UserId, Error> {
        let mut tx = self.read().await?;
        let found = store::user::by_name(&mut tx, name).await?;
        drop(tx);
        match found {
            Some(user) => Ok(user.id),
            None => self.make_user(name, password).await,
        }
    }

    pub(super) async fn make_user(&self, name: &str, password: &str) -> Result<UserId, Error> {
        let findings = check(name, password);
        if !findings.is_empty() {
            return Err(Error::Invalid(findings));
        }
        let hash = self.hash(password).await?;
        let id = self.ids().make(UserId::from_parts);
        let mut tx = self.write().await?;
        let user = store::user::User {
            id,
            name: name.to_owned(),
            password_hash: hash,
            created_at: self.clock().now(),
        };
        store::user::insert(&mut tx, &user).await?;
        tx.commit().await?;
        Ok(id)
    }

    /// A person by name and password; the same answer and the same time for a wrong name as for a wrong password.
    pub async fn sign_in(&self, name: &str, password: &str) -> Result<Session, Error> {
        const WRONG: Error = Error::Unauthenticated("Name or password is not right.");
        if password.len() > LONGEST {
            return Err(WRONG);
        }
        let mut tx = self.read().await?;
        let found = store::user::by_name(&mut tx, name).await?;
        drop(tx);
        let hash =
            found.as_ref().map_or_else(|| nobodys_hash().to_owned(), |user| user.password_hash.clone());
        let password = password.to_owned();
        let right = self.passwords().compute(move || matches(&hash, &password)).await?;
        match found {
            Some(user) if right => Ok(Session { user: user.id, name: user.name }),
            _ => Err(WRONG),
        }
    }

    async fn hash(&self, password: &str) -> Result<String, Error> {
        let password = password.to_owned();
        let hash = self.passwords().compute(move || hash_now(&password)).await?;
        hash.map_err(|why| Error::Internal(why.into()))
    }
}

fn hash_now(password: &str) -> Result<String, String> {
    Argon2::default()
        .hash_password(password.as_bytes())
        .map(|hash| hash.to_string())
        .map_err(|why| why.to_string())
}

fn matches(hash: &str, password: &str) -> bool {
    PasswordHash::new(hash)
        .is_ok_and(|hash| Argon2::default().verify_password(password.as_bytes(), &hash).is_ok())
}

/// A real hash of nobody's password, so that an unknown name costs as much time as a known one.
fn nobodys_hash() -> &'static str {
    static HASH: OnceLock<String> = OnceLock::new();
    HASH.get_or_init(|| hash_now("nobody has this password").unwrap_or_default())
}

fn check(user: &str, password: &str) -> Vec<Finding> {
    let mut findings: Vec<Finding> = name::check_label("Name", user).into_iter().collect();
    if password.chars().count() < SHORTEST || password.len() > LONGEST {
        findings.push(
            Finding::error(
                "Password",
                format!("The password needs at least {SHORTEST} characters (and at most {LONGEST} bytes)."),
                "Four random words make a good one.",
            )
            .at("/password"),
        );
    }
    findings
}
