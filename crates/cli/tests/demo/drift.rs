//! The drift inbox, by the command line.

use wire::{ClusterFault, FaultRequest};

use super::WAIT_TIMEOUT;
use super::test_server::{TestServer, wait_until};

const MANIFEST: &str = "apiVersion: apps/v1\nkind: Deployment\nmetadata: {name: web}\nspec:\n  replicas: 2\n  \
    selector: {matchLabels: {app: web}}\n  template:\n    metadata: {labels: {app: web}}\n    spec:\n      \
    containers:\n        - {name: web, image: \"nginx:1.29\"}\n";

const ON: [&str; 3] = ["web", "--cluster", "eu-west-1"];

/// Runs `drift VERB web --cluster eu-west-1` with these further arguments.
fn drift(server: &TestServer, verb: &str, more: &[&str]) -> super::test_server::CliOutput {
    server.run_cli(&[&["drift", verb][..], &ON, more].concat())
}

/// Number of entries in a state.
fn count(server: &TestServer, state: &str) -> i64 {
    let page = server.run_cli_json(&["drift", "--state", state, "--workload", "web", "-o", "json"]);
    page["total"].as_i64().unwrap()
}

#[test]
fn e9_drift_is_listed_with_who_changed_it_and_snoozed_adopted_ignored_or_reverted() {
    let server = TestServer::start_new();
    let file = server.folder().join("web.yaml");
    std::fs::write(&file, MANIFEST).unwrap();
    let file = file.display().to_string();
    let flags = ["-n", "shop", "--clusters", "eu-west-1", "--policy", "drift=notify"];
    let applied = server.run_cli(&[&["apply", "-f", &file, "--name", "web"][..], &flags].concat());
    assert_eq!(applied.exit_code, 0, "{applied}");
    let published = server.run_cli(&["publish", "web", "--wait", "--timeout", WAIT_TIMEOUT]);
    assert_eq!(published.exit_code, 0, "{published}");
    let nothing = drift(&server, "revert", &[]);
    assert!(nothing.exit_code == 1 && nothing.stderr.contains("Nothing of web drifts"), "{nothing}");
    let fault = FaultRequest { workload: "web".to_owned(), fault: ClusterFault::ChangeReplicas };
    server.call(async |client| client.inject_fault("eu-west-1", &fault).await).unwrap();
    wait_until("the drift is in the inbox", || count(&server, "open") == 1);

    let listed = server.run_cli(&["drift", "--workload", "web"]);
    assert_eq!(listed.exit_code, 0, "{listed}");
    for part in ["web", "eu-west-1", "Deployment shop/web", "kubectl-edit", "/spec/replicas"] {
        assert!(listed.stdout.contains(part), "{part}: {listed}");
    }
    let wide = server.run_cli(&["drift", "list", "--workload", "web", "-o", "wide"]);
    assert!(wide.stdout.contains("POLICY") && wide.stdout.contains("notify"), "{wide}");
    let id = server.run_cli(&["drift", "list", "--workload", "web", "-o", "name"]);
    assert!(wide.stdout.contains(id.stdout.trim()), "{id}");
    let shown = server.run_cli_json(&[&["drift", "show"][..], &ON, &["-o", "json"]].concat());
    let field = &shown[0]["fields"][0];
    assert_eq!((&field["applied"], &field["live"], &field["desired"]), (&2.into(), &5.into(), &2.into()));
    assert_eq!(field["operation"], "Update", "{field}");

    let snoozed = drift(&server, "snooze", &["--for", "2h"]);
    assert!(snoozed.exit_code == 0 && snoozed.stdout.contains("snoozed until"), "{snoozed}");
    assert_eq!((count(&server, "open"), count(&server, "snoozed")), (0, 1));
    let late = drift(&server, "snooze", &["--for", "31d"]);
    assert!(late.exit_code != 0 && late.stderr.contains("30 days"), "{late}");
    assert_eq!(drift(&server, "snooze", &[]).exit_code, 2);
    assert_eq!(drift(&server, "snooze", &["--end"]).exit_code, 0);
    assert_eq!(count(&server, "open"), 1);

    let unknown = drift(&server, "adopt", &["--into", "override", "--field", "image"]);
    assert!(unknown.exit_code == 2 && unknown.stderr.contains("/spec/replicas"), "{unknown}");
    assert_eq!(drift(&server, "adopt", &["--into", "base"]).exit_code, 0);
    let draft = server.run_cli_json(&["get", "web", "-o", "json"])["draft"].clone();
    let text = draft["source"]["files"][0]["text"].as_str().unwrap();
    assert_eq!(text, MANIFEST.replace("replicas: 2", "replicas: 5"));
    let adopted = drift(&server, "adopt", &["--into", "override", "--field", "replicas"]);
    assert_eq!(adopted.exit_code, 0, "{adopted}");
    assert!(adopted.stderr.contains("flotilla plan web"), "what to do next: {adopted}");
    let draft = server.run_cli_json(&["get", "web", "-o", "json"])["draft"].clone();
    let saved = &draft["overrides"][0];
    assert_eq!((&saved["name"], &saved["patches"][0]["value"]), (&"eu-west-1".into(), &5.into()), "{saved}");
    let ignored = drift(&server, "ignore", &["--object", "deployment/web"]);
    assert_eq!(ignored.exit_code, 0, "{ignored}");
    let draft = server.run_cli_json(&["get", "web", "-o", "json"])["draft"].clone();
    assert_eq!(draft["policies"]["ignore"][0]["paths"][0], "/spec/replicas", "{draft}");

    // Nothing of the draft is published, so the cluster has what was applied again: one field, and after another change all of them.
    let unknown = drift(&server, "revert", &["--path", "/spec/paused"]);
    assert!(unknown.exit_code == 2 && unknown.stderr.contains("/spec/replicas"), "{unknown}");
    let reverted = drift(&server, "revert", &["--path", "/spec/replicas"]);
    assert_eq!(reverted.exit_code, 0, "{reverted}");
    assert!(reverted.stdout.contains("revert of /spec/replicas of"), "{reverted}");
    wait_until("the field is reverted", || count(&server, "open") == 0);
    let fault = FaultRequest { workload: "web".to_owned(), fault: ClusterFault::ChangeReplicas };
    server.call(async |client| client.inject_fault("eu-west-1", &fault).await).unwrap();
    wait_until("the new drift is in the inbox", || count(&server, "open") == 1);
    let reverted = drift(&server, "revert", &[]);
    assert!(reverted.stdout.contains("revert requested on eu-west-1"), "{reverted}");
    wait_until("the drift is reverted", || count(&server, "open") == 0);
    let status = || server.run_cli_json(&["status", "web", "-o", "json"]);
    wait_until("it is healthy with two replicas", || status()["counts"]["Healthy"] == 1);
    let misspelt = server.run_cli(&["drift", "show", "wbe", "--cluster", "eu-west-1"]);
    assert!(misspelt.exit_code == 1 && misspelt.stderr.contains("Did you mean \"web\"?"), "{misspelt}");
}
