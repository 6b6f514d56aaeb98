//! The inputs of a chart for the clusters of a query. Of those of all clusters only the digests are in memory at once; what is not rendered yet
//! is built again once there is memory for it.

use std::collections::{BTreeMap, HashMap};

use domain::chart::{ChartInputs, ChartVersion};
use domain::chart_values::ChartRelease;
use domain::cluster::Cluster;
use domain::finding::{limit_findings, merge_clusters};
use domain::render::RenderError;
use domain::{ClusterId, Digest, Finding};
use source::client_shares::{CHART_VALUES_OF_USERS, ClientReservation};
use store::run_blocking_in_place;

use super::RenderWait;
use crate::Error;
use crate::manifests::ClusterManifests;
use crate::render::to_outcome;

/// Most distinct renderings of one publish: each is a run of Helm, and all are in memory at once.
const MAX_RENDERINGS: usize = 1_000;
/// Most bytes of the distinct values of one publish together: those whose renderings wait are in memory at once.
const MAX_VALUES_BYTES: usize = 64 << 20;
/// Findings of clusters that are merged before those of the next cluster are added.
const MERGED_AT_ONCE: usize = 20_000;
/// What an item of a list of APIs needs beside its text.
const LIST_ITEM_BYTES: usize = 32;

/// The inputs of all clusters.
#[derive(Default)]
pub(super) struct InputsByCluster {
    /// The distinct inputs by digest.
    pub distinct: BTreeMap<Digest, DistinctInputs>,
    /// The clusters without inputs, and why.
    pub missing: HashMap<ClusterId, ClusterManifests>,
    pub findings: Vec<Finding>,
    /// The limit that they exceed together: then not all clusters are read.
    pub exceeded: Option<Finding>,
}

/// Inputs that some clusters have.
pub(super) struct DistinctInputs {
    /// The position of the first of the clusters; `None` for inputs of the common values.
    first: Option<usize>,
    /// What the inputs need in memory.
    bytes: u64,
    /// The clusters that have them.
    pub clusters: Vec<ClusterId>,
}

/// Inputs that were built again, and the memory that is reserved for them.
pub(super) struct BuiltInputs {
    pub inputs: Vec<(Digest, Result<ChartInputs, RenderError>)>,
    pub memory: ClientReservation,
}

/// The inputs of every cluster; without clusters, those of the common values.
///
/// # Errors
/// Others use the memory for longer than a request waits.
pub(super) async fn collect_inputs(
    release: &ChartRelease<'_>,
    chart: &ChartVersion,
    clusters: &[Cluster],
    wait: RenderWait,
) -> Result<InputsByCluster, Error> {
    let _memory = CHART_VALUES_OF_USERS.reserve(wait.turn(), release.estimate_values()).await?;
    Ok(run_blocking_in_place(|| read_inputs(release, chart, clusters)))
}

/// Builds the inputs with these digests again, once there is memory for all of them.
///
/// # Errors
/// Others use the memory for longer than a request waits.
pub(super) async fn build_inputs(
    release: &ChartRelease<'_>,
    chart: &ChartVersion,
    (clusters, all): (&[Cluster], &InputsByCluster),
    digests: Vec<Digest>,
    wait: RenderWait,
) -> Result<BuiltInputs, Error> {
    let known: Vec<(Digest, &DistinctInputs)> =
        digests.into_iter().filter_map(|digest| Some((digest.clone(), all.distinct.get(&digest)?))).collect();
    let needed: u64 = known.iter().map(|(_, one)| one.bytes).sum();
    let while_built = needed.saturating_add(release.estimate_values());
    let mut memory = CHART_VALUES_OF_USERS.reserve_in_full(wait.turn(), while_built).await?;
    let inputs = run_blocking_in_place(|| {
        let build = |(digest, one): (Digest, &DistinctInputs)| {
            let built = match one.first.and_then(|at| clusters.get(at)) {
                Some(cluster) => release.inputs(chart, cluster),
                None => release.sample_inputs(chart),
            };
            (digest, built)
        };
        known.into_iter().map(build).collect()
    });
    memory.shrink_to(needed);
    Ok(BuiltInputs { inputs, memory })
}

