//! The drift inbox: the objects of releases that drift, and until when people snoozed them.

use std::collections::BTreeMap;

use domain::drift::{
    DriftField, DriftFieldRevert, DriftItem, DriftQuery, DriftSnooze, DriftState, DriftedObject,
};
use domain::drift_actions::ManifestOrigin;
use domain::page::Page;
use domain::policy::Policies;
use domain::report::DriftedField;
use domain::workload::WorkloadHead;
use domain::{ClusterId, Digest, DriftId, ProjectId, ReleaseId, Timestamp};

use crate::decode::{DecodeError, RowReader, decode_page, decode_readable_rows, decode_row};
use crate::field_revert;
use crate::page_bytes::{PageLimit, VALUES_PAGE_BYTES, byte_length, find_fitting_rows};
use crate::sql::{Sql, sql, to_json};
use crate::{Error, Tx, cursor};

const TABLE: &str = "drift_item";

/// So many open entries are counted at most.
pub const MAX_COUNTED: u32 = 1_000;

const COLUMNS: &str = "SELECT d.id, d.release_id, d.object_key, d.object, d.fields, d.field_count, d.digest, d.contested, \
     d.since_at, r.cluster_id, r.cluster_name, r.policies, r.desired, r.released, r.revision, r.applied_revision, \
     r.workload_id, w.name AS workload_name, w.intent, w.published_revision, w.resource_version, \
     s.until_at, s.snoozed_by, s.snoozed_at, f.paths AS revert_paths, f.requested_by, f.requested_at, \
     f.error AS revert_error, (SELECT MIN(x.kind) FROM spec_reference x \
     WHERE x.workload_id = r.workload_id AND x.revision = 0 AND x.kind IN ('chart', 'commit')) AS source_kind";

/// A snooze that has ended, or that is of other values, is none.
const SOURCE: &str = " FROM drift_item d JOIN release r ON r.id = d.release_id JOIN workload w ON w.id = r.workload_id \
     LEFT JOIN field_revert f ON f.drift_id = d.id \
     LEFT JOIN drift_snooze s ON s.release_id = d.release_id AND s.object_key = d.object_key AND s.digest = d.digest \
     AND s.until_at > ";

/// An entry, with what decides what can be done about it.
#[derive(Debug, Clone, PartialEq)]
pub struct DriftRow {
    /// The entry, without what can be done about it.
    pub item: DriftItem,
    /// Its workload.
    pub workload: WorkloadHead,
    /// Its cluster.
    pub cluster: ClusterId,
    /// Its release.
    pub release: ReleaseId,
    /// What identifies the object in the release.
    pub object_key: String,
    /// Where the manifests of the draft come from.
    pub origin: ManifestOrigin,
}

/// What is compared of a stored entry.
struct StoredEntry {
    fields: String,
    digest: String,
    contested: bool,
}

/// Replaces the entries of a release; writes only those that differ, so that a repeated report writes nothing. An entry that exists keeps
/// its id and its begin. Returns how many entries it wrote and deleted.
pub async fn replace(
    tx: &mut Tx,
    release: ReleaseId,
    found: &[(DriftId, DriftedObject)],
    now: Timestamp,
) -> Result<u64, Error> {
    let rows = sql("SELECT id, object_key, fields, digest, contested FROM drift_item WHERE release_id = $1")
        .bind_text(release)
        .fetch_all(tx)
        .await?;
    // One that can't be read is written again.
    let stored: BTreeMap<String, StoredEntry> = decode_readable_rows(&rows, TABLE, |row| {
        let entry = StoredEntry {
            fields: row.text("fields")?,
            digest: row.text("digest")?,
            contested: row.flag("contested")?,
        };
        Ok((row.text("object_key")?, entry))
    })
    .into_iter()
    .collect();
    let keys: Vec<String> = found.iter().map(|(_, object)| object.key()).collect();
    let gone: Vec<&String> = stored.keys().filter(|key| !keys.contains(key)).collect();
    let mut changed = 0;
    for some in gone.chunks(500) {
        let delete =
            sql("DELETE FROM drift_item WHERE release_id = $1 AND object_key IN ").bind_text(release);
        changed += delete.push_list(some).execute(tx).await?;
    }
    for ((id, object), key) in found.iter().zip(keys) {
        let fields = to_json(&object.fields)?;
        let is_stored = stored.get(&key).is_some_and(|entry| {
            entry.fields == fields
                && entry.digest == object.digest.as_str()
                && entry.contested == object.contested
        });
        if is_stored {
            continue;
        }
        if stored.get(&key).is_some_and(|entry| entry.digest != object.digest.as_str()) {
            field_revert::delete_refusal(tx, release, &key).await?;
        }
        changed += sql("INSERT INTO drift_item (id, release_id, object_key, object, fields, field_count, digest, contested, since_at) \
             VALUES ($1, $2, $3, $4, $5, $6, $7, $8, $9) ON CONFLICT (release_id, object_key) DO UPDATE SET \
             object = excluded.object, fields = excluded.fields, field_count = excluded.field_count, \
             digest = excluded.digest, contested = excluded.contested")
        .bind_text(id)
        .bind_text(release)
        .bind(key)
        .bind(to_json(&object.object)?)
        .bind(fields)
        .bind(i64::from(object.field_count))
        .bind_text(&object.digest)
        .bind(i64::from(object.contested))
        .bind(now.millis())
        .execute(tx)
        .await?;
    }
    Ok(changed)
}

