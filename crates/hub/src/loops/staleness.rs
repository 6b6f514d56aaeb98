//! Staleness: clusters without a heartbeat for longer than their lease are late, then offline (E-5).
//!
//! Only connectivity changes; health and stages stay as last known. Time in which the hub itself could record no heartbeat
//! counts for no cluster (`crate::pauses`).

use std::time::Duration;

use domain::cluster::Connectivity;
use domain::event::{EventDetail, EventSubject, NewEvent};
use domain::time::Pauses;
use domain::{ClusterId, Timestamp};
use tokio_util::sync::CancellationToken;

use super::{PassFailures, jitter, sleep_unless_cancelled};
use crate::hub::CommitEffects;
use crate::{Error, Hub};

/// Interval of the check; the shortest lease is a few seconds.
const CHECK_EVERY: Duration = Duration::from_secs(1);

pub(super) async fn run(hub: Hub, cancel: CancellationToken) {
    // Agents could not send heartbeats before the start: every cluster gets one lease from now.
    let started = hub.clock().now();
    let mut failed_passes = PassFailures::new("staleness");
    let mut pause = jitter(CHECK_EVERY);
    while sleep_unless_cancelled(pause, &cancel).await {
        hub.store().expire_outage();
        let checked = run_pass(&hub, started).await;
        pause = failed_passes.record(&hub, &checked).unwrap_or_else(|| jitter(CHECK_EVERY));
    }
}

/// Confirms to the pause detector that heartbeats could be recorded, unless the database did not answer.
async fn run_pass(hub: &Hub, started: Timestamp) -> Result<(), Error> {
    let now = hub.clock().now();
    let age = HeartbeatAge { started, now, pauses: hub.observe_pauses() };
    let mut tx = hub.read().await?;
    let overdue = store::cluster::list_overdue(&mut tx, now).await?;
    drop(tx);
    let mut has_failed = false;
    for cluster in overdue {
        if age.connectivity(cluster.last_seen, cluster.lease_seconds) <= cluster.connectivity {
            continue;
        }
        // One cluster whose row can't be read must not keep the others online.
        if let Err(error) = update_reach(hub, cluster.id, &age).await {
            if error.is_outage() {
                return Err(error);
            }
            has_failed |= error.unreadable_row().is_none();
            let (cluster, error) = (cluster.id, &error as &dyn std::error::Error);
            tracing::warn!(%cluster, error, "the connectivity of a cluster could not be updated; it is retried");
        }
    }
    if !has_failed {
        hub.pause_detector().confirm(hub.clock());
    }
    Ok(())
}

/// How the age of a heartbeat is measured in one pass.
struct HeartbeatAge {
    /// When this hub started.
    started: Timestamp,
    /// When the pass started. A wait for the write lock delays heartbeats too, so it makes none older.
    now: Timestamp,
    pauses: Pauses,
}

impl HeartbeatAge {
    fn connectivity(&self, last_seen: Option<Timestamp>, lease_seconds: u32) -> Connectivity {
        let seen = last_seen.map(|seen| self.pauses.shift(seen.max(self.started), self.now));
        Connectivity::from_last_seen(seen, lease_seconds, self.now)
    }
}

/// Checks again under the write lock: the cluster may have sent a heartbeat in the meantime.
async fn update_reach(hub: &Hub, id: ClusterId, age: &HeartbeatAge) -> Result<(), Error> {
    let mut tx = hub.write().await?;
    let Some(cluster) = store::cluster::get_by_id(&mut tx, id).await? else {
        return Ok(());
    };
    let reach = age.connectivity(cluster.last_seen, cluster.lease_seconds);
    if reach <= cluster.connectivity {
        return Ok(());
    }
    let now = hub.clock().now();
    store::cluster::set_connectivity(&mut tx, id, reach).await?;
    store::release::set_connectivity_by_cluster(&mut tx, id, reach, now).await?;
    let (from, last_seen) = (cluster.connectivity, cluster.last_seen);
    let detail = EventDetail::Connectivity { from, to: reach, last_seen };
    let event = NewEvent::from_detail(detail, "flotilla", EventSubject::cluster(id, &cluster.name), now);
    // A cluster that does not report is no success for the rollout that admitted it (P29).
    hub.commit(tx, CommitEffects { changed_connectivity: [id].into(), ..CommitEffects::with_event(event) })
        .await
}
