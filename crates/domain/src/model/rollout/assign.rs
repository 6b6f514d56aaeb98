//! Assignment of clusters to waves.

use std::collections::HashMap;

use serde::{Deserialize, Serialize};

use super::{RolloutStrategy, Wave};
use crate::kubernetes::id::ClusterId;
use crate::model::cluster::Cluster;
use crate::model::placement::ClusterGroup;

/// The wave of each selected cluster, in the order of the decision: the first wave that matches the cluster and is not
/// full, or `None`. `kept` holds the waves assigned before; they do not change, so that a cluster which joins moves no
/// other.
pub fn assign_waves(
    strategy: &RolloutStrategy,
    chosen: &[&Cluster],
    groups: &[ClusterGroup],
    kept: &HashMap<ClusterId, u32>,
) -> Vec<Option<u32>> {
    let all = u32::try_from(chosen.len()).unwrap_or(u32::MAX);
    let waves = strategy.waves.len();
    let mut sizes = vec![0_u32; waves];
    let previous = |cluster: &Cluster| kept.get(&cluster.id).copied().filter(|wave| (*wave as usize) < waves);
    for wave in chosen.iter().filter_map(|cluster| previous(cluster)) {
        sizes[wave as usize] += 1;
    }
    let limits: Vec<u32> = strategy
        .waves
        .iter()
        .map(|wave| wave.max_clusters.as_ref().and_then(|limit| limit.round_up(all)).unwrap_or(u32::MAX))
        .collect();
    let mut wave_of = |cluster: &Cluster| {
        if let Some(wave) = previous(cluster) {
            return Some(wave);
        }
        let fits = |at: &usize| sizes[*at] < limits[*at] && strategy.waves[*at].is_matching(cluster, groups);
        let at = (0..waves).find(fits)?;
        sizes[at] += 1;
        u32::try_from(at).ok()
    };
    chosen.iter().map(|cluster| wave_of(cluster)).collect()
}

/// A wave with the clusters that it would contain.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
#[serde(rename_all = "camelCase")]
pub struct WavePreview {
    /// The wave.
    pub wave: Wave,
    /// Number of clusters in it.
    pub clusters: u32,
    /// Names of its first clusters, at most twelve.
    pub cluster_names: Vec<String>,
}

/// Maximum number of names in a [`WavePreview`].
const MAX_NAMES: usize = 12;

/// The clusters that every wave would contain, for the selected clusters in the order of the decision.
pub fn preview_waves(
    strategy: &RolloutStrategy,
    chosen: &[&Cluster],
    groups: &[ClusterGroup],
) -> Vec<WavePreview> {
    let empty = |wave: &Wave| WavePreview { wave: wave.clone(), clusters: 0, cluster_names: Vec::new() };
    let mut waves: Vec<WavePreview> = strategy.waves.iter().map(empty).collect();
    for (cluster, wave) in chosen.iter().zip(assign_waves(strategy, chosen, groups, &HashMap::new())) {
        let Some(wave) = wave.and_then(|wave| waves.get_mut(wave as usize)) else { continue };
        wave.clusters += 1;
        if wave.cluster_names.len() < MAX_NAMES {
            wave.cluster_names.push(cluster.name.clone());
        }
    }
    waves
}

impl Wave {
    /// Whether its target matches the cluster, regardless of earlier waves.
    pub fn is_matching(&self, cluster: &Cluster, groups: &[ClusterGroup]) -> bool {
        self.target.is_empty() || self.target.specificity(cluster, groups).is_some()
    }
}
