//! Git sources: stored contents of commits, the refs that drafts follow, and which draft follows which.

use domain::git_status::{GitFollowStatus, GitRefStatus};
use domain::remote::PinnedCommit;
use domain::workload::Workload;
use domain::{ProjectId, Timestamp, WorkloadId};

use crate::decode::{DecodeError, RowReader, decode_row, decode_rows};
use crate::sql::{check_key_length, sql, to_json};
use crate::{Error, Tx};

/// A path of a repository.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct GitPath<'a> {
    /// The project.
    pub project: ProjectId,
    /// URL of the repository.
    pub url: &'a str,
    /// The path in it.
    pub path: &'a str,
}

/// What is stored about a commit at a path.
pub async fn get_snapshot(
    tx: &mut Tx,
    at: &GitPath<'_>,
    commit: &str,
) -> Result<Option<PinnedCommit>, Error> {
    let row = sql("SELECT pinned, commit_id FROM git_snapshot WHERE project_id = $1 AND url = $2 AND path = $3 AND commit_id = $4")
        .bind_text(at.project)
        .bind_text(at.url)
        .bind_text(at.path)
        .bind_text(commit)
        .fetch_optional(tx)
        .await?;
    decode_row(row, "git_snapshot", |row| row.json("pinned"))
}

/// Stores what is known about a commit at a path, unless it is stored. The caller has put its artifact.
pub async fn put_snapshot(
    tx: &mut Tx,
    at: &GitPath<'_>,
    pinned: &PinnedCommit,
    now: Timestamp,
) -> Result<(), Error> {
    sql("INSERT INTO git_snapshot (project_id, url, path, commit_id, digest, pinned, created_at) \
         VALUES ($1, $2, $3, $4, $5, $6, $7) ON CONFLICT (project_id, url, path, commit_id) DO NOTHING")
    .bind_text(at.project)
    .bind_text(at.url)
    .bind_text(at.path)
    .bind_text(&pinned.commit)
    .bind_text(&pinned.digest)
    .bind(to_json(pinned)?)
    .bind(now.millis())
    .execute(tx)
    .await
    .map(drop)
}

/// A ref that drafts follow.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct GitRefRow {
    /// The project.
    pub project: ProjectId,
    /// URL of the repository.
    pub url: String,
    /// The ref; empty for the default branch.
    pub reference: String,
    /// When it is due.
    pub next_check_at: Timestamp,
    /// What is known about it.
    pub status: GitRefStatus,
}

const REF: &str = "git_ref";

fn read_ref(row: &RowReader<'_>) -> Result<GitRefRow, DecodeError> {
    Ok(GitRefRow {
        project: row.parse("project_id")?,
        url: row.text("url")?,
        reference: row.text("ref")?,
        next_check_at: row.timestamp("next_check_at")?,
        status: row.json("status")?,
    })
}

/// A ref that is due.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct DueRef {
    /// The ref.
    pub row: GitRefRow,
    /// Who created the first of the workloads whose drafts follow it; `None` if none does any more.
    pub owner: Option<String>,
}

/// The refs that are due, in turns of their owners: the ref of each that waited longest, then the second of each, and so on. So an owner
/// of many refs hides none of the others.
pub async fn list_due_refs(tx: &mut Tx, now: Timestamp, limit: u32) -> Result<Vec<DueRef>, Error> {
    let rows = sql("WITH due AS (SELECT r.project_id, r.url, r.ref, r.next_check_at, r.status, \
                    (SELECT w.created_by FROM git_source s JOIN workload w ON w.id = s.workload_id \
                     WHERE s.project_id = r.project_id AND s.url = r.url AND s.ref = r.ref \
                     ORDER BY w.created_at, w.id LIMIT 1) AS owner \
                    FROM git_ref r WHERE r.next_check_at <= $1), \
                    numbered AS (SELECT due.*, ROW_NUMBER() OVER \
                    (PARTITION BY owner ORDER BY next_check_at, project_id, url, ref) AS place FROM due) \
                    SELECT project_id, url, ref, next_check_at, status, owner FROM numbered \
                    ORDER BY place, next_check_at, project_id, url, ref LIMIT $2")
    .bind(now.millis())
    .bind(i64::from(limit))
    .fetch_all(tx)
    .await?;
    decode_rows(&rows, REF, |row| Ok(DueRef { row: read_ref(row)?, owner: row.opt_text("owner")? }))
}

