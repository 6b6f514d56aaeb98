//! How often a check, a plan and a publish read and write the database.

use domain::workload::WorkloadSpec;
use hub::{PublishOptions, WorkloadEdit};

use crate::test_hub::{CONFIG, TestHub, everywhere, source};

const SERVICE: &str = "apiVersion: v1\nkind: Service\nmetadata: {name: front}\nspec:\n  type: NodePort\n  \
                       selector: {app: front}\n  ports: [{port: 80, nodePort: 31000}]\n";

/// Read transactions, write transactions and statements of one operation.
type Counts = (u64, u64, u64);

/// A workload published on this many clusters, with another draft since; the loops are stopped.
async fn changed_workload(text: &str, clusters: usize) -> (TestHub, WorkloadSpec) {
    let mut test = TestHub::open().await;
    let mut agents = Vec::new();
    for number in 0..clusters {
        agents.push(test.register_cluster(&format!("cluster-{number}"), &[]).await);
    }
    test.publish_new("web", everywhere()).await;
    for agent in &mut agents {
        agent.wait_for_release().await;
    }
    test.stop_loops().await;
    let mut spec = test.hub.get_workload("web").await.unwrap().workload.draft;
    spec.source = source(text);
    let edit = WorkloadEdit { spec: Some(spec.clone()), ..WorkloadEdit::default() };
    test.hub.edit_workload(&test.actor, "web", edit, None).await.unwrap();
    (test, spec)
}

async fn count<T>(test: &TestHub, operation: impl Future<Output = Result<T, hub::Error>>) -> (T, Counts) {
    let before = test.hub.store_statistics();
    let result = operation.await.unwrap();
    let counts = test.hub.store_statistics().since(before);
    (result, (counts.reads, counts.writes, counts.statements))
}

/// The counts of a check, a plan, a publish with the plan, and a publish without one.
async fn count_operations(text: &str, clusters: usize) -> [Counts; 4] {
    let (test, spec) = Box::pin(changed_workload(text, clusters)).await;
    let (hub, actor) = (&test.hub, &test.actor);
    let (_, check) = count(&test, Box::pin(hub.check_workload(actor, "web", &spec))).await;
    let (planned, plan) =
        count(&test, Box::pin(hub.create_plan(actor, "web", &PublishOptions::default()))).await;
    let options = PublishOptions { plan_hash: Some(planned.hash), ..PublishOptions::default() };
    let (_, with_plan) = count(&test, Box::pin(hub.publish_workload(actor, "web", "", options))).await;
    let options = PublishOptions::default();
    let (_, without_plan) = count(&test, Box::pin(hub.publish_workload(actor, "web", "", options))).await;
    test.close().await;
    [check, plan, with_plan, without_plan]
}

fn transactions(counts: [Counts; 4]) -> [(u64, u64); 4] {
    counts.map(|(reads, writes, _)| (reads, writes))
}

#[tokio::test(flavor = "multi_thread")]
async fn a_check_a_plan_and_a_publish_each_read_one_snapshot_and_write_at_most_once() {
    let counts = count_operations(&CONFIG.replace("blue", "red"), 2).await;
    // A plan reads the released bundles apart, once there is memory for them: a digest names the same bytes in any snapshot.
    assert_eq!(transactions(counts), [(1, 0), (2, 1), (1, 1), (1, 1)]);
}

#[tokio::test(flavor = "multi_thread")]
async fn exposures_of_other_workloads_are_one_read_more() {
    let counts = count_operations(SERVICE, 2).await;
    assert_eq!(transactions(counts), [(2, 0), (3, 1), (2, 1), (2, 1)]);
}

#[tokio::test(flavor = "multi_thread")]
async fn the_number_of_statements_does_not_depend_on_the_number_of_clusters() {
    assert_eq!(count_operations(SERVICE, 2).await, count_operations(SERVICE, 5).await);
}
