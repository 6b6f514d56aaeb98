//! Autoscalers and disruption budgets, and the objects that they target (G307, G308).

use std::collections::HashMap;

use serde_json::Value;

use super::rule_context::{PodTemplate, RuleContext, RuleObject, integer, items, quote};
use super::selector;
use crate::text::finding::Finding;

/// G307: the bounds and the target of an autoscaler.
pub(super) fn autoscalers(context: &RuleContext<'_>) -> Vec<Finding> {
    context
        .objects_of_kind("autoscaling", "HorizontalPodAutoscaler")
        .flat_map(|scaler| check_autoscaler(context, scaler))
        .collect()
}

fn check_autoscaler<'a>(context: &RuleContext<'a>, scaler: &'a RuleObject<'a>) -> Vec<Finding> {
    let name = quote(&scaler.name.name);
    let least = integer(scaler.get("/spec/minReplicas")).unwrap_or(1);
    let mut findings = Vec::new();
    match integer(scaler.get("/spec/maxReplicas")) {
        None => findings.push(scaler.error(
            "G307",
            "/spec",
            format!("HPA {name} has no maxReplicas; Kubernetes rejects it."),
            "Add maxReplicas.",
        )),
        Some(most) if least > most => findings.push(scaler.error(
            "G307",
            "/spec/minReplicas",
            format!("HPA {name}: minReplicas {least} is more than maxReplicas {most}."),
            "Raise maxReplicas or lower minReplicas.",
        )),
        Some(most) if least < 0 || most < 1 => findings.push(scaler.error(
            "G307",
            "/spec/maxReplicas",
            format!("HPA {name}: replicas must be at least 1."),
            "Set minReplicas and maxReplicas to 1 or more.",
        )),
        Some(_) if least == 0 => findings.push(scaler.warning(
            "G307",
            "/spec/minReplicas",
            format!(
                "HPA {name} may scale to 0, which only clusters with the feature gate HPAScaleToZero accept."
            ),
            "Set minReplicas to 1, unless these clusters have that feature gate.",
        )),
        Some(_) => {}
    }
    findings.extend(check_target(context, scaler));
    findings
}

fn check_target<'a>(context: &RuleContext<'a>, scaler: &'a RuleObject<'a>) -> Option<Finding> {
    let at = "/spec/scaleTargetRef";
    let (kind, target_name) =
        (scaler.text("/spec/scaleTargetRef/kind"), scaler.text("/spec/scaleTargetRef/name"));
    let name = quote(&scaler.name.name);
    let Some(target) = context.find_in_namespace(scaler, kind, target_name) else {
        let message =
            format!("HPA {name} scales {kind} {}, which is not among these objects.", quote(target_name));
        return Some(scaler.warning(
            "G307",
            at,
            message,
            "Correct the name, or ignore this if it belongs to another workload.",
        ));
    };
    if target.get("/spec/replicas").is_some() {
        let message = format!(
            "{} sets replicas, and HPA {name} changes them: every apply would undo the scaling.",
            target.display_name
        );
        return Some(target.warning(
            "G307",
            "/spec/replicas",
            message,
            "Leave replicas out of the manifest.",
        ));
    }
    utilization_without_request(context, scaler, target)
}

/// G307: utilization is usage divided by request; without a request it can't be calculated.
fn utilization_without_request<'a>(
    context: &RuleContext<'a>,
    scaler: &'a RuleObject<'a>,
    target: &'a RuleObject<'a>,
) -> Option<Finding> {
    let is_used = |resource: &str| {
        let old = resource == "cpu" && scaler.get("/spec/targetCPUUtilizationPercentage").is_some();
        let resource = Value::from(resource);
        old || items(scaler.get("/spec/metrics")).iter().any(|metric| {
            metric.pointer("/resource/name") == Some(&resource)
                && metric.pointer("/resource/target/averageUtilization").is_some()
        })
    };
    let pod = context.pods.iter().find(|pod| std::ptr::eq(pod.owner, target))?;
    let resource = ["cpu", "memory"].into_iter().find(|resource| is_used(resource))?;
    let without_request = pod.containers.iter().find(|container| {
        let resources = &container.value["resources"];
        let is_unset = |list: &str| resources[list][resource].is_null();
        !container.is_init && is_unset("requests") && is_unset("limits")
    })?;
    let message = format!(
        "HPA {} scales by {resource} utilization, but container {} requests no {resource}, so utilization can't be calculated.",
        quote(&scaler.name.name),
        quote(without_request.name)
    );
    let hint = format!("Set resources.requests.{resource}.");
    Some(target.warning("G307", &without_request.path, message, &hint))
}

