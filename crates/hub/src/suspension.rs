//! Suspends and resumes workloads, workloads on one cluster, and clusters (S2-11).
//!
//! A verb writes the suspension and the stage of every release that it concerns in one transaction. From then on their clusters receive
//! these releases as suspended (`crates/hub/src/report/desired_state.rs`). The placer shows the suspension of what is placed later.

use std::collections::{BTreeMap, BTreeSet};

use domain::actions::ActionUnavailable;
use domain::authorization::UserAction;
use domain::cluster::{Cluster, Connectivity};
use domain::event::{EventKind, EventSubject, NewEvent};
use domain::release::{Release, ReleaseGoal, SyncStatus};
use domain::suspension::{
    ClusterSuspendRequest, MAX_EFFECTS, ResumeEffect, ResumeRequest, SUSPENDED, SuspendRequest, Suspension,
    SuspensionDetails, SuspensionScope, describe_suspensions, parse_reason,
};
use domain::workload::WorkloadHead;
use domain::{ClusterId, Finding, ReleaseId};
use store::Tx;
use store::suspension::{SuspensionTarget, WorkloadSuspensions};

use crate::cluster::load_cluster;
use crate::hub::CommitEffects;
use crate::{Actor, Error, Hub};

/// A release with the names of its workload and cluster, and what suspends it.
struct SuspendedRelease {
    release: Release,
    workload: String,
    cluster: String,
    suspensions: Vec<Suspension>,
}

/// What was suspended or resumed, for the event.
struct SuspensionChange {
    kind: EventKind,
    subject: EventSubject,
    message: String,
}

impl Hub {
    /// Suspends a workload on all its clusters, or on some. Another suspension of the same is replaced. Returns what is suspended.
    ///
    /// # Errors
    /// The reason is invalid; there is no such workload or cluster; the workload is not on one of the clusters.
    pub async fn suspend_workload(
        &self,
        actor: &Actor,
        name: &str,
        request: &SuspendRequest,
    ) -> Result<SuspensionDetails, Error> {
        actor.authorize(UserAction::Suspend)?;
        let reason = parse_reason(&request.reason).map_err(Error::Invalid)?;
        let mut tx = self.write_as(actor, UserAction::Suspend).await?;
        let workload = self.lock_workload_head(&mut tx, name).await?;
        let releases = store::release::list_all_by_workload(&mut tx, workload.id).await?;
        let targets = find_targets(&mut tx, &workload, &request.clusters).await?;
        let now = self.clock().now();
        for (target, cluster) in &targets {
            if let (SuspensionTarget::Release(_, id), Some(cluster)) = (target, cluster)
                && !releases.iter().any(|release| release.cluster() == *id && is_active(release))
            {
                return Err(ActionUnavailable(format!("{name} is not on {cluster}.")).into());
            }
            let (by, reason) = (actor.name.clone(), reason.clone());
            let suspension = Suspension { scope: target.scope(), by, since: now, reason };
            store::suspension::put(&mut tx, *target, &suspension).await?;
        }
        let suspensions = store::suspension::list_by_workload(&mut tx, workload.id).await?;
        let notified = list_notified(&releases);
        let named = name_workload_releases(&mut tx, &workload, releases, &suspensions).await?;
        let named = self.update_stages(&mut tx, named).await?;
        let concerned: Vec<&SuspendedRelease> = named.iter().collect();
        let details = workload_details(&mut tx, &suspensions, &concerned).await?;
        self.mark_dependents(&mut tx, workload.id).await?;
        let change = SuspensionChange {
            kind: EventKind::Suspended,
            subject: EventSubject::workload(workload.id, name),
            message: format!("{name} was suspended{}: {reason}", on_clusters(&request.clusters)),
        };
        let mut effects = suspension_effects(actor, change, notified);
        effects.dirty_rollouts.insert(workload.id);
        effects.wake_placer = true;
        self.commit(tx, effects.with_response(actor, 200, &details)).await?;
        Ok(details)
    }

