//! The input fields of the policies, for the tab and for the wizard.

use domain::workload::Policies;
use leptos::prelude::*;

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
            {tick("upgrade_crds", "Upgrade the custom resource definitions in the crds folder of a chart", policies.upgrade_crds)}
        </div>
        {select_field("drift", "On drift", &[("revert", "Self-heal (revert)"), ("notify", "Notify only")], policies.drift as usize)}
        {select_field("conflict", "On conflict with another owner", &[("abort", "Fail on conflict"), ("force", "Force"), ("ifIdentical", "Adopt if identical")], policies.conflict as usize)}
        {select_field("helm_release", "Helm release of a chart", &[("none", "No record: Helm does not list it"), ("record", "Record, as helm list and helm history show it"), ("adopt", "Record, and adopt an existing release of this name")], policies.helm_release as usize)}
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
