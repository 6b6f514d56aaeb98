//! Revisions: snapshots that a publish creates. Immutable except for the versions of Helm that rendered them, and deleted only with
//! their workload.

use std::collections::BTreeSet;

use domain::bounded_json::JsonSize;
use domain::page::{ListQuery, Page};
use domain::workload::Revision;
use domain::{ClusterId, Timestamp, WorkloadId};

use crate::admission::{admit, admit_column, measure_column};
use crate::decode::{decode_one, decode_page, decode_row, decode_rows};
use crate::page_bytes::{PageLimit, find_fitting_rows};
use crate::sql::{Sql, StoredRow, sql, to_json};
use crate::table::{self, table_row};
use crate::{Error, Tx, cursor, spec_reference};

table_row! {
    Revision as revision in "revision" => Revision;
    Key workload_id = revision.workload.to_string() => workload: parse;
    Key number = revision.number => number: count;
    Fixed author = &revision.author => author: text;
    Fixed message = &revision.message => message: text;
    Fixed created_at = revision.created_at => created_at: timestamp;
    Fixed spec = to_json(&revision.spec)? => spec: json;
    Fixed helm_versions = to_json(&revision.helm_versions)? => helm_versions: json;
}

/// Most bytes of the stored specs in one page: each has up to 10 MiB.
const MAX_PAGE_BYTES: u64 = 4 << 20;
/// Most values of the specs in one page, counted of those that are not small: each needs far more memory than its text.
const MAX_PAGE_VALUES: u64 = 100_000;

fn select() -> Sql {
    table::select_from::<Revision>().push(" WHERE workload_id = $1")
}

/// Adds a revision. [`Error::AlreadyExists`] if the workload has one with this number, from a concurrent publish.
pub async fn insert(tx: &mut Tx, revision: &Revision) -> Result<(), Error> {
    table::insert(tx, std::slice::from_ref(revision))?.execute(tx).await?;
    spec_reference::replace(tx, revision.workload, revision.number, &revision.spec).await
}

/// Adds versions of Helm that rendered a revision. The caller has locked the workload.
pub async fn add_helm_versions(
    tx: &mut Tx,
    workload: WorkloadId,
    number: u32,
    added: &BTreeSet<String>,
) -> Result<(), Error> {
    if added.is_empty() {
        return Ok(());
    }
    let row = sql("SELECT helm_versions FROM revision WHERE workload_id = $1 AND number = $2")
        .bind_text(workload)
        .bind(i64::from(number))
        .fetch_optional(tx)
        .await?;
    let Some(known) = decode_row(row, "revision", |row| row.json::<BTreeSet<String>>("helm_versions"))?
    else {
        return Ok(());
    };
    if added.is_subset(&known) {
        return Ok(());
    }
    let all: BTreeSet<&String> = known.union(added).collect();
    sql("UPDATE revision SET helm_versions = $1 WHERE workload_id = $2 AND number = $3")
        .bind(to_json(&all)?)
        .bind_text(workload)
        .bind(i64::from(number))
        .execute(tx)
        .await
        .map(drop)
}

/// A revision as it is stored. To decrypt and to parse a large one takes long, and needs no connection.
pub struct EncodedRevision(StoredRow);

impl EncodedRevision {
    /// The revision.
    ///
    /// # Errors
    /// [`Error::InvalidRow`], [`Error::NoMemory`]
    pub fn decode(&self) -> Result<Revision, Error> {
        admit_column(&self.0, "revision", "spec")?;
        decode_one(&self.0, "revision", read_row)
    }
}

/// One revision of a workload.
pub async fn get(tx: &mut Tx, workload: WorkloadId, number: u32) -> Result<Option<Revision>, Error> {
    find_stored(tx, workload, number).await?.map(|stored| stored.decode()).transpose()
}

/// The same as it is stored.
pub async fn find_stored(
    tx: &mut Tx,
    workload: WorkloadId,
    number: u32,
) -> Result<Option<EncodedRevision>, Error> {
    let row = select()
        .push(" AND number = $2")
        .bind_text(workload)
        .bind(i64::from(number))
        .fetch_optional(tx)
        .await?;
    Ok(row.map(EncodedRevision))
}

/// Who published a revision, and when.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct RevisionAuthor {
    /// Its number.
    pub number: u32,
    /// Who published it.
    pub author: String,
    /// What the author wrote about it; may be empty.
    pub message: String,
    /// When it was published.
    pub created_at: Timestamp,
}

