//! Rollouts: approvals, what happens on failure, clusters and reports.

use super::test_server::{CliOutput, TestServer, wait_until};

/// Defines and saves `web`, a ConfigMap for two clusters, with this rollout.
fn apply_web(server: &TestServer, rollout: &str) -> CliOutput {
    let folder = server.folder();
    let map = "apiVersion: v1\nkind: ConfigMap\nmetadata: {name: settings}\n";
    std::fs::write(folder.join("settings.yaml"), map).unwrap();
    let workload = folder.join("workload.yaml");
    let text = format!(
        "name: web\nnamespace: shop\nclusters: [eu-west-1, eu-west-2]\npayload: settings.yaml\n{rollout}"
    );
    std::fs::write(&workload, text).unwrap();
    server.run_cli(&["apply", "-f", &workload.display().to_string()])
}

fn wait_for_status(server: &TestServer, text: &str) {
    wait_until(text, || server.run_cli(&["rollout", "status", "web"]).stdout.contains(text));
}

#[test]
fn s2_5_a_result_is_approved_and_what_happens_on_failure_is_planned_by_the_command_line() {
    let server = TestServer::start_new();
    let rollout = "rollout:\n  waves: [{name: canary, maxClusters: 1, approvalAfter: true}, {name: rest}]\n  \
                   onFailure: rollbackWave\n";
    assert_eq!(apply_web(&server, rollout).exit_code, 0);
    let plan = server.run_cli(&["plan", "web"]);
    let waves = "In waves: canary (1 cluster, its result requires approval) → rest (1 cluster).";
    assert!(plan.stdout.contains(waves), "{plan}");
    assert!(plan.stdout.contains("that wave and those after it are rolled back"), "{plan}");
    assert_eq!(server.run_cli(&["publish", "web"]).exit_code, 0);
    wait_for_status(&server, "Wave 1 of 2 (canary) is operational; its result waits for approval.");

    let canary = server.run_cli(&["rollout", "clusters", "web", "--wave", "canary", "-o", "name"]);
    assert_eq!((canary.exit_code, canary.stdout.lines().count()), (0, 1), "{canary}");
    let rest = server.run_cli(&["rollout", "clusters", "web", "--wave", "rest"]);
    assert!(rest.stdout.contains("Waiting") && rest.stdout.contains("eu-west-"), "{rest}");
    let unknown = server.run_cli(&["rollout", "clusters", "web", "--wave", "nowhere"]);
    assert!(unknown.exit_code == 1 && unknown.stderr.contains("nowhere"), "{unknown}");

    assert_eq!(server.run_cli(&["rollout", "approve", "web"]).exit_code, 0);
    wait_for_status(&server, "Every wave is complete.");
    let report = server.run_cli(&["rollout", "report", "web"]);
    assert!(report.stdout.starts_with("# Rollout of web revision 1\n"), "{report}");
    assert!(report.stdout.contains("- On failure: rollbackWave"), "{report}");
    assert!(report.stdout.contains("| canary | Done | 1 | 1 | 0 |"), "{report}");
    let csv = server.run_cli(&["rollout", "report", "web", "-o", "csv"]);
    let rows: Vec<&str> = csv.stdout.lines().collect();
    assert_eq!(rows.len(), 3, "{csv}");
    assert!(rows[0].starts_with("\"wave\",\"waveName\",\"cluster\""), "{csv}");
    assert!(rows[1].starts_with("\"1\",\"canary\",\"eu-west-"), "{csv}");
    let json = server.run_cli_json(&["rollout", "report", "web", "-o", "json"]);
    assert_eq!(json["clusters"].as_array().unwrap().len(), 2, "{json}");
}

#[test]
fn s2_5_the_project_requires_an_approval_of_another_user_by_the_command_line() {
    let server = TestServer::start_new();
    let set = server.run_cli(&["project", "set", "--approval", "anotherUser"]);
    assert_eq!(set.stdout, "project/default saved\n", "{set}");
    let shown = server.run_cli(&["project", "get"]);
    assert!(shown.stdout.contains("the approval of another user than its publisher"), "{shown}");
    let invalid = server.run_cli(&["project", "set", "--approval", "nobody"]);
    assert!(invalid.exit_code == 2 && invalid.stderr.contains("anotherUser"), "{invalid}");
    assert_eq!(apply_web(&server, "").exit_code, 0);
    let plan = server.run_cli(&["plan", "web"]);
    assert!(plan.stdout.contains("In waves: all (2 clusters, requires approval)."), "{plan}");
    assert_eq!(server.run_cli(&["publish", "web"]).exit_code, 0);
    wait_for_status(&server, "waits for the approval of a user other than");
    let refused = server.run_cli(&["rollout", "approve", "web"]);
    assert!(refused.exit_code == 1 && refused.stderr.contains("the approval of another user"), "{refused}");
}
