//! The values of template variables for one cluster.

use serde_json::Value;

use crate::model::cluster::Cluster;
use crate::text::template::{Variable, VariableSource};

/// The values of variables for one cluster.
#[derive(Debug, Clone, Copy)]
pub struct TemplateValues<'a> {
    /// The cluster.
    pub cluster: &'a Cluster,
    /// Name of the workload.
    pub workload: &'a str,
    /// Namespace of the workload.
    pub namespace: &'a str,
    /// Number of the revision.
    pub revision: u32,
    /// Names of all target clusters of the workload, sorted.
    pub targets: &'a [String],
}

impl VariableSource for TemplateValues<'_> {
    fn get(&self, variable: &Variable) -> Option<Value> {
        // Where a cluster is, a user has confirmed; what it runs, it reports.
        let (facts, confirmed) = (&self.cluster.facts, &self.cluster.confirmed_facts);
        let known = |text: &str| (!text.is_empty()).then(|| Value::from(text));
        match variable {
            Variable::ClusterName => known(&self.cluster.name),
            Variable::ClusterId => Some(self.cluster.id.to_string().into()),
            Variable::ClusterLabel(key) => self.cluster.labels.get(key).map(|value| value.as_str().into()),
            Variable::ClusterAnnotation(key) => {
                self.cluster.annotations.get(key).map(|value| value.as_str().into())
            }
            Variable::ClusterValue(keys) => {
                let (first, rest) = keys.split_first()?;
                let first = self.cluster.values.get(first)?;
                rest.iter().try_fold(first, |value, key| value.get(key)).cloned()
            }
            Variable::ClusterDistribution => known(facts.distribution()),
            Variable::ClusterProvider => known(&confirmed.provider),
            Variable::ClusterRegion => known(self.cluster.region()).or_else(|| known(&confirmed.region)),
            Variable::ClusterZones => (!confirmed.zones.is_empty()).then(|| confirmed.zones.clone().into()),
            Variable::ClusterKubernetesVersion => known(&facts.kubernetes_version),
            Variable::ClusterArchitectures => {
                let all = facts.architectures();
                (!all.is_empty()).then(|| all.into())
            }
            Variable::ClusterStorageClass => known(&facts.default_storage_class),
            Variable::ClusterIngressClass => known(&facts.default_ingress_class),
            Variable::WorkloadName => known(self.workload),
            Variable::WorkloadNamespace => known(self.namespace),
            Variable::WorkloadRevision => Some(self.revision.into()),
            Variable::FleetTargets => Some(self.targets.to_vec().into()),
        }
    }
}
