//! Dependencies between workloads (`dependsOn`): where they wait, who is placed again when they may continue, and what is refused.
//!
//! A release that waits is rendered and not delivered. Whatever may end its wait marks its workload for the placer: a report about the
//! workload that it depends on, a placement or removal of that, and a change of the connectivity of a cluster.

use std::collections::{BTreeSet, HashMap};

use domain::cluster::Cluster;
use domain::dependency::{self, WorkloadDependency, dependents_finding};
use domain::release::Release;
use domain::workload::{Intent, WorkloadHead, WorkloadSpec};
use domain::{ClusterId, Finding, Timestamp, WorkloadId};
use store::Tx;

use crate::hub::CommitEffects;
use crate::mark_pace::MarkCause;
use crate::{Error, Hub};

/// Maximum characters of the reason of a wait, which quotes the message of another release.
const MAX_REASON_CHARS: usize = 400;

impl Hub {
    /// Checks the dependencies of a draft or revision that this transaction stores. No other transaction adds dependencies until it ends:
    /// call it first.
    ///
    /// # Errors
    /// The workload would wait for itself, or depends on too many (G312).
    pub(crate) async fn lock_dependencies(
        &self,
        tx: &mut Tx,
        name: &str,
        spec: &WorkloadSpec,
    ) -> Result<(), Error> {
        if spec.depends_on.is_empty() {
            return Ok(());
        }
        store::dependency::lock_graph(tx).await?;
        self.check_dependencies(tx, name, spec).await
    }

    /// The same in a transaction that has locked the graph already.
    ///
    /// # Errors
    /// As [`Self::lock_dependencies`].
    pub(crate) async fn check_dependencies(
        &self,
        tx: &mut Tx,
        name: &str,
        spec: &WorkloadSpec,
    ) -> Result<(), Error> {
        let findings = self.find_cycle(tx, name, &spec.depends_on).await?;
        if findings.is_empty() { Ok(()) } else { Err(Error::Invalid(findings)) }
    }

    /// G312: what is refused in the dependencies of the workload `name`.
    async fn find_cycle(
        &self,
        tx: &mut Tx,
        name: &str,
        dependencies: &[WorkloadDependency],
    ) -> Result<Vec<Finding>, Error> {
        let mut findings = dependency::check(name, dependencies);
        if findings.is_empty() && !dependencies.is_empty() {
            let graph = store::dependency::load_graph(tx, self.project()).await?;
            findings.extend(graph.check(name, dependencies));
        }
        Ok(findings)
    }

    /// G312: what needs other workloads in the check of a draft: a cycle, and clusters that would wait.
    pub(crate) async fn check_draft_dependencies(
        &self,
        tx: &mut Tx,
        (name, dependencies): (&str, &[WorkloadDependency]),
        targets: &[Cluster],
    ) -> Result<Vec<Finding>, Error> {
        // What is invalid in the draft alone is a finding of the static checks.
        if dependencies.is_empty() || !dependency::check(name, dependencies).is_empty() {
            return Ok(Vec::new());
        }
        let mut findings = self.find_cycle(tx, name, dependencies).await?;
        let ids: BTreeSet<ClusterId> = targets.iter().map(|cluster| cluster.id).collect();
        let known = store::dependency::load_known(tx, self.project(), &names_of(dependencies), &ids).await?;
        let targets: Vec<(ClusterId, &str)> =
            targets.iter().map(|cluster| (cluster.id, cluster.name.as_str())).collect();
        findings.extend(known.check(name, dependencies, &targets));
        Ok(findings)
    }

    /// Which of these clusters wait for a workload of `dependencies`, and why, as a sentence. What is not known, such as the state on a
    /// cluster that is offline, is waited for.
    pub(crate) async fn find_waits(
        &self,
        tx: &mut Tx,
        dependencies: &[WorkloadDependency],
        clusters: &[ClusterId],
    ) -> Result<HashMap<ClusterId, String>, Error> {
        let mut waits = HashMap::new();
        if dependencies.is_empty() || clusters.is_empty() {
            return Ok(waits);
        }
        let names = names_of(dependencies);
        let heads = store::workload::list_heads_by_names(tx, self.project(), &names).await?;
        let ids: Vec<WorkloadId> = heads.iter().map(|head| head.id).collect();
        let releases = store::release::read_by_workloads_and_clusters(tx, &ids, clusters).await?;
        let found = DependencyReleases {
            heads: heads.into_iter().map(|head| (head.name.clone(), head)).collect(),
            releases: releases
                .into_iter()
                .map(|release| ((release.workload(), release.cluster()), release))
                .collect(),
        };
        for cluster in clusters {
            let obstacle = dependencies
                .iter()
                .find_map(|one| Some((&one.workload, found.find_obstacle(&one.workload, *cluster)?)));
            if let Some((workload, obstacle)) = obstacle {
                let name = store::cluster::get_name(tx, *cluster).await?.unwrap_or_default();
                let message = format!("Waits for {workload} on {name}: {obstacle}");
                waits.insert(*cluster, message.chars().take(MAX_REASON_CHARS).collect());
            }
        }
        Ok(waits)
    }

