//! Several workloads that are selected for one action, and what the action concerns. The action itself is the one on a single
//! workload, once for each.

use serde::{Deserialize, Serialize};
use strum::{IntoStaticStr, VariantArray};

use super::operation::OperationKind;
use super::rollup::ReleaseCounts;
use super::workload::WorkloadPhase;
use crate::kubernetes::time::Timestamp;

/// Most workloads of one selection.
pub const MAX_SELECTED: usize = 100;
/// Most releases that an unpublish of several workloads removes without confirmation.
const UNCONFIRMED_RELEASES: u32 = 5;

/// An action on several workloads.
#[derive(
    Debug, Clone, Copy, Default, PartialEq, Eq, Hash, Serialize, Deserialize, IntoStaticStr, VariantArray,
)]
#[serde(rename_all = "camelCase")]
#[strum(serialize_all = "camelCase")]
pub enum BulkAction {
    /// Request an immediate comparison with the clusters.
    #[default]
    Sync,
    /// Remove from every cluster.
    Unpublish,
}

impl BulkAction {
    /// Its name in addresses.
    pub fn as_str(self) -> &'static str {
        self.into()
    }

    /// Its name for people.
    pub const fn label(self) -> &'static str {
        match self {
            Self::Sync => "Sync",
            Self::Unpublish => "Unpublish",
        }
    }

    /// The action with this name.
    pub fn parse(name: &str) -> Option<Self> {
        Self::VARIANTS.iter().copied().find(|action| action.as_str() == name)
    }

    /// The operation that it records on each workload.
    pub const fn operation(self) -> OperationKind {
        match self {
            Self::Sync => OperationKind::Sync,
            Self::Unpublish => OperationKind::Unpublish,
        }
    }
}

/// The selected workloads.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct WorkloadSelection {
    /// Each of them, in the order requested.
    pub items: Vec<SelectedWorkload>,
    /// Number of distinct clusters that run any of those for which the action is available.
    pub clusters: u32,
}

/// One selected workload.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct SelectedWorkload {
    /// Its name.
    pub name: String,
    /// Its phase; `None` if it does not exist.
    pub phase: Option<WorkloadPhase>,
    /// Its releases by state.
    pub counts: ReleaseCounts,
    /// Number of its objects on its clusters, as they reported last.
    pub objects: u32,
    /// Number of its clusters that are not online.
    pub unreachable: u32,
    /// Why the action is unavailable; `None` if it is available.
    pub unavailable: Option<String>,
    /// What was requested for it last.
    pub latest: Option<LatestOperation>,
}

/// What was requested last for a workload.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct LatestOperation {
    /// What.
    pub kind: OperationKind,
    /// By whom.
    pub actor: String,
    /// When.
    pub at: Timestamp,
}

impl WorkloadSelection {
    /// Those for which the action is available.
    pub fn available(&self) -> impl Iterator<Item = &SelectedWorkload> {
        self.items.iter().filter(|one| one.unavailable.is_none())
    }

    /// Number of their releases.
    pub fn releases(&self) -> u32 {
        self.available().map(|one| one.counts.targeted()).sum()
    }

    /// Number of their objects on clusters.
    pub fn objects(&self) -> u32 {
        self.available().map(|one| one.objects).fold(0, u32::saturating_add)
    }

    /// Number of their releases on clusters that are not online.
    pub fn unreachable(&self) -> u32 {
        self.available().map(|one| one.unreachable).sum()
    }

    /// The number of workloads, if it has to be typed before they are unpublished: more than one, and more releases than a
    /// slip of the hand may remove.
    pub fn confirmation(&self) -> Option<u32> {
        let workloads = u32::try_from(self.available().count()).unwrap_or(u32::MAX);
        (workloads > 1 && self.releases() > UNCONFIRMED_RELEASES).then_some(workloads)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::model::release::ReleaseState;

    fn selection(releases: &[u32]) -> WorkloadSelection {
        let item = |(at, releases): (usize, &u32)| {
            let mut counts = ReleaseCounts::default();
            counts.add(ReleaseState::Healthy, *releases);
            SelectedWorkload {
                name: format!("web-{at}"),
                phase: Some(WorkloadPhase::Published),
                counts,
                objects: 3 * releases,
                unreachable: 0,
                unavailable: None,
                latest: None,
            }
        };
        WorkloadSelection { items: releases.iter().enumerate().map(item).collect(), clusters: 5 }
    }

    #[test]
    fn a_large_removal_of_several_workloads_is_confirmed_with_their_number() {
        assert_eq!(selection(&[2, 3]).confirmation(), None);
        assert_eq!(selection(&[40]).confirmation(), None);
        assert_eq!(selection(&[4, 4, 0]).confirmation(), Some(3));
    }

    #[test]
    fn workloads_for_which_the_action_is_unavailable_are_not_counted() {
        let mut selection = selection(&[4, 4]);
        selection.items[1].unavailable = Some("web-1 was never published.".to_owned());
        assert_eq!((selection.releases(), selection.objects()), (4, 12));
        assert_eq!(selection.confirmation(), None);
    }

    #[test]
    fn an_action_is_parsed_by_its_name() {
        assert_eq!(BulkAction::parse("unpublish"), Some(BulkAction::Unpublish));
        assert_eq!(BulkAction::parse("delete"), None);
    }
}
