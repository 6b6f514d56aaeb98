//! The action for one object, from its observed and desired state. Pure.

use domain::ReleaseId;
use domain::managed_fields;
use domain::plan::{FieldChange, diff};
use domain::policy::UpdateStrategy;
use serde_json::Value;

use super::reconcile_state::ObjectState;
use crate::applied_release::InventoryEntry;
use crate::desired_object::{CLAIM_SIZE, DesiredObject, REPLICAS};
use crate::object_policy::ObjectPolicy;
use crate::observe::LiveObject;

/// Action for one object.
#[derive(Debug, PartialEq)]
pub(crate) enum ObjectAction {
    /// The object has the desired content.
    InSync,
    /// The object completed, and may have been cleaned up since: it is neither re-created nor updated.
    Completed,
    /// The object is missing and has to be created by another party.
    Awaited,
    /// The object is missing and was not applied before.
    Create,
    /// The object exists with older content.
    Update,
    /// The object was applied and is missing.
    Missing,
    /// Another manager changed the object.
    Drifted(Vec<FieldChange>),
    /// The object is being deleted.
    Terminating,
    /// Another release applied the object.
    Foreign(ReleaseId),
}

/// One desired object and the policies for it.
#[derive(Clone, Copy)]
pub(crate) struct ObjectInput<'a> {
    pub desired: &'a DesiredObject,
    pub policy: &'a ObjectPolicy<'a>,
}

/// Decides the action for one object.
pub(crate) fn decide_action(
    release: ReleaseId,
    ObjectInput { desired, policy: rule }: ObjectInput<'_>,
    live: Option<&LiveObject>,
    entry: Option<&InventoryEntry>,
    object_state: &mut ObjectState,
) -> ObjectAction {
    let has_run = entry.is_some_and(|entry| entry.hash == desired.hash && entry.completed);
    match rule.strategy {
        UpdateStrategy::ServerSideApply => {}
        UpdateStrategy::ReadOnly => return live.map_or(ObjectAction::Awaited, |_| ObjectAction::InSync),
        UpdateStrategy::CreateOnly => {
            return match live {
                Some(live) if live.deleting && !has_run => ObjectAction::Terminating,
                Some(_) => ObjectAction::InSync,
                None if has_run => ObjectAction::Completed,
                None => ObjectAction::Create,
            };
        }
    }
    let Some(live) = live else { return decide_absent(desired, entry) };
    if let Some(other) = live.applied_release().filter(|other| *other != release) {
        return ObjectAction::Foreign(other);
    }
    if live.deleting {
        return if has_run { ObjectAction::Completed } else { ObjectAction::Terminating };
    }
    if !live.is_applied_by(release, entry.map_or("", |entry| entry.uid.as_str())) {
        // Another party created it in this name and copied the label: it is no more ours than one without the label.
        return decide_absent(desired, entry);
    }
    let applied =
        live.hash == desired.hash || entry.is_some_and(|e| e.hash == desired.hash && e.uid == live.uid);
    if applied && desired.object.is_job() && is_job_complete(&live.value()) {
        return ObjectAction::Completed;
    }
    if rule.takes_fields_back(entry) {
        // A person has published other policies: that is an update and no drift, so it needs force like any other update.
        return ObjectAction::Update;
    }
    let hash = desired.compared_hash(rule);
    let is_equal = |(version, compared): &(String, String)| *version == live.version && *compared == hash;
    if object_state.last_equal.as_ref().is_some_and(is_equal) {
        return ObjectAction::InSync;
    }
    if !applied {
        return ObjectAction::Update;
    }
    let live_value = live.value();
    let comparable = desired.comparable_value(rule, &live_value);
    let mut changes = drifted_fields(&comparable, &live_value, &object_state.server_changes);
    if desired.is_enlarged(&comparable, &live_value) {
        changes.retain(|change| change.path != CLAIM_SIZE);
    }
    changes.retain(|change| !rule.is_ignored(&change.path));
    if changes.is_empty() {
        object_state.last_equal = Some((live.version.clone(), hash.into_owned()));
        return ObjectAction::InSync;
    }
    if desired.drops_scaler(rule) && changes.iter().any(|change| is_number_of_scaler(change, &live_value)) {
        // A person has published the end of the scaler: that is an update and no drift, also if nothing else has changed.
        return ObjectAction::Update;
    }
    ObjectAction::Drifted(changes)
}

/// Whether a change is that of a number that a scaler or an autoscaler wrote, and not a person.
fn is_number_of_scaler(change: &FieldChange, live: &Value) -> bool {
    let manager = || managed_fields::changing_manager(live, std::slice::from_ref(&change.path));
    let is_replicas = change.path == REPLICAS && !managed_fields::is_person(&manager());
    is_replicas
        || managed_fields::scaled_fields(live).iter().any(|field| field.path.to_string() == change.path)
}

/// The action for an object that does not exist, or that the release has not applied.
fn decide_absent(desired: &DesiredObject, entry: Option<&InventoryEntry>) -> ObjectAction {
    match entry {
        Some(entry) if entry.hash == desired.hash && entry.completed => ObjectAction::Completed,
        Some(entry) if entry.hash == desired.hash && !entry.uid.is_empty() => ObjectAction::Missing,
        _ => ObjectAction::Create,
    }
}

