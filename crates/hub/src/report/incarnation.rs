//! Incarnations: only reports of a cluster's newest agent are accepted.

use domain::ClusterId;

use crate::{Error, Hub};

impl Hub {
    /// A new incarnation, greater than every earlier one of this cluster. A counter in the database, so that it does not
    /// depend on clocks (P10); reports of an older incarnation are rejected from now on.
    pub async fn begin_agent_incarnation(&self, cluster: ClusterId) -> Result<i64, Error> {
        let mut tx = self.write().await?;
        let incarnation = store::cluster::begin_incarnation(&mut tx, cluster).await?;
        let incarnation = incarnation.ok_or_else(|| Error::not_found("cluster", cluster.to_string()))?;
        tx.commit().await?;
        Ok(incarnation)
    }
}
