//! What can be said of overrides without their objects: their grammar, and whether anybody gets them (G506).

use std::collections::BTreeSet;

use super::apply::{path_of, raw_path};
use super::{MAX_PRIORITY, Override, PatchOp};
use crate::cluster::Cluster;
use crate::finding::Finding;
use crate::id::ClusterId;
use crate::name;
use crate::nearest::nearest;
use crate::placement::ClusterGroup;

/// Checks overrides without knowing any cluster. Paths are relative to the workload's spec.
pub fn check(overrides: &[Override]) -> Vec<Finding> {
    let mut findings = Vec::new();
    let mut names = BTreeSet::new();
    for (at, over) in overrides.iter().enumerate() {
        let place = format!("/overrides/{at}");
        if !names.insert(&over.name) {
            findings.push(
                Finding::error(
                    "G101",
                    format!("Two overrides are called {:?}.", over.name),
                    "Give each override of a workload its own name.",
                )
                .at(format!("{place}/name")),
            );
        }
        findings
            .extend(name::check_label("Override name", &over.name).map(|f| f.at(format!("{place}/name"))));
        findings.extend(
            check_strength(over).into_iter().map(|(field, finding)| finding.at(place.clone() + field)),
        );
        for (n, patch) in over.patches.iter().enumerate() {
            findings
                .extend(check_op(over, &patch.op).map(|finding| finding.at(format!("{place}/patches/{n}"))));
        }
    }
    findings
}

fn check_strength(over: &Override) -> Vec<(&'static str, Finding)> {
    let name = &over.name;
    let mut findings = Vec::new();
    if over.priority > MAX_PRIORITY {
        let message =
            format!("Override {name:?} has the priority {}; the strongest is {MAX_PRIORITY}.", over.priority);
        findings.push(("/priority", Finding::error("G508", message, format!("Use 0 to {MAX_PRIORITY}."))));
    }
    if over.target.is_empty() {
        let message = format!("Override {name:?} is for no cluster.");
        findings.push(("/target", Finding::warning("G506", message, "Name clusters, groups or a selector.")));
    }
    if over.patches.is_empty() {
        let message = format!("Override {name:?} changes nothing: it has no patches.");
        findings
            .push(("/patches", Finding::warning("G509", message, "Add a patch, or remove the override.")));
    }
    findings
}

fn check_op(over: &Override, op: &PatchOp) -> Option<Finding> {
    let name = &over.name;
    match (op, path_of(op)) {
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

/// Checks that every override reaches somebody (G506): `fleet` is every cluster, `chosen` are those that the placement
/// chose. A name that is not in the fleet is a slip, and the nearest name is proposed.
pub fn check_targets(
    overrides: &[Override],
    fleet: &[Cluster],
    chosen: &[ClusterId],
    groups: &[ClusterGroup],
) -> Vec<Finding> {
    let chosen: BTreeSet<ClusterId> = chosen.iter().copied().collect();
    let mut findings = Vec::new();
    for (at, over) in overrides.iter().enumerate().filter(|(_, over)| !over.target.is_empty()) {
        let place = format!("/overrides/{at}/target");
        let of_names = over.target.clusters.iter().filter_map(|name| check_name(over, name, fleet, &chosen));
        findings.extend(of_names.map(|finding| finding.at(format!("{place}/clusters"))));
        let of_groups = over.target.groups.iter().filter_map(|group| check_group(over, group, groups));
        findings.extend(of_groups.map(|finding| finding.at(format!("{place}/groups"))));
        let reached = |cluster: &&Cluster| {
            chosen.contains(&cluster.id) && over.target.specificity(cluster, groups).is_some()
        };
        if over.target.clusters.is_empty() && !fleet.iter().any(|cluster| reached(&cluster)) {
            let message = format!(
                "Override {:?} applies to nothing: it is for none of the chosen clusters.",
                over.name
            );
            let hint = "Check its groups and selector against the placement, or remove it.";
            findings.push(Finding::warning("G506", message, hint).at(place));
        }
    }
    findings
}

fn check_name(
    over: &Override,
    name: &str,
    fleet: &[Cluster],
    chosen: &BTreeSet<ClusterId>,
) -> Option<Finding> {
    match fleet.iter().find(|cluster| cluster.name == name) {
        Some(cluster) if chosen.contains(&cluster.id) => None,
        Some(_) => Some(Finding::warning(
            "G506",
            format!(
                "Override {:?} for {name:?} applies to nothing: the placement does not choose that cluster.",
                over.name
            ),
            format!("Choose {name:?} in the placement, or take it from the override."),
        )),
        None => {
            let near = nearest(name, fleet.iter().map(|cluster| cluster.name.as_str()));
            Some(Finding::warning(
                "G506",
                format!(
                    "Override {:?} for {name:?} applies to nothing: there is no such cluster.",
                    over.name
                ),
                match near {
                    Some(near) => format!("Did you mean {near:?}?"),
                    None => "Take it from the override, or register the cluster.".to_owned(),
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
                "Override {:?} for the group {group:?} applies to nothing: there is no such group.",
                over.name
            ),
            match nearest(group, known()) {
                Some(near) => format!("Did you mean {near:?}?"),
                None => "Make the group, or take it from the override.".to_owned(),
            },
        )
    })
}
