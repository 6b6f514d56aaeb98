//! Checks of overrides that need no objects: their fields, and whether they apply to any cluster (G506).

use std::collections::BTreeSet;

use super::apply::{parse_path, raw_path};
use super::limits::check_limits;
use super::{ClusterSelector, MAX_PRIORITY, Override, PatchOp};
use crate::kubernetes::id::ClusterId;
use crate::kubernetes::nearest::find_nearest;
use crate::model::chart::check_values;
use crate::model::cluster::Cluster;
use crate::model::placement::ClusterGroup;
use crate::text::finding::Finding;
use crate::text::name_check;

/// Checks the overrides themselves, without clusters. Paths are relative to the workload's spec.
pub fn check(overrides: &[Override]) -> Vec<Finding> {
    let mut findings = check_limits(overrides);
    if !findings.is_empty() {
        // There may be any number of overrides.
        return findings;
    }
    let mut names = BTreeSet::new();
    for (at, over) in overrides.iter().enumerate() {
        let path = format!("/overrides/{at}");
        if !names.insert(&over.name) {
            findings.push(
                Finding::error(
                    name_check::INVALID_NAME,
                    format!("Two overrides are named {:?}.", over.name),
                    "Use a unique name for each override of a workload.",
                )
                .with_path(format!("{path}/name")),
            );
        }
        findings.extend(
            name_check::check_label("Override name", &over.name).map(|f| f.with_path(format!("{path}/name"))),
        );
        findings.extend(
            check_fields(over).into_iter().map(|(field, finding)| finding.with_path(path.clone() + field)),
        );
        for (n, patch) in over.patches.iter().enumerate() {
            findings.extend(
                check_op(over, &patch.op).map(|finding| finding.with_path(format!("{path}/patches/{n}"))),
            );
        }
    }
    findings
}

fn check_fields(over: &Override) -> Vec<(&'static str, Finding)> {
    let name = &over.name;
    let mut findings = Vec::new();
    if over.priority > MAX_PRIORITY {
        let message =
            format!("Override {name:?} has the priority {}; the highest is {MAX_PRIORITY}.", over.priority);
        findings.push(("/priority", Finding::error("G508", message, format!("Use 0 to {MAX_PRIORITY}."))));
    }
    if over.target.is_empty() {
        let message = format!("Override {name:?} selects no cluster.");
        findings
            .push(("/target", Finding::warning("G506", message, "Add clusters, groups, labels or facts.")));
    }
    if over.target.field_selector.is_contradictory() {
        let message = format!(
            "The facts of override {name:?} ({}) match no cluster: their terms contradict each other.",
            over.target.field_selector
        );
        let hint = "All terms must match together; write fact in (a,b) to match one of several values.";
        findings.push(("/target/fieldSelector", Finding::warning("G506", message, hint)));
    }
    let values = check_values(&format!("The values of override {name:?}"), &over.values);
    findings.extend(values.map(|finding| ("/values", finding)));
    if over.patches.is_empty() && over.values.trim().is_empty() {
        let message = format!("Override {name:?} changes nothing: it has neither patches nor values.");
        findings
            .push(("/patches", Finding::warning("G509", message, "Add a patch, or remove the override.")));
    }
    findings
}

fn check_op(over: &Override, op: &PatchOp) -> Option<Finding> {
    let name = &over.name;
    match (op, parse_path(op)) {
        (_, Err(bad)) => Some(Finding::error(
            "G507",
            format!("Override {name:?}: {bad}."),
            "Write a path such as /spec/template/spec/containers[name=web]/image.",
        )),
        (PatchOp::Merge { value }, _) if !value.is_object() => Some(Finding::error(
            "G507",
            format!("Override {name:?}: only a map can be merged into an object."),
            "Write the fields to merge as a map.",
        )),
        (PatchOp::Set { .. } | PatchOp::Remove { .. }, Ok(_)) if raw_path(op).is_empty() => {
            Some(Finding::error(
                "G507",
                format!("Override {name:?} has a patch without a path."),
                "Name the field to change, such as /spec/replicas.",
            ))
        }
        _ => None,
    }
}

