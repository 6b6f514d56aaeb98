//! One cluster of the demo goes offline now and then, so that a fleet with a silent member can be seen.

use std::time::Duration;

use kubesim::Cluster;

/// Before the first time, so that the first look is at a fleet that is well.
const FIRST: Duration = Duration::from_secs(90);
/// How long it is away.
const AWAY: Duration = Duration::from_secs(20);
/// How long it is there.
const THERE: Duration = Duration::from_secs(240);

/// Goes offline and comes back, until dropped.
pub async fn now_and_then(cluster: Cluster) {
    tokio::time::sleep(FIRST).await;
    loop {
        // Somebody may have taken it offline by hand: then it stays as they want it.
        if !cluster.faults().is_offline() {
            tracing::info!(cluster = cluster.name(), "goes offline for a while");
            cluster.faults().set_offline(true);
            tokio::time::sleep(AWAY).await;
            cluster.faults().set_offline(false);
        }
        tokio::time::sleep(THERE).await;
    }
}
