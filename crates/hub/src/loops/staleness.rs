//! Staleness: clusters that are silent for longer than their lease are late, then offline (E-5).
//!
//! Only the reach axis moves: health and stages stay as they were last known.

use std::time::Duration;

use domain::cluster::Reach;
use domain::event::{EventKind, NewEvent};
use domain::{ClusterId, Severity, Timestamp};
use tokio_util::sync::CancellationToken;

use super::{jittered, pause};
use crate::hub::Done;
use crate::{Error, Hub};

/// How often silence is looked at; the shortest lease is a few seconds.
const EVERY: Duration = Duration::from_secs(1);

pub(super) async fn run(hub: Hub, cancel: CancellationToken) {
    // After a start nobody has had the chance to be heard yet: the clusters get one lease from now.
    let started = hub.clock().now();
    while pause(jittered(EVERY), &cancel).await {
        if let Err(error) = pass(&hub, started).await {
            tracing::warn!(%error, "staleness pass failed; it is repeated");
        }
    }
}

async fn pass(hub: &Hub, started: Timestamp) -> Result<(), Error> {
    let mut tx = hub.read().await?;
    let overdue = store::cluster::overdue(&mut tx, hub.clock().now()).await?;
    drop(tx);
    for id in overdue {
        mark_silent(hub, id, started).await?;
    }
    Ok(())
}

/// Looks again under the writer's lock: a cluster that was heard from meanwhile is not silent after all.
async fn mark_silent(hub: &Hub, id: ClusterId, started: Timestamp) -> Result<(), Error> {
    let now = hub.clock().now();
    let mut tx = hub.write().await?;
    let Some(cluster) = store::cluster::by_id(&mut tx, id).await? else {
        return Ok(());
    };
    let heard = cluster.last_seen.map(|seen| seen.max(started));
    let reach = Reach::of(heard, cluster.lease_seconds, now);
    if reach <= cluster.reach {
        return Ok(());
    }
    store::cluster::set_reach(&mut tx, id, reach).await?;
    store::release::reach_of_cluster(&mut tx, id, reach, now).await?;
    let name = &cluster.name;
    let age = cluster.last_seen.map_or_else(|| "long".to_owned(), |seen| seen.age(now));
    let message = match reach {
        Reach::Late => format!("Cluster {name} is late: not heard from for {age}."),
        _ => format!("Cluster {name} is offline: not heard from for {age}. It catches up when it returns."),
    };
    let event = NewEvent::new(EventKind::ClusterReach, "flotilla", message)
        .cluster(id, name)
        .weighing(Severity::Warning);
    // Who can't be asked holds no rollout up (E-5).
    hub.commit(tx, Done { every_rollout: reach == Reach::Offline, ..Done::with(event) }).await
}
