//! What applying a desired state would change on one cluster, object by object.

use serde::{Deserialize, Serialize};

use super::{FieldChange, check_chart_crd, diff, find_removed_fields, retained_finding};
use crate::kubernetes::digest::Digest;
use crate::kubernetes::object::{ObjectRef, object_ref};
use crate::model::bundle::Bundle;
use crate::model::chart_hook::{ChartHook, HookEvent};
use crate::model::chart_object::{is_chart_crd, retention_reason};
use crate::model::policy::{ChangedJobsPolicy, DeletionPolicy, Policies, UpdateStrategy};
use crate::text::finding::Finding;

/// Most objects that are listed, and most fields of one object; the rest is counted.
const MAX_ENTRIES: usize = 2_000;
/// Most bytes of a field's value; a longer one is truncated.
const MAX_VALUE_BYTES: usize = 2_000;

/// The planned changes of one cluster: objects in the order of the bundle, then those to delete.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
#[serde(rename_all = "camelCase", default)]
pub struct ClusterPlan {
    /// One entry per object.
    pub objects: Vec<PlannedChange>,
    /// Number of objects that are not listed.
    #[serde(skip_serializing_if = "is_zero")]
    pub omitted: u32,
    /// Further findings of the cluster, such as objects without a dry run (G405).
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub findings: Vec<Finding>,
}

/// The planned change of one object.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
#[serde(rename_all = "camelCase")]
pub struct PlannedChange {
    /// The object.
    pub object: ObjectRef,
    /// The action.
    pub action: PlannedAction,
    /// Why there was no dry run by the API server; empty if there was one.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub unverified: String,
    /// Whether it is made only once the new revision is operational ([`PruneOrder::AfterOperational`]).
    ///
    /// [`PruneOrder::AfterOperational`]: crate::policy::PruneOrder::AfterOperational
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub after_operational: bool,
}

/// The planned action on an object.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
#[serde(tag = "type", rename_all = "camelCase")]
pub enum PlannedAction {
    /// Nothing.
    Unchanged,
    /// It is created.
    Create,
    /// These fields change.
    #[serde(rename_all = "camelCase")]
    Change {
        /// The fields; values of Secrets are hidden.
        fields: Vec<FieldChange>,
        /// Number of fields that are not listed.
        #[serde(default, skip_serializing_if = "is_zero")]
        omitted: u32,
    },
    /// It is deleted and created again, because these fields can't be changed otherwise. A Job runs again.
    #[serde(rename_all = "camelCase")]
    Replace {
        /// The fields.
        fields: Vec<FieldChange>,
        /// Number of fields that are not listed.
        #[serde(default, skip_serializing_if = "is_zero")]
        omitted: u32,
    },
    /// It is deleted.
    Delete,
    /// It stays, and is no longer managed.
    Orphan,
    /// The cluster rejects it.
    Rejected {
        /// Why, and what to do.
        finding: Finding,
    },
}

/// Number of objects per action.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
#[serde(rename_all = "camelCase", default)]
pub struct ChangeCounts {
    /// Created.
    pub create: u32,
    /// Changed.
    pub change: u32,
    /// Deleted and created again.
    #[serde(skip_serializing_if = "is_zero")]
    pub replace: u32,
    /// Deleted.
    pub delete: u32,
    /// Left on the cluster, no longer managed.
    pub orphan: u32,
    /// Unchanged.
    pub unchanged: u32,
    /// Rejected.
    pub rejected: u32,
    /// Without a dry run; they are counted above too.
    pub unverified: u32,
}

#[expect(clippy::trivially_copy_pass_by_ref, reason = "serde passes a reference")]
const fn is_zero(n: &u32) -> bool {
    *n == 0
}

impl PlannedChange {
    /// A change that a dry run by the API server confirmed.
    pub fn verified(object: ObjectRef, action: PlannedAction) -> Self {
        Self { object, action, unverified: String::new(), after_operational: false }
    }

    /// A change that is estimated without a dry run, and the reason.
    pub fn unverified(object: ObjectRef, action: PlannedAction, why: impl Into<String>) -> Self {
        Self { object, action, unverified: why.into(), after_operational: false }
    }
}

