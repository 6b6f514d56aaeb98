//! The policies of a workload as a form. Pure.

#[cfg(feature = "ssr")]
use domain::Finding;
use domain::dependency::WorkloadDependency;
use domain::manifest::yaml_value;
use domain::policy::{
    ChangedJobsPolicy, ConflictPolicy, DeletionPolicy, DriftPolicy, HelmReleasePolicy, NotAssessedPolicy,
    Policies, PruneOrder,
};
#[cfg(feature = "ssr")]
use domain::rollout::TimeSpan;
use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};

use super::rule_rows::{RuleRow, RuleRows};
#[cfg(feature = "ssr")]
use crate::parsing::parse_text;

/// The names of these workloads, as the field has them.
pub fn format_dependencies(dependencies: &[WorkloadDependency]) -> String {
    let names: Vec<&str> = dependencies.iter().map(|one| one.workload.as_str()).collect();
    names.join(", ")
}

/// The policies that are lists of rules, and are written as YAML.
const RULE_POLICIES: [&str; 4] = ["ignore", "update", "orphan", "feedback"];

/// The fields as they are sent under `form[policies]`. Browsers do not send unticked boxes, so every field has a default.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default)]
pub struct PolicyForm {
    /// Owners of the workload, separated by commas.
    pub owners: String,
    /// Whether it is an addon: deployed to every cluster that matches, also later.
    pub addon: bool,
    /// Names of the workloads that it depends on, separated by commas.
    pub depends_on: String,
    /// Whether the page has the field of the dependencies: one of an earlier version does not change them.
    pub has_dependencies: bool,
    /// Create missing namespaces.
    pub create_namespace: bool,
    /// Delete objects that a new revision no longer contains.
    pub prune: bool,
    /// When those are deleted that running pods may need.
    pub prune_order: PruneOrder,
    /// The drift policy.
    pub drift: DriftPolicy,
    /// The policy for objects of other owners.
    pub conflict: ConflictPolicy,
    /// The deletion policy.
    pub deletion: DeletionPolicy,
    /// What to do with a Job that a new revision changes.
    pub changed_jobs: ChangedJobsPolicy,
    /// What to do with a release whose health is not assessed.
    pub not_assessed: NotAssessedPolicy,
    /// How long a release may take before it is marked, such as `30m`; empty for no limit.
    pub deadline: String,
    /// Seconds after which completed jobs are deleted; empty for never.
    pub ttl: String,
    /// The service account that writes, as `namespace/name`; empty for that of the agent.
    pub executor: String,
    /// Ignored fields.
    pub ignore: Vec<RuleRow>,
    /// Update strategies.
    pub update: Vec<RuleRow>,
    /// Orphaned objects.
    pub orphan: Vec<RuleRow>,
    /// Other rules, as a map of policies in YAML. Those of the rows come after them.
    pub rules: String,
    /// Change the custom resource definitions of a chart.
    pub upgrade_crds: bool,
    /// Leave out the hooks of a chart.
    pub skip_hooks: bool,
    /// Leave out the objects of the `crds/` folder of a chart.
    pub skip_crds: bool,
    /// Do not compare the values of a chart with its schema.
    pub skip_schema_validation: bool,
    /// Whether Helm's record of a chart's release is kept.
    pub helm_release: HelmReleasePolicy,
    /// Replace what a chart generates.
    pub renew_generated_values: bool,
    /// Allow objects in the namespaces of Kubernetes itself.
    pub allow_system_namespaces: bool,
}

