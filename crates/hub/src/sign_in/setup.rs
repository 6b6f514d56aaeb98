//! The first person: whoever holds the token printed at the first start; there is no default password.

use super::{Session, fingerprint};
use crate::{Error, Hub};

impl Hub {
    /// While nobody has signed up, makes a set-up token for printing; the one before ends. Otherwise `None`.
    pub async fn setup_token(&self) -> Result<Option<String>, Error> {
        if !self.needs_setup().await? {
            return Ok(None);
        }
        let secret = self.ids().secret();
        let mut tx = self.write().await?;
        store::setup::put(&mut tx, &fingerprint(&secret)).await?;
        tx.commit().await?;
        Ok(Some(secret))
    }

    /// Whether the first person is still to come.
    pub async fn needs_setup(&self) -> Result<bool, Error> {
        let mut tx = self.read().await?;
        Ok(store::user::count(&mut tx).await? == 0)
    }

    /// The first person, with the set-up token; the token ends with it.
    pub async fn sign_up_first(
        &self,
        setup_token: &str,
        name: &str,
        password: &str,
    ) -> Result<Session, Error> {
        const WRONG: Error =
            Error::Unauthenticated("The set-up token is not right. The server prints it at its start.");
        let mut tx = self.read().await?;
        let expected = store::setup::get(&mut tx).await?;
        drop(tx);
        let given = fingerprint(setup_token.trim());
        // Both sides are hashes of random text: comparing them tells a guesser nothing.
        if expected.as_deref() != Some(&given) || !self.needs_setup().await? {
            return Err(WRONG);
        }
        let user = self.make_user(name, password).await?;
        let mut tx = self.write().await?;
        store::setup::clear(&mut tx).await?;
        tx.commit().await?;
        Ok(Session { user, name: name.to_owned() })
    }
}
