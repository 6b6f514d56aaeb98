//! Clusters: what a person edits of them, and what their agents found out.
//!
//! The pulse (reach, last seen, report mark) and the version of the wants are rows of their own, see
//! [`pulse`](self::touch): they are written every few seconds and must not move the rest.

use std::collections::BTreeSet;

use domain::cluster::{ApiResource, Cluster, ClusterFacts, NamespaceFacts};
use domain::page::{ListQuery, Page};
use domain::{ClusterId, Timestamp};

use crate::label::{self, Owner};
use crate::record::{Record, Why, all as read_all, one, paged};
use crate::sql::{Sql, containing, json, sql};
use crate::{Error, Tx, cursor, release};

mod pulse;
mod schema;
mod wants;

pub use pulse::{begin_incarnation, overdue, report_mark, set_reach, take_report_mark, touch};
pub use schema::{schemas, set_schema};
pub(crate) use wants::flush as flush_wants;
pub use wants::{bump as bump_wants, version as wants_version};

/// What every statement that gives clusters begins with; the lists of kinds and namespaces are left out, they are long.
const SELECT: &str = "SELECT c.id, c.name, c.kind, c.labels, c.taints, c.schedulable, c.lease_seconds, c.created_at, c.revision, \
     f.facts, p.reach, p.last_seen";
const FROM: &str = " FROM cluster c JOIN cluster_facts f ON f.cluster_id = c.id \
     JOIN cluster_pulse p ON p.cluster_id = c.id WHERE 1 = 1";

/// Adds a cluster. [`Error::Unique`] if the name or id is taken.
pub async fn insert(tx: &mut Tx, cluster: &Cluster) -> Result<(), Error> {
    sql("INSERT INTO cluster (id, name, kind, region, labels, taints, schedulable, lease_seconds, created_at, revision) \
         VALUES ($1, $2, $3, $4, $5, $6, $7, $8, $9, $10)")
    .text(cluster.id)
    .text(&cluster.name)
    .text(cluster.kind.word())
    .text(cluster.region())
    .bind(json(&cluster.labels)?)
    .bind(json(&cluster.taints)?)
    .bind(i64::from(cluster.schedulable))
    .bind(i64::from(cluster.lease_seconds))
    .bind(cluster.created_at.millis())
    .bind(cluster.revision)
    .run(tx)
    .await?;
    sql("INSERT INTO cluster_facts (cluster_id, facts, apis) VALUES ($1, '{}', '[]')")
        .text(cluster.id)
        .run(tx)
        .await?;
    sql("INSERT INTO cluster_pulse (cluster_id, reach, last_seen, incarnation, seq) VALUES ($1, $2, $3, 0, 0)")
        .text(cluster.id)
        .text(cluster.reach.word())
        .bind(cluster.last_seen.map(Timestamp::millis))
        .run(tx)
        .await?;
    sql("INSERT INTO cluster_wants (cluster_id, version) VALUES ($1, 1)").text(cluster.id).run(tx).await?;
    set_facts(tx, cluster.id, &cluster.facts).await?;
    label::save(tx, Owner::Cluster, &cluster.id.to_string(), &cluster.labels).await
}

/// Writes what a person edits (labels, taints, schedulable) and the new revision, if the row still has
/// `expected_revision`; says whether it had. Facts, reach and last seen are not touched.
pub async fn update(tx: &mut Tx, cluster: &Cluster, expected_revision: i64) -> Result<bool, Error> {
    let changed =
        sql("UPDATE cluster SET region = $1, labels = $2, taints = $3, schedulable = $4, revision = $5 \
                       WHERE id = $6 AND revision = $7")
        .text(cluster.region())
        .bind(json(&cluster.labels)?)
        .bind(json(&cluster.taints)?)
        .bind(i64::from(cluster.schedulable))
        .bind(cluster.revision)
        .text(cluster.id)
        .bind(expected_revision)
        .run(tx)
        .await?;
    if changed == 1 {
        label::save(tx, Owner::Cluster, &cluster.id.to_string(), &cluster.labels).await?;
    }
    Ok(changed == 1)
}

/// Writes what the agent found out; nothing is written if it is what is there.
pub async fn set_facts(tx: &mut Tx, id: ClusterId, facts: &ClusterFacts) -> Result<bool, Error> {
    let short = json(&ClusterFacts { apis: Vec::new(), namespaces: Vec::new(), ..facts.clone() })?;
    let changed = sql("UPDATE cluster_facts SET facts = $1, apis = $2, namespaces = $3 \
                       WHERE cluster_id = $4 AND (facts <> $1 OR apis <> $2 OR namespaces <> $3)")
    .bind(short)
    .bind(json(&facts.apis)?)
    .bind(json(&facts.namespaces)?)
    .text(id)
    .run(tx)
    .await?;
    Ok(changed == 1)
}

/// The cluster with this name, with all its facts.
pub async fn by_name(tx: &mut Tx, name: &str) -> Result<Option<Cluster>, Error> {
    let row = whole().push(" AND c.name = ").put(name.to_owned()).row(tx).await?;
    one(row, "cluster", read_whole)
}

/// The cluster with this id, with all its facts.
pub async fn by_id(tx: &mut Tx, id: ClusterId) -> Result<Option<Cluster>, Error> {
    let row = whole().push(" AND c.id = ").put(id.to_string()).row(tx).await?;
    one(row, "cluster", read_whole)
}

