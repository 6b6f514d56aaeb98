//! The policies of a workload for one object: its update strategy and its ignored fields.
//!
//! The record stores under which of these policies an object was applied ([`ObjectPolicy::left_fields`]). A later revision without
//! them applies the object again, without force unless its conflict policy says so, as the plan does: a value that was left to
//! another manager is not Flotilla's, although Flotilla may have applied it.

use std::collections::HashSet;
use std::sync::Arc;

use domain::Digest;
use domain::field_path::{self, FieldPath, PathSegment};
use domain::json_path::JsonPath;
use domain::object::ObjectRef;
use domain::overrides::ObjectSelector;
use domain::policy::{DeletionPolicy, IgnoreWhen, Policies, UpdateStrategy};
use serde_json::Value;

use crate::applied_release::{AppliedRelease, InventoryEntry};
use crate::desired_object::PreparedBundle;
use crate::observe::ClusterState;

/// Ignored fields of the selected objects.
#[derive(Debug)]
struct IgnoredFields {
    selector: ObjectSelector,
    when: IgnoreWhen,
    paths: Vec<JsonPath>,
}

/// The parsed policies, and what autoscalers control; built once per reconciliation.
#[derive(Default)]
pub(crate) struct ObjectPolicies {
    ignored: Vec<IgnoredFields>,
    cluster: Arc<ClusterState>,
    /// The number of the revision: each one writes the fields again that are only left when they were changed.
    revision: u32,
    /// The uids of the recorded objects that this bundle drops: an autoscaler among them scales nothing any more.
    dropped: HashSet<String>,
    /// The recorded objects whose replicas a scaler of the applied bundle sets, without their API versions, which change nothing.
    scaled: HashSet<ObjectRef>,
}

/// The policies for one object.
#[derive(Debug, Default)]
pub(crate) struct ObjectPolicy<'a> {
    pub strategy: UpdateStrategy,
    pub on_presence: Vec<&'a JsonPath>,
    pub on_change: Vec<&'a JsonPath>,
    /// Whether an autoscaler of the cluster controls its replicas.
    pub autoscaled: bool,
    /// Whether a scaler of the bundle that was applied last controls its replicas.
    pub was_scaled: bool,
    /// Identifies the policies that leave fields of it, or all of it, to others; empty without any.
    pub left_fields: String,
}

impl ObjectPolicies {
    /// Parses the policies. An invalid path is skipped: the guard rails reject it before a publish.
    pub(crate) fn new(policies: &Policies, cluster: &Arc<ClusterState>) -> Self {
        let ignored = policies.ignore.iter().map(|rule| IgnoredFields {
            selector: rule.object.clone(),
            when: rule.when,
            paths: rule.paths.iter().filter_map(|path| path.parse().ok()).collect(),
        });
        Self {
            ignored: ignored.collect(),
            cluster: Arc::clone(cluster),
            revision: 0,
            dropped: HashSet::new(),
            scaled: HashSet::new(),
        }
    }

    /// The same policies, for this revision.
    #[must_use]
    pub(crate) fn at_revision(self, revision: u32) -> Self {
        Self { revision, ..self }
    }

    /// The same policies, with what is recorded of the bundle that was applied last, and what is pruned after the apply of this one.
    #[must_use]
    pub(crate) fn with_record(
        self,
        policies: &Policies,
        prepared: &PreparedBundle,
        record: Option<&AppliedRelease>,
    ) -> Self {
        let entries = record.map(|record| record.resources.as_slice()).unwrap_or_default();
        let scaled = entries.iter().filter(|entry| entry.scaled).map(|entry| without_version(&entry.object));
        Self { dropped: dropped_uids(policies, prepared, record), scaled: scaled.collect(), ..self }
    }

