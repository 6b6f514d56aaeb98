//! The variables there are.

use std::fmt;

use crate::nearest::nearest;

/// What an expression may stand for.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Variable {
    /// `cluster.name`
    ClusterName,
    /// `cluster.id`
    ClusterId,
    /// `cluster.labels.KEY`, or `cluster.labels["KEY"]` for a key with dots.
    ClusterLabel(String),
    /// `cluster.provider`: what its nodes say they run on, such as `aws`.
    ClusterProvider,
    /// `cluster.region`: by its label, else as its nodes say.
    ClusterRegion,
    /// `cluster.zones`: those of its nodes.
    ClusterZones,
    /// `cluster.kubernetesVersion`
    ClusterKubernetesVersion,
    /// `cluster.architectures`: those of its nodes, the most common first.
    ClusterArchitectures,
    /// `cluster.storageClass`: the default one.
    ClusterStorageClass,
    /// `cluster.ingressClass`: the default one.
    ClusterIngressClass,
    /// `workload.name`
    WorkloadName,
    /// `workload.namespace`
    WorkloadNamespace,
    /// `workload.revision`
    WorkloadRevision,
    /// `fleet.targets`: the names of all clusters the workload goes to (S1-25).
    FleetTargets,
}

/// Every variable with a fixed name.
const PLAIN: [(&str, Variable); 13] = [
    ("cluster.name", Variable::ClusterName),
    ("cluster.id", Variable::ClusterId),
    ("cluster.provider", Variable::ClusterProvider),
    ("cluster.region", Variable::ClusterRegion),
    ("cluster.zones", Variable::ClusterZones),
    ("cluster.kubernetesVersion", Variable::ClusterKubernetesVersion),
    ("cluster.architectures", Variable::ClusterArchitectures),
    ("cluster.storageClass", Variable::ClusterStorageClass),
    ("cluster.ingressClass", Variable::ClusterIngressClass),
    ("workload.name", Variable::WorkloadName),
    ("workload.namespace", Variable::WorkloadNamespace),
    ("workload.revision", Variable::WorkloadRevision),
    ("fleet.targets", Variable::FleetTargets),
];
const LABELS: &str = "cluster.labels";

/// What the first word of a variable must be for an expression to be ours.
pub(super) const ROOTS: [&str; 3] = ["cluster", "workload", "fleet"];

impl Variable {
    /// The variable that these parts name; else the one that was probably meant, if any.
    pub(super) fn named(parts: &[&str]) -> Result<Self, Option<&'static str>> {
        if let ["cluster", "labels", key] = parts {
            return Ok(Self::ClusterLabel((*key).to_owned()));
        }
        let whole = parts.join(".");
        match PLAIN.iter().find(|(name, _)| *name == whole) {
            Some((_, variable)) => Ok(variable.clone()),
            None => {
                let beginning = parts.iter().take(2).copied().collect::<Vec<_>>().join(".");
                Err(nearest(&beginning, PLAIN.iter().map(|(name, _)| *name).chain([LABELS])))
            }
        }
    }

    /// What a person does about a value that is not there.
    pub fn remedy(&self) -> String {
        match self {
            Self::ClusterLabel(key) => format!("Label the cluster with {key}, or write | default(\"…\")."),
            Self::ClusterRegion => {
                "Label the cluster with topology.kubernetes.io/region, or write | default(\"…\").".to_owned()
            }
            _ => "The cluster has not told; it waits until it does, or write | default(\"…\").".to_owned(),
        }
    }
}

impl fmt::Display for Variable {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::ClusterLabel(key) if key.contains(['.', '/']) => write!(f, "{LABELS}[\"{key}\"]"),
            Self::ClusterLabel(key) => write!(f, "{LABELS}.{key}"),
            plain => {
                let found = PLAIN.iter().find(|(_, variable)| variable == plain);
                f.write_str(found.map_or("", |(name, _)| name))
            }
        }
    }
}
