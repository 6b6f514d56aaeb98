//! Plan, publish and wait: what they say about differences, rejections and drift.

use serde_json::json;
use wire::{ClusterFault, FaultRequest, OverridePut};

use crate::WAIT_TIMEOUT;
use crate::test_server::{CliOutput, TestServer, wait_until};

/// A Deployment with this selector label.
fn deployment(app: &str) -> String {
    json!({"apiVersion": "apps/v1", "kind": "Deployment", "metadata": {"name": "web"}, "spec": {
        "replicas": 2,
        "selector": {"matchLabels": {"app": app}},
        "template": {
            "metadata": {"labels": {"app": app}},
            "spec": {"containers": [{"name": "web", "image": "nginx:1.27"}]}}}})
    .to_string()
}

/// Stores these manifests as the draft of `web`, in the namespace `shop`.
fn apply(server: &TestServer, manifests: &str, flags: &[&str]) {
    let file = server.folder().join("web.yaml");
    std::fs::write(&file, manifests).unwrap();
    let path = file.display().to_string();
    let applied =
        server.run_cli(&[&["apply", "--name", "web", "-n", "shop", "-f", &path][..], flags].concat());
    assert_eq!(applied.exit_code, 0, "{applied}");
}

fn publish_and_wait(server: &TestServer, flags: &[&str]) -> CliOutput {
    server.run_cli(&[&["publish", "web", "--wait", "--timeout", WAIT_TIMEOUT][..], flags].concat())
}

#[test]
fn a10_new_objects_that_an_override_makes_different_are_planned_in_groups_that_name_the_difference() {
    let server = TestServer::start_new();
    apply(&server, &deployment("web"), &["--all-clusters"]);
    let put: OverridePut = serde_json::from_value(json!({
        "target": {"selector": "region=us-east"}, "priority": 500,
        "patches": [{"object": {"kind": "Deployment"}, "op": "set", "path": "/spec/replicas", "value": 4}]}))
    .unwrap();
    server
        .call(async |client| {
            let revision = client.get_workload("web").await?.workload.revision;
            client.put_override("web", "wide", &put, revision).await
        })
        .unwrap();
    let plan = server.run_cli(&["plan", "web"]);
    assert_eq!(plan.exit_code, 0, "{plan}");
    let groups: Vec<&str> = plan.stdout.split("\n\n").collect();
    let group = |head: &str| groups.iter().find(|group| group.starts_with(head)).copied().unwrap_or_default();
    assert!(group("3 clusters (eu-west-1").contains("/spec/replicas\n        + 2"), "{plan}");
    assert!(group("2 clusters (us-east-1").contains("/spec/replicas\n        + 4"), "{plan}");
}

#[test]
fn a10_a_plan_without_changes_and_its_publish_say_that_nothing_changes() {
    let server = TestServer::start_new();
    apply(&server, &deployment("web"), &["--all-clusters"]);
    let first = publish_and_wait(&server, &[]);
    assert_eq!(first.exit_code, 0, "{first}");
    let plan = server.run_cli(&["plan", "web"]);
    assert_eq!(plan.exit_code, 0, "{plan}");
    assert!(plan.stdout.contains("No changes: 5 clusters already run what revision 2 contains."), "{plan}");
    assert!(!plan.stdout.contains("+0 ~0 -0"), "{plan}");
    let document = server.run_cli_json(&["plan", "web", "-o", "json"]);
    assert_eq!(document["noOp"], true, "{document}");
    let published = server.run_cli(&["publish", "web", "--plan", document["hash"].as_str().unwrap()]);
    assert_eq!(published.exit_code, 0, "{published}");
    assert!(
        published.stderr.contains("No changes: 5 clusters already ran what revision 2 contains."),
        "{published}"
    );
    // Without a plan only the drafts are compared.
    let again = server.run_cli(&["publish", "web"]);
    assert_eq!(again.exit_code, 0, "{again}");
    assert!(again.stderr.contains("The draft has not changed since revision 2"), "{again}");
}

#[test]
fn a10_a_publish_does_not_report_clusters_that_drift_as_done() {
    let server = TestServer::start_new();
    apply(&server, &deployment("web"), &["--clusters", "eu-west-1,eu-west-2", "--policy", "drift=notify"]);
    let first = publish_and_wait(&server, &[]);
    assert_eq!(first.exit_code, 0, "{first}");
    let fault = FaultRequest { workload: "web".to_owned(), fault: ClusterFault::ChangeReplicas };
    server.call(async |client| client.inject_fault("eu-west-1", &fault).await).unwrap();
    wait_until("the drift is observed", || {
        server.run_cli_json(&["status", "web", "-o", "json"])["counts"]["Drifted"] == 1
    });
    // The next revision changes another object, so that the drift stays.
    let with_settings = format!(
        "{}\n---\n{}",
        deployment("web"),
        r#"{"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": "settings"}}"#
    );
    apply(&server, &with_settings, &[]);
    let plan = server.run_cli(&["plan", "web"]);
    assert_eq!(plan.exit_code, 0, "drift does not reject a plan: {plan}");
    let diff = server.run_cli(&["diff", "web"]);
    assert_eq!(diff.exit_code, 1, "the differences, not a failure: {diff}");
    let published = publish_and_wait(&server, &[]);
    assert!(!published.stderr.contains("runs on 2 clusters"), "{published}");
    assert_eq!(published.exit_code, 4, "{published}");
    assert!(
        published.stderr.contains("1 of 2 clusters drifts: eu-west-1 (Deployment shop/web: /spec/replicas)"),
        "{published}"
    );
    assert!(published.stderr.contains("flotilla sync web"), "{published}");
    let help = server.run_cli(&["publish", "--help"]);
    assert!(help.stdout.contains("drift"), "{help}");
}

