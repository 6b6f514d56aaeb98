//! The engine crashes between any two writes, and the next one converges (P15).

use std::sync::Arc;
use std::sync::atomic::{AtomicI64, Ordering::SeqCst};

use domain::workload::{DeletionPolicy, Policies};
use http::{Method, Request};
use kube::client::Body;

use crate::test_env::*;

/// A connection on which only the first `writes` writes succeed, which simulates a crash, and the number of remaining
/// writes: negative once one was rejected.
fn failing_client(client: kube::Client, writes: i64) -> (kube::Client, Arc<AtomicI64>) {
    let remaining = Arc::new(AtomicI64::new(writes));
    let budget = remaining.clone();
    let service = tower::service_fn(move |request: Request<Body>| {
        let (client, budget) = (client.clone(), budget.clone());
        async move {
            if request.method() != Method::GET && budget.fetch_sub(1, SeqCst) <= 0 {
                return Err(std::io::Error::other("killed"));
            }
            client.send(request).await.map_err(std::io::Error::other)
        }
    });
    (kube::Client::new(service, "default"), remaining)
}

pub async fn p15_after_a_crash_between_any_two_writes_the_next_engine_converges(mut env: TestEnv) {
    let objects = || vec![config_map("a", "1"), config_map("b", "1"), workload("Deployment", "web", None)];
    // Record, three objects, record: one iteration more than writes, to cover every position.
    for writes in 0..6 {
        let (client, remaining) = failing_client(env.client(), writes);
        env.restart_agent_over(client).await;
        env.set_present(objects(), Policies::default());
        let is_over = async || {
            let applied = env.agent.report(env.release).is_some_and(|report| report.applied.is_some());
            remaining.load(SeqCst) < 0 || writes == 5 && applied
        };
        env.wait_until("crashed or applied", is_over).await;

        env.restart_agent_over(env.client()).await;
        env.set_present(vec![config_map("a", "2")], Policies::default());
        env.until_operational().await;
        assert_eq!(env.get(CONFIG_MAP, "a").await.unwrap()["data"]["key"], "2", "after {writes} writes");
        assert!(env.get(CONFIG_MAP, "b").await.is_none(), "after {writes} writes");
        assert!(env.get(DEPLOYMENT, "web").await.is_none(), "after {writes} writes");
        env.set_absent(DeletionPolicy::Foreground);
        env.until_gone().await;
        assert!(env.get(CONFIG_MAP, "a").await.is_none(), "after {writes} writes");
        assert!(env.record().await.is_none(), "after {writes} writes");
    }
}

pub async fn p15_an_object_created_again_before_a_crash_is_pruned_and_removed(mut env: TestEnv) {
    // The record with the missing object, the object, the record with its uid: one iteration more than writes.
    for writes in 0..4 {
        for next in [Some(vec![config_map("a", "1")]), None] {
            let objects = || vec![config_map("a", "1"), config_map("b", "1")];
            env.set_present(objects(), Policies::default());
            env.until_operational().await;
            let (client, remaining) = failing_client(env.client(), i64::MAX);
            env.restart_agent_over(client).await;
            env.set_present(objects(), Policies::default());
            env.until_operational().await;

            remaining.store(writes, SeqCst);
            env.delete(CONFIG_MAP, "b").await;
            let is_over = async || remaining.load(SeqCst) < i64::from(writes == 3);
            env.wait_until("crashed or recorded", is_over).await;

            env.restart_agent_over(env.client()).await;
            match next {
                Some(objects) => {
                    env.set_present(objects, Policies::default());
                    env.until_operational().await;
                }
                None => {
                    env.set_absent(DeletionPolicy::Foreground);
                    env.until_gone().await;
                }
            }
            assert!(env.get(CONFIG_MAP, "b").await.is_none(), "after {writes} writes");
        }
    }
}
