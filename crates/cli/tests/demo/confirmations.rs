//! What removes, revokes or deletes asks first, with what it concerns; without a terminal it needs `--yes`.

use serde_json::Value;

use super::WAIT_TIMEOUT;
use super::test_server::{CliOutput, TestServer, wait_until};

/// Publishes a ConfigMap as `site` to the clusters with `rack=a`, of which there is only eu-west-1.
fn publish_by_label(server: &TestServer) {
    let path = server.folder().join("site.yaml");
    std::fs::write(&path, "apiVersion: v1\nkind: ConfigMap\nmetadata: {name: site}\n").unwrap();
    let file = path.display().to_string();
    let labelled = server.run_cli(&["cluster", "label", "eu-west-1", "rack=a"]);
    assert_eq!(labelled.exit_code, 0, "nothing leaves, so nothing is asked: {labelled}");
    let applied =
        server.run_cli(&["apply", "--name", "site", "-n", "shop", "-f", &file, "--selector", "rack=a"]);
    assert_eq!(applied.exit_code, 0, "{applied}");
    let published = server.run_cli(&["publish", "site", "--wait", "--timeout", WAIT_TIMEOUT]);
    assert_eq!(published.exit_code, 0, "{published}");
}

/// That the command is not executed, and that its message contains these texts.
fn assert_unconfirmed(output: &CliOutput, texts: &[&str]) {
    assert_eq!(output.exit_code, 2, "{output}");
    for text in texts.iter().chain(&["Add --yes to confirm it."]) {
        assert!(output.stderr.contains(text), "{text:?}: {output}");
    }
}

fn read_cluster(server: &TestServer) -> Value {
    server.run_cli_json(&["cluster", "get", "eu-west-1", "-o", "json"])
}

#[test]
fn e_6_a_label_or_a_taint_by_which_a_workload_leaves_is_changed_only_after_a_confirmation() {
    let server = TestServer::start_new();
    publish_by_label(&server);
    let unlabelled = server.run_cli(&["cluster", "label", "eu-west-1", "rack-"]);
    assert_unconfirmed(&unlabelled, &["1 workload would leave eu-west-1 after 15 minutes: site."]);
    let tainted = server.run_cli(&["cluster", "taint", "eu-west-1", "gpu:NoSelect"]);
    assert_unconfirmed(&tainted, &["2 workloads would leave eu-west-1 after 15 minutes: lighthouse, site."]);
    let cluster = read_cluster(&server);
    assert_eq!((&cluster["labels"]["rack"], &cluster["taints"]), (&"a".into(), &Value::Array(vec![])));

    let other = server.run_cli(&["cluster", "label", "eu-west-1", "note=x"]);
    assert_eq!(other.exit_code, 0, "nothing leaves, so nothing is asked: {other}");
    let confirmed = server.run_cli(&["cluster", "label", "eu-west-1", "rack-", "--yes"]);
    assert_eq!(confirmed.exit_code, 0, "{confirmed}");
    assert_eq!(read_cluster(&server)["labels"].get("rack"), None);
}

#[test]
fn e_6_an_unpublish_of_one_workload_names_its_clusters_and_is_confirmed() {
    let server = TestServer::start_new();
    publish_by_label(&server);
    let unconfirmed = server.run_cli(&["unpublish", "site"]);
    assert_unconfirmed(&unconfirmed, &["This removes site from 1 cluster: eu-west-1."]);
    let status = server.run_cli_json(&["status", "site", "-o", "json"]);
    assert_eq!(status["counts"]["Healthy"], 1, "{status}");
    let mistyped = server.run_cli(&["unpublish", "sit"]);
    assert!(mistyped.exit_code == 1 && mistyped.stderr.contains("Did you mean \"site\"?"), "{mistyped}");
    let confirmed = server.run_cli(&["unpublish", "site", "--yes"]);
    assert_eq!(confirmed.stdout, "workload/site unpublished\n", "{confirmed}");
}

