//! Manifests of charts: the inputs per cluster, the stored renderings, and the runs of Helm that are missing.

use std::collections::{BTreeMap, BTreeSet, HashMap};
use std::sync::Arc;
use std::time::Duration;

use domain::chart_hooks::{check_hooks, leave_out_parts};
use domain::chart_values::ChartRelease;
use domain::cluster::Cluster;
use domain::finding::{limit_findings, merge_clusters};
use domain::generated_values::GeneratedFields;
use domain::manifest;
use domain::manifest_work;
use domain::release::{Reason, RenderOutcome};
use domain::workload::{Policies, SourceFile};
use domain::{ClusterId, Digest, Finding, WorkloadId};
use source::requester::current_turn;
use store::chart::ChartRendering;
use store::run_blocking_in_place;

use super::generated::ParsedRendering;
use super::stored_files::StoredFiles;
use super::{ClusterManifests, ManifestsQuery, SourceManifests};
use crate::blocking::run_blocking;
use crate::chart::{
    RenderingFailure, ReservedInputs, SharedRendering, StoredChart, accept_rendering, too_many_renderings,
};
use crate::fair_queue::QueueKey;
use crate::render::findings_reason;
use crate::{Error, Hub};

mod inputs;

use inputs::{BuiltInputs, InputsByCluster, build_inputs, collect_inputs};

/// How long a request waits for renderings: less than what proxies allow.
const REQUEST_WAIT: Duration = Duration::from_secs(25);
/// How long the placer waits for renderings before it goes on with other workloads.
const PLACER_WAIT: Duration = Duration::from_secs(2);
/// When a workload is placed again whose renderings were not accepted, because too many waited.
const PLACER_RETRY: Duration = Duration::from_secs(30);

/// The stored renderings by the digest of their inputs, or why there is none.
type Renderings = BTreeMap<Digest, Result<ChartRendering, RenderingFailure>>;

/// Who waits for renderings that are not there yet.
#[derive(Debug, Clone, Copy)]
pub(crate) enum RenderWait {
    /// A request of a user.
    Request,
    /// The placer, for this workload: it is marked dirty once they are there.
    Placer(WorkloadId),
}

impl RenderWait {
    /// How long it waits.
    pub(crate) const fn limit(self) -> Duration {
        match self {
            Self::Request => REQUEST_WAIT,
            Self::Placer(_) => PLACER_WAIT,
        }
    }

    /// In whose turn renderings for this workload are done: every user has turns, and so has the placer.
    pub(crate) fn queue_key(self, workload: &str) -> QueueKey {
        QueueKey::new(self.turn(), workload)
    }

    /// Whose turns and share that are.
    pub(super) fn turn(self) -> String {
        match self {
            Self::Request => current_turn(),
            Self::Placer(_) => "placer".to_owned(),
        }
    }
}

impl Hub {
    /// The manifests of a chart for the clusters of a query; without clusters, the one set of its common values.
    pub(super) async fn load_chart_manifests(
        &self,
        release: &ChartRelease<'_>,
        query: ManifestsQuery<'_>,
        wait: RenderWait,
    ) -> Result<SourceManifests, Error> {
        let chart = match self.find_source_chart(release.source, wait).await? {
            Ok(chart) => chart,
            Err(failure) => return Ok(unrendered(query.clusters, failure)),
        };
        self.render_chart_manifests(release, &chart, query, wait).await
    }

