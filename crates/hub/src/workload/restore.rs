//! Takes an earlier revision back into the draft: the way to undo a publish. What runs is not touched before a publish.

use domain::event::{EventKind, NewEvent};
use domain::workload::Workload;
use domain::{Finding, can};

use super::check_match;
use crate::hub::Done;
use crate::{Actor, Error, Hub};

impl Hub {
    /// Makes the draft what revision `number` was: manifests, placement, overrides and policies. `if_match` is the revision
    /// of the draft that the person saw. A draft that is that already stores nothing.
    ///
    /// # Errors
    /// There is no such revision, or the draft was changed meanwhile.
    pub async fn workload_restore(
        &self,
        actor: &Actor,
        name: &str,
        number: u32,
        if_match: Option<i64>,
    ) -> Result<Workload, Error> {
        let mut tx = self.write().await?;
        let mut workload = self.load_workload(&mut tx, name).await?;
        check_match(workload.revision, if_match)?;
        can::edit(&workload)?;
        let Some(revision) = store::revision::get(&mut tx, workload.id, number).await? else {
            let latest = store::revision::latest_number(&mut tx, workload.id).await?;
            return Err(Error::Invalid(vec![no_such_revision(name, number, latest)]));
        };
        if workload.draft == revision.spec {
            return Ok(workload);
        }
        workload.draft = revision.spec;
        workload.draft_changed = self.differs_from_published(&mut tx, &workload).await?;
        self.store_workload(&mut tx, actor, &mut workload).await?;
        let message = format!("The draft of {name} was set back to revision {number}.");
        let event =
            NewEvent::new(EventKind::WorkloadEdited, &actor.name, message).workload(workload.id, name);
        self.commit(tx, Done::with(event).answering(actor, 200, &workload)).await?;
        Ok(workload)
    }
}

fn no_such_revision(name: &str, number: u32, latest: u32) -> Finding {
    let hint = match latest {
        0 => "It was never published.".to_owned(),
        latest => format!("Take one from 1 to {latest}."),
    };
    Finding::error("Revision", format!("{name} has no revision {number}."), hint)
}
