//! The facts that the releases of a revision are rendered with: those of its first rendering for each cluster.

use std::collections::{BTreeMap, HashMap, HashSet, VecDeque};
use std::sync::Arc;

use domain::cluster::{Cluster, ClusterFacts, RenderFacts};
use domain::release::{FactsComparison, Release, RenderOutcome};
use domain::{ClusterId, Digest};
use store::{Tx, run_blocking_in_place};

use super::ReleaseTarget;
use crate::{Error, Hub};

/// What earlier passes recorded for the release of a revision on one cluster.
#[derive(Debug, Clone)]
pub(crate) struct RecordedRendering {
    /// Digest of the facts that it is rendered with.
    pub facts: Digest,
    /// Digest of its bundle.
    pub bundle: Option<Digest>,
    /// What the present facts would change.
    pub comparison: Option<FactsComparison>,
}

impl RecordedRendering {
    /// What is recorded for this revision, by cluster.
    pub fn list(releases: &[Release], revision: u32) -> HashMap<ClusterId, Self> {
        let recorded = |release: &Release| {
            let facts = release.facts_of_revision(revision)?.clone();
            let (bundle, comparison) = (release.desired().cloned(), release.facts_comparison().cloned());
            Some((release.cluster(), Self { facts, bundle, comparison }))
        };
        releases.iter().filter_map(recorded).collect()
    }
}

/// Digests of the facts that this revision is rendered with, by cluster.
pub(crate) fn recorded_facts<'a>(
    releases: impl Iterator<Item = &'a Release>,
    revision: u32,
) -> BTreeMap<ClusterId, Digest> {
    let recorded =
        |release: &Release| Some((release.cluster(), release.facts_of_revision(revision)?.clone()));
    releases.filter_map(recorded).collect()
}

/// Replaces the facts of a cluster by those that this revision is rendered with there.
///
/// # Errors
/// They are lost: with the present ones, other content than the published one would be shown.
pub(crate) async fn restore_facts(
    tx: &mut Tx,
    cluster: &mut Cluster,
    revision: u32,
    facts: &Digest,
) -> Result<(), Error> {
    let Some(found) = find_facts(tx, facts).await? else {
        let source = store::Error::MissingRow { table: "artifact", id: facts.to_string() };
        return Err(Error::Unreadable { message: describe_lost_facts(&cluster.name, revision), source });
    };
    cluster.facts = found.facts.into_facts();
    Ok(())
}

/// Why a revision can't be rendered for a cluster, and what to do.
fn describe_lost_facts(cluster: &str, revision: u32) -> String {
    format!(
        "What r{revision} was rendered with on {cluster} (its version and its kinds) is lost or can't be read, so r{revision} can't be \
         rendered again as it was published. What runs there stays as it is. Publish the workload again."
    )
}

/// The facts of a rendering as an artifact.
#[derive(Debug, Clone)]
pub(crate) struct FactsArtifact {
    /// Their digest.
    pub digest: Digest,
    /// Their bytes, which targets with equal facts share; `None` if they are lost.
    pub bytes: Option<Arc<[u8]>>,
}

struct FoundFacts {
    artifact: FactsArtifact,
    facts: RenderFacts,
}

/// `None` if they are not stored or can't be read.
async fn find_facts(tx: &mut Tx, digest: &Digest) -> Result<Option<FoundFacts>, Error> {
    let Some(bytes) = store::artifact::get(tx, digest).await? else { return Ok(None) };
    let facts = RenderFacts::from_bytes(&bytes);
    let artifact = FactsArtifact { digest: digest.clone(), bytes: Some(bytes.into()) };
    Ok(facts.map(|facts| FoundFacts { artifact, facts }))
}

/// The selected clusters of a revision with the facts that it is rendered with.
#[derive(Default)]
pub(super) struct TargetClusters {
    /// The clusters, by name.
    pub clusters: Vec<Cluster>,
    /// The present facts of those that are rendered with earlier ones.
    pub reported: HashMap<ClusterId, ClusterFacts>,
    /// What each is rendered with; not of those that have reported nothing.
    artifacts: HashMap<ClusterId, FactsArtifact>,
    /// Digests of the facts in `reported`.
    present: HashMap<ClusterId, Digest>,
}

impl TargetClusters {
    /// Replaces the present facts of clusters by the recorded ones.
    pub async fn load(
        hub: &Hub,
        clusters: Vec<Cluster>,
        recorded: &HashMap<ClusterId, RecordedRendering>,
    ) -> Result<Self, Error> {
        let artifacts = run_blocking_in_place(|| to_artifacts(&clusters));
        let mut all = Self { clusters, artifacts, ..Self::default() };
        let mut found: HashMap<Digest, Option<FoundFacts>> = HashMap::new();
        let mut tx = None;
        for cluster in &mut all.clusters {
            let Some(earlier) = recorded.get(&cluster.id).map(|one| &one.facts) else { continue };
            if all.artifacts.get(&cluster.id).is_some_and(|present| present.digest == *earlier) {
                continue;
            }
            if !found.contains_key(earlier) {
                if tx.is_none() {
                    tx = Some(hub.read().await?);
                }
                let Some(tx) = &mut tx else { continue };
                found.insert(earlier.clone(), find_facts(tx, earlier).await?);
            }
            let Some(Some(found)) = found.get(earlier) else {
                tracing::error!(cluster = %cluster.id, facts = %earlier, "the facts of a rendering are lost");
                let lost = FactsArtifact { digest: earlier.clone(), bytes: None };
                all.artifacts.insert(cluster.id, lost);
                continue;
            };
            let present = std::mem::replace(&mut cluster.facts, found.facts.clone().into_facts());
            all.reported.insert(cluster.id, present);
            let before = all.artifacts.insert(cluster.id, found.artifact.clone());
            all.present.extend(before.map(|present| (cluster.id, present.digest)));
        }
        Ok(all)
    }