/// Marks the deletions that wait until the new revision is operational. `has_pods` is whether it runs containers.
pub fn mark_late_deletions(changes: &mut [PlannedChange], policies: &Policies, has_pods: bool) {
    for change in changes.iter_mut().filter(|change| change.action == PlannedAction::Delete) {
        change.after_operational = policies.is_pruned_after_operational(&change.object, has_pods);
    }
}

impl PlannedAction {
    /// A change of these fields; `Unchanged` if there are none. Long values and excess fields are truncated.
    pub fn from_field_changes(mut fields: Vec<FieldChange>) -> Self {
        if fields.is_empty() {
            return Self::Unchanged;
        }
        let left_out = fields.len().saturating_sub(MAX_ENTRIES);
        fields.truncate(MAX_ENTRIES);
        // The plans of many clusters are in memory at once.
        fields.shrink_to_fit();
        for value in fields.iter_mut().flat_map(|field| [&mut field.desired, &mut field.live]).flatten() {
            truncate_value(value, MAX_VALUE_BYTES);
        }
        Self::Change { fields, omitted: u32::try_from(left_out).unwrap_or(u32::MAX) }
    }

    /// The same changes made by a replacement of the object.
    #[must_use]
    pub fn into_replacement(self) -> Self {
        match self {
            Self::Change { fields, omitted } => Self::Replace { fields, omitted },
            other => other,
        }
    }
}

/// Whether these changes are of a Job and can only be made by a replacement, which the policies allow.
fn replaces_job(object: &ObjectRef, fields: &[FieldChange], policies: &Policies) -> bool {
    const IMMUTABLE: [&str; 4] =
        ["/spec/template", "/spec/selector", "/spec/completions", "/spec/completionMode"];
    let is_immutable = |path: &str| {
        IMMUTABLE.iter().any(|field| {
            path.strip_prefix(field).is_some_and(|rest| rest.is_empty() || rest.starts_with('/'))
        })
    };
    object.is_job()
        && policies.changed_jobs == ChangedJobsPolicy::Replace
        && fields.iter().any(|change| is_immutable(&change.path))
}

/// The hooks of these events, which are created when the bundle is applied or removed. There is no dry run of them: they run only once the
/// objects before them exist.
pub fn plan_hooks(
    hooks: &[serde_json::Value],
    events: [HookEvent; 2],
) -> impl Iterator<Item = PlannedChange> + '_ {
    hooks.iter().filter_map(move |hook| {
        let own = ChartHook::from_object(hook).events;
        let running: Vec<String> =
            events.iter().filter(|event| own.contains(event)).map(ToString::to_string).collect();
        let why = format!("It is a hook of the chart and runs at {}.", running.join(" and "));
        (!running.is_empty()).then(|| PlannedChange::unverified(object_ref(hook), PlannedAction::Create, why))
    })
}

/// What happens to an object that is pruned or removed: some stay on the cluster.
fn plan_deletion(object: &serde_json::Value, is_orphaned: bool) -> (PlannedAction, Option<Finding>) {
    match (is_orphaned, retention_reason(object)) {
        (true, _) => (PlannedAction::Orphan, None),
        (false, Some(reason)) => (PlannedAction::Orphan, Some(retained_finding(&object_ref(object), reason))),
        (false, None) => (PlannedAction::Delete, None),
    }
}

/// Replaces a value of more than this many bytes by its beginning and its size.
pub(super) fn truncate_value(value: &mut serde_json::Value, bytes: usize) {
    let text = value.to_string();
    if text.len() > bytes {
        *value = format!("{}… ({} bytes)", truncate_str(&text, bytes), text.len()).into();
    }
}

fn truncate_str(text: &str, bytes: usize) -> &str {
    let end = (0..=bytes).rev().find(|at| text.is_char_boundary(*at)).unwrap_or(0);
    &text[..end]
}

impl ClusterPlan {
    /// The changes of these objects; excess ones are only counted.
    pub fn from_changes(mut objects: Vec<PlannedChange>) -> Self {
        let omitted = u32::try_from(objects.len().saturating_sub(MAX_ENTRIES)).unwrap_or(u32::MAX);
        objects.truncate(MAX_ENTRIES);
        objects.shrink_to_fit();
        Self { objects, omitted, findings: Vec::new() }
    }

