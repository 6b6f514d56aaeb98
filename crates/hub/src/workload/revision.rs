//! One revision, and what it changed.

use domain::plan::RevisionView;

use super::parse;
use crate::{Error, Hub};

impl Hub {
    /// A revision with what it changed against the one before it (S1-11).
    ///
    /// # Errors
    /// There is no such workload or revision.
    pub async fn workload_revision(&self, name: &str, number: u32) -> Result<RevisionView, Error> {
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
        let parsed = parse(revision.spec.source.clone()).await?;
        let old = match before {
            Some(before) => Some((parse(before.spec.source.clone()).await?, before)),
            None => None,
        };
        let compare = move || {
            RevisionView::of((revision, &parsed), old.as_ref().map(|(parsed, before)| (before, &**parsed)))
        };
        tokio::task::spawn_blocking(compare).await.map_err(|error| Error::Internal(Box::new(error)))
    }
}
