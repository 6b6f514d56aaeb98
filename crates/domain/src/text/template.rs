//! Templates: `${{ cluster.labels.region }}` in any text of a manifest or override is replaced by a value of the cluster
//! when the bundle is rendered (S4-7, docs/templates.md).
//!
//! An expression is a variable and filters after `|`: `${{ cluster.labels.size | default("3") | int }}`. An expression that
//! is the whole text keeps its type, so `replicas: ${{ cluster.labels.size | int }}` is a number; where Kubernetes accepts
//! only text (labels, annotations, data, environment) the result is text. Other tools use `${{ … }}` too: an expression
//! that starts with none of `cluster`, `workload` and `fleet` is left unchanged, and `$${{` is a literal `${{`.
//!
//! What expressions produce has a budget ([`TemplateBudget`]).
//!
//! Nothing here reads the environment, a clock or a network, so the same cluster gives the same bytes everywhere (P32).

use serde_json::Value;

mod budget;
mod expression;
mod fill;
mod finding;
mod variable;

pub use budget::{MAX_EXPANSION_BYTES, MAX_VALUES_BYTES, TemplateBudget, estimate_expansion};
pub use expression::InvalidExpression;
pub use fill::{TemplateError, fill, is_templated};
pub(crate) use finding::{missing_finding, static_finding, values_finding};
pub use variable::Variable;

/// A source of values of variables.
pub trait VariableSource {
    /// The value of `variable`; `None` if it is not known.
    fn get(&self, variable: &Variable) -> Option<Value>;
    /// The integer of the filter `int`; `None` if `text` is not one.
    fn parse_integer(&self, text: &str) -> Option<i64> {
        text.trim().parse().ok()
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