    /// Estimates the changes on a cluster without a dry run. Assumes that `before`, the last released bundle, is on the
    /// cluster as it was applied, and that nothing is rejected. `why` is the reason for the missing dry run.
    pub fn estimate(before: Option<&Bundle>, after: &Bundle, policies: &Policies, why: &str) -> Self {
        let hook_events = match before {
            None => Some([HookEvent::PreInstall, HookEvent::PostInstall]),
            Some(before) if before != after => Some([HookEvent::PreUpgrade, HookEvent::PostUpgrade]),
            Some(_) => None,
        };
        let before = before.map_or(&[][..], |bundle| &bundle.objects);
        let policies = &policies.with_chart_crds(after.chart_crds());
        let mut findings = Vec::new();
        let find_before =
            |object: &ObjectRef| before.iter().find(|old| object_ref(old).is_same_object(object));
        let outcome = |new| {
            let object = object_ref(new);
            let outcome = match (policies.update_strategy(&object), find_before(&object)) {
                (UpdateStrategy::CreateOnly, Some(old)) if is_chart_crd(new) => {
                    findings.extend(check_chart_crd(&object, new, old));
                    PlannedAction::Unchanged
                }
                (UpdateStrategy::ReadOnly, _) | (UpdateStrategy::CreateOnly, Some(_)) => {
                    PlannedAction::Unchanged
                }
                (_, None) => PlannedAction::Create,
                (_, Some(old)) => {
                    let mut fields = diff(new, old);
                    fields.extend(find_removed_fields(old, new, old));
                    let is_replaced = replaces_job(&object, &fields, policies);
                    let change = PlannedAction::from_field_changes(fields);
                    if is_replaced { change.into_replacement() } else { change }
                }
            };
            PlannedChange::unverified(object, outcome, why)
        };
        let mut objects: Vec<_> = after.objects.iter().map(outcome).collect();
        let is_managed = |old: &ObjectRef| policies.update_strategy(old) != UpdateStrategy::ReadOnly;
        let is_pruned = |old: &ObjectRef| {
            policies.prune && is_managed(old) && !after.object_refs().any(|new| new.is_same_object(old))
        };
        for old in before.iter().filter(|old| is_pruned(&object_ref(old))) {
            let (outcome, finding) = plan_deletion(old, false);
            findings.extend(finding);
            objects.push(PlannedChange::unverified(object_ref(old), outcome, why));
        }
        mark_late_deletions(&mut objects, policies, after.has_pods());
        objects.extend(hook_events.into_iter().flat_map(|events| plan_hooks(&after.hooks, events)));
        Self { findings, ..Self::from_changes(objects) }
    }

    /// Estimates the removal of the last released bundle from a cluster.
    pub fn estimate_removal(
        before: &Bundle,
        deletion: DeletionPolicy,
        policies: &Policies,
        why: &str,
    ) -> Self {
        let (mut objects, mut findings) = (Vec::new(), Vec::new());
        for old in &before.objects {
            let object = object_ref(old);
            if policies.update_strategy(&object) == UpdateStrategy::ReadOnly {
                continue;
            }
            let (outcome, finding) = plan_deletion(old, policies.should_orphan(deletion, &object));
            findings.extend(finding);
            objects.push(PlannedChange::unverified(object, outcome, why));
        }
        if deletion != DeletionPolicy::Orphan {
            objects.extend(plan_hooks(&before.hooks, [HookEvent::PreDelete, HookEvent::PostDelete]));
        }
        Self { findings, ..Self::from_changes(objects) }
    }

    /// Number of listed objects per action.
    pub fn counts(&self) -> ChangeCounts {
        let mut counts = ChangeCounts::default();
        for change in &self.objects {
            *match change.action {
                PlannedAction::Unchanged => &mut counts.unchanged,
                PlannedAction::Create => &mut counts.create,
                PlannedAction::Change { .. } => &mut counts.change,
                PlannedAction::Replace { .. } => &mut counts.replace,
                PlannedAction::Delete => &mut counts.delete,
                PlannedAction::Orphan => &mut counts.orphan,
                PlannedAction::Rejected { .. } => &mut counts.rejected,
            } += 1;
            counts.unverified += u32::from(!change.unverified.is_empty());
        }
        counts
    }

