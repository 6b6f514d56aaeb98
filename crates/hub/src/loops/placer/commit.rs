//! Writes what was worked out: in chunks, so that ten thousand clusters do not hold the writer for long. A crash between
//! two chunks leaves the workload dirty, and the next pass finds the first ones already done.

use domain::event::{EventKind, NewEvent};
use domain::placement::Leaving;
use domain::release::stage::Trouble;
use domain::release::{Next, Release, ReleaseGoal};
use domain::rollout::wave_words;
use domain::workload::Intent;
use domain::{ClusterId, ReleaseId, Severity};
use store::Tx;

use super::Claim;
use super::decide::{Leaver, Outcome};
use crate::failpoint::failpoint;
use crate::hub::Done;
use crate::render::Target;
use crate::{Error, Hub};

/// Clusters written in one transaction.
const CHUNK: usize = 200;
/// Clusters of one workload that is written together with others.
const TOGETHER: usize = 16;

/// One workload, in chunks if it goes to many clusters.
pub(super) async fn commit(hub: &Hub, claim: Claim, mut outcome: Outcome) -> Result<(), Error> {
    let mut targets = std::mem::take(&mut outcome.targets);
    while targets.len() > CHUNK {
        let rest = targets.split_off(CHUNK);
        let mut tx = hub.write().await?;
        let mut done = Done::default();
        write_targets(hub, &mut tx, &outcome, &targets, &mut done).await?;
        hub.commit(tx, done).await?;
        targets = rest;
    }
    outcome.targets = targets;
    commit_together(hub, &[(claim, outcome)]).await
}

/// Whether it may be written together with others: a chunk has room for several.
pub(super) fn is_small(outcome: &Outcome) -> bool {
    outcome.targets.len() <= TOGETHER && outcome.leavers.len() <= TOGETHER
}

/// Some workloads in one transaction, because what a commit costs most is the wait for the disk.
pub(super) async fn commit_together(hub: &Hub, all: &[(Claim, Outcome)]) -> Result<(), Error> {
    let mut tx = hub.write().await?;
    let mut done = Done::default();
    for (claim, outcome) in all {
        write_targets(hub, &mut tx, outcome, &outcome.targets, &mut done).await?;
        let kept = kept(&mut tx, outcome).await?;
        write_leavers(hub, &mut tx, outcome, &kept, &mut done).await?;
        write_waves(&mut tx, outcome, &mut done).await?;
        write_decision(&mut tx, outcome, &kept, &mut done).await?;
        done.dirty |= !store::queue::PLACER.settle(&mut tx, claim.workload, claim.epoch).await?;
        forget_if_over(&mut tx, outcome, &mut done).await?;
    }
    failpoint("placer.before_commit");
    hub.commit(tx, done).await?;
    failpoint("placer.after_commit");
    Ok(())
}

async fn write_targets(
    hub: &Hub,
    tx: &mut Tx,
    outcome: &Outcome,
    targets: &[Target],
    done: &mut Done,
) -> Result<(), Error> {
    for target in targets {
        write_target(hub, tx, outcome, target, done).await?;
    }
    write_exposures(tx, outcome, targets).await
}

/// In the order of ids, as a publish of the same workload writes them: so neither waits for the other in a circle.
async fn write_exposures(tx: &mut Tx, outcome: &Outcome, targets: &[Target]) -> Result<(), Error> {
    let known = |cluster| outcome.exposed.held.get(&cluster).map(Vec::as_slice).unwrap_or_default();
    let exposed = targets.iter().filter_map(|target| Some((target.cluster, target.exposures.as_ref()?)));
    let mut changed: Vec<_> = exposed.filter(|(cluster, rows)| known(*cluster) != rows.as_slice()).collect();
    changed.sort_by_key(|(cluster, _)| *cluster);
    for (cluster, rows) in changed {
        store::exposure::replace(tx, outcome.workload.id, cluster, rows.clone()).await?;
    }
    Ok(())
}

async fn write_target(
    hub: &Hub,
    tx: &mut Tx,
    outcome: &Outcome,
    target: &Target,
    done: &mut Done,
) -> Result<(), Error> {
    let now = hub.clock().now();
    let workload = &outcome.workload;
    if let Some((digest, bytes)) = &target.bytes {
        store::artifact::put(tx, digest, bytes, now).await?;
    }
    let found = store::release::by_workload_cluster(tx, workload.id, target.cluster).await?;
    let is_new = found.is_none();
    let mut release = found.unwrap_or_else(|| {
        Release::new(hub.ids().make(ReleaseId::from_parts), workload.id, target.cluster, now)
    });
    let before = release.clone();
    release.reached(target.reach, now);
    let let_through = release.released_revision == Some(target.revision);
    release.wave = target.wave;
    let (revision, rendered, policies) = (target.revision, target.rendered.clone(), target.policies.clone());
    let news = match target.wave {
        Some(wave) if !let_through => {
            release.hold(Next { revision, rendered, policies }, turn(outcome, wave), now)
        }
        _ => release.target(revision, rendered, policies, now),
    };
    if news {
        done.wants_of.push(target.cluster);
    }
    if is_new {
        store::release::insert(tx, &release).await?;
    } else if release != before {
        store::release::update(tx, &release).await?;
    }
    Ok(())
}

