//! Guard rails and placement preview of a draft (S0-14).

use std::collections::{BTreeMap, BTreeSet, HashMap};

use domain::actions::ActionUnavailable;
use domain::authorization::UserAction;
use domain::cluster::{Cluster, Connectivity};
use domain::dependency::HAS_DEPENDENTS;
use domain::finding;
use domain::guard::{ClusterSchemas, Exposures};
use domain::overrides::{check_limits, check_targets, check_work};
use domain::placement::{Decision, check_decision};
use domain::plan::{FieldChange, diff_settings};
use domain::render::BundleRenderer;
use domain::schema::kubernetes_schema;
use domain::workload::{WorkloadSpec, WorkloadView};
use domain::{ClusterId, Digest, Finding, WorkloadId, guard, rollout};
use store::Tx;

use super::snapshot::{
    DraftAuthor, DraftSnapshot, DraftSource, InstalledReleases, PublishSnapshot, PublishableWorkload,
    load_present_releases, lost_clusters,
};
use super::{CheckResult, PublishContent};
use crate::blocking::run_blocking;
use crate::plan::check_findings;
use crate::report::ReportedSchemas;
use crate::secret_content::list_marked_charts;
use crate::{Actor, Error, Hub, placement, time_zone};

/// Findings of sets of manifests that are merged before those of the next set are added.
const MERGED_AT_ONCE: usize = 20_000;
/// How a publish is made that removes the workload from clusters where others depend on it.
const LOSS_HINT: &str =
    "Select these clusters again, remove the dependency of those workloads first, or force the code G313.";

/// A workload, and the check of what a publish would store.
#[derive(Debug, Clone, PartialEq)]
pub struct ContentCheck {
    /// The workload.
    pub view: WorkloadView,
    /// Findings and placement.
    pub checked: CheckResult,
    /// The settings that differ from the published revision; none while nothing is published.
    pub settings: Vec<FieldChange>,
    /// Why the publish is not possible now, whatever the findings are.
    pub unavailable: Option<ActionUnavailable>,
}

/// What the guard rails find in a draft.
pub(crate) struct DraftCheck {
    /// Findings, worst first.
    pub findings: Vec<Finding>,
    /// What the draft would expose on the selected clusters.
    pub exposures: Exposures,
    /// Whether the overrides are within the limits; otherwise nothing was rendered, and nothing may be.
    pub can_render: bool,
}

impl Hub {
    /// Guard rails and placement preview of a draft, without storing anything (S0-14). The draft of a user who may not write drafts is
    /// evaluated with hidden values of clusters, groups and project.
    ///
    /// # Errors
    /// The placement has too many entries.
    pub async fn check_workload(
        &self,
        actor: &Actor,
        name: &str,
        spec: &WorkloadSpec,
    ) -> Result<CheckResult, Error> {
        actor.authorize(UserAction::Validate)?;
        let mut tx = self.read().await?;
        let stored = store::workload::get_by_name(&mut tx, self.project(), name).await?;
        let before = stored.as_ref().map(|workload| &workload.draft.placement);
        placement::check_limits(before, &spec.placement)?;
        self.check_spec(tx, stored.map(|workload| workload.id), (name, spec), DraftAuthor::from_actor(actor))
            .await
    }

    /// A workload, and the guard rails and placement preview of what a publish of `content` would store, from one read
    /// transaction. If the publish is not possible now, its draft is checked.
    ///
    /// # Errors
    /// There is no such workload, or no such override or revision.
    pub async fn check_content(
        &self,
        actor: &Actor,
        name: &str,
        content: &PublishContent,
    ) -> Result<ContentCheck, Error> {
        actor.authorize(UserAction::View)?;
        let mut tx = self.read().await?;
        let view = self.load_workload_view(&mut tx, name).await?;
        let mut workload = view.workload.clone();
        let published = view.published_revision.as_ref();
        let resolved = self.resolve_content(&mut tx, content, &mut workload, published).await;
        let (spec, unavailable) = match resolved {
            Ok(resolved) => (resolved.spec, None),
            Err(Error::FailedPrecondition(why)) => (workload.draft, Some(why)),
            Err(error) => return Err(error),
        };
        // What is stored was written by an editor.
        let checked = self.check_spec(tx, Some(workload.id), (name, &spec), DraftAuthor::of_stored()).await?;
        let settings = match &view.published_revision {
            Some(revision) => {
                let charts = list_marked_charts(actor, &[&revision.spec.source, &spec.source]);
                let marks = self.load_marks_for(actor, &charts).await?;
                diff_settings(&revision.spec, &spec, &marks)
            }
            None => Vec::new(),
        };
        let view = self.hide_secrets(actor, view).await?;
        Ok(ContentCheck { view, checked, settings, unavailable })
    }

