//! Pages of the clusters of a rollout.

use domain::page::{ListQuery, Page};
use domain::release::Gate;
use domain::rollout::{MAX_MESSAGE_CHARS, Rollout, RolloutCluster, RolloutClusterStatus};

use super::STATE_OF_REVISION;
use crate::decode::{DecodeError, RowReader, decode_page};
use crate::release::{push_state_filter, row};
use crate::sql::{Sql, like_pattern, sql};
use crate::{Error, Tx, cursor};

const CURSOR: &str = "rollout-clusters";

/// The clusters of a rollout by wave and name; `wave` is the index of the only wave, and `q` of the query a part of the name. Those on
/// which another revision is desired by now are none of it.
pub async fn list_clusters(
    tx: &mut Tx,
    rollout: &Rollout,
    wave: Option<u32>,
    query: &ListQuery,
) -> Result<Page<RolloutCluster>, Error> {
    let after = cursor::decode(CURSOR, 2, query.cursor.as_deref())?;
    let after = after.map(|after| Ok::<_, Error>((cursor::parse_number(&after[0])?, after[1].clone())));
    let after = after.transpose()?;
    let count = push_filters(sql("SELECT COUNT(*) FROM release r"), rollout, wave, query);
    let total = count.fetch_number(tx).await?;
    let head = sql("SELECT r.id, r.cluster_name, r.wave, r.gate, r.state, r.admitted_offline, ")
        .push("r.released_revision, r.applied_revision, r.state_since, SUBSTR(r.message, 1, ")
        .push(&MAX_MESSAGE_CHARS.to_string())
        .push(") AS message, ")
        .push(STATE_OF_REVISION)
        .push(" AS counted_state FROM release r");
    let mut statement = push_filters(head, rollout, wave, query);
    if let Some((wave, name)) = after {
        statement = statement.push(" AND (r.wave > ").push_bind(wave).push(" OR (r.wave = ").push_bind(wave);
        statement = statement.push(" AND r.cluster_name > ").push_bind(name).push("))");
    }
    let limit = query.limit();
    let statement = statement.push(" ORDER BY r.wave, r.cluster_name LIMIT ");
    let mut rows = statement.push_bind(i64::from(limit) + 1).fetch_all(tx).await?;
    let has_more = rows.len() > limit as usize;
    rows.truncate(limit as usize);
    let place = |row: &RowReader<'_>| Ok((row.int("wave")?, row.text("cluster_name")?));
    let placed = decode_page(&rows, "release", place, |row| read_cluster(row, rollout));
    let next = placed
        .last()
        .filter(|_| has_more)
        .map(|((wave, name), _)| cursor::encode(CURSOR, &[&wave.to_string(), name]));
    let items = placed.into_iter().filter_map(|(_, item)| item).collect();
    Ok(Page { items, next, total: u32::try_from(total).unwrap_or(u32::MAX) })
}

fn push_filters(head: Sql, rollout: &Rollout, wave: Option<u32>, query: &ListQuery) -> Sql {
    let mut statement = head
        .push(" WHERE r.workload_id = ")
        .push_bind(rollout.workload.to_string())
        .push(" AND r.revision = ")
        .push_bind(i64::from(rollout.revision))
        .push(" AND r.wave IS NOT NULL");
    if let Some(wave) = wave {
        statement = statement.push(" AND r.wave = ").push_bind(i64::from(wave));
    }
    if !query.state.is_empty() {
        statement = push_state_filter(statement.push(" AND "), query);
    }
    if !query.q.trim().is_empty() {
        statement = statement.push(" AND r.cluster_name LIKE ").push_bind(like_pattern(&query.q));
        statement = statement.push(" ESCAPE '\\'");
    }
    statement
}

fn read_cluster(row: &RowReader<'_>, rollout: &Rollout) -> Result<RolloutCluster, DecodeError> {
    let wave = row.count("wave")?;
    let progress = rollout.waves.get(wave as usize).ok_or("wave: the rollout has no such wave")?;
    let status = RolloutClusterStatus::from_release(
        row.enum_value::<Gate>("gate")?,
        row::read_state(row, "counted_state")?,
        row.int("admitted_offline")? != 0,
    );
    Ok(RolloutCluster {
        name: row.text("cluster_name")?,
        wave,
        wave_name: progress.name.clone(),
        status,
        state: row::read_state(row, "state")?,
        released_revision: row.opt_count("released_revision")?,
        applied_revision: row.opt_count("applied_revision")?,
        since: row.timestamp("state_since")?,
        message: row.text("message")?,
    })
}
