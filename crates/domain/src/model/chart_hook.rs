//! Hooks of charts: objects that are created at a point of an installation or upgrade, by their annotations.

use serde_json::Value;
use strum::{Display, EnumString};

use crate::kubernetes::object::object_ref;
use crate::model::bundle::apply_rank;
use crate::model::chart_object::annotation;

/// The annotation that makes an object a hook, with its events.
pub const HOOK_ANNOTATION: &str = "helm.sh/hook";
/// The annotation with the position among the hooks of an event; lower is earlier.
pub const HOOK_WEIGHT_ANNOTATION: &str = "helm.sh/hook-weight";
/// The annotation that says when the object of a hook is deleted.
pub const HOOK_DELETE_POLICY_ANNOTATION: &str = "helm.sh/hook-delete-policy";

/// An event whose hooks run. A rollback publishes an earlier content as a new revision, so it is an upgrade.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Display, EnumString)]
#[strum(serialize_all = "kebab-case")]
pub enum HookEvent {
    /// Before the first bundle of a release is applied on a cluster.
    PreInstall,
    /// After it was applied.
    PostInstall,
    /// Before another bundle is applied.
    PreUpgrade,
    /// After it was applied.
    PostUpgrade,
    /// Before the release is removed from a cluster.
    PreDelete,
    /// After its objects are deleted.
    PostDelete,
}

/// When the object of a hook is deleted.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Display, EnumString)]
#[strum(serialize_all = "kebab-case")]
pub enum HookDeletePolicy {
    /// Before it is created again.
    BeforeHookCreation,
    /// Once all hooks of the event have succeeded.
    HookSucceeded,
    /// When it has failed.
    HookFailed,
}

/// The annotations of a hook.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ChartHook {
    /// The events that it runs at.
    pub events: Vec<HookEvent>,
    /// Its position among the hooks of an event.
    pub weight: i64,
    /// When its object is deleted.
    pub delete_policies: Vec<HookDeletePolicy>,
}

impl ChartHook {
    /// Reads the annotations. Unknown events and policies are left out, and an invalid weight is 0, as in Helm; G118 reports
    /// events that do not run.
    pub fn from_object(object: &Value) -> Self {
        let events = hook_events(object).iter().filter_map(|event| event.parse().ok()).collect();
        let policies = split_list(annotation(object, HOOK_DELETE_POLICY_ANNOTATION));
        let mut delete_policies: Vec<HookDeletePolicy> =
            policies.iter().filter_map(|policy| policy.parse().ok()).collect();
        if delete_policies.is_empty() {
            delete_policies.push(HookDeletePolicy::BeforeHookCreation);
        }
        let weight = annotation(object, HOOK_WEIGHT_ANNOTATION).trim().parse().unwrap_or(0);
        Self { events, weight, delete_policies }
    }

    /// Whether it runs when the release is removed. The agent stores such a hook on the cluster, since nothing else of the bundle
    /// is known by then.
    pub fn is_for_removal(&self) -> bool {
        self.events.iter().any(|event| matches!(event, HookEvent::PreDelete | HookEvent::PostDelete))
    }

    /// Whether its object is deleted in this case.
    pub fn has_policy(&self, policy: HookDeletePolicy) -> bool {
        self.delete_policies.contains(&policy)
    }
}

/// Events of a test of the chart.
pub const TEST_EVENTS: [&str; 3] = ["test", "test-success", "test-failure"];

/// Whether an object is a hook for tests of the chart alone, which never runs.
pub fn is_test_hook(object: &Value) -> bool {
    let events = hook_events(object);
    !events.is_empty() && events.iter().all(|event| TEST_EVENTS.contains(&event.as_str()))
}

/// The events of a hook, in lower case; empty for an object that is none.
pub fn hook_events(object: &Value) -> Vec<String> {
    split_list(annotation(object, HOOK_ANNOTATION))
}

fn split_list(text: &str) -> Vec<String> {
    let parts = text.split(',').map(|part| part.trim().to_lowercase());
    parts.filter(|part| !part.is_empty()).collect()
}

/// Sorts hooks into the order in which they run: by weight, then kind, then name. A service account precedes the job that uses it.
pub fn sort_hooks(hooks: &mut [Value]) {
    hooks.sort_by_cached_key(|object| {
        let name = object_ref(object);
        (ChartHook::from_object(object).weight, apply_rank(&name.kind), name.kind, name.namespace, name.name)
    });
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn hook(kind: &str, name: &str, annotations: &Value) -> Value {
        json!({"apiVersion": "v1", "kind": kind, "metadata": {"name": name, "annotations": annotations}})
    }

    #[test]
    fn s4_4_the_annotations_of_a_hook_are_read_as_helm_does() {
        let object = hook(
            "Job",
            "a",
            &json!({HOOK_ANNOTATION: "Pre-Install, pre-upgrade,test", HOOK_WEIGHT_ANNOTATION: "-5",
                HOOK_DELETE_POLICY_ANNOTATION: "hook-succeeded,before-hook-creation"}),
        );
        let read = ChartHook::from_object(&object);
        assert_eq!(read.events, [HookEvent::PreInstall, HookEvent::PreUpgrade]);
        assert_eq!(read.weight, -5);
        assert!(
            read.has_policy(HookDeletePolicy::HookSucceeded)
                && !read.has_policy(HookDeletePolicy::HookFailed)
        );
        let plain = ChartHook::from_object(&hook("Job", "a", &json!({HOOK_ANNOTATION: "post-install"})));
        assert_eq!((plain.weight, plain.delete_policies), (0, vec![HookDeletePolicy::BeforeHookCreation]));
    }

    #[test]
    fn s4_4_hooks_are_sorted_by_weight_then_kind_then_name() {
        let weighted = |kind: &str, name: &str, weight: &str| {
            hook(kind, name, &json!({HOOK_ANNOTATION: "pre-install", HOOK_WEIGHT_ANNOTATION: weight}))
        };
        let mut hooks = vec![
            weighted("Job", "b", "0"),
            weighted("Job", "a", "0"),
            weighted("ServiceAccount", "z", "0"),
            weighted("Job", "first", "-1"),
            weighted("ConfigMap", "last", "10"),
        ];
        sort_hooks(&mut hooks);
        let names: Vec<String> = hooks.iter().map(|hook| object_ref(hook).name).collect();
        assert_eq!(names, ["first", "z", "a", "b", "last"]);
    }
}
