//! Rollout windows in a named time zone.

use domain::rollout::RolloutStrategy;
use hub::PublishOptions;
use serde_json::json;

use crate::rollouts::{publish_in_waves, wait_for_revision, wait_for_rollout};
use crate::test_hub::{TestHub, everywhere};

fn in_zone(zone: &str) -> RolloutStrategy {
    serde_json::from_value(json!({
        "waves": [{ "name": "all" }],
        "window": { "from": "20:01", "to": "22:00", "timeZone": zone },
    }))
    .unwrap()
}

#[tokio::test(flavor = "multi_thread")]
async fn a_rollout_waits_for_its_window_by_the_clocks_of_its_zone() {
    // The clock begins at 19:00 in UTC in November: 20:00 in Berlin.
    let test = TestHub::open().await;
    let [mut a, ..] = publish_in_waves(&test, in_zone("Europe/Berlin")).await;
    let waiting = wait_for_rollout(&test, "the window is closed", |rollout| rollout.opens_at.is_some()).await;
    assert_eq!(waiting.opens_at.unwrap().millis_since(test.hub.clock().now()), 60_000);
    assert_eq!(waiting.waves[0].gated, 3);
    test.advance_clock(60);
    test.run_rollout_loop().await;
    wait_for_revision(&mut a, 2).await;
    wait_for_rollout(&test, "nothing waits", |rollout| {
        rollout.opens_at.is_none() && rollout.waves[0].gated == 0
    })
    .await;
    test.close().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn g513_a_publish_with_an_unknown_time_zone_is_rejected_with_the_nearest_name() {
    let test = TestHub::open().await;
    test.register_cluster("a", &[]).await;
    test.create_draft("web", everywhere()).await;
    test.edit_draft("web", |spec| spec.rollout = in_zone("Europe/Berln")).await;
    let rejected =
        test.hub.publish_workload(&test.actor, "web", "", PublishOptions::default()).await.unwrap_err();
    let wrong: Vec<_> = rejected.findings().iter().filter(|finding| finding.code == "G513").collect();
    assert_eq!(wrong.len(), 1, "{rejected:?}");
    assert_eq!(wrong[0].path, "/rollout/window/timeZone");
    assert_eq!(wrong[0].message, "There is no time zone \"Europe/Berln\".");
    assert_eq!(wrong[0].hint, "Did you mean Europe/Berlin?");
    test.edit_draft("web", |spec| spec.rollout = in_zone("Europe/Berlin")).await;
    assert_eq!(test.publish("web").await, 1);
    test.close().await;
}
