//! Tell the hub, then write down what is there.
//!
//! The report comes first: nobody should wait for the record's second write, which is for the next engine only.

use std::time::Duration;

use domain::finding::Finding;
use domain::health::{Health, HealthStatus};
use domain::release::stage::Trouble;
use domain::release::{StageName, StageState, Sync};
use domain::report::{Goal, ReleaseReport, ResourceStatus, StageReport};
use tokio::time::Instant;

use super::pass::{Pass, Target};
use super::retry::Failure;
use super::{preflight, status};
use crate::record::{Entry, Record};

/// A pass, or the fetch of a bundle, that takes longer than this tells how far it is. What lasts less nobody could read;
/// in a burst of hundreds of releases, told each time, it would cost the hub more than the releases themselves.
const INTERIM_AFTER: Duration = Duration::from_millis(250);

/// Reports the pass and writes the record.
pub(crate) async fn run(pass: &mut Pass<'_>) {
    let complete = pass.is_over(StageName::Pruned);
    if complete {
        pass.memory.applied = Some(pass.prepared.digest.clone());
    }
    if !is_proven_by_record(pass) && !is_being_fetched(pass) {
        let report = report(pass, sync(pass, complete));
        tell(pass, report);
    }
    if pass.order.prepared.is_some()
        && pass.is_over(StageName::Preflight)
        && pass.cx.records.get(pass.slot.id).is_some()
    {
        write_record(pass).await;
    }
}

/// Whether the record says that the wanted bundle is applied while that bundle is not at hand yet. After a restart
/// this is all that is known, and telling less than the engine before did would be a step back.
fn is_proven_by_record(pass: &Pass<'_>) -> bool {
    pass.memory.last.is_none()
        && pass.order.prepared.is_none()
        && pass.order.pulled.trouble().is_none()
        && pass.memory.applied.as_ref() == Some(&pass.prepared.digest)
}

/// Whether the bundle is on its way since a moment ago: most are here before anybody could have read that they are not.
fn is_being_fetched(pass: &mut Pass<'_>) -> bool {
    let order = pass.order.clone();
    let told_at = order.came + INTERIM_AFTER;
    let fetched = order.prepared.is_none() && matches!(order.pulled, StageState::Running { .. });
    let young = fetched && Instant::now() < told_at;
    if young {
        pass.wake_at(told_at);
    }
    young
}

/// Tells how far a long pass is. One that only looks at what is applied already is no progress.
pub(crate) fn interim(pass: &mut Pass<'_>) {
    let only_looks = !pass.wrote && pass.memory.applied.as_ref() == Some(&pass.prepared.digest);
    if only_looks || pass.begun.elapsed() < INTERIM_AFTER {
        return;
    }
    let done = pass.targets.iter().filter(|target| target.applied).count();
    let message = format!("{done} of {} objects are applied.", pass.targets.len());
    pass.stage(StageName::Applied, StageState::Running { message });
    let report = report(pass, sync(pass, false));
    tell(pass, report);
}

/// The API server is not heard: what was told last stands, because nothing else is known (DESIGN 3.8). Only a new
/// want is acknowledged; that the cluster is silent is told by its lease.
pub(crate) fn silent(pass: &mut Pass<'_>) {
    // The first report after the silence is news whatever it says: somebody has looked again.
    pass.memory.told = false;
    let Some(report) = acknowledgement(pass) else { return };
    if pass.memory.last.as_ref() != Some(&report) {
        pass.memory.last = Some(report.clone());
        pass.cx.reports.put(report);
    }
}