    /// The policies for `object`.
    pub(crate) fn for_object(&self, policies: &Policies, object: &ObjectRef) -> ObjectPolicy<'_> {
        let picks = |when: IgnoreWhen| {
            let matching =
                self.ignored.iter().filter(|rule| rule.when == when && rule.selector.matches_ref(object));
            matching.flat_map(|rule| &rule.paths).collect()
        };
        ObjectPolicy {
            strategy: policies.update_strategy(object),
            on_presence: picks(IgnoreWhen::OnPresence),
            on_change: picks(IgnoreWhen::OnChange),
            autoscaled: self.cluster.resources.is_autoscaled(object, &self.dropped),
            was_scaled: !self.scaled.is_empty() && self.scaled.contains(&without_version(object)),
            left_fields: self.left_fields(policies, object),
        }
    }

    /// Identifies the policies that leave fields of an object to others. Their order does not matter.
    fn left_fields(&self, policies: &Policies, object: &ObjectRef) -> String {
        let mut rules: Vec<String> = Vec::new();
        for rule in policies.ignore.iter().filter(|rule| rule.object.matches_ref(object)) {
            rules.extend(rule.paths.iter().map(|path| match rule.when {
                IgnoreWhen::OnPresence => format!("onPresence {path}"),
                IgnoreWhen::OnChange => format!("onChange {path} {}", self.revision),
            }));
        }
        if policies.update_strategy(object) == UpdateStrategy::CreateOnly {
            rules.push("createOnly".to_owned());
        }
        if rules.is_empty() {
            return String::new();
        }
        rules.sort();
        rules.dedup();
        let digest = Digest::compute(rules.join("\n").as_bytes());
        digest.as_str().trim_start_matches("sha256:").chars().take(16).collect()
    }
}

impl ObjectPolicy<'_> {
    /// Whether a policy ignores any field.
    pub(crate) fn has_ignored_fields(&self) -> bool {
        !self.on_presence.is_empty() || !self.on_change.is_empty()
    }

    /// Whether the object was applied last under policies that left fields of it to others and are not the same any more.
    pub(crate) fn takes_fields_back(&self, entry: Option<&InventoryEntry>) -> bool {
        entry.is_some_and(|entry| !entry.left_fields.is_empty() && entry.left_fields != self.left_fields)
    }

    /// Whether a difference at this path is ignored.
    pub(crate) fn is_ignored(&self, pointer: &str) -> bool {
        let Ok(path) = pointer.parse::<FieldPath>() else { return false };
        self.on_presence.iter().chain(&self.on_change).any(|pick| pick.covers(&path))
    }

    /// Removes the ignored fields from `desired`, before it is compared for drift.
    pub(crate) fn remove_ignored(&self, desired: &mut Value) {
        for pick in self.on_presence.iter().chain(&self.on_change) {
            for path in pick.select_paths(desired) {
                remove_field(desired, &path);
            }
        }
    }

    /// Copies the live values of ignored fields into `desired`, which is then applied over `live`. `OnChange` fields
    /// are copied only for a self-heal (`heal`); a new revision overwrites them.
    pub(crate) fn retain_live_values(&self, desired: &mut Value, live: &Value, heal: bool) {
        let on_change = self.on_change.iter().filter(|_| heal);
        for pick in self.on_presence.iter().chain(on_change) {
            for path in pick.select_paths(desired) {
                copy_live_value(desired, live, &path.0);
            }
        }
    }
}

/// The uids of the recorded objects that are pruned because the bundle does not have them.
fn dropped_uids(
    policies: &Policies,
    prepared: &PreparedBundle,
    record: Option<&AppliedRelease>,
) -> HashSet<String> {
    let Some(record) = record.filter(|_| policies.prune) else { return HashSet::new() };
    let hooks = prepared.hooks.iter().map(|hook| &hook.desired.object);
    let objects = prepared.objects.iter().map(|desired| &desired.object);
    let desired: HashSet<(&str, &str, &str, &str)> = objects.chain(hooks).map(identity).collect();
    let is_orphaned = |object: &ObjectRef| {
        policies.deletion == DeletionPolicy::SelectivelyOrphan
            && policies.should_orphan(policies.deletion, object)
    };
    let entries = record.resources.iter().filter(|entry| {
        !entry.uid.is_empty() && !desired.contains(&identity(&entry.object)) && !is_orphaned(&entry.object)
    });
    entries.map(|entry| entry.uid.clone()).collect()
}

/// What two references to the same object have in common: all but the API version.
fn identity(object: &ObjectRef) -> (&str, &str, &str, &str) {
    (&object.group, &object.kind, &object.namespace, &object.name)
}

/// A reference that is equal for the same object in every API version.
fn without_version(object: &ObjectRef) -> ObjectRef {
    ObjectRef { version: String::new(), ..object.clone() }
}

