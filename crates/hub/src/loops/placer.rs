//! The placer: for every dirty workload, decides its clusters, renders a bundle for each and says so to the cluster.
//!
//! It takes no input. Publish, override, label change, a cluster that joins, facts that changed, a crash in the middle:
//! all of them leave a dirty mark, and the same pass does what is missing. The same bundle is no write (S4-5), so a
//! pass over nothing new costs reads only.

use std::time::Duration;

use domain::WorkloadId;
use tokio_util::sync::CancellationToken;

use super::jittered;
use crate::failpoint::failpoint;
use crate::{Error, Hub};

mod commit;
mod decide;

/// Workloads claimed at once.
const BATCH: u32 = 16;
/// How long a claim holds, in milliseconds; a server that dies in the middle holds its workloads up no longer.
const CLAIM_MILLIS: i64 = 30_000;
/// The safety net: everything is looked at again this often, whatever was or was not marked.
const FULL_PASS_EVERY: Duration = Duration::from_secs(300);
/// How often the queue is looked at when nothing wakes the loop: claims of a server that died come due.
const LOOK_EVERY: Duration = Duration::from_secs(5);

/// A workload to be placed, and the claim under which this server does it.
#[derive(Debug, Clone, Copy)]
struct Claim {
    workload: WorkloadId,
    epoch: i64,
}

pub(super) async fn run(hub: Hub, cancel: CancellationToken) {
    let mut full_pass = tokio::time::interval(jittered(FULL_PASS_EVERY));
    while !cancel.is_cancelled() {
        match pass(&hub).await {
            Ok(0) => {}
            Ok(_) => continue,
            Err(error) => tracing::warn!(error = &error as &dyn std::error::Error, "the queue can't be read"),
        }
        tokio::select! {
            () = hub.activators().placer.notified() => {}
            () = tokio::time::sleep(jittered(LOOK_EVERY)) => {}
            _ = full_pass.tick() => {
                if let Err(error) = mark_everything(&hub).await {
                    tracing::warn!(%error, "could not mark everything for a full pass");
                }
            }
            () = cancel.cancelled() => return,
        }
    }
}

async fn mark_everything(hub: &Hub) -> Result<(), Error> {
    let mut tx = hub.write().await?;
    store::queue::PLACER.mark_everything(&mut tx, hub.clock().now()).await?;
    tx.commit().await?;
    Ok(())
}

/// Does what is due; returns how much that was.
async fn pass(hub: &Hub) -> Result<usize, Error> {
    let now = hub.clock().now();
    let mut tx = hub.write().await?;
    let due = store::queue::PLACER.claim(&mut tx, BATCH, now, now.plus_millis(CLAIM_MILLIS)).await?;
    if due.is_empty() {
        return Ok(0);
    }
    tx.commit().await?;
    failpoint("placer.claimed");
    let claims: Vec<Claim> =
        due.iter().map(|(workload, epoch)| Claim { workload: *workload, epoch: *epoch }).collect();
    place(hub, claims).await;
    failpoint("placer.settled");
    Ok(due.len())
}

/// Places some workloads. One that can't be placed holds up none of the others: its claim runs out, and it is due again.
async fn place(hub: &Hub, claims: Vec<Claim>) {
    let mut together = Vec::new();
    for claim in claims {
        match decide::decide(hub, claim.workload).await {
            Ok(Some(outcome)) if shares_writers(hub) && commit::is_small(&outcome) => {
                together.push((claim, outcome));
            }
            Ok(Some(outcome)) => note(claim, commit::commit(hub, claim, outcome).await),
            // A workload that was deleted meanwhile took its mark along.
            Ok(None) => {}
            Err(error) => note(claim, Err(error)),
        }
    }
    if together.is_empty() {
        return;
    }
    if let Err(error) = commit::commit_together(hub, &together).await {
        tracing::debug!(%error, "workloads could not be placed together; each is placed by itself");
        for (claim, outcome) in together {
            note(claim, commit::commit(hub, claim, outcome).await);
        }
    }
}

/// Whether one transaction of several workloads takes no more locks than one of each would: SQLite has one writer at a
/// time, PostgreSQL locks rows, and reports lock theirs in another order.
fn shares_writers(hub: &Hub) -> bool {
    !hub.store().is_postgres()
}

fn note(claim: Claim, result: Result<(), Error>) {
    if let Err(error) = result {
        let (workload, error) = (claim.workload, &error as &dyn std::error::Error);
        tracing::warn!(%workload, error, "a workload could not be placed; it is tried again");
    }
}
