//! The desired objects of a bundle on this cluster, with label, annotations and hash.
//!
//! Objects are applied in the form in which the server stores them, without what controllers fill
//! ([`domain::plan::to_applied_form`]). The hash covers the object before label and annotations are added, so equal content
//! has the same hash in every release. Objects are stored as JSON text: ten thousand parsed trees would need several times
//! the memory.

use std::borrow::Cow;
use std::collections::HashSet;
use std::sync::Arc;

use domain::Digest;
use domain::bundle::{Bundle, apply_rank, owns_pods};
use domain::chart_hook::ChartHook;
use domain::chart_object::is_chart_crd;
use domain::helm_release::HelmRelease;
use domain::managed_fields::{ScaledField, is_owned_by_flotilla, scaled_fields};
use domain::object::{ObjectRef, object_ref};
use domain::plan::{SERVER_METADATA, STATUS_FIELD, to_applied_form};
use domain::quantity::Quantity;
use domain::report::DesiredRelease;
use serde_json::{Map, Value};

use crate::object_policy::{ObjectPolicy, remove_field};

/// The label with the id of the release that owns an object.
pub const RELEASE_LABEL: &str = "flotilla.dev/release";
/// The annotation with the name of the workload, for people.
pub const WORKLOAD_ANNOTATION: &str = "flotilla.dev/workload";
/// The annotation with the hash of the desired content.
pub const HASH_ANNOTATION: &str = "flotilla.dev/hash";
/// The annotation with the id of the run of a hook.
pub const HOOK_RUN_ANNOTATION: &str = "flotilla.dev/hook-run";
/// Metadata keys that Flotilla adds to every object.
pub(crate) const OWNERSHIP_KEYS: [&str; 3] = [RELEASE_LABEL, WORKLOAD_ANNOTATION, HASH_ANNOTATION];
/// `"true"` on an object whose health does not count towards the release.
pub const IGNORE_HEALTH_ANNOTATION: &str = "flotilla.dev/ignore-healthcheck";

/// The number of replicas, which is that of the live object while an autoscaler sets it.
pub(crate) const REPLICAS: &str = "/spec/replicas";
/// The requested size of a claim.
pub(crate) const CLAIM_SIZE: &str = "/spec/resources/requests/storage";

/// One desired object.
#[derive(Debug)]
pub(crate) struct DesiredObject {
    /// Position in the bundle.
    pub ordinal: u32,
    pub object: ObjectRef,
    pub rank: u32,
    /// Hash of the desired content.
    pub hash: String,
    /// Whether it is from the `crds/` folder of a chart.
    pub is_chart_crd: bool,
    /// Whether a scaler of the same bundle controls its replicas.
    pub autoscaled: bool,
    /// JSON text of the object, with label and annotations.
    body: Box<str>,
}

impl DesiredObject {
    /// Objects of equal order are applied concurrently; definitions of charts precede all others.
    pub(crate) fn apply_order(&self) -> (bool, u32) {
        (!self.is_chart_crd, self.rank)
    }

    /// The object with label and annotations.
    pub(crate) fn value(&self) -> Value {
        // The text was written from a value below.
        serde_json::from_str(&self.body).unwrap_or_default()
    }

    /// Whether the body to apply depends on the live object.
    pub(crate) fn needs_live(&self, rule: &ObjectPolicy<'_>) -> bool {
        self.is_autoscaled(rule)
            || rule.has_ignored_fields()
            || self.object.is_kind("", "PersistentVolumeClaim")
    }

    /// Whether a scaler of the bundle or an autoscaler of the cluster sets its replicas.
    pub(crate) fn is_autoscaled(&self, rule: &ObjectPolicy<'_>) -> bool {
        self.autoscaled || rule.autoscaled
    }

