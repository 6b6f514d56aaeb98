//! Which columns are encrypted. A test compares the list with the schema: every text or binary column is either here or named
//! there with the reason why it holds no value of a Secret.

/// The type of an encrypted column.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum ContentKind {
    Text,
    Bytes,
}

/// An encrypted column.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct SealedColumn {
    pub(crate) table: &'static str,
    pub(crate) column: &'static str,
    /// The primary key of the table.
    pub(crate) key: &'static [&'static str],
    pub(crate) content: ContentKind,
}

const fn text(table: &'static str, column: &'static str, key: &'static [&'static str]) -> SealedColumn {
    SealedColumn { table, column, key, content: ContentKind::Text }
}

/// The manifests, values and overrides of a draft.
pub(crate) const WORKLOAD_DRAFT: SealedColumn = text("workload", "draft", &["id"]);
/// The manifests, values and overrides of a revision.
pub(crate) const REVISION_SPEC: SealedColumn = text("revision", "spec", &["workload_id", "number"]);
/// Bundles, renderings, files of commits, charts, responses.
pub(crate) const ARTIFACT_BODY: SealedColumn =
    SealedColumn { table: "artifact", column: "body", key: &["digest"], content: ContentKind::Bytes };
/// A stored response, which contains what was requested.
pub(crate) const IDEMPOTENCY_BODY: SealedColumn =
    text("idempotency_record", "body", &["idempotency_key", "actor"]);
/// Inputs of a plan.
pub(crate) const PLAN_BODY: SealedColumn = text("plan", "body", &["id"]);
/// A dry-run request.
pub(crate) const PLAN_TARGET_REQUEST: SealedColumn =
    text("plan_target", "dry_run_request", &["plan_id", "cluster_id"]);
/// The result of a dry run.
pub(crate) const PLAN_TARGET_BODY: SealedColumn = text("plan_target", "body", &["plan_id", "cluster_id"]);
/// Planned changes, with values of fields.
pub(crate) const CLUSTER_PLAN_BODY: SealedColumn = text("cluster_plan", "body", &["plan_id", "digest"]);
/// Findings in a rendering, which may quote it.
pub(crate) const RENDERING_FINDINGS: SealedColumn = text("chart_rendering", "findings", &["inputs_digest"]);
/// Values of a Helm release.
pub(crate) const HELM_READING: SealedColumn =
    text("helm_release_request", "reading", &["cluster_id", "namespace", "name"]);

/// Values that a project locks.
pub(crate) const PROJECT_LOCKED_VALUES: SealedColumn = text("project", "locked_values", &["id"]);

/// All encrypted columns, in the order in which existing values are encrypted: what is entered by users first.
pub(crate) const SEALED_COLUMNS: [SealedColumn; 23] = [
    text("chart_repository", "credentials", &["project_id", "name"]),
    text("git_repository", "credentials", &["project_id", "name"]),
    text("git_repository", "webhook_secret", &["project_id", "name"]),
    text("channel", "target", &["project_id", "name"]),
    text("channel", "secret", &["project_id", "name"]),
    text("identity_provider", "client_secret", &["name"]),
    text("identity_session", "refresh_token", &["id"]),
    text("user_identity", "reading", &["user_id"]),
    WORKLOAD_DRAFT,
    REVISION_SPEC,
    text("cluster_group", "locked_values", &["name"]),
    PROJECT_LOCKED_VALUES,
    text("cluster", "template_values", &["id"]),
    HELM_READING,
    IDEMPOTENCY_BODY,
    PLAN_TARGET_REQUEST,
    PLAN_TARGET_BODY,
    PLAN_BODY,
    CLUSTER_PLAN_BODY,
    RENDERING_FINDINGS,
    text("event", "detail", &["seq"]),
    text("audit_entry", "changes", &["seq"]),
    ARTIFACT_BODY,
];

/// The entry of a column, if it is encrypted.
pub(crate) fn find(table: &str, column: &str) -> Option<&'static SealedColumn> {
    static COLUMNS: [SealedColumn; 23] = SEALED_COLUMNS;
    COLUMNS.iter().find(|sealed| sealed.table == table && sealed.column == column)
}
