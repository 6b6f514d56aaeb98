//! The cluster's side of tombstones: leftovers that it reports, and removals that it completed (S1-23, P3, P17).

use domain::event::{EventDetail, EventSubject, NewEvent};
use domain::release::Release;
use domain::report::ReleaseReport;
use domain::{ClusterId, ReleaseId};
use store::{Tx, tombstone};

use crate::hub::CommitEffects;
use crate::{Error, Hub};

impl Hub {
    /// Orders the removal of leftovers that have a tombstone. Others stay: a record that this hub does not know is no
    /// reason to delete anything.
    pub(super) async fn record_leftovers(
        &self,
        tx: &mut Tx,
        cluster: ClusterId,
        leftovers: &[ReleaseId],
        effects: &mut CommitEffects,
    ) -> Result<(), Error> {
        if tombstone::assign(tx, cluster, leftovers).await? > 0 {
            effects.changed_clusters.push(cluster);
        }
        Ok(())
    }

    /// Records a report about a release of which only a tombstone is left, or that was given up. Returns whether it was
    /// about one of this cluster.
    pub(super) async fn record_cleanup(
        &self,
        tx: &mut Tx,
        cluster: ClusterId,
        (report, release): (&ReleaseReport, Option<Release>),
        effects: &mut CommitEffects,
    ) -> Result<bool, Error> {
        let found = tombstone::get(tx, report.release).await?;
        let Some(tombstone) = found.filter(|found| found.cluster == cluster) else { return Ok(false) };
        if !report.removed || report.generation != tombstone.generation {
            return Ok(true);
        }
        tombstone::delete(tx, tombstone.release).await?;
        let now = self.clock().now();
        if let Some(mut release) = release.filter(|release| release.cluster() == cluster)
            && release.confirm_cleanup(tombstone.deletion, now)
        {
            store::release::update(tx, &release).await?;
        }
        // The cluster may have joined again under another name.
        let name = store::cluster::get_name(tx, cluster).await?.unwrap_or(tombstone.cluster_name);
        let subject = EventSubject {
            workload: Some((tombstone.workload, tombstone.workload_name)),
            cluster: Some((cluster, name)),
            release: Some(tombstone.release),
            object: None,
        };
        let detail = EventDetail::CleanedUp { deletion: tombstone.deletion, since: tombstone.created_at };
        effects.events.push(NewEvent::from_detail(detail, "flotilla", subject, now));
        effects.changed_clusters.push(cluster);
        Ok(true)
    }
}
