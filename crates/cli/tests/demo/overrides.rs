//! Overrides, API tokens and groups by the command line alone (S0-3).

use serde_json::json;

use super::test_server::{TestServer, fixture_path};

#[test]
fn s0_3_an_override_is_set_listed_planned_and_removed_by_the_command_line() {
    let server = TestServer::start_new();
    let path = server.folder().join("web.yaml");
    let deployment = "apiVersion: apps/v1\nkind: Deployment\nmetadata: {name: web}\nspec:\n  replicas: 2\n  \
                      selector: {matchLabels: {app: web}}\n  template:\n    metadata: {labels: {app: web}}\n    \
                      spec: {containers: [{name: web, image: registry.k8s.io/pause:3.9}]}\n";
    std::fs::write(&path, deployment).unwrap();
    let file = path.display().to_string();
    let applied = server.run_cli(&["apply", "--name", "web", "-n", "shop", "-f", &file, "--all-clusters"]);
    assert_eq!(applied.exit_code, 0, "{applied}");

    let set = server.run_cli(&["override", "set", "web", "--cluster", "eu-west-1", "replicas=4"]);
    assert_eq!(set.exit_code, 0, "{set}");
    assert_eq!(set.stdout, "workload/web override eu-west-1 saved (draft)\n");
    let again =
        server.run_cli(&["override", "set", "web", "--cluster", "eu-west-1", "replicas=3", "web.image=a:2"]);
    assert_eq!(again.exit_code, 0, "{again}");
    let stored = server.run_cli_json(&["override", "get", "web", "eu-west-1", "-o", "json"]);
    assert_eq!(stored["target"], json!({"clusters": ["eu-west-1"]}), "{stored}");
    assert_eq!(stored["patches"].as_array().unwrap().len(), 2, "{stored}");
    let plan = server.run_cli(&["plan", "web"]);
    assert!(plan.stdout.contains("/spec/replicas\n        + 3"), "{plan}");

    let unset = server.run_cli(&["override", "unset", "web", "--cluster", "eu-west-1", "web.image"]);
    assert_eq!(unset.exit_code, 0, "{unset}");
    let list = server.run_cli(&["override", "list", "web"]);
    assert!(
        list.stdout.contains("eu-west-1") && list.stdout.contains("Deployment web /spec/replicas=3"),
        "{list}"
    );
    assert!(!list.stdout.contains("image"), "{list}");
    let unknown = server.run_cli(&["override", "unset", "web", "--name", "eu-west-1", "image"]);
    assert_eq!(unknown.exit_code, 2, "{unknown}");
    let deleted = server.run_cli(&["override", "unset", "web", "--cluster", "eu-west-1", "replicas"]);
    assert_eq!(deleted.stdout, "workload/web override eu-west-1 deleted (draft)\n", "{deleted}");
    assert_eq!(server.run_cli_json(&["override", "list", "web", "-o", "json"]), json!([]));
    let missing = server.run_cli(&["override", "get", "web", "eu-west-1"]);
    assert_eq!(missing.exit_code, 1, "{missing}");
}

#[test]
fn s0_3_an_override_field_that_several_objects_have_needs_its_object() {
    let server = TestServer::start_new();
    let applied =
        server.run_cli(&["apply", "-f", &fixture_path("three-tier"), "--all-clusters", "-n", "shop"]);
    assert_eq!(applied.exit_code, 0, "{applied}");
    let several = server.run_cli(&["override", "set", "three-tier", "--cluster", "eu-west-1", "image=a:1"]);
    assert_eq!(several.exit_code, 2, "{several}");
    assert!(several.stderr.contains("fields: ") && several.stderr.contains("--object "), "{several}");
    let unnamed = server.run_cli(&["override", "set", "three-tier", "--selector", "a=b", "/kind=x"]);
    assert!(unnamed.stderr.contains("--name NAME"), "{unnamed}");
}