    /// Whether nothing would change.
    pub fn is_no_op(&self) -> bool {
        self.objects.iter().all(|change| change.action == PlannedAction::Unchanged) && self.omitted == 0
    }

    /// Findings of rejected objects, then the cluster's further findings.
    pub fn findings(&self) -> impl Iterator<Item = &Finding> {
        let rejections = self.objects.iter().filter_map(|change| match &change.action {
            PlannedAction::Rejected { finding } => Some(finding),
            _ => None,
        });
        rejections.chain(&self.findings)
    }

    /// Digest that identifies clusters with the same changes.
    pub fn digest(&self) -> Digest {
        // Serialization of plain data into memory does not fail.
        Digest::compute(&serde_json::to_vec(self).unwrap_or_default())
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;
    use serde_json::{Value, json};

    use super::*;
    use crate::model::policy::UpdateRule;

    fn config_map(name: &str, value: &str) -> Value {
        json!({"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": name, "namespace": "web"},
            "data": {"key": value}})
    }

    fn estimate(before: &[Value], after: &[Value], policies: &Policies) -> ClusterPlan {
        let before = Bundle::new(before.to_vec());
        ClusterPlan::estimate(Some(&before), &Bundle::new(after.to_vec()), policies, "why")
    }

    #[test]
    fn e_2_an_estimate_distinguishes_created_changed_unchanged_and_deleted_objects() {
        let before = [config_map("same", "1"), config_map("changed", "1"), config_map("gone", "1")];
        let after = [config_map("same", "1"), config_map("changed", "2"), config_map("new", "1")];
        let effect = estimate(&before, &after, &Policies::default());
        let counts = effect.counts();
        assert_eq!((counts.create, counts.change, counts.delete, counts.unchanged), (1, 1, 1, 1));
        assert_eq!(counts.unverified, 4);
        let PlannedAction::Change { fields, .. } = &effect.objects[1].action else { panic!("{effect:?}") };
        assert_eq!(fields[0].path, "/data/key");
    }

    #[test]
    fn e_2_objects_that_are_read_only_or_not_pruned_are_not_planned_for_deletion() {
        let no_prune = Policies { prune: false, ..Policies::default() };
        assert!(estimate(&[config_map("gone", "1")], &[], &no_prune).is_no_op());
        let rule = UpdateRule { strategy: UpdateStrategy::ReadOnly, ..UpdateRule::default() };
        let read_only = Policies { update: vec![rule], ..Policies::default() };
        assert!(estimate(&[config_map("theirs", "1")], &[], &read_only).is_no_op());
        let bundle = Bundle::new(vec![config_map("theirs", "1")]);
        assert!(
            ClusterPlan::estimate_removal(&bundle, DeletionPolicy::Foreground, &read_only, "")
                .objects
                .is_empty()
        );
    }

    #[test]
    fn s4_4_an_estimate_lists_the_hooks_that_run_and_objects_that_stay() {
        let hook = |name: &str, events: &str| {
            let mut hook = config_map(name, "1");
            hook["metadata"]["annotations"] = json!({"helm.sh/hook": events});
            hook
        };
        let mut kept = config_map("kept", "1");
        kept["metadata"]["annotations"] = json!({"helm.sh/resource-policy": "keep"});
        let hooks = || vec![hook("install", "pre-install"), hook("upgrade", "post-upgrade")];
        let first = Bundle::new(vec![config_map("a", "1"), kept]).with_hooks(hooks());
        let second = Bundle::new(vec![config_map("a", "2")]).with_hooks(hooks());
        let plan = |before: Option<&Bundle>, after: &Bundle| {
            let plan = ClusterPlan::estimate(before, after, &Policies::default(), "why");
            let names: Vec<String> = plan.objects.iter().map(|change| change.object.name.clone()).collect();
            (names, plan)
        };
        assert_eq!(plan(None, &first).0, ["a", "kept", "install"]);
        assert_eq!(plan(Some(&first), &first).0, ["a", "kept"], "the same bundle runs no hook");
        let (names, upgrade) = plan(Some(&first), &second);
        assert_eq!(names, ["a", "kept", "upgrade"]);
        assert_eq!(upgrade.objects[2].unverified, "It is a hook of the chart and runs at post-upgrade.");
        assert_eq!(upgrade.objects[1].action, PlannedAction::Orphan);
        assert_eq!(upgrade.findings[0].code, "G413");
        let removal =
            ClusterPlan::estimate_removal(&first, DeletionPolicy::Foreground, &Policies::default(), "");
        assert_eq!((removal.counts().delete, removal.counts().orphan), (1, 1));
    }

