//! Where the wrapping key comes from: a value, a file that is created once, or a command.

use super::databases::{for_each_address, on_sqlite, test_keys};
use super::encryption::{assert_secrets_are_readable, insert_secrets};
use super::fixtures::at;
use crate::{Error, KeySource, Store, default_key_file, generate_wrapping_key};

/// Closes a store and releases its file.
async fn end(store: Store) {
    store.close().await;
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
