//! The variables of templates.

use std::fmt;

use crate::kubernetes::nearest::find_nearest;

/// A variable of an expression.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Variable {
    /// `cluster.name`
    ClusterName,
    /// `cluster.id`
    ClusterId,
    /// `cluster.labels.KEY`, or `cluster.labels["KEY"]` for a key with dots.
    ClusterLabel(String),
    /// `cluster.annotations.KEY`, or `cluster.annotations["KEY"]` for a key with dots.
    ClusterAnnotation(String),
    /// `cluster.values.KEY.KEY`: a value that a user gave the cluster, of any type.
    ClusterValue(Vec<String>),
    /// `cluster.distribution`: its Kubernetes distribution, such as `gke`.
    ClusterDistribution,
    /// `cluster.provider`: the cloud provider of its nodes, such as `aws`.
    ClusterProvider,
    /// `cluster.region`: its label, else the region of its nodes.
    ClusterRegion,
    /// `cluster.zones`: those of its nodes.
    ClusterZones,
    /// `cluster.kubernetesVersion`
    ClusterKubernetesVersion,
    /// `cluster.architectures`: those of its nodes, the most common first.
    ClusterArchitectures,
    /// `cluster.storageClass`: the default storage class.
    ClusterStorageClass,
    /// `cluster.ingressClass`: the default ingress class.
    ClusterIngressClass,
    /// `workload.name`
    WorkloadName,
    /// `workload.namespace`
    WorkloadNamespace,
    /// `workload.revision`
    WorkloadRevision,
    /// `fleet.targets`: the names of all target clusters of the workload (S1-25).
    FleetTargets,
}

/// Every variable with a fixed name.
const FIXED_VARIABLES: [(&str, Variable); 14] = [
    ("cluster.name", Variable::ClusterName),
    ("cluster.id", Variable::ClusterId),
    ("cluster.distribution", Variable::ClusterDistribution),
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
const LABELS_PREFIX: &str = "cluster.labels";
const ANNOTATIONS_PREFIX: &str = "cluster.annotations";
const VALUES_PREFIX: &str = "cluster.values";

/// The first segments of variables; other expressions belong to other tools.
pub(super) const ROOTS: [&str; 3] = ["cluster", "workload", "fleet"];

impl Variable {
    /// The variable with these segments.
    ///
    /// # Errors
    /// The nearest variable name, if any.
    pub(super) fn parse(parts: &[&str]) -> Result<Self, Option<&'static str>> {
        if let ["cluster", "labels", key] = parts {
            return Ok(Self::ClusterLabel((*key).to_owned()));
        }
        if let ["cluster", "annotations", key] = parts {
            return Ok(Self::ClusterAnnotation((*key).to_owned()));
        }
        if let ["cluster", "values", keys @ ..] = parts
            && !keys.is_empty()
        {
            return Ok(Self::ClusterValue(keys.iter().map(|key| (*key).to_owned()).collect()));
        }
        let whole = parts.join(".");
        match FIXED_VARIABLES.iter().find(|(name, _)| *name == whole) {
            Some((_, variable)) => Ok(variable.clone()),
            None => {
                let prefix = parts.iter().take(2).copied().collect::<Vec<_>>().join(".");
                Err(find_nearest(
                    &prefix,
                    FIXED_VARIABLES.iter().map(|(name, _)| *name).chain([
                        LABELS_PREFIX,
                        ANNOTATIONS_PREFIX,
                        VALUES_PREFIX,
                    ]),
                ))
            }
        }
    }

    /// What to do about a missing value, as a sentence for people.
    pub fn hint(&self) -> String {
        match self {
            Self::ClusterLabel(key) => format!("Label the cluster with {key}, or write | default(\"…\")."),
            Self::ClusterAnnotation(key) => {
                format!("Annotate the cluster with {key}, or write | default(\"…\").")
            }
            Self::ClusterValue(_) => {
                "Set it with flotilla cluster set-values, or write | default(\"…\").".to_owned()
            }
            Self::ClusterRegion => {
                "Label the cluster with topology.kubernetes.io/region, or write | default(\"…\").".to_owned()
            }
            _ => "Wait until the cluster reports it, or write | default(\"…\").".to_owned(),
        }
    }
}

impl fmt::Display for Variable {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::ClusterLabel(key) => write_keyed(f, LABELS_PREFIX, key),
            Self::ClusterAnnotation(key) => write_keyed(f, ANNOTATIONS_PREFIX, key),
            Self::ClusterValue(keys) => {
                f.write_str(VALUES_PREFIX)?;
                keys.iter().try_for_each(|key| write_keyed(f, "", key))
            }
            plain => {
                let found = FIXED_VARIABLES.iter().find(|(_, variable)| variable == plain);
                f.write_str(found.map_or("", |(name, _)| name))
            }
        }
    }
}

fn write_keyed(f: &mut fmt::Formatter<'_>, prefix: &str, key: &str) -> fmt::Result {
    if key.contains(['.', '/']) { write!(f, "{prefix}[\"{key}\"]") } else { write!(f, "{prefix}.{key}") }
}
