//! The search over names. It reads entries of the indexes of names and never a whole row, so that its cost does not depend on
//! what a workload or a cluster contains: a range of the index for names that begin with the first word, and its names in their
//! order, until there are enough, for those that contain the words. Details are read for the few names that are shown.

use domain::release::ReleaseState;
use domain::search::{SearchHit, SearchKind};
use domain::{ClusterId, ProjectId, WorkloadId};

use crate::decode::{DecodeError, RowReader, decode_readable_rows};
use crate::release::row::{read_state, state_rank};
use crate::sql::{Sql, like_pattern, sql};
use crate::{Error, Tx};

/// The start of the statement that selects the names of workloads; continued by conditions on `name`.
pub(crate) const WORKLOADS: &str = "SELECT name FROM workload WHERE project_id = $1";
pub(crate) const CLUSTERS: &str = "SELECT name FROM cluster WHERE 1 = 1";
const GROUPS: &str = "SELECT name FROM cluster_group WHERE 1 = 1";
/// Follows every character in the order of bytes: `name < prefix + LAST_CHAR` ends the range of a prefix.
const LAST_CHAR: char = '\u{10FFFF}';

/// The names of a project's workloads that contain all words, at most `limit`: first those that begin with the first word.
pub async fn find_workloads(
    tx: &mut Tx,
    project: ProjectId,
    words: &[String],
    limit: u32,
) -> Result<Vec<String>, Error> {
    find_names(tx, || sql(WORKLOADS).bind_text(project), words, limit).await
}

/// The names of clusters, as [`find_workloads`].
pub async fn find_clusters(tx: &mut Tx, words: &[String], limit: u32) -> Result<Vec<String>, Error> {
    find_names(tx, || sql(CLUSTERS), words, limit).await
}

/// The names of cluster groups, as [`find_workloads`].
pub async fn find_groups(tx: &mut Tx, words: &[String], limit: u32) -> Result<Vec<String>, Error> {
    find_names(tx, || sql(GROUPS), words, limit).await
}

async fn find_names(
    tx: &mut Tx,
    head: impl Fn() -> Sql,
    words: &[String],
    limit: u32,
) -> Result<Vec<String>, Error> {
    let enough = limit as usize;
    let mut names = match words.first() {
        Some(first) => fetch_names(tx, push_prefix(head(), first, &words[1..]), limit).await?,
        None => Vec::new(),
    };
    if names.len() < enough {
        // Those with the prefix are among them, and may be all of the first ones.
        let found = fetch_names(tx, push_parts(head(), words), limit.saturating_mul(2)).await?;
        let others: Vec<String> = found.into_iter().filter(|name| !names.contains(name)).collect();
        names.extend(others);
        names.truncate(enough);
    }
    Ok(names)
}

/// Names that begin with `prefix` and contain the other words: a range of the index.
pub(crate) fn push_prefix(statement: Sql, prefix: &str, others: &[String]) -> Sql {
    let statement = statement.push(" AND name >= ").push_bind(prefix.to_owned());
    push_parts(statement.push(" AND name < ").push_bind(format!("{prefix}{LAST_CHAR}")), others)
}

/// Names that contain the words.
pub(crate) fn push_parts(statement: Sql, words: &[String]) -> Sql {
    words.iter().fold(statement, |statement, word| {
        statement.push(" AND name LIKE ").push_bind(like_pattern(word)).push(" ESCAPE '\\'")
    })
}

async fn fetch_names(tx: &mut Tx, statement: Sql, limit: u32) -> Result<Vec<String>, Error> {
    let rows = statement.push(" ORDER BY name LIMIT ").push_bind(i64::from(limit)).fetch_all(tx).await?;
    Ok(decode_readable_rows(&rows, "name", |row| row.text("name")))
}

/// The failing releases of a workload, at most `limit`, worst first.
pub async fn list_failing_by_workload(
    tx: &mut Tx,
    workload: WorkloadId,
    limit: u32,
) -> Result<Vec<SearchHit>, Error> {
    let order = "state_rank DESC, cluster_name";
    fetch_failing(tx, failing().push(" AND workload_id = ").push_bind(workload.to_string()), order, limit)
        .await
}

/// The failing releases on a cluster, at most `limit`, worst first.
pub async fn list_failing_by_cluster(
    tx: &mut Tx,
    cluster: ClusterId,
    limit: u32,
) -> Result<Vec<SearchHit>, Error> {
    let order = "state_rank DESC, workload_name";
    fetch_failing(tx, failing().push(" AND cluster_id = ").push_bind(cluster.to_string()), order, limit).await
}

/// The failing releases of all, at most `limit`, worst and oldest first.
pub async fn list_failing(tx: &mut Tx, limit: u32) -> Result<Vec<SearchHit>, Error> {
    fetch_failing(tx, failing(), "state_rank DESC, state_since", limit).await
}

/// Releases in a state that needs attention. The rank is part of the text, because indexes contain only such releases.
fn failing() -> Sql {
    sql("SELECT id, workload_name, cluster_name, state, state_since, message FROM release WHERE state_rank >= ")
        .push(&state_rank(ReleaseState::Blocked).to_string())
}

async fn fetch_failing(tx: &mut Tx, failing: Sql, order: &str, limit: u32) -> Result<Vec<SearchHit>, Error> {
    let statement = failing.push(" ORDER BY ").push(order).push(" LIMIT ").push_bind(i64::from(limit));
    Ok(decode_readable_rows(&statement.fetch_all(tx).await?, "release", read_failing))
}

fn read_failing(row: &RowReader<'_>) -> Result<SearchHit, DecodeError> {
    Ok(SearchHit {
        cluster: Some(row.text("cluster_name")?),
        state: Some(read_state(row, "state")?),
        since: Some(row.timestamp("state_since")?),
        detail: row.text("message")?,
        ..SearchHit::new(SearchKind::Failure, row.text("workload_name")?)
    })
}
