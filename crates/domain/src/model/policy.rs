//! Policies: how the objects of a workload are written, reverted and deleted on its clusters.
//!
//! Every policy has a default, and policies that were added later are omitted from JSON at their default, so values
//! stored by an older version keep their meaning.

use serde::{Deserialize, Serialize};

use crate::kubernetes::nearest::find_nearest;
use crate::kubernetes::object::ObjectRef;
use crate::model::overrides::ObjectSelector;
use crate::model::rollout::TimeSpan;
use crate::text::strict_input;

mod check;
mod feedback;
#[cfg(test)]
mod tests;

pub use check::{MAX_DEADLINE_MILLIS, MAX_RULES, MIN_DEADLINE_MILLIS, check};
pub use feedback::{Feedback, FeedbackRule, MAX_FEEDBACK_BYTES, collect_feedback};

/// What to do when an object or a field has another owner.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
#[serde(rename_all = "camelCase")]
pub enum ConflictPolicy {
    /// Fail if another manager owns a field, and report the owners.
    #[default]
    Abort,
    /// Force: take over the fields.
    Force,
    /// Adopt an existing object only if applying would not change it; otherwise fail and report the fields.
    IfIdentical,
}

/// What to do when a live object differs from what was applied (R-4, E-9).
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
#[serde(rename_all = "camelCase")]
pub enum DriftPolicy {
    /// Revert it (S0-12).
    #[default]
    Revert,
    /// Report it only.
    Notify,
}

/// What happens to the objects when a workload is removed from a cluster.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
#[serde(rename_all = "camelCase")]
pub enum DeletionPolicy {
    /// They are deleted, dependants first.
    #[default]
    Foreground,
    /// They stay; only the record is deleted.
    Orphan,
    /// Those that [`Policies::orphan`] selects stay, also when a new revision no longer has them; others are deleted.
    SelectivelyOrphan,
}

/// What to do with a Job of the workload whose immutable fields a new revision changes.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
#[serde(rename_all = "camelCase")]
pub enum ChangedJobsPolicy {
    /// Once it has ended it is deleted and created again, so it runs again.
    #[default]
    Replace,
    /// It stays as it is, and the revision is rejected.
    Refuse,
}

/// When objects that a new revision no longer has are deleted, if pods of the former revision may need them.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
#[serde(rename_all = "camelCase")]
pub enum PruneOrder {
    /// Once the new revision is operational: until then a pod of the former one may be started again.
    #[default]
    AfterOperational,
    /// As soon as the new revision is applied.
    AfterApply,
}

/// The kinds that a running pod needs to be started again or to do its work: what it mounts, its identity and rights, and how it
/// is reached.
const NEEDED_BY_PODS: [&str; 9] = [
    "ConfigMap",
    "Secret",
    "ServiceAccount",
    "Service",
    "PersistentVolumeClaim",
    "Role",
    "RoleBinding",
    "ClusterRole",
    "ClusterRoleBinding",
];

/// What to do with a release whose health nothing can tell: a kind without a rule and without readable conditions.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
#[serde(rename_all = "camelCase")]
pub enum NotAssessedPolicy {
    /// The release counts as operational for its wave and is shown as not assessed: otherwise a kind without readable status
    /// would block every publish for ever.
    #[default]
    Accept,
    /// The release waits until it is healthy.
    Wait,
}

/// Whether Helm's own record of the release of a chart is kept on the clusters.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
#[serde(rename_all = "camelCase")]
pub enum HelmReleasePolicy {
    /// No record: Helm does not list the release.
    #[default]
    None,
    /// A record of every applied revision, so that `helm list` and `helm history` show it. Rejected where Helm or another tool
    /// has a release of this name.
    Record,
    /// Like `Record`, and an existing release of this name is continued: its objects are taken over, whoever owns their fields.
    Adopt,
}

/// How an object is written.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
#[serde(rename_all = "camelCase")]
pub enum UpdateStrategy {
    /// Server-side apply of what differs.
    #[default]
    ServerSideApply,
    /// Created if it is missing; never updated.
    CreateOnly,
    /// Never written, only waited for and observed: another client creates it.
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

/// When fields are ignored.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
#[serde(rename_all = "camelCase")]
pub enum IgnoreWhen {
    /// Once the object exists: they are written when it is created, and never again.
    #[default]
    OnPresence,
    /// When they were changed on the cluster: that is not drift. A new revision writes them again.
    OnChange,
}

/// Fields that are ignored on the cluster.
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
    /// Which fields: JSON pointers or simple JSONPaths ([`crate::kubernetes::json_path`]).
    pub paths: Vec<String>,
}

