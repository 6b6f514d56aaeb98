//! The deadline of a release, which only marks (S2-3), with a clock that the test advances.

use domain::page::ListQuery;
use domain::policy::Policies;
use domain::release::{ReleaseState, StageName, StageState, describe_missed_deadline};
use domain::report::StageReport;
use domain::workload::WorkloadOrder;

use crate::test_hub::{TestHub, applied_report, everywhere};

#[tokio::test(flavor = "multi_thread")]
async fn s2_3_a_release_past_its_deadline_is_marked_in_every_list_and_goes_on() {
    let mut test = TestHub::open().await;
    let mut east = test.register_cluster("east", &[]).await;
    test.create_draft("web", everywhere()).await;
    test.edit_draft("web", |spec| {
        spec.policies = Policies { deadline: "30m".parse().ok(), ..Policies::default() };
    })
    .await;
    let published_at = test.hub.clock().now();
    test.publish("web").await;
    let desired = east.wait_for_release().await;
    test.stop_loops().await;
    let deadline = test.hub.get_release("web", "east").await.unwrap().release.deadline_at().unwrap();
    assert_eq!(deadline.millis_since(published_at), 30 * 60_000);

    // The agent pulls, and has not applied it after 35 minutes.
    test.advance_clock(35 * 60);
    let mut slow = applied_report(&desired);
    slow.stages = vec![
        StageReport { name: StageName::Notified, state: StageState::Done },
        StageReport { name: StageName::Pulled, state: StageState::Running { message: String::new() } },
    ];
    slow.applied = None;
    assert!(east.send_report(slow).await.accepted);
    let now = test.hub.clock().now();
    let of_workload = test.hub.list_releases("web", &ListQuery::default()).await.unwrap().items;
    let of_cluster = test.hub.list_cluster_releases("east", &ListQuery::default()).await.unwrap().items;
    for listed in [&of_workload[0], &of_cluster[0]] {
        assert_eq!(listed.release.deadline_at(), Some(deadline), "a report does not move it");
        let mark = describe_missed_deadline(listed.release.deadline_at(), now);
        assert_eq!(mark.as_deref(), Some("past its deadline for 5 min"));
    }
    let first = async || {
        let listed = test.hub.list_workloads(&ListQuery::default(), WorkloadOrder::Name).await.unwrap();
        listed.items[0].deadline_at
    };
    assert_eq!(first().await, Some(deadline), "in the list of workloads");
    // Nothing is aborted: the same generation is desired, and its success ends the mark.
    assert_eq!(of_workload[0].state, ReleaseState::Pulling);
    assert_eq!(of_workload[0].release.generation(), desired.generation);
    east.report_applied(&desired).await;
    let done = test.hub.get_release("web", "east").await.unwrap();
    assert_eq!((done.state, done.release.deadline_at()), (ReleaseState::Healthy, None));
    assert_eq!(first().await, None);
    test.close().await;
}
