//! What carrying out a goal would do on one cluster, object by object.

use serde::{Deserialize, Serialize};

use super::{FieldChange, diff, removed_since};
use crate::bundle::{Bundle, object_ref};
use crate::digest::Digest;
use crate::finding::Finding;
use crate::object::ObjectRef;
use crate::policy::{DeletionPolicy, Policies, UpdateStrategy};

/// Most objects an effect tells one by one, and most fields of one object; beyond that they are counted.
const MOST: usize = 2_000;
/// A longer value of a field is told in part.
const LONGEST_VALUE: usize = 2_000;

/// What would happen on one cluster: objects in the order of the bundle, then what goes.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
#[serde(rename_all = "camelCase", default)]
pub struct Effect {
    /// One entry per object.
    pub objects: Vec<ObjectEffect>,
    /// How many further objects there are.
    #[serde(skip_serializing_if = "is_zero")]
    pub left_out: u32,
    /// What else the cluster has to say, such as what could not be tried (G405).
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub findings: Vec<Finding>,
}

/// What would happen to one object.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
#[serde(rename_all = "camelCase")]
pub struct ObjectEffect {
    /// Which object.
    pub object: ObjectRef,
    /// What would happen.
    pub outcome: Outcome,
    /// Why the API server could not be asked about it; empty if it was.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub untried: String,
}

/// What would happen.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
#[serde(tag = "type", rename_all = "camelCase")]
pub enum Outcome {
    /// Nothing.
    Unchanged,
    /// It is made.
    Create,
    /// These fields change.
    #[serde(rename_all = "camelCase")]
    Change {
        /// The fields; values of Secrets are hidden.
        fields: Vec<FieldChange>,
        /// How many further fields there are.
        #[serde(default, skip_serializing_if = "is_zero")]
        left_out: u32,
    },
    /// It is deleted.
    Delete,
    /// It stays, and is no longer ours.
    LetGo,
    /// The cluster refuses it.
    Refused {
        /// Why, and what to do.
        finding: Finding,
    },
}

/// How many objects meet which fate.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
#[serde(rename_all = "camelCase", default)]
pub struct Tally {
    /// Made.
    pub create: u32,
    /// Changed.
    pub change: u32,
    /// Deleted.
    pub delete: u32,
    /// Left on the cluster, no longer ours.
    pub let_go: u32,
    /// As they are.
    pub unchanged: u32,
    /// Refused.
    pub refused: u32,
    /// Not tried; they are counted above too.
    pub untried: u32,
}

#[expect(clippy::trivially_copy_pass_by_ref, reason = "serde calls it with a reference")]
const fn is_zero(n: &u32) -> bool {
    *n == 0
}

impl ObjectEffect {
    /// What the API server said would happen.
    pub fn tried(object: ObjectRef, outcome: Outcome) -> Self {
        Self { object, outcome, untried: String::new() }
    }

    /// What would happen as far as is known without having asked, and why nobody was asked.
    pub fn untried(object: ObjectRef, outcome: Outcome, why: impl Into<String>) -> Self {
        Self { object, outcome, untried: why.into() }
    }
}

impl Outcome {
    /// These fields change, or nothing if there are none. Long values and very many fields are cut.
    pub fn of_changes(mut fields: Vec<FieldChange>) -> Self {
        if fields.is_empty() {
            return Self::Unchanged;
        }
        let left_out = fields.len().saturating_sub(MOST);
        fields.truncate(MOST);
        for value in fields.iter_mut().flat_map(|field| [&mut field.wanted, &mut field.live]).flatten() {
            let text = value.to_string();
            if text.len() > LONGEST_VALUE {
                *value = format!("{}… ({} bytes)", start(&text, LONGEST_VALUE), text.len()).into();
            }
        }
        Self::Change { fields, left_out: u32::try_from(left_out).unwrap_or(u32::MAX) }
    }
}

fn start(text: &str, bytes: usize) -> &str {
    let end = (0..=bytes).rev().find(|at| text.is_char_boundary(*at)).unwrap_or(0);
    &text[..end]
}

impl Effect {
    /// These objects; very many are cut.
    pub fn of(mut objects: Vec<ObjectEffect>) -> Self {
        let left_out = u32::try_from(objects.len().saturating_sub(MOST)).unwrap_or(u32::MAX);
        objects.truncate(MOST);
        Self { objects, left_out, findings: Vec::new() }
    }

    /// What would happen on a cluster that can't be asked, as far as what was given to it last tells: `before` is there as
    /// it was applied, and nobody refuses anything. `why` says why nobody was asked.
    pub fn expected(before: Option<&Bundle>, after: &Bundle, policies: &Policies, why: &str) -> Self {
        let before = before.map_or(&[][..], |bundle| &bundle.objects);
        let there = |object: &ObjectRef| before.iter().find(|old| object_ref(old).same_object(object));
        let outcome = |new| {
            let object = object_ref(new);
            let outcome = match (policies.strategy(&object), there(&object)) {
                (UpdateStrategy::ReadOnly, _) | (UpdateStrategy::CreateOnly, Some(_)) => Outcome::Unchanged,
                (_, None) => Outcome::Create,
                (_, Some(old)) => {
                    let mut fields = diff(new, old);
                    fields.extend(removed_since(old, new, old));
                    Outcome::of_changes(fields)
                }
            };
            ObjectEffect::untried(object, outcome, why)
        };
        let mut objects: Vec<_> = after.objects.iter().map(outcome).collect();
        let ours = |old: &ObjectRef| policies.strategy(old) != UpdateStrategy::ReadOnly;
        let gone = before
            .iter()
            .map(object_ref)
            .filter(|old| policies.prune && ours(old) && !after.refs().any(|new| new.same_object(old)));
        objects.extend(gone.map(|object| ObjectEffect::untried(object, Outcome::Delete, why)));
        Self::of(objects)
    }

