//! Writes placer outcomes in chunks, so that 10 000 clusters do not hold the write lock for long. A crash between two
//! chunks leaves the workload dirty; the next pass finds the first chunks already written.

use std::collections::BTreeMap;

use domain::cluster::Connectivity;
use domain::event::{EventDetail, EventKind, EventSubject, NewEvent};
use domain::placement::Decision;
use domain::release::{DesiredRevision, Release, ReleaseGoal};
use domain::rollout::format_wave;
use domain::workload::Intent;
use domain::{ClusterId, Digest, ReleaseId};
use store::Tx;
use store::queue::PLACER;
use store::retained_cluster::RetainedClusters;

use super::decide::PlacementOutcome;
use super::dependents::mark_dependents;
use super::removals::ReleaseRemoval;
use super::{CLAIM_MILLIS, PlacerClaim};
use crate::failpoint::failpoint;
use crate::hub::CommitEffects;
use crate::render::ReleaseTarget;
use crate::{Error, Hub};

mod rendering_changes;

use rendering_changes::RenderingChanges;

/// Maximum clusters written in one transaction.
const RELEASES_PER_COMMIT: usize = 200;
/// Maximum clusters of a workload that shares a transaction with others.
const MAX_BATCHED_CLUSTERS: usize = 16;

/// Commits one workload, in chunks if it has many clusters.
pub(super) async fn commit_workload(
    hub: &Hub,
    claim: PlacerClaim,
    mut outcome: PlacementOutcome,
) -> Result<(), Error> {
    let mut targets = std::mem::take(&mut outcome.targets);
    while targets.len() > RELEASES_PER_COMMIT {
        let rest = targets.split_off(RELEASES_PER_COMMIT);
        let mut tx = hub.write().await?;
        let mut effects = CommitEffects::default();
        if !is_current(&mut tx, &outcome).await? {
            break;
        }
        close_earlier_operations(hub, &mut tx, &outcome).await?;
        put_artifacts(hub, &mut tx, &targets).await?;
        lock_targets(&mut tx, &outcome, &targets).await?;
        write_targets(hub, &mut tx, &outcome, &targets, &mut effects).await?;
        // A server that was suspended meanwhile has lost the claim, and its outcome may be older than what is stored. The queue's
        // row is written last, as with a settlement: rows of queues are locked after releases.
        let lease_until = hub.clock().now().plus_millis(CLAIM_MILLIS);
        PLACER.extend(&mut tx, (claim.workload, claim.epoch), lease_until).await?;
        let has_changed = effects.has_changes();
        hub.commit(tx, effects).await?;
        if has_changed {
            mark_dependents(hub, &[&outcome]).await;
        }
        targets = rest;
    }
    outcome.targets = targets;
    commit_batch(hub, &[(claim, outcome)]).await
}

/// Whether it may share a transaction with other workloads.
pub(super) fn is_small(outcome: &PlacementOutcome) -> bool {
    outcome.targets.len() <= MAX_BATCHED_CLUSTERS && outcome.removals.len() <= MAX_BATCHED_CLUSTERS
}

/// Commits several workloads in one transaction: the fsync dominates the cost of a commit.
pub(super) async fn commit_batch(hub: &Hub, all: &[(PlacerClaim, PlacementOutcome)]) -> Result<(), Error> {
    let mut tx = hub.write().await?;
    let mut effects = CommitEffects::default();
    for (claim, outcome) in all {
        let is_current = is_current(&mut tx, outcome).await?;
        if is_current {
            write_outcome(hub, &mut tx, outcome, &mut effects).await?;
        }
        effects.wake_placer |= !PLACER.settle(&mut tx, claim.workload, claim.epoch).await?;
        if is_current {
            delete_if_removed(hub, &mut tx, outcome, &mut effects).await?;
        }
    }
    failpoint("placer.before_commit");
    let has_changed = effects.has_changes();
    hub.commit(tx, effects).await?;
    failpoint("placer.after_commit");
    if has_changed {
        let outcomes: Vec<&PlacementOutcome> = all.iter().map(|(_, outcome)| outcome).collect();
        mark_dependents(hub, &outcomes).await;
    }
    Ok(())
}