/// The policies of a workload.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
#[serde(rename_all = "camelCase", default)]
pub struct Policies {
    /// Create the namespace if it is missing.
    pub create_namespace: bool,
    /// Delete objects that a new revision no longer has (S3-13).
    pub prune: bool,
    /// When those are deleted that running pods may need.
    #[serde(skip_serializing_if = "PruneOrder::is_default")]
    pub prune_order: PruneOrder,
    /// What to do on drift.
    pub drift: DriftPolicy,
    /// What to do on ownership conflicts.
    pub conflict: ConflictPolicy,
    /// What to do with the objects on removal from a cluster.
    pub deletion: DeletionPolicy,
    /// The objects that stay under [`DeletionPolicy::SelectivelyOrphan`].
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub orphan: Vec<ObjectSelector>,
    /// Seconds after which the objects of a workload that only runs jobs are deleted, once all of them have completed;
    /// `None` for never.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub ttl_seconds_after_finished: Option<u32>,
    /// What to do with a Job that a new revision changes.
    #[serde(skip_serializing_if = "ChangedJobsPolicy::is_default")]
    pub changed_jobs: ChangedJobsPolicy,
    /// What to do with a release whose health is not assessed; no value means that it is accepted. A workload that is created without
    /// a value gets [`NotAssessedPolicy::Wait`].
    #[serde(skip_serializing_if = "Option::is_none")]
    pub not_assessed: Option<NotAssessedPolicy>,
    /// How long a release may take until it is operational, such as `30m`: from its delivery to the cluster, or from when it stopped to be
    /// operational. One that takes longer is marked; nothing is aborted (S2-3). `None` for no limit.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub deadline: Option<TimeSpan>,
    /// How objects are written; the last rule that matches an object applies, the default is server-side apply.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub update: Vec<UpdateRule>,
    /// Fields that are ignored on the cluster.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub ignore: Vec<IgnoreRule>,
    /// Values to be reported beside the well-known ones.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub feedback: Vec<FeedbackRule>,
    /// The service account that writes and deletes the objects, as `namespace/name`; the agent's own if empty.
    #[serde(skip_serializing_if = "String::is_empty")]
    pub executor: String,
    /// Change the custom resource definitions from the `crds/` folder of a chart; otherwise they are only created.
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    pub upgrade_crds: bool,
    /// Leave out the hooks of a chart.
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    pub skip_hooks: bool,
    /// Leave out the objects from the `crds/` folder of a chart.
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    pub skip_crds: bool,
    /// Do not compare the values of a chart with its `values.schema.json`.
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    pub skip_schema_validation: bool,
    /// Whether Helm's record of the release of a chart is kept.
    #[serde(skip_serializing_if = "HelmReleasePolicy::is_default")]
    pub helm_release: HelmReleasePolicy,
    /// Replace what a chart generates, such as passwords and certificates, whenever it is rendered with other inputs; otherwise
    /// every cluster keeps what it has ([`crate::model::generated_values`]).
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    pub renew_generated_values: bool,
    /// Allow objects in the namespaces of Kubernetes itself, `kube-*` (G107). Only an admin may set it.
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    pub allow_system_namespaces: bool,
}

impl Default for Policies {
    fn default() -> Self {
        Self {
            create_namespace: true,
            prune: true,
            prune_order: PruneOrder::default(),
            drift: DriftPolicy::default(),
            conflict: ConflictPolicy::default(),
            deletion: DeletionPolicy::default(),
            orphan: Vec::new(),
            ttl_seconds_after_finished: None,
            changed_jobs: ChangedJobsPolicy::default(),
            not_assessed: None,
            deadline: None,
            update: Vec::new(),
            ignore: Vec::new(),
            feedback: Vec::new(),
            executor: String::new(),
            upgrade_crds: false,
            skip_hooks: false,
            skip_crds: false,
            skip_schema_validation: false,
            helm_release: HelmReleasePolicy::default(),
            renew_generated_values: false,
            allow_system_namespaces: false,
        }
    }
}

impl PruneOrder {
    #[expect(clippy::trivially_copy_pass_by_ref, reason = "serde passes a reference")]
    fn is_default(&self) -> bool {
        *self == Self::default()
    }
}

impl ChangedJobsPolicy {
    #[expect(clippy::trivially_copy_pass_by_ref, reason = "serde passes a reference")]
    fn is_default(&self) -> bool {
        *self == Self::default()
    }
}

impl HelmReleasePolicy {
    #[expect(clippy::trivially_copy_pass_by_ref, reason = "serde passes a reference")]
    fn is_default(&self) -> bool {
        *self == Self::default()
    }
}

impl ObjectSelector {
    /// Whether it matches this object; empty parts match all.
    pub fn matches_ref(&self, object: &ObjectRef) -> bool {
        self.matches_parts(&object.kind, &object.name, &object.namespace)
    }

    /// Whether it matches an object with these identifying fields, "" for a missing one.
    pub(crate) fn matches_parts(&self, kind: &str, name: &str, namespace: &str) -> bool {
        let part = |expected: &str, actual: &str| expected.is_empty() || expected == actual;
        part(&self.kind, kind) && part(&self.name, name) && part(&self.namespace, namespace)
    }
}

