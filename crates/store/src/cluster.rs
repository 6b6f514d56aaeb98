//! Clusters: the fields that users edit, the facts that agents report, and those of them that users have confirmed.
//!
//! The heartbeat (connectivity, last seen, report position) and the version of the desired state are rows of their
//! own, see [`touch`]: they are written every few seconds and must not rewrite the rest.

use std::collections::BTreeSet;

use domain::bounded_json::JsonSize;
use domain::cluster::{
    ApiResource, ApiServerOutage, Cluster, ClusterFacts, ConfirmedFacts, Connectivity, MAX_CLUSTER_VALUES,
    NamespaceFacts,
};
use domain::page::{ListQuery, Page};
use domain::placement::FleetLabel;
use domain::{ClusterId, Timestamp};
use serde::Deserialize;
use serde::de::IgnoredAny;

use crate::admission::{admit, measure_column};
use crate::decode::{DecodeError, RowReader, decode_page, decode_readable_rows, decode_row, decode_rows};
use crate::label::{self, LabelOwner};
use crate::sql::{Sql, StoredRow, like_pattern, sql, to_json};
use crate::table::{self, table_row};
use crate::{Error, Tx, cursor, release};

mod desired_state;
mod heartbeat;
mod not_reporting;
mod schema;

pub(crate) use desired_state::flush as flush_desired_state;
pub use desired_state::{bump as bump_desired_state, version as desired_state_version};
pub use heartbeat::{
    OverdueCluster, ReportPosition, advance_report_position, begin_api_server_outage, begin_incarnation,
    check_report_position, end_api_server_outage, get_report_position, last_heartbeat, list_overdue,
    list_release_connectivity, record_heartbeats, set_connectivity,
};
pub use not_reporting::{count_not_online, list_not_reporting};
pub use schema::{list_reported_schemas, list_schema_digests, set_schema_digest};

table_row! {
    Cluster as cluster in "cluster" => Cluster;
    Key id = cluster.id.to_string() => id: parse;
    Fixed name = &cluster.name => name: text;
    Fixed kind = cluster.kind.as_str() => kind: enum_value;
    Mutable region = cluster.region();
    Mutable labels = to_json(&cluster.labels)? => labels: json;
    Mutable annotations = to_json(&cluster.annotations)? => annotations: json;
    Mutable template_values = to_json(&cluster.values)? => values: json;
    Mutable taints = to_json(&cluster.taints)? => taints: json;
    Mutable schedulable = cluster.schedulable => schedulable: flag;
    Fixed lease_seconds = cluster.lease_seconds => lease_seconds: count;
    Fixed created_at = cluster.created_at => created_at: timestamp;
    Mutable resource_version = cluster.revision => revision: int;
    + facts => facts: json_or_default;
    + confirmed => confirmed_facts: confirmed_facts;
    + connectivity => connectivity: enum_value;
    + last_seen => last_seen: opt_timestamp;
    + api_server_outage_since => api_server_outage: api_server_outage;
}

const FROM: &str = " FROM cluster c JOIN cluster_facts f ON f.cluster_id = c.id \
     JOIN cluster_heartbeat h ON h.cluster_id = c.id WHERE 1 = 1";

/// The columns of every query for clusters, without the long lists of API kinds and namespaces.
fn select() -> Sql {
    table::select::<Cluster>("c").push(
        ", f.facts, f.confirmed, h.connectivity, h.last_seen, h.api_server_outage_since, h.api_server_error",
    )
}

