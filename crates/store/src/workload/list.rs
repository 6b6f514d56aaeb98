//! Pages of workloads with their counts, in one of several orders.

use std::borrow::Cow;

use domain::labels::Labels;
use domain::page::{ListQuery, Page};
use domain::release::ReleaseState;
use domain::rollup::ReleaseCounts;
use domain::workload::{
    Intent, UNREADABLE_WORKLOAD_HINT, WorkloadOrder, WorkloadPhase, WorkloadSpec, WorkloadSummary,
};
use domain::{ProjectId, WorkloadId};

use crate::admission::admit_column;
use crate::decode::{DecodeError, RowReader, decode_page, decode_row};
use crate::label::{self, LabelOwner};
use crate::sql::{Sql, like_pattern, sql};
use crate::{Error, Tx, cursor, release};

/// The bytes of drafts with more than 64 KiB that a page checks, the first ones first.
const MAX_CHECKED_BYTES: i64 = 8 * 1024 * 1024;

/// The draft is only checked: here if it has at most 64 KiB, because a page has up to 500 rows, else by [`check_large_drafts`].
const SELECT: &str = "SELECT w.id, w.name, w.namespace, w.intent, w.published_revision, w.draft_changed, w.updated_by, \
     w.updated_at, w.order_value, w.labels, CASE WHEN LENGTH(w.draft) <= 65536 THEN w.draft END AS draft, \
     LENGTH(w.draft) AS draft_length";
/// The number by which an order sorts, the greatest first; -1 is below every other one.
fn order_value(order: WorkloadOrder) -> Cow<'static, str> {
    Cow::Borrowed(match order {
        // Sorted by texts.
        WorkloadOrder::Name | WorkloadOrder::Namespace => "CAST(0 AS BIGINT)",
        WorkloadOrder::WorstFirst => {
            "COALESCE((SELECT MAX(c.state_rank) FROM release_count c \
             WHERE c.workload_id = workload.id AND c.total > 0), -1)"
        }
        WorkloadOrder::Newest => "workload.updated_at",
        WorkloadOrder::Revision => "COALESCE(workload.published_revision, -1)",
        WorkloadOrder::LeastHealthy => return Cow::Owned(unhealthy_share()),
    })
}

/// The releases that are not healthy, of 1000 that are not gone.
fn unhealthy_share() -> String {
    let names = |states: fn(ReleaseState) -> bool| {
        let names = ReleaseState::ALL.iter().copied().filter(|state| states(*state));
        names.map(|state| format!("'{}'", state.as_str())).collect::<Vec<_>>().join(", ")
    };
    let (healthy, gone) = (names(|state| state == ReleaseState::Healthy), names(ReleaseState::is_gone));
    format!(
        "COALESCE((SELECT CAST(SUM(CASE WHEN c.state = {healthy} THEN 0 ELSE c.total END) AS BIGINT) * 1000 \
         / CAST(SUM(c.total) AS BIGINT) FROM release_count c \
         WHERE c.workload_id = workload.id AND c.total > 0 AND c.state NOT IN ({gone})), -1)"
    )
}

/// The kind of the cursors of an order.
const fn cursor_kind(order: WorkloadOrder) -> &'static str {
    match order {
        WorkloadOrder::Name => "workload",
        WorkloadOrder::WorstFirst => "worst",
        WorkloadOrder::Newest => "updated_at",
        WorkloadOrder::LeastHealthy => "unhealthy",
        WorkloadOrder::Revision => "revision",
        WorkloadOrder::Namespace => "namespace",
    }
}

