//! The catalogue of guard rails: every code that a finding of the product can have.
//!
//! A code is emitted if and only if it is declared here: `crates/domain/tests/guard_rails.rs` compares the catalogue with
//! the sources of all crates and with docs/guard-rails.md (`cargo xtask guard-rails` writes that file).

use std::collections::BTreeSet;

use strum::{IntoStaticStr, VariantArray};

use crate::text::finding::{Finding, Severity};

mod identity_and_text;
mod network_and_relations;
mod placement_and_rollout;
mod pods;
mod served_apis;

/// A guard rail: what its code means.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct GuardRail {
    /// Code such as `G214`.
    pub code: &'static str,
    /// What is wrong, in a few words.
    pub title: &'static str,
    /// The severities that its findings can have, worst first, by the scope that emits them.
    pub severities: &'static [(Scope, &'static [Severity])],
    /// What it finds, in one sentence.
    pub finds: &'static str,
    /// How to fix it, in one sentence.
    pub fix: &'static str,
}

impl GuardRail {
    /// The severities that its findings can have in a scope; none if the scope does not emit them.
    pub fn severities_in(&self, scope: Scope) -> &'static [Severity] {
        self.severities.iter().find(|(of, _)| *of == scope).map_or(&[], |(_, severities)| severities)
    }

    /// Whether a publish may be forced although a dry run on a cluster was rejected with this code: the cluster may be
    /// changed before the object is applied, and the other objects are applied in any case. Of the checks of the hub those
    /// that ask for a decision of a person.
    pub fn is_forcible(&self) -> bool {
        self.severities_in(Scope::Agent).contains(&Severity::Error) || FORCIBLE_ON_HUB.contains(&self.code)
    }
}

/// The codes of checks of the hub that hold a publish until a person decides. What they find can be rendered and applied.
const FORCIBLE_ON_HUB: [&str; 2] = ["G125", "G313"];

/// Whether findings of the hub with this code hold a publish only until it is forced.
pub fn is_forcible_on_hub(code: &str) -> bool {
    FORCIBLE_ON_HUB.contains(&code)
}

/// The codes that a publish can force, sorted.
pub fn forcible_codes() -> impl Iterator<Item = &'static str> {
    rails().filter(|rail| rail.is_forcible()).map(|rail| rail.code)
}

/// The codes that a publish with these findings has to force, sorted; `None` if one of them can't be forced.
pub fn codes_to_force(findings: &[Finding]) -> Option<Vec<&str>> {
    let blocking = findings.iter().filter(|finding| finding.is_blocking());
    let codes: BTreeSet<&str> = blocking.map(|finding| finding.code.as_str()).collect();
    let can_force = codes.iter().all(|code| find(code).is_some_and(GuardRail::is_forcible));
    can_force.then(|| codes.into_iter().collect())
}

/// The input that a check needs, which decides where it can run.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, IntoStaticStr, VariantArray)]
#[strum(serialize_all = "camelCase")]
pub enum Scope {
    /// The draft alone.
    Static,
    /// The draft and the published revision.
    Change,
    /// The facts of the selected clusters, the groups, and other workloads.
    Fleet,
    /// The objects rendered for every cluster, in a plan or a publish.
    Publish,
    /// The API server of a cluster, or an image registry.
    Agent,
    /// The input of one operation or form other than a draft.
    Verb,
}

impl Scope {
    /// All scopes, in the order in which the checks of a draft run.
    pub const ALL: &'static [Self] = Self::VARIANTS;

    /// The displayed name.
    pub fn as_str(self) -> &'static str {
        self.into()
    }

    /// What the checks read and where they run.
    pub const fn description(self) -> &'static str {
        match self {
            Self::Static => {
                "The draft alone: in the console while the text is edited, in `flotilla validate`, and on the hub."
            }
            Self::Change => "The draft compared with the published revision.",
            Self::Fleet => {
                "The reported facts of the selected clusters, the groups, and the other workloads."
            }
            Self::Publish => {
                "The objects rendered for every cluster, and the confirmation of a plan or a publish."
            }
            Self::Agent => {
                "The dry run of the agent on the API server of its cluster, and image registries; a publish can force its errors by their codes."
            }
            Self::Verb => "The input of one operation or form that is not about a draft.",
        }
    }
}

/// The guard rails whose codes have the same hundreds digit.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct GuardRailFamily {
    /// Prefix of the codes, such as `G1`.
    pub prefix: &'static str,
    /// The subject.
    pub title: &'static str,
    /// The guard rails, sorted by code.
    pub rails: &'static [GuardRail],
}

/// All guard rails, sorted by code.
pub const FAMILIES: &[GuardRailFamily] = &[
    GuardRailFamily { prefix: "G1", title: "Identity and text", rails: identity_and_text::RAILS },
    GuardRailFamily { prefix: "G2", title: "Pods", rails: pods::RAILS },
    GuardRailFamily { prefix: "G3", title: "Network and relations", rails: network_and_relations::RAILS },
    GuardRailFamily { prefix: "G4", title: "API and cluster", rails: served_apis::RAILS },
    GuardRailFamily {
        prefix: "G5",
        title: "Placement, rollout and publish",
        rails: placement_and_rollout::RAILS,
    },
];

