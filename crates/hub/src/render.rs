//! Renders the release of every selected cluster; the plan and the placer use the same functions.

use std::collections::{BTreeMap, BTreeSet, HashMap};
use std::sync::Arc;

use domain::bundle::Bundle;
use domain::chart_values::ChartRelease;
use domain::cluster::{Cluster, ClusterFacts};
use domain::exposure::{collect_exposures, release_exposure};
use domain::placement::{ClusterGroup, Decision};
use domain::project::Project;
use domain::release::stage::StageReason;
use domain::release::{FactsComparison, Reason, RenderOutcome};
use domain::render::{BundleRenderer, RenderError};
use domain::rollout::RolloutStrategy;
use domain::workload::{HelmReleasePolicy, Policies, Revision, Source};
use domain::{ClusterId, Digest, Finding, rollout};
use source::requester::run_for_requester;

use crate::blocking::run_blocking;
use crate::manifests::{ManifestsQuery, RenderWait, SourceManifests};
use crate::workload::{InstalledReleases, in_decision_order};
use crate::{Actor, Error, Hub};

mod facts;
mod memory;

use facts::TargetClusters;
pub(crate) use facts::{FactsArtifact, RecordedRendering, recorded_facts, restore_facts};
pub(crate) use memory::BundlesMemory;
#[cfg(test)]
pub(crate) use memory::MEMORY_TESTS;

/// The release of one selected cluster.
#[derive(Debug, Clone)]
pub(crate) struct ReleaseTarget {
    pub cluster: ClusterId,
    pub name: String,
    pub reach: domain::cluster::Connectivity,
    pub revision: u32,
    /// Its wave, if the rollout has waves.
    pub wave: Option<u32>,
    pub policies: Policies,
    pub rendered: RenderOutcome,
    /// The bundle's bytes, to be stored under its digest. Targets with equal bundles share them. `None` without a bundle, and if they
    /// are not retained.
    pub bytes: Option<(Digest, Arc<[u8]>)>,
    /// The bundle's exposures, sorted; `None` without a bundle.
    pub exposures: Option<Vec<store::exposure::ExposureRow>>,
    /// The facts that it is rendered with from now on, to be stored under their digest; `None` without a bundle and in a plan.
    pub facts: Option<FactsArtifact>,
    /// What the present facts would change.
    pub comparison: Option<FactsComparison>,
}

impl ReleaseTarget {
    /// Leaves the target without a bundle, for this reason.
    fn fail(&mut self, message: String) {
        self.rendered = RenderOutcome::Failed(StageReason::new(Reason::RenderFailed, message));
        (self.bytes, self.exposures) = (None, None);
    }
}

/// Existing groups, project, wave assignments and renderings.
#[derive(Debug, Default)]
pub(crate) struct CurrentReleases {
    /// Every cluster group.
    pub groups: Vec<ClusterGroup>,
    /// The project of the workload, unless its source is files.
    pub project: Option<Project>,
    /// The assigned waves in the rollout of this revision.
    pub waves: HashMap<ClusterId, u32>,
    /// What the clusters have of the workload.
    pub installed: InstalledReleases,
    /// What earlier passes recorded for this revision, by cluster.
    pub recorded: HashMap<ClusterId, RecordedRendering>,
}

/// The rendered releases of a revision.
pub(crate) struct RenderedTargets {
    /// The release of each selected cluster.
    pub targets: Vec<ReleaseTarget>,
    /// Digests of the inputs of the renderings of its chart.
    pub chart_inputs: Vec<Digest>,
    /// The versions of Helm that made them.
    pub helm_versions: BTreeSet<String>,
}

/// A revision that is rendered, and what its rendering depends on besides the facts of clusters.
struct RevisionRendering {
    workload: String,
    revision: Revision,
    groups: Vec<ClusterGroup>,
    project: Option<Project>,
    waves: HashMap<ClusterId, u32>,
    installed: InstalledReleases,
    /// The selected clusters, in the order of the decision.
    selected: Vec<ClusterId>,
    /// Their names, sorted.
    names: Vec<String>,
}