    /// The same for a chart that is there.
    pub(super) async fn render_chart_manifests(
        &self,
        release: &ChartRelease<'_>,
        stored: &StoredChart,
        query: ManifestsQuery<'_>,
        wait: RenderWait,
    ) -> Result<SourceManifests, Error> {
        let StoredChart { version: chart, lost } = stored;
        let clusters = query.clusters;
        let mut inputs = collect_inputs(release, chart, clusters, wait).await?;
        if let Some(exceeded) = inputs.exceeded.take() {
            let failure = RenderingFailure { findings: vec![exceeded], reason: Reason::RenderFailed };
            return Ok(unrendered(clusters, failure));
        }
        let renderings = self.load_renderings(release, stored, (clusters, &inputs), wait).await?;
        // The placer decides by the renderings alone. The archive is read before the manifests have their memory, which comes after that of
        // archives (`source::memory_budget`).
        let unknown = match (wait, lost) {
            (RenderWait::Request, None) => self.find_unknown_values(release, chart).await?,
            (RenderWait::Request, Some(_)) | (RenderWait::Placer(_), _) => Vec::new(),
        };
        let mut manifests = Box::pin(self.collect_manifests(query, inputs, renderings, wait)).await?;
        manifests.findings.extend(unknown);
        // The placer decides by the renderings alone.
        if matches!(wait, RenderWait::Request) && lost.is_none() {
            run_blocking_in_place(|| release.name_origins(&mut manifests.findings, clusters));
        }
        Ok(SourceManifests { chart: Some(chart.clone()), project: release.project.cloned(), ..manifests })
    }

    /// The stored rendering of each of the inputs, or why there is none now. What is not there is rendered as long as this is awaited,
    /// and longer if it takes longer than the wait. Nothing is rendered from a chart whose archive is lost.
    async fn load_renderings(
        &self,
        release: &ChartRelease<'_>,
        stored: &StoredChart,
        (clusters, inputs): (&[Cluster], &InputsByCluster),
        wait: RenderWait,
    ) -> Result<Renderings, Error> {
        let mut found = Renderings::new();
        let mut tx = self.read().await?;
        for digest in inputs.distinct.keys() {
            if let Some(rendering) = store::chart::get_rendering(&mut tx, digest).await? {
                found.insert(digest.clone(), accept_rendering(rendering));
            }
        }
        drop(tx);
        let open: Vec<Digest> =
            inputs.distinct.keys().filter(|digest| !found.contains_key(*digest)).cloned().collect();
        if let Some(lost) = &stored.lost {
            found.extend(open.into_iter().map(|digest| (digest, Err(lost.clone()))));
            return Ok(found);
        }
        if open.is_empty() {
            return Ok(found);
        }
        let built = build_inputs(release, &stored.version, (clusters, inputs), open, wait).await?;
        let (requested, is_refused) = self.request_renderings(release.workload, built, &mut found, wait)?;
        if requested.is_empty() && !is_refused {
            return Ok(found);
        }
        let all = futures::future::join_all(requested.iter().map(|(_, rendering)| rendering.clone()));
        let is_complete = tokio::time::timeout(wait.limit(), all).await.is_ok();
        for (digest, rendering) in &requested {
            let result = rendering.peek().cloned();
            found.insert(digest.clone(), result.unwrap_or_else(|| Err(RenderingFailure::in_progress())));
        }
        match wait {
            RenderWait::Placer(workload) if is_refused || !is_complete => {
                let retry_after = if is_refused { PLACER_RETRY } else { Duration::ZERO };
                self.mark_when_rendered(workload, requested, retry_after);
            }
            RenderWait::Placer(_) => {}
            RenderWait::Request if !is_complete => await_in_background(requested),
            RenderWait::Request => {}
        }
        Ok(found)
    }