/// Adds a cluster. [`Error::AlreadyExists`] if the name or id is taken.
pub async fn insert(tx: &mut Tx, cluster: &Cluster) -> Result<(), Error> {
    table::insert(tx, std::slice::from_ref(cluster))?.execute(tx).await?;
    sql("INSERT INTO cluster_facts (cluster_id, facts, apis, namespaces) VALUES ($1, '{}', '[]', '[]')")
        .bind_text(cluster.id)
        .execute(tx)
        .await?;
    sql("INSERT INTO cluster_heartbeat (cluster_id, connectivity, last_seen, api_server_error, incarnation, seq) \
         VALUES ($1, $2, $3, '', 0, 0)")
        .bind_text(cluster.id)
        .bind_text(cluster.connectivity.as_str())
        .bind(cluster.last_seen.map(Timestamp::millis))
        .execute(tx)
        .await?;
    sql("INSERT INTO cluster_desired_state (cluster_id, version) VALUES ($1, 1)")
        .bind_text(cluster.id)
        .execute(tx)
        .await?;
    set_facts(tx, cluster.id, &cluster.facts).await?;
    set_confirmed_facts(tx, cluster.id, &cluster.confirmed_facts).await?;
    label::replace_labels(tx, LabelOwner::Cluster, &cluster.id.to_string(), &cluster.labels).await
}

/// Writes the fields that users edit (labels, taints, schedulable) and the new resource version, if the row still has
/// `expected_version`; returns whether it had. Facts, connectivity and last seen do not change.
pub async fn update(tx: &mut Tx, cluster: &Cluster, expected_version: i64) -> Result<bool, Error> {
    let changed = table::update(tx, cluster)?
        .push(" WHERE id = ")
        .push_bind(cluster.id.to_string())
        .push(" AND resource_version = ")
        .push_bind(expected_version)
        .execute(tx)
        .await?;
    if changed == 1 {
        label::replace_labels(tx, LabelOwner::Cluster, &cluster.id.to_string(), &cluster.labels).await?;
    }
    Ok(changed == 1)
}

/// Writes the facts reported by the agent, if they differ; returns whether they did.
pub async fn set_facts(tx: &mut Tx, id: ClusterId, facts: &ClusterFacts) -> Result<bool, Error> {
    let short = to_json(&ClusterFacts { apis: Vec::new(), namespaces: Vec::new(), ..facts.clone() })?;
    let changed = sql("UPDATE cluster_facts SET facts = $1, apis = $2, namespaces = $3 \
                       WHERE cluster_id = $4 AND (facts <> $1 OR apis <> $2 OR namespaces <> $3)")
    .bind(short)
    .bind(to_json(&facts.apis)?)
    .bind(to_json(&facts.namespaces)?)
    .bind_text(id)
    .execute(tx)
    .await?;
    Ok(changed == 1)
}

/// Writes the facts that placement uses.
pub async fn set_confirmed_facts(tx: &mut Tx, id: ClusterId, facts: &ConfirmedFacts) -> Result<(), Error> {
    let write = sql("UPDATE cluster_facts SET confirmed = $1 WHERE cluster_id = $2");
    write.bind(to_json(facts)?).bind_text(id).execute(tx).await.map(drop)
}

/// The cluster with this name, with all its facts.
pub async fn get_by_name(tx: &mut Tx, name: &str) -> Result<Option<Cluster>, Error> {
    let row =
        select_with_lists().push(" AND c.name = ").push_bind(name.to_owned()).fetch_optional(tx).await?;
    decode_row(row, "cluster", read_with_lists)
}

/// The cluster with this id, with all its facts.
pub async fn get_by_id(tx: &mut Tx, id: ClusterId) -> Result<Option<Cluster>, Error> {
    let row = select_with_lists().push(" AND c.id = ").push_bind(id.to_string()).fetch_optional(tx).await?;
    decode_row(row, "cluster", read_with_lists)
}

/// The name of the cluster with this id.
pub async fn get_name(tx: &mut Tx, id: ClusterId) -> Result<Option<String>, Error> {
    let statement = sql("SELECT id, name FROM cluster WHERE id = $1").bind_text(id);
    decode_row(statement.fetch_optional(tx).await?, "cluster", |row| row.text("name"))
}

/// Every cluster, by name, without its lists of kinds and namespaces: the input of placement.
pub async fn list_all(tx: &mut Tx) -> Result<Vec<Cluster>, Error> {
    let rows = select().push(FROM).push(" ORDER BY c.name").fetch_all(tx).await?;
    admit_values(&rows)?;
    decode_rows(&rows, "cluster", read_row)
}

