//! The query of the fleet page.

use std::collections::HashMap;

use domain::event::{Event, EventKind};
use domain::fleet::{
    AttentionItem, ClusterOutages, FleetColumn, FleetOverview, FleetRow, FleetStatus, MAX_ATTENTION,
};
use domain::page::ListQuery;
use domain::release::ReleaseState;
use domain::request::EventQuery;
use domain::rollout::Rollout;
use domain::workload::WorkloadOrder;
use domain::{ClusterId, Severity, Timestamp};

use crate::{Error, Hub};

/// Rows without a limit in the query.
const DEFAULT_ROWS: u32 = 50;
/// Columns shown.
const MAX_COLUMNS: u32 = 60;
/// Clusters that do not report, listed with their releases.
const MAX_NOT_REPORTING: u32 = 20;
/// Rollouts that wait for a person, read to list the oldest of them.
const MAX_ROLLOUTS: u32 = 200;
/// Recent events listed.
const MAX_RECENT: usize = 60;
/// Events read to find them.
const EVENTS_READ: u32 = 200;

/// Whether an event only reports progress of a release: the release's own timeline shows those.
fn is_progress_event(event: &Event) -> bool {
    event.kind == EventKind::ReleaseChanged && event.severity == Severity::Note
}

/// A rollout that waits for a person, as an attention row.
fn rollout_attention(workload: &str, rollout: &Rollout, now: Timestamp) -> AttentionItem {
    AttentionItem {
        workload: rollout.workload,
        workload_name: workload.to_owned(),
        state: ReleaseState::Blocked,
        message: rollout.message(now),
        clusters: Vec::new(),
        count: rollout.waves.iter().map(|wave| wave.gated).sum(),
        since: rollout.since,
    }
}

impl Hub {
    /// The number of workloads and the number of clusters.
    pub async fn count_fleet(&self) -> Result<(u32, u32), Error> {
        let mut tx = self.read().await?;
        let workloads = store::workload::count(&mut tx, self.project()).await?;
        let first = ListQuery { limit: Some(1), ..ListQuery::default() };
        Ok((workloads, store::cluster::list(&mut tx, &first).await?.total))
    }

    /// How many clusters are not online, with the longest outage.
    pub async fn get_cluster_outages(&self) -> Result<ClusterOutages, Error> {
        let mut tx = self.read().await?;
        let first = ListQuery { limit: Some(1), ..ListQuery::default() };
        Ok(ClusterOutages {
            clusters_total: store::cluster::list(&mut tx, &first).await?.total,
            not_online: store::cluster::count_not_online(&mut tx).await?,
            longest: store::cluster::list_not_reporting(&mut tx, 1).await?.pop(),
        })
    }

    /// The state of the fleet, see [`Self::get_fleet_status`], and recent events without the progress of releases.
    pub async fn get_fleet(&self, query: &ListQuery) -> Result<FleetOverview, Error> {
        let recent =
            self.list_events(&EventQuery { limit: Some(EVENTS_READ), ..EventQuery::default() }).await?;
        let recent =
            recent.events.into_iter().filter(|event| !is_progress_event(event)).take(MAX_RECENT).collect();
        Ok(FleetOverview { status: self.get_fleet_status(query).await?, recent })
    }

    /// The first page of workloads, worst first, as rows, and the first page of clusters as columns; `query` filters
    /// the rows.
    pub async fn get_fleet_status(&self, query: &ListQuery) -> Result<FleetStatus, Error> {
        let mut tx = self.read().await?;
        let rows = ListQuery { limit: Some(query.limit.unwrap_or(DEFAULT_ROWS)), ..query.clone() };
        let rows = store::workload::list(&mut tx, self.project(), &rows, WorkloadOrder::WorstFirst).await?;
        let columns = ListQuery { limit: Some(MAX_COLUMNS), ..ListQuery::default() };
        let columns = store::cluster::list(&mut tx, &columns).await?;
        let mut shown: Vec<FleetColumn> = columns
            .items
            .iter()
            .map(|cluster| FleetColumn {
                id: cluster.id,
                name: cluster.name.clone(),
                region: cluster.region().to_owned(),
                connectivity: cluster.connectivity,
                last_seen: cluster.last_seen,
            })
            .collect();
        shown.sort_by(|a, b| (&a.region, &a.name).cmp(&(&b.region, &b.name)));
        let workloads: Vec<_> = rows.items.iter().map(|row| row.id).collect();
        let clusters: Vec<ClusterId> = shown.iter().map(|column| column.id).collect();
        let cells = store::release::list_cells(&mut tx, &workloads, &clusters).await?;
        let mut cells: HashMap<_, _> =
            cells.into_iter().map(|cell| ((cell.workload, cell.cluster), cell.cell)).collect();
        let rollouts = store::rollout::list_needing_attention(&mut tx, MAX_ROLLOUTS).await?;
        let mut attention: Vec<AttentionItem> = rollouts
            .iter()
            .map(|(name, rollout)| rollout_attention(name, rollout, self.clock().now()))
            .collect();
        attention.sort_by_key(|one| one.since);
        attention.truncate(MAX_ATTENTION as usize);
        attention.extend(store::release::list_attention(&mut tx, MAX_ATTENTION).await?);
        let rows_total = store::workload::count(&mut tx, self.project()).await?;
        let rows = rows.items.into_iter().map(|row| FleetRow {
            cells: clusters.iter().map(|cluster| cells.remove(&(row.id, *cluster))).collect(),
            id: row.id,
            name: row.name,
            counts: row.counts,
        });
        Ok(FleetStatus {
            counts: store::release::counts_all(&mut tx).await?,
            workloads_total: rows_total,
            clusters_total: columns.total,
            clusters_not_online: store::cluster::count_not_online(&mut tx).await?,
            not_reporting: store::cluster::list_not_reporting(&mut tx, MAX_NOT_REPORTING).await?,
            rows: rows.collect(),
            columns: shown,
            rollouts_waiting: store::rollout::count_needing_attention(&mut tx).await?,
            attention,
            read_at: self.clock().now(),
        })
    }
}
