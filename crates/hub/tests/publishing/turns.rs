//! What a user requests for one workload is placed before what a change of the fleet requires for all of them.

use domain::event::{Event, EventKind};
use domain::placement::{ClusterGroup, NewMembers, Placement, Predicate};

use super::test_hub::{CONFIG, TestHub, source, wait_until};

/// More workloads than the placer claims in several turns.
const WORKLOADS: usize = 70;

async fn placements_after(test: &TestHub, position: i64) -> Vec<Event> {
    let mut events = Vec::new();
    let mut last = position;
    loop {
        let page = test.hub.list_events_after(last, 500).await.unwrap();
        let Some(newest) = page.last() else { return events };
        last = newest.seq;
        events.extend(page.into_iter().filter(|event| event.kind == EventKind::PlacementDecided));
    }
}

async fn last_position(test: &TestHub) -> i64 {
    let mut last = 0;
    while let Some(event) = test.hub.list_events_after(last, 500).await.unwrap().last() {
        last = event.seq;
    }
    last
}

fn shop_group(members: &[&str]) -> ClusterGroup {
    let members = members.iter().map(|name| (*name).to_owned()).collect();
    ClusterGroup { name: "shop".into(), members, ..ClusterGroup::default() }
}

#[tokio::test(flavor = "multi_thread")]
async fn p20_a_publish_is_placed_before_an_earlier_edit_of_a_group_has_reached_the_other_workloads() {
    let mut test = TestHub::open().await;
    test.register_cluster("eu", &[]).await;
    test.register_cluster("us", &[]).await;
    test.hub.save_group(&test.actor, shop_group(&["eu"]), None).await.unwrap();
    let predicate = Predicate { groups: vec!["shop".into()], ..Predicate::default() };
    let placement =
        Placement { predicates: vec![predicate], new_members: NewMembers::Auto, ..Placement::default() };
    for n in 0..WORKLOADS {
        test.publish_new(&format!("w-{n:02}"), placement.clone()).await;
    }
    wait_until("every workload is placed", async || placements_after(&test, 0).await.len() >= WORKLOADS)
        .await;
    // Without the placer, both changes are in the queue before either is worked on.
    test.stop_loops().await;
    test.hub.save_group(&test.actor, shop_group(&["eu", "us"]), None).await.unwrap();
    test.advance_clock(1);
    let last = format!("w-{:02}", WORKLOADS - 1);
    test.edit_draft(&last, |spec| spec.source = source(&CONFIG.replace("blue", "green"))).await;
    test.publish(&last).await;
    let position = last_position(&test).await;

    let loops = test.hub.spawn_loops();
    wait_until("every workload is placed on both", async || {
        placements_after(&test, position).await.len() >= WORKLOADS
    })
    .await;
    loops.stop().await;
    let placed: Vec<String> =
        placements_after(&test, position).await.into_iter().map(|event| event.workload_name).collect();
    assert_eq!(placed[0], last, "{placed:?}");
    assert_eq!(test.hub.get_release(&last, "us").await.unwrap().release.revision(), Some(2));
    test.close().await;
}
