//! The engine dies between any two of its writes, and the next one goes on from there (P15).

use std::sync::Arc;
use std::sync::atomic::{AtomicI64, Ordering::SeqCst};

use domain::workload::{DeletionPolicy, Policies};
use http::{Method, Request};
use kube::client::Body;

use crate::place::*;

/// A connection on which so many writes succeed and none after them, as if the engine had been killed between two; and
/// how many are left: less than none, once one was refused.
fn dying(client: kube::Client, writes: i64) -> (kube::Client, Arc<AtomicI64>) {
    let left = Arc::new(AtomicI64::new(writes));
    let budget = left.clone();
    let service = tower::service_fn(move |request: Request<Body>| {
        let (client, budget) = (client.clone(), budget.clone());
        async move {
            if request.method() != Method::GET && budget.fetch_sub(1, SeqCst) <= 0 {
                return Err(std::io::Error::other("killed"));
            }
            client.send(request).await.map_err(std::io::Error::other)
        }
    });
    (kube::Client::new(service, "default"), left)
}

pub async fn p15_killed_between_any_two_writes_the_next_engine_goes_on_and_removes_all(mut place: Place) {
    let whole = || vec![config_map("a", "1"), config_map("b", "1"), workload("Deployment", "web", None)];
    // The record, three objects, the record again: one more than there are, so that every place is met.
    for writes in 0..6 {
        let (client, left) = dying(place.client(), writes);
        place.serve_over(client).await;
        place.wants(whole(), Policies::default());
        let over = async || {
            let applied = place.agent.report(place.release).is_some_and(|report| report.applied.is_some());
            left.load(SeqCst) < 0 || writes == 5 && applied
        };
        place.eventually("killed or through", over).await;

        place.serve_over(place.client()).await;
        place.wants(vec![config_map("a", "2")], Policies::default());
        place.until_operational().await;
        assert_eq!(place.get(CONFIG_MAP, "a").await.unwrap()["data"]["key"], "2", "after {writes} writes");
        assert!(place.get(CONFIG_MAP, "b").await.is_none(), "after {writes} writes");
        assert!(place.get(DEPLOYMENT, "web").await.is_none(), "after {writes} writes");
        place.wants_nothing(DeletionPolicy::Foreground);
        place.until_gone().await;
        assert!(place.get(CONFIG_MAP, "a").await.is_none(), "after {writes} writes");
        assert!(place.record().await.is_none(), "after {writes} writes");
    }
}
