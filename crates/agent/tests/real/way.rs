//! From files to pods and back to nothing, by the command line.

use std::path::Path;

use domain::release::State;

use crate::house::until;
use crate::{ALL, World};

fn fixture(name: &str) -> String {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../../end2end/fixtures").join(name).display().to_string()
}

/// S0-9, R-1, R-7: apply, publish, wait; the exit codes say that it runs, and so do the pods.
pub async fn s0_9_an_applied_and_published_workload_becomes_healthy_on_every_real_cluster(world: &World) {
    let house = &world.house;
    house.flotilla(&["apply", "-f", &fixture("three-tier"), "-n", "shop", "--all-clusters"]).await;
    let hash = planned(world).await;
    house.flotilla(&["publish", "three-tier", "--plan", &hash, "--wait", "--timeout", "2m"]).await;
    for member in world.members() {
        let target = house.target("three-tier", member.name).await.unwrap();
        assert_eq!((target.state, target.revision), (State::Healthy, Some(1)), "{target:#?}");
        assert_eq!(member.ready_pods("shop").await, 5, "on {}", member.name);
        let seen = house.client.cluster_get(member.name).await.unwrap().cluster.facts.kubernetes_version;
        assert_eq!(seen, member.plane.version());
    }
}

/// E-2: every agent tries the plan with the rights it has, and what it says would happen is what is there then; nothing is
/// left to do afterwards. Gives the plan's hash.
async fn planned(world: &World) -> String {
    let plan = world.house.client.workload_plan("three-tier", 20).await.unwrap();
    assert_eq!(plan.heard(), (ALL.len(), 0, 0), "{:#?}", plan.targets);
    assert!(!plan.blocks(), "{:#?}", plan.findings);
    let tally = plan.groups()[0].tally;
    assert_eq!((tally.create, tally.change, tally.refused), (9, 0, 0), "{:#?}", plan.groups());
    plan.hash.to_string()
}

/// E-2: a plan of what runs already changes nothing, on objects that real controllers have worked on since.
pub async fn e_2_after_the_publish_a_plan_has_nothing_left_to_do(world: &World) {
    let plan = world.house.client.workload_plan("three-tier", 20).await.unwrap();
    assert_eq!(plan.heard().0, ALL.len(), "{:#?}", plan.targets);
    assert!(!plan.changes_anything(), "{:#?}", plan.effects);
}

/// S3-8: what somebody without Flotilla sees.
pub async fn s3_8_kubectl_shows_what_is_applied(world: &World) {
    for member in world.members() {
        let row = async || {
            let table = member.kubectl(&["get", "appliedreleases"]).await;
            let rows: Vec<Vec<String>> =
                table.lines().map(|row| row.split_whitespace().map(str::to_owned).collect()).collect();
            assert_eq!(rows.len(), 2, "one release: {table}");
            assert_eq!(rows[0][1..4], ["STATE", "WORKLOAD", "REVISION"], "{table}");
            rows[1][1..4].join(" ")
        };
        until(row, async || row().await == "Applied three-tier 1").await;
    }
}

/// S3-11, S3-12: with the workloads go all objects, records and pods.
pub async fn s3_11_deleted_workloads_leave_nothing_behind(world: &World) {
    let house = &world.house;
    let listed = house.client.workload_list(&Default::default()).await.unwrap().items;
    assert!(listed.len() >= 5, "{listed:?}");
    for workload in &listed {
        house.flotilla(&["delete", &workload.name, "--yes"]).await;
    }
    for workload in &listed {
        house.until_forgotten(&workload.name).await;
    }
    for member in world.members() {
        let records = member.kubectl(&["get", "appliedreleases", "-o", "name"]).await;
        let content = async || member.kubectl(&["get", "appliedreleases", "-o", "yaml"]).await;
        assert!(records.is_empty(), "{}\n{}\n{}", member.name, content().await, member.last_words());
        let kinds =
            "deployments,replicasets,services,configmaps,ingresses,poddisruptionbudgets,endpointslices";
        let left = ["get", kinds, "-A", "-l", "flotilla.dev/release", "-o", "name"];
        assert_eq!(member.kubectl(&left).await, "", "{}", member.name);
        let pods = async || member.kubectl(&["get", "pods,replicasets", "-n", "shop", "-o", "name"]).await;
        assert_eq!(pods().await, "", "{}", member.name);
        let counts = house.client.cluster_get(member.name).await.unwrap().counts;
        assert_eq!(counts.targeted(), 0, "{counts:?}");
    }
    assert_eq!(ALL.len(), world.members().len());
}