    /// Requests the renderings of these inputs; also whether too many wait, so that some are not accepted for the placer. Inputs without a
    /// rendering are added to `found`.
    fn request_renderings(
        &self,
        workload: &str,
        BuiltInputs { inputs, memory }: BuiltInputs,
        found: &mut Renderings,
        wait: RenderWait,
    ) -> Result<(Vec<(Digest, SharedRendering)>, bool), Error> {
        let key = wait.queue_key(workload);
        let memory = Arc::new(memory);
        let (mut requested, mut is_refused) = (Vec::new(), false);
        for (digest, inputs) in inputs {
            let inputs = match inputs {
                Ok(inputs) => ReservedInputs { inputs, memory: memory.clone() },
                Err(error) => {
                    let failure =
                        RenderingFailure { findings: error.into_findings(), reason: Reason::RenderFailed };
                    found.insert(digest, Err(failure));
                    continue;
                }
            };
            match (self.request_rendering(&digest, inputs, &key), wait) {
                (Ok(rendering), _) => requested.push((digest, rendering)),
                (Err(full), RenderWait::Request) => return Err(too_many_renderings(full)),
                (Err(full), RenderWait::Placer(_)) => {
                    is_refused = true;
                    found.insert(digest, Err(RenderingFailure::not_accepted(full)));
                }
            }
        }
        Ok((requested, is_refused))
    }

    /// Marks the workload dirty once all renderings have ended and this time has passed.
    fn mark_when_rendered(
        &self,
        workload: WorkloadId,
        requested: Vec<(Digest, SharedRendering)>,
        retry_after: Duration,
    ) {
        let hub = self.clone();
        tokio::spawn(async move {
            tokio::time::sleep(retry_after).await;
            futures::future::join_all(requested.into_iter().map(|(_, rendering)| rendering)).await;
            hub.mark_dirty_or_log(workload).await;
        });
    }

    /// Marks the workload dirty, because what it waits for is there.
    pub(crate) async fn mark_dirty_or_log(&self, workload: WorkloadId) {
        if let Err(error) = self.mark_dirty(workload).await {
            // The full pass of the placer finds it.
            tracing::warn!(%error, %workload, "a rendered workload could not be marked dirty");
        }
    }

    async fn mark_dirty(&self, workload: WorkloadId) -> Result<(), Error> {
        let mut tx = self.write().await?;
        store::queue::PLACER.mark(&mut tx, &[workload], self.clock().now()).await?;
        tx.commit().await?;
        self.signals().placer.notify_one();
        Ok(())
    }

    /// Reads and parses the rendered files. Generated values of objects that clusters have already stay as they are there.
    async fn collect_manifests(
        &self,
        query: ManifestsQuery<'_>,
        inputs: InputsByCluster,
        renderings: Renderings,
        wait: RenderWait,
    ) -> Result<SourceManifests, Error> {
        let InputsByCluster { mut distinct, missing, mut findings, .. } = inputs;
        let names: HashMap<ClusterId, &str> =
            query.clusters.iter().map(|cluster| (cluster.id, cluster.name.as_str())).collect();
        let mut by_cluster = missing;
        let (mut rendered, mut helm_versions) = (Vec::new(), BTreeSet::new());
        for (digest, rendering) in renderings {
            let clusters = distinct.remove(&digest).map(|one| one.clusters).unwrap_or_default();
            let named: Vec<String> =
                clusters.iter().filter_map(|id| names.get(id)).map(|name| (*name).to_owned()).collect();
            let on_clusters = |finding: Finding| match named.is_empty() {
                true => finding,
                false => finding.with_clusters(named.clone()),
            };
            match rendering {
                Ok(rendering) => {
                    let ChartRendering { files, generated, helm_version, findings: found, .. } = rendering;
                    findings.extend(found.into_iter().map(on_clusters));
                    helm_versions.insert(helm_version);
                    rendered
                        .push((files, RenderedFiles { inputs: digest, generated, clusters, names: named }));
                }
                Err(failure) => {
                    let outcome = failure.to_outcome();
                    findings.extend(failure.findings.into_iter().map(on_clusters));
                    by_cluster
                        .extend(clusters.iter().map(|id| (*id, ClusterManifests::Missing(outcome.clone()))));
                }
            }
        }
        let (digests, rendered): (Vec<Digest>, Vec<RenderedFiles>) = rendered.into_iter().unzip();
        let loaded = self.load_stored_files(&digests, query.other_need(), wait).await?;
        let (StoredFiles { texts, memory }, policies) = (loaded, query.spec.policies.clone());
        let parse = move || {
            rendered.into_iter().zip(texts).map(|(files, text)| files.parse(&text, &policies)).collect()
        };
        let parsed: Result<Vec<ParsedRendering>, serde_json::Error> = run_blocking(parse).await?;
        let mut sets = Vec::new();
        for rendering in parsed.map_err(|error| Error::Internal(Box::new(error)))? {
            let named = rendering.findings.iter().cloned().map(|found| match rendering.names.is_empty() {
                true => found,
                false => found.with_clusters(rendering.names.clone()),
            });
            findings.extend(named);
            let rendered = self.retain_generated_values(rendering, query).await?;
            findings.extend(rendered.findings);
            for (set, clusters) in rendered.sets {
                by_cluster.extend(clusters.into_iter().map(|id| (id, ClusterManifests::Set(sets.len()))));
                sets.push(set);
            }
            by_cluster
                .extend(rendered.missing.into_iter().map(|(id, why)| (id, ClusterManifests::Missing(why))));
        }
        let findings = limit_findings(merge_clusters(findings));
        let by_cluster = Some(by_cluster);
        Ok(SourceManifests {
            sets,
            by_cluster,
            findings,
            helm_versions,
            memory,
            ..SourceManifests::default()
        })
    }
}