#[test]
fn s0_3_a_deletion_without_a_terminal_needs_yes() {
    let server = TestServer::start_new();
    let unconfirmed = server.run_cli(&["delete", "lighthouse"]);
    assert_unconfirmed(&unconfirmed, &["Deleting lighthouse needs a confirmation"]);
    assert_eq!(server.run_cli(&["get", "workload", "lighthouse"]).exit_code, 0);
}

#[test]
fn s0_3_a_deletion_or_a_revocation_of_a_cluster_names_the_workloads_that_have_a_release_there() {
    let server = TestServer::start_new();
    wait_until("the workload of the demo is placed", || {
        let delete = server.run_cli(&["cluster", "delete", "eu-west-1"]);
        assert_eq!(delete.exit_code, 2, "{delete}");
        delete.stderr.contains("1 workload has a release there: lighthouse.")
    });
    let revoke = server.run_cli(&["cluster", "revoke", "eu-west-1"]);
    assert_unconfirmed(&revoke, &["1 workload has a release there: lighthouse."]);
    assert_eq!(server.run_cli(&["cluster", "get", "eu-west-1"]).exit_code, 0);
}

#[test]
fn s0_3_a_subscription_is_deleted_and_an_agent_rejected_only_after_a_confirmation() {
    let server = TestServer::start_new();
    let channel = server.run_cli(&["channel", "create", "ops", "--url", "https://ops.example.com/hook"]);
    assert_eq!(channel.exit_code, 0, "{channel}");
    let subscribe = ["subscription", "create", "--channel", "ops", "--owner", "team-shop", "-o", "json"];
    let unknown = ["--quiet-hours", "22:00-06:00 Europe/Berln"];
    let unknown = server.run_cli(&[&subscribe[..], &unknown[..]].concat());
    assert_ne!(unknown.exit_code, 0, "{unknown}");
    assert!(unknown.stderr.contains("Did you mean Europe/Berlin?"), "{unknown}");
    let quiet = ["--quiet-hours", "22:00-06:00 Europe/Berlin"];
    let created = server.run_cli(&[&subscribe[..], &quiet[..]].concat());
    let created: Value = serde_json::from_str(&created.stdout).unwrap();
    let id = created["id"].as_str().unwrap();
    let unconfirmed = server.run_cli(&["subscription", "delete", id]);
    assert_unconfirmed(&unconfirmed, &["New incidents of owner team-shop will no longer be sent to ops."]);
    let listed = server.run_cli(&["subscription", "list"]);
    assert!(listed.stdout.contains(id) && listed.stdout.contains("22:00-06:00 Europe/Berlin"), "{listed}");
    let channel = server.run_cli(&["channel", "delete", "ops"]);
    assert_unconfirmed(
        &channel,
        &["The channel ops will be deleted with its subscription: owner team-shop."],
    );
    let mine = ["subscription", "create", "--channel", "ops", "--my-publishes", "-o", "json"];
    let mine = server.run_cli_json(&mine);
    assert_eq!((&mine["publisher"], &mine["scope"]), (&"demo".into(), &"publishes by demo".into()), "{mine}");
    let my_id = mine["id"].as_str().unwrap();
    let unconfirmed = server.run_cli(&["subscription", "delete", my_id]);
    assert_unconfirmed(&unconfirmed, &["The end of publishes by demo will no longer be sent to ops."]);
    assert_eq!(server.run_cli(&["subscription", "delete", my_id, "--yes"]).exit_code, 0);
    let confirmed = server.run_cli(&["subscription", "delete", id, "--yes"]);
    assert_eq!(confirmed.exit_code, 0, "{confirmed}");
    assert!(!server.run_cli(&["subscription", "list"]).stdout.contains(id));

    let unconfirmed = server.run_cli(&["cluster", "reject", "edge-1"]);
    assert_unconfirmed(&unconfirmed, &["The agent that waits to join as edge-1 gets no certificate"]);
}

