//! Spread: how evenly the chosen clusters lie over regions, zones, providers or the values of a label.
//!
//! As with Kubernetes' topology spread, the skew is how many more clusters one value has than the value that has fewest,
//! counted over the values that any candidate has; and what is there already is never sent away for its sake.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};

use super::decide::Candidate;
use super::fact::Fact;
use super::{Placement, Step, StepResult};
use crate::cluster::Cluster;

/// What happens to a cluster whose choice would make the skew too large.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
pub enum WhenUnsatisfiable {
    /// It is refused.
    #[default]
    DoNotSchedule,
    /// It is taken after those that would not.
    ScheduleAnyway,
}

/// One way in which the chosen clusters are spread.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
#[serde(rename_all = "camelCase", default)]
pub struct Spread {
    /// `region`, `zone` or `provider`, else the key of a label.
    pub key: String,
    /// How many more clusters one value may have than the value that has fewest; at least 1.
    pub max_skew: u32,
    /// What happens to a cluster that would make it more.
    pub when_unsatisfiable: WhenUnsatisfiable,
    /// At least this many values must be among those that match (G503).
    #[serde(skip_serializing_if = "Option::is_none")]
    pub min_groups: Option<u32>,
}

impl Default for Spread {
    fn default() -> Self {
        Self {
            key: String::new(),
            max_skew: 1,
            when_unsatisfiable: WhenUnsatisfiable::default(),
            min_groups: None,
        }
    }
}

impl Spread {
    /// The value that the cluster has; `None` if it has none, or none is known. Of several zones all together are one.
    pub fn value(&self, cluster: &Cluster) -> Option<String> {
        let fact = match self.key.as_str() {
            "region" => Fact::Region,
            "zone" => Fact::Zone,
            "provider" => Fact::Provider,
            key => return cluster.labels.get(key).cloned(),
        };
        let known = fact.values(cluster);
        (!known.is_empty()).then(|| known.join("+")).or_else(|| cluster.labels.get(&self.key).cloned())
    }

    /// Whether it refuses.
    pub fn is_strict(&self) -> bool {
        self.when_unsatisfiable == WhenUnsatisfiable::DoNotSchedule
    }
}

/// How many clusters have been taken of every value.
pub(super) struct Axis<'a> {
    pub spread: &'a Spread,
    pub values: Vec<String>,
    pub counts: Vec<u32>,
    /// How many values have so many clusters: its first key is the fewest that any value has.
    by_count: BTreeMap<u32, usize>,
}

impl<'a> Axis<'a> {
    /// Of the values that these clusters have.
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

