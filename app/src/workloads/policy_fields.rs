//! How a workload is kept: the fields, in the tab and in the step of the wizard, and what they send.

use domain::workload::{ConflictPolicy, DeletionPolicy, DriftPolicy, Policies};
use leptos::prelude::*;
use serde::{Deserialize, Serialize};

/// The fields, as they are sent under `form[kept]`. Unticked boxes are not sent at all, so every part has a default.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default)]
pub struct PolicyForm {
    /// On every cluster that matches, by itself.
    pub addon: bool,
    /// Make the namespace.
    pub create_namespace: bool,
    /// Delete what a new revision no longer has.
    pub prune: bool,
    /// On drift.
    pub drift: DriftPolicy,
    /// On objects of others.
    pub conflict: ConflictPolicy,
    /// On leaving a cluster.
    pub deletion: DeletionPolicy,
}

#[cfg(feature = "ssr")]
impl PolicyForm {
    /// Writes them into a draft. What the form does not ask for stays as the API or the command line set it.
    pub fn into_spec(self, spec: &mut domain::workload::WorkloadSpec) {
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

/// How a workload is kept, as fields.
#[component]
pub fn PolicyFields(
    /// Whether it is an addon.
    addon: bool,
    /// What the draft says.
    policies: Policies,
) -> impl IntoView {
    let tick = |name: &'static str, label: &'static str, on: bool| {
        view! {
            <label class="choice">
                <input type="checkbox" class="checkbox" name=format!("form[kept][{name}]") value="true" checked=on />
                {label}
            </label>
        }
    };
    view! {
        <div class="stack-sm">
            {tick("addon", "Addon: also on clusters that match later, by itself", addon)}
            {tick("create_namespace", "Make the namespace if it is missing", policies.create_namespace)}
            {tick("prune", "Delete what a new revision no longer has", policies.prune)}
        </div>
        {select("drift", "When somebody changes an object", &[("revert", "Put it back"), ("notify", "Show it and leave it")], policies.drift as usize)}
        {select("conflict", "When an object belongs to somebody else", &[("abort", "Stop and say who"), ("takeOver", "Take it over"), ("ifIdentical", "Adopt it if nothing of it would change")], policies.conflict as usize)}
        {select("deletion", "When it leaves a cluster", &[("foreground", "Delete the objects"), ("orphan", "Leave them running"), ("selectivelyOrphan", "Leave those that its policy names")], policies.deletion as usize)}
    }
    .into_any()
}

/// A choice in the order of its enum; `chosen` is the position of the one that is chosen.
fn select(
    name: &'static str,
    label: &'static str,
    choices: &'static [(&'static str, &'static str)],
    chosen: usize,
) -> impl IntoView {
    let option = |(at, (value, word)): (usize, &(&'static str, &'static str))| {
        view! {
            <option value=*value selected=at == chosen>
                {*word}
            </option>
        }
    };
    view! {
        <div class="field">
            <label class="field-label" for=name>
                {label}
            </label>
            <select class="select" id=name name=format!("form[kept][{name}]")>
                {choices.iter().enumerate().map(option).collect_view()}
            </select>
        </div>
    }
}
