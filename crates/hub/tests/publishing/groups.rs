//! Cluster groups: their limits, and the releases on their clusters.

use domain::placement::ClusterGroup;
use hub::Error;

use crate::test_hub::{TestHub, everywhere};

/// A group that locks values of about 200 KiB.
fn large_group(number: usize) -> ClusterGroup {
    let locked_values = format!("note: {}\n", "x".repeat(200 << 10));
    ClusterGroup { name: format!("g-{number}"), locked_values, ..ClusterGroup::default() }
}

#[tokio::test(flavor = "multi_thread")]
async fn p19_all_groups_together_are_bounded_because_each_check_reads_them_and_one_that_shrinks_is_stored() {
    let test = TestHub::open().await;
    let mut created = 0;
    let refused = loop {
        match test.hub.create_group(&test.actor, large_group(created)).await {
            Ok(_) => created += 1,
            Err(error) => break error,
        }
        assert!(created < 100, "100 groups of 200 KiB are stored");
    };
    assert!(created > 40, "{created} groups are stored");
    let Error::Invalid(findings) = refused else { panic!("{refused:?}") };
    assert_eq!(findings[0].code, "G502");
    assert!(findings[0].message.ends_with("at most 16384 KiB are possible."), "{findings:#?}");

    // Only what grows is refused.
    let small = ClusterGroup { locked_values: String::new(), ..large_group(0) };
    test.hub.save_group(&test.actor, small, None).await.unwrap();
    test.hub.create_group(&test.actor, large_group(created)).await.unwrap();
}

#[tokio::test(flavor = "multi_thread")]
async fn the_releases_of_a_group_are_those_on_its_clusters_by_name_and_by_label() {
    let test = TestHub::open().await;
    let mut agents = Vec::new();
    for (name, env) in [("eu-1", "dev"), ("eu-2", "prod"), ("us-1", "dev")] {
        agents.push(test.register_cluster(name, &[("env", env)]).await);
    }
    test.publish_new("shop", everywhere()).await;
    for agent in &mut agents {
        agent.wait_for_release().await;
    }
    let group = ClusterGroup {
        name: "edge".to_owned(),
        members: ["eu-1".to_owned()].into_iter().collect(),
        selector: Some("env=prod".parse().unwrap()),
        ..ClusterGroup::default()
    };
    test.hub.create_group(&test.actor, group).await.unwrap();
    assert_eq!(test.hub.count_group_releases("edge").await.unwrap().total(), 2);
    let unknown = test.hub.count_group_releases("core").await;
    assert!(matches!(unknown, Err(Error::NotFound { .. })), "{unknown:?}");
}
