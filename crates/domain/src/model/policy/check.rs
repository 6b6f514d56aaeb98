//! Checks of policies that do not need the objects (G517).

use super::{DeletionPolicy, Policies};
use crate::kubernetes::json_path::JsonPath;
use crate::kubernetes::name;
use crate::model::overrides::ObjectSelector;
use crate::text::finding::Finding;
use crate::text::name_check;

/// Most rules of one kind, and most paths of one rule.
pub const MAX_RULES: usize = 64;

/// Shortest deadline, in milliseconds: a minute. A shorter one would mark releases that start as usual.
pub const MIN_DEADLINE_MILLIS: i64 = 60_000;
/// Longest deadline, in milliseconds: 30 days.
pub const MAX_DEADLINE_MILLIS: i64 = 30 * 86_400_000;

/// Code of all findings about policies.
const CODE: &str = "G517";

/// Checks the policies of a workload. Paths are relative to the workload's spec.
pub fn check(policies: &Policies) -> Vec<Finding> {
    let mut findings = Vec::new();
    findings.extend(check_lengths(policies));
    findings.extend(check_orphan_rules(policies));
    for (at, rule) in policies.ignore.iter().enumerate() {
        findings.extend(check_paths(&rule.paths).map(|(n, finding)| {
            let place = n.map_or(String::new(), |n| format!("/{n}"));
            finding.with_path(format!("/policies/ignore/{at}/paths{place}"))
        }));
    }
    for (at, rule) in policies.feedback.iter().enumerate() {
        let place = format!("/policies/feedback/{at}");
        if rule.name.is_empty() || rule.name.len() > 63 {
            let message = "A feedback value has no name, or one of more than 63 bytes.";
            findings
                .push(error(message, "Name it, such as ReadyReplicas.").with_path(format!("{place}/name")));
        }
        findings.extend(check_path(&rule.path).map(|finding| finding.with_path(format!("{place}/path"))));
    }
    findings.extend(check_executor(policies));
    findings.extend(check_deadline(policies));
    findings
}

fn error(message: impl Into<String>, hint: &str) -> Finding {
    Finding::error(CODE, message, hint)
}

fn check_lengths(policies: &Policies) -> Vec<Finding> {
    let all = [
        ("orphan", policies.orphan.len()),
        ("update", policies.update.len()),
        ("ignore", policies.ignore.len()),
        ("feedback", policies.feedback.len()),
    ];
    all.into_iter()
        .filter(|(_, many)| *many > MAX_RULES)
        .map(|(what, many)| {
            let message = format!("The policy {what} has {many} rules; at most {MAX_RULES} are allowed.");
            error(message, "Select more objects with one rule by omitting kind, name or namespace.")
                .with_path(format!("/policies/{what}"))
        })
        .collect()
}

fn check_orphan_rules(policies: &Policies) -> Option<Finding> {
    let selective = policies.deletion == DeletionPolicy::SelectivelyOrphan;
    let finding = match (selective, policies.orphan.is_empty()) {
        (true, true) => error(
            "The deletion policy is selectivelyOrphan, but no object to orphan is named.",
            "Name them under orphan (kind, name, namespace), or use foreground or orphan.",
        ),
        (false, false) => Finding::warning(
            CODE,
            "Objects to orphan are named, but the deletion policy is not selectivelyOrphan.",
            "Set the deletion policy to selectivelyOrphan, or remove the list.",
        ),
        (true, false) if policies.orphan.contains(&ObjectSelector::default()) => Finding::warning(
            CODE,
            "An entry under orphan selects every object, so none is ever deleted.",
            "Use the deletion policy orphan, or name kind, name or namespace.",
        ),
        _ => return None,
    };
    Some(finding.with_path("/policies/orphan"))
}

/// Findings about the paths of one rule, with the position of the path.
fn check_paths(paths: &[String]) -> impl Iterator<Item = (Option<usize>, Finding)> + '_ {
    let amount = match paths.len() {
        0 => Some(error("A rule that ignores fields names none.", "Name fields, such as $.spec.replicas.")),
        many if many > MAX_RULES => Some(error(
            format!("A rule names {many} fields; at most {MAX_RULES} are allowed."),
            "Name their parent field.",
        )),
        _ => None,
    };
    let each = paths.iter().enumerate().filter_map(|(n, path)| Some((Some(n), check_path(path)?)));
    amount.map(|finding| (None, finding)).into_iter().chain(each)
}

fn check_path(path: &str) -> Option<Finding> {
    let bad = path.parse::<JsonPath>().err()?;
    Some(error(
        format!("{bad}."),
        "Write a JSON pointer (/spec/replicas) or a JSONPath ($.spec.template.spec.containers[?(@.name==\"web\")].image).",
    ))
}

fn check_executor(policies: &Policies) -> Option<Finding> {
    let text = &policies.executor;
    if text.is_empty() {
        return None;
    }
    let good = policies.executor().is_some_and(|(namespace, account)| {
        name_check::check_namespace(namespace).is_none() && name::is_subdomain(account)
    });
    (!good).then(|| {
        error(
            format!("The executor {text:?} is not a service account."),
            "Write it as namespace/name, such as web/deployer.",
        )
        .with_path("/policies/executor")
    })
}

fn check_deadline(policies: &Policies) -> Option<Finding> {
    let deadline = policies.deadline.as_ref()?;
    let message = match deadline.millis() {
        None => format!("The deadline is {:?}, which is not a time span.", deadline.to_string()),
        Some(millis) if millis < MIN_DEADLINE_MILLIS => {
            format!("The deadline {deadline} is shorter than a minute.")
        }
        Some(millis) if millis > MAX_DEADLINE_MILLIS => {
            format!("The deadline {deadline} is longer than 30 days.")
        }
        Some(_) => return None,
    };
    let hint = "Write numbers with units, such as 30m or 1h30m, from 1m to 30d; or remove it for no limit.";
    Some(error(message, hint).with_path("/policies/deadline"))
}
