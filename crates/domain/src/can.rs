//! "Can I?": may this be done now, and if not, why. Buttons, server and command line ask the same functions.

use crate::release::{Release, ReleaseGoal};
use crate::workload::{Intent, Workload};

/// Why something can't be done now, in a sentence that stands beside the disabled button.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("{0}")]
pub struct WhyNot(pub String);

type Can = Result<(), WhyNot>;

fn no(why: impl Into<String>) -> Can {
    Err(WhyNot(why.into()))
}

/// Whether the draft may be published; findings are checked apart. An unchanged draft may be published again: that is
/// how clusters that match only since the last publish get the workload (S1-9).
pub fn publish(workload: &Workload) -> Can {
    match workload.intent {
        Intent::Deleting => no(format!("{} is being deleted.", workload.name)),
        _ if workload.draft.source.files().is_empty() => no("There are no manifests yet: add a file first."),
        _ => Ok(()),
    }
}

/// Whether the workload may be edited.
pub fn edit(workload: &Workload) -> Can {
    match workload.intent {
        Intent::Deleting => no(format!("{} is being deleted.", workload.name)),
        _ => Ok(()),
    }
}

/// Whether it may be taken back from its clusters.
pub fn unpublish(workload: &Workload) -> Can {
    match workload.intent {
        Intent::Published => Ok(()),
        Intent::Draft => no(format!("{} was never published.", workload.name)),
        Intent::Unpublished => no(format!("{} is already unpublished.", workload.name)),
        Intent::Deleting => no(format!("{} is being deleted.", workload.name)),
    }
}

/// Whether a comparison with the clusters may be asked for.
pub fn sync(workload: &Workload) -> Can {
    match workload.intent {
        Intent::Published | Intent::Unpublished | Intent::Deleting => Ok(()),
        Intent::Draft => no(format!("{} was never published.", workload.name)),
    }
}

/// Whether it may be deleted. Always, but once.
pub fn delete(workload: &Workload) -> Can {
    match workload.intent {
        Intent::Deleting => no(format!("{} is already being deleted.", workload.name)),
        _ => Ok(()),
    }
}

/// Whether a cluster group may be forgotten, given the workloads whose draft or published revision ask for it.
pub fn delete_group(group: &str, asking: &[String]) -> Can {
    match asking {
        [] => Ok(()),
        [only] => no(format!(
            "{only} asks for the group {group}: take it out of its placement, overrides and rollout first."
        )),
        [first, rest @ ..] => no(format!(
            "{first} and {} more workloads ask for the group {group}: take it out of their placements, overrides and rollouts first.",
            rest.len()
        )),
    }
}

/// Whether a release may be given up without its cluster's word.
pub fn abandon(release: &Release) -> Can {
    match release.goal {
        ReleaseGoal::Removing { .. } => Ok(()),
        ReleaseGoal::Present => no("Unpublish or delete the workload first."),
        _ => no("Nothing is expected of this cluster any more."),
    }
}