/// The author of the revision that a cluster runs, or shall run if it never ran one. Nothing is locked.
pub async fn get_author_on_cluster(
    tx: &mut Tx,
    workload: WorkloadId,
    cluster: ClusterId,
) -> Result<Option<RevisionAuthor>, Error> {
    let row = sql("SELECT v.number, v.author, v.message, v.created_at FROM release r JOIN revision v \
         ON v.workload_id = r.workload_id AND v.number = COALESCE(r.released_revision, r.revision) \
         WHERE r.workload_id = $1 AND r.cluster_id = $2")
    .bind_text(workload)
    .bind_text(cluster)
    .fetch_optional(tx)
    .await?;
    decode_row(row, "revision", |row| {
        Ok(RevisionAuthor {
            number: row.count("number")?,
            author: row.text("author")?,
            message: row.text("message")?,
            created_at: row.timestamp("created_at")?,
        })
    })
}

/// A revision that another row refers to. [`Error::MissingRow`] if it does not exist: that must not look like a workload
/// without a published revision.
pub async fn get_existing(tx: &mut Tx, workload: WorkloadId, number: u32) -> Result<Revision, Error> {
    get_existing_stored(tx, workload, number).await?.decode()
}

/// The same as it is stored.
pub async fn get_existing_stored(
    tx: &mut Tx,
    workload: WorkloadId,
    number: u32,
) -> Result<EncodedRevision, Error> {
    let missing = || Error::MissingRow { table: "revision", id: format!("{workload}/{number}") };
    find_stored(tx, workload, number).await?.ok_or_else(missing)
}

/// Number of the newest revision of a workload; 0 if it has none.
pub async fn latest_number(tx: &mut Tx, workload: WorkloadId) -> Result<u32, Error> {
    let max = "SELECT MAX(number) FROM revision WHERE workload_id = $1";
    let number = sql(max).bind_text(workload).fetch_number(tx).await?;
    Ok(u32::try_from(number).unwrap_or(u32::MAX))
}

/// One page of the revisions of a workload, newest first. It ends before the specs that are stored in it have more than
/// [`MAX_PAGE_BYTES`] or [`MAX_PAGE_VALUES`]; one revision is in it in any case.
pub async fn list(tx: &mut Tx, workload: WorkloadId, query: &ListQuery) -> Result<Page<Revision>, Error> {
    let before = cursor::decode("revision", 1, query.cursor.as_deref())?;
    let before = before.map_or(Ok(i64::MAX), |parts| cursor::parse_number(&parts[0]))?;
    let total = sql("SELECT COUNT(*) FROM revision WHERE workload_id = $1")
        .bind_text(workload)
        .fetch_number(tx)
        .await?;
    let limit = PageLimit { rows: query.limit(), bytes: MAX_PAGE_BYTES };
    let sizes = "SELECT number, OCTET_LENGTH(spec) AS bytes FROM revision WHERE workload_id = $1 AND number < $2 \
                 ORDER BY number DESC LIMIT $3";
    let sizes = sql(sizes).bind_text(workload).bind(before).bind(i64::from(limit.rows) + 1);
    let fitting = find_fitting_rows(tx, sizes, limit, |row| row.int("number")).await?;
    let oldest = fitting.ends.map(|(_, oldest)| oldest);
    let mut last = oldest.filter(|_| fitting.has_more);
    let mut rows = select()
        .push(" AND number < $2 AND number >= $3 ORDER BY number DESC")
        .bind_text(workload)
        .bind(before)
        .bind(oldest.unwrap_or(before))
        .fetch_all(tx)
        .await?;
    let admitted = admit_first(&rows)?;
    if admitted < rows.len() {
        rows.truncate(admitted);
        let number = |row| decode_one(row, "revision", |row| row.int("number"));
        last = rows.last().map(number).transpose()?;
    }
    let next = last.map(|number| cursor::encode("revision", &[&number.to_string()]));
    let placed = decode_page(&rows, "revision", |row| row.int("number"), read_row);
    let items = placed.into_iter().filter_map(|(_, revision)| revision).collect();
    Ok(Page { items, next, total: u32::try_from(total).unwrap_or(u32::MAX) })
}

/// The numbers of the newest revisions of a workload, newest first.
pub async fn list_numbers(tx: &mut Tx, workload: WorkloadId, limit: u32) -> Result<Vec<u32>, Error> {
    let rows = sql("SELECT number FROM revision WHERE workload_id = $1 ORDER BY number DESC LIMIT $2")
        .bind_text(workload)
        .bind(i64::from(limit))
        .fetch_all(tx)
        .await?;
    decode_rows(&rows, "revision", |row| row.count("number"))
}

/// How many of these rows have at most [`MAX_PAGE_VALUES`] together, one in any case; they are admitted.
fn admit_first(rows: &[StoredRow]) -> Result<usize, Error> {
    let (mut count, mut total) = (0, JsonSize::default());
    for row in rows {
        let with_row = total.and(measure_column(row, "revision", "spec").unwrap_or_default());
        if count > 0 && with_row.values > MAX_PAGE_VALUES {
            break;
        }
        (count, total) = (count + 1, with_row);
    }
    admit(total)?;
    Ok(count)
}
