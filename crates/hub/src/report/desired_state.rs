//! The desired state of a cluster: the full list, as soon as it is newer than the agent's version (S0-6, S3-9).

use std::time::Duration;

use domain::ClusterId;
use domain::report::DesiredState;

use crate::failpoint::failpoint;
use crate::{Error, Hub};

impl Hub {
    /// The full desired state of a cluster, as soon as its version is greater than `since` or `wait` has passed.
    pub async fn get_desired_state(
        &self,
        cluster: ClusterId,
        since: i64,
        wait: Duration,
    ) -> Result<DesiredState, Error> {
        self.get_desired_state_version(cluster, since, wait).await?;
        let mut tx = self.read().await?;
        let version = store::cluster::desired_state_version(&mut tx, cluster).await?;
        let mut all = store::release::list_desired_by_cluster(&mut tx, cluster).await?;
        all.extend(store::tombstone::list_desired_by_cluster(&mut tx, cluster).await?);
        // Read after the releases: one that is placed while it is being suspended is not delivered.
        let found = store::suspension::find_suspended_releases(&mut tx, cluster).await?;
        let (suspended, releases) = all.into_iter().partition(|desired| found.contains(desired.release));
        let mut field_reverts = store::field_revert::list_by_cluster(&mut tx, cluster).await?;
        field_reverts.retain(|request| !found.contains(request.release));
        let dry_run_requests = self.dry_run_requests(&mut tx, cluster).await?;
        let helm_release_requests = self.helm_release_requests(&mut tx, cluster).await?;
        failpoint("desired_state.served");
        Ok(DesiredState {
            version,
            releases,
            suspended,
            field_reverts,
            dry_run_requests,
            helm_release_requests,
        })
    }

    /// The version of the desired state, as soon as it is greater than `since` or `wait` has passed.
    pub async fn get_desired_state_version(
        &self,
        cluster: ClusterId,
        since: i64,
        wait: Duration,
    ) -> Result<i64, Error> {
        let deadline = tokio::time::Instant::now() + wait;
        // Subscribed before the first read, so a change between read and wait is not missed.
        let mut changes = self.live().subscribe_desired_state(cluster);
        loop {
            changes.borrow_and_update();
            let mut tx = self.read().await?;
            let version = store::cluster::desired_state_version(&mut tx, cluster).await?;
            if version > since || tokio::time::Instant::now() >= deadline {
                return Ok(version);
            }
            drop(tx);
            let _ = tokio::time::timeout_at(deadline, changes.changed()).await;
        }
    }
}
