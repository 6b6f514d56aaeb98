//! Pages of releases, worst first.

use domain::page::{ListQuery, Page};
use domain::release::Release;
use domain::{ClusterId, WorkloadId};

use super::row::{read_release, select_releases, state_rank};
use crate::decode::{DecodeError, RowReader, decode_page};
use crate::page_bytes::{PageLimit, TEXTS_PAGE_BYTES, byte_length, find_fitting_rows};
use crate::sql::{Sql, like_pattern, sql};
use crate::{Error, Tx, cursor};

/// One list: the column of the owner, the column of the name that sorts releases within a state, and the kind of
/// cursor.
struct ReleaseListColumns {
    owner_column: &'static str,
    name_column: &'static str,
    cursor_kind: &'static str,
}

/// The columns with texts that a cluster reported, or that follow from a revision.
const LONG_COLUMNS: [&str; 7] = [
    "r.facts_comparison",
    "r.message",
    "r.goal",
    "r.policies",
    "r.rollback_policies",
    "r.health_detail",
    "r.stages",
];

const BY_WORKLOAD: ReleaseListColumns = ReleaseListColumns {
    owner_column: "r.workload_id",
    name_column: "r.cluster_name",
    cursor_kind: "workload-releases",
};
const BY_CLUSTER: ReleaseListColumns = ReleaseListColumns {
    owner_column: "r.cluster_id",
    name_column: "r.workload_name",
    cursor_kind: "cluster-releases",
};

/// A workload's releases with the name and region of their clusters: worst first, then by cluster. `q` is a part of the
/// cluster's name.
pub async fn list_by_workload(
    tx: &mut Tx,
    workload: WorkloadId,
    query: &ListQuery,
) -> Result<Page<(Release, String, String)>, Error> {
    list_page(tx, &BY_WORKLOAD, workload.to_string(), query, |row| {
        Ok((read_release(row)?, row.text("cluster_name")?, row.text("region")?))
    })
    .await
}

/// A cluster's releases with the names of their workloads: worst first, then by workload. `q` is a part of the
/// workload's name.
pub async fn list_by_cluster(
    tx: &mut Tx,
    cluster: ClusterId,
    query: &ListQuery,
) -> Result<Page<(Release, String)>, Error> {
    list_page(tx, &BY_CLUSTER, cluster.to_string(), query, |row| {
        Ok((read_release(row)?, row.text("workload_name")?))
    })
    .await
}

/// Adds the condition that `r` is in one of the states of the query; unknown names of states match nothing. By rank,
/// because that is what the indexes contain.
pub(crate) fn push_state_filter(statement: Sql, query: &ListQuery) -> Sql {
    let ranks: Vec<String> = query.states().into_iter().map(|state| state_rank(state).to_string()).collect();
    let ranks = if ranks.is_empty() { "NULL".to_owned() } else { ranks.join(", ") };
    statement.push("r.state_rank IN (").push(&ranks).push(")")
}

async fn list_page<T>(
    tx: &mut Tx,
    shape: &ReleaseListColumns,
    owner: String,
    query: &ListQuery,
    read: impl Fn(&RowReader<'_>) -> Result<T, DecodeError>,
) -> Result<Page<T>, Error> {
    let after = cursor::decode(shape.cursor_kind, 2, query.cursor.as_deref())?;
    let total = push_filters(sql("SELECT COUNT(*) FROM release r"), shape, owner.clone(), query)
        .fetch_number(tx)
        .await?;
    let after = after.map(|after| Ok::<_, Error>((cursor::parse_number(&after[0])?, after[1].clone())));
    let after = after.transpose()?;
    let first = |statement: Sql, count: i64| {
        let statement = push_filters(statement, shape, owner.clone(), query);
        push_place(statement, shape, after.as_ref()).push_bind(count)
    };
    let bytes = byte_length(&LONG_COLUMNS);
    let sizes = sql("SELECT r.id, ").push(&bytes).push(" AS bytes FROM release r");
    let limit = PageLimit { rows: query.limit(), bytes: TEXTS_PAGE_BYTES };
    let sizes = first(sizes, i64::from(limit.rows) + 1);
    let fitting = find_fitting_rows(tx, sizes, limit, |row| row.text("id")).await?;
    let head = select_releases().push(", c.region FROM release r JOIN cluster c ON c.id = r.cluster_id");
    let rows = first(head, i64::from(fitting.count)).fetch_all(tx).await?;
    let name = &shape.name_column["r.".len()..];
    let placed = decode_page(&rows, "release", |row| Ok((row.int("state_rank")?, row.text(name)?)), read);
    let next = placed
        .last()
        .filter(|_| fitting.has_more)
        .map(|((rank, name), _)| cursor::encode(shape.cursor_kind, &[&rank.to_string(), name]));
    let items = placed.into_iter().filter_map(|(_, item)| item).collect();
    Ok(Page { items, next, total: u32::try_from(total).unwrap_or(u32::MAX) })
}

/// Adds the place where the page begins, the order, and a limit without its value.
fn push_place(statement: Sql, shape: &ReleaseListColumns, after: Option<&(i64, String)>) -> Sql {
    let statement = match after {
        None => statement,
        Some((rank, name)) => statement
            .push(" AND (r.state_rank < ")
            .push_bind(*rank)
            .push(" OR (r.state_rank = ")
            .push_bind(*rank)
            .push(" AND ")
            .push(shape.name_column)
            .push(" > ")
            .push_bind(name.clone())
            .push("))"),
    };
    statement.push(" ORDER BY r.state_rank DESC, ").push(shape.name_column).push(" LIMIT ")
}

fn push_filters(head: Sql, shape: &ReleaseListColumns, owner: String, query: &ListQuery) -> Sql {
    let mut statement = head.push(" WHERE ").push(shape.owner_column).push(" = ").push_bind(owner);
    if !query.state.is_empty() {
        statement = push_state_filter(statement.push(" AND "), query);
    }
    if !query.q.trim().is_empty() {
        statement =
            statement.push(" AND ").push(shape.name_column).push(" LIKE ").push_bind(like_pattern(&query.q));
        statement = statement.push(" ESCAPE '\\'");
    }
    statement
}