/// One page of the inbox: contested entries first, then the oldest. It ends early where its entries have many bytes.
pub async fn list(
    tx: &mut Tx,
    project: ProjectId,
    query: &DriftQuery,
    now: Timestamp,
) -> Result<Page<DriftRow>, Error> {
    let after = cursor::decode(TABLE, 3, query.cursor.as_deref())?;
    let after = after.map(|after| {
        let (contested, since) = (cursor::parse_number(&after[0])?, cursor::parse_number(&after[1])?);
        Ok::<_, Error>((contested, since, after[2].clone()))
    });
    let after = after.transpose()?;
    let total = push_filters(sql("SELECT COUNT(*)"), project, query, now).fetch_number(tx).await?;
    let first = |head: Sql, count: i64| {
        push_place(push_filters(head, project, query, now), after.as_ref()).push_bind(count)
    };
    let bytes = byte_length(&["d.object", "d.fields", "r.policies"]);
    let sizes = sql("SELECT d.id, ").push(&bytes).push(" AS bytes");
    let limit = PageLimit { rows: query.limit(), bytes: VALUES_PAGE_BYTES };
    let sizes = first(sizes, i64::from(limit.rows) + 1);
    let fitting = find_fitting_rows(tx, sizes, limit, |row| row.text("id")).await?;
    let rows = first(sql(COLUMNS), i64::from(fitting.count)).fetch_all(tx).await?;
    let placed = decode_page(
        &rows,
        TABLE,
        |row| Ok((row.int("contested")?, row.int("since_at")?, row.text("id")?)),
        read,
    );
    let next = placed.last().filter(|_| fitting.has_more).map(|((contested, since, id), _)| {
        cursor::encode(TABLE, &[&contested.to_string(), &since.to_string(), id])
    });
    let items = placed.into_iter().filter_map(|(_, row)| row).collect();
    Ok(Page { items, next, total: u32::try_from(total).unwrap_or(u32::MAX) })
}

/// Adds the place where a page begins, the order, and a limit without its value.
fn push_place(statement: Sql, after: Option<&(i64, i64, String)>) -> Sql {
    let statement = match after {
        None => statement,
        Some((contested, since, id)) => statement
            .push(" AND (d.contested < ")
            .push_bind(*contested)
            .push(" OR (d.contested = ")
            .push_bind(*contested)
            .push(" AND (d.since_at > ")
            .push_bind(*since)
            .push(" OR (d.since_at = ")
            .push_bind(*since)
            .push(" AND d.id > ")
            .push_bind(id.clone())
            .push("))))"),
    };
    statement.push(" ORDER BY d.contested DESC, d.since_at, d.id LIMIT ")
}

/// The entry with this id.
pub async fn get(
    tx: &mut Tx,
    project: ProjectId,
    id: DriftId,
    now: Timestamp,
) -> Result<Option<DriftRow>, Error> {
    let statement = push_filters(sql(COLUMNS), project, &DriftQuery::default(), now);
    let statement = statement.push(" AND d.id = ").push_bind(id.to_string());
    decode_row(statement.fetch_optional(tx).await?, TABLE, read)
}

/// Number of open entries of a project, at most [`MAX_COUNTED`]: every page of the console shows it.
pub async fn count_open(tx: &mut Tx, project: ProjectId, now: Timestamp) -> Result<u32, Error> {
    let query = DriftQuery { state: Some(DriftState::Open), ..DriftQuery::default() };
    let open = push_filters(sql("SELECT COUNT(*) FROM (SELECT d.id"), project, &query, now);
    let count = open.push(&format!(" LIMIT {MAX_COUNTED}) AS counted")).fetch_number(tx).await?;
    Ok(u32::try_from(count).unwrap_or(u32::MAX))
}

