//! The input fields of the policies, in the order in which they apply to the life of an object: write, revert, delete.

use domain::workload::Policies;
use leptos::prelude::*;

use super::form::{PolicyForm, format_rules};
use super::rule_fields::rule_fields;
use super::rule_rows::{RuleList, RuleRows};
use super::rule_suggestions::RuleSuggestions;
use super::summary;
use crate::components::editor::TextArea;

/// Characters of twenty names with what separates them.
const MAX_DEPENDENCIES_LENGTH: &str = "1300";

/// The fields of the policies. Each part is a fold whose summary has its values, so that the whole page can be read at once.
#[component]
pub fn PolicyFields(
    /// The owners, separated by commas.
    owners: String,
    /// Whether it is an addon.
    addon: bool,
    /// The workloads that it depends on, separated by commas.
    depends_on: String,
    /// The policies of the draft.
    policies: Policies,
    /// Whether the source is a chart.
    is_chart: bool,
    /// What the rows of rules offer.
    suggestions: RuleSuggestions,
    /// The input with which the page was left before it was stored.
    typed: Option<PolicyForm>,
    /// The fields as they are now; `None` before the first change.
    current: Signal<Option<PolicyForm>>,
) -> impl IntoView {
    let initial = typed.unwrap_or_else(|| PolicyForm {
        depends_on: depends_on.clone(),
        ..PolicyForm::from_policies(&owners, addon, &policies)
    });
    let rows = initial.rule_rows();
    let rules = format_rules(&policies);
    let has_rules = !rules.is_empty() || !initial.rules.is_empty();
    let shown = Memo::new(move |_| current.get().unwrap_or_else(|| initial.clone()));
    view! {
        {suggestions.render_lists()}
        <div class="policy-columns">
            <div>
                {section("Incidents", shown, summary::describe_owners, owner_fields(owners))}
                {section("Clusters", shown, summary::describe_addon, addon_fields(addon, depends_on))}
                {section("Apply", shown, summary::describe_apply, apply_fields(&policies, &rows))}
                {section("Drift", shown, summary::describe_drift, drift_fields(&policies, &rows))}
            </div>
            <div>
                {section("Health", shown, summary::describe_health, health_fields(&policies))}
                {section("Delete", shown, summary::describe_deletion, deletion_fields(&policies, &rows))}
                {chart_fold(&policies, is_chart)}
                {rules_fold(rules, has_rules)}
            </div>
        </div>
    }
    .into_any()
}

fn owner_fields(owners: String) -> AnyView {
    view! {
        {text_field("owners", "Owners", "team-shop, ops@example.com", "Who is notified of incidents: users, teams or e-mail addresses. Empty for the user who created it.", owners)}
    }
    .into_any()
}

fn addon_fields(addon: bool, depends_on: String) -> AnyView {
    view! {
        {tick("addon", "Addon", "Clusters that match the placement later get the workload too, without a publish.", addon)}
        <input type="hidden" name="form[policies][has_dependencies]" value="true" />
        {text_field("depends_on", "Depends on", "cert-manager, database", "Workloads that have to be operational on a cluster before this one is delivered there. What runs already is not stopped.", depends_on)}
    }
    .into_any()
}

fn apply_fields(policies: &Policies, rows: &RuleRows) -> AnyView {
    view! {
        {tick("create_namespace", "Create namespaces", "A namespace that is missing on a cluster is created. It stays when the workload leaves.", policies.create_namespace)}
        {tick("allow_system_namespaces", "Allow system namespaces", "Objects may be in kube-system and other namespaces that begin with kube-. Only an admin can set it; then everybody who may publish this workload can write there.", policies.allow_system_namespaces)}
        {select_field("conflict", "Conflicts", "What happens when an object or a field on the cluster belongs to another owner.", &[("abort", "Fail on conflict"), ("force", "Force"), ("ifIdentical", "Adopt if identical")], policies.conflict as usize)}
        {select_field("changed_jobs", "Changed Jobs", "What happens when a new revision changes fields of a Job that can't be changed.", &[("replace", "Replace: delete and create again, it runs again"), ("refuse", "Reject the revision")], policies.changed_jobs as usize)}
        {rule_fields(RuleList::Update, &rows.update)}
        {text_field("executor", "Service account", "deployer/flotilla", "As namespace/name: the account whose rights on the cluster apply to every write and delete. Empty for that of the agent. Only an admin can change it.", policies.executor.clone())}
    }
    .into_any()
}

