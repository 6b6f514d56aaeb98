//! Cluster groups: named sets of clusters.

use domain::placement::ClusterGroup;
use domain::workload::WorkloadSpec;

use crate::decode::{decode_readable_rows, decode_row, decode_rows};
use crate::sql::{sql, to_json};
use crate::table::{self, table_row};
use crate::{Error, Tx, spec_reference};

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

/// Every group, by name, without its locked values and features: who its members are.
pub async fn list_memberships(tx: &mut Tx) -> Result<Vec<ClusterGroup>, Error> {
    let rows = sql("SELECT name, members, selector FROM cluster_group ORDER BY name").fetch_all(tx).await?;
    decode_rows(&rows, "cluster_group", |row| {
        Ok(ClusterGroup {
            name: row.text("name")?,
            members: row.json("members")?,
            selector: row.opt_parse("selector")?,
            ..ClusterGroup::default()
        })
    })
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

/// Lets no other transaction change groups until this one ends: that an exclusive group shares no member is a rule over several
/// rows. Others may read groups and refer to them. Call it first in a transaction.
pub async fn lock_changes(tx: &mut Tx) -> Result<(), Error> {
    if tx.is_postgres() {
        sql("LOCK TABLE cluster_group IN SHARE ROW EXCLUSIVE MODE").execute(tx).await?;
    }
    Ok(())
}

/// How many groups there are besides the one with this name, and the bytes of what is stored of them.
pub async fn measure_others(tx: &mut Tx, name: &str) -> Result<(i64, i64), Error> {
    let select = "SELECT COUNT(*) AS total, COALESCE(SUM(OCTET_LENGTH(members) \
                  + OCTET_LENGTH(COALESCE(selector, '')) + OCTET_LENGTH(locked_values)), 0) AS bytes \
                  FROM cluster_group WHERE name <> $1";
    let row = sql(select).bind_text(name).fetch_optional(tx).await?;
    let measured = decode_row(row, "cluster_group", |row| Ok((row.int("total")?, row.int("bytes")?)))?;
    Ok(measured.unwrap_or_default())
}

/// The group with this name, locked until the transaction ends.
pub async fn lock(tx: &mut Tx, name: &str) -> Result<Option<ClusterGroup>, Error> {
    let select = table::select_from::<ClusterGroup>().push(" WHERE name = $1").bind_text(name);
    let row = select.push_locking_clause(tx).fetch_optional(tx).await?;
    decode_row(row, "cluster_group", read_row)
}

/// Locks the groups that a spec refers to until the transaction ends. Returns the first that does not exist.
///
/// Groups are the first rows that a transaction locks (`docs/consistency.md`): call it before a workload is locked.
pub async fn share_referenced(tx: &mut Tx, spec: &WorkloadSpec) -> Result<Option<String>, Error> {
    let names = spec_reference::list_groups(spec);
    if names.is_empty() {
        return Ok(None);
    }
    let select =
        sql("SELECT name FROM cluster_group WHERE name IN ").push_list(&names).push(" ORDER BY name");
    let clause = tx.sharing_clause();
    let rows = select.push(clause).fetch_all(tx).await?;
    let found = decode_rows(&rows, "cluster_group", |row| row.text("name"))?;
    Ok(names.into_iter().find(|name| !found.contains(name)))
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
