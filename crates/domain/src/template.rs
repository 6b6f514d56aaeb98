//! Templates: `${{ cluster.labels.region }}` in any text of a manifest or of an override stands for a value that is only
//! known per cluster, and is filled in when the bundle is rendered (S4-7).
//!
//! An expression is a variable and, after `|`, what is done with it: `${{ cluster.labels.size | default("3") | int }}`.
//! Alone in a text it keeps its type, so `replicas: ${{ cluster.labels.size | int }}` is a number; where Kubernetes takes
//! only text (labels, annotations, data, environment) it is always text. Other tools write `${{ … }}` too: what begins
//! with none of `cluster`, `workload` and `fleet` is left as it is, and `$${{` stands for `${{`.
//!
//! Nothing here reads the environment, a clock or a network, so the same cluster gives the same bytes everywhere (P32).

use serde_json::Value;

use crate::cluster::Cluster;

mod expression;
mod fill;
mod finding;
mod variable;

pub use expression::BadExpression;
pub use fill::{Problem, fill, is_templated};
pub(crate) use finding::{missing_finding, static_finding};
pub use variable::Variable;

/// What variables stand for while a bundle is rendered.
#[derive(Debug, Clone, Copy)]
pub struct Values<'a> {
    /// The cluster.
    pub cluster: &'a Cluster,
    /// Name of the workload.
    pub workload: &'a str,
    /// Namespace of the workload.
    pub namespace: &'a str,
    /// Number of the revision.
    pub revision: u32,
    /// Names of all clusters that the workload goes to, sorted.
    pub targets: &'a [String],
}

/// Who knows what a variable stands for.
pub trait Lookup {
    /// Its value; `None` while it is not known.
    fn get(&self, variable: &Variable) -> Option<Value>;
    /// What `text`, the value of `variable`, is as a whole number.
    fn whole_number(&self, text: &str) -> Option<i64> {
        text.trim().parse().ok()
    }
}

impl Lookup for Values<'_> {
    fn get(&self, variable: &Variable) -> Option<Value> {
        let facts = &self.cluster.facts;
        let known = |text: &str| (!text.is_empty()).then(|| Value::from(text));
        match variable {
            Variable::ClusterName => known(&self.cluster.name),
            Variable::ClusterId => Some(self.cluster.id.to_string().into()),
            Variable::ClusterLabel(key) => self.cluster.labels.get(key).map(|value| value.as_str().into()),
            Variable::ClusterProvider => known(&facts.provider),
            Variable::ClusterRegion => known(self.cluster.region()).or_else(|| known(&facts.region)),
            Variable::ClusterZones => (!facts.zones.is_empty()).then(|| facts.zones.clone().into()),
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

/// What guard rails put in where no cluster is at hand: something of the right type that offends no rule.
#[derive(Debug, Clone, Copy)]
pub struct Sample;

impl Lookup for Sample {
    fn get(&self, variable: &Variable) -> Option<Value> {
        Some(match variable {
            Variable::ClusterZones | Variable::ClusterArchitectures | Variable::FleetTargets => {
                vec!["sample"].into()
            }
            Variable::WorkloadRevision => 1.into(),
            Variable::ClusterKubernetesVersion => "v1.30.0".into(),
            _ => "sample".into(),
        })
    }

    fn whole_number(&self, text: &str) -> Option<i64> {
        Some(text.trim().parse().unwrap_or(1))
    }
}

#[cfg(test)]
mod tests;
