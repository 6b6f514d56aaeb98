//! Re-encryption of existing values: after an upgrade, and after a rotation.

use domain::chart::ChartUse;
use sqlx::{AnyConnection, Connection as _};

use super::databases::{execute_directly, for_each_address, on_postgres, test_keys};
use super::encryption::{
    assert_secrets_are_readable, contains, dump_rows, find_clear_text, insert_secrets, secret_spec,
};
use super::fixtures::{at, project_id, workload_id};
use crate::sealed::columns::SEALED_COLUMNS;
use crate::{BatchOutcome, EncryptionMode, Store, chart_repository, workload};

/// Opens a database whose rows are in clear text, as after the upgrade of a previous release.
async fn open_with_clear_text(url: &str) -> Store {
    let store = Store::open_for_test(url).await.unwrap();
    execute_directly(url, "UPDATE setting SET value = 'waiting' WHERE name = 'encryption'").await;
    store.reload_keys(at(0)).await.unwrap();
    insert_secrets(&store).await;
    let deleted = "DELETE FROM revision WHERE number = 3; DELETE FROM spec_reference;";
    execute_directly(url, deleted).await;
    assert_ne!(find_clear_text(url).await, [""; 0], "the search works");
    store
}

/// Runs the batches of re-encryption to their end; returns how many there were.
async fn finish(store: &Store, now: i64) -> usize {
    for count in 1.. {
        assert!(count < 1000, "it ends");
        store.reload_keys(at(now)).await.unwrap();
        match store.reencrypt_batch(at(now)).await.unwrap() {
            BatchOutcome::Progress => {}
            BatchOutcome::AllEncrypted => store.complete_encryption(at(now)).await.unwrap(),
            BatchOutcome::Idle => return count,
        }
    }
    unreachable!()
}

#[tokio::test]
async fn rows_in_clear_text_are_encrypted_by_servers_that_are_killed_after_every_batch() {
    for_each_address(|url| async move {
        open_with_clear_text(&url).await.close().await;
        if let Some(path) = url.strip_prefix("sqlite://") {
            std::fs::copy(path, format!("{path}.before-encryption")).unwrap();
        }
        let mut batches = 0;
        loop {
            batches += 1;
            assert!(batches < 200, "it ends");
            let store = Store::open_for_test(&url).await.unwrap();
            store.switch_encryption_on(at(0)).await.unwrap();
            assert_secrets_are_readable(&store).await;
            let outcome = store.reencrypt_batch(at(61_000)).await.unwrap();
            // A server that is killed commits no part of a batch.
            let mut tx = store.write().await.unwrap();
            crate::sealed::pass::run_batch(&mut tx).await.unwrap();
            tx.rollback().await.unwrap();
            if outcome == BatchOutcome::AllEncrypted {
                store.complete_encryption(at(0)).await.unwrap();
                store.close().await;
                break;
            }
            store.close().await;
        }
        assert!(batches > SEALED_COLUMNS.len(), "{batches}");
        let store = Store::open_for_test(&url).await.unwrap();
        assert_eq!(store.encryption_mode(), EncryptionMode::Complete);
        assert_secrets_are_readable(&store).await;
        assert_eq!(find_clear_text(&url).await, [""; 0], "also not in free pages, the log and copies");
        assert_eq!(store.reencrypt_batch(at(0)).await.unwrap(), BatchOutcome::Idle);
        store.close().await;
    })
    .await;
}

#[tokio::test]
async fn a_rotation_encrypts_every_value_with_the_new_key_when_all_servers_have_read_it() {
    for_each_address(|url| async move {
        let store = Store::open_for_test(&url).await.unwrap();
        insert_secrets(&store).await;
        let old = store.encryption_status(at(0)).await.unwrap().keys[0].id.clone();
        let beside = Store::open_beside_server(&url, &test_keys()).await.unwrap();
        let new = beside.rotate_keys(at(0)).await.unwrap();
        beside.close().await;
        assert_eq!(finish(&store, 1_000).await, 1, "the new key is not used in the first minute");
        assert_secrets_are_readable(&store).await;
        assert_eq!(
            finish(&store, 61_000).await,
            1,
            "another server may use the previous key for another minute"
        );
        assert!(finish(&store, 121_000).await > SEALED_COLUMNS.len());
        assert_secrets_are_readable(&store).await;
        let status = store.encryption_status(at(121_000)).await.unwrap();
        assert!(!status.is_in_progress() && status.keys.iter().any(|key| key.id == new && key.is_active));
        let dump = match url.strip_prefix("sqlite://") {
            Some(_) => vec![],
            None => dump_rows(&url).await,
        };
        let form = format!("sealed:1:{old}");
        assert!(dump.iter().all(|(_, row)| !contains(row, form.as_bytes())));
        store.close().await;
    })
    .await;
}

#[tokio::test]
async fn references_of_encrypted_specs_are_found_and_those_of_unreadable_ones_count() {
    for_each_address(|url| async move {
        let store = open_with_clear_text(&url).await;
        execute_directly(&url, "UPDATE workload SET draft = '\"x\"' WHERE name = 'w-002'").await;
        let mut tx = store.write().await.unwrap();
        let mut spec = secret_spec();
        spec.placement.predicates = vec![domain::placement::Predicate {
            groups: vec!["edge".to_owned()],
            ..domain::placement::Predicate::default()
        }];
        workload::replace_draft(&mut tx, workload_id(1), &spec).await.unwrap();
        tx.commit().await.unwrap();
        let names = async |group: &'static str| {
            let mut tx = store.read().await.unwrap();
            workload::list_names_by_group(&mut tx, group).await.unwrap()
        };
        assert_eq!((names("edge").await, names("other").await.len()), (vec!["w-001".to_owned()], 0));
        store.switch_encryption_on(at(0)).await.unwrap();
        finish(&store, 61_000).await;
        assert_eq!(names("edge").await, ["w-001", "w-002"]);
        assert_eq!(names("other").await, ["w-002"], "it may refer to any group");
        let mut tx = store.read().await.unwrap();
        let uses = chart_repository::list_uses(&mut tx, project_id(), "repo").await.unwrap();
        let unknown =
            ChartUse { workload: "w-002".to_owned(), chart: "repo/".to_owned(), version: String::new() };
        assert_eq!(uses, [unknown]);
        drop(tx);
        store.close().await;
    })
    .await;
}

#[tokio::test]
async fn on_postgresql_encryption_waits_for_clients_of_an_earlier_release() {
    on_postgres(|url| async move {
        let store = Store::open_for_test(&url).await.unwrap();
        assert_eq!(store.count_earlier_clients().await.unwrap(), 0, "its own connections have a name");
        let _wakeups = store.listen().await.unwrap();
        assert_eq!(store.count_earlier_clients().await.unwrap(), 0);
        let earlier = AnyConnection::connect(&url).await.unwrap();
        assert_eq!(store.count_earlier_clients().await.unwrap(), 1);
        earlier.close().await.unwrap();
        store.close().await;
    })
    .await;
}