/// Iterates over all guard rails, sorted by code.
pub fn rails() -> impl Iterator<Item = &'static GuardRail> {
    FAMILIES.iter().flat_map(|family| family.rails)
}

/// The guard rail with this code.
pub fn find(code: &str) -> Option<&'static GuardRail> {
    rails().find(|rail| rail.code == code)
}

/// The code itself, if it is declared; otherwise the build fails, because the tables of rules are constants.
pub(super) const fn declared(code: &'static str) -> &'static str {
    let mut family = 0;
    while family < FAMILIES.len() {
        let rails = FAMILIES[family].rails;
        let mut at = 0;
        while at < rails.len() {
            if is_same(rails[at].code, code) {
                return code;
            }
            at += 1;
        }
        family += 1;
    }
    panic!("the catalogue does not declare this code")
}

/// Compares texts in constants, where `==` is not available.
const fn is_same(a: &str, b: &str) -> bool {
    let (a, b) = (a.as_bytes(), b.as_bytes());
    let mut at = 0;
    while at < a.len() && at < b.len() && a[at] == b[at] {
        at += 1;
    }
    at == a.len() && at == b.len()
}

/// The first finding that the catalogue does not declare: an unknown code, or another severity or scope.
pub(super) fn find_undeclared(findings: &[Finding], scope: Scope) -> Option<&Finding> {
    findings.iter().find(|finding| {
        let declared = find(&finding.code).map(|rail| rail.severities_in(scope));
        !declared.is_some_and(|severities| severities.contains(&finding.severity))
    })
}

/// The first finding of a rule that is not declared, or has another code than the rule.
pub(super) fn find_foreign<'a>(code: &str, findings: &'a [Finding], scope: Scope) -> Option<&'a Finding> {
    findings.iter().find(|finding| finding.code != code).or_else(|| find_undeclared(findings, scope))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn codes_are_unique_sorted_and_in_the_family_of_their_prefix() {
        let codes: Vec<&str> = rails().map(|rail| rail.code).collect();
        assert!(codes.is_sorted_by(|a, b| a < b), "{codes:?}");
        for family in FAMILIES {
            for rail in family.rails {
                let number = rail.code.strip_prefix(family.prefix).unwrap_or_else(|| panic!("{rail:?}"));
                assert!(number.len() == 2 && number.bytes().all(|byte| byte.is_ascii_digit()), "{rail:?}");
            }
        }
    }

    #[test]
    fn b16_only_codes_of_dry_runs_and_decisions_can_be_forced_and_only_if_nothing_else_blocks() {
        let immutable = Finding::error("G406", "m", "h");
        let denied = Finding::error("G410", "m", "h");
        let unconfirmed = Finding::error("G505", "m", "h");
        let noted = Finding::warning("G202", "m", "h");
        assert_eq!(codes_to_force(&[denied, noted.clone(), immutable.clone()]), Some(vec!["G406", "G410"]));
        assert_eq!(codes_to_force(&[immutable, unconfirmed]), None);
        assert_eq!(codes_to_force(&[noted]), Some(Vec::new()));
        let all: Vec<&str> = forcible_codes().collect();
        assert_eq!(all, ["G108", "G125", "G313", "G401", "G403", "G404", "G406", "G407", "G409", "G410"]);
    }

    #[test]
    fn every_entry_is_complete() {
        for rail in rails() {
            assert!(!rail.title.is_empty() && !rail.title.ends_with('.'), "{rail:?}");
            assert!(rail.finds.ends_with('.') && rail.fix.ends_with('.'), "{rail:?}");
            assert!(
                !rail.severities.is_empty() && rail.severities.is_sorted_by_key(|(scope, _)| scope),
                "{rail:?}"
            );
            for (_, severities) in rail.severities {
                assert!(!severities.is_empty() && severities.is_sorted_by(|a, b| a > b), "{rail:?}");
            }
        }
    }

    #[test]
    fn a_finding_with_another_code_severity_or_scope_is_undeclared() {
        let findings = [Finding::warning("G202", "m", "h")];
        assert_eq!(find_foreign(declared("G202"), &findings, Scope::Static), None);
        assert_eq!(find_foreign("G201", &findings, Scope::Static), findings.first());
        assert_eq!(find_undeclared(&findings, Scope::Agent), findings.first());
        let too_severe = [Finding::error("G202", "m", "h")];
        assert_eq!(find_undeclared(&too_severe, Scope::Static), too_severe.first());
        let unknown = [Finding::error("Changed", "m", "h")];
        assert_eq!(find_undeclared(&unknown, Scope::Static), unknown.first());
    }
}
