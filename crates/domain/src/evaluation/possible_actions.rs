//! The actions on one object, with the command that does the same, and why an action is not possible now. Interfaces that
//! offer all actions, such as the search, list these.

use super::actions;
use crate::model::action_unavailable::ActionUnavailable;
use crate::model::cluster::{Cluster, ClusterKind};
use crate::model::rollout::{Rollout, RolloutAction};
use crate::model::search::{ActionName, PossibleAction};
use crate::model::workload::Workload;

/// The actions of a rollout, their labels and commands, in the order in which they are offered: what it waits for first.
const ROLLOUT_ACTIONS: [(RolloutAction, ActionName, &str, &str); 6] = [
    (RolloutAction::Resume, ActionName::ResumeRollout, "Resume rollout", "flotilla rollout resume"),
    (RolloutAction::Retry, ActionName::RetryRollout, "Retry the failing clusters", "flotilla rollout retry"),
    (RolloutAction::Approve, ActionName::ApproveRollout, "Approve the next wave", "flotilla rollout approve"),
    (RolloutAction::Promote, ActionName::PromoteRollout, "Promote rollout", "flotilla rollout promote"),
    (RolloutAction::Pause, ActionName::PauseRollout, "Pause rollout", "flotilla rollout pause"),
    (RolloutAction::Abort, ActionName::AbortRollout, "Abort rollout", "flotilla rollout abort"),
];

fn possible(action: ActionName, label: String, command: String) -> PossibleAction {
    PossibleAction { action, label, revision: None, command, unavailable: None }
}

fn checked(possible: PossibleAction, check: Result<(), ActionUnavailable>) -> PossibleAction {
    PossibleAction { unavailable: check.err().map(|why| why.to_string()), ..possible }
}

/// The actions on a workload. `rollback` is the revision that a rollback would publish; of a rollout only what fits its state
/// is listed.
pub fn list_workload_actions(
    workload: &Workload,
    rollout: Option<&Rollout>,
    rollback: Option<u32>,
) -> Vec<PossibleAction> {
    let name = &workload.name;
    let head = workload.head();
    let next = workload.published.unwrap_or_default() + 1;
    let mut list = vec![
        possible(ActionName::Open, format!("Open {name}"), format!("flotilla status {name}")),
        checked(
            possible(
                ActionName::Publish,
                format!("Review and publish r{next}…"),
                format!("flotilla publish {name}"),
            ),
            actions::check_publish(workload),
        ),
    ];
    for (verb, action, label, command) in ROLLOUT_ACTIONS {
        let Some(rollout) = rollout.filter(|rollout| rollout.check_action(verb).is_ok()) else { continue };
        list.push(possible(
            action,
            format!("{label} of r{}…", rollout.revision),
            format!("{command} {name}"),
        ));
    }
    let sync = possible(ActionName::Sync, format!("Sync {name}…"), format!("flotilla sync {name}"));
    let unpublish =
        possible(ActionName::Unpublish, format!("Unpublish {name}…"), format!("flotilla unpublish {name}"));
    let delete = possible(ActionName::Delete, format!("Delete {name}…"), format!("flotilla delete {name}"));
    list.push(checked(sync, actions::check_sync(&head)));
    list.push(roll_back(workload, rollback));
    list.push(checked(unpublish, actions::check_unpublish(&head)));
    list.push(checked(delete, actions::check_delete(&head)));
    list
}

fn roll_back(workload: &Workload, revision: Option<u32>) -> PossibleAction {
    let name = &workload.name;
    let Some(number) = revision else {
        let why = ActionUnavailable(format!("{name} has no earlier revision."));
        let action = possible(ActionName::RollBack, "Roll back…".to_owned(), String::new());
        return checked(action, actions::check_roll_back(workload).and(Err(why)));
    };
    let label = format!("Roll back to r{number}…");
    let action = possible(ActionName::RollBack, label, format!("flotilla rollback {name} {number}"));
    checked(PossibleAction { revision, ..action }, actions::check_roll_back(workload))
}

