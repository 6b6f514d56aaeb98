//! What a workload exposes against what other workloads expose on the same cluster (G303, G305).
//!
//! An ingress or Service that Flotilla did not put there is not known here; a dry run finds it (G404).

use std::collections::{BTreeMap, HashMap};

use super::scene::{self, Subject, quoted};
use super::site::{self, View};
use crate::cluster::Cluster;
use crate::digest::Digest;
use crate::exposure::{EXPOSURES_MAX, Exposure, Point, of_object};
use crate::finding::{Finding, Place, Severity};
use crate::id::ClusterId;
use crate::render::Rendering;

/// Clusters named in a message; the finding has all.
const NAMED: usize = 3;

/// What a workload would expose on each of some clusters, and where its source says so.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct Exposures(Vec<Part>);

/// Clusters that get the same objects.
#[derive(Debug, Clone, PartialEq)]
struct Part {
    spots: Vec<Spot>,
    clusters: Vec<Target>,
}

#[derive(Debug, Clone, PartialEq)]
struct Target {
    id: ClusterId,
    name: String,
    default_class: String,
}

/// One exposure and the field that says so.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
struct Spot {
    exposure: Exposure,
    key: Digest,
    object: String,
    path: String,
    place: Place,
}

/// What another workload exposes on a cluster.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Taken {
    /// Where.
    pub cluster: ClusterId,
    /// [`Exposure::key`].
    pub key: Digest,
    /// The ingress class as that workload writes it; empty where it names none.
    pub class: String,
    /// Name of the workload.
    pub workload: String,
}

impl Exposures {
    /// What a workload would expose on the chosen clusters.
    pub fn of(rendering: &Rendering<'_>, chosen: &[&Cluster]) -> Self {
        let exposing = |kind: &str| matches!(kind, "Ingress" | "Service");
        let mut kinds = rendering.parsed.manifests.iter().map(|manifest| manifest.object_ref().kind);
        if !kinds.any(|kind| exposing(&kind)) {
            return Self::default();
        }
        let part = |View { parsed, clusters, .. }: View<'_>| {
            let subjects = scene::subjects(rendering.spec, &parsed);
            let mut spots: Vec<Spot> = subjects.iter().flat_map(spots).collect();
            spots.truncate(EXPOSURES_MAX);
            let target = |cluster: &&Cluster| Target {
                id: cluster.id,
                name: cluster.name.clone(),
                default_class: cluster.facts.default_ingress_class.clone(),
            };
            Part { spots, clusters: clusters.iter().map(target).collect() }
        };
        let parts = site::views(rendering, chosen).into_iter().map(part);
        Self(parts.filter(|part| !part.spots.is_empty()).collect())
    }

    /// Every exposure with its cluster: its key, and the ingress class as written.
    pub fn each(&self) -> impl Iterator<Item = (ClusterId, (&Digest, &str))> {
        self.0.iter().flat_map(|part| {
            part.clusters.iter().flat_map(|cluster| {
                part.spots.iter().map(|spot| (cluster.id, (&spot.key, &*spot.exposure.class)))
            })
        })
    }

    /// G303 and G305: what is in the way of what other workloads expose; once for all clusters where the same one is.
    pub fn clashes(&self, taken: &[Taken]) -> Vec<Finding> {
        let mut by_key: HashMap<(ClusterId, &Digest), Vec<&Taken>> = HashMap::new();
        for one in taken {
            by_key.entry((one.cluster, &one.key)).or_default().push(one);
        }
        let mut clashes: BTreeMap<(&Spot, &str), Vec<String>> = BTreeMap::new();
        for (part, spot) in self.0.iter().flat_map(|part| part.spots.iter().map(move |spot| (part, spot))) {
            for cluster in &part.clusters {
                for one in by_key.get(&(cluster.id, &spot.key)).into_iter().flatten() {
                    if spot.exposure.shares_class(&one.class, &cluster.default_class) {
                        clashes.entry((spot, &one.workload)).or_default().push(cluster.name.clone());
                    }
                }
            }
        }
        clashes.into_iter().map(|((spot, workload), clusters)| said(spot, workload, clusters)).collect()
    }
}

fn spots(subject: &Subject<'_>) -> Vec<Spot> {
    let spot = |(path, exposure): (String, Exposure)| Spot {
        key: exposure.key(),
        exposure,
        object: subject.shown.clone(),
        place: subject.manifest.place_of(&path),
        path,
    };
    of_object(&subject.manifest.object).into_iter().map(spot).collect()
}

fn said(spot: &Spot, workload: &str, mut clusters: Vec<String>) -> Finding {
    clusters.sort();
    clusters.dedup();
    let there = named(&clusters);
    let workload = quoted(workload);
    let finding = match &spot.exposure.point {
        Point::NodePort(number) => Finding::error(
            "G303",
            format!(
                "nodePort {number} of {} is taken by workload {workload} on {there}; a cluster gives it once.",
                spot.object
            ),
            "Choose another one, or leave it out and let the cluster choose.",
        ),
        // Some controllers give every ingress an address of its own; then only a host can be in two places.
        Point::Route { host, path, .. } if host.is_empty() => Finding::new(
            "G305",
            Severity::Warning,
            format!(
                "{} of any host also leads to workload {workload} on {there}; unless the controller gives every Ingress \
                 its own address, only it knows which of them is asked.",
                quoted(path)
            ),
            "Name a host, or choose another path.",
        ),
        Point::Route { host, path, .. } => Finding::error(
            "G305",
            format!(
                "{} already belongs to workload {workload} on {there}; which of them is asked, only the controller knows.",
                quoted(&format!("{host}{path}"))
            ),
            format!("Choose another host or path, take it out of {workload}, or leave these clusters out."),
        ),
    };
    finding.about(spot.object.as_str()).at(spot.path.as_str()).placed(Some(spot.place.clone())).on(clusters)
}

fn named(clusters: &[String]) -> String {
    let shown = clusters.iter().take(NAMED).cloned().collect::<Vec<_>>().join(", ");
    match clusters.len().saturating_sub(NAMED) {
        0 => shown,
        more => format!("{shown} and {more} more"),
    }
}