impl RevisionRendering {
    async fn load_manifests(&self, hub: &Hub, clusters: &[Cluster]) -> Result<SourceManifests, Error> {
        let query = ManifestsQuery {
            workload: &self.workload,
            revision: self.revision.number,
            spec: &self.revision.spec,
            groups: &self.groups,
            project: self.project.as_ref(),
            clusters,
            targets: &self.names,
            installed: &self.installed,
            replaced: None,
        };
        let requester = self.find_requester(hub).await?;
        let load = Box::pin(hub.load_manifests(query, RenderWait::Placer(self.revision.workload)));
        run_for_requester(requester, load).await
    }

    /// In whose turns is fetched what is not stored: those of who published the revision, or of who created the workload if a new commit
    /// published it.
    async fn find_requester(&self, hub: &Hub) -> Result<String, Error> {
        let Revision { workload, author, spec, .. } = &self.revision;
        if matches!(spec.source, Source::Yaml { .. }) || *author != Actor::system().name {
            return Ok(author.clone());
        }
        let mut tx = hub.read().await?;
        let creator = store::workload::get_creator(&mut tx, *workload).await?;
        Ok(creator.unwrap_or_else(|| author.clone()))
    }

    /// Renders the release of those of the selected clusters that are given.
    fn render(
        &self,
        manifests: &SourceManifests,
        clusters: &[Cluster],
        reported: &HashMap<ClusterId, ClusterFacts>,
        retained: RetainedBundles<'_>,
    ) -> Vec<ReleaseTarget> {
        let rendering = BundleRenderer {
            workload: &self.workload,
            revision: self.revision.number,
            spec: &self.revision.spec,
            parsed: manifests.sample(),
            groups: &self.groups,
            targets: &self.names,
        };
        let ordered = in_decision_order(&self.selected, clusters);
        render_clusters(&rendering, manifests, &ordered, (&self.waves, reported), retained)
    }
}

/// Loads the selected clusters and renders the revision for each, off the async threads. Assigned waves stay, and so do the facts
/// that the revision was first rendered with: changed ones are compared, and delivered by the next publish.
pub(crate) async fn render_targets(
    hub: &Hub,
    workload: &str,
    revision: Revision,
    decision: &Decision,
    CurrentReleases { groups, project, waves, installed, recorded }: CurrentReleases,
) -> Result<RenderedTargets, Error> {
    let selected: Vec<ClusterId> = decision.selected().map(|evaluation| evaluation.cluster).collect();
    let mut tx = hub.read().await?;
    let clusters = store::cluster::get_many_with_facts(&mut tx, &selected).await?;
    drop(tx);
    let names = clusters.iter().map(|cluster| cluster.name.clone()).collect();
    let name = workload.to_owned();
    let rendering = Arc::new(RevisionRendering {
        workload: name,
        revision,
        groups,
        project,
        waves,
        installed,
        selected,
        names,
    });
    let clusters = Arc::new(TargetClusters::load(hub, clusters, &recorded).await?);
    let manifests = rendering.load_manifests(hub, &clusters.clusters).await?;
    let chart_inputs = manifests.inputs().cloned().collect();
    let helm_versions = manifests.helm_versions().clone();
    let (render, of) = (rendering.clone(), clusters.clone());
    let render_all = move || render.render(&manifests, &of.clusters, &of.reported, RetainedBundles::Bytes);
    let mut targets = run_blocking(render_all).await?;
    clusters.record(&mut targets, &recorded);
    let open = clusters.to_compare(&targets, &recorded);
    if !open.is_empty() {
        match Box::pin(render_outcomes(hub, rendering, open)).await {
            Ok(present) => {
                for target in &mut targets {
                    let compared = present.get(&target.cluster).and_then(|one| clusters.compare(target, one));
                    target.comparison = compared.or_else(|| target.comparison.take());
                }
            }
            Err(error) if error.is_outage() => return Err(error),
            // It decides nothing: the next pass compares again.
            Err(error) => tracing::warn!(%error, %workload, "present facts could not be compared"),
        }
    }
    Ok(RenderedTargets { targets, chart_inputs, helm_versions })
}

