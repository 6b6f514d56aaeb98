//! Rollouts: lets clusters through, wave by wave (`product.md` F.4b).
//!
//! The placer renders a bundle for every cluster and holds it; this loop looks at what became of those that were let
//! through, asks the domain what may go on, and does that. Of releases it reads only those that it writes; the counts are one
//! look along an index. However many clusters report, it looks ten times a second at most.

use std::time::Duration;

use domain::event::{EventKind, NewEvent};
use domain::release::stage::Trouble;
use domain::release::{ROLLOUT_ENDED, Release};
use domain::rollout::{LetGo, Rollout, Step};
use domain::workload::{Intent, Workload};
use domain::{Timestamp, WorkloadId};
use store::Tx;
use store::queue::ROLLOUTS;
use tokio_util::sync::CancellationToken;

use super::{jittered, pause};
use crate::failpoint::failpoint;
use crate::hub::Done;
use crate::{Error, Hub};

/// Rollouts claimed at once.
const BATCH: u32 = 16;
/// How long a claim holds, in milliseconds.
const CLAIM_MILLIS: i64 = 30_000;
/// Of every wave.
const EVERY_WAVE: LetGo = LetGo { wave: u32::MAX, most: 0 };
/// Releases let through in one transaction.
const CHUNK: u32 = 200;
/// How long it rests between two looks: what is reported meanwhile is one step.
const PACE: Duration = Duration::from_millis(100);
/// How often the queue is looked at when nothing wakes the loop: soak times and windows end by the clock.
const LOOK_EVERY: Duration = Duration::from_secs(1);

pub(super) async fn run(hub: Hub, cancel: CancellationToken) {
    while !cancel.is_cancelled() {
        match pass(&hub).await {
            Ok(0) => {}
            Ok(_) => {
                pause(PACE, &cancel).await;
                continue;
            }
            Err(error) => {
                tracing::warn!(
                    error = &error as &dyn std::error::Error,
                    "the queue of rollouts can't be read"
                );
            }
        }
        tokio::select! {
            () = hub.activators().rollouts.notified() => drop(pause(PACE, &cancel).await),
            () = tokio::time::sleep(jittered(LOOK_EVERY)) => {}
            () = cancel.cancelled() => return,
        }
    }
}

/// Does what is due; returns how much that was.
async fn pass(hub: &Hub) -> Result<usize, Error> {
    let now = hub.clock().now();
    // Looking costs no writer: there is nothing to claim for most of the time.
    let mut tx = hub.read().await?;
    if !ROLLOUTS.is_due(&mut tx, now).await? {
        return Ok(0);
    }
    drop(tx);
    let mut tx = hub.write().await?;
    let due = ROLLOUTS.claim(&mut tx, BATCH, now, now.plus_millis(CLAIM_MILLIS)).await?;
    tx.commit().await?;
    failpoint("rollouts.claimed");
    for (workload, epoch) in &due {
        if let Err(error) = go_on(hub, *workload, *epoch).await {
            let error = &error as &dyn std::error::Error;
            tracing::warn!(%workload, error, "a rollout could not go on; it is tried again");
        }
    }
    Ok(due.len())
}

async fn go_on(hub: &Hub, id: WorkloadId, epoch: i64) -> Result<(), Error> {
    let now = hub.clock().now();
    let mut tx = hub.write().await?;
    let mut done = Done::default();
    let mut again = None;
    if let Some((workload, mut rollout)) = load(&mut tx, id).await? {
        let before = rollout.clone();
        let cutoff = now.plus_millis(-rollout.strategy.fail_after_millis());
        let tallies = store::rollout::tallies(&mut tx, &rollout, cutoff).await?;
        let step = rollout.step(&workload.name, &tallies, now);
        let wrote = carry_out(&mut tx, &rollout, &step, now, &mut done).await?;
        if rollout != before {
            store::rollout::update(&mut tx, &rollout).await?;
        }
        again = if wrote { Some(now) } else { step.again_at };
        let news = step.news.into_iter().map(|news| {
            NewEvent::new(EventKind::RolloutChanged, "flotilla", news.message)
                .workload(workload.id, &workload.name)
                .weighing(news.severity)
        });
        done.events.extend(news);
    }
    failpoint("rollouts.before_settle");
    ROLLOUTS.settle(&mut tx, id, epoch).await?;
    if let Some(again) = again {
        ROLLOUTS.mark(&mut tx, &[id], again).await?;
    }
    hub.commit(tx, done).await?;
    failpoint("rollouts.after_commit");
    Ok(())
}

/// The rollout of what is published.
async fn load(tx: &mut Tx, id: WorkloadId) -> Result<Option<(Workload, Rollout)>, Error> {
    let Some(workload) = store::workload::by_id(tx, id).await? else { return Ok(None) };
    let (Intent::Published, Some(number)) = (workload.intent, workload.published) else { return Ok(None) };
    if !store::rollout::is_placed(tx, id, number).await? {
        // The placer is still at it: what is counted now are other revisions, or a part. It marks the rollout at its end.
        return Ok(None);
    }
    let rollout = store::rollout::get(tx, id, number).await?;
    Ok(rollout.map(|rollout| (workload, rollout)))
}

/// Says whether anything was written: then there may be more.
async fn carry_out(
    tx: &mut Tx,
    rollout: &Rollout,
    step: &Step,
    now: Timestamp,
    done: &mut Done,
) -> Result<bool, Error> {
    let mut changed: Vec<Release> = Vec::new();
    if let Some(let_go) = step.let_go {
        let held = store::rollout::held(tx, rollout, let_go, CHUNK).await?;
        let revision = store::revision::get(tx, rollout.workload, rollout.revision).await?;
        let policies = revision.map(|revision| revision.spec.policies).unwrap_or_default();
        for mut release in held {
            if release.let_go(policies.clone(), now) {
                done.wants_of.push(release.cluster);
                changed.push(release);
            }
        }
    }
    if step.end_held {
        let why = Trouble {
            reason: ROLLOUT_ENDED.to_owned(),
            message: format!(
                "The rollout of revision {} was ended before its turn came. It keeps what it has until the next publish.",
                rollout.revision
            ),
            ..Trouble::default()
        };
        for mut release in store::rollout::held(tx, rollout, EVERY_WAVE, CHUNK).await? {
            if release.end_hold(why.clone(), now) {
                changed.push(release);
            }
        }
    }
    store::release::update_many(tx, &changed).await?;
    Ok(!changed.is_empty())
}
