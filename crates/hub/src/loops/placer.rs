//! The placer: for every dirty workload, decides its clusters, renders a bundle for each and updates their desired state.
//!
//! It has no input. Publish, override, label change, a joining cluster, changed facts, a crash in a pass: each leaves a
//! dirty mark, and the same pass does what is missing. An unchanged bundle is not written (S4-5), so a pass without
//! changes only reads.
//!
//! It works in short turns, and what users requested for a workload comes first in each: a change of the fleet, which marks every
//! workload, delays no publish.

use std::time::Duration;

use domain::WorkloadId;
use source::memory_budget::SharedWait;
use store::queue::ClaimOrder;
use tokio::time::Instant;
use tokio_util::sync::CancellationToken;

use super::{PassFailures, jitter, sleep_unless_cancelled};
use crate::failpoint::failpoint;
use crate::supervise::{Panicked, catch_panic};
use crate::{Error, Hub};

mod commit;
mod decide;
mod dependents;
mod failures;
mod removals;

use decide::PlacementOutcome;
use failures::PlacerFailures;

/// Workloads claimed in one turn.
const BATCH: u32 = 16;
/// A turn that has taken longer gives the workloads back that it has not begun: one of them may have waited for renderings, and what was
/// requested meanwhile comes before the others.
const TURN: Duration = Duration::from_millis(500);
/// One turn in so many takes those that are due longest, so that requests of users do not delay the others without limit.
const LONGEST_DUE_EVERY: u32 = 4;
/// Lifetime of a claim, in milliseconds: a server that dies in a pass delays its workloads by no more than this.
const CLAIM_MILLIS: i64 = 30_000;
/// Interval of the full pass over all published workloads, marked or not: the safety net.
const FULL_PASS_EVERY: Duration = Duration::from_secs(300);
/// Poll interval of the queue without a signal: expired claims of a dead server become due.
const POLL_EVERY: Duration = Duration::from_secs(5);

/// A workload to place, and the fencing epoch of this server's claim.
#[derive(Debug, Clone, Copy)]
struct PlacerClaim {
    workload: WorkloadId,
    epoch: i64,
}

