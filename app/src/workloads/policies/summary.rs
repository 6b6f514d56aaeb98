//! The values of the policies in a few words, for the summaries of the folds that contain their fields. Pure.

use domain::manifest::yaml_value;
use domain::policy::{
    ChangedJobsPolicy, ConflictPolicy, DeletionPolicy, DriftPolicy, NotAssessedPolicy, PruneOrder,
};
use serde_json::Value;

use super::form::PolicyForm;
use super::rule_rows::{RuleList, RuleRow};
use crate::parsing::parse_text;

/// Who is notified of incidents.
pub(super) fn describe_owners(form: &PolicyForm) -> String {
    match form.owners.trim() {
        "" => "notify the user who created it".to_owned(),
        owners => format!("notify {owners}"),
    }
}

/// Which clusters get the workload later, and after which others.
pub(super) fn describe_addon(form: &PolicyForm) -> String {
    let words = if form.addon { "addon: also clusters that match later" } else { "no addon" };
    let names = form.depends_on.trim();
    join_parts(words, (!names.is_empty()).then(|| format!("after {names}")))
}

/// How objects are written.
pub(super) fn describe_apply(form: &PolicyForm) -> String {
    let namespaces = if form.create_namespace { "create namespaces" } else { "do not create namespaces" };
    let conflict = match form.conflict {
        ConflictPolicy::Abort => "fail on conflict",
        ConflictPolicy::Force => "force on conflict",
        ConflictPolicy::IfIdentical => "adopt if identical",
    };
    let jobs = match form.changed_jobs {
        ChangedJobsPolicy::Replace => "replace changed Jobs",
        ChangedJobsPolicy::Refuse => "reject changed Jobs",
    };
    let mut parts = vec![namespaces.to_owned(), conflict.to_owned(), jobs.to_owned()];
    if form.allow_system_namespaces {
        parts.push("system namespaces allowed".to_owned());
    }
    parts.extend(count_rules(form, RuleList::Update, "update strategy", "update strategies"));
    let executor = form.executor.trim();
    if !executor.is_empty() {
        parts.push(format!("as {executor}"));
    }
    parts.join(", ")
}

/// What happens on drift.
pub(super) fn describe_drift(form: &PolicyForm) -> String {
    let drift = match form.drift {
        DriftPolicy::Revert => "self-heal",
        DriftPolicy::Notify => "notify only",
    };
    let ignored = count_rules(form, RuleList::Ignore, "rule for ignored fields", "rules for ignored fields");
    join_parts(drift, ignored)
}

/// What a wave does with objects without an assessment of their health, and when a release is marked as late.
pub(super) fn describe_health(form: &PolicyForm) -> String {
    let words = match form.not_assessed {
        NotAssessedPolicy::Accept => "not assessed: the wave continues",
        NotAssessedPolicy::Wait => "not assessed: the wave waits until healthy",
    };
    let deadline = form.deadline.trim();
    join_parts(words, (!deadline.is_empty()).then(|| format!("deadline {deadline}")))
}

/// What is deleted, and when.
pub(super) fn describe_deletion(form: &PolicyForm) -> String {
    let prune = match (form.prune, form.prune_order) {
        (false, _) => "no prune",
        (true, PruneOrder::AfterOperational) => "prune once operational",
        (true, PruneOrder::AfterApply) => "prune once applied",
    };
    let deletion = match form.deletion {
        DeletionPolicy::Foreground => "delete on removal",
        DeletionPolicy::Orphan => "orphan on removal",
        DeletionPolicy::SelectivelyOrphan => "orphan some objects on removal",
    };
    let ttl = form.ttl.trim();
    let mut parts = vec![prune.to_owned(), deletion.to_owned()];
    parts.extend(count_rules(
        form,
        RuleList::Orphan,
        "rule for orphaned objects",
        "rules for orphaned objects",
    ));
    if !ttl.is_empty() {
        parts.push(format!("TTL {ttl} s"));
    }
    parts.join(", ")
}