    /// Ends the suspension of a workload on all its clusters, or on some. Returns what changes on each cluster.
    ///
    /// # Errors
    /// There is no such workload or cluster; that is not suspended.
    pub async fn resume_workload(
        &self,
        actor: &Actor,
        name: &str,
        request: &ResumeRequest,
    ) -> Result<SuspensionDetails, Error> {
        actor.authorize(UserAction::Suspend)?;
        let mut tx = self.write_as(actor, UserAction::Suspend).await?;
        let workload = self.lock_workload_head(&mut tx, name).await?;
        let releases = store::release::list_all_by_workload(&mut tx, workload.id).await?;
        let before = store::suspension::list_by_workload(&mut tx, workload.id).await?;
        let notified = list_notified(&releases);
        let mut named = name_workload_releases(&mut tx, &workload, releases, &before).await?;
        let targets = find_targets(&mut tx, &workload, &request.clusters).await?;
        for (target, cluster) in &targets {
            if !store::suspension::delete(&mut tx, *target).await? {
                let place =
                    cluster.as_ref().map(|cluster| format!(" on {cluster} alone")).unwrap_or_default();
                return Err(ActionUnavailable(format!("{name} is not suspended{place}.")).into());
            }
        }
        let resumed: Vec<ClusterId> = targets.iter().filter_map(|(target, _)| cluster_of(*target)).collect();
        let concerned: Vec<&SuspendedRelease> = named
            .iter()
            .filter(|one| request.clusters.is_empty() || resumed.contains(&one.release.cluster()))
            .collect();
        let details = workload_details(&mut tx, &before, &concerned).await?;
        let after = store::suspension::list_by_workload(&mut tx, workload.id).await?;
        for one in &mut named {
            one.suspensions = after.list_for(one.release.cluster());
        }
        self.update_stages(&mut tx, named).await?;
        let now = self.clock().now();
        store::queue::PLACER.mark_requested(&mut tx, workload.id, now).await?;
        self.mark_dependents(&mut tx, workload.id).await?;
        let change = SuspensionChange {
            kind: EventKind::Resumed,
            subject: EventSubject::workload(workload.id, name),
            message: format!("{name} was resumed{}.", on_clusters(&request.clusters)),
        };
        let mut effects = suspension_effects(actor, change, notified);
        effects.wake_placer = true;
        effects.dirty_rollouts.insert(workload.id);
        self.commit(tx, effects.with_response(actor, 200, &details)).await?;
        Ok(details)
    }

    /// What is suspended of a workload, and what a resume would change.
    ///
    /// # Errors
    /// There is no such workload.
    pub async fn get_workload_suspension(&self, name: &str) -> Result<SuspensionDetails, Error> {
        let mut tx = self.read().await?;
        let workload = self.load_workload_head(&mut tx, name).await?;
        let suspensions = store::suspension::list_by_workload(&mut tx, workload.id).await?;
        if suspensions.whole.is_none() && suspensions.releases.is_empty() {
            // The suspensions of its clusters are theirs.
            return Ok(SuspensionDetails::default());
        }
        let releases = store::release::read_all_by_workload(&mut tx, workload.id).await?;
        let named = name_workload_releases(&mut tx, &workload, releases, &suspensions).await?;
        workload_details(&mut tx, &suspensions, &named.iter().collect::<Vec<_>>()).await
    }

    /// Suspends a cluster with every workload that is or will be placed on it. Another suspension of it is replaced. Returns what is
    /// suspended.
    ///
    /// # Errors
    /// The reason is invalid; there is no such cluster.
    pub async fn suspend_cluster(
        &self,
        actor: &Actor,
        name: &str,
        request: &ClusterSuspendRequest,
    ) -> Result<SuspensionDetails, Error> {
        actor.authorize(UserAction::Suspend)?;
        let reason = parse_reason(&request.reason).map_err(Error::Invalid)?;
        let mut tx = self.write_as(actor, UserAction::Suspend).await?;
        let cluster = load_cluster(&mut tx, name).await?;
        let releases = store::release::list_all_by_cluster(&mut tx, cluster.id).await?;
        let target = SuspensionTarget::Cluster(cluster.id);
        let (by, since) = (actor.name.clone(), self.clock().now());
        let suspension = Suspension { scope: target.scope(), by, since, reason: reason.clone() };
        store::suspension::put(&mut tx, target, &suspension).await?;
        let named = name_cluster_releases(&mut tx, &cluster, releases).await?;
        let named = self.update_stages(&mut tx, named).await?;
        let details = details(&mut tx, Some(suspension), &named.iter().collect::<Vec<_>>()).await?;
        let message = format!("{name} was suspended: {reason}");
        let subject = EventSubject::cluster(cluster.id, name);
        let change = SuspensionChange { kind: EventKind::Suspended, subject, message };
        self.commit_cluster_change(tx, actor, (&cluster, &named, change), &details).await?;
        Ok(details)
    }

