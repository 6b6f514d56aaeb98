//! Verbs and queries on the project: what holds for all its workloads (S2-8).

use domain::Finding;
use domain::authorization::UserAction;
use domain::event::{EventKind, NewEvent};
use domain::project::{Project, PublishApproval};

use crate::hub::CommitEffects;
use crate::{Actor, Error, Hub};

impl Hub {
    /// The project.
    pub async fn get_project(&self) -> Result<Project, Error> {
        let mut tx = self.read().await?;
        Ok(store::project::get(&mut tx, self.project()).await?)
    }

    /// Replaces the values that the project locks, and whether its publishes have to be approved; `None` leaves that as it is. A
    /// publish that waits for its approval keeps the rule that it was made under. Every published workload is placed again.
    ///
    /// # Errors
    /// The values are not valid; the project does not have the revision `expected` any more ([`Error::RevisionConflict`]).
    pub async fn save_project(
        &self,
        actor: &Actor,
        locked_values: String,
        publish_approval: Option<PublishApproval>,
        expected: Option<i64>,
    ) -> Result<Project, Error> {
        actor.authorize(UserAction::ManageProject)?;
        let findings: Vec<Finding> = domain::chart::check_values("The locked values", &locked_values)
            .map(|finding| finding.with_path("/lockedValues"))
            .into_iter()
            .collect();
        if !findings.is_empty() {
            return Err(Error::Invalid(findings));
        }
        let mut tx = self.write_as(actor, UserAction::ManageProject).await?;
        let old = store::project::lock(&mut tx, self.project()).await?;
        if expected.is_some_and(|expected| expected != old.revision) {
            return Err(Error::RevisionConflict { current: old.revision });
        }
        let publish_approval = publish_approval.unwrap_or(old.publish_approval);
        let message = describe_change(&old, &locked_values, publish_approval);
        let project = Project { locked_values, publish_approval, revision: old.revision + 1, ..old };
        store::project::update(&mut tx, self.project(), &project).await?;
        store::queue::PLACER.mark_all(&mut tx, self.clock().now()).await?;
        let event = NewEvent::new(EventKind::ProjectEdited, &actor.name, message)
            .with_object("project", &project.name);
        let effects = CommitEffects::with_event_for_placer(event).with_response(actor, 200, &project);
        let effects = effects.with_etag(project.revision);
        self.commit(tx, effects).await?;
        Ok(project)
    }
}

/// The event of a change, as a sentence.
fn describe_change(old: &Project, locked_values: &str, approval: PublishApproval) -> String {
    let name = &old.name;
    let locks = || format!("The locked values of project {name} were changed.");
    let approvals = || format!("Every publish in project {name} requires {} now.", approval.description());
    match (old.locked_values != locked_values, old.publish_approval != approval) {
        (true, true) => format!("{} {}", locks(), approvals()),
        (false, true) => approvals(),
        (_, false) => locks(),
    }
}
