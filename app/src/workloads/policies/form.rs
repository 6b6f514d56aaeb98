//! The policies of a workload as a form. Pure.

use domain::workload::{ConflictPolicy, DeletionPolicy, DriftPolicy, HelmReleasePolicy};
use serde::{Deserialize, Serialize};

/// The fields as they are sent under `form[policies]`. Browsers do not send unticked boxes, so every field has a default.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default)]
pub struct PolicyForm {
    /// Whether it is an addon: deployed to every cluster that matches, also later.
    pub addon: bool,
    /// Create missing namespaces.
    pub create_namespace: bool,
    /// Delete objects that a new revision no longer contains.
    pub prune: bool,
    /// The drift policy.
    pub drift: DriftPolicy,
    /// The policy for objects of other owners.
    pub conflict: ConflictPolicy,
    /// The deletion policy.
    pub deletion: DeletionPolicy,
    /// Change the custom resource definitions of a chart.
    pub upgrade_crds: bool,
    /// Whether Helm's record of a chart's release is kept.
    pub helm_release: HelmReleasePolicy,
}

#[cfg(feature = "ssr")]
impl PolicyForm {
    /// The change of a draft. Policies without a field keep the value that the API or the command line set.
    pub fn into_patch(self) -> hub::DraftPatch {
        let policies = hub::PolicyPatch {
            create_namespace: self.create_namespace,
            prune: self.prune,
            drift: self.drift,
            conflict: self.conflict,
            deletion: self.deletion,
            upgrade_crds: self.upgrade_crds,
            helm_release: self.helm_release,
        };
        hub::DraftPatch { addon: Some(self.addon), policies: Some(policies), ..Default::default() }
    }
}
