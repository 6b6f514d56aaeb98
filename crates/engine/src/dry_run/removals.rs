//! The planned changes of objects that are pruned, or removed with their release.

use domain::chart_object::retention_reason;
use domain::finding::Finding;
use domain::plan::{PlannedAction, PlannedChange, retained_finding};
use domain::policy::DeletionPolicy;
use futures::StreamExt;
use futures::stream;

use super::DryRunContext;
use crate::api::ServedKind;
use crate::applied_release::InventoryEntry;
use crate::error::Error;
use crate::observe::LiveObject;

/// The planned change of one object, and why it stays if that is not a policy.
type PlannedRemoval = (PlannedChange, Option<Finding>);

impl DryRunContext<'_> {
    /// The changes of recorded objects that are no longer desired. Objects that are missing, or were replaced by
    /// another one of the same name, are omitted.
    pub(super) async fn plan_removals(
        self,
        entries: &[&InventoryEntry],
        deletion: DeletionPolicy,
    ) -> Vec<PlannedRemoval> {
        let all: Vec<_> = entries.iter().rev().map(|entry| self.plan_removal(entry, deletion)).collect();
        let changes = stream::iter(all).buffered(self.cx.options.concurrency.max(1));
        changes.filter_map(async |change| change).collect().await
    }

    async fn plan_removal(self, entry: &InventoryEntry, deletion: DeletionPolicy) -> Option<PlannedRemoval> {
        let object = entry.object.clone();
        let is_orphaned = self.policies.should_orphan(deletion, &object) || entry.shared;
        let outcome = if is_orphaned { PlannedAction::Orphan } else { PlannedAction::Delete };
        let Some(resource) = self.kinds.resolve(&object) else {
            let why = "The cluster does not serve its kind.";
            return Some((PlannedChange::unverified(object, outcome, why), None));
        };
        match self.api.get(&ServedKind::object_path(resource, &object.namespace, &object.name)).await {
            Ok(live) if !self.release.is_some_and(|id| entry.owns(&LiveObject::from_value(&live), id)) => {
                None
            }
            Ok(live) => match retention_reason(&live).filter(|_| !is_orphaned) {
                Some(reason) => {
                    let finding = retained_finding(&object, reason);
                    Some((PlannedChange::verified(object, PlannedAction::Orphan), Some(finding)))
                }
                None => Some((PlannedChange::verified(object, outcome), None)),
            },
            Err(Error::NotFound(_)) => None,
            Err(error) => Some((PlannedChange::unverified(object, outcome, format!("{error}.")), None)),
        }
    }
}
