//! Cluster groups: named sets of clusters.

use domain::placement::ClusterGroup;

use crate::decode::{decode_readable_rows, decode_row, decode_rows};
use crate::sql::{sql, to_json};
use crate::table::{self, table_row};
use crate::{Error, Tx};

table_row! {
    ClusterGroup as group in "cluster_group" => ClusterGroup;
    Key name = &group.name => name: text;
    Mutable members = to_json(&group.members)? => members: json;
    Mutable selector = group.selector.as_ref().map(ToString::to_string) => selector: opt_parse;
    Mutable exclusive = group.exclusive => exclusive: flag;
    Mutable locked_values = &group.locked_values => locked_values: text;
    Mutable features = to_json(&group.features)? => features: json;
    Mutable resource_version = group.revision => revision: int;
}

/// Every group, by name.
pub async fn list(tx: &mut Tx) -> Result<Vec<ClusterGroup>, Error> {
    let rows = table::select_from::<ClusterGroup>().push(" ORDER BY name").fetch_all(tx).await?;
    decode_rows(&rows, "cluster_group", read_row)
}

/// The groups whose members may be in no other group, by name.
pub async fn list_exclusive(tx: &mut Tx) -> Result<Vec<ClusterGroup>, Error> {
    let select = table::select_from::<ClusterGroup>();
    let rows = select.push(" WHERE exclusive = 1 ORDER BY name").fetch_all(tx).await?;
    decode_rows(&rows, "cluster_group", read_row)
}

/// The group with this name.
pub async fn get_by_name(tx: &mut Tx, name: &str) -> Result<Option<ClusterGroup>, Error> {
    decode_row(
        table::select_from::<ClusterGroup>()
            .push(" WHERE name = $1")
            .bind_text(name)
            .fetch_optional(tx)
            .await?,
        "cluster_group",
        read_row,
    )
}

/// Those of these groups that exist and can be read, by name.
pub async fn list_by_names(tx: &mut Tx, names: &[String]) -> Result<Vec<ClusterGroup>, Error> {
    let some = table::select_from::<ClusterGroup>().push(" WHERE name IN ").push_list(names);
    let rows = some.push(" ORDER BY name").fetch_all(tx).await?;
    Ok(decode_readable_rows(&rows, "cluster_group", read_row))
}

/// Adds a group. [`Error::AlreadyExists`] if its name is taken.
pub async fn insert(tx: &mut Tx, group: &ClusterGroup) -> Result<(), Error> {
    table::insert(tx, std::slice::from_ref(group))?.execute(tx).await.map(drop)
}

/// Writes a group, if it still has `expected_version`; returns whether it had.
pub async fn update(tx: &mut Tx, group: &ClusterGroup, expected_version: i64) -> Result<bool, Error> {
    let changed = table::update(tx, group)?
        .push(" WHERE name = ")
        .push_bind(group.name.clone())
        .push(" AND resource_version = ")
        .push_bind(expected_version)
        .execute(tx)
        .await?;
    Ok(changed == 1)
}

/// Deletes a group; returns whether it existed.
pub async fn delete(tx: &mut Tx, name: &str) -> Result<bool, Error> {
    Ok(sql("DELETE FROM cluster_group WHERE name = $1").bind_text(name).execute(tx).await? == 1)
}
