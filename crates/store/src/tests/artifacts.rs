//! Bytes by their digest.

use domain::Digest;

use super::both::for_both;
use super::fixtures::{at, cluster_id, full_fleet};
use crate::{artifact, cluster};

const DAY: i64 = 24 * 3_600_000;

#[tokio::test]
async fn bytes_read_back_as_they_were_put() {
    for_both(|store| async move {
        let mut tx = store.write().await.unwrap();
        let bytes: Vec<u8> = (0..=255).cycle().take(300_000).collect();
        let digest = Digest::of(&bytes);
        assert_eq!(artifact::get(&mut tx, &digest).await.unwrap(), None);
        artifact::put(&mut tx, &digest, &bytes, at(0)).await.unwrap();
        artifact::put(&mut tx, &digest, &bytes, at(1)).await.unwrap();
        assert_eq!(artifact::get(&mut tx, &digest).await.unwrap(), Some(bytes));
    })
    .await;
}

#[tokio::test]
async fn what_nothing_points_at_is_forgotten_after_two_days() {
    for_both(|store| async move {
        full_fleet(&store, 1, 1).await; // its release points at the digest of "bundle"
        let mut tx = store.write().await.unwrap();
        let all = [&b"bundle"[..], b"old", b"put again", b"new"].map(|bytes| (Digest::of(bytes), bytes));
        for ((digest, bytes), put) in all.iter().zip([0, 0, 0, DAY]) {
            artifact::put(&mut tx, digest, bytes, at(put)).await.unwrap();
        }
        artifact::put(&mut tx, &all[2].0, all[2].1, at(DAY + 1)).await.unwrap();
        assert_eq!(artifact::delete_unreferenced(&mut tx, at(2 * DAY)).await.unwrap(), 0);
        assert_eq!(artifact::delete_unreferenced(&mut tx, at(2 * DAY + 1)).await.unwrap(), 1);
        for ((digest, _), there) in all.iter().zip([true, false, true, true]) {
            assert_eq!(artifact::get(&mut tx, digest).await.unwrap().is_some(), there);
        }
    })
    .await;
}

#[tokio::test]
async fn the_schema_that_a_cluster_told_is_kept_until_it_tells_another() {
    for_both(|store| async move {
        full_fleet(&store, 2, 1).await;
        let mut tx = store.write().await.unwrap();
        let [first, second] = [&b"first"[..], b"second"].map(Digest::of);
        for (digest, bytes) in [(&first, &b"first"[..]), (&second, b"second")] {
            assert!(!artifact::is_kept(&mut tx, digest).await.unwrap());
            artifact::put(&mut tx, digest, bytes, at(0)).await.unwrap();
            assert!(artifact::is_kept(&mut tx, digest).await.unwrap());
        }
        cluster::set_schema(&mut tx, cluster_id(1), &first).await.unwrap();
        cluster::set_schema(&mut tx, cluster_id(1), &second).await.unwrap();
        assert_eq!(artifact::delete_unreferenced(&mut tx, at(3 * DAY)).await.unwrap(), 1);
        assert!(artifact::is_kept(&mut tx, &second).await.unwrap());
        let told = cluster::schemas(&mut tx, &[cluster_id(1), cluster_id(2)]).await.unwrap();
        assert_eq!(told, [(cluster_id(1), second)]);
    })
    .await;
}
