//! Artifacts: bytes by their digest.

use domain::Digest;

use super::databases::for_each_engine;
use super::fixtures::{at, cluster_id, insert_full_fleet};
use crate::retention::{RetainedTable, delete_batch};
use crate::{artifact, cluster};

const DAY: i64 = 24 * 3_600_000;

#[tokio::test]
async fn bytes_read_back_as_they_were_put() {
    for_each_engine(|store| async move {
        let mut tx = store.write().await.unwrap();
        let bytes: Vec<u8> = (0..=255).cycle().take(300_000).collect();
        let digest = Digest::compute(&bytes);
        assert_eq!(artifact::get(&mut tx, &digest).await.unwrap(), None);
        assert_eq!(artifact::measure(&mut tx, &digest).await.unwrap(), None);
        artifact::put(&mut tx, &digest, &bytes, at(0)).await.unwrap();
        artifact::put(&mut tx, &digest, &bytes, at(1)).await.unwrap();
        let measured = artifact::measure(&mut tx, &digest).await.unwrap().unwrap();
        assert!((bytes.len()..bytes.len() + 200).contains(&measured), "{measured}");
        assert_eq!(artifact::get(&mut tx, &digest).await.unwrap(), Some(bytes));
    })
    .await;
}

#[tokio::test]
async fn an_unreferenced_artifact_expires_by_its_last_put() {
    for_each_engine(|store| async move {
        insert_full_fleet(&store, 1, 1).await; // its release references the digest of "bundle"
        let mut tx = store.write().await.unwrap();
        let all = [&b"bundle"[..], b"old", b"put again", b"new"].map(|bytes| (Digest::compute(bytes), bytes));
        for ((digest, bytes), put) in all.iter().zip([0, 0, 0, DAY]) {
            artifact::put(&mut tx, digest, bytes, at(put)).await.unwrap();
        }
        artifact::put(&mut tx, &all[2].0, all[2].1, at(DAY + 1)).await.unwrap();
        assert_eq!(delete_batch(&mut tx, RetainedTable::Artifact, at(0), 10).await.unwrap(), 0);
        assert_eq!(delete_batch(&mut tx, RetainedTable::Artifact, at(1), 10).await.unwrap(), 1);
        for ((digest, _), exists) in all.iter().zip([true, false, true, true]) {
            assert_eq!(artifact::get(&mut tx, digest).await.unwrap().is_some(), exists);
        }
    })
    .await;
}

#[tokio::test]
async fn the_schema_of_a_cluster_is_retained_until_it_reports_another() {
    for_each_engine(|store| async move {
        insert_full_fleet(&store, 2, 1).await;
        let mut tx = store.write().await.unwrap();
        let [first, second] = [&b"first"[..], b"second"].map(Digest::compute);
        for (digest, bytes) in [(&first, &b"first"[..]), (&second, b"second")] {
            assert!(!artifact::exists(&mut tx, digest).await.unwrap());
            artifact::put(&mut tx, digest, bytes, at(0)).await.unwrap();
            assert!(artifact::exists(&mut tx, digest).await.unwrap());
        }
        cluster::set_schema_digest(&mut tx, cluster_id(1), &first).await.unwrap();
        cluster::set_schema_digest(&mut tx, cluster_id(1), &second).await.unwrap();
        assert_eq!(delete_batch(&mut tx, RetainedTable::Artifact, at(DAY), 10).await.unwrap(), 1);
        assert!(artifact::exists(&mut tx, &second).await.unwrap());
        let schemas = cluster::list_schema_digests(&mut tx, &[cluster_id(1), cluster_id(2)]).await.unwrap();
        assert_eq!(schemas, [(cluster_id(1), second)]);
    })
    .await;
}
