//! Several selected workloads: what an action on them concerns, and which of them it skips.

use domain::operation::OperationKind;
use domain::page::ListQuery;
use domain::request::RemovalOptions;
use domain::selection::BulkAction;
use domain::workload::WorkloadPhase;

use crate::test_hub::{TestHub, everywhere};

#[tokio::test(flavor = "multi_thread")]
async fn a_selection_counts_what_an_action_concerns_and_says_why_others_are_skipped() {
    let test = TestHub::open().await;
    let mut east = test.register_cluster("east", &[]).await;
    let mut west = test.register_cluster("west", &[]).await;
    test.publish_new("web", everywhere()).await;
    east.wait_for_release().await;
    west.wait_for_release().await;
    let names = ["web".to_owned(), "gone".to_owned()];
    let selection = test.hub.get_workload_selection(&names, BulkAction::Unpublish).await.unwrap();
    assert_eq!((selection.clusters, selection.releases(), selection.available().count()), (2, 2, 1));
    let gone = &selection.items[1];
    assert_eq!(gone.phase, None);
    assert!(gone.unavailable.as_ref().is_some_and(|why| why.contains("gone")), "{gone:?}");

    test.hub.unpublish_workload(&test.actor, "web", RemovalOptions::default()).await.unwrap();
    let selection = test.hub.get_workload_selection(&names, BulkAction::Unpublish).await.unwrap();
    let web = &selection.items[0];
    assert_eq!(web.unavailable.as_deref(), Some("web is already unpublished."));
    assert_eq!(web.phase, Some(WorkloadPhase::Unpublishing));
    assert_eq!(web.latest.as_ref().map(|latest| latest.kind), Some(OperationKind::Unpublish));
    assert_eq!((selection.clusters, selection.available().count()), (0, 0));
    test.close().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn operations_of_one_millisecond_have_the_order_of_their_requests() {
    let test = TestHub::open().await;
    let mut east = test.register_cluster("east", &[]).await;
    test.publish_new("web", everywhere()).await;
    east.apply_release().await;
    for _ in 0..8 {
        test.hub.sync_workload(&test.actor, "web", &[]).await.unwrap();
    }
    test.hub.unpublish_workload(&test.actor, "web", RemovalOptions::default()).await.unwrap();
    let page = test.hub.list_operations("web", &ListQuery::default()).await.unwrap();
    let kinds: Vec<OperationKind> = page.items.iter().map(|operation| operation.kind).collect();
    let syncs = [OperationKind::Sync; 8];
    assert_eq!(kinds, [&[OperationKind::Unpublish][..], &syncs, &[OperationKind::Publish]].concat());
    assert!(page.items.windows(2).all(|two| two[0].id > two[1].id), "newest first");
    assert!(page.items[1..].iter().all(|operation| operation.closed_at.is_some()), "the latest one is open");
    test.close().await;
}
