//! Changes that only loops or reports make possible, and the responses that are stored with them (P2).

use hub::RequestKey;
use serde_json::{Value, json};

use crate::targets::{relabel, wait_for_pending_removals};
use crate::test_hub::{TestHub, by_label};

#[tokio::test(flavor = "multi_thread")]
async fn p2_a_cancelled_removal_and_its_response_are_stored_in_one_transaction() {
    let test = TestHub::open().await;
    let mut east = test.register_cluster("east", &[("env", "prod")]).await;
    let mut west = test.register_cluster("west", &[("env", "prod")]).await;
    test.publish_new("web", by_label("env=prod")).await;
    east.apply_release().await;
    west.apply_release().await;
    relabel(&test, "east", Some("dev")).await;
    wait_for_pending_removals(&test, &["east"]).await;
    let request = RequestKey { key: "k-1".to_owned(), request_hash: "h".to_owned() };
    let actor = test.actor.clone().with_request_key(request);
    assert_eq!(test.hub.retain_workload(&actor, "web", &[]).await.unwrap(), ["east"]);
    let stored = test.hub.stored_response(&actor, "k-1", "h").await.unwrap().unwrap();
    let body: Value = serde_json::from_str(&stored.body).unwrap();
    assert_eq!((stored.status, body), (200, json!({"retained": ["east"]})));
    test.close().await;
}
