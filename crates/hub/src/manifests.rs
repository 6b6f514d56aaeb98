//! The manifests of a spec: files as they are written or as a commit has them, or a chart rendered for every distinct set of
//! inputs.
//!
//! Checks, plans and the placer use the same manifests. A rendering that is not there yet is not an error: the release waits
//! with the reason `WaitingForArtifact` (S4-9), and the placer runs again when it is.

use std::borrow::Cow;
use std::collections::{BTreeSet, HashMap};
use std::sync::Arc;

use domain::chart::ChartVersion;
use domain::chart_values::ChartRelease;
use domain::cluster::Cluster;
use domain::generated_values::{GeneratedFields, GeneratedValues};
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

/// Reserves what the files of a source need while a request parses them, and the texts in them, by itself.
///
/// # Errors
/// Others use the memory for longer than a request waits.
pub(crate) async fn reserve_files(source: &Source) -> Result<ManifestsMemory, Error> {
    // A text in a file is parsed again, and what it is changed to beside it.
    const COPIES: u64 = 3;
    ManifestsMemory::reserve(COPIES * estimate_files(source).bytes(), RenderWait::Request).await
}

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
    /// As they are written or rendered. Sets of one rendering share them.
    parsed: Arc<ParsedManifests>,
    /// The generated values that the clusters have, in place of those of the rendering.
    retained: Option<RetainedValues>,
    /// Digest of the inputs of the rendering; `None` for files.
    inputs: Option<Digest>,
}

/// Generated values of some clusters, and the fields that they are for.
#[derive(Debug, Clone)]
struct RetainedValues {
    values: GeneratedValues,
    fields: Arc<GeneratedFields>,
}

impl ManifestSet {
    fn new(parsed: ParsedManifests, inputs: Option<Digest>) -> Self {
        Self { parsed: Arc::new(parsed), retained: None, inputs }
    }

