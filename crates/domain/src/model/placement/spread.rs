//! Spread: how evenly the selected clusters are distributed over regions, zones, providers or the values of a label.
//!
//! As in Kubernetes' topology spread constraints, the skew is how many more clusters one value has than the value with
//! fewest, over the values that any candidate has. With a sticky policy, running workloads are never removed for it.

use std::collections::BTreeMap;

use super::candidate::Candidate;
use super::fact::FactKey;
use super::filter_result::SpreadValue;
use super::{
    FilterObservation, FilterRequirement, FilterResult, Placement, PlacementFilter, Remedy, Spread,
    WhenUnsatisfiable,
};
use crate::model::cluster::Cluster;

impl Spread {
    /// The value of the cluster; `None` if it has none or it is unknown. Several zones are joined into one value.
    pub fn value(&self, cluster: &Cluster) -> Option<String> {
        let fact = match self.key.as_str() {
            "region" => FactKey::Region,
            "zone" => FactKey::Zone,
            "provider" => FactKey::Provider,
            key => return cluster.labels.get(key).cloned(),
        };
        let known = fact.values(cluster);
        (!known.is_empty()).then(|| known.join("+")).or_else(|| cluster.labels.get(&self.key).cloned())
    }

    /// Whether it rejects clusters.
    pub fn is_strict(&self) -> bool {
        self.when_unsatisfiable == WhenUnsatisfiable::DoNotSchedule
    }
}

/// Number of selected clusters per value of one spread.
pub(super) struct SpreadCounts<'a> {
    pub spread: &'a Spread,
    pub values: Vec<String>,
    pub counts: Vec<u32>,
    /// Number of values per cluster count: its first key is the smallest count of any value.
    by_count: BTreeMap<u32, usize>,
}

impl<'a> SpreadCounts<'a> {
    /// Counts of 0 for the values that these clusters have.
    pub fn new<'c>(spread: &'a Spread, clusters: impl Iterator<Item = &'c Cluster>) -> Self {
        let mut values: Vec<String> = clusters.filter_map(|cluster| spread.value(cluster)).collect();
        values.sort();
        values.dedup();
        let counts = vec![0; values.len()];
        let by_count = BTreeMap::from([(0, values.len())]);
        Self { spread, values, counts, by_count }
    }

    pub fn position(&self, cluster: &Cluster) -> Option<usize> {
        let value = self.spread.value(cluster)?;
        self.values.binary_search(&value).ok()
    }

    pub fn min_count(&self) -> u32 {
        self.by_count.keys().next().copied().unwrap_or(0)
    }

    pub fn add(&mut self, at: usize) {
        let before = self.counts[at];
        self.counts[at] += 1;
        *self.by_count.entry(before + 1).or_default() += 1;
        if let Some(values) = self.by_count.get_mut(&before) {
            *values -= 1;
            if *values == 0 {
                self.by_count.remove(&before);
            }
        }
    }

    /// By how much one more cluster of this value would exceed the skew; `None` without a value.
    fn excess(&self, at: Option<usize>) -> Option<u32> {
        let skew = self.counts[at?] + 1 - self.min_count();
        Some(skew.saturating_sub(self.spread.max_skew.max(1)))
    }
}

/// Candidates with the same values.
struct CandidateGroup {
    positions: Vec<Option<usize>>,
    /// Ranks of the candidates not yet selected, worst first: the best is popped.
    remaining: Vec<usize>,
}

/// Returns the ranked candidates in the order of selection, without those that a strict spread rejects, and records the
/// filter result for all. Every prefix of this order is a valid selection: a number only truncates it.
pub(super) fn apply_spreads<'c, 'a>(
    ranked: Vec<&'c mut Candidate<'a>>,
    placement: &Placement,
) -> Vec<&'c mut Candidate<'a>> {
    if placement.spread.is_empty() {
        return ranked;
    }
    let mut axes: Vec<SpreadCounts<'_>> = placement
        .spread
        .iter()
        .map(|spread| SpreadCounts::new(spread, ranked.iter().map(|candidate| candidate.cluster)))
        .collect();
    let (mut order, mut groups) = (Vec::new(), BTreeMap::<Vec<Option<usize>>, Vec<usize>>::new());
    for (rank, candidate) in ranked.iter().enumerate() {
        let at: Vec<Option<usize>> = axes.iter().map(|axis| axis.position(candidate.cluster)).collect();
        if placement.sticky && candidate.is_current {
            count_candidate(&mut axes, &at);
            order.push(rank);
        } else {
            groups.entry(at).or_default().push(rank);
        }
    }
    let candidate_group = |(at, mut waiting): (Vec<Option<usize>>, Vec<usize>)| {
        waiting.reverse();
        CandidateGroup { positions: at, remaining: waiting }
    };
    let mut groups: Vec<CandidateGroup> = groups.into_iter().map(candidate_group).collect();
    while let Some(best) = find_best_group(&groups, &axes) {
        let group = &mut groups[best];
        count_candidate(&mut axes, &group.positions);
        order.extend(group.remaining.pop());
        if group.remaining.is_empty() {
            groups.swap_remove(best);
        }
    }
    record_results(ranked, &order, &axes)
}

