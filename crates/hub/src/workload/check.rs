//! Guard rails and placement preview of a draft (S0-14).

use std::collections::HashMap;
use std::sync::Arc;

use domain::cluster::{Cluster, Connectivity};
use domain::finding;
use domain::guard::{ClusterSchemas, Exposures};
use domain::manifest::{self, ParsedManifests};
use domain::overrides::check_targets;
use domain::placement::{ClusterGroup, Decision, check_decision};
use domain::render::BundleRenderer;
use domain::schema::{Schema, kubernetes_schema};
use domain::workload::{Source, WorkloadSpec};
use domain::{ClusterId, Digest, Finding, guard, rollout};

use super::CheckResult;
use crate::placement::PlacementPreview;
use crate::{Error, Hub};

impl Hub {
    /// Guard rails and placement preview of a draft, without storing anything (S0-14).
    pub async fn check_workload(&self, name: &str, spec: &WorkloadSpec) -> Result<CheckResult, Error> {
        let PlacementPreview { decision, clusters, groups } =
            self.load_placement_preview(name, &spec.placement).await?;
        let selected: Vec<ClusterId> = decision.selected().map(|verdict| verdict.cluster).collect();
        let mut tx = self.read().await?;
        let targets = store::cluster::get_many_with_facts(&mut tx, &selected).await?;
        let schemas = self.schemas_by_cluster(&mut tx, &selected).await?;
        drop(tx);
        let away = targets.iter().filter(|cluster| cluster.connectivity != Connectivity::Online);
        let away = away.map(|cluster| (cluster.name.clone(), cluster.connectivity)).collect();
        let mut placement_findings = check_decision(&spec.placement, &decision, &clusters);
        placement_findings.extend(check_targets(&spec.overrides, &clusters, &selected, &groups));
        let in_order = in_decision_order(&selected, &targets);
        placement_findings.extend(rollout::check_fleet(&spec.rollout, &in_order, &groups));
        let waves = rollout::preview_waves(&spec.rollout, &in_order, &groups);
        let parsed = parse_source(spec.source.clone()).await?;
        let (mut findings, exposures) = run_guard_rails(
            name.to_owned(),
            spec.clone(),
            parsed,
            CheckTargets { clusters: targets, schemas },
            groups,
        )
        .await?;
        findings.extend(self.find_exposure_conflicts(name, &exposures).await?);
        if decision.evaluations.is_empty() {
            findings.retain(|finding| finding.code != guard::NO_CLUSTER_SELECTED);
            findings.push(guard::empty_fleet_finding());
        }
        findings.extend(placement_findings);
        finding::sort_findings(&mut findings);
        Ok(CheckResult {
            findings,
            decision: trim_passed_filters(decision),
            not_online: away,
            waves,
            exposures,
        })
    }

    /// Conflicts with what other workloads expose on the same clusters (G303, G305).
    async fn find_exposure_conflicts(
        &self,
        name: &str,
        exposures: &Exposures,
    ) -> Result<Vec<Finding>, Error> {
        let keys: Vec<(ClusterId, Digest)> =
            exposures.iter().map(|(cluster, (key, _))| (cluster, key.clone())).collect();
        if keys.is_empty() {
            return Ok(Vec::new());
        }
        let mut tx = self.read().await?;
        let found = store::workload::get_by_name(&mut tx, self.project(), name).await?;
        let own_id = found.map(|workload| workload.id);
        Ok(exposures.find_conflicts(&store::exposure::list_conflicts(&mut tx, own_id, &keys).await?))
    }
}

/// These clusters in the order of the decision, which waves are assigned in.
pub(crate) fn in_decision_order<'a>(chosen: &[ClusterId], clusters: &'a [Cluster]) -> Vec<&'a Cluster> {
    let by_id: HashMap<ClusterId, &Cluster> = clusters.iter().map(|cluster| (cluster.id, cluster)).collect();
    chosen.iter().filter_map(|id| by_id.get(id).copied()).collect()
}

/// Parses the manifests off the async threads: the text is untrusted and may be expensive to parse.
pub(crate) async fn parse_source(source: Source) -> Result<Arc<ParsedManifests>, Error> {
    let parsed = tokio::task::spawn_blocking(move || manifest::parse(source.files())).await;
    parsed.map(Arc::new).map_err(|error| Error::Internal(Box::new(error)))
}

/// The clusters that a draft would be placed on.
struct CheckTargets {
    /// The clusters with all their facts.
    clusters: Vec<Cluster>,
    /// The schemas of those that have reported one.
    schemas: HashMap<ClusterId, Arc<Schema>>,
}

async fn run_guard_rails(
    name: String,
    spec: WorkloadSpec,
    parsed: Arc<ParsedManifests>,
    targets: CheckTargets,
    groups: Vec<ClusterGroup>,
) -> Result<(Vec<Finding>, Exposures), Error> {
    let check = move || {
        let CheckTargets { clusters, schemas } = targets;
        let known = ClusterSchemas::for_clusters(kubernetes_schema(), &clusters, &schemas);
        let mut findings = guard::check_static_with(&known, &name, &spec, &parsed);
        let mut targets: Vec<String> = clusters.iter().map(|cluster| cluster.name.clone()).collect();
        targets.sort();
        let rendering = BundleRenderer {
            workload: &name,
            // A placeholder: the publish assigns the number.
            revision: 1,
            spec: &spec,
            parsed: &parsed,
            groups: &groups,
            targets: &targets,
        };
        if !clusters.is_empty() {
            // The static finding is for drafts without a cluster; the versions of the selected clusters are known here.
            findings.retain(|finding| finding.code != guard::REMOVED_API_VERSION);
        }
        let clusters: Vec<&Cluster> = clusters.iter().collect();
        findings.extend(guard::check_overridden_objects(&known, &rendering, &clusters));
        findings.extend(guard::check_fleet(&rendering, &clusters));
        (findings, Exposures::from_rendering(&rendering, &clusters))
    };
    tokio::task::spawn_blocking(check).await.map_err(|error| Error::Internal(Box::new(error)))
}

/// Removes passed filters after the first 500 clusters: a preview of 10 000 clusters would be too large.
fn trim_passed_filters(mut decision: Decision) -> Decision {
    const FULL_DETAIL: usize = 500;
    for verdict in decision.evaluations.iter_mut().skip(FULL_DETAIL) {
        verdict.filters.retain(|step| !step.passed);
    }
    decision
}
