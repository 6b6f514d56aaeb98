//! Pages of releases, worst first.

use domain::page::{ListQuery, Page};
use domain::release::Release;
use domain::{ClusterId, WorkloadId};

use super::row::{SELECT, rank, read};
use crate::record::{Record, Why, paged};
use crate::sql::{Sql, containing, sql};
use crate::{Error, Tx, cursor};

/// One list: whose releases, and the name they are sorted by within a state.
struct Shape {
    owner: &'static str,
    name: &'static str,
    cursor: &'static str,
}

const OF_WORKLOAD: Shape = Shape { owner: "r.workload_id", name: "r.cluster_name", cursor: "of-workload" };
const OF_CLUSTER: Shape = Shape { owner: "r.cluster_id", name: "r.workload_name", cursor: "of-cluster" };

/// A workload's releases with the name and region of their clusters: worst first, then by cluster. `q` is a part of the
/// cluster's name.
pub async fn of_workload(
    tx: &mut Tx,
    workload: WorkloadId,
    query: &ListQuery,
) -> Result<Page<(Release, String, String)>, Error> {
    page(tx, &OF_WORKLOAD, workload.to_string(), query, |row| {
        Ok((read(row)?, row.text("cluster_name")?, row.text("region")?))
    })
    .await
}

/// A cluster's releases with the names of their workloads: worst first, then by workload. `q` is a part of the
/// workload's name.
pub async fn of_cluster(
    tx: &mut Tx,
    cluster: ClusterId,
    query: &ListQuery,
) -> Result<Page<(Release, String)>, Error> {
    page(tx, &OF_CLUSTER, cluster.to_string(), query, |row| Ok((read(row)?, row.text("workload_name")?)))
        .await
}

/// Adds the condition that `r` is in one of the states asked for; of words that are no states, none. By rank, because
/// that is what the indexes hold.
pub(crate) fn in_states(statement: Sql, query: &ListQuery) -> Sql {
    let ranks: Vec<String> = query.states().into_iter().map(|state| rank(state).to_string()).collect();
    let ranks = if ranks.is_empty() { "NULL".to_owned() } else { ranks.join(", ") };
    statement.push("r.state_rank IN (").push(&ranks).push(")")
}

async fn page<T>(
    tx: &mut Tx,
    shape: &Shape,
    owner: String,
    query: &ListQuery,
    read: impl Fn(&Record<'_>) -> Result<T, Why>,
) -> Result<Page<T>, Error> {
    let after = cursor::read(shape.cursor, 2, query.cursor.as_deref())?;
    let total =
        filtered(sql("SELECT COUNT(*) FROM release r"), shape, owner.clone(), query).number(tx).await?;
    let head = sql(SELECT).push(", c.region FROM release r JOIN cluster c ON c.id = r.cluster_id");
    let mut statement = filtered(head, shape, owner, query);
    if let Some(after) = after {
        let rank = cursor::number(&after[0])?;
        statement = statement.push(" AND (r.state_rank < ").put(rank).push(" OR (r.state_rank = ").put(rank);
        statement = statement.push(" AND ").push(shape.name).push(" > ").put(after[1].clone()).push("))");
    }
    let limit = query.limit();
    statement = statement.push(" ORDER BY r.state_rank DESC, ").push(shape.name);
    let rows = statement.push(" LIMIT ").put(i64::from(limit) + 1).rows(tx).await?;
    let name = &shape.name["r.".len()..];
    let mut placed = paged(&rows, "release", |row| Ok((row.int("state_rank")?, row.text(name)?)), read);
    let next = cursor::cut(&mut placed, limit, |((rank, name), _)| {
        cursor::write(shape.cursor, &[&rank.to_string(), name])
    });
    let items = placed.into_iter().filter_map(|(_, item)| item).collect();
    Ok(Page { items, next, total: u32::try_from(total).unwrap_or(u32::MAX) })
}

fn filtered(head: Sql, shape: &Shape, owner: String, query: &ListQuery) -> Sql {
    let mut statement = head.push(" WHERE ").push(shape.owner).push(" = ").put(owner);
    if !query.state.is_empty() {
        statement = in_states(statement.push(" AND "), query);
    }
    if !query.q.trim().is_empty() {
        statement = statement.push(" AND ").push(shape.name).push(" LIKE ").put(containing(&query.q));
        statement = statement.push(" ESCAPE '\\'");
    }
    statement
}
