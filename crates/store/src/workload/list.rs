//! Pages of workloads with their counts, in the order of a column.

use domain::labels::Labels;
use domain::page::{ListQuery, Page};
use domain::release::ReleaseState;
use domain::rollup::ReleaseCounts;
use domain::workload::{
    Intent, UNREADABLE_WORKLOAD_HINT, WorkloadOrder, WorkloadPhase, WorkloadSpec, WorkloadSummary,
};
use domain::{ProjectId, WorkloadId};

use crate::decode::{DecodeError, RowReader, decode_page, decode_row};
use crate::label::{self, LabelOwner};
use crate::release::row::state_rank;
use crate::sql::{Sql, like_pattern, sql};
use crate::{Error, Tx, cursor, release};

/// The bytes of drafts with more than 64 KiB that a page checks, the first ones first.
const MAX_CHECKED_BYTES: i64 = 8 * 1024 * 1024;

/// The draft is only checked: here if it has at most 64 KiB, because a page has up to 500 rows, else by [`check_large_drafts`].
const SELECT: &str = "SELECT w.id, w.name, w.namespace, w.intent, w.published_revision, w.draft_changed, w.updated_by, \
     w.updated_at, w.labels, CASE WHEN LENGTH(w.draft) <= 65536 THEN w.draft END AS draft, \
     LENGTH(w.draft) AS draft_length";
/// What a list is sorted by, beside the columns of the table. -1 ranks below every state: no release at all. The rank of the
/// healthy state follows.
const FROM: &str = " FROM (SELECT workload.*, COALESCE((SELECT MAX(c.state_rank) FROM release_count c \
     WHERE c.workload_id = workload.id AND c.total > 0), -1) AS worst, \
     COALESCE(workload.published_revision, 0) AS latest, \
     COALESCE((SELECT CAST(SUM(c.total) AS BIGINT) FROM release_count c \
     WHERE c.workload_id = workload.id AND c.state_rank > ";
const OF_PROJECT: &str = "), 0) AS unhealthy FROM workload) w WHERE w.project_id = $1";

/// One page of a project's workloads, filtered by part `q` of the name, label selector and release state.
pub async fn list(
    tx: &mut Tx,
    project: ProjectId,
    query: &ListQuery,
    order: WorkloadOrder,
) -> Result<Page<WorkloadSummary>, Error> {
    let total = push_filters(sql("SELECT COUNT(*)"), project, query)?.fetch_number(tx).await?;
    let column = number_column(order);
    let head = match column {
        Some(column) => sql(SELECT).push(", w.").push(column).push(" AS sort_number"),
        None => sql(SELECT),
    };
    let mut page = push_filters(head, project, query)?;
    page = match column {
        Some(column) => push_descending_order(page, query, column)?,
        None if order == WorkloadOrder::Namespace => push_namespace_order(page, query)?,
        None => push_name_order(page, query)?,
    };
    let limit = query.limit();
    let rows = page.push(" LIMIT ").push_bind(i64::from(limit) + 1).fetch_all(tx).await?;
    let place = |row: &RowReader<'_>| {
        let number = if column.is_some() { row.int("sort_number")? } else { 0 };
        Ok((row.text("name")?, row.text("namespace").unwrap_or_default(), number))
    };
    let mut placed = decode_page(&rows, "workload", place, read_or_mark);
    let next = cursor::truncate_page(&mut placed, limit, |((name, namespace, number), _)| match column {
        Some(column) => cursor::encode(column, &[&number.to_string(), name]),
        None if order == WorkloadOrder::Namespace => cursor::encode("namespace", &[namespace, name]),
        None => cursor::encode("workload", &[name]),
    });
    let mut found: Vec<_> = placed.into_iter().filter_map(|(_, found)| found).collect();
    check_large_drafts(tx, &mut found).await?;
    let ids: Vec<WorkloadId> = found.iter().map(|row| row.summary.id).collect();
    let mut counts = release::counts_by_workload(tx, &ids).await?;
    let counted = |ListedRow { summary, intent, .. }: ListedRow| {
        let counts = counts.remove(&summary.id).unwrap_or_default();
        let phase =
            intent.map_or(WorkloadPhase::Unreadable, |intent| WorkloadPhase::from_releases(intent, &counts));
        WorkloadSummary { phase, counts, ..summary }
    };
    let items = found.into_iter().map(counted).collect();
    Ok(Page { items, next, total: u32::try_from(total).unwrap_or(u32::MAX) })
}

/// A workload of a page, before its releases are counted.
struct ListedRow {
    summary: WorkloadSummary,
    /// The intent that its phase follows from; `None` if it can't be read.
    intent: Option<Intent>,
    /// The length of a draft that was not checked yet, in characters.
    unchecked_length: Option<i64>,
}

/// Marks the workloads whose large drafts can't be read, as far as [`MAX_CHECKED_BYTES`] suffice.
async fn check_large_drafts(tx: &mut Tx, rows: &mut [ListedRow]) -> Result<(), Error> {
    let mut remaining = MAX_CHECKED_BYTES;
    for row in rows {
        let Some(length) = row.unchecked_length.filter(|length| *length <= remaining) else { continue };
        remaining -= length;
        let draft = sql("SELECT id, draft FROM workload WHERE id = $1").bind_text(row.summary.id);
        let check = |row: &RowReader<'_>| Ok(row.json::<WorkloadSpec>("draft").err());
        let why = decode_row(draft.fetch_optional(tx).await?, "workload", check)?.flatten();
        row.summary.unreadable = why.map(|why| unreadable(&why));
    }
    Ok(())
}