/// Lets renderings go on although the request that they were for has been answered: it is repeated, and finds them.
fn await_in_background(requested: Vec<(Digest, SharedRendering)>) {
    tokio::spawn(futures::future::join_all(requested.into_iter().map(|(_, rendering)| rendering)));
}

/// A stored rendering, without its files, and the clusters that have its inputs.
struct RenderedFiles {
    inputs: Digest,
    generated: GeneratedFields,
    clusters: Vec<ClusterId>,
    /// Their names.
    names: Vec<String>,
}

impl RenderedFiles {
    /// Its manifests, from the JSON of its files.
    fn parse(self, text: &[u8], policies: &Policies) -> Result<ParsedRendering, serde_json::Error> {
        let Self { inputs, generated, clusters, names } = self;
        let files: Vec<SourceFile> = serde_json::from_slice(text)?;
        let mut parsed = manifest::parse(&files);
        let mut findings = leave_out_parts(&mut parsed, policies);
        findings.extend(check_hooks(&parsed));
        let is_explained = parsed.findings.iter().any(Finding::is_blocking);
        if !is_explained {
            findings.extend(manifest_work::check_fetched(&files, policies));
        }
        if parsed.manifests.is_empty() && !is_explained {
            let message = "The chart renders no Kubernetes object with these values.";
            let hint = "Change the values, or unpublish the workload if nothing should run.";
            findings.push(Finding::error("G109", message, hint));
        }
        Ok(ParsedRendering { inputs, parsed, generated, clusters, names, findings })
    }
}

/// No cluster has manifests, for one reason.
pub(crate) fn unrendered(clusters: &[Cluster], failure: RenderingFailure) -> SourceManifests {
    let (outcome, findings) = (failure.to_outcome(), failure.findings);
    let by_cluster = clusters.iter().map(|cluster| (cluster.id, ClusterManifests::Missing(outcome.clone())));
    let by_cluster = Some(by_cluster.collect());
    SourceManifests { by_cluster, findings, ..SourceManifests::default() }
}

impl RenderingFailure {
    /// Why a cluster has no manifests.
    fn to_outcome(&self) -> RenderOutcome {
        let reason = findings_reason(self.reason.clone(), self.findings.iter());
        match self.reason {
            Reason::WaitingForArtifact => RenderOutcome::Waiting(reason),
            _ => RenderOutcome::Failed(reason),
        }
    }
}

#[cfg(test)]
mod tests {
    use domain::chart::ChartSource;
    use domain::workload::{Source, WorkloadSpec};
    use flate2::Compression;
    use flate2::write::GzEncoder;
    use source::client_shares::{ARCHIVES_OF_USERS, MANIFESTS_OF_USERS};