    /// The hash that a comparison of it with the live object is about: without its replicas if an autoscaler sets them, so that
    /// they are compared again once it is gone.
    pub(crate) fn compared_hash(&self, rule: &ObjectPolicy<'_>) -> Cow<'_, str> {
        if self.is_autoscaled(rule) {
            Cow::Owned(format!("{} without replicas", self.hash))
        } else {
            Cow::Borrowed(&self.hash)
        }
    }

    /// Whether the bundle sets its replicas.
    pub(crate) fn sets_replicas(&self) -> bool {
        self.value().pointer(REPLICAS).is_some()
    }

    /// The fields of the live object that scalers of others set through the scale subresource. What a scaler of the own bundle wrote
    /// is none of them once a revision drops it: like the number of a dropped autoscaler, it is a conflict that needs force.
    pub(crate) fn left_to_scalers(&self, rule: &ObjectPolicy<'_>, live: &Value) -> Vec<ScaledField> {
        if self.drops_scaler(rule) { Vec::new() } else { scaled_fields(live) }
    }

    /// Whether a scaler of the bundle that was applied last set its replicas, and this bundle has none for it.
    pub(crate) fn drops_scaler(&self, rule: &ObjectPolicy<'_>) -> bool {
        rule.was_scaled && !self.autoscaled
    }

    /// The body to apply over `live`. Replicas controlled by an autoscaler keep their live value: omitting them would
    /// give up ownership and reset them to one. What a scaler owns is omitted, also that of the own bundle: it stays, also if it changes
    /// meanwhile. Fields ignored by policy keep their values too; `heal` marks an apply without new content.
    pub(crate) fn apply_body(&self, live: Option<&Value>, rule: &ObjectPolicy<'_>, heal: bool) -> Vec<u8> {
        let scaled = live.map(|live| self.left_to_scalers(rule, live)).unwrap_or_default();
        let Some(live) = live.filter(|_| self.needs_live(rule) || !scaled.is_empty()) else {
            return self.body.as_bytes().to_vec();
        };
        let mut value = self.value();
        scaled.iter().for_each(|field| remove_field(&mut value, &field.path));
        if self.is_enlarged(&value, live) {
            remove_key(&mut value, "/spec/resources/requests", "storage");
        }
        let has_owner = scaled.iter().any(|field| field.path.to_string() == REPLICAS);
        let replicas = live.pointer(REPLICAS).filter(|_| self.is_autoscaled(rule) && !has_owner);
        if let (Some(replicas), Some(spec)) = (replicas, value.get_mut("spec").and_then(Value::as_object_mut))
        {
            spec.insert("replicas".to_owned(), replicas.clone());
        }
        rule.retain_live_values(&mut value, live, heal);
        value.to_string().into_bytes()
    }

    /// Whether another manager enlarged this claim. The server refuses to shrink it, so its size is not claimed; a size that a
    /// former revision requested is, so that the refusal is reported.
    pub(crate) fn is_enlarged(&self, desired: &Value, live: &Value) -> bool {
        let amount = |claim: &Value| claim.pointer(CLAIM_SIZE).and_then(Quantity::from_json);
        self.object.is_kind("", "PersistentVolumeClaim")
            && amount(live).zip(amount(desired)).is_some_and(|(live, desired)| live > desired)
            && !is_owned_by_flotilla(live, CLAIM_SIZE)
    }

    /// The object as the bundle has it, without label and annotations of Flotilla.
    pub(crate) fn source_value(&self) -> Value {
        let mut value = self.value();
        for field in ["labels", "annotations"] {
            let Some(Value::Object(map)) = value.pointer_mut(&format!("/metadata/{field}")) else { continue };
            map.retain(|key, _| !OWNERSHIP_KEYS.contains(&key.as_str()));
            if map.is_empty()
                && let Some(Value::Object(metadata)) = value.get_mut("metadata")
            {
                metadata.shift_remove(field);
            }
        }
        value
    }

    /// The object as compared with `live` for drift: without ignored fields, autoscaled replicas and what scalers set.
    pub(crate) fn comparable_value(&self, rule: &ObjectPolicy<'_>, live: &Value) -> Value {
        let mut value = self.value();
        rule.remove_ignored(&mut value);
        self.left_to_scalers(rule, live).iter().for_each(|field| remove_field(&mut value, &field.path));
        if self.is_autoscaled(rule)
            && let Some(spec) = value.get_mut("spec").and_then(Value::as_object_mut)
        {
            spec.remove("replicas");
        }
        value
    }
}

/// One hook of a chart.
#[derive(Debug)]
pub(crate) struct DesiredHook {
    pub desired: DesiredObject,
    /// Its annotations.
    pub hook: ChartHook,
    /// The object as it is in the bundle, if it is a hook of the removal.
    pub removal_hook: Option<Value>,
}

/// All objects of one bundle for one release, in the order in which they are applied.
#[derive(Debug)]
pub(crate) struct PreparedBundle {
    pub digest: Digest,
    pub objects: Vec<Arc<DesiredObject>>,
    /// The hooks of a chart, in the order in which they run.
    pub hooks: Vec<Arc<DesiredHook>>,
    /// The record of the Helm release, if one is kept.
    pub helm_release: Option<HelmRelease>,
}

impl PreparedBundle {
    /// Prepares `bundle` for the release of `desired_release`. Of duplicate objects the first counts.
    pub(crate) fn new(desired_release: &DesiredRelease, digest: Digest, bundle: &Bundle) -> Self {
        let scaled = scale_targets(bundle.objects.iter());
        let autoscaled = scale_targets(bundle.objects.iter().filter(|object| is_autoscaler(object)));
        let mut unique = HashSet::new();
        let mut objects = Vec::with_capacity(bundle.objects.len());
        for (ordinal, object) in bundle.objects.iter().enumerate() {
            let name = object_ref(object);
            if unique.insert((
                name.group.clone(),
                name.kind.clone(),
                name.namespace.clone(),
                name.name.clone(),
            )) {
                let target = (name.namespace.clone(), name.kind.clone(), name.name.clone());
                let scaler = if autoscaled.contains(&target) {
                    BundleScaler::Autoscaler
                } else if scaled.contains(&target) {
                    BundleScaler::Custom
                } else {
                    BundleScaler::None
                };
                objects.push(Arc::new(prepare_object(
                    desired_release,
                    u32::try_from(ordinal).unwrap_or(u32::MAX),
                    object,
                    scaler,
                )));
            }
        }
        objects.sort_by_key(|desired| desired.apply_order());
        let first = u32::try_from(bundle.objects.len()).unwrap_or(u32::MAX);
        let hooks = (first..).zip(&bundle.hooks).map(|(ordinal, object)| {
            let desired = prepare_object(desired_release, ordinal, object, BundleScaler::None);
            let hook = ChartHook::from_object(object);
            let removal_hook = hook.is_for_removal().then(|| object.clone());
            Arc::new(DesiredHook { desired, hook, removal_hook })
        });
        Self { digest, objects, hooks: hooks.collect(), helm_release: bundle.helm_release.clone() }
    }