/// Removes a map entry. A list item stays, because its removal would shift the indexes of the others.
pub(crate) fn remove_field(value: &mut Value, path: &FieldPath) {
    let Some((PathSegment::Key(last), above)) = path.0.split_last() else { return };
    let parent = above.iter().try_fold(value, |value, segment| child_mut(value, segment));
    if let Some(Value::Object(map)) = parent {
        map.shift_remove(last);
    }
}

fn child_mut<'a>(value: &'a mut Value, segment: &PathSegment) -> Option<&'a mut Value> {
    let PathSegment::Key(key) = segment else { return None };
    match value {
        Value::Object(map) => map.get_mut(key),
        Value::Array(items) => items.get_mut(field_path::parse_index(key)?),
        _ => None,
    }
}

/// Copies the live value at `path` into `desired`. Where the live object has no parent of it, the desired value stays.
fn copy_live_value(desired: &mut Value, live: &Value, path: &[PathSegment]) {
    let Some((PathSegment::Key(key), rest)) = path.split_first() else { return };
    match desired {
        Value::Object(map) if rest.is_empty() => match (live.get(key), live.is_object()) {
            (Some(value), _) => {
                map.insert(key.clone(), value.clone());
            }
            (None, true) => {
                map.shift_remove(key);
            }
            (None, false) => {}
        },
        Value::Object(map) => {
            if let (Some(child), Some(live)) = (map.get_mut(key), live.get(key)) {
                copy_live_value(child, live, rest);
            }
        }
        Value::Array(items) => {
            let Some(at) = field_path::parse_index(key) else { return };
            let Some(item) = items.get_mut(at) else { return };
            let Some(live) = matching_live_item(item, live, at) else { return };
            if rest.is_empty() {
                *item = live.clone();
            } else {
                copy_live_value(item, live, rest);
            }
        }
        _ => {}
    }
}

/// The live list item that corresponds to `item`: by `name`, or by position without a name.
fn matching_live_item<'a>(item: &Value, live: &'a Value, at: usize) -> Option<&'a Value> {
    let items = live.as_array()?;
    match item.get("name").and_then(Value::as_str) {
        Some(name) => items.iter().find(|other| other["name"] == name),
        None => items.get(at),
    }
}

#[cfg(test)]
mod tests {
    use domain::ReleaseId;
    use domain::policy::IgnoreRule;
    use serde_json::json;

    use super::*;

    fn desired() -> Value {
        json!({"spec": {"replicas": 2, "containers": [{"name": "web", "image": "web:1"}]}})
    }

    fn live() -> Value {
        json!({"spec": {"replicas": 7, "containers": [{"name": "mesh", "image": "mesh:9"}, {"name": "web", "image": "web:0"}]}})
    }

    fn rules(when: IgnoreWhen, path: &str) -> (Policies, ObjectPolicies) {
        let rule = IgnoreRule { when, paths: vec![path.into()], ..IgnoreRule::default() };
        let policies = Policies { ignore: vec![rule], ..Policies::default() };
        let rules = ObjectPolicies::new(&policies, &Arc::default());
        (policies, rules)
    }

    fn retained(when: IgnoreWhen, path: &str, live: &Value, heal: bool) -> Value {
        let (policies, rules) = rules(when, path);
        let mut body = desired();
        rules.for_object(&policies, &ObjectRef::default()).retain_live_values(&mut body, live, heal);
        body
    }

    #[test]
    fn on_presence_fields_keep_their_live_value_by_item_name_not_by_position() {
        let body = retained(IgnoreWhen::OnPresence, "$.spec.containers[*].image", &live(), false);
        assert_eq!(body, json!({"spec": {"replicas": 2, "containers": [{"name": "web", "image": "web:0"}]}}));
        let body = retained(IgnoreWhen::OnPresence, "/spec/replicas", &live(), false);
        assert_eq!(body["spec"]["replicas"], 7);
        let empty = json!({"spec": {"containers": []}});
        assert_eq!(
            retained(IgnoreWhen::OnPresence, "/spec/replicas", &empty, false)["spec"].get("replicas"),
            None
        );
        let new_item = retained(IgnoreWhen::OnPresence, "$.spec.containers[*].image", &empty, false);
        assert_eq!(new_item, desired(), "a new item is applied as desired");
    }

