//! Lifecycle of workloads through the command line: apply, plan, publish, delete.

use std::path::Path;

use domain::release::ReleaseState;

use crate::test_hub::wait_until;
use crate::{CLUSTER_NAMES, TestFleet};

fn fixture_path(name: &str) -> String {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../../end2end/fixtures").join(name).display().to_string()
}

/// S0-9, R-1, R-7: apply, publish, wait; exit codes and pods show that it runs.
pub async fn s0_9_an_applied_and_published_workload_becomes_healthy_on_every_real_cluster(fleet: &TestFleet) {
    let hub = &fleet.hub;
    hub.run_cli_ok(&["apply", "-f", &fixture_path("three-tier"), "-n", "shop", "--all-clusters"]).await;
    let hash = plan_workload(fleet).await;
    hub.run_cli_ok(&["publish", "three-tier", "--plan", &hash, "--wait", "--timeout", "5m"]).await;
    for member in fleet.clusters() {
        let target = hub.target_cluster("three-tier", member.name).await.unwrap();
        assert_eq!((target.state, target.revision), (ReleaseState::Healthy, Some(1)), "{target:#?}");
        assert_eq!(member.ready_pod_count("shop").await, 5, "on {}", member.name);
        let version = hub.client.get_cluster(member.name).await.unwrap().cluster.facts.kubernetes_version;
        assert_eq!(version, member.plane.version());
    }
}

/// E-2: every agent runs the plan's dry run with its own permissions, and the planned changes match what is applied later.
/// Returns the plan's hash.
async fn plan_workload(fleet: &TestFleet) -> String {
    let plan = fleet.hub.client.plan_workload("three-tier", 20).await.unwrap();
    assert_eq!(plan.dry_run_counts(), (CLUSTER_NAMES.len(), 0, 0), "{:#?}", plan.targets);
    assert!(!plan.is_blocked(), "{:#?}", plan.findings);
    let counts = plan.groups()[0].counts;
    assert_eq!((counts.create, counts.change, counts.rejected), (9, 0, 0), "{:#?}", plan.groups());
    plan.hash.to_string()
}

/// E-2: a plan of the published revision is a no-op, although real controllers have changed the objects since.
pub async fn e_2_a_plan_after_the_publish_is_a_no_op(fleet: &TestFleet) {
    let plan = fleet.hub.client.plan_workload("three-tier", 20).await.unwrap();
    assert_eq!(plan.dry_run_counts().0, CLUSTER_NAMES.len(), "{:#?}", plan.targets);
    assert!(!plan.has_changes(), "{:#?}", plan.cluster_plans);
}

/// S3-8: the applied state as kubectl prints it.
pub async fn s3_8_kubectl_shows_what_is_applied(fleet: &TestFleet) {
    for member in fleet.clusters() {
        let row = async || {
            let table = member.kubectl(&["get", "appliedreleases"]).await;
            let rows: Vec<Vec<String>> =
                table.lines().map(|row| row.split_whitespace().map(str::to_owned).collect()).collect();
            assert_eq!(rows.len(), 2, "one release: {table}");
            assert_eq!(rows[0][1..4], ["STATE", "WORKLOAD", "REVISION"], "{table}");
            rows[1][1..4].join(" ")
        };
        wait_until(row, async || row().await == "Applied three-tier 1").await;
    }
}

/// S3-11, S3-12: deleting the workloads deletes all objects, records and pods.
pub async fn s3_11_deleted_workloads_leave_nothing_behind(fleet: &TestFleet) {
    let hub = &fleet.hub;
    let listed = hub.client.list_workloads(&Default::default()).await.unwrap().items;
    assert!(listed.len() >= 5, "{listed:?}");
    for workload in &listed {
        hub.run_cli_ok(&["delete", &workload.name, "--yes"]).await;
    }
    for workload in &listed {
        hub.wait_for_deletion(&workload.name).await;
    }
    for member in fleet.clusters() {
        let records = member.kubectl(&["get", "appliedreleases", "-o", "name"]).await;
        let content = async || member.kubectl(&["get", "appliedreleases", "-o", "yaml"]).await;
        assert!(records.is_empty(), "{}\n{}\n{}", member.name, content().await, member.log_tail());
        let kinds =
            "deployments,replicasets,services,configmaps,ingresses,poddisruptionbudgets,endpointslices";
        let query = ["get", kinds, "-A", "-l", "flotilla.dev/release", "-o", "name"];
        // What controllers own, such as EndpointSlices, is deleted in the background.
        wait_until(async || member.kubectl(&query).await, async || member.kubectl(&query).await.is_empty())
            .await;
        let pods = async || member.kubectl(&["get", "pods,replicasets", "-n", "shop", "-o", "name"]).await;
        wait_until(&pods, async || pods().await.is_empty()).await;
        let counts = hub.client.get_cluster(member.name).await.unwrap().counts;
        assert_eq!(counts.targeted(), 0, "{counts:?}");
    }
    assert_eq!(CLUSTER_NAMES.len(), fleet.clusters().len());
}