/// Checks that every override applies to a cluster (G506): `fleet` is every cluster, `selected` are those that the
/// placement selects. For a name that is not in the fleet, the nearest name is proposed.
pub fn check_targets(
    overrides: &[Override],
    fleet: &[Cluster],
    selected: &[ClusterId],
    groups: &[ClusterGroup],
) -> Vec<Finding> {
    let selected: BTreeSet<ClusterId> = selected.iter().copied().collect();
    let mut findings = Vec::new();
    for (at, over) in overrides.iter().enumerate().filter(|(_, over)| !over.target.is_empty()) {
        let path = format!("/overrides/{at}/target");
        let of_names =
            over.target.clusters.iter().filter_map(|name| check_name(over, name, fleet, &selected));
        findings.extend(of_names.map(|finding| finding.with_path(format!("{path}/clusters"))));
        let of_groups = over.target.groups.iter().filter_map(|group| check_group(over, group, groups));
        findings.extend(of_groups.map(|finding| finding.with_path(format!("{path}/groups"))));
        let applies = |cluster: &&Cluster| {
            selected.contains(&cluster.id) && over.target.specificity(cluster, groups).is_some()
        };
        if over.target.clusters.is_empty() && !fleet.iter().any(|cluster| applies(&cluster)) {
            let message =
                format!("Override {:?} has no effect: it matches none of the selected clusters.", over.name);
            let hint = "Check its groups, labels and confirmed facts against the placement, or remove it.";
            findings.push(Finding::warning("G506", message, hint).with_path(path));
        } else {
            let of_selector = check_selector(over, fleet);
            findings.extend(of_selector.map(|finding| finding.with_path(format!("{path}/selector"))));
        }
    }
    findings
}

/// A target by names may have labels or facts too: those that no cluster has select nothing.
fn check_selector(over: &Override, fleet: &[Cluster]) -> Option<Finding> {
    let target = &over.target;
    let selector = ClusterSelector { clusters: Vec::new(), groups: Vec::new(), ..target.clone() };
    let has_match = || fleet.iter().any(|cluster| selector.specificity(cluster, &[]).is_some());
    // Contradictory facts have a finding of their own.
    if !selector.has_selector() || target.field_selector.is_contradictory() || has_match() {
        return None;
    }
    let message =
        format!("Override {:?} for {selector} has no effect there: no cluster has them.", over.name);
    Some(Finding::warning("G506", message, "Correct the labels or facts, or remove them from the override."))
}

fn check_name(
    over: &Override,
    name: &str,
    fleet: &[Cluster],
    selected: &BTreeSet<ClusterId>,
) -> Option<Finding> {
    match fleet.iter().find(|cluster| cluster.name == name) {
        Some(cluster) if selected.contains(&cluster.id) => None,
        Some(_) => Some(Finding::warning(
            "G506",
            format!(
                "Override {:?} for {name:?} has no effect: the placement does not select that cluster.",
                over.name
            ),
            format!("Select {name:?} in the placement, or remove it from the override."),
        )),
        None => {
            let near = find_nearest(name, fleet.iter().map(|cluster| cluster.name.as_str()));
            Some(Finding::warning(
                "G506",
                format!("Override {:?} for {name:?} has no effect: there is no such cluster.", over.name),
                match near {
                    Some(near) => format!("Did you mean {near:?}?"),
                    None => "Remove it from the override, or register the cluster.".to_owned(),
                },
            ))
        }
    }
}

fn check_group(over: &Override, group: &str, groups: &[ClusterGroup]) -> Option<Finding> {
    let known = || groups.iter().map(|known| known.name.as_str());
    (!known().any(|known| known == group)).then(|| {
        Finding::warning(
            "G506",
            format!(
                "Override {:?} for the group {group:?} has no effect: there is no such group.",
                over.name
            ),
            match find_nearest(group, known()) {
                Some(near) => format!("Did you mean {near:?}?"),
                None => "Create the group, or remove it from the override.".to_owned(),
            },
        )
    })
}