/// The result of rendering these clusters with the facts that they have.
async fn render_outcomes(
    hub: &Hub,
    rendering: Arc<RevisionRendering>,
    clusters: Vec<Cluster>,
) -> Result<HashMap<ClusterId, RenderOutcome>, Error> {
    let manifests = rendering.load_manifests(hub, &clusters).await?;
    let none = HashMap::new();
    let render_all = move || rendering.render(&manifests, &clusters, &none, RetainedBundles::Digests);
    let targets = run_blocking(render_all).await?;
    Ok(targets.into_iter().map(|target| (target.cluster, target.rendered)).collect())
}

/// Renders the release of each of these clusters from its manifests, in the order of the decision. Assigned waves stay.
/// `reported` are the present facts of clusters that have earlier ones.
pub(crate) fn render_clusters(
    rendering: &BundleRenderer<'_>,
    manifests: &SourceManifests,
    clusters: &[&Cluster],
    (assigned, reported): (&HashMap<ClusterId, u32>, &HashMap<ClusterId, ClusterFacts>),
    retained: RetainedBundles<'_>,
) -> Vec<ReleaseTarget> {
    let waves = assign_waves(&rendering.spec.rollout, clusters, rendering.groups, assigned);
    let release = release_exposure(rendering.spec, rendering.workload);
    let release = release.map(|release| (release.conflict_key(), release.class));
    let mut bundles = SharedBundles { retained, by_digest: HashMap::new(), release };
    let render = |(cluster, wave): (&&Cluster, Option<u32>)| {
        let rendered = manifests
            .get(cluster.id)
            .and_then(|parsed| {
                let reported = reported.get(&cluster.id).unwrap_or(&cluster.facts);
                render_bundle(&BundleRenderer { parsed: &parsed, ..*rendering }, cluster, reported)
            })
            .and_then(|bundle| add_helm_release(bundle, rendering, manifests, cluster));
        to_target(rendering, cluster, wave, rendered.map(|bundle| bundles.insert(&bundle)))
    };
    clusters.iter().zip(waves).map(render).collect()
}

/// What of rendered bundles is in memory until all clusters are rendered.
pub(crate) enum RetainedBundles<'a> {
    /// The bytes of every distinct bundle, to be stored.
    Bytes,
    /// The same as far as there is memory for them: who has it asks whether it was refused.
    BytesWithin(&'a mut BundlesMemory),
    /// Nothing but digests, of which one bundle after the other is rendered.
    Digests,
}

/// The bytes of the bundles rendered so far: a bundle of 4 MiB that is the same on thousands of clusters is in memory once.
struct SharedBundles<'a> {
    retained: RetainedBundles<'a>,
    by_digest: HashMap<Digest, Arc<[u8]>>,
    /// The release of the workload, which every bundle exposes.
    release: Option<store::exposure::ExposureRow>,
}

/// A rendered bundle, as it is stored.
struct StoredBundle {
    digest: Digest,
    /// `None` if they are not retained.
    bytes: Option<Arc<[u8]>>,
    exposures: Vec<store::exposure::ExposureRow>,
}

impl SharedBundles<'_> {
    fn insert(&mut self, bundle: &Bundle) -> StoredBundle {
        let bytes = bundle.to_bytes();
        let digest = Digest::compute(&bytes);
        let is_retained = self.by_digest.contains_key(&digest)
            || match &mut self.retained {
                RetainedBundles::Bytes => true,
                RetainedBundles::BytesWithin(memory) => memory.try_extend(bytes.len()),
                RetainedBundles::Digests => false,
            };
        let bytes =
            is_retained.then(|| self.by_digest.entry(digest.clone()).or_insert_with(|| bytes.into()).clone());
        StoredBundle { digest, bytes, exposures: bundle_exposures(bundle, self.release.as_ref()) }
    }
}

