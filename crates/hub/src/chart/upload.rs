//! Uploads a chart into the project's own repository.

use domain::authorization::UserAction;
use domain::chart::{CAPABILITIES, ChartVersion, LOCAL_REPOSITORY, RELEASE_PHASES};
use domain::event::{EventKind, NewEvent, describe_object};
use domain::{Digest, Finding, Timestamp};
use source::archive::{ArchiveRejected, ChartArchive};

use crate::blocking::read_archive;
use crate::hub::CommitEffects;
use crate::{Actor, Error, Hub};

impl Hub {
    /// Stores a packed chart (`.tgz`) in the repository `local`. The same archive again is no change.
    ///
    /// # Errors
    /// The archive is rejected, with the entry named; [`Error::ServerBusy`]; [`Error::AlreadyExists`] if the project has another archive of this
    /// version: a version never changes, because revisions name it.
    pub async fn upload_chart(&self, actor: &Actor, archive: Vec<u8>) -> Result<ChartVersion, Error> {
        actor.authorize(UserAction::ChangeCharts)?;
        let now = self.clock().now();
        let created_by = actor.name.clone();
        let read = read_archive(archive, move |archive| {
            read_chart(LOCAL_REPOSITORY, &archive, created_by, now).map(|chart| (chart, archive))
        });
        let (chart, archive) = read.await?.map_err(|finding| Error::Invalid(vec![finding]))?;
        match self.store_upload(actor, &chart, &archive).await {
            // Another upload of this version may have been committed in between: then it is compared with this one.
            Err(Error::AlreadyExists(_)) => self.store_upload(actor, &chart, &archive).await,
            stored => stored,
        }
    }

    /// Stores an uploaded chart, unless the same one is stored already. If the archive of that was lost, it is stored again.
    ///
    /// # Errors
    /// A different archive of this version is stored.
    async fn store_upload(
        &self,
        actor: &Actor,
        chart: &ChartVersion,
        archive: &[u8],
    ) -> Result<ChartVersion, Error> {
        let mut tx = self.write_as(actor, UserAction::ChangeCharts).await?;
        let stored =
            store::chart::get(&mut tx, self.project(), LOCAL_REPOSITORY, &chart.name, &chart.version).await?;
        match stored {
            Some(stored) if stored.digest == chart.digest => {
                if !store::artifact::exists(&mut tx, &chart.digest).await? {
                    store::artifact::put(&mut tx, &chart.digest, archive, chart.created_at).await?;
                    let name = format!("{} {}", chart.reference(), chart.version);
                    let message = format!("The lost archive of chart {name} was uploaded again.");
                    tx.describe_audit(describe_object("chart", &name), message);
                    let effects = CommitEffects::default().with_response(actor, 201, &stored);
                    self.commit(tx, effects).await?;
                }
                return Ok(stored);
            }
            Some(stored) => return Err(Error::AlreadyExists(describe_conflict(&stored))),
            None => {}
        }
        store::artifact::put(&mut tx, &chart.digest, archive, chart.created_at).await?;
        store::chart::insert(&mut tx, self.project(), chart).await?;
        let message =
            format!("Chart {} {} was uploaded ({}).", chart.reference(), chart.version, chart.digest.short());
        let event = NewEvent::new(EventKind::ChartUploaded, &actor.name, message)
            .with_object("chart", &format!("{} {}", chart.reference(), chart.version));
        self.commit(tx, CommitEffects::with_event(event).with_response(actor, 201, chart)).await?;
        Ok(chart.clone())
    }
}

/// Reads what is stored about an archive.
pub(crate) fn read_chart(
    repository: &str,
    archive: &[u8],
    created_by: String,
    created_at: Timestamp,
) -> Result<ChartVersion, Finding> {
    let read = ChartArchive::read(archive).map_err(|rejected| rejected_finding(&rejected))?;
    let metadata = read.metadata();
    Ok(ChartVersion {
        repository: repository.to_owned(),
        name: metadata.name.clone(),
        version: metadata.version.clone(),
        digest: Digest::compute(archive),
        size: archive.len() as u64,
        app_version: metadata.app_version.clone(),
        description: metadata.description.clone(),
        kubernetes_range: metadata.kubernetes_range.clone(),
        uses_capabilities: read.contains_text(CAPABILITIES),
        uses_release_phase: RELEASE_PHASES.iter().any(|field| read.contains_text(field)),
        created_by,
        created_at,
    })
}

/// A stored archive is not allowed: an earlier version of the server accepted it.
pub(crate) fn rejected_archive(rejected: &ArchiveRejected) -> Error {
    Error::Invalid(vec![rejected_finding(rejected)])
}

/// G112: an archive is not allowed.
fn rejected_finding(rejected: &ArchiveRejected) -> Finding {
    Finding::error("G112", rejected.to_string(), rejected.hint)
}

fn describe_conflict(stored: &ChartVersion) -> String {
    format!(
        "Chart {} {} was uploaded by {} with other content ({}). A version never changes: raise the version in Chart.yaml and upload it again.",
        stored.reference(),
        stored.version,
        stored.created_by,
        stored.digest.short(),
    )
}
