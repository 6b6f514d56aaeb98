//! Staleness: clusters without a heartbeat for longer than their lease are late, then offline (E-5).
//!
//! Only connectivity changes; health and stages stay as last known.

use std::time::Duration;

use domain::cluster::Connectivity;
use domain::event::{EventDetail, EventSubject, NewEvent};
use domain::{ClusterId, Timestamp};
use tokio_util::sync::CancellationToken;

use super::{jitter, sleep_unless_cancelled};
use crate::hub::CommitEffects;
use crate::{Error, Hub};

/// Interval of the check; the shortest lease is a few seconds.
const CHECK_EVERY: Duration = Duration::from_secs(1);

pub(super) async fn run(hub: Hub, cancel: CancellationToken) {
    // Agents could not send heartbeats before the start: every cluster gets one lease from now.
    let started = hub.clock().now();
    while sleep_unless_cancelled(jitter(CHECK_EVERY), &cancel).await {
        if let Err(error) = run_pass(&hub, started).await {
            tracing::warn!(error = &error as &dyn std::error::Error, "staleness pass failed; it is repeated");
        }
    }
}

async fn run_pass(hub: &Hub, started: Timestamp) -> Result<(), Error> {
    let mut tx = hub.read().await?;
    let overdue = store::cluster::list_overdue(&mut tx, hub.clock().now()).await?;
    drop(tx);
    for id in overdue {
        // One cluster whose row can't be read must not keep the others online.
        if let Err(error) = update_reach(hub, id, started).await {
            let error = &error as &dyn std::error::Error;
            tracing::warn!(cluster = %id, error, "the connectivity of a cluster could not be updated; it is retried");
        }
    }
    Ok(())
}

/// Checks again under the write lock: the cluster may have sent a heartbeat in the meantime.
async fn update_reach(hub: &Hub, id: ClusterId, started: Timestamp) -> Result<(), Error> {
    let now = hub.clock().now();
    let mut tx = hub.write().await?;
    let Some(cluster) = store::cluster::get_by_id(&mut tx, id).await? else {
        return Ok(());
    };
    let last_seen = cluster.last_seen.map(|seen| seen.max(started));
    let reach = Connectivity::from_last_seen(last_seen, cluster.lease_seconds, now);
    if reach <= cluster.connectivity {
        return Ok(());
    }
    store::cluster::set_connectivity(&mut tx, id, reach).await?;
    store::release::set_connectivity_by_cluster(&mut tx, id, reach, now).await?;
    let (from, last_seen) = (cluster.connectivity, cluster.last_seen);
    let detail = EventDetail::Connectivity { from, to: reach, last_seen };
    let event = NewEvent::from_detail(detail, "flotilla", EventSubject::cluster(id, &cluster.name), now);
    // An offline cluster does not block a rollout (E-5).
    hub.commit(
        tx,
        CommitEffects {
            all_rollouts_dirty: reach == Connectivity::Offline,
            ..CommitEffects::with_event(event)
        },
    )
    .await
}
