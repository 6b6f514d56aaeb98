//! What every chosen cluster would get: the same for the plan and for the placer that carries it out.

use std::collections::HashMap;

use domain::bundle::Bundle;
use domain::cluster::Cluster;
use domain::exposure::of_objects;
use domain::placement::{ClusterGroup, Decision};
use domain::release::Rendered;
use domain::release::stage::Trouble;
use domain::render::{Rendering, Unrendered};
use domain::rollout::RolloutStrategy;
use domain::workload::{Policies, Revision};
use domain::{ClusterId, Digest, Finding, rollout};

use crate::workload::in_order;
use crate::{Error, Hub};

/// One cluster that should have it.
#[derive(Debug, Clone)]
pub(crate) struct Target {
    pub cluster: ClusterId,
    pub name: String,
    pub reach: domain::cluster::Reach,
    pub revision: u32,
    /// Its wave, if the revision goes in waves.
    pub wave: Option<u32>,
    pub policies: Policies,
    pub rendered: Rendered,
    /// The bundle's bytes, to be stored under its digest.
    pub bytes: Option<(Digest, Vec<u8>)>,
    /// What the bundle exposes, sorted; `None` if there is no bundle.
    pub exposures: Option<Vec<store::exposure::Row>>,
}

/// What stands already.
#[derive(Debug, Default)]
pub(crate) struct Standing {
    /// Every cluster group.
    pub groups: Vec<ClusterGroup>,
    /// The waves of clusters that have one in the rollout of this revision.
    pub waves: HashMap<ClusterId, u32>,
}

/// Renders the revision for every chosen cluster, off the async threads. Clusters that have a wave already keep it.
pub(crate) async fn targets(
    hub: &Hub,
    workload: &str,
    revision: Revision,
    decision: &Decision,
    Standing { groups, waves }: Standing,
) -> Result<Vec<Target>, Error> {
    let chosen: Vec<ClusterId> = decision.chosen().map(|verdict| verdict.cluster).collect();
    let mut tx = hub.read().await?;
    let clusters = store::cluster::all_with_facts(&mut tx, &chosen).await?;
    drop(tx);
    let parsed = crate::workload::parse(revision.spec.source.clone()).await?;
    let workload = workload.to_owned();
    let render_all = move || {
        let mut targets: Vec<String> = clusters.iter().map(|cluster| cluster.name.clone()).collect();
        targets.sort();
        let rendering = Rendering {
            workload: &workload,
            revision: revision.number,
            spec: &revision.spec,
            parsed: &parsed,
            groups: &groups,
            targets: &targets,
        };
        let clusters = in_order(&chosen, &clusters);
        let waves = waves_of(&rendering.spec.rollout, &clusters, &groups, &waves);
        clusters.iter().zip(waves).map(|(cluster, wave)| target(&rendering, cluster, wave)).collect()
    };
    tokio::task::spawn_blocking(render_all).await.map_err(|error| Error::Internal(Box::new(error)))
}

/// The waves of these clusters. A cluster that joined since the publish and is in none goes with the last.
fn waves_of(
    strategy: &RolloutStrategy,
    clusters: &[&Cluster],
    groups: &[ClusterGroup],
    kept: &HashMap<ClusterId, u32>,
) -> Vec<Option<u32>> {
    if strategy.is_at_once() {
        return vec![None; clusters.len()];
    }
    let last = u32::try_from(strategy.waves.len() - 1).unwrap_or(u32::MAX);
    let waves = rollout::assign(strategy, clusters, groups, kept);
    waves.into_iter().map(|wave| wave.or(Some(last))).collect()
}

fn target(rendering: &Rendering<'_>, cluster: &Cluster, wave: Option<u32>) -> Target {
    let (rendered, bytes, exposures) = match rendered(rendering, cluster) {
        Ok(bundle) => {
            let bytes = bundle.to_bytes();
            let digest = Digest::of(&bytes);
            (Rendered::Bundle(digest.clone()), Some((digest, bytes)), Some(exposed(&bundle)))
        }
        Err(without) => (without, None, None),
    };
    Target {
        cluster: cluster.id,
        name: cluster.name.clone(),
        reach: cluster.reach,
        revision: rendering.revision,
        wave,
        policies: rendering.spec.policies.clone(),
        rendered,
        bytes,
        exposures,
    }
}

fn exposed(bundle: &Bundle) -> Vec<store::exposure::Row> {
    let all = of_objects(&bundle.objects);
    let mut rows: Vec<_> = all.into_iter().map(|one| (one.key(), one.class)).collect();
    rows.sort();
    rows.dedup();
    rows
}

fn rendered(rendering: &Rendering<'_>, cluster: &Cluster) -> Result<Bundle, Rendered> {
    if rendering.spec.addon && !cluster.facts.are_known() {
        // S4-3: an addon may be what makes a cluster whole, so its API server is all that it waits for.
        return Err(Rendered::Waiting(Trouble {
            reason: "WaitingForCluster".to_owned(),
            message: format!(
                "{} has not told of itself yet. The addon goes there once it has.",
                cluster.name
            ),
            ..Trouble::default()
        }));
    }
    rendering.of(cluster).map_err(|why| match why {
        Unrendered::Refused(findings) => {
            let blocking = findings.iter().filter(|finding| finding.blocks());
            Rendered::Failed(trouble("RenderFailed", blocking))
        }
        Unrendered::Waiting(findings) => Rendered::Waiting(trouble("WaitingForValue", findings.iter())),
    })
}

fn trouble<'a>(reason: &str, findings: impl Iterator<Item = &'a Finding>) -> Trouble {
    let words: Vec<String> =
        findings.map(|finding| format!("{} {}", finding.message, finding.hint)).collect();
    Trouble { reason: reason.to_owned(), message: words.join(" "), ..Trouble::default() }
}