/// One ref.
pub async fn get_ref(
    tx: &mut Tx,
    project: ProjectId,
    url: &str,
    reference: &str,
) -> Result<Option<GitRefRow>, Error> {
    let row = sql("SELECT project_id, url, ref, next_check_at, status FROM git_ref WHERE project_id = $1 AND url = $2 AND ref = $3")
        .bind_text(project)
        .bind_text(url)
        .bind_text(reference)
        .fetch_optional(tx)
        .await?;
    decode_row(row, REF, read_ref)
}

/// Moves the due time of a ref that still has the one that was read; returns whether it had, so that one server checks it.
pub async fn claim_ref(tx: &mut Tx, row: &GitRefRow, until: Timestamp) -> Result<bool, Error> {
    let changed = sql("UPDATE git_ref SET next_check_at = $1 WHERE project_id = $2 AND url = $3 AND ref = $4 AND next_check_at = $5")
        .bind(until.millis())
        .bind_text(row.project)
        .bind_text(&row.url)
        .bind_text(&row.reference)
        .bind(row.next_check_at.millis())
        .execute(tx)
        .await?;
    Ok(changed == 1)
}

/// Writes status and due time of a ref.
pub async fn update_ref(tx: &mut Tx, row: &GitRefRow) -> Result<(), Error> {
    sql("UPDATE git_ref SET next_check_at = $1, status = $2 WHERE project_id = $3 AND url = $4 AND ref = $5")
        .bind(row.next_check_at.millis())
        .bind(to_json(&row.status)?)
        .bind_text(row.project)
        .bind_text(&row.url)
        .bind_text(&row.reference)
        .execute(tx)
        .await
        .map(drop)
}

/// The URLs of the repositories whose refs drafts follow, as they are spelled in the drafts; sorted.
pub async fn list_ref_urls(tx: &mut Tx, project: ProjectId) -> Result<Vec<String>, Error> {
    let rows = sql("SELECT DISTINCT url FROM git_ref WHERE project_id = $1 ORDER BY url")
        .bind_text(project)
        .fetch_all(tx)
        .await?;
    decode_rows(&rows, REF, |row| row.text("url"))
}

/// Makes all refs of a repository due; returns how many there are.
pub async fn make_due(tx: &mut Tx, project: ProjectId, url: &str, now: Timestamp) -> Result<u64, Error> {
    if tx.is_postgres() {
        // In the order of refs: the update locks rows in the order in which it finds them.
        let select = sql("SELECT ref FROM git_ref WHERE project_id = $1 AND url = $2 ORDER BY ref");
        select.bind_text(project).bind_text(url).push_locking_clause(tx).fetch_all(tx).await?;
    }
    sql("UPDATE git_ref SET next_check_at = $1 WHERE project_id = $2 AND url = $3")
        .bind(now.millis())
        .bind_text(project)
        .bind_text(url)
        .execute(tx)
        .await
}

/// Deletes a ref that no draft follows; returns whether it did.
pub async fn delete_unused_ref(tx: &mut Tx, row: &GitRefRow) -> Result<bool, Error> {
    let deleted = sql("DELETE FROM git_ref WHERE project_id = $1 AND url = $2 AND ref = $3 AND NOT EXISTS \
         (SELECT 1 FROM git_source s WHERE s.project_id = $1 AND s.url = $2 AND s.ref = $3)")
    .bind_text(row.project)
    .bind_text(&row.url)
    .bind_text(&row.reference)
    .execute(tx)
    .await?;
    Ok(deleted == 1)
}

/// A workload whose draft follows a ref.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct GitFollower {
    /// Its id.
    pub workload: WorkloadId,
    /// Its name.
    pub name: String,
    /// The path in the repository.
    pub path: String,
    /// What the last new commit led to.
    pub follow: GitFollowStatus,
}

/// The workloads whose drafts follow a ref, by name.
pub async fn list_followers(tx: &mut Tx, row: &GitRefRow) -> Result<Vec<GitFollower>, Error> {
    let rows = sql("SELECT s.workload_id AS id, w.name, s.path, s.follow_status FROM git_source s JOIN workload w ON w.id = s.workload_id \
                    WHERE s.project_id = $1 AND s.url = $2 AND s.ref = $3 ORDER BY w.name")
    .bind_text(row.project)
    .bind_text(&row.url)
    .bind_text(&row.reference)
    .fetch_all(tx)
    .await?;
    decode_rows(&rows, "git_source", |row| {
        Ok(GitFollower {
            workload: row.parse("id")?,
            name: row.text("name")?,
            path: row.text("path")?,
            follow: row.json("follow_status")?,
        })
    })
}