/// From here on the waves can be counted; also of those that have nothing to do, and of those that lost a cluster.
async fn write_waves(tx: &mut Tx, outcome: &Outcome, done: &mut Done) -> Result<(), Error> {
    let (Some(revision), false) = (outcome.revision, outcome.waves.is_empty()) else { return Ok(()) };
    // Not chosen any more, and still there for a while: nobody's wave brings them the revision.
    for mut release in store::release::many(tx, &outcome.strays).await? {
        release.wave = None;
        store::release::update(tx, &release).await?;
    }
    store::rollout::set_placed(tx, outcome.workload.id, revision).await?;
    done.rollouts.insert(outcome.workload.id);
    Ok(())
}

/// What a cluster of this wave waits for.
fn turn(outcome: &Outcome, wave: u32) -> Trouble {
    let name = outcome.waves.get(wave as usize).map_or("", String::as_str);
    Trouble {
        reason: "WaitingForWave".to_owned(),
        message: format!("Waits for its turn: {}.", wave_words(wave, outcome.waves.len(), name)),
        ..Trouble::default()
    }
}

/// Where a person keeps the revision that runs although it no longer matches: read again, because that may have been said
/// since this pass began.
async fn kept(tx: &mut Tx, outcome: &Outcome) -> Result<Vec<Leaving>, Error> {
    let leaves = outcome.decision.as_ref().is_some_and(|decision| !decision.leaving.is_empty());
    if outcome.revision.is_none() || (outcome.leavers.is_empty() && !leaves) {
        return Ok(Vec::new());
    }
    let latest = store::decision::latest(tx, outcome.workload.id).await?;
    let same = latest.filter(|latest| latest.revision == outcome.revision);
    let kept = same.into_iter().flat_map(|latest| latest.leaving).filter(|one| one.kept_by.is_some());
    Ok(kept.collect())
}

async fn write_leavers(
    hub: &Hub,
    tx: &mut Tx,
    outcome: &Outcome,
    kept: &[Leaving],
    done: &mut Done,
) -> Result<(), Error> {
    let stays = |cluster: &ClusterId| kept.iter().any(|one| one.cluster == *cluster);
    for Leaver { cluster, deletion, why } in outcome.leavers.iter().filter(|one| !stays(&one.cluster)) {
        let found = store::release::by_workload_cluster(tx, outcome.workload.id, *cluster).await?;
        let Some(mut release) = found else { continue };
        if release.remove(*deletion, why, hub.clock().now()) {
            store::release::update(tx, &release).await?;
            done.wants_of.push(*cluster);
        }
    }
    for cluster in &outcome.exposed.stale {
        store::exposure::forget(tx, outcome.workload.id, *cluster).await?;
    }
    Ok(())
}

async fn write_decision(
    tx: &mut Tx,
    outcome: &Outcome,
    kept: &[Leaving],
    done: &mut Done,
) -> Result<(), Error> {
    let workload = &outcome.workload;
    if let Some(decision) = &outcome.decision {
        let mut decision = decision.clone();
        for one in &mut decision.leaving {
            if let Some(kept) = kept.iter().find(|kept| kept.cluster == one.cluster) {
                one.kept_by.clone_from(&kept.kept_by);
            }
        }
        store::decision::insert(tx, workload.id, &decision).await?;
        let chosen = decision.chosen().count();
        let all = decision.verdicts.len();
        let message = format!("{} goes to {chosen} of {all} clusters.", workload.name);
        done.events.push(
            NewEvent::new(EventKind::PlacementDecided, "flotilla", message)
                .workload(workload.id, &workload.name),
        );
        if outcome.held == 0 && !outcome.noticed.is_empty() {
            let message = format!(
                "{} no longer matches {} and leaves in 15 minutes. Change it back or keep it there, or publish to let it go at once.",
                workload.name,
                outcome.noticed.join(", ")
            );
            let event = NewEvent::new(EventKind::PlacementDecided, "flotilla", message)
                .workload(workload.id, &workload.name)
                .weighing(Severity::Warning);
            done.events.push(event);
        }
        if outcome.held > 0 {
            let message = format!(
                "{} no longer matches {} clusters at once. Nothing was removed; publish it again to let them go.",
                workload.name, outcome.held
            );
            let event = NewEvent::new(EventKind::PlacementDecided, "flotilla", message)
                .workload(workload.id, &workload.name)
                .weighing(Severity::Warning);
            done.events.push(event);
        }
    }
    Ok(())
}

/// A workload to be forgotten goes once nothing of it is anywhere (S1-22).
async fn forget_if_over(tx: &mut Tx, outcome: &Outcome, done: &mut Done) -> Result<(), Error> {
    let workload = &outcome.workload;
    if workload.intent != Intent::Deleting {
        return Ok(());
    }
    let releases = store::release::all_of_workload(tx, workload.id).await?;
    let over =
        |release: &Release| !matches!(release.goal, ReleaseGoal::Present | ReleaseGoal::Removing { .. });
    if releases.iter().all(over) {
        store::workload::delete(tx, workload.id).await?;
        let message = format!("{} was deleted; nothing of it is left on any cluster.", workload.name);
        done.events.push(
            NewEvent::new(EventKind::WorkloadDeleted, "flotilla", message)
                .workload(workload.id, &workload.name),
        );
    }
    Ok(())
}