/// Hides an entry until a time, as long as its fields have these values; replaces a former snooze.
pub async fn snooze(tx: &mut Tx, row: &DriftRow, snooze: &DriftSnooze) -> Result<(), Error> {
    sql("INSERT INTO drift_snooze (release_id, object_key, digest, until_at, snoozed_by, snoozed_at) \
         VALUES ($1, $2, $3, $4, $5, $6) ON CONFLICT (release_id, object_key) DO UPDATE SET \
         digest = excluded.digest, until_at = excluded.until_at, snoozed_by = excluded.snoozed_by, \
         snoozed_at = excluded.snoozed_at")
    .bind_text(row.release)
    .bind(row.object_key.clone())
    .bind_text(&row.item.digest)
    .bind(snooze.until.millis())
    .bind(snooze.by.clone())
    .bind(snooze.at.millis())
    .execute(tx)
    .await
    .map(drop)
}

/// Shows an entry again.
pub async fn end_snooze(tx: &mut Tx, row: &DriftRow) -> Result<(), Error> {
    sql("DELETE FROM drift_snooze WHERE release_id = $1 AND object_key = $2")
        .bind_text(row.release)
        .bind(row.object_key.clone())
        .execute(tx)
        .await
        .map(drop)
}

/// Adds the tables and the filters of a query.
fn push_filters(head: Sql, project: ProjectId, query: &DriftQuery, now: Timestamp) -> Sql {
    let mut statement = head.push(SOURCE).push_bind(now.millis());
    statement = statement.push(" WHERE w.project_id = ").push_bind(project.to_string());
    if !query.workload.is_empty() {
        statement = statement.push(" AND w.name = ").push_bind(query.workload.clone());
    }
    if !query.cluster.is_empty() {
        statement = statement.push(" AND r.cluster_name = ").push_bind(query.cluster.clone());
    }
    match query.state {
        None => statement,
        Some(DriftState::Open) => statement.push(" AND s.until_at IS NULL"),
        Some(DriftState::Snoozed) => statement.push(" AND s.until_at IS NOT NULL"),
    }
}

fn read(row: &RowReader<'_>) -> Result<DriftRow, DecodeError> {
    let (desired, released) = (row.opt_parse::<Digest>("desired")?, row.opt_parse::<Digest>("released")?);
    let is_desired = desired.is_some() && desired == released;
    let fields = row.json::<Vec<DriftedField>>("fields")?;
    let snooze = read_snooze(row)?;
    let workload = WorkloadHead {
        id: row.parse("workload_id")?,
        name: row.text("workload_name")?,
        intent: row.enum_value("intent")?,
        published: row.opt_count("published_revision")?,
        revision: row.int("resource_version")?,
    };
    let item = DriftItem {
        id: row.parse("id")?,
        workload: workload.name.clone(),
        workload_version: workload.revision,
        cluster: row.text("cluster_name")?,
        object: row.json("object")?,
        state: if snooze.is_some() { DriftState::Snoozed } else { DriftState::Open },
        since: row.timestamp("since_at")?,
        policy: row.json::<Policies>("policies")?.drift,
        contested: row.flag("contested")?,
        fields: fields.into_iter().map(|field| DriftField::from_reported(field, is_desired)).collect(),
        field_count: row.count("field_count")?,
        digest: row.parse("digest")?,
        applied_revision: row.opt_count("applied_revision")?,
        desired_revision: row.opt_count("revision")?,
        snooze,
        revert: read_revert(row)?,
        can: Vec::new(),
    };
    let origin = match row.opt_text("source_kind")?.as_deref() {
        Some("chart") => ManifestOrigin::Chart,
        Some(_) => ManifestOrigin::Remote,
        None => ManifestOrigin::Files,
    };
    Ok(DriftRow {
        item,
        workload,
        cluster: row.parse("cluster_id")?,
        release: row.parse("release_id")?,
        object_key: row.text("object_key")?,
        origin,
    })
}

fn read_revert(row: &RowReader<'_>) -> Result<Option<DriftFieldRevert>, DecodeError> {
    let (paths, by) = (row.opt_json::<Vec<String>>("revert_paths")?, row.opt_text("requested_by")?);
    let (at, error) = (row.opt_timestamp("requested_at")?, row.opt_text("revert_error")?);
    Ok(match (paths, by, at) {
        (Some(paths), Some(by), Some(at)) => Some(DriftFieldRevert { paths, by, at, error }),
        _ => None,
    })
}

fn read_snooze(row: &RowReader<'_>) -> Result<Option<DriftSnooze>, DecodeError> {
    let (until, by) = (row.opt_timestamp("until_at")?, row.opt_text("snoozed_by")?);
    let at = row.opt_timestamp("snoozed_at")?;
    Ok(match (until, by, at) {
        (Some(until), Some(by), Some(at)) => Some(DriftSnooze { until, by, at }),
        _ => None,
    })
}