#[test]
fn s0_3_a_group_a_user_a_token_and_a_repository_are_named_with_what_depends_on_them() {
    let server = TestServer::start_new();
    let run = |args: &[&str]| {
        let output = server.run_cli(args);
        assert_eq!(output.exit_code, 0, "{output}");
    };
    run(&["group", "set", "eu", "--selector", "region=eu-west", "--clusters", "us-east-1"]);
    let group = server.run_cli(&["group", "delete", "eu"]);
    assert_unconfirmed(
        &group,
        &["The group eu with 1 cluster by name and 3 by labels will be deleted. No workload refers to it."],
    );
    let missing = server.run_cli(&["group", "delete", "us"]);
    assert_eq!(missing.exit_code, 1, "what does not exist needs no confirmation: {missing}");

    run(&["user", "invite", "ada", "--role", "publisher"]);
    let user = server.run_cli(&["user", "disable", "ada"]);
    assert_unconfirmed(
        &user,
        &[
            "The sessions and API tokens of ada (publisher, never signed in with a password) will be rejected.",
        ],
    );
    let users = server.run_cli_json(&["user", "list", "-o", "json"]);
    let ada = users.as_array().unwrap().iter().find(|user| user["name"] == "ada").unwrap();
    assert_eq!(ada["state"], "invited", "{users}");

    let created = server.run_cli_json(&["cluster", "token", "create", "--name", "edge-1", "-o", "json"]);
    let token = server.run_cli(&["cluster", "token", "revoke", created["id"].as_str().unwrap()]);
    assert_unconfirmed(&token, &["No agent can join as edge-1 with the token", "No agent has used it."]);

    run(&["git", "repo", "add", "deploy", "https://git.example.com/acme/deploy.git"]);
    let repository = server.run_cli(&["git", "repo", "remove", "deploy"]);
    assert_unconfirmed(&repository, &["Workloads that follow it stay at their commit"]);
    let list = server.run_cli(&["git", "repo", "list"]).stdout;
    assert!(list.contains("deploy") && list.contains("(Public)"), "{list}");

    let chart = server.run_cli(&["chart", "delete", "local/web", "1.0.0"]);
    assert_unconfirmed(&chart, &["It can't be restored here; upload it again to use it."]);
}

#[test]
fn s0_3_an_abort_of_a_rollout_is_confirmed_with_the_clusters_that_stay_behind() {
    let server = TestServer::start_new();
    let path = server.folder().join("site.json");
    let map = r#"{"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": "site"}}"#;
    std::fs::write(&path, map).unwrap();
    let file = path.display().to_string();
    let applied = server.run_cli(&["apply", "--name", "site", "-n", "shop", "-f", &file, "--all-clusters"]);
    assert_eq!(applied.exit_code, 0, "{applied}");
    server
        .call(async |client| {
            let mut workload = client.get_workload("site").await?.workload;
            let waves = serde_json::json!([{"name": "first", "maxClusters": "1"}, {"name": "rest", "approval": true}]);
            workload.draft.rollout.waves = serde_json::from_value(waves).unwrap();
            let put = wire::WorkloadPut { spec: workload.draft, ..Default::default() };
            client.put_workload("site", &put, workload.revision).await
        })
        .unwrap();
    assert_eq!(server.run_cli(&["publish", "site"]).exit_code, 0);
    wait_until("the clusters of the second wave wait", || {
        let abort = server.run_cli(&["rollout", "abort", "site"]);
        abort.exit_code == 2
            && abort.stderr.contains("4 clusters not admitted yet stay at the current revision.")
    });
    let aborted = server.run_cli(&["rollout", "abort", "site", "--yes"]);
    assert_eq!(aborted.exit_code, 0, "{aborted}");
    assert!(aborted.stdout.starts_with("rollout of site revision 1 aborted"), "{aborted}");
}
