//! Encryption of columns: nothing in clear text at rest, errors instead of wrong values, and re-encryption of what exists.

use std::collections::BTreeMap;
use std::path::Path;

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD_NO_PAD;
use domain::Digest;
use domain::project::Project;
use domain::workload::{Revision, Source, SourceFile, WorkloadSpec};
use sqlx::{AnyConnection, AssertSqlSafe, Connection as _, Executor as _, Row as _};

use super::databases::{execute_directly, for_each_address, on_sqlite};
use super::fixtures::{at, insert_fleet, project_id, some_workload, workload_id};
use crate::idempotency::IdempotencyRecord;
use crate::sealed::columns::SEALED_COLUMNS;
use crate::{Store, artifact, idempotency, project, revision, workload};

const SECRET: &str = "Xq7-canary-Zw31-hunter2-PpL9";

pub(super) fn secret_spec() -> WorkloadSpec {
    let text =
        format!("apiVersion: v1\nkind: Secret\nmetadata: {{name: s}}\nstringData: {{password: {SECRET}}}\n");
    let source = Source::Yaml { files: vec![SourceFile { name: "s.yaml".to_owned(), text }] };
    WorkloadSpec { namespace: "web".to_owned(), source, ..WorkloadSpec::default() }
}

/// Writes the secret into every kind of row that the store writes by hand-written statements and by `table_row!`.
pub(super) async fn insert_secrets(store: &Store) {
    insert_fleet(store, 1, 1).await;
    let mut tx = store.write().await.unwrap();
    workload::replace_draft(&mut tx, workload_id(1), &secret_spec()).await.unwrap();
    let mut other = some_workload(2, "w-002");
    other.draft = secret_spec();
    workload::insert(&mut tx, &other).await.unwrap();
    for number in 1..=3 {
        let stored = Revision {
            workload: workload_id(1),
            number,
            author: "ana".to_owned(),
            message: String::new(),
            created_at: at(0),
            spec: secret_spec(),
            helm_versions: Vec::new(),
        };
        revision::insert(&mut tx, &stored).await.unwrap();
    }
    for number in 0..20 {
        let bytes = format!("{number} {SECRET}").into_bytes();
        artifact::put(&mut tx, &Digest::compute(&bytes), &bytes, at(0)).await.unwrap();
    }
    let body = format!("{{\"password\":\"{SECRET}\"}}");
    let record =
        IdempotencyRecord { request_hash: "h".to_owned(), status: 200, headers: BTreeMap::new(), body };
    idempotency::put(&mut tx, "key", "ana", &record, at(0)).await.unwrap();
    tx.commit().await.unwrap();
}

/// The value in clear text, hex, and the parts of base64 that do not depend on what stands around it.
fn forms_of(secret: &str) -> Vec<Vec<u8>> {
    let mut forms = vec![secret.as_bytes().to_vec(), hex::encode(secret).into_bytes()];
    for offset in 0..3 {
        let bytes = [vec![b'-'; offset], secret.as_bytes().to_vec()].concat();
        let encoded = STANDARD_NO_PAD.encode(&bytes);
        let stable = &encoded[(8 * offset).div_ceil(6)..8 * bytes.len() / 6];
        forms.push(stable.as_bytes().to_vec());
    }
    forms
}

pub(super) fn contains(bytes: &[u8], form: &[u8]) -> bool {
    bytes.windows(form.len()).any(|window| window == form)
}

/// Where the secret stands in clear text: files beside an SQLite database, or rows of PostgreSQL.
pub(super) async fn find_clear_text(url: &str) -> Vec<String> {
    let content = match url.strip_prefix("sqlite://") {
        Some(path) => read_files(Path::new(path).parent().unwrap()),
        None => dump_rows(url).await,
    };
    let has_secret = |bytes: &[u8]| forms_of(SECRET).iter().any(|form| contains(bytes, form));
    content.into_iter().filter(|(_, bytes)| has_secret(bytes)).map(|(place, _)| place).collect()
}