/// That the want is known and how far its bundle is, over what was known; `None` if there is nothing to acknowledge.
fn acknowledgement(pass: &mut Pass<'_>) -> Option<ReleaseReport> {
    let generation = pass.order.want.generation;
    let is_removal = matches!(pass.order.want.goal, Goal::Absent { .. });
    pass.stages.clear();
    pass.stage(StageName::Notified, StageState::Done);
    if !is_removal {
        let pulled = preflight::pulled(pass);
        pass.stage(StageName::Pulled, pulled);
    }
    let stages = pass.stages.clone();
    let Some(last) = &pass.memory.last else {
        // What an engine before this one told of the release, only a look at the cluster may change.
        let is_new = !is_removal && pass.cx.records.get(pass.slot.id).is_none();
        pass.targets.clear();
        return is_new.then(|| report(pass, Sync::Pending));
    };
    let has_gone_on = last.stages.iter().any(|stage| stage.name > StageName::Pulled);
    let is_applied = !is_removal && last.applied.as_ref() == Some(&pass.prepared.digest);
    if is_applied || last.generation == generation && has_gone_on {
        return None;
    }
    Some(ReleaseReport { generation, stages, drift: Vec::new(), ..last.clone() })
}

/// Tells that the removal is on its way.
pub(crate) fn removing(pass: &mut Pass<'_>) {
    let report = report(pass, Sync::Removing);
    tell(pass, report);
}

/// Tells that nothing is left.
pub(crate) fn gone(pass: &mut Pass<'_>) {
    pass.leftovers.clear();
    for name in [StageName::Pruned, StageName::ImagesPulled, StageName::Operational] {
        pass.stage(name, StageState::Done);
    }
    let mut report = report(pass, Sync::Removed);
    report.gone = true;
    tell(pass, report);
}

fn sync(pass: &Pass<'_>, complete: bool) -> Sync {
    let prepared = &pass.prepared;
    let is_drifted = |target: &Target| {
        let object = &prepared.objects[target.index].object;
        !target.drifted.is_empty()
            || target.applied
                && !pass.is_read_only(object)
                && !target.completed
                && target.objects.is_some()
                && target.live(&prepared.objects[target.index]).is_none()
            || pass.memory.objects.get(object).is_some_and(|memory| memory.noted.is_some())
    };
    if complete {
        let drifted = pass.targets.iter().any(is_drifted);
        return if drifted { Sync::Drifted } else { Sync::Synced };
    }
    if pass.memory.applied.is_some() {
        Sync::Stale
    } else if pass.wrote || pass.targets.iter().any(|target| target.applied) {
        Sync::Applying
    } else {
        Sync::Pending
    }
}

fn report(pass: &mut Pass<'_>, sync: Sync) -> ReleaseReport {
    let mut stages: Vec<StageReport> = pass.stages.clone();
    stages.sort_by_key(|stage| stage.name);
    let health = if pass.targets.is_empty() { without_targets(pass) } else { status::overall(pass) };
    ReleaseReport {
        release: pass.release(),
        generation: pass.order.want.generation,
        applied: pass.memory.applied.clone(),
        stages,
        sync,
        health,
        resources: resources(pass),
        drift: std::mem::take(&mut pass.memory.drift),
        gone: false,
    }
}

/// While nothing is pulled, or all goes, there is nothing to judge but what was known.
fn without_targets(pass: &Pass<'_>) -> Health {
    match &pass.memory.last {
        Some(last) => last.health.clone(),
        None if pass.memory.applied.is_some() => {
            Health::new(HealthStatus::Unknown, "NotSeenYet", "What is applied was not looked at yet.")
        }
        None => Health::new(HealthStatus::Progressing, "NotApplied", "Nothing is applied yet."),
    }
}

/// One target as it is told (S3-5).
fn resource(pass: &mut Pass<'_>, at: usize) -> ResourceStatus {
    let prepared = pass.prepared.clone();
    let target = &pass.targets[at];
    let wanted = &prepared.objects[target.index];
    let live = target.live(wanted);
    let held = target.hold.as_ref().and_then(StageState::trouble);
    let waits = |trouble: &Trouble| Finding::warning(&trouble.reason, trouble.message.clone(), "");
    let available = target.objects.is_some().then_some(live.is_some());
    let (applied, drifted) = (target.applied, !target.drifted.is_empty());
    let memory = pass.memory.object(&wanted.object);
    let since = memory.seen.note(applied, available, drifted, pass.now);
    ResourceStatus {
        ordinal: wanted.ordinal,
        object: wanted.object.clone(),
        resource: target.resource.as_ref().map(|resource| resource.plural.clone()).unwrap_or_default(),
        applied,
        available,
        health: target.health.clone(),
        drifted: target.drifted.clone(),
        causes: target.causes.clone(),
        problem: target
            .problem
            .clone()
            .or_else(|| held.map(waits).map(|one| one.about(wanted.object.to_string()))),
        feedback: if live.is_some() { memory.feedback.clone() } else { Vec::new() },
        since,
        conditions: Vec::new(),
    }
}

