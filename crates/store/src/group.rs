//! Cluster groups: named sets of clusters.

use domain::placement::ClusterGroup;

use crate::decode::{DecodeError, RowReader, decode_row, decode_rows};
use crate::sql::{sql, to_json};
use crate::{Error, Tx};

const SELECT: &str = "SELECT name, members, selector, revision FROM cluster_group";

/// Every group, by name.
pub async fn list(tx: &mut Tx) -> Result<Vec<ClusterGroup>, Error> {
    let rows = sql(SELECT).push(" ORDER BY name").fetch_all(tx).await?;
    decode_rows(&rows, "cluster_group", read)
}

/// The group with this name.
pub async fn get_by_name(tx: &mut Tx, name: &str) -> Result<Option<ClusterGroup>, Error> {
    decode_row(
        sql(SELECT).push(" WHERE name = $1").bind_text(name).fetch_optional(tx).await?,
        "cluster_group",
        read,
    )
}

fn read(row: &RowReader<'_>) -> Result<ClusterGroup, DecodeError> {
    Ok(ClusterGroup {
        name: row.text("name")?,
        members: row.json("members")?,
        selector: row.opt_parse("selector")?,
        revision: row.int("revision")?,
    })
}

/// Adds a group. [`Error::AlreadyExists`] if its name is taken.
pub async fn insert(tx: &mut Tx, group: &ClusterGroup) -> Result<(), Error> {
    sql("INSERT INTO cluster_group (name, members, selector, revision) VALUES ($1, $2, $3, $4)")
        .bind_text(&group.name)
        .bind(to_json(&group.members)?)
        .bind_opt_text(group.selector.as_ref())
        .bind(group.revision)
        .execute(tx)
        .await
        .map(drop)
}

/// Writes a group, if it still has `expected_revision`; returns whether it had.
pub async fn update(tx: &mut Tx, group: &ClusterGroup, expected_revision: i64) -> Result<bool, Error> {
    let changed = sql("UPDATE cluster_group SET members = $1, selector = $2, revision = $3 \
                       WHERE name = $4 AND revision = $5")
    .bind(to_json(&group.members)?)
    .bind_opt_text(group.selector.as_ref())
    .bind(group.revision)
    .bind_text(&group.name)
    .bind(expected_revision)
    .execute(tx)
    .await?;
    Ok(changed == 1)
}

/// Deletes a group; returns whether it existed.
pub async fn delete(tx: &mut Tx, name: &str) -> Result<bool, Error> {
    Ok(sql("DELETE FROM cluster_group WHERE name = $1").bind_text(name).execute(tx).await? == 1)
}
