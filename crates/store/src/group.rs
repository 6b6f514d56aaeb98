//! Named sets of clusters.

use domain::placement::ClusterGroup;

use crate::record::{Record, Why, all as read_all, one};
use crate::sql::{json, sql};
use crate::{Error, Tx};

const SELECT: &str = "SELECT name, members, selector, revision FROM cluster_group";

/// Every group, by name.
pub async fn all(tx: &mut Tx) -> Result<Vec<ClusterGroup>, Error> {
    let rows = sql(SELECT).push(" ORDER BY name").rows(tx).await?;
    Ok(read_all(&rows, "cluster_group", read))
}

/// The group with this name.
pub async fn by_name(tx: &mut Tx, name: &str) -> Result<Option<ClusterGroup>, Error> {
    one(sql(SELECT).push(" WHERE name = $1").text(name).row(tx).await?, "cluster_group", read)
}

fn read(row: &Record<'_>) -> Result<ClusterGroup, Why> {
    Ok(ClusterGroup {
        name: row.text("name")?,
        members: row.json("members")?,
        selector: row.opt_parse("selector")?,
        revision: row.int("revision")?,
    })
}

/// Makes a group. [`Error::Unique`] if its name is taken.
pub async fn insert(tx: &mut Tx, group: &ClusterGroup) -> Result<(), Error> {
    sql("INSERT INTO cluster_group (name, members, selector, revision) VALUES ($1, $2, $3, $4)")
        .text(&group.name)
        .bind(json(&group.members)?)
        .opt_text(group.selector.as_ref())
        .bind(group.revision)
        .run(tx)
        .await
        .map(drop)
}

/// Writes a group, if it still has `expected_revision`; says whether it had.
pub async fn update(tx: &mut Tx, group: &ClusterGroup, expected_revision: i64) -> Result<bool, Error> {
    let changed = sql("UPDATE cluster_group SET members = $1, selector = $2, revision = $3 \
                       WHERE name = $4 AND revision = $5")
    .bind(json(&group.members)?)
    .opt_text(group.selector.as_ref())
    .bind(group.revision)
    .text(&group.name)
    .bind(expected_revision)
    .run(tx)
    .await?;
    Ok(changed == 1)
}

/// Forgets the group; says whether it was there.
pub async fn delete(tx: &mut Tx, name: &str) -> Result<bool, Error> {
    Ok(sql("DELETE FROM cluster_group WHERE name = $1").text(name).run(tx).await? == 1)
}