/// The column by which an order lists the greatest number first; `None` if it is by a text.
const fn number_column(order: WorkloadOrder) -> Option<&'static str> {
    match order {
        WorkloadOrder::Name | WorkloadOrder::Namespace => None,
        WorkloadOrder::WorstFirst => Some("worst"),
        WorkloadOrder::LeastHealthy => Some("unhealthy"),
        WorkloadOrder::Revision => Some("latest"),
        WorkloadOrder::Newest => Some("updated_at"),
    }
}

fn push_namespace_order(page: Sql, query: &ListQuery) -> Result<Sql, Error> {
    let after = cursor::decode("namespace", 2, query.cursor.as_deref())?;
    Ok(match after {
        Some(after) => {
            let page = page.push(" AND (w.namespace > ").push_bind(after[0].clone());
            let page = page.push(" OR (w.namespace = ").push_bind(after[0].clone());
            page.push(" AND w.name > ").push_bind(after[1].clone()).push("))")
        }
        None => page,
    }
    .push(" ORDER BY w.namespace, w.name"))
}

fn push_name_order(page: Sql, query: &ListQuery) -> Result<Sql, Error> {
    let after = cursor::decode("workload", 1, query.cursor.as_deref())?;
    Ok(match after {
        Some(after) => page.push(" AND w.name > ").push_bind(after[0].clone()),
        None => page,
    }
    .push(" ORDER BY w.name"))
}

/// By the number in `column`, the greatest first, then by name. The cursor of such a list has the name of the column.
fn push_descending_order(page: Sql, query: &ListQuery, column: &'static str) -> Result<Sql, Error> {
    let after = cursor::decode(column, 2, query.cursor.as_deref())?;
    Ok(match after {
        Some(after) => {
            let number = cursor::parse_number(&after[0])?;
            let page = page.push(" AND (w.").push(column).push(" < ").push_bind(number);
            let page = page.push(" OR (w.").push(column).push(" = ").push_bind(number);
            page.push(" AND w.name > ").push_bind(after[1].clone()).push("))")
        }
        None => page,
    }
    .push(" ORDER BY w.")
    .push(column)
    .push(" DESC, w.name"))
}

fn push_filters(head: Sql, project: ProjectId, query: &ListQuery) -> Result<Sql, Error> {
    let healthy = state_rank(ReleaseState::Healthy).to_string();
    let mut statement = head.push(FROM).push(&healthy).push(OF_PROJECT).bind_text(project);
    if !query.q.trim().is_empty() {
        statement =
            statement.push(" AND w.name LIKE ").push_bind(like_pattern(&query.q)).push(" ESCAPE '\\'");
    }
    if !query.label_selector.trim().is_empty() {
        let selector = label::parse_selector(&query.label_selector)?;
        statement = label::push_selector(statement, LabelOwner::Workload, "w.id", &selector);
    }
    if !query.state.is_empty() {
        let some =
            " AND EXISTS (SELECT 1 FROM release_count r WHERE r.workload_id = w.id AND r.total > 0 AND ";
        statement = release::push_state_filter(statement.push(some), query).push(")");
    }
    Ok(statement)
}

/// A row that can't be read is marked.
fn read_or_mark(row: &RowReader<'_>) -> Result<ListedRow, DecodeError> {
    let why = match (read(row), check_json(row)) {
        (Ok((summary, intent)), Ok(is_checked)) => {
            let unchecked_length = if is_checked { None } else { Some(row.int("draft_length")?) };
            return Ok(ListedRow { summary, intent: Some(intent), unchecked_length });
        }
        (Ok((summary, intent)), Err(why)) => {
            let summary = WorkloadSummary { unreadable: Some(unreadable(&why)), ..summary };
            return Ok(ListedRow { summary, intent: Some(intent), unchecked_length: None });
        }
        (Err(why), _) => why,
    };
    let summary = WorkloadSummary {
        id: row.parse("id")?,
        name: row.text("name")?,
        namespace: row.text("namespace").unwrap_or_default(),
        phase: WorkloadPhase::Unreadable,
        published: row.opt_count("published_revision").unwrap_or_default(),
        draft_changed: row.flag("draft_changed").unwrap_or_default(),
        counts: ReleaseCounts::default(),
        updated_by: row.text("updated_by").unwrap_or_default(),
        updated_at: row.timestamp("updated_at")?,
        unreadable: Some(unreadable(&why)),
    };
    Ok(ListedRow { summary, intent: None, unchecked_length: None })
}

/// Why a workload is shown as unreadable, and what to do.
fn unreadable(why: &str) -> String {
    format!("Its stored row can't be read: {why}. {UNREADABLE_WORKLOAD_HINT}")
}

/// The summary without its counts, and the intent that its phase follows from.
fn read(row: &RowReader<'_>) -> Result<(WorkloadSummary, Intent), DecodeError> {
    let intent: Intent = row.enum_value("intent")?;
    let summary = WorkloadSummary {
        id: row.parse("id")?,
        name: row.text("name")?,
        namespace: row.text("namespace")?,
        phase: WorkloadPhase::from_releases(intent, &ReleaseCounts::default()),
        published: row.opt_count("published_revision")?,
        draft_changed: row.flag("draft_changed")?,
        counts: ReleaseCounts::default(),
        updated_by: row.text("updated_by")?,
        updated_at: row.timestamp("updated_at")?,
        unreadable: None,
    };
    Ok((summary, intent))
}

/// Checks that the structures of the row can be read, which are not part of a summary; returns whether the draft was among them.
fn check_json(row: &RowReader<'_>) -> Result<bool, DecodeError> {
    row.json::<Labels>("labels")?;
    Ok(row.opt_json::<WorkloadSpec>("draft")?.is_some())
}