/// The names of the policies in files and in the API.
pub const POLICY_NAMES: [&str; 22] = [
    "createNamespace",
    "prune",
    "pruneOrder",
    "drift",
    "conflict",
    "deletion",
    "orphan",
    "ttlSecondsAfterFinished",
    "changedJobs",
    "notAssessed",
    "deadline",
    "update",
    "ignore",
    "feedback",
    "executor",
    "upgradeCrds",
    "skipHooks",
    "skipCrds",
    "skipSchemaValidation",
    "helmRelease",
    "renewGeneratedValues",
    "allowSystemNamespaces",
];

impl Policies {
    /// The deadline in milliseconds; `None` without one, or if its text is not a time span, which G517 reports.
    pub fn deadline_millis(&self) -> Option<i64> {
        self.deadline.as_ref().and_then(TimeSpan::millis)
    }

    /// Whether a release whose health is not assessed counts as operational.
    pub fn accepts_not_assessed(&self) -> bool {
        self.not_assessed != Some(NotAssessedPolicy::Wait)
    }

    /// These policies as they are stored, with `absent` for what is not assessed if they have no value for it. To accept it is stored as
    /// no value, as it always was, so that policies of the same meaning are equal.
    #[must_use]
    pub fn with_not_assessed_or(self, absent: Option<NotAssessedPolicy>) -> Self {
        let not_assessed = self.not_assessed.or(absent).filter(|policy| *policy != NotAssessedPolicy::Accept);
        Self { not_assessed, ..self }
    }

    /// Whether a rule ignores fields only until the next revision, which writes them again ([`IgnoreWhen::OnChange`]).
    pub fn has_fields_written_per_revision(&self) -> bool {
        self.ignore.iter().any(|rule| rule.when == IgnoreWhen::OnChange)
    }

    /// Whether an object that a new revision no longer has is deleted only once that revision is operational. `has_pods` is
    /// whether the revision runs containers: without any, nobody needs the object.
    pub fn is_pruned_after_operational(&self, object: &ObjectRef, has_pods: bool) -> bool {
        let is_needed = NEEDED_BY_PODS.contains(&object.kind.as_str())
            && matches!(object.group.as_str(), "" | "rbac.authorization.k8s.io");
        has_pods && is_needed && self.prune_order == PruneOrder::AfterOperational
    }

    /// These policies with some of them replaced, by name; the others stay.
    ///
    /// # Errors
    /// A sentence that names the unknown policy or the invalid value.
    pub fn with_values(&self, values: &serde_json::Map<String, serde_json::Value>) -> Result<Self, String> {
        if let Some(unknown) = values.keys().find(|name| !POLICY_NAMES.contains(&name.as_str())) {
            let hint = match find_nearest(unknown, POLICY_NAMES) {
                Some(near) => format!("did you mean {near:?}?"),
                None => format!("the policies are {}", POLICY_NAMES.join(", ")),
            };
            return Err(format!("There is no policy {unknown:?}; {hint}"));
        }
        let mut policies = self.clone();
        for (name, value) in values {
            let mut all = serde_json::to_value(&policies).map_err(|error| error.to_string())?;
            all[name] = value.clone();
            policies = strict_input::parse(&all)
                .map_err(|error| format!("The policy {name} can't be {value}: {error}"))?;
        }
        Ok(policies)
    }

    /// These policies for a bundle with these custom resource definitions from the `crds/` folder of a chart: they are only
    /// created, unless they shall be upgraded or a rule for them says otherwise.
    #[must_use]
    pub fn with_chart_crds(&self, crds: impl Iterator<Item = ObjectRef>) -> Self {
        let mut policies = self.clone();
        if !self.upgrade_crds {
            let rules = crds.map(|crd| UpdateRule {
                object: ObjectSelector { kind: crd.kind, name: crd.name, ..ObjectSelector::default() },
                strategy: UpdateStrategy::CreateOnly,
            });
            // The last matching rule applies.
            policies.update.splice(0..0, rules);
        }
        policies
    }

    /// How this object is written.
    pub fn update_strategy(&self, object: &ObjectRef) -> UpdateStrategy {
        let rule = self.update.iter().rev().find(|rule| rule.object.matches_ref(object));
        rule.map(|rule| rule.strategy).unwrap_or_default()
    }

    /// Whether this object stays when the workload is removed with this deletion policy.
    pub fn should_orphan(&self, deletion: DeletionPolicy, object: &ObjectRef) -> bool {
        match deletion {
            DeletionPolicy::Foreground => false,
            DeletionPolicy::Orphan => true,
            DeletionPolicy::SelectivelyOrphan => {
                self.orphan.iter().any(|selector| selector.matches_ref(object))
            }
        }
    }

    /// Namespace and name of the service account that writes and deletes the objects.
    pub fn executor(&self) -> Option<(&str, &str)> {
        self.executor.split_once('/').filter(|(namespace, name)| !namespace.is_empty() && !name.is_empty())
    }
}