    /// Ends the suspension of a cluster. Returns what changes of each workload there.
    ///
    /// # Errors
    /// There is no such cluster; it is not suspended.
    pub async fn resume_cluster(&self, actor: &Actor, name: &str) -> Result<SuspensionDetails, Error> {
        actor.authorize(UserAction::Suspend)?;
        let mut tx = self.write_as(actor, UserAction::Suspend).await?;
        let cluster = load_cluster(&mut tx, name).await?;
        let releases = store::release::list_all_by_cluster(&mut tx, cluster.id).await?;
        let mut named = name_cluster_releases(&mut tx, &cluster, releases).await?;
        let details = details(&mut tx, None, &named.iter().collect::<Vec<_>>()).await?;
        if !store::suspension::delete(&mut tx, SuspensionTarget::Cluster(cluster.id)).await? {
            return Err(ActionUnavailable(format!("{name} is not suspended.")).into());
        }
        for one in &mut named {
            one.suspensions.retain(|suspension| suspension.scope != SuspensionScope::Cluster);
        }
        let named = self.update_stages(&mut tx, named).await?;
        let subject = EventSubject::cluster(cluster.id, name);
        let message = format!("{name} was resumed.");
        let change = SuspensionChange { kind: EventKind::Resumed, subject, message };
        self.commit_cluster_change(tx, actor, (&cluster, &named, change), &details).await?;
        Ok(details)
    }

    /// The suspension of a cluster, and what a resume would change.
    ///
    /// # Errors
    /// There is no such cluster.
    pub async fn get_cluster_suspension(&self, name: &str) -> Result<SuspensionDetails, Error> {
        let mut tx = self.read().await?;
        let cluster = load_cluster(&mut tx, name).await?;
        let suspension = store::suspension::get(&mut tx, SuspensionTarget::Cluster(cluster.id)).await?;
        if suspension.is_none() {
            return Ok(SuspensionDetails::default());
        }
        let releases = store::release::list_all_by_cluster(&mut tx, cluster.id).await?;
        let named = name_cluster_releases(&mut tx, &cluster, releases).await?;
        details(&mut tx, suspension, &named.iter().collect::<Vec<_>>()).await
    }

    /// The warning that a revision waits on those of these clusters that are suspended, with or without this workload.
    pub(crate) async fn find_suspended_targets(
        &self,
        tx: &mut Tx,
        name: &str,
        targets: &[Cluster],
    ) -> Result<Option<Finding>, Error> {
        let suspensions = match store::workload::get_head_by_name(tx, self.project(), name).await? {
            Some(workload) => store::suspension::list_by_workload(tx, workload.id).await?,
            None => {
                let ids: Vec<ClusterId> = targets.iter().map(|cluster| cluster.id).collect();
                let clusters = store::suspension::list_of_clusters(tx, &ids).await?.into_iter().collect();
                WorkloadSuspensions { clusters, ..WorkloadSuspensions::default() }
            }
        };
        let mut first = None;
        let mut names = Vec::new();
        for cluster in targets {
            if let Some(message) = describe_suspensions(&suspensions.list_for(cluster.id)) {
                first.get_or_insert(message);
                names.push(cluster.name.clone());
            }
        }
        Ok(first.map(|first| {
            let clusters = if names.len() == 1 { "cluster" } else { "clusters" };
            let message = format!(
                "The revision waits on {} suspended {clusters} until they are resumed. {first}",
                names.len()
            );
            let hint = "Publish it, so that it is delivered once they are resumed, or resume them first.";
            Finding::warning(SUSPENDED, message, hint).with_clusters(names)
        }))
    }

    /// Rejects the deletion by force of a workload that is suspended itself on a cluster that is not online: its suspension ends with it, so
    /// that the cluster would remove it as soon as it returns. That of a cluster stays.
    pub(crate) async fn check_forced_deletion(
        &self,
        tx: &mut Tx,
        workload: &WorkloadHead,
        releases: &[Release],
    ) -> Result<(), Error> {
        let suspensions = store::suspension::list_by_workload(tx, workload.id).await?;
        let is_kept = |release: &&Release| {
            is_active(release)
                && release.connectivity() != Connectivity::Online
                && (suspensions.whole.is_some() || suspensions.releases.contains_key(&release.cluster()))
        };
        let Some(release) = releases.iter().find(is_kept) else { return Ok(()) };
        let why = release.suspension_reason().unwrap_or_default();
        let name = &workload.name;
        Err(ActionUnavailable(format!(
            "{name} is suspended: deleted by force, it would be removed from clusters that are not online as soon as they return. Resume it \
             first. {why}"
        ))
        .into())
    }

