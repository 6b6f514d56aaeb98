//! Suspensions, and the owners of clusters, by the command line.

use wire::{ClusterFault, FaultRequest};

use super::WAIT_TIMEOUT;
use super::test_server::{TestServer, wait_until};

const MANIFEST: &str = "apiVersion: apps/v1\nkind: Deployment\nmetadata: {name: web}\nspec:\n  replicas: 2\n  \
    selector: {matchLabels: {app: web}}\n  template:\n    metadata: {labels: {app: web}}\n    spec:\n      \
    containers:\n        - {name: web, image: \"nginx:1.29\"}\n";

#[test]
fn s2_11_a_suspended_workload_is_not_changed_until_it_is_resumed() {
    let server = TestServer::start_new();
    let file = server.folder().join("web.yaml");
    std::fs::write(&file, MANIFEST).unwrap();
    let file = file.display().to_string();
    let applied =
        server.run_cli(&["apply", "-f", &file, "--name", "web", "-n", "shop", "--clusters", "eu-west-1"]);
    assert_eq!(applied.exit_code, 0, "{applied}");
    let published = server.run_cli(&["publish", "web", "--wait", "--timeout", WAIT_TIMEOUT]);
    assert_eq!(published.exit_code, 0, "{published}");
    assert_eq!(server.run_cli(&["suspend", "web"]).exit_code, 2, "without a reason");
    let not_yet = server.run_cli(&["resume", "web"]);
    assert!(not_yet.exit_code == 1 && not_yet.stderr.contains("web is not suspended"), "{not_yet}");
    let suspended = server.run_cli(&["suspend", "web", "--reason", "handover to the shop team"]);
    assert!(suspended.stdout.contains("workload/web suspended"), "{suspended}");
    let status = server.run_cli(&["status", "web"]);
    for part in ["Suspended", "suspended by", "handover to the shop team"] {
        assert!(status.stdout.contains(part), "{part}: {status}");
    }
    let listed = server.run_cli(&["get", "workloads"]);
    assert!(listed.stdout.contains("suspended"), "{listed}");

    // Drift is seen, and nothing is reverted, although the policy is to revert it.
    let fault = FaultRequest { workload: "web".to_owned(), fault: ClusterFault::ChangeReplicas };
    server.call(async |client| client.inject_fault("eu-west-1", &fault).await).unwrap();
    let drift = || server.run_cli_json(&["drift", "--workload", "web", "-o", "json"])["total"].as_i64();
    wait_until("the drift is in the inbox", || drift() == Some(1));
    std::fs::write(server.folder().join("web.yaml"), MANIFEST.replace("1.29", "1.30")).unwrap();
    let edited =
        server.run_cli(&["apply", "-f", &file, "--name", "web", "-n", "shop", "--clusters", "eu-west-1"]);
    assert_eq!(edited.exit_code, 0, "{edited}");
    let published = server.run_cli(&["publish", "web"]);
    assert_eq!(published.exit_code, 0, "{published}");
    let text = format!("{}{}", published.stdout, published.stderr);
    assert!(text.contains("waits on 1 suspended cluster"), "{published}");
    let preview = || server.run_cli(&["resume", "web", "--dry-run"]);
    wait_until("the revision is held", || {
        preview().stdout.contains("revision 2 replaces revision 1, 1 drifted field is reverted")
    });
    assert!(preview().stdout.contains("handover"), "{}", preview());

    let resumed = server.run_cli(&["resume", "web"]);
    assert!(resumed.stdout.contains("workload/web resumed"), "{resumed}");
    let healthy = || server.run_cli_json(&["status", "web", "-o", "json"]);
    wait_until("it runs the second revision", || {
        let status = healthy();
        status["counts"]["Healthy"] == 1 && status["targetClusters"][0]["revision"] == 2
    });
    wait_until("the drift is reverted", || drift() == Some(0));
}

#[test]
fn s0_13_the_owners_of_a_cluster_are_named_and_removed() {
    let server = TestServer::start_new();
    let named = server.run_cli(&["cluster", "set-owners", "eu-west-1", "team-edge", "ops@example.com"]);
    assert_eq!(named.stdout, "cluster/eu-west-1 owned by team-edge, ops@example.com\n", "{named}");
    let shown = server.run_cli(&["cluster", "get", "eu-west-1"]);
    assert!(shown.stdout.contains("team-edge, ops@example.com"), "{shown}");
    assert_eq!(server.run_cli(&["cluster", "set-owners", "eu-west-1"]).exit_code, 2);
    let removed = server.run_cli(&["cluster", "set-owners", "eu-west-1", "--none"]);
    assert_eq!(removed.stdout, "cluster/eu-west-1 has no owners\n", "{removed}");
}

#[test]
fn s2_11_a_suspended_cluster_is_listed_as_such_and_resumed() {
    let server = TestServer::start_new();
    let suspended = server.run_cli(&["cluster", "suspend", "eu-west-1", "--reason", "new disks"]);
    assert!(suspended.stdout.contains("cluster/eu-west-1 suspended"), "{suspended}");
    let listed = server.run_cli(&["cluster", "list"]);
    assert!(listed.stdout.contains("yes, suspended"), "{listed}");
    let shown = server.run_cli(&["cluster", "get", "eu-west-1"]);
    assert!(shown.stdout.contains("new disks"), "{shown}");
    let preview = server.run_cli(&["cluster", "resume", "eu-west-1", "--dry-run"]);
    assert!(preview.exit_code == 0 && preview.stdout.contains("new disks"), "{preview}");
    let resumed = server.run_cli(&["cluster", "resume", "eu-west-1"]);
    assert!(resumed.stdout.contains("cluster/eu-west-1 resumed"), "{resumed}");
    let misspelt = server.run_cli(&["cluster", "suspend", "eu-west-11", "--reason", "a"]);
    assert!(misspelt.exit_code == 1 && misspelt.stderr.contains("Did you mean"), "{misspelt}");
}
