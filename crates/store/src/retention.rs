//! Deletes of expired rows, in batches. When rows of a table expire is decided by the hub.

use domain::Timestamp;

use crate::sql::sql;
use crate::{Error, Tx};

/// A table whose rows expire. The order is that in which the hub deletes them.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum RetainedTable {
    /// Sessions, by their end.
    Session,
    /// Attempts to sign in, by their end.
    SignInAttempt,
    /// API tokens, by their end; those without an end stay.
    ApiToken,
    /// Links to set a password, by their end.
    PasswordLink,
    /// Sign-ins with identity providers, by their end.
    IdentitySession,
    /// Hashes of what works once at a sign-in, by their end.
    IdentityReplay,
    /// Stored responses, by their age.
    IdempotencyRecord,
    /// Join tokens, by their end.
    JoinToken,
    /// Registrations that were not accepted, by their age.
    Registration,
    /// Certificates of agents, by their end.
    AgentCertificate,
    /// Plans, by their end, with their targets and planned changes.
    Plan,
    /// Revisions, by their age; never the newest [`REVISIONS_KEPT`] of a workload, the published one, one of a release
    /// or one with an active rollout. The rollout of a revision is deleted with it.
    Revision,
    /// Removals that clusters still owe after a forced deletion, by their age.
    ReleaseTombstone,
    /// Renderings of charts that no published revision was delivered with, and of charts that are not stored any more, by their age. A
    /// chart that a revision names is stored.
    ChartRendering,
    /// Contents of commits that no draft and no revision names, by their age.
    GitSnapshot,
    /// Bundles, schemas and charts that nothing references, by the time of their last put.
    Artifact,
    /// Operations, by their age.
    Operation,
    /// Requests for Helm releases with their answers, by their age.
    HelmReleaseRequest,
    /// Snoozes of drift, by their end.
    DriftSnooze,
    /// Closed incidents with the messages about them, by the time at which they were closed.
    Incident,
    /// Events, by their age.
    Event,
}

/// How many revisions of a workload never expire.
pub const REVISIONS_KEPT: u32 = 100;

/// An encrypted spec that names the commit is found by its reference, one in clear text by its text. One that can't be read counts as
/// a use: unknown is not unused.
const DELETE_GIT_SNAPSHOTS: &str = "DELETE FROM git_snapshot WHERE (project_id, url, path, commit_id) IN \
     (SELECT s.project_id, s.url, s.path, s.commit_id FROM git_snapshot s WHERE s.created_at < $1 \
      AND NOT EXISTS (SELECT 1 FROM workload w WHERE w.draft LIKE '%' || s.commit_id || '%') \
      AND NOT EXISTS (SELECT 1 FROM revision r WHERE r.spec LIKE '%' || s.commit_id || '%') \
      AND NOT EXISTS (SELECT 1 FROM spec_reference x WHERE x.kind = 'commit' AND x.name = s.commit_id) \
      AND NOT EXISTS (SELECT 1 FROM spec_reference x WHERE x.kind = 'unknown') \
      ORDER BY s.created_at LIMIT $2)";

/// Of what was delivered, a rendering stays as long as its chart is stored or its commit has a snapshot: revisions that name them are
/// rendered from it again.
const DELETE_RENDERINGS: &str = "DELETE FROM chart_rendering WHERE inputs_digest IN \
     (SELECT d.inputs_digest FROM chart_rendering d WHERE d.created_at < $1 AND (d.used = 0 OR ( \
          NOT EXISTS (SELECT 1 FROM chart c WHERE c.digest = d.chart_digest) \
          AND NOT EXISTS (SELECT 1 FROM git_snapshot g WHERE g.digest = d.chart_digest) \
          AND NOT EXISTS (SELECT 1 FROM spec_reference x WHERE x.kind = 'unknown'))) \
      ORDER BY d.created_at LIMIT $2)";

/// Bundles of releases, the facts that they are rendered with, schemas of clusters, stored responses, charts, their renderings, their indexes and contents of commits are
/// referenced by their digest.
const DELETE_ARTIFACTS: &str = "DELETE FROM artifact WHERE digest IN \
     (SELECT a.digest FROM artifact a WHERE a.last_put_at < $1 \
      AND NOT EXISTS (SELECT 1 FROM release r WHERE r.desired = a.digest) \
      AND NOT EXISTS (SELECT 1 FROM release r WHERE r.released = a.digest) \
      AND NOT EXISTS (SELECT 1 FROM release r WHERE r.applied = a.digest) \
      AND NOT EXISTS (SELECT 1 FROM release r WHERE r.rollback_bundle = a.digest) \
      AND NOT EXISTS (SELECT 1 FROM release r WHERE r.rendered_facts = a.digest) \
      AND NOT EXISTS (SELECT 1 FROM cluster_facts f WHERE f.schema_digest = a.digest) \
      AND NOT EXISTS (SELECT 1 FROM idempotency_record i WHERE i.body_digest = a.digest) \
      AND NOT EXISTS (SELECT 1 FROM chart c WHERE c.digest = a.digest) \
      AND NOT EXISTS (SELECT 1 FROM chart_rendering d WHERE d.files_digest = a.digest) \
      AND NOT EXISTS (SELECT 1 FROM chart_repository i WHERE i.index_digest = a.digest) \
      AND NOT EXISTS (SELECT 1 FROM git_snapshot g WHERE g.digest = a.digest) \
      ORDER BY a.last_put_at LIMIT $2)";