/// Whether the outcome was decided for the current intent and revision; locks the workload. Otherwise nothing of it is
/// written: it would apply again what was unpublished meanwhile. The verb has marked the workload, so a later pass places it.
async fn is_current(tx: &mut Tx, outcome: &PlacementOutcome) -> Result<bool, Error> {
    let decided = &outcome.workload;
    let now = store::workload::lock_head(tx, decided.id).await?;
    Ok(now.is_some_and(|now| (now.intent, now.published) == (decided.intent, decided.published)))
}

async fn write_outcome(
    hub: &Hub,
    tx: &mut Tx,
    outcome: &PlacementOutcome,
    effects: &mut CommitEffects,
) -> Result<(), Error> {
    close_earlier_operations(hub, tx, outcome).await?;
    if let Some(revision) = outcome.revision {
        store::revision::add_helm_versions(tx, outcome.workload.id, revision, &outcome.helm_versions).await?;
    }
    put_artifacts(hub, tx, &outcome.targets).await?;
    lock_releases(tx, outcome).await?;
    write_targets(hub, tx, outcome, &outcome.targets, effects).await?;
    let retained = load_retained(tx, outcome).await?;
    write_removals(hub, tx, outcome, &retained, effects).await?;
    write_waves(tx, outcome, effects).await?;
    store::chart::mark_renderings_used(tx, &outcome.chart_inputs).await?;
    write_decision(hub, tx, outcome, &retained, effects).await?;
    // It is in the row of the queue, which is locked after all other rows of the workload.
    if let Some(revision) = outcome.revision {
        store::decision::set_placed_revision(tx, outcome.workload.id, revision).await?;
    }
    Ok(())
}

/// Locks the releases that are read and written below, in the order of ids, as in every other transaction: the targets are in that of
/// the decision.
async fn lock_releases(tx: &mut Tx, outcome: &PlacementOutcome) -> Result<(), Error> {
    let workload = outcome.workload.id;
    if outcome.workload.intent == Intent::Deleting {
        return Ok(store::release::lock_by_workloads(tx, &[workload]).await?);
    }
    let targets = outcome.targets.iter().map(|target| target.cluster);
    let removals = outcome.removals.iter().map(|removal| removal.cluster);
    let mut clusters: Vec<ClusterId> = targets.chain(removals).collect();
    // Where removals stay pending, their rows are replaced.
    if outcome.decision.is_some() || outcome.revision.is_none() {
        clusters.extend(store::pending_removal::list_clusters(tx, workload).await?);
    }
    let decided = outcome.decision.iter().flat_map(|decision| &decision.pending_removals);
    clusters.extend(decided.map(|one| one.cluster));
    let deselected = &outcome.deselected;
    Ok(store::release::lock_by_workload_and_clusters(tx, workload, &clusters, deselected).await?)
}

/// The same for some of the targets.
async fn lock_targets(
    tx: &mut Tx,
    outcome: &PlacementOutcome,
    targets: &[ReleaseTarget],
) -> Result<(), Error> {
    let clusters: Vec<ClusterId> = targets.iter().map(|target| target.cluster).collect();
    Ok(store::release::lock_by_workload_and_clusters(tx, outcome.workload.id, &clusters, &[]).await?)
}

/// Stores facts and bundles in the order of their digests, as a plan does: transactions that store the same bytes cannot deadlock.
async fn put_artifacts(hub: &Hub, tx: &mut Tx, targets: &[ReleaseTarget]) -> Result<(), Error> {
    let facts = targets.iter().filter_map(|target| target.facts.as_ref());
    let mut artifacts: BTreeMap<&Digest, &[u8]> =
        facts.filter_map(|facts| Some((&facts.digest, facts.bytes.as_deref()?))).collect();
    let bundles = targets.iter().filter_map(|target| target.bytes.as_ref());
    artifacts.extend(bundles.map(|(digest, bytes)| (digest, &**bytes)));
    for (digest, bytes) in artifacts {
        store::artifact::put(tx, digest, bytes, hub.clock().now()).await?;
    }
    Ok(())
}

