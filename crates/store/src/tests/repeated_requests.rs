//! Repeated requests.

use std::collections::BTreeMap;

use super::databases::for_each_engine;
use super::fixtures::{at, insert_fleet, some_workload};
use crate::idempotency::{self, IdempotencyRecord};
use crate::retention::{RetainedTable, delete_batch};
use crate::sql::sql;
use crate::{Error, Store, workload};

fn response(body: &str) -> IdempotencyRecord {
    let headers = BTreeMap::from([("etag".to_owned(), "\"1\"".to_owned())]);
    IdempotencyRecord { request_hash: "h".to_owned(), status: 201, headers, body: body.to_owned() }
}

#[tokio::test]
async fn p2_a_response_is_stored_per_key_and_actor() {
    for_each_engine(|store| async move {
        let mut tx = store.write().await.unwrap();
        assert_eq!(idempotency::find(&mut tx, "k", "ana").await.unwrap(), None);
        idempotency::put(&mut tx, "k", "ana", &response("{}"), at(5)).await.unwrap();
        assert_eq!(idempotency::find(&mut tx, "k", "ana").await.unwrap(), Some(response("{}")));
        assert_eq!(idempotency::find(&mut tx, "k", "ben").await.unwrap(), None);
        assert_eq!(delete_batch(&mut tx, RetainedTable::IdempotencyRecord, at(5), 10).await.unwrap(), 0);
        assert_eq!(delete_batch(&mut tx, RetainedTable::IdempotencyRecord, at(6), 10).await.unwrap(), 1);
    })
    .await;
}

#[tokio::test]
async fn p2_the_headers_of_a_response_are_completed_without_its_body() {
    for_each_engine(|store| async move {
        let mut tx = store.write().await.unwrap();
        let large = response(&"x".repeat(100_000));
        for (key, stored) in [("small", response("{}")), ("large", large)] {
            idempotency::put(&mut tx, key, "ana", &stored, at(0)).await.unwrap();
            let mut headers = stored.headers.clone();
            headers.insert("location".to_owned(), "/api/v1/projects/default/workloads/web".to_owned());
            idempotency::set_headers(&mut tx, key, "ana", &headers).await.unwrap();
            let found = idempotency::find(&mut tx, key, "ana").await.unwrap();
            assert_eq!(found, Some(IdempotencyRecord { headers, ..stored }));
        }
        idempotency::set_headers(&mut tx, "small", "ben", &BTreeMap::new()).await.unwrap();
        assert_eq!(idempotency::find(&mut tx, "small", "ben").await.unwrap(), None);
        let found = idempotency::find(&mut tx, "small", "ana").await.unwrap().unwrap();
        assert_eq!(found.headers.len(), 2, "those of another actor stay");
    })
    .await;
}

#[tokio::test]
async fn p2_equal_large_responses_are_stored_once_and_as_long_as_their_requests() {
    for_each_engine(|store| async move {
        let mut tx = store.write().await.unwrap();
        let large = response(&"ü".repeat(1_000_000));
        for key in ["a", "b"] {
            idempotency::put(&mut tx, key, "ana", &large, at(0)).await.unwrap();
        }
        assert_eq!(sql("SELECT COUNT(*) FROM artifact").fetch_number(&mut tx).await.unwrap(), 1);
        let later = at(3 * 24 * 3_600_000);
        assert_eq!(delete_batch(&mut tx, RetainedTable::Artifact, later, 10).await.unwrap(), 0);
        for key in ["a", "b"] {
            assert_eq!(idempotency::find(&mut tx, key, "ana").await.unwrap().as_ref(), Some(&large));
        }
        assert_eq!(delete_batch(&mut tx, RetainedTable::IdempotencyRecord, later, 10).await.unwrap(), 2);
        assert_eq!(delete_batch(&mut tx, RetainedTable::Artifact, later, 10).await.unwrap(), 1);
    })
    .await;
}

#[tokio::test]
async fn p2_a_change_whose_response_is_required_is_not_committed_without_it() {
    for_each_engine(|store| async move {
        insert_fleet(&store, 0, 0).await;
        for is_stored in [false, true] {
            let mut tx = store.write().await.unwrap();
            tx.require_response();
            workload::insert(&mut tx, &some_workload(1, "w-1")).await.unwrap();
            if is_stored {
                idempotency::put(&mut tx, "k", "ana", &response("{}"), at(0)).await.unwrap();
            }
            let committed = tx.commit().await;
            assert_eq!(matches!(committed, Err(Error::ResponseNotStored)), !is_stored, "{committed:?}");
            let mut tx = store.read().await.unwrap();
            let count = workload::count(&mut tx, super::fixtures::project_id()).await.unwrap();
            assert_eq!(count, u32::from(is_stored));
        }
    })
    .await;
}

/// Like the hub: finds the stored response, or executes the request and stores its response, in one transaction.
async fn create(store: &Store, n: u128) -> Result<String, Error> {
    let mut tx = store.write().await?;
    if let Some(answer) = idempotency::find(&mut tx, "k", "ana").await? {
        return Ok(answer.body);
    }
    workload::insert(&mut tx, &some_workload(n, &format!("w-{n}"))).await?;
    idempotency::put(&mut tx, "k", "ana", &response(&n.to_string()), at(0)).await?;
    tx.commit().await?;
    Ok(n.to_string())
}

#[tokio::test]
async fn p2_a_request_that_is_sent_ten_times_concurrently_is_executed_once() {
    for_each_engine(|store| async move {
        insert_fleet(&store, 0, 0).await;
        let send = |store: Store, n| async move {
            match create(&store, n).await {
                // The same request was executed meanwhile: its stored response is returned.
                Err(Error::AlreadyExists { .. }) => create(&store, n).await.unwrap(),
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
