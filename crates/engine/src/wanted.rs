//! A bundle as this cluster will hold it: every object with its label, its annotations and its hash.
//!
//! The hash is that of the object before anything of ours is added, so the same content has the same hash under any
//! release. Objects are kept as text: ten thousand of them should not cost what ten thousand trees cost.

use std::collections::HashSet;

use domain::Digest;
use domain::bundle::{Bundle, object_ref, rank};
use domain::object::ObjectRef;
use domain::report::Want;
use serde_json::{Map, Value};

use crate::rules::Rule;

/// The label that says which release an object belongs to.
pub const RELEASE_LABEL: &str = "flotilla.dev/release";
/// The annotation with the name of the workload, for people.
pub const WORKLOAD_ANNOTATION: &str = "flotilla.dev/workload";
/// The annotation with the hash of the object as wanted.
pub const HASH_ANNOTATION: &str = "flotilla.dev/hash";
/// Label and annotations that are ours.
pub(crate) const MARKS: [&str; 3] = [RELEASE_LABEL, WORKLOAD_ANNOTATION, HASH_ANNOTATION];
/// `"true"` on an object whose health should not count.
pub const IGNORE_HEALTH_ANNOTATION: &str = "flotilla.dev/ignore-healthcheck";

/// One object to be.
#[derive(Debug)]
pub(crate) struct Wanted {
    /// Position in the bundle.
    pub ordinal: u32,
    pub object: ObjectRef,
    pub rank: u32,
    /// Hash of the wanted content.
    pub hash: String,
    /// Whether an autoscaler of the same bundle decides about its replicas.
    pub autoscaled: bool,
    /// The body of the apply.
    body: Box<str>,
}

impl Wanted {
    /// The object with label and annotations.
    pub(crate) fn value(&self) -> Value {
        // The text was written from a value below.
        serde_json::from_str(&self.body).unwrap_or_default()
    }

    /// The body to apply over `live`. Replicas that an autoscaler decides keep their live value: leaving them out
    /// would give them up and set them back to one.
    /// The same holds for what the policies leave to the cluster; `heal` says that no new content is written.
    pub(crate) fn body(&self, live: Option<&Value>, rule: &Rule<'_>, heal: bool) -> Vec<u8> {
        let Some(live) = live.filter(|_| self.autoscaled || rule.leaves_fields()) else {
            return self.body.as_bytes().to_vec();
        };
        let mut value = self.value();
        let replicas = live.pointer("/spec/replicas").filter(|_| self.autoscaled);
        if let (Some(replicas), Some(spec)) = (replicas, value.get_mut("spec").and_then(Value::as_object_mut))
        {
            spec.insert("replicas".to_owned(), replicas.clone());
        }
        rule.keep(&mut value, live, heal);
        value.to_string().into_bytes()
    }

    /// What drift is compared with: the object without what others decide.
    pub(crate) fn compared(&self, rule: &Rule<'_>) -> Value {
        let mut value = self.value();
        rule.without_ignored(&mut value);
        if self.autoscaled
            && let Some(spec) = value.get_mut("spec").and_then(Value::as_object_mut)
        {
            spec.remove("replicas");
        }
        value
    }
}

/// All objects of one bundle for one release, in the order in which they are applied.
#[derive(Debug)]
pub(crate) struct Prepared {
    pub digest: Digest,
    pub objects: Vec<Wanted>,
}

impl Prepared {
    /// Prepares `bundle` for the release of `want`. Of two entries for the same object the first counts.
    pub(crate) fn new(want: &Want, digest: Digest, bundle: &Bundle) -> Self {
        let scaled = autoscaled(bundle);
        let mut seen = HashSet::new();
        let mut objects = Vec::with_capacity(bundle.objects.len());
        for (ordinal, object) in bundle.objects.iter().enumerate() {
            let name = object_ref(object);
            if seen.insert((name.group.clone(), name.kind.clone(), name.namespace.clone(), name.name.clone()))
            {
                let autoscaled =
                    scaled.contains(&(name.namespace.clone(), name.kind.clone(), name.name.clone()));
                objects.push(wanted(want, u32::try_from(ordinal).unwrap_or(u32::MAX), object, autoscaled));
            }
        }
        objects.sort_by_key(|wanted| wanted.rank);
        Self { digest, objects }
    }
}

fn wanted(want: &Want, ordinal: u32, object: &Value, autoscaled: bool) -> Wanted {
    let name = object_ref(object);
    let mut body = object.clone();
    strip(&mut body);
    let hash = Bundle { objects: vec![hashed(&body, autoscaled)] }.digest().as_str().to_owned();
    let metadata = child(&mut body, "metadata");
    child_of(metadata, "labels").insert(RELEASE_LABEL.to_owned(), want.release.to_string().into());
    let annotations = child_of(metadata, "annotations");
    annotations.insert(WORKLOAD_ANNOTATION.to_owned(), want.workload.clone().into());
    annotations.insert(HASH_ANNOTATION.to_owned(), hash.clone().into());
    let rank = rank(&name.kind);
    Wanted { ordinal, object: name, rank, hash, autoscaled, body: body.to_string().into_boxed_str() }
}