/// Records the outcome of the operations before the latest one, as it was before this pass.
async fn close_earlier_operations(hub: &Hub, tx: &mut Tx, outcome: &PlacementOutcome) -> Result<(), Error> {
    for (operation, targets) in &outcome.earlier_operations {
        store::operation::close(tx, *operation, targets, hub.clock().now()).await?;
    }
    Ok(())
}

async fn write_targets(
    hub: &Hub,
    tx: &mut Tx,
    outcome: &PlacementOutcome,
    targets: &[ReleaseTarget],
    effects: &mut CommitEffects,
) -> Result<(), Error> {
    let mut changes = RenderingChanges::default();
    let clusters: Vec<ClusterId> = targets.iter().map(|target| target.cluster).collect();
    let waits = hub.find_waits(tx, &outcome.depends_on, &clusters).await?;
    // Read after the releases are locked: a verb that suspends them has written the stages, or waits for this transaction.
    let suspensions = hub.find_suspensions(tx, &outcome.workload, &clusters).await?;
    // Read again, now that the releases are locked: a cluster that reconnected since the snapshot of this pass has changed them already,
    // and nothing would until its connectivity changes once more. Of a cluster whose row can't be read they keep theirs.
    let connectivity = store::cluster::list_release_connectivity(tx, &clusters).await?;
    for target in targets {
        let reach = connectivity.get(&target.cluster).copied();
        let suspension = suspensions.get(&target.cluster).map(|why| DeliveryHold::Suspension(why));
        let wait = waits.get(&target.cluster).map(|why| DeliveryHold::Dependency(why));
        let target = (target, reach, suspension.or(wait));
        write_target(hub, tx, outcome, target, (effects, &mut changes)).await?;
    }
    effects.events.extend(changes.into_events(&outcome.workload));
    write_exposures(tx, outcome, targets).await
}

/// Writes in the order of cluster ids, as a publish of the same workload does, so that the two can't deadlock.
async fn write_exposures(
    tx: &mut Tx,
    outcome: &PlacementOutcome,
    targets: &[ReleaseTarget],
) -> Result<(), Error> {
    let known = |cluster| outcome.exposures.by_cluster.get(&cluster).map(Vec::as_slice).unwrap_or_default();
    let exposed = targets.iter().filter_map(|target| Some((target.cluster, target.exposures.as_ref()?)));
    let mut changed: Vec<_> = exposed.filter(|(cluster, rows)| known(*cluster) != rows.as_slice()).collect();
    changed.sort_by_key(|(cluster, _)| *cluster);
    for (cluster, rows) in changed {
        store::exposure::replace(tx, outcome.workload.id, cluster, rows.clone()).await?;
    }
    Ok(())
}