/// The actions on a cluster.
pub fn list_cluster_actions(cluster: &Cluster) -> Vec<PossibleAction> {
    let name = &cluster.name;
    let scheduling = match cluster.schedulable {
        true => {
            let command = format!("flotilla cluster cordon {name}");
            possible(ActionName::Cordon, format!("Cordon {name}…"), command)
        }
        false => {
            let command = format!("flotilla cluster uncordon {name}");
            possible(ActionName::Uncordon, format!("Uncordon {name}…"), command)
        }
    };
    let mut list = vec![
        possible(ActionName::Open, format!("Open {name}"), format!("flotilla get cluster {name}")),
        scheduling,
    ];
    if cluster.kind == ClusterKind::Simulated {
        list.push(possible(ActionName::InjectFault, format!("Break {name}…"), String::new()));
    }
    let delete =
        possible(ActionName::Delete, format!("Delete {name}…"), format!("flotilla cluster delete {name}"));
    list.push(delete);
    list
}

/// The actions on a cluster group.
pub fn list_group_actions(name: &str) -> Vec<PossibleAction> {
    vec![possible(ActionName::Open, format!("Open {name}"), format!("flotilla group get {name}"))]
}

/// The actions on a chart, by repository and name.
pub fn list_chart_actions(name: &str) -> Vec<PossibleAction> {
    vec![
        possible(ActionName::Open, format!("Open {name}"), format!("flotilla chart get {name}")),
        possible(
            ActionName::CreateWorkload,
            format!("New workload from {name}…"),
            format!("flotilla apply --chart {name} --clusters A,B"),
        ),
    ]
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::kubernetes::id::{ClusterId, ProjectId, WorkloadId};
    use crate::kubernetes::time::Timestamp;
    use crate::model::workload::{Intent, WorkloadSpec};

    fn workload(intent: Intent, published: Option<u32>) -> Workload {
        Workload {
            id: WorkloadId::from_parts(1, 1),
            project: ProjectId::from_parts(1, 1),
            name: "web".to_owned(),
            labels: Default::default(),
            owners: vec!["ana".to_owned()],
            draft: WorkloadSpec::default(),
            intent,
            published,
            draft_changed: false,
            created_by: "ana".to_owned(),
            created_at: Timestamp::from_millis(0),
            updated_at: Timestamp::from_millis(0),
            revision: 1,
        }
    }

    #[test]
    fn an_action_that_is_not_possible_stays_in_the_list_with_its_reason() {
        let list = list_workload_actions(&workload(Intent::Draft, None), None, None);
        let of = |action| list.iter().find(|one| one.action == action).unwrap();
        assert_eq!(of(ActionName::Unpublish).unavailable.as_deref(), Some("web was never published."));
        assert_eq!(of(ActionName::RollBack).unavailable.as_deref(), Some("web has no earlier revision."));
        assert_eq!(of(ActionName::Open).unavailable, None);
        assert_eq!(list.last().map(|one| one.action), Some(ActionName::Delete), "the last one");
    }

    #[test]
    fn a_published_workload_can_be_synced_and_rolled_back() {
        let list = list_workload_actions(&workload(Intent::Published, Some(3)), None, Some(2));
        let of = |action| list.iter().find(|one| one.action == action).unwrap();
        let back = of(ActionName::RollBack);
        assert_eq!((back.label.as_str(), back.revision), ("Roll back to r2…", Some(2)));
        assert_eq!(back.command, "flotilla rollback web 2");
        assert_eq!(of(ActionName::Sync).unavailable, None);
        assert!(list.iter().all(|one| one.action != ActionName::PauseRollout), "there is no rollout");
    }

    #[test]
    fn a_fault_is_offered_for_simulated_clusters_only() {
        let cluster =
            |kind| Cluster::new(ClusterId::from_parts(1, 1), "eu-1", kind, Timestamp::from_millis(0));
        let has = |kind| {
            list_cluster_actions(&cluster(kind)).iter().any(|one| one.action == ActionName::InjectFault)
        };
        assert!(has(ClusterKind::Simulated) && !has(ClusterKind::Agent));
    }
}