/// The number of rules in rows, and whether there are others as YAML; `None` without any.
fn count_rules(form: &PolicyForm, list: RuleList, one: &str, several: &str) -> Option<String> {
    let rows: &[RuleRow] = match list {
        RuleList::Ignore => &form.ignore,
        RuleList::Update => &form.update,
        RuleList::Orphan => &form.orphan,
    };
    let counted = match rows.iter().filter(|row| !row.is_blank(list)).count() {
        0 => None,
        1 => Some(format!("1 {one}")),
        n => Some(format!("{n} {several}")),
    };
    let has_others = may_have_rules(&form.rules, list);
    match counted {
        counted if !has_others => counted,
        Some(counted) => Some(format!("{counted} and others as YAML")),
        None => Some(format!("{several} as YAML")),
    }
}

/// Whether the YAML may have rules in this list. What can't be read may have some.
fn may_have_rules(yaml: &str, list: RuleList) -> bool {
    match parse_text(|| yaml_value::read(yaml)) {
        Ok(Some(Value::Object(lists))) => lists.contains_key(list.slug()),
        Ok(None) => false,
        Ok(Some(_)) | Err(_) => true,
    }
}

fn join_parts(first: &str, more: Option<String>) -> String {
    match more {
        Some(more) => format!("{first}, {more}"),
        None => first.to_owned(),
    }
}

#[cfg(test)]
mod tests {
    use domain::policy::Policies;

    use super::*;

    #[test]
    fn a_summary_has_the_values_of_its_part() {
        let form = PolicyForm::from_policies("", false, &Policies::default());
        assert_eq!(describe_owners(&form), "notify the user who created it");
        assert_eq!(describe_addon(&form), "no addon");
        let dependent = PolicyForm { depends_on: "cert-manager, db".into(), ..form.clone() };
        assert_eq!(describe_addon(&dependent), "no addon, after cert-manager, db");
        assert_eq!(describe_apply(&form), "create namespaces, fail on conflict, replace changed Jobs");
        assert_eq!(describe_drift(&form), "self-heal");
        assert_eq!(describe_health(&form), "not assessed: the wave continues");
        let limited = PolicyForm { deadline: "30m".into(), ..form.clone() };
        assert_eq!(describe_health(&limited), "not assessed: the wave continues, deadline 30m");
        assert_eq!(describe_deletion(&form), "prune once operational, delete on removal");
    }

    #[test]
    fn only_a_list_of_rules_in_the_yaml_is_mentioned() {
        let describe =
            |rules: &str| describe_drift(&PolicyForm { rules: rules.into(), ..PolicyForm::default() });
        let none = describe("feedback:\n- name: ignore\n  path: $.spec.ignored\n");
        assert_eq!(none, describe(""));
        for rules in
            ["ignore:\n- paths: [/a]\n", "feedback: []\nignore: []\n", "{\"ignore\": []}", "ignore: ["]
        {
            assert_eq!(describe(rules), format!("{none}, rules for ignored fields as YAML"), "{rules}");
        }
    }

    #[test]
    fn a_summary_counts_the_rules_with_input_and_no_blank_row() {
        let row = |kind: &str| RuleRow { kind: kind.to_owned(), ..RuleRow::default() };
        let form = PolicyForm {
            owners: " ops ".into(),
            drift: DriftPolicy::Notify,
            ignore: vec![row("Secret"), RuleRow { option: "onPresence".into(), ..row("") }],
            orphan: vec![row("Secret"), row("ConfigMap")],
            executor: "deployer/flotilla".into(),
            rules: "orphan:\n- {}\nupdate:\n- strategy: readOnly\n".into(),
            ttl: "60".into(),
            ..PolicyForm::default()
        };
        assert_eq!(describe_owners(&form), "notify ops");
        assert_eq!(describe_drift(&form), "notify only, 1 rule for ignored fields");
        let apply = describe_apply(&form);
        assert!(apply.ends_with(", update strategies as YAML, as deployer/flotilla"), "{apply}");
        assert_eq!(
            describe_deletion(&form),
            "no prune, delete on removal, 2 rules for orphaned objects and others as YAML, TTL 60 s"
        );
    }
}