    #[test]
    fn e_2_a_removal_deletes_or_orphans_objects_by_deletion_policy() {
        let bundle = Bundle::new(vec![config_map("a", "1")]);
        let counts =
            |deletion| ClusterPlan::estimate_removal(&bundle, deletion, &Policies::default(), "").counts();
        assert_eq!(counts(DeletionPolicy::Foreground).delete, 1);
        assert_eq!(counts(DeletionPolicy::Orphan).orphan, 1);
    }

    #[test]
    fn excess_objects_and_long_values_are_truncated_and_counted() {
        let many: Vec<Value> = (0..MAX_ENTRIES + 7).map(|n| config_map(&format!("m{n}"), "1")).collect();
        let effect = estimate(&[], &many, &Policies::default());
        assert_eq!((effect.objects.len(), effect.omitted), (MAX_ENTRIES, 7));
        let long = estimate(
            &[config_map("a", "1")],
            &[config_map("a", &"ä".repeat(MAX_VALUE_BYTES))],
            &Policies::default(),
        );
        assert!(serde_json::to_string(&long).unwrap().len() < MAX_VALUE_BYTES * 2);
    }

    #[test]
    fn p19_excess_fields_of_a_change_need_no_memory_of_their_own() {
        let map = |value: &str| {
            let data = (0..10 * MAX_ENTRIES).map(|n| (format!("k{n}"), Value::from(value)));
            let mut map = config_map("a", "1");
            map["data"] = Value::Object(data.collect());
            map
        };
        let effect = estimate(&[map("1")], &[map("2")], &Policies::default());
        let PlannedAction::Change { fields, omitted } = &effect.objects[0].action else { panic!() };
        assert_eq!((fields.len(), *omitted as usize), (MAX_ENTRIES, 9 * MAX_ENTRIES));
        assert!(fields.capacity() < 2 * MAX_ENTRIES, "{}", fields.capacity());
    }

    #[test]
    fn e_2_a_changed_job_is_planned_to_run_again_unless_the_policy_refuses_it() {
        let job = |image: &str, parallelism: u32| {
            json!({"apiVersion": "batch/v1", "kind": "Job", "metadata": {"name": "once", "namespace": "web"},
                "spec": {"parallelism": parallelism, "template": {"spec": {"containers": [{"name": "main", "image": image}]}}}})
        };
        let plan = |after, policies: &Policies| estimate(&[job("tool:1", 1)], &[after], policies).counts();
        let replaced = plan(job("tool:2", 1), &Policies::default());
        assert_eq!((replaced.replace, replaced.change), (1, 0));
        let scaled = plan(job("tool:1", 2), &Policies::default());
        assert_eq!((scaled.replace, scaled.change), (0, 1));
        let refusing = Policies { changed_jobs: ChangedJobsPolicy::Refuse, ..Policies::default() };
        assert_eq!(plan(job("tool:2", 1), &refusing).replace, 0);
    }

    fn bundle() -> impl Strategy<Value = Vec<Value>> {
        prop::collection::btree_map("[a-d]", "[xyz]{0,2}", 0..4)
            .prop_map(|maps| maps.iter().map(|(name, value)| config_map(name, value)).collect())
    }

    proptest! {
        #[test]
        fn e_2_after_applying_the_planned_changes_no_change_is_left(before in bundle(), after in bundle()) {
            let policies = Policies::default();
            let first = estimate(&before, &after, &policies);
            prop_assert_eq!(first.is_no_op(), before == after);
            prop_assert!(estimate(&after, &after, &policies).is_no_op());
            let counts = first.counts();
            prop_assert_eq!((counts.create + counts.change + counts.unchanged) as usize, after.len());
            prop_assert_eq!((counts.delete + counts.change + counts.unchanged) as usize, before.len());
        }
    }
}