/// G307: the target of an autoscaler can be scaled and has no other autoscaler.
pub(super) fn targets(context: &RuleContext<'_>) -> Vec<Finding> {
    let at = "/spec/scaleTargetRef";
    let mut first: HashMap<(&str, &str, &str), &RuleObject<'_>> = HashMap::new();
    let mut findings = Vec::new();
    for scaler in context.objects_of_kind("autoscaling", "HorizontalPodAutoscaler") {
        let (kind, name) =
            (scaler.text("/spec/scaleTargetRef/kind"), scaler.text("/spec/scaleTargetRef/name"));
        let target = (scaler.name.namespace.as_str(), kind, name);
        let message = if matches!(kind, "DaemonSet" | "Job" | "CronJob" | "Pod") {
            format!("{} scales a {kind}, which can't be scaled.", scaler.display_name)
        } else if let Some(first) = first.insert(target, scaler) {
            format!(
                "{} and {} both scale {kind} {}: they undo each other's changes.",
                first.display_name,
                scaler.display_name,
                quote(name)
            )
        } else {
            continue;
        };
        let hint = "Name a Deployment or StatefulSet that no other autoscaler scales.";
        findings.push(scaler.warning("G307", at, message, hint));
    }
    findings
}

/// G308: a budget that allows no eviction, has contradictory fields or selects the wrong pods.
pub(super) fn disruption_budgets(context: &RuleContext<'_>) -> Vec<Finding> {
    context
        .objects_of_kind("policy", "PodDisruptionBudget")
        .filter_map(|budget| check_disruption_budget(context, budget))
        .collect()
}

fn check_disruption_budget<'a>(context: &RuleContext<'a>, budget: &'a RuleObject<'a>) -> Option<Finding> {
    let name = quote(&budget.name.name);
    let least = budget.get("/spec/minAvailable");
    let most = budget.get("/spec/maxUnavailable");
    if least.is_some() && most.is_some() {
        let message = format!("PDB {name} sets both minAvailable and maxUnavailable; Kubernetes rejects it.");
        return Some(budget.error("G308", "/spec/minAvailable", message, "Keep one of them."));
    }
    let hint = "Allow at least one eviction, such as \"maxUnavailable: 1\".";
    if most.is_some_and(|most| *most == 0 || *most == "0%" || *most == "0") {
        let message = format!("PDB {name} allows no eviction: node drains and cluster upgrades will hang.");
        return Some(budget.warning("G308", "/spec/maxUnavailable", message, hint));
    }
    if let Some((path, message, hint)) = invalid_selector(context, budget) {
        return Some(budget.warning("G308", path, message, hint));
    }
    let least = least?;
    let replicas = selected_replicas(context, budget)?;
    let all = *least == "100%" || least.as_i64().is_some_and(|least| least >= replicas && replicas > 0);
    all.then(|| {
        let message = format!(
            "PDB {name} requires {} of {replicas} pods: node drains and cluster upgrades will hang.",
            format_value(least)
        );
        budget.warning("G308", "/spec/minAvailable", message, hint)
    })
}

/// A budget that selects no pod of this workload, or every pod of its namespace.
fn invalid_selector<'a>(
    context: &RuleContext<'a>,
    budget: &'a RuleObject<'a>,
) -> Option<(&'static str, String, &'static str)> {
    let path = "/spec/selector";
    let selector = selector::parse_selector(budget.get(path)).unwrap_or_default();
    let name = quote(&budget.name.name);
    if selector.is_empty() && budget.get(path).is_some() && budget.name.version == "v1" {
        let message = format!(
            "PDB {name} has an empty selector: it selects every pod of the namespace, including pods of other workloads."
        );
        return Some((path, message, "Select the pods of one workload."));
    }
    let matches = |pod: &&PodTemplate<'a>| selector.matches(&selector::pod_labels(pod));
    let same_namespace = |pod: &&PodTemplate<'a>| pod.owner.name.namespace == budget.name.namespace;
    let selected = match budget.get("/spec/selector/matchLabels") {
        Some(labels) => context.select_pods(budget, labels).iter().any(matches),
        None => context.pods.iter().filter(same_namespace).any(|pod| matches(&pod)),
    };
    (selector.is_empty() || !selected).then(|| {
        let message = format!("PDB {name} selects no pod of this workload, so it protects nothing here.");
        (path, message, "Use the labels of the pod template that it is for.")
    })
}

/// Total replicas of the objects whose pods the budget selects; `None` if it selects none.
fn selected_replicas<'a>(context: &RuleContext<'a>, budget: &'a RuleObject<'a>) -> Option<i64> {
    let selector = budget.get("/spec/selector")?;
    let labels = selector.get("matchLabels")?;
    let pods = context.select_pods(budget, labels);
    let only_labels = selector::parse_selector(Some(selector))?.terms.len()
        == labels.as_object().map_or(0, serde_json::Map::len);
    if pods.is_empty() || !only_labels {
        return None;
    }
    Some(pods.iter().map(|pod| integer(pod.owner.get("/spec/replicas")).unwrap_or(1)).sum())
}

fn format_value(value: &Value) -> String {
    value.as_str().map_or_else(|| value.to_string(), |text| text.chars().take(20).collect())
}