    use super::*;
    use crate::chart::read_chart;
    use crate::workload::InstalledReleases;
    use crate::{Clock, HubConfig, run_for_requester};

    fn pack_chart() -> Vec<u8> {
        let mut builder = tar::Builder::new(GzEncoder::new(Vec::new(), Compression::fast()));
        let text = b"apiVersion: v2\nname: web\nversion: 1.0.0\n";
        let mut header = tar::Header::new_gnu();
        header.set_size(text.len() as u64);
        header.set_mode(0o644);
        builder.append_data(&mut header, "web/Chart.yaml", text.as_slice()).unwrap();
        builder.into_inner().unwrap().finish().unwrap()
    }

    #[tokio::test]
    async fn p19_a_check_that_waits_for_the_memory_of_an_archive_has_none_for_manifests() {
        let folder = tempfile::tempdir().unwrap();
        let database = format!("sqlite://{}", folder.path().join("flotilla.db").display());
        let hub = Hub::open(HubConfig::new(database, Clock::system())).await.unwrap();
        let archive = pack_chart();
        let now = hub.clock().now();
        let chart = read_chart("local", &archive, "ada".to_owned(), now).unwrap();
        // The archive is read for any text of values, also for one without a key.
        let source = ChartSource {
            chart: "local/web".to_owned(),
            version: "1.0.0".to_owned(),
            values: "# none\n".to_owned(),
            ..ChartSource::default()
        };
        let spec = WorkloadSpec { source: Source::Chart(source.clone()), ..WorkloadSpec::default() };
        let installed = InstalledReleases::default();
        let release = ChartRelease {
            workload: "web",
            revision: 1,
            spec: &spec,
            source: &source,
            groups: &[],
            project: None,
            targets: &[],
            installed: &installed.revisions,
        };
        // It is rendered already.
        let files = b"[]";
        let rendering = ChartRendering {
            inputs: release.sample_inputs(&chart).unwrap().digest(),
            chart: chart.digest.clone(),
            files: Digest::compute(files),
            helm_version: "v4.2.4".to_owned(),
            findings: Vec::new(),
            generated: GeneratedFields::default(),
        };
        let mut tx = hub.write().await.unwrap();
        store::artifact::put(&mut tx, &chart.digest, &archive, now).await.unwrap();
        store::artifact::put(&mut tx, &rendering.files, files, now).await.unwrap();
        store::chart::put_rendering(&mut tx, &rendering, now).await.unwrap();
        tx.commit().await.unwrap();
        let query = ManifestsQuery {
            workload: "web",
            revision: 1,
            spec: &spec,
            groups: &[],
            project: None,
            clusters: &[],
            targets: &[],
            installed: &installed,
            replaced: None,
        };
        let reserve =
            async |user: &str| ARCHIVES_OF_USERS.reserve(format!("user {user}"), u64::MAX).await.unwrap();
        let in_use = (reserve("oskar").await, reserve("paula").await);
        let stored = StoredChart::with_archive(chart);
        let check = hub.render_chart_manifests(&release, &stored, query, RenderWait::Request);
        let mut check = Box::pin(run_for_requester("wanda".to_owned(), check));
        while !ARCHIVES_OF_USERS.is_contended() {
            tokio::select! {
                result = &mut check => panic!("it has read no archive: {}", result.is_ok()),
                () = tokio::time::sleep(Duration::from_millis(1)) => {}
            }
        }
        let count_free = async |user: &str| {
            MANIFESTS_OF_USERS.reserve(format!("user {user}"), 0).await.unwrap().free_bytes()
        };
        assert_eq!(count_free("wanda").await, count_free("xenia").await);
        drop(in_use);
        let manifests = check.await.unwrap();
        assert!(manifests.memory.is_reserved());
    }
}
