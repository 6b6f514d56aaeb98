//! One revision and its changes.

use domain::plan::RevisionView;

use super::parse_source;
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
        let parsed = parse_source(revision.spec.source.clone()).await?;
        let old = match before {
            Some(before) => Some((parse_source(before.spec.source.clone()).await?, before)),
            None => None,
        };
        let compare = move || {
            RevisionView::compare(
                (revision, &parsed),
                old.as_ref().map(|(parsed, before)| (before, &**parsed)),
            )
        };
        tokio::task::spawn_blocking(compare).await.map_err(|error| Error::Internal(Box::new(error)))
    }
}
