//! The steps and their order.

use domain::Finding;
use serde::{Deserialize, Serialize};

use crate::paths;

/// A step of the wizard.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub enum WizardStep {
    /// Containers and files.
    Source,
    /// The placement.
    Placement,
    /// Differences per cluster.
    Overrides,
    /// The waves of a publish.
    Rollout,
    /// The policies.
    Policies,
    /// The review and the publish.
    Review,
}

impl WizardStep {
    /// All of them, in order.
    pub const ALL: [Self; 6] =
        [Self::Source, Self::Placement, Self::Overrides, Self::Rollout, Self::Policies, Self::Review];

    /// The URL segment.
    pub const fn slug(self) -> &'static str {
        match self {
            Self::Source => "source",
            Self::Placement => "placement",
            Self::Overrides => "overrides",
            Self::Rollout => "rollout",
            Self::Policies => "policies",
            Self::Review => "review",
        }
    }

    /// The label.
    pub const fn label(self) -> &'static str {
        match self {
            Self::Source => "Source",
            Self::Placement => "Placement",
            Self::Overrides => "Overrides",
            Self::Rollout => "Rollout",
            Self::Policies => "Policies",
            Self::Review => "Review",
        }
    }

    /// A short description.
    pub const fn description(self) -> &'static str {
        match self {
            Self::Source => "What runs, as a form or as YAML",
            Self::Placement => "On which clusters",
            Self::Overrides => "What differs on some clusters",
            Self::Rollout => "In which waves",
            Self::Policies => "Drift, conflicts, pruning, deletion",
            Self::Review => "What publishing would do",
        }
    }

    /// Its number, from 1.
    pub const fn number(self) -> usize {
        self as usize + 1
    }

    /// Its URL path for a workload.
    pub fn path(self, name: &str) -> String {
        match self {
            Self::Review => paths::publish(name),
            step => paths::edit(name, step.slug()),
        }
    }

    /// The previous step.
    pub fn previous(self) -> Option<Self> {
        Self::ALL.get((self as usize).checked_sub(1)?).copied()
    }

    /// The next step.
    pub fn next(self) -> Option<Self> {
        Self::ALL.get(self as usize + 1).copied()
    }

    /// Parses a URL segment.
    pub fn from_slug(slug: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|step| step.slug() == slug)
    }

    /// The URL path that a button with this value of `then` leads to; `None` to stay.
    pub fn target_path(self, name: &str, then: &str) -> Option<String> {
        match then {
            "back" => Some(self.previous().map_or_else(|| paths::workload(name), |step| step.path(name))),
            "next" => self.next().map(|step| step.path(name)),
            "leave" => Some(paths::workload(name)),
            slug => Self::from_slug(slug).map(|step| step.path(name)),
        }
    }

    /// Parses name and step from a URL path of the console.
    pub fn from_path(path: &str) -> Option<(String, Self)> {
        let parts: Vec<&str> = path.split('/').filter(|part| !part.is_empty()).collect();
        match parts.as_slice() {
            ["workloads", name, "publish"] => Some(((*name).to_owned(), Self::Review)),
            ["workloads", name, "edit"] => Some(((*name).to_owned(), Self::Source)),
            ["workloads", name, "edit", slug] => Some(((*name).to_owned(), Self::from_slug(slug)?)),
            _ => None,
        }
    }

    /// The step in which a finding is fixed.
    pub fn from_finding(finding: &Finding) -> Self {
        let in_part = |part: &str| finding.location.is_none() && finding.path.starts_with(part);
        if in_part("/placement") {
            Self::Placement
        } else if in_part("/overrides") {
            Self::Overrides
        } else if in_part("/rollout") {
            Self::Rollout
        } else if in_part("/policies") {
            Self::Policies
        } else {
            Self::Source
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_step_leads_to_the_next_and_back_and_has_its_own_path() {
        for step in WizardStep::ALL {
            assert_eq!(WizardStep::from_path(&step.path("web")), Some(("web".to_owned(), step)));
            assert_eq!(WizardStep::from_slug(step.slug()), Some(step));
            assert_eq!(step.next().and_then(WizardStep::previous).unwrap_or(step), step);
        }
        assert_eq!(WizardStep::Source.target_path("web", "next").unwrap(), "/workloads/web/edit/placement");
        assert_eq!(WizardStep::Policies.target_path("web", "next").unwrap(), "/workloads/web/publish");
        assert_eq!(WizardStep::Source.target_path("web", "back").unwrap(), "/workloads/web");
        assert_eq!(
            WizardStep::Overrides.target_path("web", "back").unwrap(),
            "/workloads/web/edit/placement"
        );
        assert_eq!(WizardStep::Source.target_path("web", "review").unwrap(), "/workloads/web/publish");
        assert_eq!(WizardStep::Source.target_path("web", "leave").unwrap(), "/workloads/web");
    }

    #[test]
    fn stay_and_unknown_values_do_not_redirect() {
        for then in ["stay", "", "https://evil", "//evil"] {
            assert_eq!(WizardStep::Source.target_path("web", then), None, "{then:?}");
        }
    }

    #[test]
    fn a_finding_belongs_to_the_step_in_which_it_is_fixed() {
        let step = |path: &str| WizardStep::from_finding(&Finding::warning("G501", "m", "h").with_path(path));
        assert_eq!(step("/placement/predicates"), WizardStep::Placement);
        assert_eq!(step("/overrides/0/values"), WizardStep::Overrides);
        assert_eq!(step("/rollout/waves/0/name"), WizardStep::Rollout);
        assert_eq!(step("/policies/deletion"), WizardStep::Policies);
        assert_eq!(step("/spec/replicas"), WizardStep::Source);
        assert_eq!(step(""), WizardStep::Source);
    }
}
