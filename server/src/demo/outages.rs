//! Periodic outages of one cluster of the demo, to show an offline cluster.

use std::time::Duration;

use kubesim::SimCluster;

/// Time until the first outage: the demo starts with a healthy fleet.
const FIRST_AFTER: Duration = Duration::from_secs(90);
/// Duration of an outage.
const OFFLINE_FOR: Duration = Duration::from_secs(20);
/// Time between two outages.
const ONLINE_FOR: Duration = Duration::from_secs(240);

/// Takes the cluster offline and back online, until dropped.
pub async fn simulate_outages(cluster: SimCluster) {
    tokio::time::sleep(FIRST_AFTER).await;
    loop {
        // If a person has taken it offline by hand, it is not changed.
        if !cluster.faults().is_offline() {
            tracing::info!(cluster = cluster.name(), "the simulated cluster is offline for 20 s");
            cluster.faults().set_offline(true);
            tokio::time::sleep(OFFLINE_FOR).await;
            cluster.faults().set_offline(false);
        }
        tokio::time::sleep(ONLINE_FOR).await;
    }
}