    /// Why the releases of a workload on these clusters are not delivered, by cluster, for the placer.
    pub(crate) async fn find_suspensions(
        &self,
        tx: &mut Tx,
        workload: &WorkloadHead,
        clusters: &[ClusterId],
    ) -> Result<BTreeMap<ClusterId, String>, Error> {
        let suspensions = store::suspension::list_by_workload(tx, workload.id).await?;
        let describe =
            |cluster: &ClusterId| Some((*cluster, describe_suspensions(&suspensions.list_for(*cluster))?));
        Ok(clusters.iter().filter_map(describe).collect())
    }

    /// Writes the stages of releases whose suspensions have changed; returns the releases as they are then.
    async fn update_stages(
        &self,
        tx: &mut Tx,
        mut releases: Vec<SuspendedRelease>,
    ) -> Result<Vec<SuspendedRelease>, Error> {
        let now = self.clock().now();
        let mut changed = Vec::new();
        for one in &mut releases {
            let is_changed = match describe_suspensions(&one.suspensions) {
                Some(message) => one.release.suspend(&message, now),
                None => one.release.resume(now),
            };
            if is_changed {
                changed.push(one.release.clone());
            }
        }
        store::release::update_many(tx, &changed).await?;
        Ok(releases)
    }

    /// Commits a change of the suspension of a cluster; every workload is placed again.
    async fn commit_cluster_change(
        &self,
        mut tx: Tx,
        actor: &Actor,
        (cluster, releases, change): (&Cluster, &[SuspendedRelease], SuspensionChange),
        details: &SuspensionDetails,
    ) -> Result<(), Error> {
        store::queue::PLACER.mark_all(&mut tx, self.clock().now()).await?;
        let mut effects = suspension_effects(actor, change, vec![cluster.id]);
        effects.dirty_rollouts = releases.iter().map(|one| one.release.workload()).collect();
        effects.wake_placer = true;
        self.commit(tx, effects.with_response(actor, 200, details)).await
    }
}

/// The event of a change of a suspension, and the clusters that read their desired state again because of it.
fn suspension_effects(actor: &Actor, change: SuspensionChange, notified: Vec<ClusterId>) -> CommitEffects {
    let SuspensionChange { kind, subject, message } = change;
    let event = NewEvent { subject, ..NewEvent::new(kind, &actor.name, message) };
    CommitEffects { changed_clusters: notified, ..CommitEffects::with_event(event) }
}

/// The clusters of these releases that may have something to do: also where one was given up by force, whose tombstone is suspended too.
fn list_notified(releases: &[Release]) -> Vec<ClusterId> {
    let is_over = |release: &&Release| {
        matches!(release.goal(), ReleaseGoal::Removed { .. } | ReleaseGoal::Orphaned { .. })
    };
    releases.iter().filter(|release| !is_over(release)).map(Release::cluster).collect()
}

/// The workload, or it on each of these clusters, with the name of the cluster.
async fn find_targets(
    tx: &mut Tx,
    workload: &WorkloadHead,
    clusters: &[String],
) -> Result<Vec<(SuspensionTarget, Option<String>)>, Error> {
    if clusters.is_empty() {
        return Ok(vec![(SuspensionTarget::Workload(workload.id), None)]);
    }
    let mut targets = Vec::new();
    // Each once, so that a list is not longer than that of the clusters.
    for name in clusters.iter().collect::<BTreeSet<_>>() {
        let target = SuspensionTarget::Release(workload.id, load_cluster(tx, name).await?.id);
        targets.push((target, Some(name.clone())));
    }
    Ok(targets)
}

const fn cluster_of(target: SuspensionTarget) -> Option<ClusterId> {
    match target {
        SuspensionTarget::Release(_, cluster) | SuspensionTarget::Cluster(cluster) => Some(cluster),
        SuspensionTarget::Workload(_) => None,
    }
}

/// ` on eu-1, eu-2`; empty for all clusters.
fn on_clusters(clusters: &[String]) -> String {
    if clusters.is_empty() { String::new() } else { format!(" on {}", clusters.join(", ")) }
}

fn is_active(release: &Release) -> bool {
    matches!(release.goal(), ReleaseGoal::Present | ReleaseGoal::Removing { .. })
}

