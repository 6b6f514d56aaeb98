//! Autoscalers and disruption budgets against the workloads they are for (G307, G308).

use std::collections::HashMap;

use serde_json::Value;

use super::scene::{Pod, Scene, Subject, integer, items, quoted};
use super::selector;
use crate::finding::Finding;

/// G307: the bounds of an autoscaler, and what it scales.
pub(super) fn autoscalers(scene: &Scene<'_>) -> Vec<Finding> {
    scene.of("autoscaling", "HorizontalPodAutoscaler").flat_map(|scaler| autoscaler(scene, scaler)).collect()
}

fn autoscaler<'a>(scene: &Scene<'a>, scaler: &'a Subject<'a>) -> Vec<Finding> {
    let name = quoted(&scaler.name.name);
    let least = integer(scaler.get("/spec/minReplicas")).unwrap_or(1);
    let mut findings = Vec::new();
    match integer(scaler.get("/spec/maxReplicas")) {
        None => findings.push(scaler.error(
            "G307",
            "/spec",
            format!("HPA {name} has no maxReplicas; Kubernetes refuses it."),
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
            format!("HPA {name} may scale to none, which only clusters with HPAScaleToZero take."),
            "Set minReplicas to 1, unless these clusters have it.",
        )),
        Some(_) => {}
    }
    findings.extend(scaled(scene, scaler));
    findings
}

fn scaled<'a>(scene: &Scene<'a>, scaler: &'a Subject<'a>) -> Option<Finding> {
    let at = "/spec/scaleTargetRef";
    let (kind, wanted) = (scaler.text("/spec/scaleTargetRef/kind"), scaler.text("/spec/scaleTargetRef/name"));
    let name = quoted(&scaler.name.name);
    let Some(target) = scene.beside(scaler, kind, wanted) else {
        let message =
            format!("HPA {name} scales {kind} {}, which is not among these objects.", quoted(wanted));
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
            target.shown
        );
        return Some(target.warning(
            "G307",
            "/spec/replicas",
            message,
            "Leave replicas out of the manifest.",
        ));
    }
    blind(scene, scaler, target)
}

/// G307: utilization is what is used of what was requested; without a request there is nothing to compare with.
fn blind<'a>(scene: &Scene<'a>, scaler: &'a Subject<'a>, target: &'a Subject<'a>) -> Option<Finding> {
    let by = |resource: &str| {
        let old = resource == "cpu" && scaler.get("/spec/targetCPUUtilizationPercentage").is_some();
        let resource = Value::from(resource);
        old || items(scaler.get("/spec/metrics")).iter().any(|metric| {
            metric.pointer("/resource/name") == Some(&resource)
                && metric.pointer("/resource/target/averageUtilization").is_some()
        })
    };
    let pod = scene.pods.iter().find(|pod| std::ptr::eq(pod.owner, target))?;
    let resource = ["cpu", "memory"].into_iter().find(|resource| by(resource))?;
    let blind = pod.containers.iter().find(|container| {
        let resources = &container.value["resources"];
        let none = |list: &str| resources[list][resource].is_null();
        !container.init && none("requests") && none("limits")
    })?;
    let message = format!(
        "HPA {} scales by {resource} utilization, but container {} requests no {resource}, so there is nothing to compare with.",
        quoted(&scaler.name.name),
        quoted(blind.name)
    );
    let hint = format!("Set resources.requests.{resource}.");
    Some(target.warning("G307", &blind.path, message, &hint))
}

/// G307: what is scaled by one autoscaler alone, and can be scaled.
pub(super) fn scaled_once(scene: &Scene<'_>) -> Vec<Finding> {
    let at = "/spec/scaleTargetRef";
    let mut first: HashMap<(&str, &str, &str), &Subject<'_>> = HashMap::new();
    let mut findings = Vec::new();
    for scaler in scene.of("autoscaling", "HorizontalPodAutoscaler") {
        let (kind, name) =
            (scaler.text("/spec/scaleTargetRef/kind"), scaler.text("/spec/scaleTargetRef/name"));
        let target = (scaler.name.namespace.as_str(), kind, name);
        let message = if matches!(kind, "DaemonSet" | "Job" | "CronJob" | "Pod") {
            format!("{} scales a {kind}, and that can't be scaled.", scaler.shown)
        } else if let Some(first) = first.insert(target, scaler) {
            format!(
                "{} and {} both scale {kind} {}: they undo each other.",
                first.shown,
                scaler.shown,
                quoted(name)
            )
        } else {
            continue;
        };
        let hint = "Name a Deployment or StatefulSet that no other autoscaler scales.";
        findings.push(scaler.warning("G307", at, message, hint));
    }
    findings
}