/// The bytes of the labels, annotations, values and taints that are stored of all clusters besides this one.
pub async fn measure_others(tx: &mut Tx, id: ClusterId) -> Result<i64, Error> {
    let select = "SELECT COALESCE(SUM(OCTET_LENGTH(labels) + OCTET_LENGTH(annotations) \
                  + OCTET_LENGTH(template_values) + OCTET_LENGTH(taints)), 0) AS bytes \
                  FROM cluster WHERE id <> $1";
    sql(select).bind_text(id).fetch_number(tx).await
}

/// The number of all clusters besides this one, and the values of their labels, annotations, values and taints together. All of them are
/// read; what can't be read of one counts as the most that is accepted, so that it does not prevent changes of others.
pub async fn count_values_of_others(tx: &mut Tx, id: ClusterId) -> Result<(u64, u64), Error> {
    const COLUMNS: [&str; 4] = ["labels", "annotations", "template_values", "taints"];
    let rows = sql("SELECT id, labels, annotations, template_values, taints FROM cluster WHERE id <> $1")
        .bind_text(id)
        .fetch_all(tx)
        .await?;
    let count = |row: &RowReader<'_>, column: &str| match row.text(column) {
        Ok(text) => JsonSize::of_text(text.as_bytes()).values,
        Err(_) => MAX_CLUSTER_VALUES,
    };
    let values = rows.iter().map(|row| {
        let row = RowReader { row, table: "cluster" };
        COLUMNS.iter().map(|column| count(&row, column)).fold(0, u64::saturating_add)
    });
    Ok((rows.len() as u64, values.fold(0, u64::saturating_add)))
}

/// Admits what these clusters need for their values where those are many ([`Error::NoMemory`]): an earlier version stored any number.
fn admit_values(rows: &[StoredRow]) -> Result<(), Error> {
    let sizes = rows.iter().filter_map(|row| measure_column(row, "cluster", "template_values"));
    admit(sizes.fold(JsonSize::default(), JsonSize::and))
}

/// Those of these names that belong to clusters.
pub async fn filter_existing_names(tx: &mut Tx, names: &[String]) -> Result<BTreeSet<String>, Error> {
    let mut found = BTreeSet::new();
    for names in names.chunks(500) {
        let rows = sql("SELECT name FROM cluster WHERE name IN ").push_list(names).fetch_all(tx).await?;
        found.extend(decode_rows(&rows, "cluster", |row| row.text("name"))?);
    }
    Ok(found)
}

/// Those of these ids that belong to clusters, whether or not their rows can be decoded.
pub async fn filter_existing_ids(tx: &mut Tx, ids: &[ClusterId]) -> Result<BTreeSet<ClusterId>, Error> {
    let mut found = BTreeSet::new();
    for ids in ids.chunks(500) {
        let rows = sql("SELECT id FROM cluster WHERE id IN ").push_list(ids).fetch_all(tx).await?;
        found.extend(decode_rows(&rows, "cluster", |row| row.parse::<ClusterId>("id"))?);
    }
    Ok(found)
}

/// Locks these clusters until the transaction ends, in the order of ids: what no two workloads may have on one cluster is checked and
/// written under this lock. Others may refer to the clusters meanwhile, but not change or delete them.
pub async fn lock_many(tx: &mut Tx, ids: &[ClusterId]) -> Result<(), Error> {
    if !tx.is_postgres() {
        return Ok(());
    }
    let mut ids = ids.to_vec();
    ids.sort_unstable();
    ids.dedup();
    for some in ids.chunks(500) {
        let select = sql("SELECT id FROM cluster WHERE id IN ").push_list(some).push(" ORDER BY id");
        select.push_locking_clause(tx).fetch_all(tx).await?;
    }
    Ok(())
}