#[test]
fn s3_13_a_plan_says_which_objects_are_deleted_only_once_the_revision_is_operational() {
    const DELETED: &str = "- ConfigMap shop/settings";
    const LATE: &str = "- ConfigMap shop/settings  (once the revision is operational)";
    let server = TestServer::start_new();
    let with_settings = format!(
        "{}\n---\n{}",
        deployment("web"),
        r#"{"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": "settings"}}"#
    );
    apply(&server, &with_settings, &["--clusters", "eu-west-1"]);
    let first = publish_and_wait(&server, &[]);
    assert_eq!(first.exit_code, 0, "{first}");
    apply(&server, &deployment("web"), &[]);
    let plan = server.run_cli(&["plan", "web"]);
    assert!(plan.stdout.contains(LATE), "{plan}");
    apply(&server, &deployment("web"), &["--policy", "pruneOrder=afterApply"]);
    let plan = server.run_cli(&["plan", "web"]);
    assert!(plan.stdout.contains(DELETED) && !plan.stdout.contains(LATE), "{plan}");
}

#[test]
fn b16_a_publish_is_rejected_as_the_plan_was_until_its_codes_are_forced_by_name() {
    let server = TestServer::start_new();
    apply(&server, &deployment("web"), &["--clusters", "eu-west-1"]);
    assert_eq!(publish_and_wait(&server, &[]).exit_code, 0);
    apply(&server, &deployment("other"), &[]);
    let unplanned = server.run_cli_json(&["get", "web", "-o", "json"]);
    assert_eq!(unplanned["published"], 1);
    let plan = server.run_cli(&["plan", "web"]);
    assert_eq!(plan.exit_code, 3, "{plan}");
    assert!(plan.stdout.contains("G406"), "{plan}");
    let rejected = server.run_cli(&["publish", "web"]);
    assert_eq!(rejected.exit_code, 3, "{rejected}");
    assert!(
        rejected.stderr.contains("error[G406]") && rejected.stderr.contains("--force G406"),
        "{rejected}"
    );
    let misspelt = server.run_cli(&["publish", "web", "--force", "G46"]);
    assert_eq!(misspelt.exit_code, 3, "{misspelt}");
    assert!(misspelt.stderr.contains("Did you mean \"G406\"?"), "{misspelt}");
    let other = server.run_cli(&["publish", "web", "--force", "G409"]);
    assert_eq!(other.exit_code, 3, "only the named code is forced: {other}");
    assert_eq!(server.run_cli_json(&["get", "web", "-o", "json"])["published"], 1);

    let forced = server.run_cli(&["publish", "web", "--force", "G406"]);
    assert_eq!(forced.exit_code, 0, "{forced}");
    let events = server.run_cli(&["events", "--workload", "web"]);
    assert!(events.stdout.contains("web revision 2 was published; G406 was forced"), "{events}");
    let waited = server.run_cli(&["publish", "web", "--force", "G406", "--wait", "--timeout", WAIT_TIMEOUT]);
    assert_eq!(waited.exit_code, 4, "{waited}");
    assert!(!waited.stderr.contains("retried automatically"), "only a change resolves it: {waited}");
    assert!(waited.stderr.contains("No attempt can succeed"), "{waited}");
}

#[test]
fn b16_a_publish_without_a_plan_says_that_no_cluster_has_validated_it() {
    let server = TestServer::start_new();
    apply(&server, &deployment("web"), &["--clusters", "eu-west-1"]);
    let published = server.run_cli(&["publish", "web"]);
    assert_eq!(published.exit_code, 0, "{published}");
    assert!(published.stderr.contains("Not validated by the clusters"), "{published}");
    let planned = server.run_cli_json(&["plan", "web", "-o", "json"]);
    let published = server.run_cli(&["publish", "web", "--plan", planned["hash"].as_str().unwrap()]);
    assert!(!published.stderr.contains("Not validated"), "{published}");
}

#[test]
fn a_workload_that_can_not_be_placed_shows_the_failure_in_status_get_and_wait() {
    let server = TestServer::start_with_variable(("FLOTILLA_PANICPOINT", "placer.decide:web"));
    apply(&server, &deployment("web"), &["--clusters", "eu-west-1"]);
    assert_eq!(server.run_cli(&["publish", "web"]).exit_code, 0);
    wait_until("the failure is in the status", || {
        server.run_cli(&["status", "web"]).stderr.contains("can't be placed")
    });
    let status = server.run_cli(&["status", "web"]);
    assert!(status.stderr.contains("It can't be placed: panic: armed at placer.decide"), "{status}");
    assert!(status.stderr.contains("attempt"), "{status}");
    let shown = server.run_cli(&["get", "web"]);
    assert!(format!("{shown}").contains("It can't be placed: panic"), "{shown}");
    let diagnosis = server.run_cli(&["diagnose", "web"]);
    assert!(diagnosis.stdout.contains("FAIL server: It can't be placed: panic"), "{diagnosis}");
    let document = server.run_cli_json(&["status", "web", "-o", "json"]);
    assert!(document["failures"][0]["message"].as_str().unwrap().contains("can't be placed"), "{document}");
    wait_until("the wait ends with the failure", || {
        let waited = server.run_cli(&["publish", "web", "--wait", "--timeout", "10s"]);
        waited.stderr.contains("It can't be placed: panic")
    });
}
