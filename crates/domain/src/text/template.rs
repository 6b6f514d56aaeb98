//! Templates: `${{ cluster.labels.region }}` in any text of a manifest or override is replaced by a value of the cluster
//! when the bundle is rendered (S4-7, docs/templates.md).
//!
//! An expression is a variable and filters after `|`: `${{ cluster.labels.size | default("3") | int }}`. An expression that
//! is the whole text keeps its type, so `replicas: ${{ cluster.labels.size | int }}` is a number; where Kubernetes accepts
//! only text (labels, annotations, data, environment) the result is text. Other tools use `${{ … }}` too: an expression
//! that starts with none of `cluster`, `workload` and `fleet` is left unchanged, and `$${{` is a literal `${{`.
//!
//! Nothing here reads the environment, a clock or a network, so the same cluster gives the same bytes everywhere (P32).

use serde_json::Value;

use crate::model::cluster::Cluster;

mod expression;
mod fill;
mod finding;
mod variable;

pub use expression::InvalidExpression;
pub use fill::{TemplateError, fill, is_templated};
pub(crate) use finding::{missing_finding, static_finding};
pub use variable::Variable;

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

/// A source of values of variables.
pub trait VariableSource {
    /// The value of `variable`; `None` if it is not known.
    fn get(&self, variable: &Variable) -> Option<Value>;
    /// The integer of the filter `int`; `None` if `text` is not one.
    fn parse_integer(&self, text: &str) -> Option<i64> {
        text.trim().parse().ok()
    }
}

impl VariableSource for TemplateValues<'_> {
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

/// Sample values for guard rails that run without a cluster: of the right type, and valid under every rule.
#[derive(Debug, Clone, Copy)]
pub struct SampleValues;

impl VariableSource for SampleValues {
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

    fn parse_integer(&self, text: &str) -> Option<i64> {
        Some(text.trim().parse().unwrap_or(1))
    }
}

#[cfg(test)]
mod tests;