    /// Like [`Hub::check_workload`], as the workload with this id, `None` for one that does not exist yet, and as a spec of this author.
    pub(super) async fn check_spec(
        &self,
        mut tx: Tx,
        workload: Option<WorkloadId>,
        (name, spec): (&str, &WorkloadSpec),
        author: DraftAuthor,
    ) -> Result<CheckResult, Error> {
        let (releases, revision) = match workload {
            Some(id) => (
                load_present_releases(&mut tx, id).await?,
                store::revision::latest_number(&mut tx, id).await? + 1,
            ),
            None => (HashMap::new(), 1),
        };
        let current: Vec<ClusterId> = releases.keys().copied().collect();
        let installed = InstalledReleases::of(releases.values());
        let source = DraftSource {
            name,
            revision,
            spec: spec.clone(),
            author,
            current: &current,
            installed,
            recorded_facts: BTreeMap::new(),
            published: None,
        };
        let snapshot = self.load_draft_snapshot(tx, source).await?;
        let schemas = Box::pin(self.load_schemas(&snapshot.schemas)).await?;
        let (snapshot, found) = run_blocking(move || {
            let found = snapshot.run_guard_rails(&schemas);
            (snapshot, found)
        })
        .await?;
        let checked = self.add_exposure_conflicts(workload, found).await?;
        Ok(CheckResult {
            findings: checked.findings,
            not_online: snapshot.targets_not_online(),
            waves: snapshot.preview_waves(),
            on_failure: snapshot.spec.rollout.on_failure,
            manifests: snapshot.manifests.sample().manifests.len(),
            decision: trim_passed_filters(snapshot.decision),
        })
    }

    /// Runs the guard rails on what would be published and on its changes since the published revision.
    pub(crate) async fn check_publish_snapshot(
        &self,
        snapshot: PublishSnapshot,
    ) -> Result<(PublishSnapshot, DraftCheck), Error> {
        let schemas = Box::pin(self.load_schemas(&snapshot.draft.schemas)).await?;
        let (snapshot, mut found) = run_blocking(move || {
            let mut found = snapshot.draft.run_guard_rails(&schemas);
            found.placement.extend(snapshot.check_changes());
            (snapshot, found)
        })
        .await?;
        let workload = &snapshot.stored.workload;
        let lost = snapshot.lost_clusters();
        if !lost.is_empty() {
            let mut tx = self.read().await?;
            let workload = (workload.id, workload.name.as_str());
            found.placement.extend(self.find_dependents(&mut tx, workload, &lost, LOSS_HINT).await?);
        }
        let checked = self.add_exposure_conflicts(Some(workload.id), found).await?;
        Ok((snapshot, checked))
    }

    /// Rejects the publish of a revision that loses clusters where others depend on the workload (G313), as they are in its transaction.
    pub(super) async fn recheck_dependents(
        &self,
        tx: &mut Tx,
        stored: &PublishableWorkload,
        decision: &Decision,
        force: &[String],
    ) -> Result<(), Error> {
        if force.iter().any(|code| code == HAS_DEPENDENTS) {
            return Ok(());
        }
        let lost = lost_clusters(&stored.releases, decision);
        let workload = (stored.workload.id, stored.workload.name.as_str());
        match self.find_dependents(tx, workload, &lost, LOSS_HINT).await? {
            Some(finding) => check_findings(&[finding], &BTreeSet::new()).map(drop),
            None => Ok(()),
        }
    }

    /// Adds conflicts with what other workloads expose on the same clusters (G303, G305, G105): the only read after that of the
    /// snapshot, and none for a draft that exposes nothing.
    async fn add_exposure_conflicts(
        &self,
        workload: Option<WorkloadId>,
        found: GuardRailFindings,
    ) -> Result<DraftCheck, Error> {
        let GuardRailFindings { mut findings, placement, exposures, can_render } = found;
        let keys: Vec<(ClusterId, Digest)> =
            exposures.iter().map(|(cluster, (key, _))| (cluster, key.clone())).collect();
        if !keys.is_empty() {
            let mut tx = self.read().await?;
            let others = store::exposure::list_conflicts(&mut tx, workload, &keys).await?;
            findings.extend(exposures.find_conflicts(&others));
        }
        findings.extend(placement);
        finding::sort_findings(&mut findings);
        let findings = finding::limit_findings(findings);
        Ok(DraftCheck { findings, exposures, can_render })
    }
}