fn drift_fields(policies: &Policies, rows: &RuleRows) -> AnyView {
    view! {
        {select_field("drift", "On drift", "What happens when somebody changes an applied object on the cluster.", &[("revert", "Self-heal (revert)"), ("notify", "Notify only")], policies.drift as usize)}
        {rule_fields(RuleList::Ignore, &rows.ignore)}
    }
    .into_any()
}

fn health_fields(policies: &Policies) -> AnyView {
    let deadline = policies.deadline.as_ref().map(ToString::to_string).unwrap_or_default();
    view! {
        {select_field("not_assessed", "Health not assessed", "What a wave does with objects whose status does not tell whether they work.", &[("accept", "Accept: the wave continues"), ("wait", "Wait until healthy")], policies.not_assessed.unwrap_or_default() as usize)}
        {text_field("deadline", "Deadline", "30m", "A release that is not operational this long after its delivery is marked as past its deadline. Nothing is aborted. Empty: no limit.", deadline)}
    }
    .into_any()
}

fn deletion_fields(policies: &Policies, rows: &RuleRows) -> AnyView {
    let ttl = policies.ttl_seconds_after_finished.map(|seconds| seconds.to_string()).unwrap_or_default();
    view! {
        {tick("prune", "Prune", "Objects that a new revision no longer contains are deleted.", policies.prune)}
        {select_field("prune_order", "Prune order", "When ConfigMaps, Secrets, Services, accounts, roles and claims are pruned that running pods may still need.", &[("afterOperational", "Once the new revision is operational"), ("afterApply", "As soon as the new revision is applied")], policies.prune_order as usize)}
        {select_field("deletion", "Deletion policy", "What happens to the objects when the workload leaves a cluster.", &[("foreground", "Delete"), ("orphan", "Orphan"), ("selectivelyOrphan", "Orphan the objects below, delete the others")], policies.deletion as usize)}
        {rule_fields(RuleList::Orphan, &rows.orphan)}
        {text_field("ttl", "TTL after finished", "3600", "Seconds after which the objects of a workload that only runs Jobs are deleted. Empty: never.", ttl)}
    }
    .into_any()
}

/// The rules that rows do not show.
fn rules_fold(rules: String, is_open: bool) -> AnyView {
    view! {
        <details class="fold" open=is_open>
            <summary><span>"Rules as YAML " <span class="text-3">"reported values, and rules up to the last one that rows can't show"</span></span></summary>
            <div class="field pb-4">
                <TextArea class="textarea input-mono min-h-40" field="form[policies][rules]" text=rules label="Rules as YAML"
                    on_text=Callback::new(|_| ()) />
                <p class="field-help">
                    <code>"feedback: [{name: replicas, object: {kind: Deployment}, path: $.spec.replicas}]"</code>
                    ", also "
                    <code>"ignore"</code>
                    ", "
                    <code>"update"</code>
                    " and "
                    <code>"orphan"</code>
                    ", whose rules come before those of the rows."
                </p>
            </div>
        </details>
    }
    .into_any()
}

/// The policies of charts.
fn chart_fold(policies: &Policies, is_open: bool) -> AnyView {
    view! {
        <details class="fold" open=is_open>
            <summary><span>"Helm chart " <span class="text-3">"hooks, custom resource definitions, schema, record"</span></span></summary>
            <div class="policy-section">
                {tick("upgrade_crds", "Upgrade CRDs", "Custom resource definitions in the crds folder are changed too, not only created.", policies.upgrade_crds)}
                {tick("skip_crds", "Skip CRDs", "The crds folder is left out.", policies.skip_crds)}
                {tick("skip_hooks", "Skip hooks", "Hooks are left out.", policies.skip_hooks)}
                {tick("skip_schema_validation", "Skip schema validation", "Values are not checked against values.schema.json.", policies.skip_schema_validation)}
                {tick("renew_generated_values", "Renew generated values", "Passwords, certificates and dates that the chart generates are replaced whenever it is rendered with other values. Otherwise every cluster retains its values.", policies.renew_generated_values)}
                {select_field("helm_release", "Helm release", "Whether Helm lists the release on the clusters.", &[("none", "No record: Helm does not list it"), ("record", "Record, as helm list and helm history show it"), ("adopt", "Record, and adopt an existing release of this name")], policies.helm_release as usize)}
            </div>
        </details>
    }
    .into_any()
}

