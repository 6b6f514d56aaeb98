//! Policies: how a workload is kept on its clusters (`product.md` F.1, F.6 for the defaults).
//!
//! All of them have a default that says nothing, so what an older version stored reads as it was meant.

use serde::{Deserialize, Serialize};

use crate::object::ObjectRef;
use crate::overrides::ObjectSelector;

mod check;
mod feedback;
#[cfg(test)]
mod tests;

pub use check::{MAX_RULES, check};
pub use feedback::{FEEDBACK_BYTES, Feedback, FeedbackRule, feedback};

/// What to do when an object belongs to somebody else.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
#[serde(rename_all = "camelCase")]
pub enum ConflictPolicy {
    /// Stop where a field belongs to somebody else, and say who owns what.
    #[default]
    Abort,
    /// Take the fields over.
    TakeOver,
    /// Adopt an object that was there before only if applying would change nothing of it; else stop and name the fields.
    IfIdentical,
}

/// What to do when a live object no longer is as applied (R-4, E-9).
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
#[serde(rename_all = "camelCase")]
pub enum DriftPolicy {
    /// Put it back (S0-12).
    #[default]
    Revert,
    /// Show it and leave it.
    Notify,
}

/// What happens to the objects when a workload leaves a cluster.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
#[serde(rename_all = "camelCase")]
pub enum DeletionPolicy {
    /// They are deleted, dependants first.
    #[default]
    Foreground,
    /// They stay; only the record goes.
    Orphan,
    /// Those that [`Policies::orphan`] names stay, also when a new revision no longer has them; the others are deleted.
    SelectivelyOrphan,
}

/// How an object is written.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
#[serde(rename_all = "camelCase")]
pub enum UpdateStrategy {
    /// Server-side apply of what differs.
    #[default]
    ServerSideApply,
    /// Made if it is missing; never changed once it is there.
    CreateOnly,
    /// Never written, only waited for and observed: somebody else makes it.
    ReadOnly,
}

/// How some objects are written.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
#[serde(rename_all = "camelCase")]
pub struct UpdateRule {
    /// Which objects; empty for all.
    #[serde(default)]
    pub object: ObjectSelector,
    /// How they are written.
    pub strategy: UpdateStrategy,
}

/// When fields are left to the cluster.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
#[serde(rename_all = "camelCase")]
pub enum IgnoreWhen {
    /// As soon as the object is there: they are written when it is made, and never again.
    #[default]
    OnPresence,
    /// When somebody on the cluster changed them: that is no drift. A new revision writes them again.
    OnChange,
}

/// Fields that are left to the cluster.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
#[serde(rename_all = "camelCase")]
pub struct IgnoreRule {
    /// Of which objects; empty for all.
    #[serde(default)]
    pub object: ObjectSelector,
    /// When.
    #[serde(default)]
    pub when: IgnoreWhen,
    /// Which fields: JSON pointers or simple JSONPaths ([`crate::pick`]).
    pub paths: Vec<String>,
}

/// How a workload is kept on its clusters.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
#[serde(rename_all = "camelCase", default)]
pub struct Policies {
    /// Make the namespace if it is missing.
    pub create_namespace: bool,
    /// Delete objects that a new revision no longer has (S3-13).
    pub prune: bool,
    /// On drift.
    pub drift: DriftPolicy,
    /// On objects that belong to somebody else.
    pub conflict: ConflictPolicy,
    /// On leaving a cluster.
    pub deletion: DeletionPolicy,
    /// The objects that stay under [`DeletionPolicy::SelectivelyOrphan`].
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub orphan: Vec<ObjectSelector>,
    /// Seconds after which the objects of a workload that only runs jobs are cleaned away once all of them ran to their
    /// end; never without it.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub ttl_seconds_after_finished: Option<u32>,
    /// How objects are written; the last rule that names an object counts, without one it is server-side apply.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub update: Vec<UpdateRule>,
    /// Fields that are left to the cluster.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub ignore: Vec<IgnoreRule>,
    /// Values to be reported beside the well-known ones.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub feedback: Vec<FeedbackRule>,
    /// The service account that writes and deletes the objects, as `namespace/name`; the agent's own if empty.
    #[serde(skip_serializing_if = "String::is_empty")]
    pub executor: String,
}

impl Default for Policies {
    fn default() -> Self {
        Self {
            create_namespace: true,
            prune: true,
            drift: DriftPolicy::default(),
            conflict: ConflictPolicy::default(),
            deletion: DeletionPolicy::default(),
            orphan: Vec::new(),
            ttl_seconds_after_finished: None,
            update: Vec::new(),
            ignore: Vec::new(),
            feedback: Vec::new(),
            executor: String::new(),
        }
    }
}

impl ObjectSelector {
    /// Whether it names this object; empty parts name all.
    pub fn names(&self, object: &ObjectRef) -> bool {
        let one = |wanted: &str, seen: &str| wanted.is_empty() || wanted == seen;
        one(&self.kind, &object.kind)
            && one(&self.name, &object.name)
            && one(&self.namespace, &object.namespace)
    }
}

/// The policies as they are called in files and in the API.
pub const POLICY_NAMES: [&str; 11] = [
    "createNamespace",
    "prune",
    "drift",
    "conflict",
    "deletion",
    "orphan",
    "ttlSecondsAfterFinished",
    "update",
    "ignore",
    "feedback",
    "executor",
];

impl Policies {
    /// These policies with some of them replaced, by name; what is not named stays.
    ///
    /// # Errors
    /// A sentence that names the policy that is not known or has no such value.
    pub fn with(&self, given: &serde_json::Map<String, serde_json::Value>) -> Result<Self, String> {
        if let Some(unknown) = given.keys().find(|name| !POLICY_NAMES.contains(&name.as_str())) {
            let known = POLICY_NAMES.join(", ");
            return Err(format!("There is no policy {unknown:?}; there are {known}"));
        }
        let mut policies = self.clone();
        for (name, value) in given {
            let mut all = serde_json::to_value(&policies).map_err(|error| error.to_string())?;
            all[name] = value.clone();
            policies = serde_json::from_value(all)
                .map_err(|error| format!("The policy {name} can't be {value}: {error}"))?;
        }
        Ok(policies)
    }

    /// How this object is written.
    pub fn strategy(&self, object: &ObjectRef) -> UpdateStrategy {
        let rule = self.update.iter().rev().find(|rule| rule.object.names(object));
        rule.map(|rule| rule.strategy).unwrap_or_default()
    }

    /// Whether this object stays when the workload is removed in this way.
    pub fn orphans(&self, deletion: DeletionPolicy, object: &ObjectRef) -> bool {
        match deletion {
            DeletionPolicy::Foreground => false,
            DeletionPolicy::Orphan => true,
            DeletionPolicy::SelectivelyOrphan => self.orphan.iter().any(|selector| selector.names(object)),
        }
    }

    /// Namespace and name of the service account that writes and deletes the objects.
    pub fn executor(&self) -> Option<(&str, &str)> {
        self.executor.split_once('/').filter(|(namespace, name)| !namespace.is_empty() && !name.is_empty())
    }
}