impl PolicyForm {
    /// The form with these stored policies.
    pub fn from_policies(owners: &str, addon: bool, policies: &Policies) -> Self {
        let RuleRows { ignore, update, orphan } = RuleRows::from_policies(policies);
        let ttl = policies.ttl_seconds_after_finished;
        Self {
            owners: owners.to_owned(),
            addon,
            depends_on: String::new(),
            has_dependencies: true,
            create_namespace: policies.create_namespace,
            prune: policies.prune,
            prune_order: policies.prune_order,
            drift: policies.drift,
            conflict: policies.conflict,
            deletion: policies.deletion,
            changed_jobs: policies.changed_jobs,
            not_assessed: policies.not_assessed.unwrap_or_default(),
            deadline: policies.deadline.as_ref().map(ToString::to_string).unwrap_or_default(),
            ttl: ttl.map(|seconds| seconds.to_string()).unwrap_or_default(),
            executor: policies.executor.clone(),
            ignore,
            update,
            orphan,
            rules: format_rules(policies),
            upgrade_crds: policies.upgrade_crds,
            skip_hooks: policies.skip_hooks,
            skip_crds: policies.skip_crds,
            skip_schema_validation: policies.skip_schema_validation,
            helm_release: policies.helm_release,
            renew_generated_values: policies.renew_generated_values,
            allow_system_namespaces: policies.allow_system_namespaces,
        }
    }

    /// The rows of rules.
    pub fn rule_rows(&self) -> RuleRows {
        RuleRows { ignore: self.ignore.clone(), update: self.update.clone(), orphan: self.orphan.clone() }
    }
}

#[cfg(feature = "ssr")]
impl PolicyForm {
    /// The policies of the form.
    ///
    /// # Errors
    /// A finding for each field that is invalid.
    pub fn parse(&self) -> Result<Policies, Vec<Finding>> {
        let mut wrong = Vec::new();
        let plain = Policies {
            create_namespace: self.create_namespace,
            prune: self.prune,
            prune_order: self.prune_order,
            drift: self.drift,
            conflict: self.conflict,
            deletion: self.deletion,
            changed_jobs: self.changed_jobs,
            not_assessed: Some(self.not_assessed),
            deadline: self.parse_deadline(),
            ttl_seconds_after_finished: self.parse_ttl(&mut wrong),
            executor: self.executor.trim().to_owned(),
            upgrade_crds: self.upgrade_crds,
            skip_hooks: self.skip_hooks,
            skip_crds: self.skip_crds,
            skip_schema_validation: self.skip_schema_validation,
            helm_release: self.helm_release,
            renew_generated_values: self.renew_generated_values,
            allow_system_namespaces: self.allow_system_namespaces,
            ..Policies::default()
        };
        let rules = self.parse_rules(&mut wrong);
        let mut policies = plain.with_values(&rules).unwrap_or_else(|message| {
            let hint = "Write the rules as in the example below the field.";
            wrong.push(Finding::error("G517", message, hint).with_path("/policies/rules"));
            plain.clone()
        });
        self.rule_rows().append_to(&mut policies, &mut wrong);
        if wrong.is_empty() { Ok(policies.with_not_assessed_or(None)) } else { Err(wrong) }
    }

    /// The owners of the form.
    pub fn parse_owners(&self) -> Vec<String> {
        self.owners.split(',').map(|owner| owner.trim().to_owned()).collect()
    }

    /// The workloads that it depends on; `None` if the form does not have them.
    pub fn parse_dependencies(&self) -> Option<Vec<WorkloadDependency>> {
        self.has_dependencies.then(|| WorkloadDependency::from_names(self.depends_on.split(',')))
    }

    /// The deadline, also if it is no time span: the check of the policies reports it.
    fn parse_deadline(&self) -> Option<TimeSpan> {
        let text = self.deadline.trim();
        if text.is_empty() { None } else { text.parse().ok() }
    }

    fn parse_ttl(&self, wrong: &mut Vec<Finding>) -> Option<u32> {
        let text = self.ttl.trim();
        if text.is_empty() {
            return None;
        }
        let seconds = text.parse().ok();
        if seconds.is_none() {
            let message = format!("{text:?} is not a number of seconds.");
            let hint = "Write a number such as 3600, or leave it empty.";
            wrong.push(Finding::error("G517", message, hint).with_path("/policies/ttlSecondsAfterFinished"));
        }
        seconds
    }

