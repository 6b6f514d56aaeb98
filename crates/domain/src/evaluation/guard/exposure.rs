//! Conflicts between the exposures of a workload and those of other workloads on the same cluster (G303, G305), and of the names of
//! their Helm releases (G105).
//!
//! An Ingress or Service that Flotilla did not apply is not considered here; a dry run finds it (G404).

use std::collections::{BTreeMap, HashMap};

use super::cluster_context::{self, EffectiveObjects};
use super::helm_release::RELEASE_NAME_IN_USE;
use super::rule_context::{self, RuleObject, quote};
use crate::evaluation::exposure::{
    Exposure, ExposurePoint, MAX_EXPOSURES, object_exposures, release_exposure,
};
use crate::evaluation::render::BundleRenderer;
use crate::kubernetes::digest::Digest;
use crate::kubernetes::id::ClusterId;
use crate::model::cluster::Cluster;
use crate::text::finding::{Finding, Severity, SourceLocation, shorten};
use crate::text::name_list::join_first;

/// Clusters named in a message; the finding lists all.
const MAX_NAMED_CLUSTERS: usize = 3;
/// Most bytes of a host, a path or a name of an object that are retained for messages. A host has at most 253.
const MAX_SHOWN_BYTES: usize = 512;

/// What a workload would expose on each cluster, with the source locations.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct Exposures(Vec<ExposureGroup>);

/// The exposures of clusters that receive the same objects.
#[derive(Debug, Clone, PartialEq)]
struct ExposureGroup {
    exposures: Vec<DeclaredExposure>,
    clusters: Vec<ExposedCluster>,
}

#[derive(Debug, Clone, PartialEq)]
struct ExposedCluster {
    id: ClusterId,
    name: String,
    default_class: String,
}

/// One exposure with shortened texts, its key, and the field that declares it.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
struct DeclaredExposure {
    exposure: Exposure,
    key: Digest,
    /// Empty for the release.
    object: String,
    path: String,
    /// `None` for the release, which is named by the spec.
    place: Option<SourceLocation>,
}

/// An exposure that another workload has on a cluster.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ExposureConflict {
    /// The cluster.
    pub cluster: ClusterId,
    /// [`Exposure::conflict_key`].
    pub key: Digest,
    /// The ingress class as written in that workload; empty if it sets none.
    pub class: String,
    /// Name of the workload.
    pub workload: String,
}

impl Exposures {
    /// What a workload would expose on the selected clusters.
    pub fn from_rendering(rendering: &BundleRenderer<'_>, selected: &[&Cluster]) -> Self {
        let cluster = |cluster: &&Cluster| ExposedCluster {
            id: cluster.id,
            name: cluster.name.clone(),
            default_class: cluster.facts.default_ingress_class.clone(),
        };
        let release = release_exposure(rendering.spec, rendering.workload).map(|exposure| ExposureGroup {
            exposures: vec![declared_release(exposure)],
            clusters: selected.iter().map(cluster).collect(),
        });
        let mut all = Self(release.into_iter().filter(|group| !group.clusters.is_empty()).collect());
        let has_exposures = |kind: &str| matches!(kind, "Ingress" | "Service");
        let mut kinds = rendering.parsed.manifests.iter().map(|manifest| manifest.object_ref().kind);
        if !kinds.any(|kind| has_exposures(&kind)) {
            return all;
        }
        let group = |EffectiveObjects { parsed, clusters, .. }: EffectiveObjects<'_>| {
            let objects = rule_context::rule_objects(rendering.spec, &parsed);
            let exposures = objects.iter().flat_map(declared_exposures).take(MAX_EXPOSURES).collect();
            ExposureGroup { exposures, clusters: clusters.iter().map(cluster).collect() }
        };
        let groups = cluster_context::effective_objects(rendering, selected).map(group);
        all.0.extend(groups.filter(|group| !group.exposures.is_empty()));
        all
    }

    /// Adds those of other clusters.
    pub fn extend(&mut self, others: Self) {
        self.0.extend(others.0);
    }

    /// Iterates over every cluster and exposure: the key, and the ingress class as written.
    pub fn iter(&self) -> impl Iterator<Item = (ClusterId, (&Digest, &str))> {
        self.0.iter().flat_map(|group| {
            group.clusters.iter().flat_map(|cluster| {
                group.exposures.iter().map(|own| (cluster.id, (&own.key, &*own.exposure.class)))
            })
        })
    }

    /// G105, G303 and G305: exposures that other workloads already have; one finding for all clusters with the same conflict.
    pub fn find_conflicts(&self, others: &[ExposureConflict]) -> Vec<Finding> {
        let mut by_key: HashMap<(ClusterId, &Digest), Vec<&ExposureConflict>> = HashMap::new();
        for other in others {
            by_key.entry((other.cluster, &other.key)).or_default().push(other);
        }
        let mut conflicts: BTreeMap<(&DeclaredExposure, &str), Vec<String>> = BTreeMap::new();
        for (group, own) in
            self.0.iter().flat_map(|group| group.exposures.iter().map(move |own| (group, own)))
        {
            for cluster in &group.clusters {
                for other in by_key.get(&(cluster.id, &own.key)).into_iter().flatten() {
                    if own.exposure.shares_class(&other.class, &cluster.default_class) {
                        conflicts.entry((own, &other.workload)).or_default().push(cluster.name.clone());
                    }
                }
            }
        }
        conflicts
            .into_iter()
            .map(|((own, workload), clusters)| conflict_finding(own, workload, clusters))
            .collect()
    }
}

