//! What the policies of a workload say about one object: how it is written, and which fields are the cluster's.

use domain::object::ObjectRef;
use domain::overrides::ObjectSelector;
use domain::path::{self, Path, Segment};
use domain::pick::Pick;
use domain::policy::{IgnoreWhen, Policies, UpdateStrategy};
use serde_json::Value;

/// Fields of some objects that are left to the cluster.
#[derive(Debug)]
struct Ignored {
    object: ObjectSelector,
    when: IgnoreWhen,
    picks: Vec<Pick>,
}

/// The policies, read once per pass.
#[derive(Debug, Default)]
pub(crate) struct Rules {
    ignored: Vec<Ignored>,
}

/// What they say about one object.
#[derive(Debug, Default)]
pub(crate) struct Rule<'a> {
    pub strategy: UpdateStrategy,
    pub on_presence: Vec<&'a Pick>,
    pub on_change: Vec<&'a Pick>,
}

impl Rules {
    /// Reads the policies. A path that can't be read is left out: the guard rails refuse it before a publish.
    pub(crate) fn of(policies: &Policies) -> Self {
        let ignored = policies.ignore.iter().map(|rule| Ignored {
            object: rule.object.clone(),
            when: rule.when,
            picks: rule.paths.iter().filter_map(|path| path.parse().ok()).collect(),
        });
        Self { ignored: ignored.collect() }
    }

    /// What they say about this object.
    pub(crate) fn about(&self, policies: &Policies, object: &ObjectRef) -> Rule<'_> {
        let picks = |when: IgnoreWhen| {
            let of_it = self.ignored.iter().filter(|one| one.when == when && one.object.names(object));
            of_it.flat_map(|one| &one.picks).collect()
        };
        Rule {
            strategy: policies.strategy(object),
            on_presence: picks(IgnoreWhen::OnPresence),
            on_change: picks(IgnoreWhen::OnChange),
        }
    }
}

impl Rule<'_> {
    /// Whether it leaves any field to the cluster.
    pub(crate) fn leaves_fields(&self) -> bool {
        !self.on_presence.is_empty() || !self.on_change.is_empty()
    }

    /// Whether a difference here is none that counts.
    pub(crate) fn ignores(&self, pointer: &str) -> bool {
        let Ok(path) = pointer.parse::<Path>() else { return false };
        self.on_presence.iter().chain(&self.on_change).any(|pick| pick.covers(&path))
    }

    /// What drift is compared with: `wanted` without the fields that are the cluster's.
    pub(crate) fn without_ignored(&self, wanted: &mut Value) {
        for pick in self.on_presence.iter().chain(&self.on_change) {
            for place in pick.places(wanted) {
                take_out(wanted, &place);
            }
        }
    }

    /// What is written over `live`: the fields that are the cluster's keep what they have there. With `heal`, so do those
    /// that somebody may change; a new revision writes them.
    pub(crate) fn keep(&self, wanted: &mut Value, live: &Value, heal: bool) {
        let on_change = self.on_change.iter().filter(|_| heal);
        for pick in self.on_presence.iter().chain(on_change) {
            for place in pick.places(wanted) {
                leave(wanted, live, &place.0);
            }
        }
    }
}

/// Removes the field of a map; an item of a list stays, because the others would change their places.
fn take_out(value: &mut Value, place: &Path) {
    let Some((Segment::Key(last), above)) = place.0.split_last() else { return };
    let holder = above.iter().try_fold(value, |value, segment| child_mut(value, segment));
    if let Some(Value::Object(map)) = holder {
        map.shift_remove(last);
    }
}

fn child_mut<'a>(value: &'a mut Value, segment: &Segment) -> Option<&'a mut Value> {
    let Segment::Key(key) = segment else { return None };
    match value {
        Value::Object(map) => map.get_mut(key),
        Value::Array(items) => items.get_mut(path::index(key)?),
        _ => None,
    }
}