    fn parse_rules(&self, wrong: &mut Vec<Finding>) -> Map<String, Value> {
        let mut reject = |message: String| {
            let hint = format!("Write a map with the keys {}.", RULE_POLICIES.join(", "));
            wrong.push(Finding::error("G517", message, hint).with_path("/policies/rules"));
        };
        match parse_text(|| yaml_value::read(&self.rules)) {
            Ok(None) => return Map::new(),
            Ok(Some(Value::Object(rules))) => {
                match rules.keys().find(|name| !RULE_POLICIES.contains(&name.as_str())) {
                    None => return rules,
                    Some(other) => reject(format!("The policy {other:?} is not a list of rules.")),
                }
            }
            Ok(Some(_)) => reject("The rules are not a map.".to_owned()),
            Err(finding) => reject(finding.message),
        }
        Map::new()
    }
}

/// The rules of policies that rows do not show, as YAML; empty without any.
pub fn format_rules(policies: &Policies) -> String {
    let rows = RuleRows::from_policies(policies);
    let Ok(Value::Object(all)) = serde_json::to_value(policies) else { return String::new() };
    let mut rules = Map::new();
    for (policy, value) in all {
        let Value::Array(mut list) = value else { continue };
        // The rows are the last rules.
        list.truncate(list.len().saturating_sub(rows.count(&policy)));
        if RULE_POLICIES.contains(&policy.as_str()) && !list.is_empty() {
            rules.insert(policy, Value::Array(list));
        }
    }
    if rules.is_empty() { String::new() } else { yaml_value::write(&Value::Object(rules)) }
}

#[cfg(all(test, feature = "ssr"))]
mod tests {
    use domain::overrides::ObjectSelector;
    use domain::policy::{FeedbackRule, IgnoreRule, IgnoreWhen, UpdateRule, UpdateStrategy};
    use proptest::prelude::*;

    use super::*;

    /// Objects, also those that a row can't show: all of them, and names with spaces at the ends.
    fn any_object() -> impl Strategy<Value = ObjectSelector> {
        let part = |all: Vec<&'static str>| prop::sample::select(all).prop_map(str::to_owned);
        let kind = part(vec!["", "Deployment", "Secret"]);
        let name = part(vec!["", "web", " web ", "null", "1.5"]);
        (kind, name, part(vec!["", "shop"])).prop_map(|(kind, name, namespace)| ObjectSelector {
            kind,
            name,
            namespace,
        })
    }

    fn any_ignore() -> impl Strategy<Value = IgnoreRule> {
        let paths = vec!["/spec/replicas", "$.spec.paused", "$.data[\"a b\"]", "/metadata/annotations/a~1b"];
        let paths = prop::sample::subsequence(paths, 0..=3);
        let when = prop::sample::select(vec![IgnoreWhen::OnPresence, IgnoreWhen::OnChange]);
        (any_object(), when, paths).prop_map(|(object, when, paths)| {
            let paths = paths.into_iter().map(str::to_owned).collect();
            IgnoreRule { object, when, paths }
        })
    }

    fn any_update() -> impl Strategy<Value = UpdateRule> {
        let strategies =
            vec![UpdateStrategy::ServerSideApply, UpdateStrategy::CreateOnly, UpdateStrategy::ReadOnly];
        (any_object(), prop::sample::select(strategies))
            .prop_map(|(object, strategy)| UpdateRule { object, strategy })
    }

    fn any_rules() -> impl Strategy<Value = Policies> {
        let feedback = any_object().prop_map(|object| FeedbackRule {
            object,
            name: "replicas".into(),
            path: "$.spec.replicas".into(),
        });
        let ignore = prop::collection::vec(any_ignore(), 0..5);
        let update = prop::collection::vec(any_update(), 0..5);
        let orphan = prop::collection::vec(any_object(), 0..5);
        (ignore, update, orphan, prop::collection::vec(feedback, 0..3)).prop_map(
            |(ignore, update, orphan, feedback)| Policies {
                ignore,
                update,
                orphan,
                feedback,
                ..Policies::default()
            },
        )
    }

    /// The form of the rules: rows, and YAML for the rest.
    fn form_of(policies: &Policies) -> PolicyForm {
        PolicyForm::from_policies("", false, policies)
    }

