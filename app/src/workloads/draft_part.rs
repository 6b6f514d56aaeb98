//! The parts of a draft that forms change, and which of them have fields in common.

use std::fmt;

/// What a form contains of the draft.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum DraftPart {
    /// Source, namespace and labels, as the tab shows them.
    Config,
    /// The source and the namespace.
    Source,
    /// The placement.
    Placement,
    /// The override of this name; empty while its name is not known.
    Override(String),
    /// The rollout.
    Rollout,
    /// The policies, the owners, and whether it is an addon.
    Policies,
}

impl DraftPart {
    /// Whether both contain the same fields, so that storing one may replace what the other one is based on.
    pub fn overlaps(&self, other: &Self) -> bool {
        match (self, other) {
            (Self::Config, part) | (part, Self::Config) => {
                matches!(part, Self::Config | Self::Source)
            }
            (Self::Override(name), Self::Override(other)) => {
                name.is_empty() || other.is_empty() || name == other
            }
            (part, other) => part == other,
        }
    }
}

impl fmt::Display for DraftPart {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Config => f.write_str("Config"),
            Self::Source => f.write_str("Source"),
            Self::Placement => f.write_str("Placement"),
            Self::Override(name) if name.is_empty() => f.write_str("Override"),
            Self::Override(name) => write!(f, "Override {name}"),
            Self::Rollout => f.write_str("Rollout"),
            Self::Policies => f.write_str("Policies"),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn over(name: &str) -> DraftPart {
        DraftPart::Override(name.to_owned())
    }

    #[test]
    fn the_config_overlaps_the_source_in_both_directions() {
        for part in [DraftPart::Source, DraftPart::Config] {
            assert!(DraftPart::Config.overlaps(&part) && part.overlaps(&DraftPart::Config), "{part}");
        }
        for part in [DraftPart::Placement, DraftPart::Rollout, DraftPart::Policies, over("eu-west-1")] {
            assert!(!DraftPart::Config.overlaps(&part) && !part.overlaps(&DraftPart::Config), "{part}");
        }
        assert!(!DraftPart::Source.overlaps(&DraftPart::Policies));
    }

    #[test]
    fn overrides_overlap_only_if_they_may_have_the_same_name() {
        assert!(over("eu-west-1").overlaps(&over("eu-west-1")));
        assert!(!over("eu-west-1").overlaps(&over("eu-west-2")));
        assert!(over("eu-west-1").overlaps(&over("")));
        assert_eq!(over("eu-west-1").to_string(), "Override eu-west-1");
    }
}
