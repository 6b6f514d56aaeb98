//! An agent begins: from now on only its reports count.

use domain::ClusterId;

use crate::{Error, Hub};

impl Hub {
    /// An incarnation greater than any this cluster's agents had before. By the hub's own counting, so that no clock has
    /// to be right (P10); reports of an older one are dropped from now on.
    pub async fn agent_begin(&self, cluster: ClusterId) -> Result<i64, Error> {
        let mut tx = self.write().await?;
        let incarnation = store::cluster::begin_incarnation(&mut tx, cluster).await?;
        let incarnation = incarnation.ok_or_else(|| Error::not_found("cluster", cluster.to_string()))?;
        tx.commit().await?;
        Ok(incarnation)
    }
}
