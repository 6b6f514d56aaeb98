//! Owners of workloads and clusters: who is notified of their incidents (S0-13).

use std::collections::BTreeSet;

use crate::text::finding::Finding;
use crate::text::name_check::INVALID_NAME;

/// Most owners of a workload or a cluster.
pub const MAX_OWNERS: usize = 20;
/// Longest owner, in characters.
pub const MAX_OWNER_LENGTH: usize = 120;

/// The owners as they are stored: without spaces around them, empty ones and repetitions; `creator` if none is left, so that no
/// workload is without an owner.
pub fn normalize_owners(owners: &[String], creator: &str) -> Vec<String> {
    let mut unique = unique_owners(owners);
    if unique.is_empty() {
        unique.push(creator.to_owned());
    }
    unique
}

/// The owners of a cluster as they are stored: without spaces around them, empty ones and repetitions. It may have none.
pub fn unique_owners(owners: &[String]) -> Vec<String> {
    let mut seen = BTreeSet::new();
    let named = owners.iter().map(|owner| owner.trim()).filter(|owner| !owner.is_empty());
    named.filter(|owner| seen.insert(*owner)).map(str::to_owned).collect()
}

/// G101: the owners are too many, too long, or contain characters that lists of owners use.
pub fn check_owners(owners: &[String]) -> Vec<Finding> {
    let mut findings = Vec::new();
    if owners.len() > MAX_OWNERS {
        let message = format!("{} owners are named; at most {MAX_OWNERS} are possible.", owners.len());
        let hint = "Name a team in place of its members.";
        findings.push(Finding::error(INVALID_NAME, message, hint).with_path("/owners"));
    }
    for owner in owners.iter().take(MAX_OWNERS) {
        let is_invalid = |c: char| c.is_control() || matches!(c, ',' | ';');
        if owner.chars().count() > MAX_OWNER_LENGTH || owner.contains(is_invalid) {
            let shown: String = owner.chars().take(80).collect();
            let message = format!("{shown:?} is no owner.");
            let hint = format!(
                "Write the name of a user or a team, or an e-mail address, with at most {MAX_OWNER_LENGTH} characters and \
                 without commas."
            );
            findings.push(Finding::error(INVALID_NAME, message, hint).with_path("/owners"));
        }
    }
    findings
}

#[cfg(test)]
mod tests {
    use super::*;

    fn owners(names: &[&str]) -> Vec<String> {
        names.iter().map(|name| (*name).to_owned()).collect()
    }

    #[test]
    fn s0_13_a_workload_without_owners_is_owned_by_its_creator() {
        assert_eq!(normalize_owners(&[], "ana"), ["ana"]);
        assert_eq!(normalize_owners(&owners(&[" ", ""]), "ana"), ["ana"]);
        let several = owners(&[" team-shop ", "ops@example.com", "team-shop"]);
        assert_eq!(normalize_owners(&several, "ana"), ["team-shop", "ops@example.com"]);
        assert_eq!(unique_owners(&owners(&[" ", "ops", "ops "])), ["ops"], "a cluster may have none");
    }

    #[test]
    fn owners_are_bounded() {
        assert!(check_owners(&owners(&["Team Shop", "ops@example.com"])).is_empty());
        assert_eq!(check_owners(&owners(&["a,b", "a\nb"])).len(), 2);
        assert_eq!(check_owners(&["x".repeat(MAX_OWNER_LENGTH + 1)]).len(), 1);
        assert_eq!(check_owners(&vec!["x".to_owned(); MAX_OWNERS + 1]).len(), 1);
    }
}
