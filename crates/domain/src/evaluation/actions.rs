//! Preconditions of user actions. Console, server and command line call the same functions.

pub use crate::model::action_unavailable::ActionUnavailable;
use crate::model::release::{Release, ReleaseGoal};
use crate::model::rollout::{Rollout, RolloutState};
use crate::model::workload::{Intent, Source, Workload, WorkloadHead};
use crate::text::name_list::join_first;

type ActionCheck = Result<(), ActionUnavailable>;

fn unavailable(why: impl Into<String>) -> ActionCheck {
    Err(ActionUnavailable(why.into()))
}

/// Whether the draft may be published; findings are checked separately. An unchanged draft may be published again, so
/// that clusters that match only since the last publish receive the workload (S1-9).
pub fn check_publish(workload: &Workload) -> ActionCheck {
    match workload.intent {
        Intent::Deleting => unavailable(format!("{} is being deleted.", workload.name)),
        _ if workload.draft.source.is_empty() => unavailable(NO_MANIFESTS),
        _ => Ok(()),
    }
}

/// Whether an earlier revision may be published again; its findings are checked separately. The draft does not matter.
pub fn check_roll_back(workload: &Workload) -> ActionCheck {
    match workload.intent {
        Intent::Deleting => unavailable(format!("{} is being deleted.", workload.name)),
        _ => Ok(()),
    }
}

const NO_MANIFESTS: &str = "There is nothing to publish yet: write or upload manifests, or choose a chart.";

/// Whether the texts of a source may be published: a publish of blank ones would remove everything that runs, which is
/// an unpublish. Separate from [`check_publish`], which lists and heads of pages evaluate without the texts.
pub fn check_manifests(source: &Source) -> ActionCheck {
    if source.is_blank() { unavailable(NO_MANIFESTS) } else { Ok(()) }
}

/// Whether one override may be published alone, as a change of the published revision; findings are checked separately.
/// `rollout` is the one of the published revision: another revision would restart it from its first wave.
pub fn check_publish_override(workload: &Workload, rollout: Option<&Rollout>) -> ActionCheck {
    let name = &workload.name;
    match (workload.intent, rollout) {
        (Intent::Deleting, _) => unavailable(format!("{name} is being deleted.")),
        (Intent::Draft | Intent::Unpublished, _) => unavailable(format!(
            "{name} is not published, so an override can't be published alone. Save it to the draft and publish the draft."
        )),
        (Intent::Published, Some(rollout)) if rollout.state != RolloutState::Completed => {
            unavailable(format!(
                "The rollout of {name} revision {} is {}. Save this to the draft and publish it, or complete the rollout first.",
                rollout.revision,
                rollout.state.label().to_lowercase()
            ))
        }
        (Intent::Published, _) => Ok(()),
    }
}

/// Whether the workload may be edited.
pub fn check_edit(workload: &Workload) -> ActionCheck {
    match workload.intent {
        Intent::Deleting => unavailable(format!("{} is being deleted.", workload.name)),
        _ => Ok(()),
    }
}

/// Whether the workload may be unpublished, that is removed from its clusters.
pub fn check_unpublish(workload: &WorkloadHead) -> ActionCheck {
    match workload.intent {
        Intent::Published => Ok(()),
        Intent::Draft => unavailable(format!("{} was never published.", workload.name)),
        Intent::Unpublished => unavailable(format!("{} is already unpublished.", workload.name)),
        Intent::Deleting => unavailable(format!("{} is being deleted.", workload.name)),
    }
}

/// Whether a sync, a comparison with the clusters, may be requested.
pub fn check_sync(workload: &WorkloadHead) -> ActionCheck {
    match workload.intent {
        Intent::Published | Intent::Unpublished | Intent::Deleting => Ok(()),
        Intent::Draft => unavailable(format!("{} was never published.", workload.name)),
    }
}

/// Whether the workload may be deleted: always, unless it is being deleted already.
pub fn check_delete(workload: &WorkloadHead) -> ActionCheck {
    match workload.intent {
        Intent::Deleting => unavailable(format!("{} is already being deleted.", workload.name)),
        _ => Ok(()),
    }
}

/// Why agents can't join: the server was started without a listener for them.
pub fn agents_disabled() -> ActionUnavailable {
    ActionUnavailable(
        "Agents are not enabled on this server: start it with --agent-listen and --agent-url.".to_owned(),
    )
}

/// Why the role of a user can't be taken, or the user disabled: nobody else could manage users.
pub fn last_admin(name: &str) -> ActionUnavailable {
    ActionUnavailable(format!(
        "{name} is the only admin who can sign in. Give another user the role admin first."
    ))
}

/// Why the password of a user can't be reset.
pub fn user_disabled(name: &str) -> ActionUnavailable {
    ActionUnavailable(format!("{name} is disabled. Enable the user first."))
}

/// Why the role of a user can't be set, or a password: both are those of an identity provider.
pub fn managed_by_provider(name: &str, issuer: &str) -> ActionUnavailable {
    ActionUnavailable(format!(
        "{name} signs in with the identity provider {issuer}: the role follows from the groups there, and there is no password here. Change the groups of the user, or the roles of groups of the provider."
    ))
}

/// Whether a cluster group may be deleted. `used_by` are the workloads whose draft or published revision uses it.
pub fn check_delete_group(group: &str, used_by: &[String]) -> ActionCheck {
    match used_by {
        [] => Ok(()),
        [only] => unavailable(format!(
            "{only} uses the group {group}: remove it from its placement, overrides and rollout first."
        )),
        [first, rest @ ..] => unavailable(format!(
            "{first} and {} more workloads use the group {group}: remove it from their placements, overrides and rollouts first.",
            rest.len()
        )),
    }
}

/// Whether a repository of charts may be removed. `used_by` are the workloads with a draft or a revision that names a chart of it.
pub fn check_remove_repository(repository: &str, used_by: &[String]) -> ActionCheck {
    if used_by.is_empty() {
        return Ok(());
    }
    unavailable(format!(
        "{} with charts of the repository {repository}, in drafts or revisions: delete them first, or leave the repository.",
        describe_users(used_by)
    ))
}

/// Whether a version of a chart may be deleted. `used_by` are the workloads with a draft or a revision that names it.
pub fn check_delete_chart(chart: &str, version: &str, used_by: &[String]) -> ActionCheck {
    if used_by.is_empty() {
        return Ok(());
    }
    unavailable(format!(
        "{} with {chart} {version}, in drafts or revisions: a revision must stay publishable. Delete them first.",
        describe_users(used_by)
    ))
}

/// How many workloads there are, with the names of the first ones.
fn describe_users(names: &[String]) -> String {
    const SHOWN: usize = 5;
    let shown = join_first(names, SHOWN);
    match names.len() {
        1 => format!("There is 1 workload ({shown})"),
        count => format!("There are {count} workloads ({shown})"),
    }
}

/// Whether a release may be abandoned, that is ended without confirmation from its cluster.
pub fn check_abandon(release: &Release) -> ActionCheck {
    match release.goal() {
        ReleaseGoal::Removing { .. } => Ok(()),
        ReleaseGoal::Present => unavailable("Unpublish or delete the workload first."),
        _ => unavailable("This release has already ended on this cluster."),
    }
}
