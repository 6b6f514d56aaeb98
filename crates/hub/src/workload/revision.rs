//! One revision and its changes.

use domain::manifest;
use domain::plan::RevisionView;
use domain::rollout::Rollout;
use domain::workload::{Revision, Workload, WorkloadView};
use store::Tx;

use crate::blocking::run_blocking;
use crate::{Error, Hub};

/// A revision, with what is now of its workload and its rollout.
#[derive(Debug, Clone, PartialEq)]
pub struct RevisionDetails {
    /// The revision and its changes since the previous one.
    pub view: RevisionView,
    /// The workload now.
    pub workload: WorkloadView,
    /// The rollout of the revision; `None` without waves.
    pub rollout: Option<Rollout>,
}

impl Hub {
    /// A revision with its rollout and the current state of its workload, from one read transaction.
    ///
    /// # Errors
    /// There is no such workload or revision.
    pub async fn get_revision_details(&self, name: &str, number: u32) -> Result<RevisionDetails, Error> {
        let mut tx = self.read().await?;
        let workload = self.load_workload_view(&mut tx, name).await?;
        let revisions = load_revision(&mut tx, &workload.workload, number).await?;
        let rollout = self.load_rollout(&mut tx, workload.workload.id, number).await?;
        drop(tx);
        let view = compare_revisions(revisions).await?;
        Ok(RevisionDetails { view, workload, rollout })
    }

    /// A revision with its changes since the previous one (S1-11).
    ///
    /// # Errors
    /// There is no such workload or revision.
    pub async fn get_revision(&self, name: &str, number: u32) -> Result<RevisionView, Error> {
        let mut tx = self.read().await?;
        let workload = self.load_workload(&mut tx, name).await?;
        let revisions = load_revision(&mut tx, &workload, number).await?;
        drop(tx);
        compare_revisions(revisions).await
    }
}

/// A revision and the previous one, if there is one.
async fn load_revision(
    tx: &mut Tx,
    workload: &Workload,
    number: u32,
) -> Result<(Revision, Option<Revision>), Error> {
    let found = store::revision::get(tx, workload.id, number).await?;
    let revision = found.ok_or_else(|| Error::revision_not_found(&workload.name, number))?;
    let before = match number.checked_sub(1) {
        Some(before) => store::revision::get(tx, workload.id, before).await?,
        None => None,
    };
    Ok((revision, before))
}

async fn compare_revisions((revision, before): (Revision, Option<Revision>)) -> Result<RevisionView, Error> {
    let compare = move || {
        let parsed = manifest::parse(revision.spec.source.files());
        let old = before.map(|before| (manifest::parse(before.spec.source.files()), before));
        RevisionView::compare((revision, &parsed), old.as_ref().map(|(parsed, before)| (before, parsed)))
    };
    run_blocking(compare).await
}
