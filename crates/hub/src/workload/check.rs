//! Guard rails and placement preview of a draft, without storing anything (S0-14).

use std::collections::HashMap;
use std::sync::Arc;

use domain::cluster::{Cluster, Reach};
use domain::finding;
use domain::guard::{Exposures, Known};
use domain::manifest::{self, Parsed};
use domain::overrides::check_targets;
use domain::placement::{ClusterGroup, Decision, outlook};
use domain::render::Rendering;
use domain::schema::{Schema, kubernetes};
use domain::workload::{Source, WorkloadSpec};
use domain::{ClusterId, Digest, Finding, guard, rollout};

use super::CheckResult;
use crate::placement::Preview;
use crate::{Error, Hub};

impl Hub {
    /// Guard rails and placement preview of a draft, without storing anything (S0-14).
    pub async fn workload_check(&self, name: &str, spec: &WorkloadSpec) -> Result<CheckResult, Error> {
        let Preview { decision, clusters, groups } = self.preview(name, &spec.placement).await?;
        let chosen: Vec<ClusterId> = decision.chosen().map(|verdict| verdict.cluster).collect();
        let mut tx = self.read().await?;
        let targets = store::cluster::all_with_facts(&mut tx, &chosen).await?;
        let told = self.schemas_of(&mut tx, &chosen).await?;
        drop(tx);
        let away = targets.iter().filter(|cluster| cluster.reach != Reach::Online);
        let away = away.map(|cluster| (cluster.name.clone(), cluster.reach)).collect();
        let mut about_places = outlook(&spec.placement, &decision, &clusters);
        about_places.extend(check_targets(&spec.overrides, &clusters, &chosen, &groups));
        let in_order = in_order(&chosen, &targets);
        about_places.extend(rollout::check_fleet(&spec.rollout, &in_order, &groups));
        let waves = rollout::outlook(&spec.rollout, &in_order, &groups);
        let parsed = parse(spec.source.clone()).await?;
        let (mut findings, exposures) =
            check_with(name.to_owned(), spec.clone(), parsed, Targets { clusters: targets, told }, groups)
                .await?;
        findings.extend(self.clashes(name, &exposures).await?);
        if decision.verdicts.is_empty() {
            findings.retain(|finding| finding.code != "G501");
            findings.push(guard::empty_fleet());
        }
        findings.extend(about_places);
        finding::sort(&mut findings);
        Ok(CheckResult { findings, decision: without_unneeded_detail(decision), away, waves, exposures })
    }

    /// What other workloads expose already where this one would (G303, G305).
    async fn clashes(&self, name: &str, exposures: &Exposures) -> Result<Vec<Finding>, Error> {
        let wanted: Vec<(ClusterId, Digest)> =
            exposures.each().map(|(cluster, (key, _))| (cluster, key.clone())).collect();
        if wanted.is_empty() {
            return Ok(Vec::new());
        }
        let mut tx = self.read().await?;
        let itself = store::workload::by_name(&mut tx, self.project(), name).await?;
        let itself = itself.map(|workload| workload.id);
        Ok(exposures.clashes(&store::exposure::held_by_others(&mut tx, itself, &wanted).await?))
    }
}

/// These clusters in the order of the decision, which is the order of waves.
pub(crate) fn in_order<'a>(chosen: &[ClusterId], clusters: &'a [Cluster]) -> Vec<&'a Cluster> {
    let by_id: HashMap<ClusterId, &Cluster> = clusters.iter().map(|cluster| (cluster.id, cluster)).collect();
    chosen.iter().filter_map(|id| by_id.get(id).copied()).collect()
}

/// Reads the manifests off the async threads: the text is a stranger's and may be expensive.
pub(crate) async fn parse(source: Source) -> Result<Arc<Parsed>, Error> {
    let parsed = tokio::task::spawn_blocking(move || manifest::parse(source.files())).await;
    parsed.map(Arc::new).map_err(|error| Error::Internal(Box::new(error)))
}

/// The clusters that a draft would go to.
struct Targets {
    /// With all their facts.
    clusters: Vec<Cluster>,
    /// The schemas of those that have told theirs.
    told: HashMap<ClusterId, Arc<Schema>>,
}

async fn check_with(
    name: String,
    spec: WorkloadSpec,
    parsed: Arc<Parsed>,
    targets: Targets,
    groups: Vec<ClusterGroup>,
) -> Result<(Vec<Finding>, Exposures), Error> {
    let check = move || {
        let Targets { clusters: chosen, told } = targets;
        let known = Known::on(kubernetes(), &chosen, &told);
        let mut findings = guard::check_static_with(&known, &name, &spec, &parsed);
        let mut targets: Vec<String> = chosen.iter().map(|cluster| cluster.name.clone()).collect();
        targets.sort();
        let rendering = Rendering {
            workload: &name,
            // The number is the publish's to give; any has the same form.
            revision: 1,
            spec: &spec,
            parsed: &parsed,
            groups: &groups,
            targets: &targets,
        };
        if !chosen.is_empty() {
            // What kinds were removed is a note while no cluster is known; from here on the chosen clusters tell.
            findings.retain(|finding| finding.code != "G402");
        }
        let chosen: Vec<&Cluster> = chosen.iter().collect();
        findings.extend(guard::check_overridden(&known, &rendering, &chosen));
        findings.extend(guard::check_fleet(&rendering, &chosen));
        (findings, Exposures::of(&rendering, &chosen))
    };
    tokio::task::spawn_blocking(check).await.map_err(|error| Error::Internal(Box::new(error)))
}

/// A preview over ten thousand clusters is long; the steps of those that passed say nothing new.
fn without_unneeded_detail(mut decision: Decision) -> Decision {
    const FULL_DETAIL: usize = 500;
    for verdict in decision.verdicts.iter_mut().skip(FULL_DETAIL) {
        verdict.steps.retain(|step| !step.passed);
    }
    decision
}