fn read_files(folder: &Path) -> Vec<(String, Vec<u8>)> {
    let files = std::fs::read_dir(folder).unwrap().map(|entry| entry.unwrap().path());
    let files = files.filter(|path| path.is_file());
    files.map(|path| (path.display().to_string(), std::fs::read(&path).unwrap())).collect()
}

pub(super) async fn dump_rows(url: &str) -> Vec<(String, Vec<u8>)> {
    sqlx::any::install_default_drivers();
    let mut connection = AnyConnection::connect(url).await.unwrap();
    let tables = "SELECT table_name::TEXT FROM information_schema.tables WHERE table_schema = 'public'";
    let mut rows = Vec::new();
    for table in connection.fetch_all(tables).await.unwrap() {
        let table: String = table.get(0);
        let select = sqlx::raw_sql(AssertSqlSafe(format!("SELECT CAST(t AS TEXT) FROM {table} t")));
        for row in connection.fetch_all(select).await.unwrap() {
            rows.push((table.clone(), row.get::<String, _>(0).into_bytes()));
        }
    }
    connection.close().await.unwrap();
    rows
}

pub(super) async fn assert_secrets_are_readable(store: &Store) {
    let mut tx = store.read().await.unwrap();
    let found = workload::get_by_id(&mut tx, workload_id(1)).await.unwrap().unwrap();
    assert_eq!(found.draft, secret_spec());
    assert_eq!(revision::get_existing(&mut tx, workload_id(1), 2).await.unwrap().spec, secret_spec());
    let bytes = format!("7 {SECRET}").into_bytes();
    assert_eq!(artifact::get(&mut tx, &Digest::compute(&bytes)).await.unwrap(), Some(bytes));
    let record = idempotency::find(&mut tx, "key", "ana").await.unwrap().unwrap();
    assert!(record.body.contains(SECRET));
}

#[tokio::test]
async fn no_value_stands_in_clear_text_in_the_database() {
    for_each_address(|url| async move {
        let store = Store::open_for_test(&url).await.unwrap();
        insert_secrets(&store).await;
        assert_secrets_are_readable(&store).await;
        assert_eq!(find_clear_text(&url).await, [""; 0]);
        store.close().await;
    })
    .await;
}

#[tokio::test]
async fn values_that_the_project_locks_are_encrypted_and_read_again() {
    for_each_address(|url| async move {
        let store = Store::open_for_test(&url).await.unwrap();
        insert_fleet(&store, 1, 1).await;
        let mut tx = store.write().await.unwrap();
        let old = project::lock(&mut tx, project_id()).await.unwrap();
        assert_eq!((&*old.locked_values, old.revision), ("", 1));
        let locked = Project { locked_values: format!("password: {SECRET}\n"), revision: 2, ..old };
        project::update(&mut tx, project_id(), &locked).await.unwrap();
        tx.commit().await.unwrap();
        let mut tx = store.read().await.unwrap();
        assert_eq!(project::get(&mut tx, project_id()).await.unwrap(), locked);
        drop(tx);
        assert_eq!(find_clear_text(&url).await, [""; 0]);
        store.close().await;
    })
    .await;
}

#[test]
fn the_search_finds_base64_at_every_offset() {
    for before in ["", "a", "ab", "abc"] {
        let text = STANDARD_NO_PAD.encode(format!("{before}{SECRET}xyz"));
        assert!(forms_of(SECRET).iter().any(|form| contains(text.as_bytes(), form)), "{text}");
    }
}

