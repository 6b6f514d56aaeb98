//! One workload for its page.

use domain::WorkloadId;
use domain::event::{Event, EventKind};
use domain::placement::PendingRemoval;
use domain::rollout::Rollout;
use domain::rollup::ReleaseCounts;
use domain::suspension::Suspension;
use domain::workload::{LatestEdit, WorkloadFailure, WorkloadHead, WorkloadPhase, WorkloadView};
use store::Tx;
use store::queue::{PLACER, ROLLOUTS};
use store::revision::EncodedRevision;
use store::workload::EncodedWorkload;

use crate::operation::find_healthy_revision;
use crate::{Error, Hub};

/// How long a reverted drift is shown on the page of its workload, in milliseconds.
const HEAL_SHOWN_MILLIS: i64 = 10 * 60_000;

/// A workload with what is pending on its clusters.
#[derive(Debug, Clone, PartialEq)]
pub struct WorkloadDetails {
    /// The workload with its counts and published revision.
    pub view: WorkloadView,
    /// The clusters that no longer match and from which it will be removed (E-6).
    pub pending_removals: Vec<PendingRemoval>,
    /// Number of its clusters that are not online: a removal by force abandons them (S1-23).
    pub unreachable: u32,
    /// The newest earlier revision that was healthy on every cluster: a rollback to it is the way back.
    pub healthy_revision: Option<u32>,
    /// The latest drift that was reverted, within [`HEAL_SHOWN_MILLIS`].
    pub latest_heal: Option<Event>,
}

/// What is read of a workload: its draft and its revision as they are stored, so that they are decoded when the connection is returned.
struct StoredView {
    head: WorkloadHead,
    workload: EncodedWorkload,
    published_revision: Option<EncodedRevision>,
    counts: ReleaseCounts,
    rollout: Option<Rollout>,
    failures: Vec<WorkloadFailure>,
    suspension: Option<Suspension>,
}

impl StoredView {
    /// Decrypts and parses it.
    ///
    /// # Errors
    /// The draft or the revision can't be read.
    fn decode(self) -> Result<WorkloadView, Error> {
        let Self { head, workload, published_revision, counts, rollout, failures, suspension } = self;
        let unreadable = |error: store::Error| Error::from(error).with_unreadable_workload(&head.name);
        let workload = workload.decode().map_err(unreadable)?;
        let published_revision = published_revision.map(|revision| revision.decode()).transpose();
        let published_revision = published_revision.map_err(unreadable)?;
        let phase = WorkloadPhase::from_releases(workload.intent, &counts);
        Ok(WorkloadView { workload, phase, counts, published_revision, rollout, failures, suspension })
    }
}

impl Hub {
    /// One workload with its counts and published revision.
    pub async fn get_workload(&self, name: &str) -> Result<WorkloadView, Error> {
        let mut tx = self.read().await?;
        let stored = self.load_stored_view(&mut tx, name).await?;
        drop(tx);
        stored.decode()
    }

    /// Who edited a workload last, and when.
    pub async fn get_latest_edit(&self, name: &str) -> Result<LatestEdit, Error> {
        let mut tx = self.read().await?;
        let found = store::workload::get_latest_edit(&mut tx, self.project(), name).await?;
        found.ok_or_else(|| Error::not_found("workload", name))
    }

    /// One workload with what is pending on its clusters.
    pub async fn get_workload_details(&self, name: &str) -> Result<WorkloadDetails, Error> {
        let mut tx = self.read().await?;
        let stored = self.load_stored_view(&mut tx, name).await?;
        let (id, published) = (stored.head.id, stored.head.published);
        let pending_removals = store::pending_removal::list(&mut tx, id).await?;
        let unreachable = store::release::count_unreachable(&mut tx, id).await?;
        let unreachable = u32::try_from(unreachable).unwrap_or(u32::MAX);
        let healthy_revision = match published {
            Some(published) => find_healthy_revision(&mut tx, id, published).await?,
            None => None,
        };
        let since = self.clock().now().plus_millis(-HEAL_SHOWN_MILLIS);
        let latest_heal =
            store::event::get_latest_of_kind(&mut tx, id, EventKind::DriftHealed, since).await?;
        drop(tx);
        let view = stored.decode()?;
        Ok(WorkloadDetails { view, pending_removals, unreachable, healthy_revision, latest_heal })
    }

    /// What the loops failed to do for a workload.
    pub async fn list_workload_failures(&self, name: &str) -> Result<Vec<WorkloadFailure>, Error> {
        let mut tx = self.read().await?;
        let workload = self.load_workload_head(&mut tx, name).await?;
        load_failures(&mut tx, workload.id).await
    }

    pub(crate) async fn load_workload_view(&self, tx: &mut Tx, name: &str) -> Result<WorkloadView, Error> {
        self.load_stored_view(tx, name).await?.decode()
    }

    async fn load_stored_view(&self, tx: &mut Tx, name: &str) -> Result<StoredView, Error> {
        let unreadable = |error: store::Error| Error::from(error).with_unreadable_workload(name);
        let found = store::workload::find_stored(tx, self.project(), name).await.map_err(unreadable)?;
        let workload = found.ok_or_else(|| Error::not_found("workload", name))?;
        let head = workload.head().map_err(unreadable)?;
        let counts = store::release::counts_by_workload(tx, &[head.id]).await?;
        let counts = counts.into_iter().next().map(|(_, counts)| counts).unwrap_or_default();
        let (mut published_revision, mut rollout) = (None, None);
        if let Some(number) = head.published {
            let found = store::revision::get_existing_stored(tx, head.id, number).await;
            published_revision = Some(found.map_err(unreadable)?);
            rollout = self.load_rollout(tx, head.id, number).await?;
        }
        let failures = load_failures(tx, head.id).await?;
        let suspension = store::suspension::list_of_workloads(tx, &[head.id]).await?.remove(&head.id);
        Ok(StoredView { head, workload, published_revision, counts, rollout, failures, suspension })
    }
}

/// What the loops failed to do for a workload.
async fn load_failures(tx: &mut Tx, id: WorkloadId) -> Result<Vec<WorkloadFailure>, Error> {
    let mut failures = Vec::new();
    for queue in [PLACER, ROLLOUTS] {
        let found = queue.get_failure(tx, id).await?;
        failures.extend(found.map(|found| WorkloadFailure {
            message: found.message,
            attempts: found.attempts,
            retry_at: found.retry_at,
        }));
    }
    Ok(failures)
}