/// What inputs need in memory.
fn measure(inputs: &ChartInputs) -> usize {
    let apis: usize = inputs.api_versions.iter().map(|api| api.len() + LIST_ITEM_BYTES).sum();
    inputs.values.len() + apis
}

fn read_inputs(release: &ChartRelease<'_>, chart: &ChartVersion, clusters: &[Cluster]) -> InputsByCluster {
    let mut all = InputsByCluster::default();
    if clusters.is_empty() {
        match release.sample_inputs(chart) {
            Ok(inputs) => {
                let bytes = measure(&inputs) as u64;
                let one = DistinctInputs { first: None, bytes, clusters: Vec::new() };
                all.distinct.insert(inputs.digest(), one);
            }
            Err(error) => all.findings.extend(error.into_findings()),
        }
    }
    let mut values_bytes = 0;
    for (at, cluster) in clusters.iter().enumerate() {
        match release.inputs(chart, cluster) {
            Ok(inputs) => {
                let one = all.distinct.entry(inputs.digest()).or_insert_with(|| {
                    values_bytes += inputs.values.len();
                    DistinctInputs { first: Some(at), bytes: measure(&inputs) as u64, clusters: Vec::new() }
                });
                one.clusters.push(cluster.id);
            }
            Err(error) => {
                all.missing.insert(cluster.id, ClusterManifests::Missing(to_outcome(error.clone())));
                all.findings.extend(error.into_findings());
            }
        }
        all.exceeded = find_excess(all.distinct.len(), values_bytes);
        if all.exceeded.is_some() {
            break;
        }
        if all.findings.len() > MERGED_AT_ONCE {
            all.findings = limit_findings(merge_clusters(all.findings));
        }
    }
    all.findings = limit_findings(merge_clusters(all.findings));
    all
}

