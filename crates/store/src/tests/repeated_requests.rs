//! Requests that are sent again.

use super::both::for_both;
use super::fixtures::{at, fleet, some_workload};
use crate::idempotency::{self, Answer};
use crate::{Error, Store, workload};

fn answer(body: &str) -> Answer {
    Answer { request_hash: "h".to_owned(), status: 201, body: body.to_owned() }
}

#[tokio::test]
async fn p2_an_answer_is_kept_per_key_and_actor() {
    for_both(|store| async move {
        let mut tx = store.write().await.unwrap();
        assert_eq!(idempotency::find(&mut tx, "k", "ana").await.unwrap(), None);
        idempotency::put(&mut tx, "k", "ana", &answer("{}"), at(5)).await.unwrap();
        assert_eq!(idempotency::find(&mut tx, "k", "ana").await.unwrap(), Some(answer("{}")));
        assert_eq!(idempotency::find(&mut tx, "k", "ben").await.unwrap(), None);
        assert_eq!(idempotency::delete_before(&mut tx, at(5)).await.unwrap(), 0);
        assert_eq!(idempotency::delete_before(&mut tx, at(6)).await.unwrap(), 1);
    })
    .await;
}

/// What the hub does: look, do, keep the answer, all in one transaction.
async fn create(store: &Store, n: u128) -> Result<String, Error> {
    let mut tx = store.write().await?;
    if let Some(answer) = idempotency::find(&mut tx, "k", "ana").await? {
        return Ok(answer.body);
    }
    workload::insert(&mut tx, &some_workload(n, &format!("w-{n}"))).await?;
    idempotency::put(&mut tx, "k", "ana", &answer(&n.to_string()), at(0)).await?;
    tx.commit().await?;
    Ok(n.to_string())
}

#[tokio::test]
async fn p2_of_the_same_request_sent_ten_times_at_once_one_does_something() {
    for_both(|store| async move {
        fleet(&store, 0, 0).await;
        let send = |store: Store, n| async move {
            match create(&store, n).await {
                // The same was answered meanwhile: what was given then is given now.
                Err(Error::Unique { .. }) => create(&store, n).await.unwrap(),
                answer => answer.unwrap(),
            }
        };
        let tasks: Vec<_> = (1..=10).map(|n| tokio::spawn(send(store.clone(), n))).collect();
        let mut answers = Vec::new();
        for task in tasks {
            answers.push(task.await.unwrap());
        }
        answers.dedup();
        assert_eq!(answers.len(), 1, "{answers:?}");
        let mut tx = store.read().await.unwrap();
        assert_eq!(workload::count(&mut tx, super::fixtures::project_id()).await.unwrap(), 1);
    })
    .await;
}
