//! Reads the intent and works out, without writing, what every cluster should have.

use std::collections::{HashMap, HashSet};

use domain::cluster::Cluster;
use domain::placement::{self, ClusterGroup, Decision, Trigger, Verdict};
use domain::plan::removal_limit;
use domain::release::{Release, ReleaseGoal};
use domain::workload::{DeletionPolicy, Intent, Revision, Workload};
use domain::{ClusterId, ReleaseId, WorkloadId};
use store::exposure::Held;

use crate::render::{Standing, Target, targets};
use crate::{Error, Hub};

/// What should be, for the writer.
pub(super) struct Outcome {
    pub workload: Workload,
    /// Number of the revision that runs; `None` when nothing should.
    pub revision: Option<u32>,
    /// The decision, if it says something new.
    pub decision: Option<Decision>,
    /// Names of the waves it goes in; none if it goes everywhere at once.
    pub waves: Vec<String>,
    /// Releases that have a wave and are not chosen any more.
    pub strays: Vec<ReleaseId>,
    /// Clusters that should have it.
    pub targets: Vec<Target>,
    /// Clusters that should not have it any more, and why.
    pub leavers: Vec<Leaver>,
    /// Number of clusters that were kept although they no longer match, because too many would go at once.
    pub held: usize,
    /// Names of clusters that no longer match and were told so now.
    pub noticed: Vec<String>,
    /// What it is known to expose.
    pub exposed: Exposed,
}

/// What a workload is known to expose.
#[derive(Default)]
pub(super) struct Exposed {
    /// By cluster.
    pub held: Held,
    /// Clusters that neither have it nor should: a publish that counted on them was overtaken.
    pub stale: Vec<ClusterId>,
}

/// One cluster that should not have it any more.
pub(super) struct Leaver {
    pub cluster: ClusterId,
    pub deletion: DeletionPolicy,
    pub why: String,
}

struct Fleet {
    clusters: Vec<Cluster>,
    groups: Vec<ClusterGroup>,
}

/// What should be of this workload; `None` if there is no such workload.
pub(super) async fn decide(hub: &Hub, id: WorkloadId) -> Result<Option<Outcome>, Error> {
    let mut tx = hub.read().await?;
    let Some(workload) = store::workload::by_id(&mut tx, id).await? else {
        return Ok(None);
    };
    let releases = store::release::all_of_workload(&mut tx, id).await?;
    let published = match (workload.intent, workload.published) {
        (Intent::Published, Some(number)) => store::revision::get(&mut tx, id, number).await?,
        _ => None,
    };
    let known = store::exposure::of_workload(&mut tx, id).await?;
    let Some(revision) = published else {
        let exposed = exposed(known, &releases, &[]);
        return Ok(Some(Outcome { exposed, ..taken_back(workload, &releases) }));
    };
    let latest = store::decision::latest(&mut tx, id).await?;
    let clusters = store::cluster::all(&mut tx).await?;
    let groups = store::group::all(&mut tx).await?;
    drop(tx);
    let current: Vec<ClusterId> = present(&releases).map(|release| release.cluster).collect();
    let fleet = Fleet { clusters, groups };
    let mut decision = decide_for(hub, &revision, &fleet, &current, latest.as_ref());
    let (leavers, held) = leavers(hub, &revision, &releases, &decision);
    let number = Some(revision.number);
    let waves = releases.iter().filter(|release| release.revision == number);
    let waves = waves.filter_map(|release| Some((release.cluster, release.wave?))).collect();
    let names = revision.spec.rollout.waves.iter().map(|wave| wave.name.clone()).collect();
    let targets =
        targets(hub, &workload.name, revision, &decision, Standing { groups: fleet.groups, waves }).await?;
    let chosen: HashSet<ClusterId> = targets.iter().map(|target| target.cluster).collect();
    let strays =
        releases.iter().filter(|release| release.wave.is_some() && !chosen.contains(&release.cluster));
    let strays = strays.map(|release| release.id).collect();
    if held > 0 {
        // Nothing goes now; when fewer are left, their notice begins then. What a person keeps stays kept.
        decision.leaving.retain(|one| one.kept_by.is_some());
    }
    let noticed = noticed(latest.as_ref(), &decision);
    let exposed = exposed(known, &releases, &targets);
    let news = latest.is_none_or(|latest| !says_the_same(&latest, &decision));
    let decision = news.then_some(decision);
    Ok(Some(Outcome {
        workload,
        revision: number,
        decision,
        waves: names,
        strays,
        targets,
        leavers,
        held,
        noticed,
        exposed,
    }))
}