/// What the guard rails find in a snapshot: everything but conflicts with other workloads.
struct GuardRailFindings {
    /// Findings on the manifests and their clusters.
    findings: Vec<Finding>,
    /// Findings on placement, overrides, rollout and changes.
    placement: Vec<Finding>,
    exposures: Exposures,
    can_render: bool,
}

impl DraftSnapshot {
    /// Runs the guard rails. It renders for every selected cluster: call it off the async threads.
    fn run_guard_rails(&self, reported: &ReportedSchemas) -> GuardRailFindings {
        let known = ClusterSchemas::for_clusters(kubernetes_schema(), &self.targets, reported.by_cluster());
        let mut findings = self.manifests.findings().to_vec();
        findings.extend(reported.unread_finding(&self.targets));
        for parsed in self.manifests.sets_or_empty() {
            let found = guard::check_static_with(&known, &self.name, &self.spec, &parsed);
            findings
                .extend(found.into_iter().filter(|finding| !findings.contains(finding)).collect::<Vec<_>>());
            // Each set is compared with all before it.
            findings = finding::limit_findings(findings);
        }
        let names = self.target_names();
        // The number is a placeholder: the publish assigns it.
        let renderer = self.renderer(1, &names);
        if !self.targets.is_empty() {
            // The static finding is for drafts without a cluster; the versions of the selected clusters are known here.
            findings.retain(|finding| finding.code != guard::REMOVED_API_VERSION);
        }
        let clusters: Vec<&Cluster> = self.targets.iter().collect();
        let (can_render, excess) = self.check_work(&clusters);
        // A limit of the objects is a static finding too.
        findings.extend(excess.filter(|excess| findings.iter().all(|known| known.message != excess.message)));
        if !can_render {
            let exposures = Exposures::default();
            return GuardRailFindings { findings, placement: self.check_placement(), exposures, can_render };
        }
        let (mut exposures, mut on_clusters) = (Exposures::default(), Vec::new());
        for (parsed, clusters) in self.manifests.group(&clusters) {
            let renderer = BundleRenderer { parsed: &parsed, ..renderer };
            on_clusters.extend(guard::check_overridden_objects(&known, &renderer, &clusters));
            on_clusters.extend(guard::check_fleet(&renderer, &clusters));
            if on_clusters.len() > MERGED_AT_ONCE {
                on_clusters = finding::limit_findings(finding::merge_clusters(on_clusters));
            }
            exposures.extend(Exposures::from_rendering(&renderer, &clusters));
        }
        // Clusters with different manifests may have the same problem.
        findings.extend(finding::merge_clusters(on_clusters));
        if self.decision.evaluations.is_empty() {
            findings.retain(|finding| finding.code != guard::NO_CLUSTER_SELECTED);
            findings.push(guard::empty_fleet_finding());
        }
        GuardRailFindings { findings, placement: self.check_placement(), exposures, can_render }
    }

    /// Whether the overrides are within the limits, so that rendering is cheap enough, and the finding if only their work on
    /// these clusters is not. Exceeded limits are findings of the static checks.
    fn check_work(&self, clusters: &[&Cluster]) -> (bool, Option<Finding>) {
        let overrides = &self.spec.overrides;
        if !check_limits(overrides).is_empty() {
            return (false, None);
        }
        let excess = self
            .manifests
            .group(clusters)
            .find_map(|(parsed, clusters)| check_work(&parsed.objects(), overrides, &clusters, &self.groups));
        (excess.is_none(), excess)
    }

    fn check_placement(&self) -> Vec<Finding> {
        let Self { spec, clusters, groups, decision, .. } = self;
        let mut findings = check_decision(&spec.placement, decision, clusters);
        findings.extend(self.dependencies.iter().cloned());
        findings.extend(check_targets(&spec.overrides, clusters, &self.selected(), groups));
        findings.extend(rollout::check_fleet(&spec.rollout, &self.targets_in_decision_order(), groups));
        let window = spec.rollout.window.as_ref();
        findings.extend(window.and_then(|window| time_zone::check_zone(window, "/rollout/window")));
        findings
    }

    fn targets_not_online(&self) -> BTreeMap<String, Connectivity> {
        let away = self.targets.iter().filter(|cluster| cluster.connectivity != Connectivity::Online);
        away.map(|cluster| (cluster.name.clone(), cluster.connectivity)).collect()
    }
}

/// Removes passed filters after the first 500 clusters: a preview of 10 000 clusters would be too large.
pub(crate) fn trim_passed_filters(mut decision: Decision) -> Decision {
    const FULL_DETAIL: usize = 500;
    for evaluation in decision.evaluations.iter_mut().skip(FULL_DETAIL) {
        evaluation.filters.retain(|filter| !filter.passed);
    }
    decision
}