/// Puts what `live` has at this place. Where the live object has nothing above it, what is wanted is new there and stays.
fn leave(wanted: &mut Value, live: &Value, place: &[Segment]) {
    let Some((Segment::Key(key), rest)) = place.split_first() else { return };
    match wanted {
        Value::Object(map) if rest.is_empty() => match (live.get(key), live.is_object()) {
            (Some(there), _) => {
                map.insert(key.clone(), there.clone());
            }
            (None, true) => {
                map.shift_remove(key);
            }
            (None, false) => {}
        },
        Value::Object(map) => {
            if let (Some(child), Some(there)) = (map.get_mut(key), live.get(key)) {
                leave(child, there, rest);
            }
        }
        Value::Array(items) => {
            let Some(at) = path::index(key) else { return };
            let Some(item) = items.get_mut(at) else { return };
            let Some(there) = counterpart(item, live, at) else { return };
            if rest.is_empty() {
                *item = there.clone();
            } else {
                leave(item, there, rest);
            }
        }
        _ => {}
    }
}

/// The live item that stands for this one: by its name, or by its position if it has none.
fn counterpart<'a>(item: &Value, live: &'a Value, at: usize) -> Option<&'a Value> {
    let items = live.as_array()?;
    match item.get("name").and_then(Value::as_str) {
        Some(name) => items.iter().find(|other| other["name"] == name),
        None => items.get(at),
    }
}

#[cfg(test)]
mod tests {
    use domain::policy::IgnoreRule;
    use serde_json::json;

    use super::*;

    fn wanted() -> Value {
        json!({"spec": {"replicas": 2, "containers": [{"name": "web", "image": "web:1"}]}})
    }

    fn live() -> Value {
        json!({"spec": {"replicas": 7, "containers": [{"name": "mesh", "image": "mesh:9"}, {"name": "web", "image": "web:0"}]}})
    }

    fn rules(when: IgnoreWhen, path: &str) -> (Policies, Rules) {
        let rule = IgnoreRule { when, paths: vec![path.into()], ..IgnoreRule::default() };
        let policies = Policies { ignore: vec![rule], ..Policies::default() };
        let rules = Rules::of(&policies);
        (policies, rules)
    }

    fn kept(when: IgnoreWhen, path: &str, live: &Value, heal: bool) -> Value {
        let (policies, rules) = rules(when, path);
        let mut body = wanted();
        rules.about(&policies, &ObjectRef::default()).keep(&mut body, live, heal);
        body
    }

    #[test]
    fn fields_left_on_presence_keep_what_the_cluster_has_by_name_not_by_position() {
        let body = kept(IgnoreWhen::OnPresence, "$.spec.containers[*].image", &live(), false);
        assert_eq!(body, json!({"spec": {"replicas": 2, "containers": [{"name": "web", "image": "web:0"}]}}));
        let body = kept(IgnoreWhen::OnPresence, "/spec/replicas", &live(), false);
        assert_eq!(body["spec"]["replicas"], 7);
        let gone = json!({"spec": {"containers": []}});
        assert_eq!(
            kept(IgnoreWhen::OnPresence, "/spec/replicas", &gone, false)["spec"].get("replicas"),
            None
        );
        let none = kept(IgnoreWhen::OnPresence, "$.spec.containers[*].image", &gone, false);
        assert_eq!(none, wanted(), "an item that is new is written as wanted");
    }

    #[test]
    fn fields_left_on_change_are_written_by_a_new_revision_and_kept_by_a_repair() {
        assert_eq!(kept(IgnoreWhen::OnChange, "/spec/replicas", &live(), false)["spec"]["replicas"], 2);
        assert_eq!(kept(IgnoreWhen::OnChange, "/spec/replicas", &live(), true)["spec"]["replicas"], 7);
    }

    #[test]
    fn ignored_fields_are_not_compared() {
        let (policies, rules) = rules(IgnoreWhen::OnChange, "$.spec.containers[*].image");
        let rule = rules.about(&policies, &ObjectRef::default());
        assert!(rule.leaves_fields());
        assert!(rule.ignores("/spec/containers[name=web]/image"));
        assert!(!rule.ignores("/spec/replicas"));
        let mut compared = wanted();
        rule.without_ignored(&mut compared);
        assert_eq!(compared, json!({"spec": {"replicas": 2, "containers": [{"name": "web"}]}}));
    }
}
