//! The manifests of a spec: files as they are written or as a commit has them, or a chart rendered for every distinct set of
//! inputs.
//!
//! Checks, plans and the placer use the same manifests. A rendering that is not there yet is not an error: the release waits
//! with the reason `WaitingForArtifact` (S4-9), and the placer runs again when it is.

use std::collections::{BTreeSet, HashMap};

use domain::chart::ChartVersion;
use domain::chart_values::ChartRelease;
use domain::cluster::Cluster;
use domain::manifest::{self, ParsedManifests};
use domain::placement::ClusterGroup;
use domain::project::Project;
use domain::release::stage::StageReason;
use domain::release::{Reason, RenderOutcome};
use domain::workload::{Source, WorkloadSpec};
use domain::{ClusterId, Digest, Finding, ProjectId};
use store::Tx;

use crate::blocking::run_blocking;
use crate::workload::InstalledReleases;
use crate::{Error, Hub};

mod chart;
mod generated;
mod git;
mod memory;
mod stored_files;

use memory::{ManifestsMemory, MemoryNeed, estimate_files, estimate_patches};

pub(crate) use chart::{RenderWait, unrendered};
pub(crate) use memory::estimate_compared;
pub(crate) use stored_files::record_need;

/// The manifests of a spec, by cluster.
#[derive(Debug, Clone, Default)]
pub(crate) struct SourceManifests {
    /// The distinct sets; the first one is what pages count and locate.
    sets: Vec<ManifestSet>,
    /// The set of each cluster, if there are several or not all clusters have one.
    by_cluster: Option<HashMap<ClusterId, ClusterManifests>>,
    /// What was found while a chart was rendered.
    findings: Vec<Finding>,
    /// The chart; `None` for files and for a chart that is not there yet.
    chart: Option<ChartVersion>,
    /// The project, whose locked values the chart was rendered with; `None` for files and for a chart that is not there yet.
    project: Option<Project>,
    /// The versions of Helm that rendered the sets.
    helm_versions: BTreeSet<String>,
    /// What is reserved for them.
    memory: ManifestsMemory,
}

/// Manifests that some clusters have in common.
#[derive(Debug, Clone, Default)]
struct ManifestSet {
    parsed: ParsedManifests,
    /// Digest of the inputs of the rendering; `None` for files.
    inputs: Option<Digest>,
}

/// The manifests of one cluster.
#[derive(Debug, Clone)]
enum ClusterManifests {
    /// The index of its set.
    Set(usize),
    /// There are none now.
    Missing(RenderOutcome),
}

impl SourceManifests {
    /// The manifests of files. It parses: call it off the async threads.
    pub fn parse_files(source: &Source) -> Self {
        let set = ManifestSet { parsed: manifest::parse(source.files()), inputs: None };
        Self { sets: vec![set], ..Self::default() }
    }

    /// The same with memory for the source that they are compared with, where they have none: nothing was rendered. Otherwise it is
    /// reserved together with theirs, so that no request has a part of the memory and waits for the rest.
    ///
    /// # Errors
    /// Others use the memory for longer than a request waits.
    pub async fn reserve_replaced(self, replaced: Option<&Source>, wait: RenderWait) -> Result<Self, Error> {
        let needed = replaced.map_or(0, |source| estimate_files(source).parsed);
        if needed == 0 || self.memory.is_reserved() {
            return Ok(self);
        }
        Ok(Self { memory: ManifestsMemory::reserve(needed, wait).await?, ..self })
    }

    /// The set that pages count and locate: that of the first cluster; empty if nothing is rendered.
    pub fn sample(&self) -> &ParsedManifests {
        static EMPTY: ParsedManifests = ParsedManifests { manifests: Vec::new(), findings: Vec::new() };
        self.sets.first().map_or(&EMPTY, |set| &set.parsed)
    }

    /// Every distinct set; one empty set if nothing is rendered.
    pub fn sets_or_empty(&self) -> impl Iterator<Item = &ParsedManifests> {
        let none = self.sets.is_empty().then(|| self.sample());
        self.sets.iter().map(|set| &set.parsed).chain(none)
    }

    /// Digests of the inputs of all renderings.
    pub fn inputs(&self) -> impl Iterator<Item = &Digest> {
        self.sets.iter().filter_map(|set| set.inputs.as_ref())
    }

    /// The project that the chart was rendered for.
    pub fn project(&self) -> Option<&Project> {
        self.project.as_ref()
    }

    /// The versions of Helm that rendered the chart; empty for files.
    pub fn helm_versions(&self) -> &BTreeSet<String> {
        &self.helm_versions
    }

    /// What was found while a chart was rendered.
    pub fn findings(&self) -> &[Finding] {
        &self.findings
    }