/// Columns that are not encrypted, with the reason. A new column of text or bytes needs a decision.
const CLEAR_COLUMNS: &[(&str, &[&str])] = &[
    (
        "names, ids, digests, times and words of enums",
        &[
            "*.id",
            "*.name",
            "*.kind",
            "*.state",
            "*.created_by",
            "*.updated_by",
            "*.author",
            "*.actor",
            "*.project_id",
            "*.workload_id",
            "*.cluster_id",
            "*.release_id",
            "*.plan_id",
            "*.user_id",
            "*.owner_id",
            "*.workload_name",
            "*.cluster_name",
            "*.namespace",
            "*.region",
            "*.fingerprint",
            "*.serial",
            "*.digest",
            "*.bundle",
            "*.hash",
            "*.intent",
            "*.gate",
            "*.severity",
            "*.connectivity",
            "*.sync",
            "*.health",
            "*.last_known_state",
            "*.version",
            "*.repository",
            "*.url",
            "*.url_identity",
            "*.path",
            "*.ref",
            "*.commit_id",
            "*.etag",
            "*.last_modified",
            "*.inputs_digest",
            "*.chart_digest",
            "*.files_digest",
            "*.index_digest",
            "*.body_digest",
            "*.schema_digest",
            "*.helm_version",
            "revision.helm_versions",
            "*.desired",
            "*.released",
            "*.applied",
            "*.rendered_facts",
            "*.retained_by",
            "*.accepted_by",
            "*.decided_by",
            "*.token_id",
            "*.agent_version",
            "*.exposure_key",
            "*.ingress_class",
            "*.credentials_format",
            "*.request_hash",
            "*.idempotency_key",
            "idempotency_record.headers",
            "*.checksum",
            "*.table_name",
            "*.column_name",
            "*.wrapping_key",
            "*.detail_kind",
            "*.cause_key",
            "*.incident_id",
            "*.operation_id",
            "*.publisher",
            "*.outcome",
            "*.acknowledged_by",
            "*.channel",
            "*.object_key",
            "*.snoozed_by",
            "*.suspended_by",
            "*.requested_by",
            "*.drift_id",
            "field_revert.request_id",
            "*.publish_approval",
            "*.rollback_bundle",
        ],
    ),
    (
        "hashes of secrets that were generated, and of passwords",
        &[
            "api_token.secret_sha256",
            "password_link.secret_sha256",
            "join_token.secret_sha256",
            "user_account.password_hash",
            "session.id_hash",
            "sign_in_attempt.subject_hash",
            "identity_replay.used_hash",
        ],
    ),
    (
        "who has which role",
        &[
            "*.role",
            "api_token.actions",
            "role_binding.subject",
            "role_binding.scope_kind",
            "role_binding.scope_id",
        ],
    ),
    (
        "text that users write about an object, not its content",
        &["revision.message", "operation.kind", "suspension.reason", "elevation.reason"],
    ),
    (
        "labels, selectors and placement",
        &[
            "*.labels",
            "*.owners",
            "cluster.annotations",
            "cluster.taints",
            "cluster_label.value",
            "workload_label.value",
            "cluster_group.members",
            "cluster_group.selector",
            "cluster_group.features",
            "decision.body",
            "subscription.scope",
            "suspension.scope",
            "subscription.quiet_hours",
            "pending_removal.waiting_for",
            "rollout.body",
        ],
    ),
    (
        "what clusters report: values of Secrets are removed where they are observed",
        &[
            "cluster_facts.facts",
            "cluster_facts.apis",
            "cluster_facts.namespaces",
            "cluster_facts.confirmed",
            "cluster_heartbeat.api_server_error",
            "registration.facts",
            "registration.csr",
            "agent_certificate.certificate",
            "release.message",
            "release.goal",
            "release.policies",
            "release.rollback_policies",
            "release.health_detail",
            "release.stages",
            "release.facts_comparison",
            "release_resources.resources",
            "drift_item.object",
            "drift_item.fields",
            "field_revert.paths",
            "field_revert.error",
            "release_tombstone.deletion",
            "release_tombstone.policies",
            "event.message",
            "incident.cause",
            "incident.clusters",
            "incident.preceding_change",
            "pending_failure.failure",
            "delivery.message",
            "publish_message.message",
            "operation.counts",
            "operation.targets",
        ],
    ),
    (
        "failures and states, without the content that they are about",
        &[
            "*.failure",
            "*.last_error",
            "*.note",
            "chart_repository.status",
            "git_ref.status",
            "git_source.follow_status",
            "git_snapshot.pinned",
            "chart.metadata",
            "git_repository.allowed_signers",
        ],
    ),
    (
        "where users sign in, and who they are there; what the provider says about them is encrypted",
        &[
            "identity_provider.display_name",
            "*.issuer",
            "*.client_id",
            "identity_provider.settings",
            "user_identity.subject",
            "identity_session.provider",
            "identity_session.subject",
            "identity_session.sid",
        ],
    ),
    ("whose session it is, and where it is used", &["session.data", "session.address", "session.user_agent"]),
    (
        "who requested what: names, addresses and hashes; what changed is encrypted",
        &[
            "audit_entry.credential",
            "audit_entry.address",
            "audit_entry.request_id",
            "audit_entry.action",
            "audit_entry.subject",
            "audit_entry.message",
            "audit_entry.previous",
        ],
    ),
    ("mail server and text of a channel, without its password", &["channel.email", "channel.template"]),
    ("settings: the hash of the setup token, the mode of encryption", &["setting.value"]),
    ("keys that are encrypted by the wrapping key", &["data_key.wrapped", "encryption_pass.position"]),
    ("names of groups and charts, ids of commits", &["spec_reference.detail"]),
    (
        "which fields a chart generates: objects, paths and positions, no values",
        &["chart_rendering.generated"],
    ),
];