/// The limit that this number of distinct inputs with so many bytes of values exceeds.
fn find_excess(distinct: usize, values_bytes: usize) -> Option<Finding> {
    if distinct > MAX_RENDERINGS {
        let message = format!(
            "The values differ on so many clusters that the chart has to be rendered more than {MAX_RENDERINGS} times, which is not allowed."
        );
        let hint = "Use fewer values that differ per cluster, or split the workload.";
        return Some(Finding::error("G111", message, hint));
    }
    (values_bytes > MAX_VALUES_BYTES).then(|| {
        let message = format!(
            "The values that differ on the clusters have more than {} MiB together, which is not allowed.",
            MAX_VALUES_BYTES >> 20
        );
        let hint = "Use shorter values, fewer values that differ per cluster, or split the workload.";
        Finding::error("G111", message, hint)
    })
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use domain::Timestamp;
    use domain::chart::ChartSource;
    use domain::cluster::{ClusterFacts, ClusterKind};
    use domain::workload::WorkloadSpec;
    use tokio::time::timeout;

    use super::*;
    use crate::run_for_requester;

    fn chart() -> ChartVersion {
        ChartVersion {
            repository: "local".to_owned(),
            name: "web".to_owned(),
            version: "1.0.0".to_owned(),
            digest: Digest::compute(b"archive"),
            size: 7,
            app_version: String::new(),
            description: String::new(),
            kubernetes_range: String::new(),
            uses_capabilities: false,
            uses_release_phase: false,
            created_by: "ada".to_owned(),
            created_at: Timestamp::from_millis(0),
        }
    }

    fn clusters(count: usize) -> Vec<Cluster> {
        let cluster = |at: usize| {
            let (id, now) = (ClusterId::from_parts(1, at as u128), Timestamp::from_millis(0));
            let facts = ClusterFacts { kubernetes_version: "v1.36.3".to_owned(), ..ClusterFacts::default() };
            Cluster { facts, ..Cluster::new(id, format!("c{at:04}"), ClusterKind::Agent, now) }
        };
        (0..count).map(cluster).collect()
    }

    async fn with_release<T>(values: &str, run: impl AsyncFnOnce(&ChartRelease<'_>) -> T) -> T {
        let source = ChartSource { values: values.to_owned(), ..ChartSource::default() };
        let (spec, installed) = (WorkloadSpec::default(), BTreeMap::new());
        let release = ChartRelease {
            workload: "web",
            revision: 1,
            spec: &spec,
            source: &source,
            groups: &[],
            project: None,
            targets: &[],
            installed: &installed,
        };
        run(&release).await
    }

    /// Values that expressions make of the name of a cluster, of about 5 bytes: 2 to the power of this times as long.
    fn doubled(times: usize) -> String {
        format!("name: '${{{{ cluster.name{} }}}}'\n", " | map(\"{}{}\")".repeat(times))
    }

    #[tokio::test]
    async fn p19_g111_distinct_values_of_all_clusters_have_a_limit_together() {
        let read = async |values: &str, count: usize| {
            with_release(values, async |release| read_inputs(release, &chart(), &clusters(count))).await
        };
        let few = read(&doubled(17), 3).await;
        assert!(few.exceeded.is_none() && few.distinct.len() == 3);
        assert!(few.distinct.values().all(|one| one.bytes > 500_000 && one.clusters.len() == 1));
        let many = read(&doubled(17), 200).await;
        let message = many.exceeded.unwrap().message;
        assert!(message.contains("more than 64 MiB together"), "{message}");
        assert!(many.distinct.len() < 120, "not all clusters are read");
        let equal = read("name: web\n", 200).await;
        assert!(equal.exceeded.is_none() && equal.distinct.len() == 1);
        let distinct = read(&doubled(0), MAX_RENDERINGS + 5).await;
        let message = distinct.exceeded.unwrap().message;
        assert!(message.contains("more than 1000 times"), "{message}");
        assert_eq!(distinct.distinct.len(), MAX_RENDERINGS + 1);
    }

    #[tokio::test(flavor = "multi_thread")]
    async fn p19_inputs_are_built_again_only_with_memory_for_all_of_them() {
        let (chart, clusters) = (chart(), clusters(3));
        let free = async |user: &str| {
            CHART_VALUES_OF_USERS.reserve(format!("user {user}"), 0).await.unwrap().free_bytes()
        };
        with_release(&doubled(10), async |release| {
            let load = async || {
                let all = collect_inputs(release, &chart, &clusters, RenderWait::Request).await?;
                let digests: Vec<Digest> = all.distinct.keys().cloned().collect();
                build_inputs(release, &chart, (&clusters, &all), digests, RenderWait::Request).await
            };
            let before = free("mallory").await;
            let built = run_for_requester("mallory".to_owned(), load()).await.unwrap();
            assert!(built.inputs.iter().all(|(digest, one)| one.as_ref().unwrap().digest() == *digest));
            let needed: usize = built.inputs.iter().map(|(_, one)| one.as_ref().unwrap().values.len()).sum();
            assert!(needed > 3 * 5_000, "{needed}");
            let beside = free("mallory").await;
            assert!(beside + needed as u64 <= before, "{beside} {needed} {before}");
            drop(built);
            assert_eq!(free("mallory").await, before);
            // Without free memory it waits with nothing but the digests.
            let in_use = CHART_VALUES_OF_USERS.reserve("user mallory".to_owned(), u64::MAX).await.unwrap();
            let waiting = run_for_requester("mallory".to_owned(), load());
            assert!(timeout(Duration::from_millis(100), waiting).await.is_err());
            drop(in_use);
        })
        .await;
    }
}