fn hashed(body: &Value, autoscaled: bool) -> Value {
    let mut hashed = body.clone();
    if autoscaled && let Some(spec) = hashed.get_mut("spec").and_then(Value::as_object_mut) {
        spec.remove("replicas");
    }
    hashed
}

/// What only the server may set would make it refuse the apply.
fn strip(body: &mut Value) {
    if let Some(object) = body.as_object_mut() {
        object.shift_remove("status");
    }
    if let Some(metadata) = body.get_mut("metadata").and_then(Value::as_object_mut) {
        for field in
            ["managedFields", "uid", "resourceVersion", "creationTimestamp", "generation", "selfLink"]
        {
            metadata.shift_remove(field);
        }
    }
}

fn child<'a>(value: &'a mut Value, key: &str) -> &'a mut Map<String, Value> {
    if !value.is_object() {
        *value = Value::Object(Map::new());
    }
    match value {
        Value::Object(map) => child_of(map, key),
        _ => unreachable!("made an object above"),
    }
}

fn child_of<'a>(map: &'a mut Map<String, Value>, key: &str) -> &'a mut Map<String, Value> {
    let slot = map.entry(key.to_owned()).or_insert_with(|| Value::Object(Map::new()));
    if !slot.is_object() {
        *slot = Value::Object(Map::new());
    }
    match slot {
        Value::Object(map) => map,
        _ => unreachable!("made an object above"),
    }
}

/// Namespace, kind and name of everything an autoscaler of the bundle scales.
fn autoscaled(bundle: &Bundle) -> HashSet<(String, String, String)> {
    let text = |value: &Value, pointer: &str| {
        value.pointer(pointer).and_then(Value::as_str).unwrap_or_default().to_owned()
    };
    bundle
        .objects
        .iter()
        .filter(|object| object["kind"] == "HorizontalPodAutoscaler")
        .map(|object| {
            (
                text(object, "/metadata/namespace"),
                text(object, "/spec/scaleTargetRef/kind"),
                text(object, "/spec/scaleTargetRef/name"),
            )
        })
        .collect()
}

#[cfg(test)]
mod tests {
    use domain::ReleaseId;
    use domain::policy::{DeletionPolicy, Policies};
    use domain::report::Goal;
    use serde_json::json;

    use super::*;

    fn prepared(objects: Vec<Value>) -> Prepared {
        let want = Want {
            release: ReleaseId::from_parts(1, 2),
            workload: "shop".into(),
            generation: 1,
            sync_nonce: 0,
            goal: Goal::Absent { deletion: DeletionPolicy::Foreground, policies: Policies::default() },
        };
        let bundle = Bundle::new(objects);
        Prepared::new(&want, bundle.digest(), &bundle)
    }

    fn deployment(replicas: u32) -> Value {
        json!({"apiVersion": "apps/v1", "kind": "Deployment", "metadata": {"name": "web", "namespace": "shop",
            "uid": "x", "managedFields": []}, "spec": {"replicas": replicas}, "status": {"replicas": 1}})
    }

    #[test]
    fn every_object_carries_its_release_and_its_hash_on_its_own_metadata_only() {
        let prepared = prepared(vec![deployment(2)]);
        let value = prepared.objects[0].value();
        let release = ReleaseId::from_parts(1, 2).to_string();
        assert_eq!(value["metadata"]["labels"][RELEASE_LABEL], release);
        assert_eq!(value["metadata"]["annotations"][HASH_ANNOTATION], prepared.objects[0].hash);
        assert_eq!(value["metadata"]["annotations"][WORKLOAD_ANNOTATION], "shop");
        assert_eq!(value["spec"], json!({"replicas": 2}));
        assert_eq!(value.get("status"), None);
        assert_eq!(value["metadata"].get("uid"), None);
    }

    #[test]
    fn replicas_under_an_autoscaler_are_left_to_it() {
        let scaler = json!({"apiVersion": "autoscaling/v2", "kind": "HorizontalPodAutoscaler",
            "metadata": {"name": "web", "namespace": "shop"},
            "spec": {"scaleTargetRef": {"apiVersion": "apps/v1", "kind": "Deployment", "name": "web"}}});
        let (two, three) =
            (prepared(vec![deployment(2), scaler.clone()]), prepared(vec![deployment(3), scaler]));
        assert_eq!(two.objects[0].hash, three.objects[0].hash);
        assert_eq!(two.objects[0].compared(&Rule::default())["spec"], json!({}));
        let body: Value =
            serde_json::from_slice(&two.objects[0].body(Some(&deployment(7)), &Rule::default(), false))
                .unwrap();
        assert_eq!(body["spec"]["replicas"], 7);
        let first: Value =
            serde_json::from_slice(&two.objects[0].body(None, &Rule::default(), false)).unwrap();
        assert_eq!(first["spec"]["replicas"], 2);
    }

    #[test]
    fn of_two_entries_for_one_object_the_first_counts() {
        let prepared = prepared(vec![deployment(2), deployment(3)]);
        assert_eq!(prepared.objects.len(), 1);
        assert_eq!(prepared.objects[0].value()["spec"]["replicas"], 2);
    }
}