const DELETE_SNOOZES: &str = "DELETE FROM drift_snooze WHERE (release_id, object_key) IN \
     (SELECT release_id, object_key FROM drift_snooze WHERE until_at < $1 ORDER BY until_at LIMIT $2)";

const DELETE_IDENTITY_SESSIONS: &str = "DELETE FROM identity_session WHERE id IN \
     (SELECT id FROM identity_session WHERE expires_at < $1 ORDER BY expires_at LIMIT $2)";

const DELETE_IDENTITY_REPLAYS: &str = "DELETE FROM identity_replay WHERE used_hash IN \
     (SELECT used_hash FROM identity_replay WHERE expires_at < $1 ORDER BY expires_at LIMIT $2)";

const DELETE_INCIDENTS: &str = "DELETE FROM incident WHERE id IN \
     (SELECT id FROM incident WHERE closed_at < $1 ORDER BY closed_at LIMIT $2)";

impl RetainedTable {
    /// All of them.
    pub const ALL: [Self; 21] = [
        Self::Session,
        Self::SignInAttempt,
        Self::ApiToken,
        Self::PasswordLink,
        Self::IdentitySession,
        Self::IdentityReplay,
        Self::IdempotencyRecord,
        Self::JoinToken,
        Self::Registration,
        Self::AgentCertificate,
        Self::Plan,
        Self::Revision,
        Self::ReleaseTombstone,
        Self::ChartRendering,
        Self::GitSnapshot,
        Self::Artifact,
        Self::Operation,
        Self::HelmReleaseRequest,
        Self::DriftSnooze,
        Self::Incident,
        Self::Event,
    ];