async fn name_workload_releases(
    tx: &mut Tx,
    workload: &WorkloadHead,
    releases: Vec<Release>,
    suspensions: &WorkloadSuspensions,
) -> Result<Vec<SuspendedRelease>, Error> {
    let names = store::operation::list_cluster_names(tx, workload.id).await?;
    let names: BTreeMap<ClusterId, String> = names.into_iter().collect();
    let named = releases.into_iter().filter(is_active).map(|release| SuspendedRelease {
        workload: workload.name.clone(),
        cluster: names.get(&release.cluster()).cloned().unwrap_or_default(),
        suspensions: suspensions.list_for(release.cluster()),
        release,
    });
    Ok(named.collect())
}

async fn name_cluster_releases(
    tx: &mut Tx,
    cluster: &Cluster,
    releases: Vec<(Release, String)>,
) -> Result<Vec<SuspendedRelease>, Error> {
    let all = store::suspension::list_by_cluster(tx, cluster.id).await?;
    let concerns = |target: SuspensionTarget, release: &Release| match target {
        SuspensionTarget::Workload(workload) | SuspensionTarget::Release(workload, _) => {
            workload == release.workload()
        }
        SuspensionTarget::Cluster(_) => true,
    };
    let active = releases.into_iter().filter(|(release, _)| is_active(release));
    let named = active.map(|(release, workload)| {
        let own = all.iter().filter(|(target, _)| concerns(*target, &release));
        let mut suspensions: Vec<Suspension> = own.map(|(_, suspension)| suspension.clone()).collect();
        suspensions.sort_by_key(|suspension| suspension.scope);
        SuspendedRelease { workload, cluster: cluster.name.clone(), suspensions, release }
    });
    Ok(named.collect())
}

/// The details of what is suspended of a workload.
async fn workload_details(
    tx: &mut Tx,
    suspensions: &WorkloadSuspensions,
    releases: &[&SuspendedRelease],
) -> Result<SuspensionDetails, Error> {
    let mut clusters = Vec::new();
    for cluster in suspensions.releases.keys() {
        clusters.extend(store::cluster::get_name(tx, *cluster).await?);
    }
    clusters.sort_unstable();
    let is_own = |suspension: &Suspension| suspension.scope != SuspensionScope::Cluster;
    let own: Vec<&SuspendedRelease> =
        releases.iter().copied().filter(|one| one.suspensions.iter().any(is_own)).collect();
    Ok(SuspensionDetails { clusters, ..details(tx, suspensions.whole.clone(), &own).await? })
}

/// The details of a suspension, with the effects of its end on these releases.
async fn details(
    tx: &mut Tx,
    suspension: Option<Suspension>,
    releases: &[&SuspendedRelease],
) -> Result<SuspensionDetails, Error> {
    let mut suspended: Vec<&&SuspendedRelease> =
        releases.iter().filter(|one| !one.suspensions.is_empty()).collect();
    suspended.sort_by(|a, b| (&a.workload, &a.cluster).cmp(&(&b.workload, &b.cluster)));
    let more = u32::try_from(suspended.len().saturating_sub(MAX_EFFECTS)).unwrap_or(u32::MAX);
    suspended.truncate(MAX_EFFECTS);
    let drifted = suspended.iter().filter(|one| one.release.sync() == SyncStatus::Drifted);
    let drifted: Vec<ReleaseId> = drifted.map(|one| one.release.id()).collect();
    let counts = store::release::count_drifted_fields(tx, &drifted).await?;
    let effect = |one: &&&SuspendedRelease| {
        let release = &one.release;
        // A resume delivers nothing of a rollout that has ended there.
        let (next, revision) = if release.gate().is_ended() {
            (release.released(), release.released_revision())
        } else {
            (release.desired(), release.revision())
        };
        let is_changed = next.is_some() && next != release.applied();
        ResumeEffect {
            workload: one.workload.clone(),
            cluster: one.cluster.clone(),
            scopes: one.suspensions.iter().map(|suspension| suspension.scope).collect(),
            applied_revision: release.applied_revision(),
            next_revision: revision.filter(|_| is_changed),
            is_removed: matches!(release.goal(), ReleaseGoal::Removing { .. }),
            drifted_fields: counts.get(&release.id()).copied().unwrap_or_default(),
            is_drifted: release.sync() == SyncStatus::Drifted,
            drift_policy: release.policies().drift,
        }
    };
    let effects = suspended.iter().map(effect).collect();
    Ok(SuspensionDetails { suspension, clusters: Vec::new(), effects, more })
}
