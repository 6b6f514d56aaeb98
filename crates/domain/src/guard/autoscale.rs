//! Autoscalers and disruption budgets against the workloads they are for (G307, G308).

use serde_json::Value;

use super::scene::{Scene, Subject, integer, items, quoted};
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
    let by_cpu = items(scaler.get("/spec/metrics")).iter().any(|metric| {
        metric.pointer("/resource/name") == Some(&"cpu".into())
            && metric.pointer("/resource/target/averageUtilization").is_some()
    });
    let pod = scene.pods.iter().find(|pod| std::ptr::eq(pod.owner, target))?;
    let blind = pod.containers.iter().find(|container| {
        !container.init
            && container.value.pointer("/resources/requests/cpu").is_none()
            && container.value.pointer("/resources/limits/cpu").is_none()
    })?;
    by_cpu.then(|| {
        let message = format!("HPA {name} scales by cpu utilization, but container {} requests no cpu, so there is nothing to compare with.", quoted(blind.name));
        target.warning("G307", &blind.path, message, "Set resources.requests.cpu.")
    })
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