    /// Whether an object runs containers.
    pub(crate) fn has_pods(&self) -> bool {
        self.objects.iter().any(|desired| owns_pods(&desired.object.kind))
    }

    /// The hooks of the removal, as they are in the bundle.
    pub(crate) fn removal_hooks(&self) -> Vec<Value> {
        self.hooks.iter().filter_map(|hook| hook.removal_hook.clone()).collect()
    }

    /// The objects from the `crds/` folder of a chart.
    pub(crate) fn chart_crds(&self) -> impl Iterator<Item = ObjectRef> + '_ {
        self.objects.iter().filter(|desired| desired.is_chart_crd).map(|desired| desired.object.clone())
    }
}

/// What in the bundle sets the replicas of an object.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum BundleScaler {
    None,
    /// A HorizontalPodAutoscaler.
    Autoscaler,
    /// A scaler of another kind.
    Custom,
}

fn prepare_object(
    desired_release: &DesiredRelease,
    ordinal: u32,
    object: &Value,
    scaler: BundleScaler,
) -> DesiredObject {
    let name = object_ref(object);
    let mut body = to_applied_form(object);
    remove_server_fields(&mut body);
    let hash =
        Bundle { objects: vec![hash_input(&body, scaler)], ..Bundle::default() }.digest().as_str().to_owned();
    let metadata = child_map(&mut body, "metadata");
    child_map_of(metadata, "labels")
        .insert(RELEASE_LABEL.to_owned(), desired_release.release.to_string().into());
    let annotations = child_map_of(metadata, "annotations");
    annotations.insert(WORKLOAD_ANNOTATION.to_owned(), desired_release.workload.clone().into());
    annotations.insert(HASH_ANNOTATION.to_owned(), hash.clone().into());
    let rank = apply_rank(&name.kind);
    DesiredObject {
        ordinal,
        object: name,
        rank,
        hash,
        is_chart_crd: is_chart_crd(&body),
        autoscaled: scaler != BundleScaler::None,
        body: body.to_string().into_boxed_str(),
    }
}

