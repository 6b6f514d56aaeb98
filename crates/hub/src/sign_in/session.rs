//! Session data, kept under the hash of the session's id.

use domain::Timestamp;

use super::fingerprint;
use crate::{Error, Hub};

impl Hub {
    /// Stores session data; the server's session store calls it.
    pub async fn session_save(&self, id: &str, data: &str, expires_at: Timestamp) -> Result<(), Error> {
        let mut tx = self.write().await?;
        store::session::save(&mut tx, &fingerprint(id), data, expires_at).await?;
        tx.commit().await?;
        Ok(())
    }

    /// Session data that has not expired.
    pub async fn session_load(&self, id: &str) -> Result<Option<String>, Error> {
        let mut tx = self.read().await?;
        Ok(store::session::load(&mut tx, &fingerprint(id), self.clock().now()).await?)
    }

    /// Forgets a session.
    pub async fn session_delete(&self, id: &str) -> Result<(), Error> {
        let mut tx = self.write().await?;
        store::session::delete(&mut tx, &fingerprint(id)).await?;
        tx.commit().await?;
        Ok(())
    }
}