/// Every cluster without its lists of kinds and namespaces, by name: what placement needs.
pub async fn all(tx: &mut Tx) -> Result<Vec<Cluster>, Error> {
    let rows = sql(SELECT).push(FROM).push(" ORDER BY c.name").rows(tx).await?;
    Ok(read_all(&rows, "cluster", read))
}

/// Which of these names are clusters'.
pub async fn names_taken(tx: &mut Tx, names: &[String]) -> Result<BTreeSet<String>, Error> {
    let mut found = BTreeSet::new();
    for names in names.chunks(500) {
        let rows = sql("SELECT name FROM cluster WHERE name IN ").list(names).rows(tx).await?;
        found.extend(read_all(&rows, "cluster", |row| row.text("name")));
    }
    Ok(found)
}

/// These clusters with all their facts, by name: what guard rails need.
pub async fn all_with_facts(tx: &mut Tx, ids: &[ClusterId]) -> Result<Vec<Cluster>, Error> {
    let mut clusters = Vec::with_capacity(ids.len());
    for ids in ids.chunks(500) {
        let rows = whole().push(" AND c.id IN ").list(ids).rows(tx).await?;
        clusters.extend(read_all(&rows, "cluster", read_whole));
    }
    clusters.sort_by(|a, b| a.name.cmp(&b.name));
    Ok(clusters)
}

/// One page by name: names that contain `q`, labels that match, a release in one of the states. Without lists of kinds.
pub async fn list(tx: &mut Tx, query: &ListQuery) -> Result<Page<Cluster>, Error> {
    let after = cursor::read("cluster", 1, query.cursor.as_deref())?;
    let total = filtered(sql("SELECT COUNT(*)"), query)?.number(tx).await?;
    let mut page = filtered(sql(SELECT), query)?;
    if let Some(after) = after {
        page = page.push(" AND c.name > ").put(after[0].clone());
    }
    let limit = query.limit();
    let rows = page.push(" ORDER BY c.name LIMIT ").put(i64::from(limit) + 1).rows(tx).await?;
    let mut placed = paged(&rows, "cluster", |row| row.text("name"), read);
    let next = cursor::cut(&mut placed, limit, |(name, _)| cursor::write("cluster", &[name]));
    let items = placed.into_iter().filter_map(|(_, cluster)| cluster).collect();
    Ok(Page { items, next, total: u32::try_from(total).unwrap_or(u32::MAX) })
}

/// Forgets a cluster with everything that is only about it; its releases must be gone. Says whether it was there.
pub async fn delete(tx: &mut Tx, id: ClusterId) -> Result<bool, Error> {
    Ok(sql("DELETE FROM cluster WHERE id = $1").text(id).run(tx).await? == 1)
}

/// How many clusters there are.
pub async fn count(tx: &mut Tx) -> Result<u32, Error> {
    let n = sql("SELECT COUNT(*) FROM cluster").number(tx).await?;
    Ok(u32::try_from(n).unwrap_or(u32::MAX))
}

/// How many clusters are not online.
pub async fn count_silent(tx: &mut Tx) -> Result<u32, Error> {
    let n = sql("SELECT COUNT(*) FROM cluster_pulse WHERE reach IN ('Late', 'Offline')").number(tx).await?;
    Ok(u32::try_from(n).unwrap_or(u32::MAX))
}

fn filtered(head: Sql, query: &ListQuery) -> Result<Sql, Error> {
    let mut statement = head.push(FROM);
    if !query.q.trim().is_empty() {
        statement = statement.push(" AND c.name LIKE ").put(containing(&query.q)).push(" ESCAPE '\\'");
    }
    if !query.label_selector.trim().is_empty() {
        let selector = label::selector(&query.label_selector)?;
        statement = label::matching(statement, Owner::Cluster, "c.id", &selector);
    }
    if !query.state.is_empty() {
        statement = statement.push(" AND EXISTS (SELECT 1 FROM release r WHERE r.cluster_id = c.id AND ");
        statement = release::in_states(statement, query).push(")");
    }
    Ok(statement)
}

fn whole() -> Sql {
    sql(SELECT).push(", f.apis, f.namespaces").push(FROM)
}

fn read_whole(row: &Record<'_>) -> Result<Cluster, Why> {
    let mut cluster = read(row)?;
    cluster.facts.apis = row.json::<Vec<ApiResource>>("apis")?;
    cluster.facts.namespaces = row.json::<Vec<NamespaceFacts>>("namespaces")?;
    Ok(cluster)
}

fn read(row: &Record<'_>) -> Result<Cluster, Why> {
    Ok(Cluster {
        id: row.parse("id")?,
        name: row.text("name")?,
        kind: row.word("kind")?,
        labels: row.json("labels")?,
        taints: row.json("taints")?,
        schedulable: row.flag("schedulable")?,
        lease_seconds: row.count("lease_seconds")?,
        facts: read_facts(row)?,
        reach: row.word("reach")?,
        last_seen: row.opt_at("last_seen")?,
        created_at: row.at("created_at")?,
        revision: row.int("revision")?,
    })
}

/// A cluster that has not reported yet has no facts.
fn read_facts(row: &Record<'_>) -> Result<ClusterFacts, Why> {
    match row.text("facts")?.as_str() {
        "{}" => Ok(ClusterFacts::default()),
        _ => row.json("facts"),
    }
}