/// The object without the replicas that a HorizontalPodAutoscaler of the bundle sets. Those that scalers of other kinds set are hashed:
/// agents of earlier versions know no such scalers, and another hash would write every target of one without a revision.
fn hash_input(body: &Value, scaler: BundleScaler) -> Value {
    let mut hashed = body.clone();
    if scaler == BundleScaler::Autoscaler
        && let Some(spec) = hashed.get_mut("spec").and_then(Value::as_object_mut)
    {
        spec.remove("replicas");
    }
    hashed
}

/// Removes fields that only the API server may set; it would reject the apply.
fn remove_server_fields(body: &mut Value) {
    if let Some(object) = body.as_object_mut() {
        object.shift_remove(STATUS_FIELD);
    }
    if let Some(metadata) = body.get_mut("metadata").and_then(Value::as_object_mut) {
        for field in SERVER_METADATA {
            metadata.shift_remove(field);
        }
    }
}

fn remove_key(value: &mut Value, parent: &str, key: &str) {
    if let Some(Value::Object(map)) = value.pointer_mut(parent) {
        map.shift_remove(key);
    }
}

fn child_map<'a>(value: &'a mut Value, key: &str) -> &'a mut Map<String, Value> {
    if !value.is_object() {
        *value = Value::Object(Map::new());
    }
    match value {
        Value::Object(map) => child_map_of(map, key),
        _ => unreachable!("set to an object above"),
    }
}

fn child_map_of<'a>(map: &'a mut Map<String, Value>, key: &str) -> &'a mut Map<String, Value> {
    let value = map.entry(key.to_owned()).or_insert_with(|| Value::Object(Map::new()));
    if !value.is_object() {
        *value = Value::Object(Map::new());
    }
    match value {
        Value::Object(map) => map,
        _ => unreachable!("set to an object above"),
    }
}

fn is_autoscaler(object: &Value) -> bool {
    object["kind"] == "HorizontalPodAutoscaler"
}

/// Namespace, kind and name of what the scalers among these objects scale: objects of any kind with a `scaleTargetRef`, such as a
/// HorizontalPodAutoscaler or a ScaledObject of KEDA. Without a kind it is a Deployment, as KEDA reads it.
fn scale_targets<'a>(objects: impl Iterator<Item = &'a Value>) -> HashSet<(String, String, String)> {
    let text = |value: &Value, pointer: &str| {
        value.pointer(pointer).and_then(Value::as_str).unwrap_or_default().to_owned()
    };
    objects
        .filter(|object| object.pointer("/spec/scaleTargetRef/name").is_some())
        .map(|object| {
            let kind = text(object, "/spec/scaleTargetRef/kind");
            (
                text(object, "/metadata/namespace"),
                if kind.is_empty() { "Deployment".to_owned() } else { kind },
                text(object, "/spec/scaleTargetRef/name"),
            )
        })
        .collect()
}

#[cfg(test)]
mod tests;