    /// The chart that was rendered.
    pub fn chart(&self) -> Option<&ChartVersion> {
        self.chart.as_ref()
    }

    /// The manifests of a cluster, or why there are none now.
    pub fn get(&self, cluster: ClusterId) -> Result<&ParsedManifests, RenderOutcome> {
        let Some(by_cluster) = &self.by_cluster else { return Ok(self.sample()) };
        match by_cluster.get(&cluster) {
            Some(ClusterManifests::Set(at)) => Ok(&self.sets[*at].parsed),
            Some(ClusterManifests::Missing(why)) => Err(why.clone()),
            None => Err(RenderOutcome::Waiting(StageReason::new(
                Reason::WaitingForArtifact,
                "The chart is not rendered for this cluster yet.",
            ))),
        }
    }

    /// The clusters by their set; without those that have none.
    pub fn group<'c>(&self, clusters: &[&'c Cluster]) -> Vec<(&ParsedManifests, Vec<&'c Cluster>)> {
        let Some(by_cluster) = &self.by_cluster else { return vec![(self.sample(), clusters.to_vec())] };
        let mut groups: Vec<Vec<&Cluster>> = vec![Vec::new(); self.sets.len()];
        for cluster in clusters {
            if let Some(ClusterManifests::Set(at)) = by_cluster.get(&cluster.id) {
                groups[*at].push(cluster);
            }
        }
        let sets = self.sets.iter().map(|set| &set.parsed);
        sets.zip(groups).filter(|(_, clusters)| !clusters.is_empty()).collect()
    }
}

/// The project of a workload with one of these sources. Files have no values that it can lock, so that one that can't be read does
/// not stop them.
pub(crate) async fn load_project(
    tx: &mut Tx,
    id: ProjectId,
    sources: &[&Source],
) -> Result<Option<Project>, Error> {
    if sources.iter().all(|source| matches!(source, Source::Yaml { .. })) {
        return Ok(None);
    }
    Ok(Some(store::project::get(tx, id).await?))
}

/// A spec whose manifests are loaded.
#[derive(Debug, Clone, Copy)]
pub(crate) struct ManifestsQuery<'a> {
    /// Name of the workload.
    pub workload: &'a str,
    /// Number of the revision.
    pub revision: u32,
    /// The spec.
    pub spec: &'a WorkloadSpec,
    /// Every cluster group.
    pub groups: &'a [ClusterGroup],
    /// The project of the workload, of [`load_project`] in the same transaction.
    pub project: Option<&'a Project>,
    /// The clusters to render for with their facts, by name.
    pub clusters: &'a [Cluster],
    /// Names of all target clusters, sorted.
    pub targets: &'a [String],
    /// What the clusters have of the workload.
    pub installed: &'a InstalledReleases,
    /// The published source that is compared with this one while its manifests exist; `None` if nothing is compared.
    pub replaced: Option<&'a Source>,
}

impl ManifestsQuery<'_> {
    /// What is needed beside the manifests of the source: for those of the replaced one, and for what the overrides add.
    fn other_need(&self) -> MemoryNeed {
        let replaced = self.replaced.map(estimate_files).unwrap_or_default();
        // They are compared as they are written.
        let replaced = MemoryNeed { filled: 0, ..replaced };
        replaced.and(estimate_patches(&self.spec.overrides))
    }
}

impl Hub {
    /// Loads the manifests of a spec. A chart is rendered where that has not been done before with the same inputs.
    pub(crate) async fn load_manifests(
        &self,
        query: ManifestsQuery<'_>,
        wait: RenderWait,
    ) -> Result<SourceManifests, Error> {
        let manifests = Box::pin(self.load_source_manifests(query, wait)).await?;
        manifests.reserve_replaced(query.replaced, wait).await
    }

    async fn load_source_manifests(
        &self,
        query: ManifestsQuery<'_>,
        wait: RenderWait,
    ) -> Result<SourceManifests, Error> {
        match &query.spec.source {
            source @ Source::Yaml { .. } => {
                let needed = estimate_files(source).and(query.other_need());
                let memory = ManifestsMemory::reserve(needed.bytes(), wait).await?;
                let source = source.clone();
                run_blocking(move || SourceManifests { memory, ..SourceManifests::parse_files(&source) })
                    .await
            }
            Source::Chart(source) => {
                let release = ChartRelease {
                    workload: query.workload,
                    revision: query.revision,
                    spec: query.spec,
                    source,
                    groups: query.groups,
                    project: query.project,
                    targets: query.targets,
                    installed: &query.installed.revisions,
                };
                self.load_chart_manifests(&release, query, wait).await
            }
            Source::Git(source) | Source::Oci(source) => {
                Box::pin(self.load_git_manifests(source, query, wait)).await
            }
        }
    }
}
