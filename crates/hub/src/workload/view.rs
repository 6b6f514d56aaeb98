//! One workload for its page.

use domain::WorkloadId;
use domain::event::{Event, EventKind};
use domain::placement::PendingRemoval;
use domain::workload::{LatestEdit, WorkloadFailure, WorkloadPhase, WorkloadView};
use store::Tx;
use store::queue::{PLACER, ROLLOUTS};

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

impl Hub {
    /// One workload with its counts and published revision.
    pub async fn get_workload(&self, name: &str) -> Result<WorkloadView, Error> {
        let mut tx = self.read().await?;
        self.load_workload_view(&mut tx, name).await
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
        let view = self.load_workload_view(&mut tx, name).await?;
        let pending_removals = store::pending_removal::list(&mut tx, view.workload.id).await?;
        let unreachable = store::release::count_unreachable(&mut tx, view.workload.id).await?;
        let unreachable = u32::try_from(unreachable).unwrap_or(u32::MAX);
        let healthy_revision = match view.workload.published {
            Some(published) => find_healthy_revision(&mut tx, view.workload.id, published).await?,
            None => None,
        };
        let since = self.clock().now().plus_millis(-HEAL_SHOWN_MILLIS);
        let latest_heal =
            store::event::get_latest_of_kind(&mut tx, view.workload.id, EventKind::DriftHealed, since)
                .await?;
        Ok(WorkloadDetails { view, pending_removals, unreachable, healthy_revision, latest_heal })
    }

    /// What the loops failed to do for a workload.
    pub async fn list_workload_failures(&self, name: &str) -> Result<Vec<WorkloadFailure>, Error> {
        let mut tx = self.read().await?;
        let workload = self.load_workload_head(&mut tx, name).await?;
        load_failures(&mut tx, workload.id).await
    }

    pub(crate) async fn load_workload_view(&self, tx: &mut Tx, name: &str) -> Result<WorkloadView, Error> {
        let workload = self.load_workload(tx, name).await?;
        let counts = store::release::counts_by_workload(tx, &[workload.id]).await?;
        let counts = counts.into_iter().next().map(|(_, counts)| counts).unwrap_or_default();
        let published_revision = match workload.published {
            Some(number) => {
                let found = store::revision::get_existing(tx, workload.id, number).await;
                Some(found.map_err(|error| Error::from(error).with_unreadable_workload(name))?)
            }
            None => None,
        };
        let rollout = match workload.published {
            Some(number) => self.load_rollout(tx, workload.id, number).await?,
            None => None,
        };
        let phase = WorkloadPhase::from_releases(workload.intent, &counts);
        let failures = load_failures(tx, workload.id).await?;
        Ok(WorkloadView { workload, phase, counts, published_revision, rollout, failures })
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
