//! RBAC objects of a workload (G309).

use serde_json::Value;

use super::rule_context::{RuleContext, RuleObject, items, quote};
use crate::text::finding::Finding;

const GROUP: &str = "rbac.authorization.k8s.io";

/// G309: references of bindings, and permissions that are broader than usually intended.
pub(super) fn permissions(context: &RuleContext<'_>) -> Vec<Finding> {
    let bindings = ["RoleBinding", "ClusterRoleBinding"]
        .into_iter()
        .flat_map(|kind| context.objects_of_kind(GROUP, kind));
    let roles = ["Role", "ClusterRole"].into_iter().flat_map(|kind| context.objects_of_kind(GROUP, kind));
    bindings.flat_map(|binding| check_binding(context, binding)).chain(roles.filter_map(check_role)).collect()
}

fn check_binding<'a>(context: &RuleContext<'a>, binding: &'a RuleObject<'a>) -> Vec<Finding> {
    let mut findings = Vec::new();
    let (kind, name) = (binding.text("/roleRef/kind"), binding.text("/roleRef/name"));
    if binding.name.kind == "ClusterRoleBinding" && kind == "Role" {
        findings.push(binding.error(
            "G309",
            "/roleRef/kind",
            format!(
                "{} refers to a Role; Kubernetes accepts only a ClusterRole there.",
                binding.display_name
            ),
            "Use a RoleBinding, or a ClusterRole.",
        ));
    } else if kind == "Role" && context.find_in_namespace(binding, "Role", name).is_none() {
        findings.push(binding.warning(
            "G309",
            "/roleRef/name",
            format!(
                "{} refers to Role {}, which is not among these objects.",
                binding.display_name,
                quote(name)
            ),
            "Correct the name, or ignore this if the role exists already.",
        ));
    }
    if !matches!(kind, "Role" | "ClusterRole") || name.is_empty() {
        findings.push(binding.error(
            "G309",
            "/roleRef",
            format!("{} names no Role or ClusterRole; Kubernetes rejects it.", binding.display_name),
            "Write roleRef with apiGroup rbac.authorization.k8s.io, kind and name.",
        ));
    }
    if kind == "ClusterRole" && name == "cluster-admin" {
        findings.push(binding.warning(
            "G309",
            "/roleRef/name",
            format!("{} grants all permissions on the cluster.", binding.display_name),
            "Bind a role with only the permissions that are needed.",
        ));
    }
    findings.extend(check_accounts(context, binding));
    findings
}

/// Service accounts in namespaces of this workload that the workload does not contain.
fn check_accounts<'a>(context: &RuleContext<'a>, binding: &'a RuleObject<'a>) -> Vec<Finding> {
    let mut findings = Vec::new();
    for (at, subject) in items(binding.get("/subjects")).iter().enumerate() {
        let text = |field: &str| subject[field].as_str().unwrap_or_default();
        if text("kind") != "ServiceAccount" || text("name") == "default" {
            continue;
        }
        if text("namespace").is_empty() && binding.name.kind == "ClusterRoleBinding" {
            findings.push(binding.error(
                "G309",
                &format!("/subjects/{at}"),
                format!(
                    "{} names ServiceAccount {} without its namespace; Kubernetes rejects it.",
                    binding.display_name,
                    quote(text("name"))
                ),
                "Add the namespace of the account.",
            ));
            continue;
        }
        let namespace = match text("namespace") {
            "" => &*binding.name.namespace,
            written => written,
        };
        let in_workload = context.objects.iter().any(|object| object.name.namespace == namespace);
        let exists = context
            .objects_of_kind("", "ServiceAccount")
            .any(|account| account.name.name == text("name") && account.name.namespace == namespace);
        if in_workload && !exists {
            findings.push(binding.warning(
                "G309",
                &format!("/subjects/{at}"),
                format!(
                    "{} names ServiceAccount {}, which is not among these objects.",
                    binding.display_name,
                    quote(text("name"))
                ),
                "Correct the name, or ignore this if the account exists already.",
            ));
        }
    }
    findings
}

fn check_role(role: &RuleObject<'_>) -> Option<Finding> {
    let has_wildcard = |rule: &Value, field: &str| items(rule.get(field)).iter().any(|value| value == "*");
    let rules = items(role.get("/rules"));
    let problem = |rule: &Value| match (has_wildcard(rule, "verbs"), has_wildcard(rule, "resources")) {
        (true, true) => Some("allows every verb on every resource of a group"),
        (true, false) => Some("allows every verb on some resources, including verbs that later versions add"),
        // A wildcard in a single group other than the core group usually means a controller's own resources.
        (false, true)
            if has_wildcard(rule, "apiGroups")
                || items(rule.get("apiGroups")).iter().any(|group| group == "") =>
        {
            Some("allows access to every resource of its groups, including Secrets")
        }
        _ => None,
    };
    let (at, problem) = rules.iter().enumerate().find_map(|(at, rule)| Some((at, problem(rule)?)))?;
    Some(role.warning(
        "G309",
        &format!("/rules/{at}"),
        format!("{} {problem}.", role.display_name),
        "List only the resources and verbs that are needed.",
    ))
}