    /// What leaving a cluster does to the objects that were given to it last.
    pub fn leaving(before: &Bundle, deletion: DeletionPolicy, policies: &Policies, why: &str) -> Self {
        let leave = |object: ObjectRef| {
            let fate = if policies.orphans(deletion, &object) { Outcome::LetGo } else { Outcome::Delete };
            ObjectEffect::untried(object, fate, why)
        };
        let ours = |object: &ObjectRef| policies.strategy(object) != UpdateStrategy::ReadOnly;
        Self::of(before.refs().filter(ours).map(leave).collect())
    }

    /// How many objects meet which fate.
    pub fn tally(&self) -> Tally {
        let mut tally = Tally::default();
        for one in &self.objects {
            *match one.outcome {
                Outcome::Unchanged => &mut tally.unchanged,
                Outcome::Create => &mut tally.create,
                Outcome::Change { .. } => &mut tally.change,
                Outcome::Delete => &mut tally.delete,
                Outcome::LetGo => &mut tally.let_go,
                Outcome::Refused { .. } => &mut tally.refused,
            } += 1;
            tally.untried += u32::from(!one.untried.is_empty());
        }
        tally
    }

    /// Whether nothing would happen.
    pub fn is_nothing(&self) -> bool {
        self.objects.iter().all(|one| one.outcome == Outcome::Unchanged) && self.left_out == 0
    }

    /// What the cluster refuses, and what else it has to say.
    pub fn findings(&self) -> impl Iterator<Item = &Finding> {
        let refusals = self.objects.iter().filter_map(|one| match &one.outcome {
            Outcome::Refused { finding } => Some(finding),
            _ => None,
        });
        refusals.chain(&self.findings)
    }

    /// The digest by which clusters with the same effect are known.
    pub fn digest(&self) -> Digest {
        // Writing a tree of plain data into memory does not fail.
        Digest::of(&serde_json::to_vec(self).unwrap_or_default())
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;
    use serde_json::{Value, json};

    use super::*;
    use crate::policy::UpdateRule;

    fn map(name: &str, value: &str) -> Value {
        json!({"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": name, "namespace": "web"},
            "data": {"key": value}})
    }

    fn expected(before: &[Value], after: &[Value], policies: &Policies) -> Effect {
        let before = Bundle::new(before.to_vec());
        Effect::expected(Some(&before), &Bundle::new(after.to_vec()), policies, "why")
    }

    #[test]
    fn e_2_what_is_expected_tells_new_changed_same_and_gone_objects_apart() {
        let before = [map("same", "1"), map("changed", "1"), map("gone", "1")];
        let after = [map("same", "1"), map("changed", "2"), map("new", "1")];
        let effect = expected(&before, &after, &Policies::default());
        let tally = effect.tally();
        assert_eq!((tally.create, tally.change, tally.delete, tally.unchanged), (1, 1, 1, 1));
        assert_eq!(tally.untried, 4);
        let Outcome::Change { fields, .. } = &effect.objects[1].outcome else { panic!("{effect:?}") };
        assert_eq!(fields[0].path, "/data/key");
    }

    #[test]
    fn e_2_what_is_not_pruned_or_only_observed_is_not_told_to_go() {
        let keep = Policies { prune: false, ..Policies::default() };
        assert!(expected(&[map("gone", "1")], &[], &keep).is_nothing());
        let rule = UpdateRule { strategy: UpdateStrategy::ReadOnly, ..UpdateRule::default() };
        let observe = Policies { update: vec![rule], ..Policies::default() };
        assert!(expected(&[map("theirs", "1")], &[], &observe).is_nothing());
        let bundle = Bundle::new(vec![map("theirs", "1")]);
        assert!(Effect::leaving(&bundle, DeletionPolicy::Foreground, &observe, "").objects.is_empty());
    }

    #[test]
    fn e_2_leaving_deletes_or_lets_go_as_the_policy_says() {
        let bundle = Bundle::new(vec![map("a", "1")]);
        let leave = |deletion| Effect::leaving(&bundle, deletion, &Policies::default(), "").tally();
        assert_eq!(leave(DeletionPolicy::Foreground).delete, 1);
        assert_eq!(leave(DeletionPolicy::Orphan).let_go, 1);
    }

    #[test]
    fn very_many_objects_and_very_long_values_are_cut_and_counted() {
        let many: Vec<Value> = (0..MOST + 7).map(|n| map(&format!("m{n}"), "1")).collect();
        let effect = expected(&[], &many, &Policies::default());
        assert_eq!((effect.objects.len(), effect.left_out), (MOST, 7));
        let long = expected(&[map("a", "1")], &[map("a", &"ä".repeat(LONGEST_VALUE))], &Policies::default());
        assert!(serde_json::to_string(&long).unwrap().len() < LONGEST_VALUE * 2);
    }

    fn bundle() -> impl Strategy<Value = Vec<Value>> {
        prop::collection::btree_map("[a-d]", "[xyz]{0,2}", 0..4)
            .prop_map(|maps| maps.iter().map(|(name, value)| map(name, value)).collect())
    }

    proptest! {
        #[test]
        fn e_2_after_applying_what_was_planned_nothing_is_left_to_do(before in bundle(), after in bundle()) {
            let policies = Policies::default();
            let first = expected(&before, &after, &policies);
            prop_assert_eq!(first.is_nothing(), before == after);
            prop_assert!(expected(&after, &after, &policies).is_nothing());
            let tally = first.tally();
            prop_assert_eq!((tally.create + tally.change + tally.unchanged) as usize, after.len());
            prop_assert_eq!((tally.delete + tally.change + tally.unchanged) as usize, before.len());
        }
    }
}