fn count_candidate(axes: &mut [SpreadCounts<'_>], at: &[Option<usize>]) {
    for (axis, at) in axes.iter_mut().zip(at) {
        if let Some(at) = at {
            axis.add(*at);
        }
    }
}

/// The group to select from next: allowed by every strict spread, with the least excess over the others, ranked best.
fn find_best_group(groups: &[CandidateGroup], axes: &[SpreadCounts<'_>]) -> Option<usize> {
    /// Cost of a cluster without a value: more than any excess.
    const NO_VALUE: u32 = 1_000_000;
    let cost = |group: &CandidateGroup| {
        let mut cost = 0_u32;
        for (axis, at) in axes.iter().zip(&group.positions) {
            let excess = axis.excess(*at).unwrap_or(NO_VALUE);
            if axis.spread.is_strict() && excess > 0 {
                return None;
            }
            cost = cost.saturating_add(excess);
        }
        Some((cost, *group.remaining.last()?))
    };
    let allowed = groups.iter().enumerate().filter_map(|(at, group)| Some((cost(group)?, at)));
    allowed.min().map(|(_, at)| at)
}

/// Records the spread's result for every candidate, and returns the selected ones in order.
fn record_results<'c, 'a>(
    ranked: Vec<&'c mut Candidate<'a>>,
    order: &[usize],
    axes: &[SpreadCounts<'_>],
) -> Vec<&'c mut Candidate<'a>> {
    let spreads: Vec<Spread> = axes.iter().map(|axis| axis.spread.clone()).collect();
    let mut positions = vec![None; ranked.len()];
    for (position, rank) in order.iter().enumerate() {
        positions[*rank] = Some(position);
    }
    // The skew that would admit a rejected cluster follows from the number of clusters of its value before it.
    let mut ahead: Vec<Vec<u32>> = axes.iter().map(|axis| axis.counts.clone()).collect();
    let mut selected: Vec<(usize, &'c mut Candidate<'a>)> = Vec::with_capacity(order.len());
    for (candidate, position) in ranked.into_iter().zip(positions) {
        let at: Vec<Option<usize>> = axes.iter().map(|axis| axis.position(candidate.cluster)).collect();
        let (actual, remedy) = match position {
            Some(_) => (observe_values(axes, &at), None),
            None => {
                let (actual, remedy) = explain_rejection(axes, &at, &mut ahead);
                (actual, Some(remedy))
            }
        };
        let passed = position.is_some();
        candidate.filters.push(FilterResult {
            filter: PlacementFilter::Spread,
            passed,
            expected: FilterRequirement::Spreads { spreads: spreads.clone() },
            actual,
            remedy,
        });
        match position {
            Some(position) => selected.push((position, candidate)),
            None => candidate.needed_changes = 1,
        }
    }
    selected.sort_by_key(|(position, _)| *position);
    selected.into_iter().map(|(_, candidate)| candidate).collect()
}

fn observe_values(axes: &[SpreadCounts<'_>], at: &[Option<usize>]) -> FilterObservation {
    let value = |(axis, at): (&SpreadCounts<'_>, &Option<usize>)| SpreadValue {
        key: axis.spread.key.clone(),
        value: at.map(|at| axis.values[at].clone()),
    };
    FilterObservation::Spread { values: axes.iter().zip(at).map(value).collect() }
}

fn explain_rejection(
    axes: &[SpreadCounts<'_>],
    positions: &[Option<usize>],
    ahead: &mut [Vec<u32>],
) -> (FilterObservation, Remedy) {
    let mut exceeded = None;
    for ((axis, at), ahead) in
        axes.iter().zip(positions).zip(ahead).filter(|((axis, _), _)| axis.spread.is_strict())
    {
        let key = &axis.spread.key;
        let Some(at) = *at else {
            let actual = exceeded.map_or_else(|| observe_values(axes, positions), |(actual, _)| actual);
            return (actual, Remedy::AddSpreadLabel { key: key.clone() });
        };
        ahead[at] += 1;
        if exceeded.is_none() && axis.excess(Some(at)).is_some_and(|excess| excess > 0) {
            let fewest = axis.counts.iter().position(|count| *count == axis.min_count()).unwrap_or(at);
            let fewest_value = axis.values[fewest].clone();
            let actual = FilterObservation::SpreadExceeded {
                key: key.clone(),
                value: axis.values[at].clone(),
                count: axis.counts[at],
                fewest_value: fewest_value.clone(),
                fewest_count: axis.counts[fewest],
            };
            let skew = ahead[at] - axis.min_count();
            exceeded = Some((actual, Remedy::AllowSkew { key: key.clone(), skew, fewest_value }));
        }
    }
    exceeded.unwrap_or_else(|| (observe_values(axes, positions), Remedy::LoosenSpread))
}
