//! What an override or a template renders differently for some clusters of a plan.
//!
//! A cluster plan lists a new object without its fields. Two clusters that get different new objects do not have the same
//! change, so the groups of a plan depend on the rendered bundles too, and name the fields that distinguish them.

use std::collections::{BTreeMap, HashMap, HashSet};

use serde::{Deserialize, Serialize};
use serde_json::Value;

use super::cluster_plan::truncate_value;
use super::secret::with_stored_data;
use super::{ClusterPlan, PlannedAction, diff};
use crate::kubernetes::digest::Digest;
use crate::kubernetes::object::{ObjectRef, object_ref};
use crate::model::bundle::Bundle;

/// Most variants of an object that are stored with their fields; clusters with a further one are told apart by its number.
const MAX_VARIANTS: usize = 20;
/// Most fields of a variant.
const MAX_FIELDS: usize = 20;
/// Most bytes of a field's value; a longer one is truncated.
const MAX_VALUE_BYTES: usize = 200;

/// The objects that differ between the bundles of a plan.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
#[serde(rename_all = "camelCase", default)]
pub struct PlanVariants {
    /// The objects.
    pub objects: Vec<VariedObject>,
    /// By bundle: for each of `objects` the number of its variant, from 0; `null` if the bundle does not have the object.
    pub bundles: BTreeMap<Digest, Vec<Option<u32>>>,
}

/// An object that differs between bundles.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
#[serde(rename_all = "camelCase")]
pub struct VariedObject {
    /// The object.
    pub object: ObjectRef,
    /// The first variants with their values of the differing fields.
    pub variants: Vec<Vec<FieldValue>>,
}

/// The value of one field.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
#[serde(rename_all = "camelCase")]
pub struct FieldValue {
    /// JSON pointer, as in [`super::FieldChange`].
    pub path: String,
    /// The value, hidden for a Secret; `None` if the object does not have the field.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub value: Option<Value>,
}

/// The variant of an object that a cluster creates.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub(super) struct CreatedVariant {
    /// Its index in [`PlanVariants::objects`].
    object: usize,
    /// The number of the variant.
    variant: u32,
}

/// What distinguishes a new object of one group from the same object of another group.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
#[serde(rename_all = "camelCase")]
pub struct Distinction {
    /// The object.
    pub object: ObjectRef,
    /// Its values of the differing fields; empty if it has too many variants to list them.
    pub fields: Vec<FieldValue>,
}

impl PlanVariants {
    /// Compares the bundles of a plan. One of them is in memory at a time, and the first variants of each object as text.
    pub fn compare(bundles: impl IntoIterator<Item = (Digest, Bundle)>) -> Self {
        let mut digests = Vec::new();
        let mut rendered: BTreeMap<ObjectRef, ObjectContents> = BTreeMap::new();
        for (digest, bundle) in bundles {
            for object in &bundle.objects {
                rendered.entry(object_ref(object)).or_default().add(digests.len(), object);
            }
            digests.push(digest);
        }
        let mut compared = Self::default();
        for (object, contents) in rendered {
            let variants = compare_contents(&contents.read_listed());
            if variants.iter().all(Vec::is_empty) {
                continue;
            }
            let at = compared.objects.len();
            compared.objects.push(VariedObject { object, variants });
            for (bundle, number) in contents.numbers {
                let column = compared.bundles.entry(digests[bundle].clone()).or_default();
                column.resize(at + 1, None);
                column[at] = Some(number);
            }
        }
        compared
    }

    /// Whether every bundle has the same objects.
    pub const fn is_empty(&self) -> bool {
        self.objects.is_empty()
    }