#[tokio::test]
async fn every_column_is_encrypted_or_named_with_the_reason_why_not() {
    on_sqlite(|url| async move {
        let store = Store::open_for_test(&url).await.unwrap();
        let mut connection = AnyConnection::connect(&url).await.unwrap();
        let columns = "SELECT m.name, c.name FROM sqlite_master m JOIN pragma_table_info(m.name) c \
             WHERE m.type = 'table' AND c.type IN ('TEXT', 'BLOB')";
        let clear: Vec<&str> =
            CLEAR_COLUMNS.iter().flat_map(|(_, columns)| columns.iter().copied()).collect();
        let mut undecided = Vec::new();
        for row in connection.fetch_all(columns).await.unwrap() {
            let (table, column): (String, String) = (row.get(0), row.get(1));
            let sealed = SEALED_COLUMNS.iter().any(|one| one.table == table && one.column == column);
            let names = [format!("{table}.{column}"), format!("*.{column}")];
            if !sealed && !names.iter().any(|name| clear.contains(&name.as_str())) {
                undecided.push(format!("{table}.{column}"));
            }
        }
        connection.close().await.unwrap();
        assert_eq!(undecided, [""; 0]);
        store.close().await;
    })
    .await;
}

#[tokio::test]
async fn a_ciphertext_of_another_row_or_a_damaged_one_is_an_error_that_names_row_and_key() {
    for_each_address(|url| async move {
        let store = Store::open_for_test(&url).await.unwrap();
        insert_secrets(&store).await;
        let key = store.encryption_status(at(0)).await.unwrap().keys[0].id.clone();
        execute_directly(
            &url,
            "UPDATE workload SET draft = (SELECT w.draft FROM workload w WHERE w.name = 'w-002') WHERE name = 'w-001';
             UPDATE revision SET spec = (SELECT r.spec FROM revision r WHERE r.number = 2) WHERE number = 1;
             UPDATE revision SET spec = SUBSTR(spec, 1, LENGTH(spec) - 8) WHERE number = 3;",
        )
        .await;
        let mut tx = store.read().await.unwrap();
        let swapped = workload::get_by_id(&mut tx, workload_id(1)).await.unwrap_err().to_string();
        assert!(swapped.contains(&workload_id(1).to_string()) && swapped.contains(&key), "{swapped}");
        assert!(workload::get_by_id(&mut tx, workload_id(2)).await.is_ok());
        for number in [1, 3] {
            let error = revision::get_existing(&mut tx, workload_id(1), number).await.unwrap_err().to_string();
            assert!(error.contains("of revision can't be read") && error.contains(&key), "{error}");
            assert!(!error.contains(SECRET));
        }
        assert!(revision::get_existing(&mut tx, workload_id(1), 2).await.is_ok());
        drop(tx);
        store.close().await;
    })
    .await;
}