#[test]
fn s4_7_an_override_by_facts_is_set_listed_and_removed_by_the_command_line() {
    let server = TestServer::start_new();
    let applied = server.run_cli(&["apply", "--chart", "local/web", "--all-clusters", "-n", "shop"]);
    assert!(applied.stderr.contains("The draft is stored"), "the chart does not exist yet: {applied}");
    let facts = ["--facts", "provider=aws,distribution=eks"];
    let unnamed = server.run_cli(&[&["override", "set", "web", "replicas=4"], &facts[..]].concat());
    assert_eq!(unnamed.exit_code, 2, "{unnamed}");
    assert!(unnamed.stderr.contains("--name NAME"), "{unnamed}");
    let named = [&["override", "set", "web", "--name", "aws", "replicas=4"], &facts[..]].concat();
    assert_eq!(server.run_cli(&named).exit_code, 0);
    let stored = server.run_cli_json(&["override", "get", "web", "aws", "-o", "json"]);
    assert_eq!(stored["target"], json!({"fieldSelector": "provider=aws,distribution=eks"}), "{stored}");
    let list = server.run_cli(&["override", "list", "web"]);
    assert!(list.stdout.contains("facts provider=aws,distribution=eks"), "{list}");
    for (wrong, reason) in [("", "--facts is empty"), ("cloud=aws", "is not a fact; use provider")] {
        let refused = server.run_cli(&["override", "set", "web", "--name", "b", "--facts", wrong, "a=1"]);
        assert_eq!(refused.exit_code, 2, "{refused}");
        assert!(refused.stderr.contains(reason), "{refused}");
    }
    // Without a name, the override with exactly these clusters is meant.
    let unset = server.run_cli(&[&["override", "unset", "web"], &facts[..]].concat());
    assert_eq!(unset.stdout, "workload/web override aws deleted (draft)\n", "{unset}");
}

#[test]
fn s0_3_an_override_of_a_chart_sets_values_also_if_it_has_none_yet() {
    let server = TestServer::start_new();
    let applied = server.run_cli(&["apply", "--chart", "local/web", "--all-clusters", "-n", "shop"]);
    assert!(applied.stderr.contains("The draft is stored"), "the chart does not exist yet: {applied}");
    let set =
        server.run_cli(&["override", "set", "web", "--cluster", "eu-west-1", "image.tag=x", "replicas=4"]);
    assert_eq!(set.exit_code, 0, "{set}");
    let stored = server.run_cli_json(&["override", "get", "web", "eu-west-1", "-o", "json"]);
    assert_eq!(stored["values"], "image:\n  tag: \"x\"\nreplicas: 4\n", "{stored}");
    let unset = server.run_cli(&["override", "unset", "web", "--cluster", "eu-west-1", "image", "replicas"]);
    assert_eq!(unset.stdout, "workload/web override eu-west-1 deleted (draft)\n", "{unset}");
}

#[test]
fn s0_3_api_tokens_are_created_listed_and_revoked_by_the_command_line() {
    let server = TestServer::start_new();
    let created = server.run_cli_json(&["token", "create", "ci", "--days", "7", "-o", "json"]);
    let (id, secret) = (created["id"].as_str().unwrap(), created["secret"].as_str().unwrap());
    let list = || server.run_cli(&["token", "list"]);
    assert!(list().stdout.contains("ci") && !list().stdout.contains(secret), "{}", list());
    let works = server.run_cli(&["cluster", "list", "--token", secret]);
    assert_eq!(works.exit_code, 0, "{works}");

    let unconfirmed = server.run_cli(&["token", "revoke", id]);
    assert_eq!(unconfirmed.exit_code, 2, "{unconfirmed}");
    assert!(unconfirmed.stderr.contains("--yes"), "{unconfirmed}");
    let revoked = server.run_cli(&["token", "revoke", id, "--yes"]);
    assert_eq!(revoked.exit_code, 0, "{revoked}");
    let rejected = server.run_cli(&["cluster", "list", "--token", secret]);
    assert_eq!(rejected.exit_code, 1, "{rejected}");
}

#[test]
fn s0_3_a_group_and_its_features_are_shown_and_changed_by_the_command_line() {
    let server = TestServer::start_new();
    let set = server.run_cli(&["group", "set", "edge", "--clusters", "eu-west-1"]);
    assert_eq!(set.exit_code, 0, "{set}");
    let group = server.run_cli_json(&["group", "get", "edge", "-o", "json"]);
    assert_eq!(group["members"], json!(["eu-west-1"]));
    let locked = server.run_cli(&["group", "feature", "enable", "edge", "membershipLock"]);
    assert_eq!(locked.exit_code, 0, "{locked}");
    let rejected = server.run_cli(&["group", "set", "edge", "--clusters", "eu-west-2"]);
    assert_eq!(rejected.exit_code, 1, "{rejected}");
    let features = server.run_cli(&["group", "feature", "list", "edge"]);
    assert!(features.stdout.contains("membershipLock  yes"), "{features}");
    let unlocked = server.run_cli(&["group", "feature", "disable", "edge", "membershipLock"]);
    assert_eq!(unlocked.exit_code, 0, "{unlocked}");
    let unconfirmed = server.run_cli(&["group", "feature", "disable", "edge", "deployment"]);
    assert_eq!(unconfirmed.exit_code, 2, "{unconfirmed}");
    let deleted = server.run_cli(&["cluster", "delete", "eu-west-2"]);
    assert_eq!(deleted.exit_code, 2, "not confirmed: {deleted}");
    let published = server.run_cli(&["cluster", "get", "eu-west-2"]);
    assert_eq!(published.exit_code, 0, "{published}");
}

