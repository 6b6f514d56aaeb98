//! The facts that the releases of a revision are rendered with: those of its first rendering for each cluster.

use std::collections::{BTreeMap, HashMap, HashSet, VecDeque};
use std::sync::Arc;

use domain::cluster::{Cluster, ClusterFacts, RenderFacts};
use domain::release::{FactsComparison, Release, RenderOutcome};
use domain::{ClusterId, Digest};
use store::Tx;

use super::ReleaseTarget;
use crate::blocking::run_blocking_in_place;
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

/// Replaces the facts of a cluster by stored ones. Without them it keeps the present ones.
pub(crate) async fn restore_facts(tx: &mut Tx, cluster: &mut Cluster, facts: &Digest) -> Result<(), Error> {
    if let Some(stored) = read_facts(tx, facts).await? {
        cluster.facts = stored.facts.into_facts();
    }
    Ok(())
}

/// Facts in the form in which they are stored.
#[derive(Debug, Clone)]
pub(crate) struct StoredFacts {
    /// Their digest.
    pub digest: Digest,
    /// Their bytes, which targets with equal facts share.
    pub bytes: Arc<[u8]>,
}

struct ReadFacts {
    stored: StoredFacts,
    facts: RenderFacts,
}

async fn read_facts(tx: &mut Tx, digest: &Digest) -> Result<Option<ReadFacts>, Error> {
    let Some(bytes) = store::artifact::get(tx, digest).await? else { return Ok(None) };
    let facts = RenderFacts::from_bytes(&bytes);
    let stored = StoredFacts { digest: digest.clone(), bytes: bytes.into() };
    Ok(facts.map(|facts| ReadFacts { stored, facts }))
}

/// The selected clusters of a revision with the facts that it is rendered with.
#[derive(Default)]
pub(super) struct TargetClusters {
    /// The clusters, by name.
    pub clusters: Vec<Cluster>,
    /// The present facts of those that are rendered with earlier ones.
    pub reported: HashMap<ClusterId, ClusterFacts>,
    /// What each is rendered with; not of those that have reported nothing.
    stored: HashMap<ClusterId, StoredFacts>,
    /// Digests of the facts in `reported`.
    present: HashMap<ClusterId, Digest>,
}

impl TargetClusters {
    /// Replaces the present facts of clusters by the recorded ones. Recorded facts that are lost are replaced by the present ones:
    /// nothing else is known.
    pub async fn load(
        hub: &Hub,
        clusters: Vec<Cluster>,
        recorded: &HashMap<ClusterId, RecordedRendering>,
    ) -> Result<Self, Error> {
        let stored = run_blocking_in_place(|| store_facts(&clusters));
        let mut all = Self { clusters, stored, ..Self::default() };
        let mut read: HashMap<Digest, Option<ReadFacts>> = HashMap::new();
        let mut tx = None;
        for cluster in &mut all.clusters {
            let Some(earlier) = recorded.get(&cluster.id).map(|one| &one.facts) else { continue };
            if all.stored.get(&cluster.id).is_some_and(|present| present.digest == *earlier) {
                continue;
            }
            if !read.contains_key(earlier) {
                if tx.is_none() {
                    tx = Some(hub.read().await?);
                }
                let Some(tx) = &mut tx else { continue };
                read.insert(earlier.clone(), read_facts(tx, earlier).await?);
            }
            let Some(Some(found)) = read.get(earlier) else {
                tracing::warn!(cluster = %cluster.id, facts = %earlier, "the facts of an earlier rendering are lost; the present ones are used");
                continue;
            };
            let present = std::mem::replace(&mut cluster.facts, found.facts.clone().into_facts());
            all.reported.insert(cluster.id, present);
            let digest = all.stored.insert(cluster.id, found.stored.clone()).map(|present| present.digest);
            all.present.extend(digest.map(|digest| (cluster.id, digest)));
        }
        Ok(all)
    }

    /// Records with every target what it was rendered with; one without a bundle keeps what is recorded.
    pub fn record(&self, targets: &mut [ReleaseTarget], recorded: &HashMap<ClusterId, RecordedRendering>) {
        for target in targets {
            let before = recorded.get(&target.cluster);
            let has_bundle = matches!(target.rendered, RenderOutcome::Bundle(_));
            target.facts =
                self.stored.get(&target.cluster).filter(|_| has_bundle || before.is_some()).cloned();
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
        let before = RenderFacts::from_bytes(&self.stored.get(&target.cluster)?.bytes)?;
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

/// The facts that clusters have reported as they are stored. Equal ones are in memory once.
fn store_facts(clusters: &[Cluster]) -> HashMap<ClusterId, StoredFacts> {
    let mut distinct: HashMap<Digest, Arc<[u8]>> = HashMap::new();
    let mut latest: VecDeque<(&ClusterFacts, StoredFacts)> = VecDeque::new();
    let mut all = HashMap::with_capacity(clusters.len());
    for cluster in clusters.iter().filter(|cluster| cluster.facts.is_reported()) {
        let facts = &cluster.facts;
        let known = latest.iter().find(|(other, _)| renders_equally(facts, other));
        let stored = known.map(|(_, stored)| stored.clone()).unwrap_or_else(|| {
            let bytes = RenderFacts::from_reported(facts).to_bytes();
            let digest = Digest::compute(&bytes);
            let bytes = distinct.entry(digest.clone()).or_insert_with(|| bytes.into()).clone();
            let stored = StoredFacts { digest, bytes };
            latest.truncate(COMPARED_FACTS - 1);
            latest.push_front((facts, stored.clone()));
            stored
        });
        all.insert(cluster.id, stored);
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