    /// The variants that a cluster with this bundle and these changes creates. Objects that the plan omits may be new ones.
    pub(super) fn created_variants(&self, bundle: &Digest, changes: &ClusterPlan) -> Vec<CreatedVariant> {
        let Some(column) = self.bundles.get(bundle) else { return Vec::new() };
        let key = |object: &ObjectRef| {
            [&object.group, &object.kind, &object.namespace, &object.name].map(String::to_owned)
        };
        let others = changes.objects.iter().filter(|change| change.action != PlannedAction::Create);
        let others: HashSet<_> = others.map(|change| key(&change.object)).collect();
        let is_new = |created: &CreatedVariant| {
            self.objects.get(created.object).is_some_and(|varied| !others.contains(&key(&varied.object)))
        };
        let numbers = column.iter().enumerate();
        let variants =
            numbers.filter_map(|(object, variant)| Some(CreatedVariant { object, variant: (*variant)? }));
        variants.filter(is_new).collect()
    }

    /// The fields that distinguish these variants.
    pub(super) fn distinctions(&self, created: &[CreatedVariant]) -> Vec<Distinction> {
        let describe = |created: &CreatedVariant| {
            let varied = self.objects.get(created.object)?;
            let fields = varied.variants.get(created.variant as usize).cloned().unwrap_or_default();
            Some(Distinction { object: varied.object.clone(), fields })
        };
        created.iter().filter_map(describe).collect()
    }
}

/// The contents that an object has in the bundles of a plan.
#[derive(Default)]
struct ObjectContents {
    /// The number of each distinct content.
    known: HashMap<Digest, u32>,
    /// The first distinct contents in their order, as JSON: that needs less memory than their values.
    listed: Vec<String>,
    /// The position of each bundle that has the object, and the number of the content there.
    numbers: Vec<(usize, u32)>,
}

impl ObjectContents {
    /// Adds the content in the bundle at this position.
    fn add(&mut self, bundle: usize, content: &Value) {
        let text = content.to_string();
        let next = u32::try_from(self.known.len()).unwrap_or(u32::MAX);
        let number = *self.known.entry(Digest::compute(text.as_bytes())).or_insert(next);
        if number == next && self.listed.len() < MAX_VARIANTS {
            self.listed.push(text);
        }
        self.numbers.push((bundle, number));
    }

    fn read_listed(&self) -> Vec<Value> {
        // What was written as JSON can be read.
        self.listed.iter().filter_map(|text| serde_json::from_str(text).ok()).collect()
    }
}