    /// Name of the table.
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Session => "session",
            Self::SignInAttempt => "sign_in_attempt",
            Self::ApiToken => "api_token",
            Self::PasswordLink => "password_link",
            Self::IdentitySession => "identity_session",
            Self::IdentityReplay => "identity_replay",
            Self::IdempotencyRecord => "idempotency_record",
            Self::JoinToken => "join_token",
            Self::Registration => "registration",
            Self::AgentCertificate => "agent_certificate",
            Self::Plan => "plan",
            Self::Revision => "revision",
            Self::ReleaseTombstone => "release_tombstone",
            Self::ChartRendering => "chart_rendering",
            Self::GitSnapshot => "git_snapshot",
            Self::Artifact => "artifact",
            Self::Operation => "operation",
            Self::HelmReleaseRequest => "helm_release_request",
            Self::DriftSnooze => "drift_snooze",
            Self::Incident => "incident",
            Self::Event => "event",
        }
    }

    /// `$1` is the time before which rows have expired, `$2` the number of rows, `$3` of a revision [`REVISIONS_KEPT`]. It ends with the
    /// parenthesis of the query for the rows, see [`delete_batch`].
    const fn delete_statement(self) -> &'static str {
        match self {
            Self::Session => {
                "DELETE FROM session WHERE id_hash IN \
                 (SELECT id_hash FROM session WHERE expires_at < $1 ORDER BY expires_at LIMIT $2)"
            }
            Self::SignInAttempt => {
                "DELETE FROM sign_in_attempt WHERE subject_hash IN \
                 (SELECT subject_hash FROM sign_in_attempt WHERE expires_at < $1 ORDER BY expires_at LIMIT $2)"
            }
            Self::ApiToken => {
                "DELETE FROM api_token WHERE id IN (SELECT id FROM api_token WHERE expires_at < $1 LIMIT $2)"
            }
            Self::PasswordLink => {
                "DELETE FROM password_link WHERE user_id IN \
                 (SELECT user_id FROM password_link WHERE expires_at < $1 LIMIT $2)"
            }
            Self::IdentitySession => DELETE_IDENTITY_SESSIONS,
            Self::IdentityReplay => DELETE_IDENTITY_REPLAYS,
            Self::IdempotencyRecord => {
                "DELETE FROM idempotency_record WHERE (idempotency_key, actor) IN \
                 (SELECT idempotency_key, actor FROM idempotency_record WHERE created_at < $1 \
                  ORDER BY created_at LIMIT $2)"
            }
            Self::HelmReleaseRequest => {
                "DELETE FROM helm_release_request WHERE (cluster_id, namespace, name) IN \
                 (SELECT cluster_id, namespace, name FROM helm_release_request WHERE requested_at < $1 \
                  ORDER BY requested_at LIMIT $2)"
            }
            Self::JoinToken => {
                "DELETE FROM join_token WHERE id IN \
                 (SELECT id FROM join_token WHERE expires_at < $1 ORDER BY expires_at LIMIT $2)"
            }
            Self::Registration => {
                "DELETE FROM registration WHERE fingerprint IN \
                 (SELECT fingerprint FROM registration WHERE state <> 'accepted' AND requested_at < $1 LIMIT $2)"
            }
            Self::AgentCertificate => {
                "DELETE FROM agent_certificate WHERE serial IN \
                 (SELECT serial FROM agent_certificate WHERE not_after < $1 LIMIT $2)"
            }
            Self::Plan => {
                "DELETE FROM plan WHERE id IN \
                 (SELECT id FROM plan WHERE expires_at < $1 ORDER BY expires_at LIMIT $2)"
            }
            Self::Revision => {
                "DELETE FROM revision WHERE (workload_id, number) IN \
                 (SELECT r.workload_id, r.number FROM revision r WHERE r.created_at < $1 \
                  AND r.number <= (SELECT MAX(n.number) FROM revision n WHERE n.workload_id = r.workload_id) - $3 \
                  AND NOT EXISTS (SELECT 1 FROM workload w WHERE w.id = r.workload_id \
                                  AND w.published_revision = r.number) \
                  AND NOT EXISTS (SELECT 1 FROM release x WHERE x.workload_id = r.workload_id \
                                  AND (x.revision = r.number OR x.released_revision = r.number \
                                       OR x.applied_revision = r.number OR x.rollback_revision = r.number)) \
                  AND NOT EXISTS (SELECT 1 FROM rollout o WHERE o.workload_id = r.workload_id \
                                  AND o.revision = r.number AND o.active = 1) \
                  ORDER BY r.created_at LIMIT $2)"
            }
            Self::ReleaseTombstone => {
                "DELETE FROM release_tombstone WHERE release_id IN \
                 (SELECT release_id FROM release_tombstone WHERE created_at < $1 ORDER BY created_at LIMIT $2)"
            }
            Self::ChartRendering => DELETE_RENDERINGS,
            Self::GitSnapshot => DELETE_GIT_SNAPSHOTS,
            Self::Artifact => DELETE_ARTIFACTS,
            Self::Operation => {
                "DELETE FROM operation WHERE id IN \
                 (SELECT id FROM operation WHERE started_at < $1 AND closed_at IS NOT NULL ORDER BY started_at LIMIT $2)"
            }
            Self::DriftSnooze => DELETE_SNOOZES,
            Self::Incident => DELETE_INCIDENTS,
            Self::Event => {
                "DELETE FROM event WHERE seq IN (SELECT seq FROM event WHERE created_at < $1 ORDER BY created_at LIMIT $2)"
            }
        }
    }
}

/// Deletes at most `limit` rows that expired before `before`; returns how many, without those that cascade.
pub async fn delete_batch(
    tx: &mut Tx,
    table: RetainedTable,
    before: Timestamp,
    limit: u32,
) -> Result<u64, Error> {
    // Rows that another transaction has locked are in use: they are deleted later, and nothing waits for another row meanwhile.
    let statement = table.delete_statement();
    let head = statement.strip_suffix(')').unwrap_or(statement);
    let delete = sql(head).push(tx.claiming_clause()).push(")").bind(before.millis()).bind(i64::from(limit));
    let RetainedTable::Revision = table else { return delete.execute(tx).await };
    let deleted = delete.bind(i64::from(REVISIONS_KEPT)).execute(tx).await?;
    if deleted > 0 {
        let rollouts = "DELETE FROM rollout WHERE active = 0 AND NOT EXISTS \
             (SELECT 1 FROM revision r WHERE r.workload_id = rollout.workload_id AND r.number = rollout.revision)";
        sql(rollouts).execute(tx).await?;
        let references = "DELETE FROM spec_reference WHERE revision > 0 AND NOT EXISTS \
             (SELECT 1 FROM revision r WHERE r.workload_id = spec_reference.workload_id AND r.number = spec_reference.revision)";
        sql(references).execute(tx).await?;
    }
    Ok(deleted)
}

/// The number of rows of a table: on PostgreSQL, where counting reads the whole table, the planner's estimate, which is
/// `None` until the table was analysed.
pub async fn count_rows(tx: &mut Tx, table: RetainedTable) -> Result<Option<u64>, Error> {
    let name = table.as_str();
    let count = if tx.is_postgres() {
        sql("SELECT CAST(reltuples AS BIGINT) FROM pg_class WHERE oid = to_regclass($1)").bind_text(name)
    } else {
        sql("SELECT COUNT(*) FROM ").push(name)
    };
    // The estimate is -1 while it is unknown.
    Ok(u64::try_from(count.fetch_number(tx).await?).ok())
}
