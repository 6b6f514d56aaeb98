//! Taints and tolerations, with Kubernetes' semantics for nodes.

use super::remedy::format_list;
use super::{FilterResult, PlacementFilter, Toleration, TolerationOperator};
use crate::cluster::{Cluster, Taint, TaintEffect};

impl Toleration {
    /// Whether it tolerates the taint. `Equal` without a key tolerates nothing (G502).
    pub fn tolerates(&self, taint: &Taint) -> bool {
        let effect = self.effect.is_none_or(|effect| effect == taint.effect);
        let matched = match self.operator {
            TolerationOperator::Exists => self.key.is_empty() || self.key == taint.key,
            TolerationOperator::Equal => {
                !self.key.is_empty() && (&self.key, &self.value) == (&taint.key, &taint.value)
            }
        };
        effect && matched
    }
}

/// The result of the taint filter for one cluster.
pub(super) struct TaintResult {
    /// The filter result.
    pub result: FilterResult,
    /// Number of taints that reject the cluster.
    pub rejecting: u32,
    /// Untolerated `PreferNoSelect` taints.
    pub prefer_no_select_taints: Vec<String>,
}

/// The third filter: every taint is tolerated, or has no effect on a cluster that runs the workload.
pub(super) fn filter_taints(tolerations: &[Toleration], cluster: &Cluster, is_current: bool) -> TaintResult {
    let mut accepted = Vec::new();
    let mut rejecting = Vec::new();
    let mut last_choice = Vec::new();
    for taint in &cluster.taints {
        let text = format_taint(taint);
        let tolerated = tolerations.iter().any(|toleration| toleration.tolerates(taint));
        match (tolerated, taint.effect) {
            (true, _) => accepted.push(format!("{text}, tolerated")),
            (false, TaintEffect::PreferNoSelect) => {
                accepted.push(format!("{text}, not preferred"));
                last_choice.push(text);
            }
            (false, TaintEffect::NoSelectIfNew) if is_current => {
                accepted.push(format!("{text}, but already deployed"));
            }
            (false, TaintEffect::NoSelectIfNew | TaintEffect::NoSelect) => rejecting.push(text),
        }
    }
    let remedy = match rejecting.len() {
        0 => String::new(),
        1 => format!("tolerate {}, or remove the taint from {}", rejecting[0], cluster.name),
        _ => format!(
            "tolerate {}, or remove these taints from {}",
            format_list(&rejecting, "and"),
            cluster.name
        ),
    };
    let result = FilterResult {
        filter: PlacementFilter::Taint,
        passed: rejecting.is_empty(),
        expected: "no untolerated taint".to_owned(),
        actual: match (&rejecting[..], &accepted[..]) {
            ([], []) => "no taints".to_owned(),
            ([], _) => format_list(&accepted, "and"),
            _ => format_list(&rejecting, "and"),
        },
        remedy,
    };
    TaintResult {
        result,
        rejecting: u32::try_from(rejecting.len()).unwrap_or(u32::MAX),
        prefer_no_select_taints: last_choice,
    }
}

/// `key=value:ClusterPlan`, the notation of `kubectl`.
fn format_taint(taint: &Taint) -> String {
    let effect = match taint.effect {
        TaintEffect::NoSelect => "NoSelect",
        TaintEffect::PreferNoSelect => "PreferNoSelect",
        TaintEffect::NoSelectIfNew => "NoSelectIfNew",
    };
    let value = if taint.value.is_empty() { String::new() } else { format!("={}", taint.value) };
    format!("{}{value}:{effect}", taint.key)
}