pub(super) async fn run(hub: Hub, cancel: CancellationToken) {
    let mut full_pass = tokio::time::interval(jitter(FULL_PASS_EVERY));
    let mut failures = PlacerFailures::default();
    let mut failed_passes = PassFailures::new("placer");
    let mut turn = 0_u32;
    while !cancel.is_cancelled() {
        turn = turn.wrapping_add(1);
        let order = match turn % LONGEST_DUE_EVERY {
            0 => ClaimOrder::LongestDueFirst,
            _ => ClaimOrder::RequestedFirst,
        };
        let placed = run_turn(&hub, &mut failures, order).await;
        if let Some(pause) = failed_passes.record(&hub, &placed) {
            sleep_unless_cancelled(pause, &cancel).await;
            continue;
        }
        if placed.is_ok_and(|placed| placed > 0) {
            continue;
        }
        tokio::select! {
            () = hub.signals().placer.notified() => {}
            () = tokio::time::sleep(jitter(POLL_EVERY)) => {}
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
    store::queue::PLACER.mark_all(&mut tx, hub.clock().now()).await?;
    tx.commit().await?;
    Ok(())
}

/// Places what is due; returns the number of workloads that it has claimed. In an outage of the database the turn ends: the claims expire.
async fn run_turn(hub: &Hub, failures: &mut PlacerFailures, order: ClaimOrder) -> Result<usize, Error> {
    let now = hub.clock().now();
    let mut tx = hub.write().await?;
    let lease = (now, now.plus_millis(CLAIM_MILLIS));
    let due = store::queue::PLACER.claim_in_order(&mut tx, order, BATCH, lease).await?;
    if due.is_empty() {
        return Ok(0);
    }
    tx.commit().await?;
    failpoint("placer.claimed");
    let claims: Vec<PlacerClaim> =
        due.iter().map(|(workload, epoch)| PlacerClaim { workload: *workload, epoch: *epoch }).collect();
    place_workloads(hub, claims, failures).await?;
    failpoint("placer.settled");
    Ok(due.len())
}

/// Places workloads until the turn ends, the first in any case. A failure or a panic does not block the others: the workload is due again
/// after a pause.
///
/// # Errors
/// An outage of the database, which is no failure of a workload.
async fn place_workloads(
    hub: &Hub,
    claims: Vec<PlacerClaim>,
    failures: &mut PlacerFailures,
) -> Result<(), Error> {
    let began = Instant::now();
    let mut batch = Vec::new();
    let mut waiting = claims.into_iter();
    for claim in waiting.by_ref() {
        let decided = decide_claim(hub, claim.workload).await;
        failpoint("placer.decided");
        match decided {
            Ok(Some(outcome)) if can_share_transaction(hub) && commit::is_small(&outcome) => {
                batch.push((claim, outcome));
            }
            Ok(Some(outcome)) => {
                let result = commit_claim(hub, claim, outcome).await;
                failures.record(hub, claim, result).await?;
            }
            // The workload was deleted in the meantime, and its mark with it.
            Ok(None) => failures.forget(claim.workload),
            Err(error) => failures.record(hub, claim, Err(error)).await?,
        }
        if began.elapsed() >= TURN {
            break;
        }
    }
    commit_decided(hub, batch, failures).await?;
    release_claims(hub, waiting.collect()).await
}

/// Commits decided workloads in one transaction, or each in its own if that fails.
async fn commit_decided(
    hub: &Hub,
    batch: Vec<(PlacerClaim, PlacementOutcome)>,
    failures: &mut PlacerFailures,
) -> Result<(), Error> {
    if batch.is_empty() {
        return Ok(());
    }
    match flatten(catch_panic(commit::commit_batch(hub, &batch)).await) {
        Ok(()) => {
            for (claim, _) in batch {
                failures.record(hub, claim, Ok(())).await?;
            }
        }
        Err(error) if error.is_outage() => return Err(error),
        Err(error) => {
            tracing::debug!(%error, "workloads could not be committed in one transaction; each is committed separately");
            for (claim, outcome) in batch {
                let result = commit_claim(hub, claim, outcome).await;
                failures.record(hub, claim, result).await?;
            }
        }
    }
    Ok(())
}

/// Gives back the workloads that a turn has not begun.
async fn release_claims(hub: &Hub, claims: Vec<PlacerClaim>) -> Result<(), Error> {
    if claims.is_empty() {
        return Ok(());
    }
    let claims: Vec<(WorkloadId, i64)> = claims.iter().map(|claim| (claim.workload, claim.epoch)).collect();
    let mut tx = hub.write().await?;
    store::queue::PLACER.release_claims(&mut tx, &claims, hub.clock().now()).await?;
    Ok(tx.commit().await.map(drop)?)
}

/// Decides one workload; a panic is an error of this workload. It waits for memory in all as long as for one reservation: others wait for
/// their turn meanwhile, and a claim has a lifetime.
async fn decide_claim(hub: &Hub, id: WorkloadId) -> Result<Option<PlacementOutcome>, Error> {
    let decide = Box::pin(decide::decide_workload(hub, id));
    flatten(catch_panic(SharedWait::default().run(decide)).await)
}

/// Commits one workload; a panic is an error of this workload, and its transaction is rolled back.
async fn commit_claim(hub: &Hub, claim: PlacerClaim, outcome: PlacementOutcome) -> Result<(), Error> {
    flatten(catch_panic(commit::commit_workload(hub, claim, outcome)).await)
}

fn flatten<T>(result: Result<Result<T, Error>, Panicked>) -> Result<T, Error> {
    result.map_err(Error::from).flatten()
}

/// Whether several workloads may be committed in one transaction. SQLite has one writer; PostgreSQL locks rows, and
/// reports lock them in another order.
fn can_share_transaction(hub: &Hub) -> bool {
    !hub.store().is_postgres()
}
