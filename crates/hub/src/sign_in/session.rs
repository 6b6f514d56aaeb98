//! Session data. The store hashes the session id.

use domain::Timestamp;

use crate::{Error, Hub};

impl Hub {
    /// Stores session data, for the server's session store.
    pub async fn save_session(&self, id: &str, data: &str, expires_at: Timestamp) -> Result<(), Error> {
        let mut tx = self.write().await?;
        store::session::save(&mut tx, id, data, expires_at).await?;
        tx.commit().await?;
        Ok(())
    }

    /// Loads session data, unless it has expired.
    pub async fn load_session(&self, id: &str) -> Result<Option<String>, Error> {
        let mut tx = self.read().await?;
        Ok(store::session::load(&mut tx, id, self.clock().now()).await?)
    }

    /// Deletes a session.
    pub async fn delete_session(&self, id: &str) -> Result<(), Error> {
        let mut tx = self.write().await?;
        store::session::delete(&mut tx, id).await?;
        tx.commit().await?;
        Ok(())
    }
}
