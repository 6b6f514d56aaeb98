//! A chart on the clusters of a group, by the commands: deployed, upgraded with its values, synced, and deleted while a cluster is
//! unreachable.

use serde_json::Value;
use wire::{ClusterFault, FaultRequest};

use crate::WAIT_TIMEOUT;
use crate::charts::write_chart;
use crate::test_server::{TestServer, wait_until};

/// The group and its clusters.
const GROUP: &str = "europe";
const NEAR: &str = "eu-west-1";
const FAR: &str = "eu-west-2";

fn publish(server: &TestServer) {
    let published = server.run_cli(&["publish", "shop", "--wait", "--timeout", WAIT_TIMEOUT]);
    assert_eq!(published.exit_code, 0, "{published}");
}

fn values(server: &TestServer, cluster: &str) -> Value {
    server.run_cli_json(&["values", "shop", "--cluster", cluster, "-o", "json"])["values"].take()
}

/// The newest operation on the deployment.
fn newest_operation(server: &TestServer) -> Value {
    server.run_cli_json(&["operation", "list", "shop", "-o", "json"])["items"][0].take()
}

#[test]
fn s1_3_s1_13_s1_18_s1_21_s1_22_s1_23_the_deployment_of_a_group_is_controlled_by_commands() {
    let server = TestServer::start_new();
    let folder = tempfile::tempdir().unwrap();
    let path = |name: &str| folder.path().join(name).display().to_string();
    for version in ["1.0.0", "1.1.0"] {
        let file = folder.path().join(format!("web-{version}.tgz"));
        write_chart(&file, version);
        let pushed = server.run_cli(&["chart", "push", &file.display().to_string()]);
        assert_eq!(pushed.exit_code, 0, "{pushed}");
    }
    let members = format!("{NEAR},{FAR}");
    let saved = server.run_cli(&["group", "set", GROUP, "--clusters", &members]);
    assert_eq!(saved.stdout, "group/europe saved\n", "{saved}");

    // Deployed to the members alone, with values for one of them.
    std::fs::write(path("values.yaml"), "replicas: 2\n").unwrap();
    let chart = ["apply", "--name", "shop", "--chart", "local/web", "--chart-version"];
    let values_file = path("values.yaml");
    let first = ["1.0.0", "--values", &values_file, "--groups", GROUP, "-n", "shop"];
    let applied = server.run_cli(&[&chart[..], &first].concat());
    assert!(applied.stderr.contains("shop would go to 2 of 5 clusters"), "{applied}");
    let set = server.run_cli(&["override", "set", "shop", "--cluster", FAR, "replicas=5"]);
    assert_eq!(set.exit_code, 0, "{set}");
    publish(&server);

    // Upgraded: what the command does not name stays.
    let upgraded = server.run_cli(&[&chart[..], &["1.1.0"]].concat());
    assert_eq!(upgraded.stdout, "workload/shop changed (draft)\n", "{upgraded}");
    publish(&server);
    assert_eq!(
        (values(&server, NEAR)["replicas"].take(), values(&server, FAR)["replicas"].take()),
        (2.into(), 5.into())
    );
    let operation = newest_operation(&server);
    assert_eq!((&operation["kind"], &operation["revision"]), (&"publish".into(), &2.into()), "{operation}");
    assert_eq!(operation["counts"]["succeeded"], 2, "{operation}");

    // A cluster that is unreachable is deferred.
    let offline = FaultRequest { workload: String::new(), fault: ClusterFault::Offline };
    server.call(async |client| client.inject_fault(FAR, &offline).await).unwrap();
    wait_until("the cluster is offline", || {
        server.run_cli_json(&["get", "cluster", FAR, "-o", "json"])["connectivity"] == "Offline"
    });
    let synced = server.run_cli(&["sync", "shop"]);
    assert_eq!(synced.stdout, "workload/shop sync requested on 2 clusters\n", "{synced}");
    let operation = newest_operation(&server);
    assert_eq!(
        (&operation["kind"], &operation["counts"]["deferred"]),
        (&"sync".into(), &1.into()),
        "{operation}"
    );
    let shown = server.run_cli(&["operation", "get", operation["id"].as_str().unwrap()]);
    assert!(shown.exit_code == 4 && shown.stdout.contains("The cluster is unreachable"), "{shown}");

    // Its deletion waits for the cluster, unless it is forced.
    let waiting = server.run_cli(&["delete", "shop", "--yes", "--wait", "--timeout", "2s"]);
    assert_eq!(waiting.exit_code, 5, "{waiting}");
    assert_eq!(server.run_cli(&["get", "shop"]).exit_code, 0);
    let forced = server.run_cli(&["delete", "shop", "--yes", "--force", "--wait", "--timeout", WAIT_TIMEOUT]);
    assert_eq!(forced.exit_code, 0, "{forced}");
    assert!(
        forced.stderr.contains("A cluster that was not completes the removal when it returns."),
        "{forced}"
    );
    assert_eq!(server.run_cli(&["get", "shop"]).exit_code, 1);
}

#[test]
fn s1_2_a_group_whose_feature_deployment_is_disabled_loses_all_its_deployments() {
    const DEPLOYMENTS: [&str; 3] = ["first", "second", "third"];
    let server = TestServer::start_new();
    let file = server.folder().join("web-1.0.0.tgz");
    write_chart(&file, "1.0.0");
    let pushed = server.run_cli(&["chart", "push", &file.display().to_string()]);
    assert_eq!(pushed.exit_code, 0, "{pushed}");
    let saved = server.run_cli(&["group", "set", GROUP, "--clusters", NEAR]);
    assert_eq!(saved.exit_code, 0, "{saved}");
    for name in DEPLOYMENTS {
        let applied = server.run_cli(&[
            "apply",
            "--name",
            name,
            "--chart",
            "local/web",
            "--chart-version",
            "1.0.0",
            "--groups",
            GROUP,
            "-n",
            name,
        ]);
        assert_eq!(applied.exit_code, 0, "{applied}");
        let published = server.run_cli(&["publish", name, "--wait", "--timeout", WAIT_TIMEOUT]);
        assert_eq!(published.exit_code, 0, "{published}");
    }
    let disabled = server.run_cli(&["group", "feature", "disable", GROUP, "deployment", "--yes"]);
    assert_eq!(disabled.exit_code, 0, "{disabled}");
    assert!(disabled.stdout.contains("deployment  no"), "{disabled}");
    for name in DEPLOYMENTS {
        wait_until("the deployment is deleted", || server.run_cli(&["get", name]).exit_code == 1);
    }
    let group = server.run_cli(&["group", "get", GROUP]);
    assert_eq!(group.exit_code, 0, "the group stays: {group}");
}
