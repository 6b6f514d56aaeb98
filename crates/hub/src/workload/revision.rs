//! One revision and its changes.

use domain::manifest;
use domain::plan::RevisionView;

use crate::blocking::run_blocking;
use crate::{Error, Hub};

impl Hub {
    /// A revision with its changes since the previous one (S1-11).
    ///
    /// # Errors
    /// There is no such workload or revision.
    pub async fn get_revision(&self, name: &str, number: u32) -> Result<RevisionView, Error> {
        let mut tx = self.read().await?;
        let workload = self.load_workload(&mut tx, name).await?;
        let found = store::revision::get(&mut tx, workload.id, number).await?;
        let missing = || Error::not_found("revision", format!("{name} r{number}"));
        let revision = found.ok_or_else(missing)?;
        let before = match number.checked_sub(1) {
            Some(before) => store::revision::get(&mut tx, workload.id, before).await?,
            None => None,
        };
        drop(tx);
        let compare = move || {
            let parsed = manifest::parse(revision.spec.source.files());
            let old = before.map(|before| (manifest::parse(before.spec.source.files()), before));
            RevisionView::compare((revision, &parsed), old.as_ref().map(|(parsed, before)| (before, parsed)))
        };
        run_blocking(compare).await
    }
}
