//! The steps and their order.

use domain::Finding;

use crate::paths;

/// A step of the wizard.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Step {
    /// Containers and files.
    Source,
    /// Where it belongs.
    Placement,
    /// What differs per cluster.
    Overrides,
    /// In which waves a publish reaches them.
    Rollout,
    /// How it is kept.
    Policies,
    /// What publishing would do.
    Review,
}

impl Step {
    /// All of them, in order.
    pub const ALL: [Self; 6] =
        [Self::Source, Self::Placement, Self::Overrides, Self::Rollout, Self::Policies, Self::Review];

    /// The word in the address.
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

    /// The word people read.
    pub const fn word(self) -> &'static str {
        match self {
            Self::Source => "Source",
            Self::Placement => "Placement",
            Self::Overrides => "Overrides",
            Self::Rollout => "Rollout",
            Self::Policies => "Policies",
            Self::Review => "Review",
        }
    }

    /// What it asks, in a few words.
    pub const fn about(self) -> &'static str {
        match self {
            Self::Source => "What runs, as a form or as YAML",
            Self::Placement => "On which clusters",
            Self::Overrides => "What differs on some of them",
            Self::Rollout => "In which waves",
            Self::Policies => "How it is kept",
            Self::Review => "What publishing would do",
        }
    }

    /// Its number, from 1.
    pub const fn number(self) -> usize {
        self as usize + 1
    }

    /// Its address for the workload of this name.
    pub fn path(self, name: &str) -> String {
        match self {
            Self::Review => paths::publish(name),
            step => paths::edit(name, step.slug()),
        }
    }

    /// The step before.
    pub fn previous(self) -> Option<Self> {
        Self::ALL.get((self as usize).checked_sub(1)?).copied()
    }

    /// The step after.
    pub fn next(self) -> Option<Self> {
        Self::ALL.get(self as usize + 1).copied()
    }

    /// The step with this slug.
    pub fn from_slug(slug: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|step| step.slug() == slug)
    }

    /// Where a button with this value of `then` leads; `None` to stay.
    pub fn after(self, name: &str, then: &str) -> Option<String> {
        match then {
            "back" => Some(self.previous().map_or_else(|| paths::workload(name), |step| step.path(name))),
            "next" => self.next().map(|step| step.path(name)),
            "leave" => Some(paths::workload(name)),
            slug => Self::from_slug(slug).map(|step| step.path(name)),
        }
    }

    /// The workload and the step that an address of the console belongs to.
    pub fn of_path(path: &str) -> Option<(String, Self)> {
        let parts: Vec<&str> = path.split('/').filter(|part| !part.is_empty()).collect();
        match parts.as_slice() {
            ["workloads", name, "publish"] => Some(((*name).to_owned(), Self::Review)),
            ["workloads", name, "edit"] => Some(((*name).to_owned(), Self::Source)),
            ["workloads", name, "edit", slug] => Some(((*name).to_owned(), Self::from_slug(slug)?)),
            _ => None,
        }
    }

    /// The step in which a finding is mended.
    pub fn of(finding: &Finding) -> Self {
        let in_part = |part: &str| finding.place.is_none() && finding.path.starts_with(part);
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
    fn every_step_leads_to_the_next_and_back_and_its_address_names_it() {
        for step in Step::ALL {
            assert_eq!(Step::of_path(&step.path("web")), Some(("web".to_owned(), step)));
            assert_eq!(Step::from_slug(step.slug()), Some(step));
            assert_eq!(step.next().and_then(Step::previous).unwrap_or(step), step);
        }
        assert_eq!(Step::Source.after("web", "next").unwrap(), "/workloads/web/edit/placement");
        assert_eq!(Step::Policies.after("web", "next").unwrap(), "/workloads/web/publish");
        assert_eq!(Step::Source.after("web", "back").unwrap(), "/workloads/web");
        assert_eq!(Step::Overrides.after("web", "back").unwrap(), "/workloads/web/edit/placement");
        assert_eq!(Step::Source.after("web", "review").unwrap(), "/workloads/web/publish");
        assert_eq!(Step::Source.after("web", "leave").unwrap(), "/workloads/web");
    }

    #[test]
    fn whoever_stays_or_says_a_word_nobody_knows_is_sent_nowhere() {
        for then in ["stay", "", "https://evil", "//evil"] {
            assert_eq!(Step::Source.after("web", then), None, "{then:?}");
        }
    }

    #[test]
    fn a_finding_belongs_to_the_step_in_which_it_is_mended() {
        let step = |path: &str| Step::of(&Finding::warning("G501", "m", "h").at(path));
        assert_eq!(step("/placement/predicates"), Step::Placement);
        assert_eq!(step("/overrides/0/values"), Step::Overrides);
        assert_eq!(step("/rollout/waves/0/name"), Step::Rollout);
        assert_eq!(step("/policies/deletion"), Step::Policies);
        assert_eq!(step("/spec/replicas"), Step::Source);
        assert_eq!(step(""), Step::Source);
    }
}