fn exposed(held: Held, releases: &[Release], targets: &[Target]) -> Exposed {
    if held.is_empty() {
        return Exposed::default();
    }
    let there = releases.iter().filter(|release| !release.last_known_state().is_gone());
    let concerned: HashSet<ClusterId> =
        targets.iter().map(|target| target.cluster).chain(there.map(|release| release.cluster)).collect();
    let stale = held.keys().copied().filter(|cluster| !concerned.contains(cluster)).collect();
    Exposed { held, stale }
}

fn present(releases: &[Release]) -> impl Iterator<Item = &Release> {
    releases.iter().filter(|release| release.goal == ReleaseGoal::Present)
}

/// Nothing should run anywhere.
fn taken_back(workload: Workload, releases: &[Release]) -> Outcome {
    let why = format!("{} was taken back from every cluster.", workload.name);
    let leave = |release: &Release| Leaver {
        cluster: release.cluster,
        deletion: release.policies.deletion,
        why: why.clone(),
    };
    let leavers = present(releases).map(leave).collect();
    Outcome {
        workload,
        revision: None,
        decision: None,
        waves: Vec::new(),
        strays: Vec::new(),
        targets: Vec::new(),
        leavers,
        held: 0,
        noticed: Vec::new(),
        exposed: Exposed::default(),
    }
}

fn decide_for(
    hub: &Hub,
    revision: &Revision,
    fleet: &Fleet,
    current: &[ClusterId],
    latest: Option<&Decision>,
) -> Decision {
    let policy = &revision.spec.placement;
    let mut decision = placement::decide(policy, &fleet.clusters, &fleet.groups, current);
    let first = latest.is_none_or(|latest| latest.revision != Some(revision.number));
    // An addon belongs on every cluster that matches, also on those that join later (S4-1).
    if !first && !revision.spec.addon {
        placement::hold_new_members(&mut decision, policy.new_members, current);
    }
    if !first {
        placement::give_notice(&mut decision, latest, current, hub.clock().now());
    }
    decision.revision = Some(revision.number);
    decision.at = Some(hub.clock().now());
    decision.trigger = if first { Trigger::Published } else { Trigger::FleetChanged };
    decision
}

/// The clusters of which the decision before did not say that they leave.
fn noticed(latest: Option<&Decision>, decision: &Decision) -> Vec<String> {
    let before = latest.map_or(&[][..], |latest| &latest.leaving);
    let new = decision.leaving.iter().filter(|one| before.iter().all(|old| old.cluster != one.cluster));
    new.map(|one| one.name.clone()).collect()
}

fn says_the_same(latest: &Decision, new: &Decision) -> bool {
    latest.revision == new.revision && latest.verdicts == new.verdicts && latest.leaving == new.leaving
}

/// The clusters to leave, and how many were held back instead. A publish is a person's word; a change of labels is not, and
/// is carried out only after its notice (E-6). Every workload is looked at every few minutes, so no timer is needed.
fn leavers(
    hub: &Hub,
    revision: &Revision,
    releases: &[Release],
    decision: &Decision,
) -> (Vec<Leaver>, usize) {
    let chosen: HashSet<ClusterId> = decision.chosen().map(|verdict| verdict.cluster).collect();
    let refused: HashMap<ClusterId, &Verdict> =
        decision.refused().map(|verdict| (verdict.cluster, verdict)).collect();
    let kept: HashSet<ClusterId> =
        decision.leaving.iter().filter(|one| one.kept_by.is_some()).map(|one| one.cluster).collect();
    let here: Vec<&Release> = present(releases).collect();
    let stays = |cluster: &ClusterId| chosen.contains(cluster) || kept.contains(cluster);
    let leaving: Vec<&&Release> = here.iter().filter(|release| !stays(&release.cluster)).collect();
    if decision.trigger == Trigger::FleetChanged && leaving.len() > removal_limit(here.len()) {
        return (Vec::new(), leaving.len());
    }
    let now = hub.clock().now();
    let early: HashSet<ClusterId> =
        decision.leaving.iter().filter(|one| one.stays(now)).map(|one| one.cluster).collect();
    let leaving = leaving.into_iter().filter(|release| !early.contains(&release.cluster)).collect::<Vec<_>>();
    let leave = |release: &&&Release| {
        let step = refused.get(&release.cluster).and_then(|verdict| verdict.refusal());
        let why = step.map_or_else(
            || "The cluster is no longer registered.".to_owned(),
            |step| format!("The cluster is no longer chosen: asked {}, saw {}.", step.asked, step.seen),
        );
        Leaver { cluster: release.cluster, deletion: revision.spec.policies.deletion, why }
    };
    (leaving.iter().map(leave).collect(), 0)
}
