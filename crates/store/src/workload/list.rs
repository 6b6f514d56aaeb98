//! Pages of workloads with their counts, by name or worst first.

use domain::page::{ListQuery, Page};
use domain::rollup::Counts;
use domain::workload::{Intent, Phase, WorkloadSummary};
use domain::{ProjectId, WorkloadId};

use crate::label::{self, Owner};
use crate::record::{Record, Why, paged};
use crate::sql::{Sql, containing, sql};
use crate::{Error, Tx, cursor, release};

/// The order of a list.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub enum Order {
    /// By name.
    #[default]
    Name,
    /// By the loudest state among their releases, then by name.
    WorstFirst,
}

const SELECT: &str = "SELECT w.id, w.name, w.namespace, w.intent, w.published, w.draft_changed, w.updated_by, \
     w.updated_at, w.worst";
/// -1 is quieter than every state: no release at all.
const FROM: &str = " FROM (SELECT workload.*, COALESCE((SELECT MAX(c.state_rank) FROM release_count c \
     WHERE c.workload_id = workload.id AND c.n > 0), -1) AS worst FROM workload) w WHERE w.project_id = $1";

/// One page of a project's workloads: names that contain `q`, labels that match, a release in one of the states.
pub async fn list(
    tx: &mut Tx,
    project: ProjectId,
    query: &ListQuery,
    order: Order,
) -> Result<Page<WorkloadSummary>, Error> {
    let total = filtered(sql("SELECT COUNT(*)"), project, query)?.number(tx).await?;
    let mut page = filtered(sql(SELECT), project, query)?;
    page = match order {
        Order::Name => by_name(page, query)?,
        Order::WorstFirst => worst_first(page, query)?,
    };
    let limit = query.limit();
    let rows = page.push(" LIMIT ").put(i64::from(limit) + 1).rows(tx).await?;
    let place = |row: &Record<'_>| Ok((row.text("name")?, row.int("worst")?));
    let mut placed = paged(&rows, "workload", place, read);
    let next = cursor::cut(&mut placed, limit, |((name, worst), _)| match order {
        Order::Name => cursor::write("workload", &[name]),
        Order::WorstFirst => cursor::write("worst", &[&worst.to_string(), name]),
    });
    let found: Vec<_> = placed.into_iter().filter_map(|(_, found)| found).collect();
    let ids: Vec<WorkloadId> = found.iter().map(|(summary, _)| summary.id).collect();
    let mut counts = release::counts_by_workload(tx, &ids).await?;
    let counted = |(summary, intent): (WorkloadSummary, Intent)| {
        let counts = counts.remove(&summary.id).unwrap_or_default();
        WorkloadSummary { phase: Phase::of(intent, &counts), counts, ..summary }
    };
    let items = found.into_iter().map(counted).collect();
    Ok(Page { items, next, total: u32::try_from(total).unwrap_or(u32::MAX) })
}

fn by_name(page: Sql, query: &ListQuery) -> Result<Sql, Error> {
    let after = cursor::read("workload", 1, query.cursor.as_deref())?;
    Ok(match after {
        Some(after) => page.push(" AND w.name > ").put(after[0].clone()),
        None => page,
    }
    .push(" ORDER BY w.name"))
}

fn worst_first(page: Sql, query: &ListQuery) -> Result<Sql, Error> {
    let after = cursor::read("worst", 2, query.cursor.as_deref())?;
    Ok(match after {
        Some(after) => {
            let worst = cursor::number(&after[0])?;
            let page = page.push(" AND (w.worst < ").put(worst).push(" OR (w.worst = ").put(worst);
            page.push(" AND w.name > ").put(after[1].clone()).push("))")
        }
        None => page,
    }
    .push(" ORDER BY w.worst DESC, w.name"))
}

fn filtered(head: Sql, project: ProjectId, query: &ListQuery) -> Result<Sql, Error> {
    let mut statement = head.push(FROM).text(project);
    if !query.q.trim().is_empty() {
        statement = statement.push(" AND w.name LIKE ").put(containing(&query.q)).push(" ESCAPE '\\'");
    }
    if !query.label_selector.trim().is_empty() {
        let selector = label::selector(&query.label_selector)?;
        statement = label::matching(statement, Owner::Workload, "w.id", &selector);
    }
    if !query.state.is_empty() {
        let some = " AND EXISTS (SELECT 1 FROM release_count r WHERE r.workload_id = w.id AND r.n > 0 AND ";
        statement = release::in_states(statement.push(some), query).push(")");
    }
    Ok(statement)
}

/// The summary before its counts are known, with the intent its phase follows from.
fn read(row: &Record<'_>) -> Result<(WorkloadSummary, Intent), Why> {
    let intent: Intent = row.word("intent")?;
    let summary = WorkloadSummary {
        id: row.parse("id")?,
        name: row.text("name")?,
        namespace: row.text("namespace")?,
        phase: Phase::of(intent, &Counts::default()),
        published: row.opt_count("published")?,
        draft_changed: row.flag("draft_changed")?,
        counts: Counts::default(),
        updated_by: row.text("updated_by")?,
        updated_at: row.at("updated_at")?,
    };
    Ok((summary, intent))
}