/// One page of a project's workloads, filtered by part `q` of the name, label selector and release state.
pub async fn list(
    tx: &mut Tx,
    project: ProjectId,
    query: &ListQuery,
    order: WorkloadOrder,
) -> Result<Page<WorkloadSummary>, Error> {
    let count = push_filters(sql("SELECT COUNT(*)"), project, query, WorkloadOrder::Name)?;
    let total = count.fetch_number(tx).await?;
    let mut page = push_filters(sql(SELECT), project, query, order)?;
    page = match order {
        WorkloadOrder::Name => push_name_order(page, query)?,
        WorkloadOrder::Namespace => push_namespace_order(page, query)?,
        WorkloadOrder::WorstFirst
        | WorkloadOrder::Newest
        | WorkloadOrder::LeastHealthy
        | WorkloadOrder::Revision => push_descending_order(page, query, cursor_kind(order))?,
    };
    let limit = query.limit();
    let rows = page.push(" LIMIT ").push_bind(i64::from(limit) + 1).fetch_all(tx).await?;
    let place = |row: &RowReader<'_>| {
        let first = match order {
            WorkloadOrder::Namespace => row.text("namespace")?,
            _ => row.int("order_value")?.to_string(),
        };
        Ok((first, row.text("name")?))
    };
    let mut placed = decode_page(&rows, "workload", place, read_or_mark);
    let next = cursor::truncate_page(&mut placed, limit, |((first, name), _)| match order {
        WorkloadOrder::Name => cursor::encode(cursor_kind(order), &[name]),
        _ => cursor::encode(cursor_kind(order), &[first, name]),
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

/// Marks the workloads whose large drafts can't be read, as far as [`MAX_CHECKED_BYTES`] and the memory for their values suffice: one draft
/// must not make the list of all fail.
async fn check_large_drafts(tx: &mut Tx, rows: &mut [ListedRow]) -> Result<(), Error> {
    let mut remaining = MAX_CHECKED_BYTES;
    for row in rows {
        let Some(length) = row.unchecked_length.filter(|length| *length <= remaining) else { continue };
        remaining -= length;
        let draft = sql("SELECT id, draft FROM workload WHERE id = $1").bind_text(row.summary.id);
        let check = |row: &RowReader<'_>| Ok(row.json::<WorkloadSpec>("draft").err());
        let draft = draft.fetch_optional(tx).await?;
        if draft.as_ref().is_some_and(|draft| admit_column(draft, "workload", "draft").is_err()) {
            continue;
        }
        let why = decode_row(draft, "workload", check)?.flatten();
        row.summary.unreadable = why.map(|why| unreadable(&why));
    }
    Ok(())
}

fn push_name_order(page: Sql, query: &ListQuery) -> Result<Sql, Error> {
    let after = cursor::decode(cursor_kind(WorkloadOrder::Name), 1, query.cursor.as_deref())?;
    Ok(match after {
        Some(after) => page.push(" AND w.name > ").push_bind(after[0].clone()),
        None => page,
    }
    .push(" ORDER BY w.name"))
}

fn push_namespace_order(page: Sql, query: &ListQuery) -> Result<Sql, Error> {
    let after = cursor::decode(cursor_kind(WorkloadOrder::Namespace), 2, query.cursor.as_deref())?;
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

/// By [`order_value`], the greatest first, then by name. `kind` is that of the cursor.
fn push_descending_order(page: Sql, query: &ListQuery, kind: &'static str) -> Result<Sql, Error> {
    let after = cursor::decode(kind, 2, query.cursor.as_deref())?;
    Ok(match after {
        Some(after) => {
            let number = cursor::parse_number(&after[0])?;
            let page = page.push(" AND (w.order_value < ").push_bind(number);
            let page = page.push(" OR (w.order_value = ").push_bind(number);
            page.push(" AND w.name > ").push_bind(after[1].clone()).push("))")
        }
        None => page,
    }
    .push(" ORDER BY w.order_value DESC, w.name"))
}

fn push_filters(
    head: Sql,
    project: ProjectId,
    query: &ListQuery,
    order: WorkloadOrder,
) -> Result<Sql, Error> {
    let mut statement = head
        .push(" FROM (SELECT workload.*, ")
        .push(&order_value(order))
        .push(" AS order_value FROM workload) w WHERE w.project_id = $1")
        .bind_text(project);
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
        suspension: None,
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
        suspension: None,
    };
    Ok((summary, intent))
}

/// Checks that the structures of the row can be read, which are not part of a summary; returns whether the draft was among them.
fn check_json(row: &RowReader<'_>) -> Result<bool, DecodeError> {
    row.json::<Labels>("labels")?;
    Ok(row.opt_json::<WorkloadSpec>("draft")?.is_some())
}