/// These clusters with all their facts, by name: the input of the guard rails.
pub async fn get_many_with_facts(tx: &mut Tx, ids: &[ClusterId]) -> Result<Vec<Cluster>, Error> {
    let mut clusters = Vec::with_capacity(ids.len());
    for ids in ids.chunks(500) {
        let rows = select_with_lists().push(" AND c.id IN ").push_list(ids).fetch_all(tx).await?;
        admit_values(&rows)?;
        clusters.extend(decode_rows(&rows, "cluster", read_with_lists)?);
    }
    clusters.sort_by(|a, b| a.name.cmp(&b.name));
    Ok(clusters)
}

/// One page by name, filtered by part `q` of the name, label selector and release state; without the lists of kinds
/// and namespaces.
pub async fn list(tx: &mut Tx, query: &ListQuery) -> Result<Page<Cluster>, Error> {
    let after = cursor::decode("cluster", 1, query.cursor.as_deref())?;
    let total = push_filters(sql("SELECT COUNT(*)"), query)?.fetch_number(tx).await?;
    let mut page = push_filters(select(), query)?;
    if let Some(after) = after {
        page = page.push(" AND c.name > ").push_bind(after[0].clone());
    }
    let limit = query.limit();
    let rows = page.push(" ORDER BY c.name LIMIT ").push_bind(i64::from(limit) + 1).fetch_all(tx).await?;
    admit_values(&rows)?;
    let mut placed = decode_page(&rows, "cluster", |row| row.text("name"), read_row);
    let next = cursor::truncate_page(&mut placed, limit, |(name, _)| cursor::encode("cluster", &[name]));
    let items = placed.into_iter().filter_map(|(_, cluster)| cluster).collect();
    Ok(Page { items, next, total: u32::try_from(total).unwrap_or(u32::MAX) })
}

/// The order of [`list_worst_first`]: offline, without an API server, late; then the number of failing releases.
const SEVERITY: &str = "(CASE WHEN h.connectivity = 'Offline' THEN 3 WHEN h.connectivity = 'Late' THEN 1 \
     WHEN h.api_server_outage_since IS NOT NULL THEN 2 ELSE 0 END * CAST(1000000 AS BIGINT) \
     + (SELECT COUNT(*) FROM release x WHERE x.cluster_id = c.id AND x.state_rank >= 16))";

/// As [`list`], the worst clusters first, equally bad ones by name; only those with this connectivity, if one is given.
pub async fn list_worst_first(
    tx: &mut Tx,
    query: &ListQuery,
    connectivity: Option<Connectivity>,
) -> Result<Page<Cluster>, Error> {
    const CURSOR: &str = "cluster_worst";
    let push_filters = |head: Sql| {
        let statement = push_filters(head, query)?;
        Ok::<Sql, Error>(match connectivity {
            Some(connectivity) => {
                statement.push(" AND h.connectivity = ").push_bind(connectivity.as_str().to_owned())
            }
            None => statement,
        })
    };
    let after = cursor::decode(CURSOR, 2, query.cursor.as_deref())?;
    let total = push_filters(sql("SELECT COUNT(*)"))?.fetch_number(tx).await?;
    let mut page = push_filters(select().push(", ").push(SEVERITY).push(" AS severity"))?;
    if let Some(after) = after {
        let severity = cursor::parse_number(&after[0])?;
        page = page.push(" AND (").push(SEVERITY).push(" < ").push_bind(severity);
        page = page.push(" OR (").push(SEVERITY).push(" = ").push_bind(severity);
        page = page.push(" AND c.name > ").push_bind(after[1].clone()).push("))");
    }
    let limit = query.limit();
    let page = page.push(" ORDER BY severity DESC, c.name LIMIT ").push_bind(i64::from(limit) + 1);
    let place = |row: &RowReader<'_>| Ok((row.int("severity")?, row.text("name")?));
    let rows = page.fetch_all(tx).await?;
    admit_values(&rows)?;
    let mut placed = decode_page(&rows, "cluster", place, read_row);
    let next = cursor::truncate_page(&mut placed, limit, |((severity, name), _)| {
        cursor::encode(CURSOR, &[&severity.to_string(), name])
    });
    let items = placed.into_iter().filter_map(|(_, cluster)| cluster).collect();
    Ok(Page { items, next, total: u32::try_from(total).unwrap_or(u32::MAX) })
}