    /// The manifests with the values that the clusters have. Those of many clusters differ: one copy after the other is in memory.
    fn read(&self) -> Cow<'_, ParsedManifests> {
        let Some(RetainedValues { values, fields }) = &self.retained else {
            return Cow::Borrowed(&*self.parsed);
        };
        let mut parsed = ParsedManifests::clone(&self.parsed);
        values.apply(fields, &mut parsed);
        Cow::Owned(parsed)
    }
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
        let set = ManifestSet::new(manifest::parse(source.files()), None);
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

    /// The set that pages count and locate: that of the first cluster, with the generated values of the rendering; empty if nothing is
    /// rendered.
    pub fn sample(&self) -> &ParsedManifests {
        static EMPTY: ParsedManifests = ParsedManifests { manifests: Vec::new(), findings: Vec::new() };
        self.sets.first().map_or(&EMPTY, |set| &*set.parsed)
    }

    /// Every distinct set, read when it is taken; one empty set if nothing is rendered.
    pub fn sets_or_empty(&self) -> impl Iterator<Item = Cow<'_, ParsedManifests>> {
        let none = self.sets.is_empty().then(|| Cow::Borrowed(self.sample()));
        self.sets.iter().map(ManifestSet::read).chain(none)
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
    pub fn get(&self, cluster: ClusterId) -> Result<Cow<'_, ParsedManifests>, RenderOutcome> {
        let Some(by_cluster) = &self.by_cluster else { return Ok(Cow::Borrowed(self.sample())) };
        match by_cluster.get(&cluster) {
            Some(ClusterManifests::Set(at)) => Ok(self.sets[*at].read()),
            Some(ClusterManifests::Missing(why)) => Err(why.clone()),
            None => Err(RenderOutcome::Waiting(StageReason::new(
                Reason::WaitingForArtifact,
                "The chart is not rendered for this cluster yet.",
            ))),
        }
    }

    /// The clusters by their set, which is read when it is taken; without those that have none.
    pub fn group<'s, 'c>(
        &'s self,
        clusters: &[&'c Cluster],
    ) -> impl Iterator<Item = (Cow<'s, ParsedManifests>, Vec<&'c Cluster>)> {
        let groups: Vec<(Option<&'s ManifestSet>, Vec<&'c Cluster>)> = match &self.by_cluster {
            None => vec![(self.sets.first(), clusters.to_vec())],
            Some(by_cluster) => {
                let mut groups: Vec<Vec<&'c Cluster>> = vec![Vec::new(); self.sets.len()];
                for &cluster in clusters {
                    if let Some(ClusterManifests::Set(at)) = by_cluster.get(&cluster.id) {
                        groups[*at].push(cluster);
                    }
                }
                let sets = self.sets.iter().map(Some).zip(groups);
                sets.filter(|(_, clusters)| !clusters.is_empty()).collect()
            }
        };
        groups.into_iter().map(move |(set, clusters)| {
            let parsed = set.map_or_else(|| Cow::Borrowed(self.sample()), ManifestSet::read);
            (parsed, clusters)
        })
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
        let replaced = MemoryNeed { parsed: replaced.parsed, ..MemoryNeed::default() };
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

#[cfg(test)]
mod tests {
    use domain::Timestamp;
    use domain::bundle::Bundle;
    use domain::cluster::ClusterKind;
    use domain::generated_values::{find_generated_fields, retain_generated_values};
    use domain::workload::SourceFile;

    use super::*;

    fn parse_secret(password: &str) -> ParsedManifests {
        let text = format!(
            "apiVersion: v1\nkind: Secret\nmetadata: {{name: db, namespace: shop}}\nstringData: {{password: {password}}}\n"
        );
        manifest::parse(&[SourceFile { name: "secret.yaml".to_owned(), text }])
    }

    fn read_password(parsed: &ParsedManifests) -> &str {
        parsed.manifests[0].object["stringData"]["password"].as_str().unwrap()
    }

    #[test]
    fn p19_clusters_with_generated_values_of_their_own_share_the_manifests_of_the_rendering() {
        let (rendered, again) = (parse_secret("abcdefgh"), parse_secret("ijklmnop"));
        let fields = Arc::new(find_generated_fields(&rendered, &again));
        let rendered = Arc::new(rendered);
        let cluster = |at: u128| {
            let (id, now) = (ClusterId::from_parts(1, at), Timestamp::from_millis(0));
            Cluster::new(id, format!("c{at}"), ClusterKind::Agent, now)
        };
        let clusters = [cluster(0), cluster(1)];
        let passwords = ["qrstuvwx", "yzabqrst"];
        let set = |password: &str| {
            let bundle = Bundle::new(parse_secret(password).objects());
            let values = retain_generated_values(&fields, &rendered, "shop", &bundle);
            let retained = Some(RetainedValues { values, fields: fields.clone() });
            ManifestSet { parsed: rendered.clone(), retained, inputs: None }
        };
        let by_cluster: HashMap<ClusterId, ClusterManifests> =
            clusters.iter().enumerate().map(|(at, one)| (one.id, ClusterManifests::Set(at))).collect();
        let sets: Vec<ManifestSet> = passwords.iter().map(|password| set(password)).collect();
        let manifests = SourceManifests { sets, by_cluster: Some(by_cluster), ..SourceManifests::default() };
        let shared = manifests.sets.iter().all(|set| Arc::ptr_eq(&set.parsed, &rendered));
        assert!(shared, "no cluster has a copy");
        for (cluster, password) in clusters.iter().zip(passwords) {
            assert_eq!(read_password(&manifests.get(cluster.id).unwrap()), password);
        }
        let selected: Vec<&Cluster> = clusters.iter().collect();
        let groups = manifests.group(&selected);
        let found: Vec<(String, usize)> =
            groups.map(|(parsed, clusters)| (read_password(&parsed).to_owned(), clusters.len())).collect();
        assert_eq!(found, passwords.map(|password| (password.to_owned(), 1)));
        assert_eq!(read_password(manifests.sample()), "abcdefgh", "that of the rendering");
    }
}
