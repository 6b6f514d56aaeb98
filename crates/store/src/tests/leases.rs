//! Leases and their fencing.

use super::databases::for_each_engine;
use super::fixtures::at;
use crate::{Store, lease};

async fn acquire(store: &Store, owner: &str, now: i64, until: i64) -> Option<i64> {
    let mut tx = store.write().await.unwrap();
    let epoch = lease::acquire(&mut tx, "janitor", owner, at(now), at(until)).await.unwrap();
    tx.commit().await.unwrap();
    epoch
}

#[tokio::test]
async fn p9_a_lease_has_one_holder_and_the_previous_one_is_fenced() {
    for_each_engine(|store| async move {
        let first = acquire(&store, "a", 0, 10).await.unwrap();
        assert_eq!(acquire(&store, "b", 5, 15).await, None, "still held");
        let mut tx = store.write().await.unwrap();
        assert!(lease::renew(&mut tx, "janitor", "a", first, at(20)).await.unwrap());
        tx.commit().await.unwrap();
        assert_eq!(acquire(&store, "b", 15, 25).await, None, "renewed");
        let second = acquire(&store, "b", 20, 30).await.unwrap();
        assert!(second > first);
        let mut tx = store.write().await.unwrap();
        assert!(!lease::renew(&mut tx, "janitor", "a", first, at(99)).await.unwrap());
        assert!(!lease::release(&mut tx, "janitor", "a", first).await.unwrap());
        assert!(lease::release(&mut tx, "janitor", "b", second).await.unwrap());
        tx.commit().await.unwrap();
        assert!(acquire(&store, "a", 21, 30).await.unwrap() > second, "released, so free immediately");
    })
    .await;
}

#[tokio::test]
async fn p9_one_of_many_concurrent_owners_acquires_a_lease() {
    for_each_engine(|store| async move {
        let want = |store: Store, n: u32| async move { acquire(&store, &n.to_string(), 0, 10).await };
        let tasks: Vec<_> = (0..8).map(|n| tokio::spawn(want(store.clone(), n))).collect();
        let mut epochs = Vec::new();
        for task in tasks {
            epochs.extend(task.await.unwrap());
        }
        assert_eq!(epochs, [1]);
    })
    .await;
}
