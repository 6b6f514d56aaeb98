//! Taints and tolerations, with Kubernetes' semantics for nodes.

use super::filter_result::{ObservedTaint, TaintOutcome};
use super::{
    FilterObservation, FilterRequirement, FilterResult, PlacementFilter, Remedy, Toleration,
    TolerationOperator,
};
use crate::model::cluster::{Cluster, Taint, TaintEffect};

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
    pub prefer_no_select_taints: Vec<Taint>,
}

/// The third filter: every taint is tolerated, or has no effect on a cluster that runs the workload.
pub(super) fn filter_taints(tolerations: &[Toleration], cluster: &Cluster, is_current: bool) -> TaintResult {
    let observe = |taint: &Taint| {
        let tolerated = tolerations.iter().any(|toleration| toleration.tolerates(taint));
        let outcome = match (tolerated, taint.effect) {
            (true, _) => TaintOutcome::Tolerated,
            (false, TaintEffect::PreferNoSelect) => TaintOutcome::NotPreferred,
            (false, TaintEffect::NoSelectIfNew) if is_current => TaintOutcome::AlreadyDeployed,
            (false, TaintEffect::NoSelectIfNew | TaintEffect::NoSelect) => TaintOutcome::Rejects,
        };
        ObservedTaint { taint: taint.clone(), outcome }
    };
    let taints: Vec<ObservedTaint> = cluster.taints.iter().map(observe).collect();
    let with_outcome = |outcome| -> Vec<Taint> {
        let found = taints.iter().filter(|observed| observed.outcome == outcome);
        found.map(|observed| observed.taint.clone()).collect()
    };
    let rejecting = with_outcome(TaintOutcome::Rejects);
    let prefer_no_select_taints = with_outcome(TaintOutcome::NotPreferred);
    let passed = rejecting.is_empty();
    TaintResult {
        rejecting: u32::try_from(rejecting.len()).unwrap_or(u32::MAX),
        prefer_no_select_taints,
        result: FilterResult {
            filter: PlacementFilter::Taint,
            passed,
            expected: FilterRequirement::TaintsTolerated,
            actual: FilterObservation::Taints { taints },
            remedy: (!passed).then(|| Remedy::Tolerate { taints: rejecting, cluster: cluster.name.clone() }),
        },
    }
}