/// Those of these clusters that exist and can be read, by name; without the lists of kinds and namespaces.
pub async fn list_by_names(tx: &mut Tx, names: &[String]) -> Result<Vec<Cluster>, Error> {
    let mut clusters = Vec::with_capacity(names.len());
    for names in names.chunks(500) {
        let some = select().push(FROM).push(" AND c.name IN ").push_list(names).push(" ORDER BY c.name");
        clusters.extend(decode_readable_rows(&some.fetch_all(tx).await?, "cluster", read_row));
    }
    Ok(clusters)
}

/// Deletes a cluster with the rows that depend on it; its releases must be deleted before. Returns whether it
/// existed.
pub async fn delete(tx: &mut Tx, id: ClusterId) -> Result<bool, Error> {
    Ok(sql("DELETE FROM cluster WHERE id = $1").bind_text(id).execute(tx).await? == 1)
}

/// The labels of clusters with the number of clusters that have each, by key and value, at most 200.
pub async fn list_labels(tx: &mut Tx) -> Result<Vec<FleetLabel>, Error> {
    let rows = sql("SELECT name, value, COUNT(*) AS clusters FROM cluster_label GROUP BY name, value \
                    ORDER BY name, value LIMIT 200");
    decode_rows(&rows.fetch_all(tx).await?, "cluster_label", |row| {
        Ok(FleetLabel { key: row.text("name")?, value: row.text("value")?, clusters: row.count("clusters")? })
    })
}

fn push_filters(head: Sql, query: &ListQuery) -> Result<Sql, Error> {
    let mut statement = head.push(FROM);
    if !query.q.trim().is_empty() {
        statement =
            statement.push(" AND c.name LIKE ").push_bind(like_pattern(&query.q)).push(" ESCAPE '\\'");
    }
    if !query.label_selector.trim().is_empty() {
        let selector = label::parse_selector(&query.label_selector)?;
        statement = label::push_selector(statement, LabelOwner::Cluster, "c.id", &selector);
    }
    if !query.state.is_empty() {
        statement = statement.push(" AND EXISTS (SELECT 1 FROM release r WHERE r.cluster_id = c.id AND ");
        statement = release::push_state_filter(statement, query).push(")");
    }
    Ok(statement)
}

fn select_with_lists() -> Sql {
    select().push(", f.apis, f.namespaces").push(FROM)
}

fn read_with_lists(row: &RowReader<'_>) -> Result<Cluster, DecodeError> {
    let mut cluster = read_row(row)?;
    cluster.facts.apis = row.json::<Vec<ApiResource>>("apis")?;
    cluster.facts.namespaces = row.json::<Vec<NamespaceFacts>>("namespaces")?;
    Ok(cluster)
}

/// Confirmed facts, or all reported ones, which have node pools.
#[derive(Default, Deserialize)]
#[serde(rename_all = "camelCase", default)]
struct StoredFacts {
    #[serde(flatten)]
    confirmed: ConfirmedFacts,
    node_pools: Option<IgnoredAny>,
}

impl RowReader<'_> {
    /// The confirmed facts in this column. The migration copied all reported facts into it, with the capacity by node pool.
    fn confirmed_facts(&self, column: &str) -> Result<ConfirmedFacts, DecodeError> {
        let stored: StoredFacts = self.json_or_default(column)?;
        if stored.node_pools.is_some() {
            return Ok(ConfirmedFacts::from_reported(&self.json(column)?));
        }
        Ok(stored.confirmed)
    }

    /// The outage of an API server that began at the time in this column, with its error.
    fn api_server_outage(&self, since: &str) -> Result<Option<ApiServerOutage>, DecodeError> {
        let Some(since) = self.opt_timestamp(since)? else { return Ok(None) };
        Ok(Some(ApiServerOutage { since, message: self.text("api_server_error")? }))
    }
}
