//! Which wave a cluster belongs to.

use std::collections::HashMap;

use serde::{Deserialize, Serialize};

use super::{RolloutStrategy, Wave};
use crate::cluster::Cluster;
use crate::id::ClusterId;
use crate::placement::ClusterGroup;

/// The wave of each of these clusters, which are given in the order of the decision: the first that is for it and has room;
/// `None` if none is. A cluster that has a wave already keeps it, so that a cluster which joins moves no other.
pub fn assign(
    strategy: &RolloutStrategy,
    chosen: &[&Cluster],
    groups: &[ClusterGroup],
    kept: &HashMap<ClusterId, u32>,
) -> Vec<Option<u32>> {
    let all = u32::try_from(chosen.len()).unwrap_or(u32::MAX);
    let waves = strategy.waves.len();
    let mut has = vec![0_u32; waves];
    let keeps = |cluster: &Cluster| kept.get(&cluster.id).copied().filter(|wave| (*wave as usize) < waves);
    for wave in chosen.iter().filter_map(|cluster| keeps(cluster)) {
        has[wave as usize] += 1;
    }
    let room: Vec<u32> = strategy
        .waves
        .iter()
        .map(|wave| wave.take.as_ref().and_then(|take| take.up(all)).unwrap_or(u32::MAX))
        .collect();
    let mut wave_of = |cluster: &Cluster| {
        if let Some(wave) = keeps(cluster) {
            return Some(wave);
        }
        let fits = |at: &usize| has[*at] < room[*at] && strategy.waves[*at].is_for(cluster, groups);
        let at = (0..waves).find(fits)?;
        has[at] += 1;
        u32::try_from(at).ok()
    };
    chosen.iter().map(|cluster| wave_of(cluster)).collect()
}

/// A wave, and what it would be made of.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
#[serde(rename_all = "camelCase")]
pub struct WaveOutlook {
    /// The wave.
    pub wave: Wave,
    /// How many clusters it has.
    pub clusters: u32,
    /// The names of the first of them.
    pub first: Vec<String>,
}

/// Names told of a wave.
const TOLD: usize = 12;

/// What every wave would be made of, for these clusters in the order of the decision.
pub fn outlook(strategy: &RolloutStrategy, chosen: &[&Cluster], groups: &[ClusterGroup]) -> Vec<WaveOutlook> {
    let empty = |wave: &Wave| WaveOutlook { wave: wave.clone(), clusters: 0, first: Vec::new() };
    let mut waves: Vec<WaveOutlook> = strategy.waves.iter().map(empty).collect();
    for (cluster, wave) in chosen.iter().zip(assign(strategy, chosen, groups, &HashMap::new())) {
        let Some(wave) = wave.and_then(|wave| waves.get_mut(wave as usize)) else { continue };
        wave.clusters += 1;
        if wave.first.len() < TOLD {
            wave.first.push(cluster.name.clone());
        }
    }
    waves
}

impl Wave {
    /// Whether it is for this cluster, whatever the waves before it.
    pub fn is_for(&self, cluster: &Cluster, groups: &[ClusterGroup]) -> bool {
        self.target.is_empty() || self.target.specificity(cluster, groups).is_some()
    }
}