    /// Records with every target what it was rendered with; one without a bundle keeps what is recorded. A target whose recorded
    /// facts are lost fails: with the present ones it would change without a publish.
    pub fn record(&self, targets: &mut [ReleaseTarget], recorded: &HashMap<ClusterId, RecordedRendering>) {
        for target in targets {
            let before = recorded.get(&target.cluster);
            let artifact = self.artifacts.get(&target.cluster);
            if artifact.is_some_and(|artifact| artifact.bytes.is_none()) {
                target.fail(describe_lost_facts(&target.name, target.revision));
            }
            let has_bundle = matches!(target.rendered, RenderOutcome::Bundle(_));
            target.facts = artifact.filter(|_| has_bundle || before.is_some()).cloned();
            let is_frozen = self.reported.contains_key(&target.cluster);
            target.comparison = before.filter(|_| is_frozen).and_then(|before| before.comparison.clone());
        }
    }

    /// The clusters of those targets whose rendering was not compared yet with one with their present facts, which they have here.
    pub fn to_compare(
        &self,
        targets: &[ReleaseTarget],
        recorded: &HashMap<ClusterId, RecordedRendering>,
    ) -> Vec<Cluster> {
        let is_open = |target: &&ReleaseTarget| {
            let RenderOutcome::Bundle(bundle) = &target.rendered else { return false };
            let Some(present) = self.present.get(&target.cluster) else { return false };
            let before = recorded.get(&target.cluster);
            let compared = before.filter(|before| before.bundle.as_ref() == Some(bundle));
            let compared = compared.and_then(|before| before.comparison.as_ref());
            compared.is_none_or(|compared| compared.facts != *present)
        };
        let open: HashSet<ClusterId> = targets.iter().filter(is_open).map(|target| target.cluster).collect();
        let with_present = |cluster: &Cluster| {
            let facts = self.reported.get(&cluster.id).filter(|_| open.contains(&cluster.id))?;
            Some(Cluster { facts: facts.clone(), ..cluster.clone() })
        };
        self.clusters.iter().filter_map(with_present).collect()
    }

    /// The result of rendering a target with the present facts of its cluster; `None` while it is not known.
    pub fn compare(&self, target: &ReleaseTarget, present: &RenderOutcome) -> Option<FactsComparison> {
        let facts = self.present.get(&target.cluster)?.clone();
        let would = match present {
            RenderOutcome::Waiting(_) => return None,
            outcome if *outcome == target.rendered => {
                return Some(FactsComparison { facts, notice: String::new() });
            }
            RenderOutcome::Bundle(_) => "would render differently",
            RenderOutcome::Failed(_) => "could not be rendered",
        };
        let before = self.artifacts.get(&target.cluster)?.bytes.as_deref()?;
        let before = RenderFacts::from_bytes(before)?;
        let now = RenderFacts::from_reported(self.reported.get(&target.cluster)?);
        let changes = before.describe_changes(&now);
        let notice = format!(
            "It {would} since the cluster's facts changed ({changes}). It stays as it was published until the next publish."
        );
        Some(FactsComparison { facts, notice })
    }
}

/// How many of the latest distinct facts are compared before others are serialized: most clusters of a fleet report one of a few.
const COMPARED_FACTS: usize = 8;

/// The facts that clusters have reported, as artifacts. Equal ones are in memory once.
fn to_artifacts(clusters: &[Cluster]) -> HashMap<ClusterId, FactsArtifact> {
    let mut distinct: HashMap<Digest, Arc<[u8]>> = HashMap::new();
    let mut latest: VecDeque<(&ClusterFacts, FactsArtifact)> = VecDeque::new();
    let mut all = HashMap::with_capacity(clusters.len());
    for cluster in clusters.iter().filter(|cluster| cluster.facts.is_reported()) {
        let facts = &cluster.facts;
        let known = latest.iter().find(|(other, _)| renders_equally(facts, other));
        let artifact = known.map(|(_, artifact)| artifact.clone()).unwrap_or_else(|| {
            let bytes = RenderFacts::from_reported(facts).to_bytes();
            let digest = Digest::compute(&bytes);
            let bytes = distinct.entry(digest.clone()).or_insert_with(|| bytes.into()).clone();
            let artifact = FactsArtifact { digest, bytes: Some(bytes) };
            latest.truncate(COMPARED_FACTS - 1);
            latest.push_front((facts, artifact.clone()));
            artifact
        });
        all.insert(cluster.id, artifact);
    }
    all
}

/// Whether both facts are stored as the same bytes. Cheap, so false also where only permissions differ.
fn renders_equally(facts: &ClusterFacts, other: &ClusterFacts) -> bool {
    facts.kubernetes_version == other.kubernetes_version
        && facts.default_storage_class == other.default_storage_class
        && facts.default_ingress_class == other.default_ingress_class
        && facts.apis == other.apis
        && facts.architectures() == other.architectures()
}
