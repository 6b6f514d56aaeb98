//! The size of the changes of one cluster: what an agent answers and what the hub estimates, which are stored and read for every plan.

use super::{ClusterPlan, PlannedAction};
use crate::text::bounded_json::JsonSize;

/// Most bytes of the changes of one cluster, as JSON.
pub const MAX_PLAN_BYTES: u64 = 2 * 1024 * 1024;
/// Most values in them: each needs far more memory than its text.
pub const MAX_PLAN_VALUES: u64 = 50_000;

impl ClusterPlan {
    /// Whether it may be stored.
    pub fn is_storable(&self) -> bool {
        let size = JsonSize::of_serialized(self);
        size.bytes <= MAX_PLAN_BYTES && size.values <= MAX_PLAN_VALUES
    }

    /// Leaves out the fields of changes, and counts them, where the whole is too large. The actions stay, so that a change is never read as
    /// none: fields have half of the limits, and the objects themselves the other half.
    pub fn limit_fields(&mut self) {
        if self.is_storable() {
            return;
        }
        let mut total = JsonSize::default();
        for change in &mut self.objects {
            let (PlannedAction::Change { fields, omitted } | PlannedAction::Replace { fields, omitted }) =
                &mut change.action
            else {
                continue;
            };
            let with_fields = total.and(JsonSize::of_serialized(fields));
            if with_fields.bytes <= MAX_PLAN_BYTES / 2 && with_fields.values <= MAX_PLAN_VALUES / 2 {
                total = with_fields;
            } else {
                *omitted = omitted.saturating_add(u32::try_from(fields.len()).unwrap_or(u32::MAX));
                *fields = Vec::new();
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::evaluation::plan::{FieldChange, PlannedChange};
    use crate::kubernetes::object::ObjectRef;

    /// The change of one field to so many values.
    fn change(count: usize) -> PlannedChange {
        let desired = Some(vec![0; count].into());
        let fields = vec![FieldChange { path: "/data".to_owned(), desired, live: None }];
        PlannedChange::verified(ObjectRef::default(), PlannedAction::Change { fields, omitted: 3 })
    }

    #[test]
    fn p19_fields_beyond_the_limit_are_counted_and_the_action_stays() {
        let mut small = ClusterPlan::from_changes(vec![change(10), change(20_000)]);
        let before = small.clone();
        small.limit_fields();
        assert_eq!(small, before);
        let mut large = ClusterPlan::from_changes(vec![change(20_000), change(60_000), change(10)]);
        assert!(!large.is_storable());
        large.limit_fields();
        assert!(large.is_storable() && !large.is_no_op());
        let listed = large.objects.iter().map(|change| match &change.action {
            PlannedAction::Change { fields, omitted } => (fields.len(), *omitted),
            other => panic!("{other:?}"),
        });
        assert_eq!(listed.collect::<Vec<_>>(), [(1, 3), (0, 4), (1, 3)]);
    }
}
