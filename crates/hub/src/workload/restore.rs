//! Copies an earlier revision to the draft. Running releases change only with the next publish.
//!
//! A rollback is a publish of [`PublishContent::Revision`](super::PublishContent) instead, which leaves the draft as it is.

use domain::authorization::UserAction;
use domain::event::{EventDetail, EventSubject, NewEvent};
use domain::workload::{Revision, Workload};
use domain::{Finding, actions};
use store::Tx;

use super::check_if_match;
use crate::{Actor, Error, Hub};

impl Hub {
    /// Replaces the draft by the spec of revision `number`: manifests, placement, overrides and policies. `if_match` is the
    /// draft's revision that this is based on. An equal draft is not stored again.
    ///
    /// # Errors
    /// There is no such revision, or the draft was changed since.
    pub async fn restore_revision(
        &self,
        actor: &Actor,
        name: &str,
        number: u32,
        if_match: Option<i64>,
    ) -> Result<Workload, Error> {
        actor.authorize(UserAction::Edit)?;
        let mut tx = self.write_as(actor, UserAction::Edit).await?;
        store::dependency::lock_graph(&mut tx).await?;
        let mut workload = self.load_workload(&mut tx, name).await?;
        check_if_match(workload.revision, if_match)?;
        actions::check_edit(&workload)?;
        let revision = load_restorable_revision(&mut tx, &workload, number).await?;
        if workload.draft == revision.spec {
            return Ok(workload);
        }
        workload.draft = revision.spec;
        self.check_dependencies(&mut tx, name, &workload.draft).await?;
        let (detail, subject) =
            (EventDetail::RolledBack { revision: number }, EventSubject::workload(workload.id, name));
        let event = NewEvent::from_detail(detail, &actor.name, subject, self.clock().now());
        self.store_edit(tx, actor, workload, event).await
    }
}

/// The revision with this number.
///
/// # Errors
/// There is none: the finding names those that exist.
pub(super) async fn load_restorable_revision(
    tx: &mut Tx,
    workload: &Workload,
    number: u32,
) -> Result<Revision, Error> {
    if let Some(revision) = store::revision::get(tx, workload.id, number).await? {
        return Ok(revision);
    }
    let latest = store::revision::latest_number(tx, workload.id).await?;
    Err(Error::Invalid(vec![unknown_revision_finding(&workload.name, number, latest)]))
}

fn unknown_revision_finding(name: &str, number: u32, latest: u32) -> Finding {
    let hint = match latest {
        0 => "It was never published.".to_owned(),
        latest => format!("Choose a revision from 1 to {latest}."),
    };
    Finding::error("Revision", format!("{name} has no revision {number}."), hint)
}