/// How a Job ended.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum JobEnd {
    Complete,
    Failed,
}

/// How a Job ended; `None` while it runs.
pub(crate) fn job_end(job: &Value) -> Option<JobEnd> {
    let conditions = job.pointer("/status/conditions").and_then(Value::as_array)?;
    conditions.iter().filter(|condition| condition["status"] == "True").find_map(|condition| {
        match condition["type"].as_str() {
            Some("Complete") => Some(JobEnd::Complete),
            Some("Failed") => Some(JobEnd::Failed),
            _ => None,
        }
    })
}

/// Whether a job completed successfully. A failed one is not completed: a new revision may fix it.
pub(crate) fn is_job_complete(job: &Value) -> bool {
    job_end(job) == Some(JobEnd::Complete)
}

/// The drifted fields: all differences except those caused by the server's normalization. Replicas are not normalized: the value
/// that is owned although it differs is the one that was left to an autoscaler which is gone.
fn drifted_fields(desired: &Value, live: &Value, own: &[FieldChange]) -> Vec<FieldChange> {
    let mut changes = diff(desired, live);
    let is_normalized = |path: &str| path != REPLICAS && managed_fields::is_owned_by_flotilla(live, path);
    changes.retain(|change| !own.contains(change) && !is_normalized(&change.path));
    changes
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;

    use domain::bundle::Bundle;
    use domain::policy::{DeletionPolicy, Policies};
    use domain::report::{DesiredPhase, DesiredRelease};
    use serde_json::json;

    use super::*;
    use crate::desired_object::PreparedBundle;

    fn release() -> ReleaseId {
        ReleaseId::from_parts(1, 1)
    }

    fn prepare(data: &str) -> PreparedBundle {
        let desired_release = DesiredRelease {
            release: release(),
            workload: "shop".into(),
            generation: 1,
            sync_nonce: 0,
            phase: DesiredPhase::Absent {
                deletion: DeletionPolicy::Foreground,
                policies: Policies::default(),
            },
        };
        let object = json!({"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": "a", "namespace": "shop"},
            "data": {"k": data}});
        let bundle = Arc::new(Bundle::new(vec![object]));
        PreparedBundle::new(&desired_release, bundle.digest(), &bundle)
    }

    fn to_live(desired: &DesiredObject) -> Value {
        let mut value = desired.value();
        value["metadata"]["uid"] = "u".into();
        value["metadata"]["resourceVersion"] = "5".into();
        value["metadata"]["managedFields"] = label_owner(managed_fields::FIELD_MANAGER);
        value
    }

    /// The managed fields of an object whose label this manager wrote.
    fn label_owner(manager: &str) -> Value {
        let label = format!("f:{}", crate::desired_object::RELEASE_LABEL);
        json!([{"manager": manager, "operation": "Apply", "fieldsV1": {"f:metadata": {"f:labels": {label: {}}}}}])
    }

    fn inventory_entry(desired: &DesiredObject) -> InventoryEntry {
        InventoryEntry {
            object: desired.object.clone(),
            uid: "u".into(),
            hash: desired.hash.clone(),
            ..InventoryEntry::default()
        }
    }

    fn action(desired: &DesiredObject, live: Option<&Value>, entry: Option<&InventoryEntry>) -> ObjectAction {
        let live = live.map(LiveObject::from_value);
        decide_action(
            release(),
            ObjectInput { desired, policy: &ObjectPolicy::default() },
            live.as_ref(),
            entry,
            &mut ObjectState::default(),
        )
    }

    #[test]
    fn p26_an_object_with_the_desired_content_needs_no_action() {
        let prepared = prepare("1");
        let desired = &prepared.objects[0];
        assert_eq!(action(desired, Some(&to_live(desired)), None), ObjectAction::InSync);
    }

    #[test]
    fn the_action_depends_on_what_was_applied_before() {
        let (old, new) = (prepare("1"), prepare("2"));
        let (old, new) = (&old.objects[0], &new.objects[0]);
        assert_eq!(action(new, None, None), ObjectAction::Create);
        assert_eq!(action(new, None, Some(&inventory_entry(old))), ObjectAction::Create);
        assert_eq!(action(new, None, Some(&inventory_entry(new))), ObjectAction::Missing);
        assert_eq!(action(new, Some(&to_live(old)), Some(&inventory_entry(old))), ObjectAction::Update);
    }

    #[test]
    fn p15_an_object_that_was_never_applied_is_not_drift_when_missing() {
        let prepared = prepare("1");
        let desired = &prepared.objects[0];
        let intended = InventoryEntry { uid: String::new(), hash: String::new(), ..inventory_entry(desired) };
        assert_eq!(action(desired, None, Some(&intended)), ObjectAction::Create);
    }

    #[test]
    fn an_object_of_another_release_is_foreign() {
        let prepared = prepare("1");
        let desired = &prepared.objects[0];
        let other = ReleaseId::from_parts(9, 9);
        let mut value = to_live(desired);
        value["metadata"]["labels"][crate::desired_object::RELEASE_LABEL] = other.to_string().into();
        assert_eq!(action(desired, Some(&value), None), ObjectAction::Foreign(other));
        value["metadata"]["managedFields"] = label_owner("operator");
        assert_eq!(action(desired, Some(&value), None), ObjectAction::Create, "the label is copied");
    }

    #[test]
    fn i5_an_object_with_the_copied_label_of_this_release_is_treated_as_one_without_it() {
        let (old, new) = (prepare("1"), prepare("2"));
        let (old, new) = (&old.objects[0], &new.objects[0]);
        let mut copy = to_live(old);
        copy["metadata"]["managedFields"] = label_owner("operator");
        assert_eq!(action(new, Some(&copy), None), ObjectAction::Create);
        let recorded = inventory_entry(old);
        assert_eq!(action(new, Some(&copy), Some(&recorded)), ObjectAction::Update, "its uid is recorded");
        copy["metadata"]["uid"] = "another".into();
        assert_eq!(action(new, Some(&copy), Some(&inventory_entry(new))), ObjectAction::Missing);
    }

    #[test]
    fn p13_replicas_that_an_autoscaler_had_set_are_drift_once_it_is_gone() {
        let desired = json!({"spec": {"replicas": 3, "minReadySeconds": 5}});
        let live = json!({"metadata": {"managedFields": [{"manager": managed_fields::FIELD_MANAGER, "operation": "Apply",
            "fieldsV1": {"f:spec": {"f:replicas": {}, "f:minReadySeconds": {}}}}]},
            "spec": {"replicas": 7, "minReadySeconds": 6}});
        let changes = drifted_fields(&desired, &live, &[]);
        assert_eq!(changes.iter().map(|change| change.path.as_str()).collect::<Vec<_>>(), [REPLICAS]);
        assert!(drifted_fields(&desired, &live, &changes).is_empty(), "what a webhook sets on every apply");
    }

    #[test]
    fn p13_what_a_dropped_scaler_wrote_is_no_drift_and_what_a_person_wrote_is() {
        let is_number = |path: &str, manager: &str| {
            let live = json!({"spec": {"replicas": 7, "crew": {"size": 7}}, "metadata": {"managedFields": [
                {"manager": manager, "operation": "Update", "subresource": "scale",
                    "fieldsV1": {"f:spec": {"f:replicas": {}, "f:crew": {"f:size": {}}}}}]}});
            let change = FieldChange { path: path.to_owned(), desired: Some(json!(4)), live: Some(json!(7)) };
            is_number_of_scaler(&change, &live)
        };
        assert!(is_number(REPLICAS, "scaler") && is_number("/spec/crew/size", "scaler"));
        assert!(is_number(REPLICAS, "kube-controller-manager"), "the autoscaler of a ScaledObject");
        assert!(!is_number(REPLICAS, "kubectl") && !is_number("/spec/crew/size", "kubectl"));
        assert!(!is_number("/metadata/labels/tier", "scaler"));
    }

    #[test]
    fn read_only_objects_are_awaited_and_create_only_objects_are_never_updated() {
        let (old, new) = (prepare("1"), prepare("2"));
        let (old, new) = (&old.objects[0], &new.objects[0]);
        let step = |strategy, live: Option<&Value>| {
            let rule = ObjectPolicy { strategy, ..ObjectPolicy::default() };
            let live = live.map(LiveObject::from_value);
            let input = ObjectInput { desired: new, policy: &rule };
            decide_action(release(), input, live.as_ref(), None, &mut ObjectState::default())
        };
        assert_eq!(step(UpdateStrategy::ReadOnly, None), ObjectAction::Awaited);
        assert_eq!(step(UpdateStrategy::ReadOnly, Some(&to_live(old))), ObjectAction::InSync);
        assert_eq!(step(UpdateStrategy::CreateOnly, None), ObjectAction::Create);
        assert_eq!(step(UpdateStrategy::CreateOnly, Some(&to_live(old))), ObjectAction::InSync);
        assert_eq!(step(UpdateStrategy::ServerSideApply, Some(&to_live(old))), ObjectAction::Update);
    }

    #[test]
    fn p13_an_object_whose_policies_left_fields_to_others_is_updated_once_they_are_dropped() {
        let prepared = prepare("1");
        let desired = &prepared.objects[0];
        let live = to_live(desired);
        let recorded = InventoryEntry { left_fields: "former".into(), ..inventory_entry(desired) };
        assert_eq!(action(desired, Some(&live), Some(&recorded)), ObjectAction::Update);
        assert_eq!(action(desired, Some(&live), Some(&inventory_entry(desired))), ObjectAction::InSync);
        assert_eq!(action(desired, None, Some(&recorded)), ObjectAction::Missing);
    }

    #[test]
    fn a_completed_job_is_not_run_again() {
        let prepared = prepare("1");
        let desired = &prepared.objects[0];
        let completed = InventoryEntry { completed: true, ..inventory_entry(desired) };
        assert_eq!(action(desired, None, Some(&completed)), ObjectAction::Completed);
    }
}
