//! The fleet page's one query.

use std::collections::HashMap;

use domain::event::{Event, EventKind};
use domain::fleet::{Attention, Fleet, FleetColumn, FleetRow};
use domain::page::ListQuery;
use domain::release::State;
use domain::rollout::Rollout;
use domain::{ClusterId, Severity, Timestamp};
use store::workload::Order;

use crate::{Error, EventQuery, Hub};

/// Rows shown: what fits on a page that is read, not scrolled.
const ROWS: u32 = 50;
/// Columns shown; a larger fleet is read by filters.
const COLUMNS: u32 = 60;
/// Faults listed.
const ATTENTION: u32 = 20;
/// Rollouts that wait for a person looked at for them; the oldest are listed.
const ROLLOUTS: u32 = 200;
/// Recent events listed.
const RECENT: usize = 12;
/// Events looked at for them.
const LOOKED_AT: u32 = 200;

/// Whether an event is only a step of a delivery on its way: the release's own timeline shows those.
fn is_a_step(event: &Event) -> bool {
    event.kind == EventKind::ReleaseChanged && event.severity == Severity::Note
}

/// A rollout that waits for a person, as a line of what needs one.
fn waiting(workload: &str, rollout: &Rollout, now: Timestamp) -> Attention {
    Attention {
        workload: rollout.workload,
        workload_name: workload.to_owned(),
        state: State::Blocked,
        message: rollout.sentence(now),
        clusters: Vec::new(),
        count: rollout.waves.iter().map(|wave| wave.held).sum(),
        since: rollout.since,
    }
}

impl Hub {
    /// The fleet at a glance: the first page of workloads, worst first, against the first page of clusters; `query`
    /// filters the rows.
    pub async fn fleet(&self, query: &ListQuery) -> Result<Fleet, Error> {
        let recent = self.event_list(&EventQuery { limit: LOOKED_AT, ..EventQuery::default() }).await?;
        let recent = recent.into_iter().filter(|event| !is_a_step(event)).take(RECENT).collect();
        let mut tx = self.read().await?;
        let rows = ListQuery { limit: Some(query.limit.unwrap_or(ROWS)), ..query.clone() };
        let rows = store::workload::list(&mut tx, self.project(), &rows, Order::WorstFirst).await?;
        let columns = ListQuery { limit: Some(COLUMNS), ..ListQuery::default() };
        let columns = store::cluster::list(&mut tx, &columns).await?;
        let mut shown: Vec<FleetColumn> = columns
            .items
            .iter()
            .map(|cluster| FleetColumn {
                id: cluster.id,
                name: cluster.name.clone(),
                region: cluster.region().to_owned(),
                reach: cluster.reach,
                last_seen: cluster.last_seen,
            })
            .collect();
        shown.sort_by(|a, b| (&a.region, &a.name).cmp(&(&b.region, &b.name)));
        let workloads: Vec<_> = rows.items.iter().map(|row| row.id).collect();
        let clusters: Vec<ClusterId> = shown.iter().map(|column| column.id).collect();
        let cells = store::release::cells(&mut tx, &workloads, &clusters).await?;
        let mut cells: HashMap<_, _> =
            cells.into_iter().map(|cell| ((cell.workload, cell.cluster), cell.cell)).collect();
        let rollouts = store::rollout::needing_a_person(&mut tx, ROLLOUTS).await?;
        let mut attention: Vec<Attention> =
            rollouts.iter().map(|(name, rollout)| waiting(name, rollout, self.clock().now())).collect();
        attention.sort_by_key(|one| one.since);
        attention.truncate(ATTENTION as usize);
        attention.extend(store::release::attention(&mut tx, ATTENTION).await?);
        let rows_total = store::workload::count(&mut tx, self.project()).await?;
        let rows = rows.items.into_iter().map(|row| FleetRow {
            cells: clusters.iter().map(|cluster| cells.remove(&(row.id, *cluster))).collect(),
            id: row.id,
            name: row.name,
            counts: row.counts,
        });
        Ok(Fleet {
            counts: store::release::counts_all(&mut tx).await?,
            workloads_total: rows_total,
            clusters_total: columns.total,
            clusters_silent: store::cluster::count_silent(&mut tx).await?,
            rows: rows.collect(),
            columns: shown,
            rollouts_waiting: store::rollout::count_waiting(&mut tx).await?,
            attention,
            recent,
            at: self.clock().now(),
        })
    }
}