/// A part of the policies: a fold with its values in the summary, as they are in the fields now.
fn section(
    title: &'static str,
    shown: Memo<PolicyForm>,
    describe: fn(&PolicyForm) -> String,
    fields: AnyView,
) -> AnyView {
    view! {
        <details class="fold">
            <summary>
                <span>
                    {title} " " <span class="text-3">{move || shown.with(describe)}</span>
                </span>
            </summary>
            <div class="policy-section">{fields}</div>
        </details>
    }
    .into_any()
}

/// A checkbox with a sentence that says what it does.
fn tick(name: &'static str, label: &'static str, help: &'static str, on: bool) -> AnyView {
    let id = format!("{name}-help");
    view! {
        <label class="choice items-start">
            <input
                type="checkbox"
                class="checkbox mt-px"
                name=format!("form[policies][{name}]")
                value="true"
                checked=on
                aria-describedby=id.clone()
            />
            <span>
                <span class="strong">{label}</span>
                <span class="field-help block" id=id>{help}</span>
            </span>
        </label>
    }
    .into_any()
}

/// A select with the options in the order of their enum; `selected` is the index of the selected option.
fn select_field(
    name: &'static str,
    label: &'static str,
    help: &'static str,
    choices: &'static [(&'static str, &'static str)],
    selected: usize,
) -> AnyView {
    let option = |(at, (value, word)): (usize, &(&'static str, &'static str))| {
        view! {
            <option value=*value selected=at == selected>
                {*word}
            </option>
        }
    };
    let help_id = format!("{name}-help");
    view! {
        <div class="field">
            <label class="field-label" for=name>
                {label}
            </label>
            <select class="select" id=name name=format!("form[policies][{name}]") aria-describedby=help_id.clone()>
                {choices.iter().enumerate().map(option).collect_view()}
            </select>
            <p class="field-help" id=help_id>{help}</p>
        </div>
    }
    .into_any()
}

fn text_field(
    name: &'static str,
    label: &'static str,
    example: &'static str,
    help: &'static str,
    value: String,
) -> AnyView {
    let help_id = format!("{name}-help");
    view! {
        <div class="field">
            <label class="field-label" for=name>
                {label}
            </label>
            <input
                class="input input-mono"
                id=name
                name=format!("form[policies][{name}]")
                value=value
                placeholder=example
                maxlength=if name == "depends_on" { MAX_DEPENDENCIES_LENGTH } else { "253" }
                autocomplete="off"
                autocapitalize="off"
                spellcheck="false"
                aria-describedby=help_id.clone()
            />
            <p class="field-help" id=help_id>{help}</p>
        </div>
    }
    .into_any()
}

#[cfg(all(test, feature = "ssr"))]
mod tests {
    use domain::overrides::ObjectSelector;
    use domain::policy::{IgnoreRule, UpdateRule, UpdateStrategy};

    use super::*;
    use crate::render_tests::render_html;

    #[test]
    fn rules_are_rows_with_a_blank_one_and_yaml_has_only_what_rows_cannot_show() {
        let object =
            |kind: &str| ObjectSelector { kind: kind.into(), name: "web".into(), namespace: String::new() };
        let spaced = "$.data[\"a b\"]".to_owned();
        let policies = Policies {
            ignore: vec![
                IgnoreRule { object: object("ConfigMap"), paths: vec![spaced], ..IgnoreRule::default() },
                IgnoreRule {
                    object: object("Deployment"),
                    paths: vec!["/spec/replicas".into()],
                    ..IgnoreRule::default()
                },
            ],
            update: vec![UpdateRule { object: object("Secret"), strategy: UpdateStrategy::ReadOnly }],
            ..Policies::default()
        };
        let page = render_html(move || {
            let suggestions = RuleSuggestions::default();
            view! { <PolicyFields owners=String::new() addon=false depends_on=String::new() policies=policies is_chart=false suggestions=suggestions typed=None current=Signal::stored(None) /> }
        });
        for part in [
            "name=\"form[policies][ignore][0][kind]\" value=\"Deployment\"",
            "name=\"form[policies][ignore][0][paths]\" value=\"/spec/replicas\"",
            "name=\"form[policies][ignore][1][kind]\"",
            "name=\"form[policies][update][0][kind]\" value=\"Secret\"",
            "name=\"form[policies][orphan][0][kind]\"",
            "<option value=\"readOnly\" selected",
            "self-heal, 1 rule for ignored fields and others as YAML",
        ] {
            assert!(page.contains(part), "{part} is missing in {page}");
        }
        assert_eq!(page.matches("kind: ConfigMap").count(), 1, "{page}");
        assert!(!page.contains("kind: Deployment\n"), "the rule of the row is not in YAML too: {page}");
    }
}