#[test]
fn s2_8_the_project_locks_values_of_charts_by_the_command_line() {
    let server = TestServer::start_new();
    let shown = server.run_cli(&["project", "get"]);
    let nothing = "project/default\napproval: every publish requires no approval, unless its rollout does\nlocked values: none\n";
    assert_eq!(shown.stdout, nothing, "{shown}");
    let path = server.folder().join("locked.yaml");
    std::fs::write(&path, "tls: {enabled: true} # everywhere\n").unwrap();
    let set = server.run_cli(&["project", "set", "--locked-values", &path.display().to_string()]);
    assert_eq!(set.stdout, "project/default saved\n", "{set}");
    let stored = server.run_cli_json(&["project", "get", "-o", "json"]);
    assert_eq!(stored["lockedValues"], "tls: {enabled: true} # everywhere\n", "{stored}");
    let nothing = server.run_cli(&["project", "set"]);
    assert_eq!(nothing.exit_code, 2, "{nothing}");
    let unlocked = server.run_cli(&["project", "set", "--no-locked-values"]);
    assert_eq!(unlocked.exit_code, 0, "{unlocked}");
    assert_eq!(server.run_cli_json(&["project", "get", "-o", "json"])["lockedValues"], json!(null));
}

#[test]
fn e8_an_override_is_explained_with_the_layers_that_set_each_field() {
    let server = TestServer::start_new();
    let path = server.folder().join("web.yaml");
    let manifests = "apiVersion: apps/v1\nkind: Deployment\nmetadata: {name: web}\nspec:\n  replicas: 2\n  \
                     selector: {matchLabels: {app: web}}\n  template:\n    metadata: {labels: {app: web}}\n    \
                     spec: {containers: [{name: web, image: registry.k8s.io/pause:3.9}]}\n---\n\
                     apiVersion: v1\nkind: Secret\nmetadata: {name: key}\nstringData: {token: first}\n";
    std::fs::write(&path, manifests).unwrap();
    let file = path.display().to_string();
    let applied = server.run_cli(&["apply", "--name", "web", "-n", "shop", "-f", &file, "--all-clusters"]);
    assert!(applied.stdout.contains("created"), "{applied}");
    assert_eq!(server.run_cli(&["group", "set", "eu", "--selector", "region=eu-west"]).exit_code, 0);
    for args in [
        &["--group", "eu", "replicas=3"][..],
        &["--selector", "env=prod", "--name", "prod", "replicas=4"],
        &["--cluster", "eu-west-1", "replicas=5", "token=second"],
    ] {
        let set = server.run_cli(&[&["override", "set", "web"], args].concat());
        assert_eq!(set.exit_code, 0, "{set}");
    }
    let explained = server.run_cli(&["override", "explain", "web", "--cluster", "eu-west-1", "replicas"]);
    assert_eq!(explained.exit_code, 0, "{explained}");
    let row = "/spec/replicas  5          cluster eu-west-1 ← selector prod 4 ← group eu 3 ← source 2\n";
    assert!(explained.stdout.ends_with(row), "{explained}");
    let all = server.run_cli(&["override", "explain", "web", "--cluster", "eu-west-1"]);
    assert!(all.stdout.contains("hidden") && !all.stdout.contains("second"), "{all}");
    let elsewhere = ["override", "explain", "web", "--cluster", "us-east-1", "web.image", "-o", "json"];
    let elsewhere = server.run_cli_json(&elsewhere);
    let value = &elsewhere[0]["layers"][0];
    assert_eq!(value["layer"], "source", "{elsewhere}");
    assert_eq!(value["value"]["value"], "registry.k8s.io/pause:3.9", "{elsewhere}");
    let unknown = server.run_cli(&["override", "explain", "web", "--cluster", "us-east-1", "colour"]);
    assert!(unknown.stderr.contains("has no field \"colour\""), "{unknown}");
}
