//! Counts of attempts to sign in.

use std::collections::BTreeSet;

use domain::Digest;

use super::databases::for_each_engine;
use super::fixtures::at;
use crate::Store;
use crate::retention::{RetainedTable, delete_batch};
use crate::sign_in_attempt::{AttemptCount, is_known, lock_counts, save};

fn subjects(names: &[&str]) -> BTreeSet<Digest> {
    names.iter().map(|name| Digest::compute(name.as_bytes())).collect()
}

async fn count_failure(store: &Store, names: &[&str], now: i64) -> Vec<u32> {
    let mut tx = store.write().await.unwrap();
    let mut counts = lock_counts(&mut tx, &subjects(names), at(now)).await.unwrap();
    for count in &mut counts {
        count.failures += 1;
        (count.retry_at, count.expires_at) = (at(now + 5), at(now + 100));
        save(&mut tx, count).await.unwrap();
    }
    tx.commit().await.unwrap();
    counts.iter().map(|count| count.failures).collect()
}

#[tokio::test]
async fn concurrent_attempts_of_overlapping_subjects_are_all_counted_and_do_not_deadlock() {
    for_each_engine(|store| async move {
        let attempts = (0..20).map(|n| {
            let store = store.clone();
            tokio::spawn(async move {
                count_failure(&store, [&["a", "b"], &["b", "c"], &["c", "a"]][n % 3], 1).await
            })
        });
        futures::future::join_all(attempts).await.into_iter().for_each(|done| drop(done.unwrap()));
        let mut tx = store.write().await.unwrap();
        let counts = lock_counts(&mut tx, &subjects(&["a", "b", "c"]), at(2)).await.unwrap();
        assert_eq!(counts.iter().map(|count| count.failures).sum::<u32>(), 40);
        assert!(counts.iter().all(|count| count.retry_at == at(6) && count.expires_at == at(101)));
    })
    .await;
}

#[tokio::test]
async fn a_count_is_forgotten_when_it_has_expired_and_then_deleted() {
    for_each_engine(|store| async move {
        assert_eq!(count_failure(&store, &["a"], 1).await, [1]);
        assert_eq!(count_failure(&store, &["a"], 100).await, [2]);
        let mut tx = store.write().await.unwrap();
        let subject = Digest::compute(b"a");
        assert!(is_known(&mut tx, &subject, at(199)).await.unwrap());
        assert!(!is_known(&mut tx, &subject, at(200)).await.unwrap());
        let counts = lock_counts(&mut tx, &subjects(&["a"]), at(200)).await.unwrap();
        let forgotten = AttemptCount { subject, failures: 0, retry_at: at(200), expires_at: at(200) };
        assert_eq!(counts, [forgotten]);
        assert_eq!(delete_batch(&mut tx, RetainedTable::SignInAttempt, at(200), 10).await.unwrap(), 0);
        assert_eq!(delete_batch(&mut tx, RetainedTable::SignInAttempt, at(201), 10).await.unwrap(), 1);
        tx.commit().await.unwrap();
    })
    .await;
}