    pub fn fewest(&self) -> u32 {
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

    /// By how much one more cluster of this value would be too many; `None` without a value.
    fn excess(&self, at: Option<usize>) -> Option<u32> {
        let skew = self.counts[at?] + 1 - self.fewest();
        Some(skew.saturating_sub(self.spread.max_skew.max(1)))
    }
}

/// Candidates with the same values, best first.
struct Alike {
    at: Vec<Option<usize>>,
    /// Positions in the ranking, worst first: the best is popped.
    waiting: Vec<usize>,
}

/// The ranked candidates in the order in which they are taken. Those that the spread keeps out are refused and left out;
/// the others get their step. Taking fewer of this order is always a decision of its own: a number only cuts it short.
pub(super) fn take<'c, 'a>(
    ranked: Vec<&'c mut Candidate<'a>>,
    placement: &Placement,
) -> Vec<&'c mut Candidate<'a>> {
    if placement.spread.is_empty() {
        return ranked;
    }
    let mut axes: Vec<Axis<'_>> = placement
        .spread
        .iter()
        .map(|spread| Axis::new(spread, ranked.iter().map(|candidate| candidate.cluster)))
        .collect();
    let (mut order, mut groups) = (Vec::new(), BTreeMap::<Vec<Option<usize>>, Vec<usize>>::new());
    for (rank, candidate) in ranked.iter().enumerate() {
        let at: Vec<Option<usize>> = axes.iter().map(|axis| axis.position(candidate.cluster)).collect();
        if placement.sticky && candidate.is_current {
            add(&mut axes, &at);
            order.push(rank);
        } else {
            groups.entry(at).or_default().push(rank);
        }
    }
    let alike = |(at, mut waiting): (Vec<Option<usize>>, Vec<usize>)| {
        waiting.reverse();
        Alike { at, waiting }
    };
    let mut groups: Vec<Alike> = groups.into_iter().map(alike).collect();
    while let Some(best) = best(&groups, &axes) {
        let group = &mut groups[best];
        add(&mut axes, &group.at);
        order.extend(group.waiting.pop());
        if group.waiting.is_empty() {
            groups.swap_remove(best);
        }
    }
    told(ranked, &order, &axes)
}

fn add(axes: &mut [Axis<'_>], at: &[Option<usize>]) {
    for (axis, at) in axes.iter_mut().zip(at) {
        if let Some(at) = at {
            axis.add(*at);
        }
    }
}

/// The group to take from next: one that every strict spread allows, that the others like best, that is ranked best.
fn best(groups: &[Alike], axes: &[Axis<'_>]) -> Option<usize> {
    /// A cluster without a value is worse than any skew.
    const NO_VALUE: u32 = 1_000_000;
    let cost = |group: &Alike| {
        let mut cost = 0_u32;
        for (axis, at) in axes.iter().zip(&group.at) {
            let excess = axis.excess(*at).unwrap_or(NO_VALUE);
            if axis.spread.is_strict() && excess > 0 {
                return None;
            }
            cost = cost.saturating_add(excess);
        }
        Some((cost, *group.waiting.last()?))
    };
    let allowed = groups.iter().enumerate().filter_map(|(at, group)| Some((cost(group)?, at)));
    allowed.min().map(|(_, at)| at)
}

/// Records what the spread said of everyone, and leaves those that it took, in order.
fn told<'c, 'a>(
    ranked: Vec<&'c mut Candidate<'a>>,
    order: &[usize],
    axes: &[Axis<'_>],
) -> Vec<&'c mut Candidate<'a>> {
    let asked: Vec<String> = axes.iter().map(|axis| asked(axis.spread)).collect();
    let asked = asked.join(" and ");
    let mut place = vec![None; ranked.len()];
    for (at, rank) in order.iter().enumerate() {
        place[*rank] = Some(at);
    }
    // How many of a value come before one that is kept out says how far the skew would have to be let go.
    let mut ahead: Vec<Vec<u32>> = axes.iter().map(|axis| axis.counts.clone()).collect();
    let mut taken: Vec<(usize, &'c mut Candidate<'a>)> = Vec::with_capacity(order.len());
    for (candidate, place) in ranked.into_iter().zip(place) {
        let at: Vec<Option<usize>> = axes.iter().map(|axis| axis.position(candidate.cluster)).collect();
        let (seen, remedy) = match place {
            Some(_) => (values(axes, &at), String::new()),
            None => kept_out(axes, &at, &mut ahead),
        };
        let passed = place.is_some();
        candidate.steps.push(StepResult { step: Step::Spread, passed, asked: asked.clone(), seen, remedy });
        match place {
            Some(place) => taken.push((place, candidate)),
            None => candidate.away = 1,
        }
    }
    taken.sort_by_key(|(place, _)| *place);
    taken.into_iter().map(|(_, candidate)| candidate).collect()
}

fn asked(spread: &Spread) -> String {
    let by = spread.max_skew.max(1);
    match spread.is_strict() {
        true => format!("no {} with more than {by} above the fewest", spread.key),
        false => format!("if it can be, no {} with more than {by} above the fewest", spread.key),
    }
}

fn values(axes: &[Axis<'_>], at: &[Option<usize>]) -> String {
    let value = |(axis, at): (&Axis<'_>, &Option<usize>)| match at {
        Some(at) => format!("{}={}", axis.spread.key, axis.values[*at]),
        None => format!("no {}", axis.spread.key),
    };
    axes.iter().zip(at).map(value).collect::<Vec<_>>().join(", ")
}

fn kept_out(axes: &[Axis<'_>], at: &[Option<usize>], ahead: &mut [Vec<u32>]) -> (String, String) {
    let mut said = (values(axes, at), "loosen the spread".to_owned());
    let mut told = false;
    for ((axis, at), ahead) in axes.iter().zip(at).zip(ahead).filter(|((axis, _), _)| axis.spread.is_strict())
    {
        let key = &axis.spread.key;
        let Some(at) = *at else {
            return (
                said.0,
                format!("label it with its {key}, or let the spread be broken (ScheduleAnyway)"),
            );
        };
        ahead[at] += 1;
        if !told && axis.excess(Some(at)).is_some_and(|excess| excess > 0) {
            told = true;
            let fewest = axis.counts.iter().position(|count| *count == axis.fewest()).unwrap_or(at);
            said.0 = format!(
                "{key}={} has {}, {} has {}",
                axis.values[at], axis.counts[at], axis.values[fewest], axis.counts[fewest]
            );
            let needed = ahead[at] - axis.fewest();
            said.1 =
                format!("allow a skew of {needed} over {key}, or add clusters to {}", axis.values[fewest]);
        }
    }
    said
}
