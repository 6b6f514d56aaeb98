//! What a cluster should hold: the whole list, as soon as it is newer than what the agent has (S0-6, S3-9).

use std::time::Duration;

use domain::ClusterId;
use domain::report::Wants;

use crate::failpoint::failpoint;
use crate::{Error, Hub};

impl Hub {
    /// The full list of what the cluster should hold, as soon as its version is greater than `since` or `wait` is over.
    pub async fn wants(&self, cluster: ClusterId, since: i64, wait: Duration) -> Result<Wants, Error> {
        self.wants_version(cluster, since, wait).await?;
        let mut tx = self.read().await?;
        let version = store::cluster::wants_version(&mut tx, cluster).await?;
        let releases = store::release::wants_of_cluster(&mut tx, cluster).await?;
        let asks = self.asks(&mut tx, cluster).await?;
        failpoint("wants.served");
        Ok(Wants { version, releases, asks })
    }

    /// The version of that list, as soon as it is greater than `since` or `wait` is over.
    pub async fn wants_version(&self, cluster: ClusterId, since: i64, wait: Duration) -> Result<i64, Error> {
        let deadline = tokio::time::Instant::now() + wait;
        // Subscribed before the first look, so a change between look and wait is not missed.
        let mut changed = self.live().wants_of(cluster);
        loop {
            changed.borrow_and_update();
            let mut tx = self.read().await?;
            let version = store::cluster::wants_version(&mut tx, cluster).await?;
            if version > since || tokio::time::Instant::now() >= deadline {
                return Ok(version);
            }
            drop(tx);
            let _ = tokio::time::timeout_at(deadline, changed.changed()).await;
        }
    }
}