fn resources(pass: &mut Pass<'_>) -> Vec<ResourceStatus> {
    let mut resources: Vec<ResourceStatus> = (0..pass.targets.len()).map(|at| resource(pass, at)).collect();
    resources.sort_by_key(|resource| resource.ordinal);
    let first = resources.iter().map(|resource| resource.ordinal + 1).max().unwrap_or(0);
    resources.extend((first..).zip(&pass.leftovers).map(|(ordinal, left)| ResourceStatus {
        ordinal,
        object: left.object.clone(),
        resource: left.resource.clone(),
        available: Some(true),
        health: left.health.clone(),
        problem: left.problem.clone(),
        ..ResourceStatus::default()
    }));
    resources
}

/// Puts the report out, if it says anything new.
fn tell(pass: &mut Pass<'_>, report: ReleaseReport) {
    if pass.memory.last.as_ref() == Some(&report) && pass.memory.told {
        return;
    }
    pass.memory.told = true;
    pass.memory.last = Some(ReleaseReport { drift: Vec::new(), ..report.clone() });
    pass.cx.reports.put(report);
}

/// Writes what is there now; a record that says so already is not written.
pub(crate) async fn write_record(pass: &mut Pass<'_>) {
    for at in 0..pass.targets.len() {
        if pass.is_read_only(&pass.prepared.objects[pass.targets[at].index].object) {
            continue;
        }
        let fresh = entry(pass, at);
        match pass.entries.iter_mut().find(|entry| entry.object.same_object(&fresh.object)) {
            Some(entry) => *entry = fresh,
            None => pass.entries.push(fresh),
        }
    }
    let Some(known) = pass.cx.records.get(pass.slot.id) else { return };
    let record = Record {
        workload: pass.order.want.workload.clone(),
        revision: pass.revision,
        generation: pass.order.want.generation,
        bundle: Some(pass.prepared.digest.clone()),
        applied: pass.memory.applied.clone(),
        resources: pass.entries.clone(),
        eviction_start: None,
        ..(*known).clone()
    };
    if pass.memory.record.as_ref().is_some_and(|failure| !failure.is_due()) {
        return;
    }
    match pass.cx.records.write(record).await {
        Ok(_) => pass.memory.record = None,
        Err(error) => {
            tracing::warn!(release = %pass.slot.id, reason = error.label(), "the record could not be written");
            let failure = Failure::after(pass.memory.record.as_ref(), error, &pass.cx.options);
            pass.wake_at(failure.due);
            pass.memory.record = Some(failure);
        }
    }
}

/// The entry of a target as it should be recorded.
fn entry(pass: &Pass<'_>, at: usize) -> Entry {
    let target = &pass.targets[at];
    let wanted = &pass.prepared.objects[target.index];
    let old = pass.entry(&wanted.object).cloned().unwrap_or_default();
    let old_hash = old.hash.clone();
    let live = target.live(wanted).filter(|live| live.release == Some(pass.slot.id));
    Entry {
        object: wanted.object.clone(),
        resource: target.resource.as_ref().map_or(old.resource, |resource| resource.plural.clone()),
        uid: live.as_ref().map_or(old.uid, |live| live.uid.clone()),
        hash: live
            .map_or(old.hash, |live| if target.applied { wanted.hash.clone() } else { live.hash.clone() }),
        shared: old.shared || target.shared,
        // What ran to its end and was cleaned away took what it needed with it: that is not made again either.
        completed: target.completed || old.completed && old_hash == wanted.hash,
    }
}