/// The values of each content at the fields in which the first ones differ; none if they are equal.
fn compare_contents(distinct: &[Value]) -> Vec<Vec<FieldValue>> {
    // A comparison takes one side as stored, and both are here.
    let listed: Vec<_> = distinct.iter().map(with_stored_data).collect();
    let mut values: BTreeMap<String, Vec<Option<Value>>> = BTreeMap::new();
    let Some((first, others)) = listed.split_first() else { return Vec::new() };
    for (at, other) in others.iter().enumerate() {
        // Each direction finds the fields that only one of them has.
        let forward = diff(other, first).into_iter().map(|change| (change.path, change.desired, change.live));
        let backward =
            diff(first, other).into_iter().map(|change| (change.path, change.live, change.desired));
        for (path, value, of_first) in forward.chain(backward) {
            values.entry(path).or_insert_with(|| vec![of_first; listed.len()])[at + 1] = value;
        }
    }
    let mut variants: Vec<Vec<FieldValue>> = vec![Vec::new(); listed.len()];
    for (path, values) in values.into_iter().take(MAX_FIELDS) {
        for (variant, mut value) in variants.iter_mut().zip(values) {
            if let Some(value) = &mut value {
                truncate_value(value, MAX_VALUE_BYTES);
            }
            variant.push(FieldValue { path: path.clone(), value });
        }
    }
    variants
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;
    use crate::evaluation::plan::{HIDDEN_VALUE, PlannedChange};

    fn deployment(spec: Value) -> Value {
        json!({"apiVersion": "apps/v1", "kind": "Deployment", "metadata": {"name": "web", "namespace": "shop"}, "spec": spec})
    }

    fn compare(bundles: Vec<Vec<Value>>) -> (PlanVariants, Vec<Digest>) {
        let bundles: Vec<Bundle> = bundles.into_iter().map(Bundle::new).collect();
        let digests = bundles.iter().map(Bundle::digest).collect();
        let by_digest: BTreeMap<Digest, Bundle> =
            bundles.into_iter().map(|bundle| (bundle.digest(), bundle)).collect();
        (PlanVariants::compare(by_digest), digests)
    }

    fn created(object: &Value) -> ClusterPlan {
        ClusterPlan::from_changes(vec![PlannedChange::verified(object_ref(object), PlannedAction::Create)])
    }

    #[test]
    fn a10_bundles_are_compared_by_the_content_of_their_objects() {
        let same = json!({"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": "a"}});
        let (two, four) =
            (deployment(json!({"replicas": 2})), deployment(json!({"replicas": 4, "paused": true})));
        let (compared, digests) = compare(vec![vec![same.clone(), two.clone()], vec![same, four]]);
        assert_eq!(compared.objects.len(), 1, "{compared:?}");
        let of = |at: usize| compared.distinctions(&compared.created_variants(&digests[at], &created(&two)));
        let values = |at: usize| {
            let fields = of(at).remove(0).fields;
            fields.into_iter().map(|field| (field.path, field.value)).collect::<Vec<_>>()
        };
        assert_eq!(
            values(0),
            [("/spec/paused".to_owned(), None), ("/spec/replicas".to_owned(), Some(json!(2)))]
        );
        assert_eq!(
            values(1),
            [("/spec/paused".to_owned(), Some(json!(true))), ("/spec/replicas".to_owned(), Some(json!(4)))]
        );
    }

    #[test]
    fn a10_equal_bundles_and_objects_that_exist_have_no_variants() {
        let (two, four) = (deployment(json!({"replicas": 2})), deployment(json!({"replicas": 4})));
        assert!(compare(vec![vec![two.clone()]]).0.is_empty());
        let (compared, digests) = compare(vec![vec![two.clone()], vec![four]]);
        let mut changed = created(&two);
        changed.objects[0].action = PlannedAction::Unchanged;
        assert!(compared.created_variants(&digests[0], &changed).is_empty());
        assert_eq!(compared.created_variants(&digests[0], &created(&two)).len(), 1);
    }

    #[test]
    fn a10_the_values_of_a_secret_are_hidden_in_its_variants() {
        let secret = |value: &str| json!({"apiVersion": "v1", "kind": "Secret", "metadata": {"name": "key"}, "stringData": {"password": value}});
        let (compared, _) = compare(vec![vec![secret("red")], vec![secret("blue")]]);
        assert_eq!(compared.objects[0].variants[0][0].value, Some(json!(HIDDEN_VALUE)));
        let text = serde_json::to_string(&compared).unwrap();
        assert!(!text.contains("red") && !text.contains("blue"), "{text}");
    }

    #[test]
    fn a10_many_variants_are_bounded_and_still_told_apart() {
        let bundles = (0..50).map(|n| vec![deployment(json!({"replicas": n}))]).collect();
        let (compared, digests) = compare(bundles);
        assert_eq!(compared.objects[0].variants.len(), MAX_VARIANTS);
        let new = created(&deployment(json!({})));
        let numbers: HashSet<u32> =
            digests.iter().map(|digest| compared.created_variants(digest, &new)[0].variant).collect();
        assert_eq!(numbers.len(), 50);
    }

    #[test]
    fn p19_the_contents_of_an_object_are_retained_for_the_first_variants_only() {
        let mut contents = ObjectContents::default();
        for bundle in 0..1_000 {
            contents.add(bundle, &deployment(json!({"replicas": bundle / 2})));
        }
        assert_eq!((contents.known.len(), contents.listed.len()), (500, MAX_VARIANTS));
        assert_eq!(contents.numbers[998..], [(998, 499), (999, 499)]);
        assert_eq!(contents.read_listed()[3], deployment(json!({"replicas": 3})));
    }
}