/// The workloads whose drafts follow a ref. What it led to for them is not read, so that an unreadable status of one hides no failure of
/// the ref.
pub async fn list_following(tx: &mut Tx, row: &GitRefRow) -> Result<Vec<WorkloadId>, Error> {
    let rows = sql("SELECT workload_id AS id FROM git_source WHERE project_id = $1 AND url = $2 AND ref = $3 ORDER BY workload_id")
        .bind_text(row.project)
        .bind_text(&row.url)
        .bind_text(&row.reference)
        .fetch_all(tx)
        .await?;
    decode_rows(&rows, "git_source", |row| row.parse("id"))
}

/// What the last new commit led to for a workload.
pub async fn get_follow_status(tx: &mut Tx, workload: WorkloadId) -> Result<GitFollowStatus, Error> {
    let row = sql("SELECT workload_id AS id, follow_status FROM git_source WHERE workload_id = $1")
        .bind_text(workload)
        .fetch_optional(tx)
        .await?;
    Ok(decode_row(row, "git_source", |row| row.json("follow_status"))?.unwrap_or_default())
}

/// What the draft of a workload follows.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct FollowedRef {
    /// URL of the repository.
    pub url: String,
    /// The ref; empty for the default branch.
    pub reference: String,
    /// What is known about the ref; `None` for a commit, which can't move.
    pub status: Option<GitRefStatus>,
    /// What its last move led to.
    pub follow: GitFollowStatus,
}

/// What the draft of a workload follows, if it does. Nothing is locked.
pub async fn get_followed_ref(tx: &mut Tx, workload: WorkloadId) -> Result<Option<FollowedRef>, Error> {
    let row = sql("SELECT s.workload_id AS id, s.url, s.ref, s.follow_status, r.status FROM git_source s LEFT JOIN git_ref r \
                   ON r.project_id = s.project_id AND r.url = s.url AND r.ref = s.ref WHERE s.workload_id = $1")
    .bind_text(workload)
    .fetch_optional(tx)
    .await?;
    decode_row(row, "git_source", |row| {
        Ok(FollowedRef {
            url: row.text("url")?,
            reference: row.text("ref")?,
            status: row.opt_json("status")?,
            follow: row.json("follow_status")?,
        })
    })
}

/// Stores what the last new commit led to for a workload.
pub async fn set_follow_status(
    tx: &mut Tx,
    workload: WorkloadId,
    follow: &GitFollowStatus,
) -> Result<(), Error> {
    sql("UPDATE git_source SET follow_status = $1 WHERE workload_id = $2")
        .bind(to_json(follow)?)
        .bind_text(workload)
        .execute(tx)
        .await
        .map(drop)
}

/// Stores which ref the draft of a workload follows. A new ref is due at once.
pub(crate) async fn track_draft(tx: &mut Tx, workload: &Workload) -> Result<(), Error> {
    // What it followed before may be a cause of an incident.
    tx.note_cause(workload.id, false, workload.updated_at);
    let Some(source) = workload.draft.source.remote().filter(|source| !source.repository.is_empty()) else {
        return sql("DELETE FROM git_source WHERE workload_id = $1")
            .bind_text(workload.id)
            .execute(tx)
            .await
            .map(drop);
    };
    check_key_length("the URL of the repository", &source.repository)?;
    check_key_length("the name of the ref", &source.reference)?;
    sql("INSERT INTO git_source (workload_id, project_id, url, ref, path, follow_status) VALUES ($1, $2, $3, $4, $5, $6) \
         ON CONFLICT (workload_id) DO UPDATE SET url = excluded.url, ref = excluded.ref, path = excluded.path, \
         follow_status = CASE WHEN git_source.url = excluded.url AND git_source.ref = excluded.ref AND git_source.path = excluded.path \
         THEN git_source.follow_status ELSE excluded.follow_status END")
    .bind_text(workload.id)
    .bind_text(workload.project)
    .bind_text(&source.repository)
    .bind_text(&source.reference)
    .bind_text(&source.path)
    .bind(to_json(&GitFollowStatus::default())?)
    .execute(tx)
    .await?;
    if !source.can_move() && source.pinned.is_some() {
        return Ok(());
    }
    sql("INSERT INTO git_ref (project_id, url, ref, next_check_at, status) VALUES ($1, $2, $3, $4, $5) \
         ON CONFLICT (project_id, url, ref) DO NOTHING")
    .bind_text(workload.project)
    .bind_text(&source.repository)
    .bind_text(&source.reference)
    .bind(workload.updated_at.millis())
    .bind(to_json(&GitRefStatus::default())?)
    .execute(tx)
    .await
    .map(drop)
}
