//! The search: what it finds, in which order, and the actions on the best match.

use domain::health::{Health, HealthStatus};
use domain::placement::ClusterGroup;
use domain::release::ReleaseState;
use domain::report::ReleaseReport;
use domain::request::ClusterPatch;
use domain::search::{ActionName, PossibleAction, SearchKind, SearchQuery, SearchResults};

use crate::test_hub::{TestHub, applied_report, everywhere};

async fn search(test: &TestHub, q: &str) -> SearchResults {
    test.hub.search(&SearchQuery { q: q.to_owned(), ..SearchQuery::default() }).await.unwrap()
}

/// Kind and name of every item.
fn list_items(found: &SearchResults) -> Vec<(SearchKind, &str)> {
    found.items.iter().map(|hit| (hit.kind, hit.name.as_str())).collect()
}

fn action(found: &SearchResults, name: ActionName) -> PossibleAction {
    let best = found.best.as_ref().unwrap();
    best.actions.iter().find(|one| one.action == name).unwrap().clone()
}

#[tokio::test(flavor = "multi_thread")]
async fn what_fails_comes_first_and_names_that_begin_with_the_word_before_others() {
    let test = TestHub::open().await;
    let mut east = test.register_cluster("store-east", &[]).await;
    test.publish_new("storefront", everywhere()).await;
    let desired = east.wait_for_release().await;
    let degraded = Health::new(HealthStatus::Degraded, "ImagePullBackOff", "cannot pull the image");
    let report = ReleaseReport { health: degraded, ..applied_report(&desired) };
    assert!(east.send_report(report).await.accepted);
    test.create_draft("object-store", everywhere()).await;
    test.create_draft("web", everywhere()).await;
    let group =
        ClusterGroup { name: "stores".into(), members: vec!["store-east".into()], ..Default::default() };
    test.hub.save_group(&test.actor, group, None).await.unwrap();

    let found = search(&test, "Store").await;
    let expected = [
        (SearchKind::Failure, "storefront"),
        (SearchKind::Workload, "storefront"),
        (SearchKind::Workload, "object-store"),
        (SearchKind::Cluster, "store-east"),
        (SearchKind::Group, "stores"),
    ];
    assert_eq!(list_items(&found), expected);
    let failure = &found.items[0];
    assert_eq!(failure.cluster.as_deref(), Some("store-east"));
    assert_eq!(failure.state, Some(ReleaseState::Degraded));
    assert!(failure.detail.contains("cannot pull the image"), "{failure:?}");
    assert_eq!(found.items[1].detail, "r1, 0 of 1 release healthy");
    assert_eq!(found.best.as_ref().unwrap().name, "storefront");

    let clusters = SearchQuery { q: "store".into(), kinds: vec![SearchKind::Cluster], ..Default::default() };
    let clusters = test.hub.search(&clusters).await.unwrap();
    assert_eq!(list_items(&clusters), [(SearchKind::Cluster, "store-east")]);
    let one = SearchQuery { q: "store".into(), limit: Some(1), ..SearchQuery::default() };
    let one = test.hub.search(&one).await.unwrap();
    assert_eq!(one.truncated, [SearchKind::Workload]);
    assert_eq!(one.items.iter().filter(|hit| hit.kind == SearchKind::Workload).count(), 1);
    assert!(list_items(&search(&test, "st_re").await).is_empty(), "no wildcard");
    test.close().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn an_action_that_is_not_possible_is_listed_with_its_reason() {
    let test = TestHub::open().await;
    test.register_cluster("east", &[]).await;
    test.create_draft("web", everywhere()).await;
    let found = search(&test, "web").await;
    let reason = action(&found, ActionName::Unpublish).unavailable;
    assert_eq!(reason.as_deref(), Some("web was never published."));
    assert_eq!(action(&found, ActionName::Publish).unavailable, None);

    test.publish("web").await;
    test.publish("web").await;
    let found = search(&test, "web").await;
    assert_eq!(action(&found, ActionName::Unpublish).unavailable, None);
    let back = action(&found, ActionName::RollBack);
    assert_eq!((back.revision, back.command.as_str()), (Some(1), "flotilla rollback web 1"));

    let cordon = ClusterPatch { schedulable: Some(false), ..ClusterPatch::default() };
    test.hub.edit_cluster(&test.actor, "east", cordon, None).await.unwrap();
    let found = search(&test, "east").await;
    assert_eq!(action(&found, ActionName::Uncordon).command, "flotilla cluster uncordon east");
    assert!(found.items.iter().any(|hit| hit.detail.contains("cordoned")), "{:?}", found.items);
    test.close().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_word_that_names_an_action_selects_it_unless_a_name_contains_it() {
    let test = TestHub::open().await;
    test.create_draft("web", everywhere()).await;
    let names = |found: &SearchResults| -> Vec<ActionName> {
        found.best.iter().flat_map(|best| &best.actions).map(|one| one.action).collect()
    };
    let found = search(&test, "unpub web").await;
    assert_eq!(list_items(&found), [(SearchKind::Workload, "web")]);
    assert_eq!(names(&found), [ActionName::Unpublish]);
    test.create_draft("sync-web", everywhere()).await;
    let found = search(&test, "sync web").await;
    assert_eq!(list_items(&found), [(SearchKind::Workload, "sync-web")]);
    assert!(names(&found).contains(&ActionName::Delete), "all actions");
    test.close().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn without_words_the_recent_workloads_that_exist_come_first() {
    let test = TestHub::open().await;
    for name in ["a", "b", "c"] {
        test.create_draft(name, everywhere()).await;
    }
    let query = SearchQuery {
        kinds: vec![SearchKind::Workload],
        recent: vec!["c".into(), "deleted".into()],
        ..SearchQuery::default()
    };
    let found = test.hub.search(&query).await.unwrap();
    let names: Vec<&str> = found.items.iter().map(|hit| hit.name.as_str()).collect();
    assert_eq!(names, ["c", "a", "b"]);
    let failures =
        SearchQuery { kinds: vec![SearchKind::Failure], recent: vec!["b".into()], ..Default::default() };
    let found = test.hub.search(&failures).await.unwrap();
    assert_eq!(list_items(&found), [(SearchKind::Workload, "b")]);
    test.close().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn an_unreadable_workload_is_found_and_says_so() {
    let test = TestHub::open().await;
    test.create_draft("web", everywhere()).await;
    test.execute_sql("UPDATE workload SET intent = 'nonsense' WHERE name = 'web'").await;
    let found = search(&test, "web").await;
    assert_eq!(list_items(&found), [(SearchKind::Workload, "web")]);
    assert!(found.items[0].detail.contains("can't be read"), "{:?}", found.items);
    assert_eq!(found.best, None);
    test.close().await;
}