/// The waves of these clusters. A cluster that joined after the publish and matches no wave is in the last one.
fn assign_waves(
    strategy: &RolloutStrategy,
    clusters: &[&Cluster],
    groups: &[ClusterGroup],
    assigned: &HashMap<ClusterId, u32>,
) -> Vec<Option<u32>> {
    if strategy.is_at_once() {
        return vec![None; clusters.len()];
    }
    let last = u32::try_from(strategy.waves.len() - 1).unwrap_or(u32::MAX);
    let waves = rollout::assign_waves(strategy, clusters, groups, assigned);
    waves.into_iter().map(|wave| wave.or(Some(last))).collect()
}

fn to_target(
    rendering: &BundleRenderer<'_>,
    cluster: &Cluster,
    wave: Option<u32>,
    rendered: Result<StoredBundle, RenderOutcome>,
) -> ReleaseTarget {
    let (rendered, bytes, exposures) = match rendered {
        Ok(StoredBundle { digest, bytes, exposures }) => {
            (RenderOutcome::Bundle(digest.clone()), bytes.map(|bytes| (digest, bytes)), Some(exposures))
        }
        Err(not_rendered) => (not_rendered, None, None),
    };
    ReleaseTarget {
        cluster: cluster.id,
        name: cluster.name.clone(),
        reach: cluster.release_connectivity(),
        revision: rendering.revision,
        wave,
        policies: rendering.spec.policies.clone(),
        rendered,
        bytes,
        exposures,
        facts: None,
        comparison: None,
    }
}

fn bundle_exposures(
    bundle: &Bundle,
    release: Option<&store::exposure::ExposureRow>,
) -> Vec<store::exposure::ExposureRow> {
    let exposures = collect_exposures(&bundle.objects);
    let exposures = exposures.into_iter().map(|exposure| (exposure.conflict_key(), exposure.class));
    let mut rows: Vec<_> = exposures.chain(release.cloned()).collect();
    rows.sort();
    rows.dedup();
    rows
}

fn render_bundle(
    rendering: &BundleRenderer<'_>,
    cluster: &Cluster,
    reported: &ClusterFacts,
) -> Result<Bundle, RenderOutcome> {
    if rendering.spec.addon && !cluster.facts.is_reported() {
        // S4-3: an addon may install what makes a cluster ready, so it waits only for the facts from its API server.
        return Err(RenderOutcome::Waiting(StageReason::new(
            Reason::WaitingForCluster,
            format!(
                "{} has not reported its facts yet. The addon is deployed there once it has.",
                cluster.name
            ),
        )));
    }
    rendering.render_frozen_bundle(cluster, reported).map_err(to_outcome)
}

/// Adds what Helm's record says of the release, if the policy is to keep one.
fn add_helm_release(
    bundle: Bundle,
    rendering: &BundleRenderer<'_>,
    manifests: &SourceManifests,
    cluster: &Cluster,
) -> Result<Bundle, RenderOutcome> {
    let &BundleRenderer { workload, revision, spec, groups, targets, .. } = rendering;
    let source = spec.source.helm_source();
    let (Some(source), Some(chart)) = (source, manifests.chart()) else { return Ok(bundle) };
    if spec.policies.helm_release == HelmReleasePolicy::None {
        return Ok(bundle);
    }
    let installed = BTreeMap::new(); // Values do not depend on it.
    let release = ChartRelease {
        workload,
        revision,
        spec,
        source: &source,
        groups,
        project: manifests.project(),
        targets,
        installed: &installed,
    };
    let helm_release = release.helm_release(chart, cluster).map_err(to_outcome)?;
    Ok(Bundle { helm_release: Some(helm_release), ..bundle })
}

/// The outcome of a rendering without a bundle.
pub(crate) fn to_outcome(error: RenderError) -> RenderOutcome {
    match error {
        RenderError::Rejected(findings) => {
            let blocking = findings.iter().filter(|finding| finding.is_blocking());
            RenderOutcome::Failed(findings_reason(Reason::RenderFailed, blocking))
        }
        RenderError::Waiting(findings) => {
            RenderOutcome::Waiting(findings_reason(Reason::WaitingForValue, findings.iter()))
        }
    }
}