fn declared_exposures(object: &RuleObject<'_>) -> Vec<DeclaredExposure> {
    let declared = |(path, exposure): (String, Exposure)| DeclaredExposure {
        key: exposure.conflict_key(),
        exposure: shorten_texts(exposure),
        object: shorten(object.display_name.clone(), MAX_SHOWN_BYTES),
        place: Some(object.manifest.location_of(&path)),
        path,
    };
    object_exposures(&object.manifest.object).into_iter().map(declared).collect()
}

fn declared_release(exposure: Exposure) -> DeclaredExposure {
    DeclaredExposure {
        key: exposure.conflict_key(),
        exposure: shorten_texts(exposure),
        object: String::new(),
        path: "/source/releaseName".to_owned(),
        place: None,
    }
}

/// The exposure as messages show it: those of all clusters are in memory at once, and a template can make a host of each.
fn shorten_texts(exposure: Exposure) -> Exposure {
    let point = match exposure.point {
        ExposurePoint::Route { host, path, path_type } => ExposurePoint::Route {
            host: shorten(host, MAX_SHOWN_BYTES),
            path: shorten(path, MAX_SHOWN_BYTES),
            path_type: shorten(path_type, MAX_SHOWN_BYTES),
        },
        ExposurePoint::HelmRelease { namespace, name } => ExposurePoint::HelmRelease {
            namespace: shorten(namespace, MAX_SHOWN_BYTES),
            name: shorten(name, MAX_SHOWN_BYTES),
        },
        port @ ExposurePoint::NodePort(_) => port,
    };
    Exposure { point, ..exposure }
}

fn conflict_finding(own: &DeclaredExposure, workload: &str, mut clusters: Vec<String>) -> Finding {
    clusters.sort();
    clusters.dedup();
    let cluster_names = join_first(&clusters, MAX_NAMED_CLUSTERS);
    let workload = quote(workload);
    let finding = match &own.exposure.point {
        ExposurePoint::NodePort(number) => Finding::error(
            "G303",
            format!(
                "nodePort {number} of {} is already used by workload {workload} on {cluster_names}; a node port can be \
                 used once per cluster.",
                own.object
            ),
            "Choose another port, or leave nodePort out so that the cluster assigns one.",
        ),
        ExposurePoint::HelmRelease { namespace, name } => Finding::error(
            RELEASE_NAME_IN_USE,
            format!(
                "Helm release {} in namespace {} is that of workload {workload} on {cluster_names}; a name can be used once \
                 per namespace and cluster.",
                quote(name),
                quote(namespace)
            ),
            format!(
                "Choose another release name or namespace, exclude these clusters, or unpublish {workload}. What runs is \
                 not affected."
            ),
        ),
        // Some controllers give each Ingress its own address; then paths without a host do not conflict.
        ExposurePoint::Route { host, path, .. } if host.is_empty() => Finding::new(
            "G305",
            Severity::Warning,
            format!(
                "Path {} without a host is also routed to workload {workload} on {cluster_names}; unless the ingress \
                 controller gives each Ingress its own address, it decides which of them receives the requests.",
                quote(path)
            ),
            "Set a host, or choose another path.",
        ),
        ExposurePoint::Route { host, path, .. } => Finding::error(
            "G305",
            format!(
                "{} is already routed to workload {workload} on {cluster_names}; the ingress controller decides which of \
                 them receives the requests.",
                quote(&format!("{host}{path}"))
            ),
            format!("Choose another host or path, remove it from {workload}, or exclude these clusters."),
        ),
    };
    finding
        .with_object(own.object.as_str())
        .with_path(own.path.as_str())
        .with_location(own.place.clone())
        .with_clusters(clusters)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::kubernetes::time::Timestamp;
    use crate::model::cluster::ClusterKind;
    use crate::model::workload::{SourceFile, WorkloadSpec};

    #[test]
    fn p19_exposures_beyond_the_limit_need_no_memory_of_their_own() {
        let paths = "{path: /, pathType: Prefix}, ".repeat(20 * MAX_EXPOSURES);
        let text = format!(
            "apiVersion: networking.k8s.io/v1\nkind: Ingress\nmetadata: {{name: web}}\nspec: {{rules: [{{http: {{paths: [{paths}]}}}}]}}\n"
        );
        let parsed = crate::text::manifest::parse(&[SourceFile { name: "a.yaml".to_owned(), text }]);
        let cluster =
            Cluster::new(ClusterId::from_parts(1, 0), "eu", ClusterKind::Agent, Timestamp::from_millis(0));
        let rendering = BundleRenderer {
            workload: "shop",
            revision: 1,
            spec: &WorkloadSpec::default(),
            parsed: &parsed,
            groups: &[],
            targets: &[],
        };
        let Exposures(groups) = Exposures::from_rendering(&rendering, &[&cluster]);
        let [ExposureGroup { exposures, .. }] = &groups[..] else { panic!("{groups:?}") };
        assert_eq!(exposures.len(), MAX_EXPOSURES);
        assert!(exposures.capacity() < 2 * MAX_EXPOSURES, "{}", exposures.capacity());
    }
}