/// Why a revision is not delivered to a cluster.
enum DeliveryHold<'a> {
    /// The release is suspended.
    Suspension(&'a str),
    /// It waits for a workload that its own depends on.
    Dependency(&'a str),
}

async fn write_target(
    hub: &Hub,
    tx: &mut Tx,
    outcome: &PlacementOutcome,
    (target, reach, hold): (&ReleaseTarget, Option<Connectivity>, Option<DeliveryHold<'_>>),
    (effects, changes): (&mut CommitEffects, &mut RenderingChanges),
) -> Result<(), Error> {
    let now = hub.clock().now();
    let workload = &outcome.workload;
    let found = store::release::get_by_workload_and_cluster(tx, workload.id, target.cluster).await?;
    let is_new = found.is_none();
    let mut release = found.unwrap_or_else(|| {
        Release::new(hub.ids().generate(ReleaseId::from_parts), workload.id, target.cluster, now)
    });
    let before = release.clone();
    if let Some(reach) = reach {
        release.set_connectivity(reach, now);
    }
    let is_admitted = release.released_revision() == Some(target.revision);
    release.set_wave(target.wave);
    let (revision, rendered, policies) = (target.revision, target.rendered.clone(), target.policies.clone());
    let is_changed = match (hold, target.wave) {
        (Some(DeliveryHold::Suspension(why)), _) => {
            release.hold_suspended(DesiredRevision { revision, outcome: rendered, policies }, why, now)
        }
        // Only a sync or the next publish delivers it again, whatever it is rendered to meanwhile.
        _ if release.is_rolled_back_from(revision) => {
            release.resume(now);
            false
        }
        (Some(DeliveryHold::Dependency(why)), _) => {
            release.await_dependency(DesiredRevision { revision, outcome: rendered, policies }, why, now)
        }
        (None, Some(wave)) if !is_admitted => release.gate_revision(
            DesiredRevision { revision, outcome: rendered, policies },
            wave_message(outcome, wave),
            now,
        ),
        _ => release.set_desired_revision(revision, rendered, policies, now),
    };
    if is_changed {
        effects.changed_clusters.push(target.cluster);
    }
    // While its revision waits for another workload, that one may add kinds to the facts: it is rendered with those of its delivery.
    let is_held = release.is_awaiting_dependency() || release.is_suspended();
    let is_undelivered = is_held && release.released_revision() != Some(target.revision);
    let facts = target.facts.as_ref().filter(|_| !is_undelivered);
    let facts = facts.map(|facts| facts.digest.clone());
    release.record_rendered_facts(facts, target.comparison.clone());
    changes.record(&before, &release);
    if matches!(before.goal(), ReleaseGoal::Abandoned { .. }) && release.is_present() {
        // It is desired again.
        store::tombstone::delete(tx, release.id()).await?;
    }
    if is_new {
        store::release::insert(tx, &release).await?;
    } else if release != before {
        store::release::update(tx, &release).await?;
    }
    Ok(())
}

/// Takes the wave from releases on clusters that are no longer selected, and lets the waves be counted, also those without
/// work or that lost a cluster.
async fn write_waves(
    tx: &mut Tx,
    outcome: &PlacementOutcome,
    effects: &mut CommitEffects,
) -> Result<(), Error> {
    if outcome.revision.is_none() || outcome.waves.is_empty() {
        return Ok(());
    }
    // No longer selected but not removed yet: no wave delivers the revision to them.
    for mut release in store::release::get_many(tx, &outcome.deselected).await? {
        release.set_wave(None);
        store::release::update(tx, &release).await?;
    }
    effects.dirty_rollouts.insert(outcome.workload.id);
    Ok(())
}

/// The message of a gated release of this wave.
fn wave_message(outcome: &PlacementOutcome, wave: u32) -> String {
    let name = outcome.waves.get(wave as usize).map_or("", String::as_str);
    format!("Waiting for {}.", format_wave(wave, outcome.waves.len(), name))
}

/// The clusters that retain this revision. Read again here: they may be newer than this pass's snapshot.
async fn load_retained(tx: &mut Tx, outcome: &PlacementOutcome) -> Result<RetainedClusters, Error> {
    let has_removals =
        outcome.decision.as_ref().is_some_and(|decision| !decision.pending_removals.is_empty());
    match outcome.revision {
        Some(revision) if has_removals || !outcome.removals.is_empty() => {
            Ok(store::retained_cluster::list(tx, outcome.workload.id, revision).await?)
        }
        _ => Ok(RetainedClusters::new()),
    }
}

async fn write_removals(
    hub: &Hub,
    tx: &mut Tx,
    outcome: &PlacementOutcome,
    retained: &RetainedClusters,
    effects: &mut CommitEffects,
) -> Result<(), Error> {
    for ReleaseRemoval { cluster, deletion, reason: why } in
        outcome.removals.iter().filter(|one| !retained.contains_key(&one.cluster))
    {
        let found = store::release::get_by_workload_and_cluster(tx, outcome.workload.id, *cluster).await?;
        let Some(mut release) = found else { continue };
        if release.remove(*deletion, why, hub.clock().now()) {
            store::release::update(tx, &release).await?;
            effects.changed_clusters.push(*cluster);
        }
    }
    for cluster in &outcome.exposures.stale {
        store::exposure::delete(tx, outcome.workload.id, *cluster).await?;
    }
    Ok(())
}

async fn write_decision(
    hub: &Hub,
    tx: &mut Tx,
    outcome: &PlacementOutcome,
    retained: &RetainedClusters,
    effects: &mut CommitEffects,
) -> Result<(), Error> {
    let workload = &outcome.workload;
    if outcome.revision.is_none() {
        store::pending_removal::replace(tx, workload.id, &[]).await?;
    }
    if let Some(decision) = &outcome.decision {
        let mut decision = decision.clone();
        retain_new_requests(tx, outcome, &mut decision).await?;
        leave_out_deleted(tx, &mut decision).await?;
        for one in &mut decision.pending_removals {
            one.retained_by = retained.get(&one.cluster).cloned();
        }
        store::decision::insert(tx, workload.id, &decision).await?;
        store::pending_removal::replace(tx, workload.id, &decision.pending_removals).await?;
        let mut details = vec![EventDetail::Placement {
            selected: to_u32(decision.selected().count()),
            total: to_u32(decision.evaluations.len()),
        }];
        if outcome.withheld_removals > 0 {
            details.push(EventDetail::RemovalsWithheld { clusters: to_u32(outcome.withheld_removals) });
        } else if !outcome.new_pending_removals.is_empty() {
            details.push(EventDetail::RemovalsPending { clusters: outcome.new_pending_removals.clone() });
        }
        let (subject, now) = (EventSubject::workload(workload.id, &workload.name), hub.clock().now());
        let event = |detail| NewEvent::from_detail(detail, "flotilla", subject.clone(), now);
        effects.events.extend(details.into_iter().map(event));
    }
    Ok(())
}

/// Carries over the removals that were requested after this pass had read its inputs: the next pass takes them into account.
async fn retain_new_requests(
    tx: &mut Tx,
    outcome: &PlacementOutcome,
    decision: &mut Decision,
) -> Result<(), Error> {
    for stored in store::pending_removal::list(tx, outcome.workload.id).await? {
        if !stored.is_requested || outcome.known_requests.contains(&(stored.cluster, stored.remove_after)) {
            continue;
        }
        let pending = decision.pending_removals.iter_mut().find(|one| one.cluster == stored.cluster);
        if let Some(pending) = pending {
            (pending.remove_after, pending.is_requested) = (stored.remove_after, true);
        } else {
            decision.pending_removals.push(stored);
        }
    }
    Ok(())
}

/// Leaves out the pending removals from clusters that were deleted since this pass had read its inputs: a row can't refer to them.
async fn leave_out_deleted(tx: &mut Tx, decision: &mut Decision) -> Result<(), Error> {
    let clusters: Vec<ClusterId> = decision.pending_removals.iter().map(|one| one.cluster).collect();
    if !clusters.is_empty() {
        let existing = store::cluster::filter_existing_ids(tx, &clusters).await?;
        decision.pending_removals.retain(|one| existing.contains(&one.cluster));
    }
    Ok(())
}

fn to_u32(count: usize) -> u32 {
    u32::try_from(count).unwrap_or(u32::MAX)
}

/// Deletes a workload in deletion once no cluster has anything of it (S1-22).
async fn delete_if_removed(
    hub: &Hub,
    tx: &mut Tx,
    outcome: &PlacementOutcome,
    effects: &mut CommitEffects,
) -> Result<(), Error> {
    let workload = &outcome.workload;
    if workload.intent != Intent::Deleting {
        return Ok(());
    }
    let releases = store::release::list_all_by_workload(tx, workload.id).await?;
    let is_gone =
        |release: &Release| !matches!(release.goal(), ReleaseGoal::Present | ReleaseGoal::Removing { .. });
    if releases.iter().all(is_gone) {
        hub.close_operations(tx, workload.id, &releases).await?;
        hub.close_incidents(tx, workload, effects).await?;
        store::workload::delete(tx, workload.id).await?;
        let message = format!("{} was deleted; none of its objects is left on any cluster.", workload.name);
        effects.events.push(
            NewEvent::new(EventKind::WorkloadDeleted, "flotilla", message)
                .with_workload(workload.id, &workload.name),
        );
    }
    Ok(())
}

#[cfg(test)]
mod tests;