pub(crate) fn findings_reason<'a>(
    reason: Reason,
    findings: impl Iterator<Item = &'a Finding>,
) -> StageReason {
    let texts: Vec<String> =
        findings.map(|finding| format!("{} {}", finding.message, finding.hint)).collect();
    StageReason::new(reason, texts.join(" "))
}

#[cfg(test)]
mod tests {
    use domain::remote::{GitContent, PinnedCommit, RemoteSource};
    use domain::workload::{NewWorkload, SourceFile, WorkloadSpec};

    use super::*;
    use crate::fair_queue::QueueKey;
    use crate::{Clock, HubConfig};

    const URL: &str = "https://git.example.com/deploy.git";

    /// A source whose content is not stored.
    fn git_source(hub: &Hub) -> Source {
        let pinned = PinnedCommit {
            commit: "a".repeat(40),
            tree: "b".repeat(40),
            digest: Digest::compute(b"manifests"),
            content: GitContent::Manifests,
            files: 1,
            author: String::new(),
            subject: String::new(),
            committed_at: hub.clock().now(),
        };
        let source = RemoteSource {
            repository: URL.to_owned(),
            reference: "main".to_owned(),
            pinned: Some(pinned),
            ..RemoteSource::default()
        };
        Source::Git(Box::new(source))
    }

    /// Why the placer has no manifests of a revision by this author.
    async fn load_failure(hub: &Hub, author: &str) -> String {
        let workload = hub.get_workload("web").await.unwrap().workload.id;
        let spec = WorkloadSpec { source: git_source(hub), ..WorkloadSpec::default() };
        let revision = Revision {
            workload,
            number: 1,
            spec,
            author: author.to_owned(),
            message: String::new(),
            created_at: hub.clock().now(),
            helm_versions: Vec::new(),
        };
        let rendering = RevisionRendering {
            workload: "web".to_owned(),
            revision,
            groups: Vec::new(),
            project: None,
            waves: HashMap::new(),
            installed: InstalledReleases::default(),
            selected: Vec::new(),
            names: Vec::new(),
        };
        let manifests = Box::pin(rendering.load_manifests(hub, &[])).await.unwrap();
        manifests.findings()[0].message.clone()
    }

    #[tokio::test]
    async fn p20_the_placer_fetches_in_the_turns_of_who_published_a_revision_or_created_its_workload() {
        let folder = tempfile::tempdir().unwrap();
        let database = format!("sqlite://{}", folder.path().join("flotilla.db").display());
        let hub = Hub::open(HubConfig::new(database, Clock::system())).await.unwrap();
        let eve = Actor { name: "eve".to_owned(), ..Actor::system() };
        let text = "apiVersion: v1\nkind: ConfigMap\nmetadata: {name: web}\n".to_owned();
        let source = Source::Yaml { files: vec![SourceFile { name: "app.yaml".to_owned(), text }] };
        let spec = WorkloadSpec { namespace: "shop".to_owned(), source, ..WorkloadSpec::default() };
        let new = NewWorkload { name: "web".to_owned(), spec, ..NewWorkload::default() };
        Box::pin(hub.create_workload(&eve, new)).await.unwrap();

        // As much waits of eve as may.
        let commits = &hub.fetch_queues().commits;
        let of_eve = |n: u32| commits.enqueue(&QueueKey::new("user eve", format!("{n}.example.com")));
        let positions: Vec<_> = (0..).map(of_eve).take_while(Result::is_ok).collect();
        for author in ["eve", "flotilla"] {
            let failure = load_failure(&hub, author).await;
            assert!(failure.contains("requests of the same user are waiting"), "{author}: {failure}");
        }
        let failure = load_failure(&hub, "ada").await;
        assert!(failure.contains("This server can't read Git repositories"), "{failure}");
        drop(positions);
    }
}