/// G308: a budget that lets no pod go, or contradicts itself.
pub(super) fn disruption_budgets(scene: &Scene<'_>) -> Vec<Finding> {
    scene.of("policy", "PodDisruptionBudget").filter_map(|budget| disruption_budget(scene, budget)).collect()
}

fn disruption_budget<'a>(scene: &Scene<'a>, budget: &'a Subject<'a>) -> Option<Finding> {
    let name = quoted(&budget.name.name);
    let least = budget.get("/spec/minAvailable");
    let most = budget.get("/spec/maxUnavailable");
    if least.is_some() && most.is_some() {
        let message = format!("PDB {name} sets both minAvailable and maxUnavailable; Kubernetes refuses it.");
        return Some(budget.error("G308", "/spec/minAvailable", message, "Keep one of them."));
    }
    let hint = "Let at least one pod go, such as \"maxUnavailable: 1\".";
    if most.is_some_and(|most| *most == 0 || *most == "0%" || *most == "0") {
        let message = format!("PDB {name} lets no pod go: node drains and cluster upgrades will hang.");
        return Some(budget.warning("G308", "/spec/maxUnavailable", message, hint));
    }
    if let Some((path, message, hint)) = for_nobody(scene, budget) {
        return Some(budget.warning("G308", path, message, hint));
    }
    let kept = least?;
    let replicas = replicas(scene, budget)?;
    let all = *kept == "100%" || kept.as_i64().is_some_and(|kept| kept >= replicas && replicas > 0);
    all.then(|| {
        let message = format!(
            "PDB {name} keeps {} of {replicas} pods: node drains and cluster upgrades will hang.",
            plain(kept)
        );
        budget.warning("G308", "/spec/minAvailable", message, hint)
    })
}

/// A budget that is for no pod of this workload, or for every pod of its namespace.
fn for_nobody<'a>(
    scene: &Scene<'a>,
    budget: &'a Subject<'a>,
) -> Option<(&'static str, String, &'static str)> {
    let path = "/spec/selector";
    let wanted = selector::selector(budget.get(path)).unwrap_or_default();
    let name = quoted(&budget.name.name);
    if wanted.is_empty() && budget.get(path).is_some() && budget.name.version == "v1" {
        let message = format!(
            "PDB {name} has an empty selector: it counts every pod of the namespace, whosever it is."
        );
        return Some((path, message, "Select the pods of one workload."));
    }
    let carry = |pod: &&Pod<'a>| wanted.matches(&selector::labels(pod));
    let here = |pod: &&Pod<'a>| pod.owner.name.namespace == budget.name.namespace;
    let selected = match budget.get("/spec/selector/matchLabels") {
        Some(labels) => scene.selected(budget, labels).iter().any(carry),
        None => scene.pods.iter().filter(here).any(|pod| carry(&pod)),
    };
    (wanted.is_empty() || !selected).then(|| {
        let message = format!("PDB {name} selects no pod of this workload, so it protects nothing here.");
        (path, message, "Give it the labels of the pod template that it is for.")
    })
}

/// How many replicas the workloads ask for that the budget is for; `None` when it is for none of them.
fn replicas<'a>(scene: &Scene<'a>, budget: &'a Subject<'a>) -> Option<i64> {
    let wanted = budget.get("/spec/selector")?;
    let labels = wanted.get("matchLabels")?;
    let pods = scene.selected(budget, labels);
    let only_labels =
        selector::selector(Some(wanted))?.terms.len() == labels.as_object().map_or(0, serde_json::Map::len);
    if pods.is_empty() || !only_labels {
        return None;
    }
    Some(pods.iter().map(|pod| integer(pod.owner.get("/spec/replicas")).unwrap_or(1)).sum())
}

fn plain(value: &Value) -> String {
    value.as_str().map_or_else(|| value.to_string(), |text| text.chars().take(20).collect())
}