    /// Places the workloads again that depend on this one, at the commit.
    pub(crate) async fn mark_dependents(&self, tx: &mut Tx, workload: WorkloadId) -> Result<(), Error> {
        let dependents = store::dependency::list_dependents(tx, workload).await?;
        let ids: Vec<WorkloadId> = dependents.into_iter().map(|(id, _)| id).collect();
        Ok(store::queue::PLACER.mark(tx, &ids, self.clock().now()).await?)
    }

    /// Places the workloads again that depend on this one and may wait for it on this cluster, whose agent has reported that it is
    /// operational there, or not.
    pub(crate) async fn mark_dependents_on(
        &self,
        tx: &mut Tx,
        (workload, cluster): (WorkloadId, ClusterId),
        effects: &mut CommitEffects,
    ) -> Result<(), Error> {
        let dependents = store::dependency::list_dependents(tx, workload).await?;
        let ids: Vec<WorkloadId> = dependents.into_iter().map(|(id, _)| id).collect();
        if ids.is_empty() {
            return Ok(());
        }
        let due = self.pace_marks(cluster, effects);
        Ok(store::queue::PLACER.mark_on(tx, &ids, cluster, due).await?)
    }

    /// Evaluates the rollouts and dependencies of workloads on this cluster again, whose connectivity has changed, from `due` on.
    pub(crate) async fn mark_connectivity_change(
        &self,
        tx: &mut Tx,
        cluster: ClusterId,
        due: Timestamp,
    ) -> Result<(), Error> {
        let rollouts = store::rollout::list_active_on(tx, cluster).await?;
        store::queue::ROLLOUTS.mark(tx, &rollouts, due).await?;
        // What waits for another workload on a cluster waits also while that cluster is not online.
        let dependents = store::dependency::list_all_dependents(tx, self.project()).await?;
        Ok(store::queue::PLACER.mark_on(tx, &dependents, cluster, due).await?)
    }

    /// From when on the marks are due that this transaction writes for other workloads because of what the agent of this cluster has reported.
    pub(crate) fn pace_marks(&self, cluster: ClusterId, effects: &mut CommitEffects) -> Timestamp {
        let now = self.clock().now();
        let next = || self.mark_pace().next_due(cluster, MarkCause::State, now);
        *effects.marks_due.get_or_insert_with(next)
    }

    /// G313: the finding that other workloads depend on this one on clusters that would lose it; `hint` says how to remove it
    /// nevertheless.
    pub(crate) async fn find_dependents(
        &self,
        tx: &mut Tx,
        (workload, name): (WorkloadId, &str),
        lost: &BTreeSet<ClusterId>,
        hint: &str,
    ) -> Result<Option<Finding>, Error> {
        if lost.is_empty() {
            return Ok(None);
        }
        let dependents = store::dependency::list_dependents_on(tx, workload, lost).await?;
        Ok(dependents_finding(name, dependents, hint))
    }
}

/// The workloads of some dependencies and their releases on some clusters.
struct DependencyReleases {
    heads: HashMap<String, WorkloadHead>,
    releases: HashMap<(WorkloadId, ClusterId), Release>,
}

impl DependencyReleases {
    /// Why the workload `name` is not operational on this cluster in its published revision; `None` if it is.
    fn find_obstacle(&self, name: &str, cluster: ClusterId) -> Option<String> {
        let Some(head) = self.heads.get(name) else {
            return Some("there is no readable workload of this name.".to_owned());
        };
        let (Intent::Published, Some(revision)) = (head.intent, head.published) else {
            return Some("it is not published.".to_owned());
        };
        match self.releases.get(&(head.id, cluster)) {
            Some(release) => release.dependency_obstacle(revision),
            None => Some("it is not placed there.".to_owned()),
        }
    }
}

fn names_of(dependencies: &[WorkloadDependency]) -> Vec<String> {
    dependencies.iter().map(|one| one.workload.clone()).collect()
}
