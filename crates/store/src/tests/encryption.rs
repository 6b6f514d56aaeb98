//! Encryption of columns: nothing in clear text at rest, errors instead of wrong values, and re-encryption of what exists.

use std::collections::BTreeMap;
use std::path::Path;

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD_NO_PAD;
use domain::Digest;
use domain::project::Project;
use domain::workload::{Revision, Source, SourceFile, WorkloadSpec};
use sqlx::{AnyConnection, AssertSqlSafe, Connection as _, Executor as _, Row as _};

use super::databases::{execute_directly, for_each_address, on_sqlite, test_keys};
use super::fixtures::{at, insert_fleet, project_id, some_workload, workload_id};
use crate::idempotency::IdempotencyRecord;
use crate::sealed::columns::SEALED_COLUMNS;
use crate::{
    Error, KeySource, Store, artifact, default_key_file, generate_wrapping_key, idempotency, project,
    revision, workload,
};

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

/// Closes a store and releases its file.
async fn end(store: Store) {
    store.close().await;
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
            "*.acknowledged_by",
            "*.channel",
            "*.object_key",
            "*.snoozed_by",
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
    ("text that users write about an object", &["revision.message", "operation.kind", "elevation.reason"]),
    (
        "labels, selectors and placement",
        &[
            "*.labels",
            "workload.owners",
            "cluster.annotations",
            "cluster.taints",
            "cluster_label.value",
            "workload_label.value",
            "cluster_group.members",
            "cluster_group.selector",
            "cluster_group.features",
            "decision.body",
            "subscription.scope",
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
            "release_tombstone.deletion",
            "release_tombstone.policies",
            "event.message",
            "incident.cause",
            "incident.clusters",
            "incident.preceding_change",
            "pending_failure.failure",
            "delivery.message",
            "operation.counts",
            "operation.targets",
        ],
    ),
    (
        "failures and states, without the content that they are about",
        &[
            "placer_queue.failure",
            "rollout_queue.failure",
            "incident_queue.failure",
            "channel.last_error",
            "delivery.last_error",
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
            "audit_entry.outcome",
            "audit_entry.subject",
            "audit_entry.message",
            "audit_entry.previous",
        ],
    ),
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

#[tokio::test]
async fn a_server_with_another_key_does_not_start_and_says_which_key_is_needed() {
    for_each_address(|url| async move {
        let store = Store::open_for_test(&url).await.unwrap();
        let wrapping_key = store.encryption_status(at(0)).await.unwrap().keys[0].wrapping_key.clone();
        end(store).await;
        let other = KeySource::Value(generate_wrapping_key());
        let error = Store::open(&url, &other, at(0)).await.err().unwrap();
        assert!(matches!(error, Error::Key(_)), "{error:?}");
        assert!(error.to_string().contains(&wrapping_key), "{error}");
        // With both keys it starts, and after a rewrap the first one is enough.
        let KeySource::Value(old) = test_keys() else { unreachable!() };
        let KeySource::Value(new) = &other else { unreachable!() };
        let both = KeySource::Value(format!("{new}\n# the old one\n{old}"));
        let store = Store::open(&url, &both, at(0)).await.unwrap();
        assert_eq!(store.rewrap_keys().await.unwrap(), 1);
        assert_eq!(store.rewrap_keys().await.unwrap(), 0);
        end(store).await;
        end(Store::open(&url, &other, at(0)).await.unwrap()).await;
        assert!(Store::open_for_test(&url).await.is_err());
    })
    .await;
}

#[tokio::test]
async fn the_key_file_is_created_once_beside_the_database_and_never_replaced() {
    on_sqlite(|url| async move {
        use std::os::unix::fs::PermissionsExt as _;
        let file = default_key_file(&url).unwrap();
        let keys = KeySource::File(file.clone());
        let store = Store::open(&url, &keys, at(0)).await.unwrap();
        insert_secrets(&store).await;
        end(store).await;
        assert_eq!(std::fs::metadata(&file).unwrap().permissions().mode() & 0o777, 0o600);
        let store = Store::open(&url, &keys, at(0)).await.unwrap();
        assert_secrets_are_readable(&store).await;
        end(store).await;
        let moved = file.with_extension("moved");
        std::fs::rename(&file, &moved).unwrap();
        let error = Store::open(&url, &keys, at(0)).await.err().unwrap().to_string();
        assert!(error.contains("is missing") && error.contains(&file.display().to_string()), "{error}");
        assert!(!file.exists(), "no new key takes the place of the one that is needed");
        std::fs::rename(&moved, &file).unwrap();
        std::fs::write(&file, "not a key").unwrap();
        let error = Store::open(&url, &keys, at(0)).await.err().unwrap().to_string();
        assert!(error.contains("line 1") && !error.contains("not a key"), "{error}");
    })
    .await;
}

#[tokio::test]
async fn a_key_command_wraps_and_unwraps() {
    on_sqlite(|url| async move {
        use std::os::unix::fs::PermissionsExt as _;
        let folder = tempfile::tempdir().unwrap();
        let command = folder.path().join("kms");
        // Reverses the text, which stands for an encryption.
        std::fs::write(&command, "#!/bin/sh\n[ \"$1\" = wrap ] || [ \"$1\" = unwrap ] || exit 1\nread -r line; echo \"$line\" | rev\n").unwrap();
        std::fs::set_permissions(&command, std::fs::Permissions::from_mode(0o700)).unwrap();
        let keys = KeySource::Command(command.clone());
        let store = Store::open(&url, &keys, at(0)).await.unwrap();
        insert_secrets(&store).await;
        end(store).await;
        let store = Store::open(&url, &keys, at(0)).await.unwrap();
        assert_secrets_are_readable(&store).await;
        end(store).await;
        std::fs::write(&command, "#!/bin/sh\nexit 3\n").unwrap();
        let error = Store::open(&url, &keys, at(0)).await.err().unwrap().to_string();
        assert!(error.contains("unwrap failed") && error.contains('3'), "{error}");
    })
    .await;
}