    #[test]
    fn on_change_fields_are_overwritten_by_a_new_revision_and_kept_by_a_self_heal() {
        assert_eq!(retained(IgnoreWhen::OnChange, "/spec/replicas", &live(), false)["spec"]["replicas"], 2);
        assert_eq!(retained(IgnoreWhen::OnChange, "/spec/replicas", &live(), true)["spec"]["replicas"], 7);
    }

    #[test]
    fn ignored_fields_are_not_compared() {
        let (policies, rules) = rules(IgnoreWhen::OnChange, "$.spec.containers[*].image");
        let rule = rules.for_object(&policies, &ObjectRef::default());
        assert!(rule.has_ignored_fields());
        assert!(rule.is_ignored("/spec/containers[name=web]/image"));
        assert!(!rule.is_ignored("/spec/replicas"));
        let mut compared = desired();
        rule.remove_ignored(&mut compared);
        assert_eq!(compared, json!({"spec": {"replicas": 2, "containers": [{"name": "web"}]}}));
    }

    fn left_fields(policies: &Policies, revision: u32) -> String {
        let rules = ObjectPolicies::new(policies, &Arc::default()).at_revision(revision);
        rules.for_object(policies, &ObjectRef::default()).left_fields
    }

    #[test]
    fn p13_the_policies_that_leave_fields_to_others_are_identified_whatever_their_order() {
        let rule = |path: &str, when: IgnoreWhen| IgnoreRule {
            when,
            paths: vec![path.into()],
            ..IgnoreRule::default()
        };
        let with = |ignore: Vec<IgnoreRule>| Policies { ignore, ..Policies::default() };
        let (first, second) =
            (rule("/data/a", IgnoreWhen::OnPresence), rule("/data/b", IgnoreWhen::OnPresence));
        let both = left_fields(&with(vec![first.clone(), second.clone()]), 1);
        assert_eq!(left_fields(&with(vec![second, first.clone()]), 2), both);
        assert_ne!(left_fields(&with(vec![first]), 1), both);
        assert_eq!(left_fields(&Policies::default(), 1), "");
        let changed = with(vec![rule("/data/a", IgnoreWhen::OnChange)]);
        assert_ne!(left_fields(&changed, 1), left_fields(&changed, 2), "a new revision writes it again");
    }

    #[test]
    fn p13_a_scaled_object_is_found_in_the_record_whatever_its_api_version() {
        let object = |version: &str, name: &str| ObjectRef {
            group: "apps".into(),
            version: version.into(),
            kind: "Deployment".into(),
            namespace: "shop".into(),
            name: name.into(),
        };
        let entry = |name: &str, scaled: bool| InventoryEntry {
            object: object("v1beta1", name),
            scaled,
            ..InventoryEntry::default()
        };
        let resources = vec![entry("web", true), entry("api", false)];
        let record =
            AppliedRelease { resources, ..AppliedRelease::new(ReleaseId::from_parts(1, 1), "shop", "hub") };
        let policies = Policies::default();
        let digest = Digest::compute(b"");
        let prepared = PreparedBundle { digest, objects: Vec::new(), hooks: Vec::new(), helm_release: None };
        let rules =
            ObjectPolicies::new(&policies, &Arc::default()).with_record(&policies, &prepared, Some(&record));
        let was_scaled = |name: &str| rules.for_object(&policies, &object("v1", name)).was_scaled;
        assert!(was_scaled("web"));
        assert!(!was_scaled("api") && !was_scaled("other"));
    }

    #[test]
    fn p13_an_object_takes_fields_back_only_if_the_policies_that_left_them_have_changed() {
        let recorded = |left: &str| InventoryEntry { left_fields: left.into(), ..InventoryEntry::default() };
        let current = |left: &str| ObjectPolicy { left_fields: left.into(), ..ObjectPolicy::default() };
        assert!(current("").takes_fields_back(Some(&recorded("a"))));
        assert!(current("b").takes_fields_back(Some(&recorded("a"))));
        assert!(!current("a").takes_fields_back(Some(&recorded("a"))));
        assert!(!current("a").takes_fields_back(Some(&recorded(""))), "to leave a field needs no write");
        assert!(!current("").takes_fields_back(None));
    }
}
