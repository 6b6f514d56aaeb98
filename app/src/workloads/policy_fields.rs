//! The policies of a workload as form fields, for the tab and for the wizard.

use domain::workload::{ConflictPolicy, DeletionPolicy, DriftPolicy, Policies};
use leptos::prelude::*;
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
}

#[cfg(feature = "ssr")]
impl PolicyForm {
    /// Stores the fields in a draft. Policies without a field keep the value that the API or the command line set.
    pub fn apply_to(self, spec: &mut domain::workload::WorkloadSpec) {
        spec.addon = self.addon;
        spec.policies = Policies {
            create_namespace: self.create_namespace,
            prune: self.prune,
            drift: self.drift,
            conflict: self.conflict,
            deletion: self.deletion,
            ..std::mem::take(&mut spec.policies)
        };
    }
}

/// The fields of the policies.
#[component]
pub fn PolicyFields(
    /// Whether it is an addon.
    addon: bool,
    /// The policies of the draft.
    policies: Policies,
) -> impl IntoView {
    let tick = |name: &'static str, label: &'static str, on: bool| {
        view! {
            <label class="choice">
                <input type="checkbox" class="checkbox" name=format!("form[policies][{name}]") value="true" checked=on />
                {label}
            </label>
        }
    };
    view! {
        <div class="stack-sm">
            {tick("addon", "Addon: also deploy to clusters that match later", addon)}
            {tick("create_namespace", "Create the namespace if it is missing", policies.create_namespace)}
            {tick("prune", "Prune: delete objects that a new revision no longer contains", policies.prune)}
        </div>
        {select_field("drift", "On drift", &[("revert", "Self-heal (revert)"), ("notify", "Notify only")], policies.drift as usize)}
        {select_field("conflict", "On conflict with another owner", &[("abort", "Fail on conflict"), ("force", "Force"), ("ifIdentical", "Adopt if identical")], policies.conflict as usize)}
        {select_field("deletion", "Deletion policy", &[("foreground", "Delete"), ("orphan", "Orphan"), ("selectivelyOrphan", "Orphan the objects that the policy names")], policies.deletion as usize)}
    }
    .into_any()
}

/// A select with the options in the order of their enum; `selected` is the index of the selected option.
fn select_field(
    name: &'static str,
    label: &'static str,
    choices: &'static [(&'static str, &'static str)],
    selected: usize,
) -> impl IntoView {
    let option = |(at, (value, word)): (usize, &(&'static str, &'static str))| {
        view! {
            <option value=*value selected=at == selected>
                {*word}
            </option>
        }
    };
    view! {
        <div class="field">
            <label class="field-label" for=name>
                {label}
            </label>
            <select class="select" id=name name=format!("form[policies][{name}]")>
                {choices.iter().enumerate().map(option).collect_view()}
            </select>
        </div>
    }
}