    proptest! {
        #[test]
        fn any_rules_in_any_order_are_parsed_back_from_rows_and_yaml(policies in any_rules()) {
            let form = form_of(&policies);
            let parsed = form.parse().unwrap();
            prop_assert_eq!(&parsed.ignore, &policies.ignore);
            prop_assert_eq!(&parsed.update, &policies.update);
            prop_assert_eq!(&parsed.orphan, &policies.orphan);
            prop_assert_eq!(&parsed.feedback, &policies.feedback);
            // The page that is shown after a save has the same fields.
            prop_assert_eq!(form_of(&parsed), form);
            prop_assert_eq!(parsed, policies);
        }
    }

    #[test]
    fn rules_survive_the_form() {
        let rules = "ignore:\n- object: {kind: Deployment, name: web}\n  paths: [/spec/replicas]\norphan:\n- kind: PersistentVolumeClaim\n";
        let form = PolicyForm {
            deadline: " 1h30m ".into(),
            ttl: "3600".into(),
            executor: " shop/deployer ".into(),
            rules: rules.into(),
            ..PolicyForm::default()
        };
        let policies = form.parse().unwrap();
        assert_eq!((policies.ignore.len(), policies.orphan.len()), (1, 1));
        assert_eq!(
            (policies.ttl_seconds_after_finished, policies.executor.as_str()),
            (Some(3600), "shop/deployer")
        );
        assert_eq!(policies.deadline_millis(), Some(5_400_000));
        assert_eq!(PolicyForm::from_policies("", false, &policies).deadline, "1h30m");
        // A page shows them as rows, and no YAML.
        assert_eq!(format_rules(&policies), "");
        let RuleRows { ignore, update, orphan } = RuleRows::from_policies(&policies);
        let again = PolicyForm { rules: String::new(), ignore, update, orphan, ..form };
        assert_eq!(again.parse().unwrap(), policies);
        assert_eq!(format_rules(&Policies::default()), "");
    }

    #[test]
    fn rules_that_rows_cannot_show_stay_in_the_yaml_and_rows_come_after_them() {
        let rules = "feedback:\n- name: replicas\n  path: $.spec.replicas\norphan:\n- {}\n";
        let row = RuleRow { kind: "Secret".into(), ..RuleRow::default() };
        let form = PolicyForm { rules: rules.into(), orphan: vec![row], ..PolicyForm::default() };
        let policies = form.parse().unwrap();
        let kinds: Vec<&str> = policies.orphan.iter().map(|object| object.kind.as_str()).collect();
        assert_eq!((kinds, policies.feedback.len()), (vec!["", "Secret"], 1));
        // The page shows the same again.
        assert_eq!(RuleRows::from_policies(&policies).orphan, form.orphan);
        let again = PolicyForm { rules: format_rules(&policies), ..form.clone() };
        assert_eq!(again.rules.matches("kind").count(), 0, "{}", again.rules);
        assert_eq!(again.parse().unwrap(), policies);
        // A rule of the YAML that comes last is followed by no row.
        let swapped =
            PolicyForm { rules: "orphan:\n- kind: Secret\n- {}\n".into(), orphan: Vec::new(), ..form };
        let policies = swapped.parse().unwrap();
        assert!(RuleRows::from_policies(&policies).orphan.is_empty());
        let again = PolicyForm { rules: format_rules(&policies), ..swapped };
        assert_eq!(again.parse().unwrap(), policies);
    }

    #[test]
    fn what_is_invalid_is_reported_with_its_field() {
        let paths = |form: PolicyForm| -> Vec<String> {
            form.parse().unwrap_err().into_iter().map(|finding| finding.path).collect()
        };
        let rules = |text: &str| PolicyForm { rules: text.into(), ..PolicyForm::default() };
        assert_eq!(
            paths(PolicyForm { ttl: "soon".into(), ..PolicyForm::default() }),
            ["/policies/ttlSecondsAfterFinished"]
        );
        let row = RuleRow { kind: "Deployment".into(), ..RuleRow::default() };
        assert_eq!(
            paths(PolicyForm { ignore: vec![row.clone()], update: vec![row], ..PolicyForm::default() }),
            ["/policies/ignore/0", "/policies/update/0"]
        );
        for text in ["prune: false", "- a", "ignore: [", "ignore: [{path: /a}]"] {
            assert_eq!(paths(rules(text)), ["/policies/rules"], "{text}");
        }
    }
}
