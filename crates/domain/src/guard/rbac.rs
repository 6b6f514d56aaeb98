//! Rights that a workload brings along (G309).

use serde_json::Value;

use super::scene::{Scene, Subject, items, quoted};
use crate::finding::Finding;

const GROUP: &str = "rbac.authorization.k8s.io";

/// G309: what bindings refer to, and rights that are wider than anybody means.
pub(super) fn rights(scene: &Scene<'_>) -> Vec<Finding> {
    let bindings = ["RoleBinding", "ClusterRoleBinding"].into_iter().flat_map(|kind| scene.of(GROUP, kind));
    let roles = ["Role", "ClusterRole"].into_iter().flat_map(|kind| scene.of(GROUP, kind));
    bindings.flat_map(|binding| of_binding(scene, binding)).chain(roles.filter_map(of_role)).collect()
}

fn of_binding<'a>(scene: &Scene<'a>, binding: &'a Subject<'a>) -> Vec<Finding> {
    let mut findings = Vec::new();
    let (kind, name) = (binding.text("/roleRef/kind"), binding.text("/roleRef/name"));
    if binding.name.kind == "ClusterRoleBinding" && kind == "Role" {
        findings.push(binding.error(
            "G309",
            "/roleRef/kind",
            format!("{} refers to a Role; Kubernetes takes only a ClusterRole there.", binding.shown),
            "Use a RoleBinding, or a ClusterRole.",
        ));
    } else if kind == "Role" && scene.beside(binding, "Role", name).is_none() {
        findings.push(binding.warning(
            "G309",
            "/roleRef/name",
            format!("{} refers to Role {}, which is not among these objects.", binding.shown, quoted(name)),
            "Correct the name, or ignore this if the role is there already.",
        ));
    }
    if !matches!(kind, "Role" | "ClusterRole") || name.is_empty() {
        findings.push(binding.error(
            "G309",
            "/roleRef",
            format!("{} names no Role or ClusterRole; Kubernetes refuses it.", binding.shown),
            "Write roleRef with apiGroup rbac.authorization.k8s.io, kind and name.",
        ));
    }
    if kind == "ClusterRole" && name == "cluster-admin" {
        findings.push(binding.warning(
            "G309",
            "/roleRef/name",
            format!("{} gives the rights to everything on the cluster.", binding.shown),
            "Bind a role with just what is needed.",
        ));
    }
    findings.extend(accounts(scene, binding));
    findings
}

/// Accounts in the namespaces of this workload that it does not bring along.
fn accounts<'a>(scene: &Scene<'a>, binding: &'a Subject<'a>) -> Vec<Finding> {
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
                    "{} names ServiceAccount {} without its namespace; Kubernetes refuses it.",
                    binding.shown,
                    quoted(text("name"))
                ),
                "Add the namespace of the account.",
            ));
            continue;
        }
        let namespace = match text("namespace") {
            "" => &*binding.name.namespace,
            written => written,
        };
        let ours = scene.objects.iter().any(|one| one.name.namespace == namespace);
        let there = scene
            .of("", "ServiceAccount")
            .any(|one| one.name.name == text("name") && one.name.namespace == namespace);
        if ours && !there {
            findings.push(binding.warning(
                "G309",
                &format!("/subjects/{at}"),
                format!(
                    "{} names ServiceAccount {}, which is not among these objects.",
                    binding.shown,
                    quoted(text("name"))
                ),
                "Correct the name, or ignore this if the account is there already.",
            ));
        }
    }
    findings
}

fn of_role(role: &Subject<'_>) -> Option<Finding> {
    let holds = |rule: &Value, field: &str| items(rule.get(field)).iter().any(|one| one == "*");
    let rules = items(role.get("/rules"));
    let what = |rule: &Value| match (holds(rule, "verbs"), holds(rule, "resources")) {
        (true, true) => Some("may do everything with every kind of a group"),
        (true, false) => Some("may do everything with some kinds, also what later versions add"),
        // Of one group that is not the core group it is a controller's own kinds.
        (false, true)
            if holds(rule, "apiGroups") || items(rule.get("apiGroups")).iter().any(|one| one == "") =>
        {
            Some("reaches every kind of its groups, Secrets among them")
        }
        _ => None,
    };
    let (at, what) = rules.iter().enumerate().find_map(|(at, rule)| Some((at, what(rule)?)))?;
    Some(role.warning(
        "G309",
        &format!("/rules/{at}"),
        format!("{} {what}.", role.shown),
        "Name the kinds and verbs that are needed.",
    ))
}
