//! Workloads that depend on others.

use super::WAIT_TIMEOUT;
use super::test_server::{TestServer, wait_until};

const CLUSTER: &str = "eu-west-1";

/// Writes a ConfigMap and a definition of the workload `name` with these lines; returns the path of the definition.
fn write_definition(server: &TestServer, name: &str, lines: &str) -> String {
    let manifest = format!("apiVersion: v1\nkind: ConfigMap\nmetadata: {{name: {name}}}\n");
    std::fs::write(server.folder().join(format!("{name}-map.yaml")), manifest).unwrap();
    let path = server.folder().join(format!("{name}.yaml"));
    let text =
        format!("name: {name}\nnamespace: shop\nclusters: {CLUSTER}\npayload: ./{name}-map.yaml\n{lines}");
    std::fs::write(&path, text).unwrap();
    path.display().to_string()
}

#[test]
fn a_workload_of_a_definition_waits_for_the_one_that_it_depends_on_and_continues_by_itself() {
    let server = TestServer::start_new();
    let site = write_definition(&server, "site", "dependsOn:\n- workload: store\n");
    let applied = server.run_cli(&["apply", "-f", &site]);
    assert_eq!(applied.exit_code, 0, "{applied}");
    assert!(applied.stderr.contains("There is no workload \"store\""), "{applied}");
    let published = server.run_cli(&["publish", "site"]);
    assert_eq!(published.exit_code, 0, "{published}");
    let wait = "Waits for store on eu-west-1: there is no readable workload of this name.";
    wait_until("the wait is shown", || {
        server.run_cli(&["status", "site", "-o", "json"]).stdout.contains(wait)
    });

    let store = write_definition(&server, "store", "");
    assert_eq!(server.run_cli(&["apply", "-f", &store]).exit_code, 0);
    let cycle = server.run_cli(&["apply", "-f", &store, "--depends-on", "site"]);
    assert_ne!(cycle.exit_code, 0, "{cycle}");
    assert!(cycle.stderr.contains("store → site → store"), "{cycle}");
    let published = server.run_cli(&["publish", "store", "--wait", "--timeout", WAIT_TIMEOUT]);
    assert_eq!(published.exit_code, 0, "{published}");
    wait_until("the site is delivered", || {
        server.run_cli_json(&["status", "site", "-o", "json"])["counts"]["Healthy"] == 1
    });

    let refused = server.run_cli(&["unpublish", "store", "--yes"]);
    assert_ne!(refused.exit_code, 0, "{refused}");
    for text in ["site depends on store", "--ignore-dependents"] {
        assert!(refused.stderr.contains(text), "{text:?}: {refused}");
    }
    let removed = server.run_cli(&["unpublish", "store", "--yes", "--ignore-dependents"]);
    assert_eq!(removed.stdout, "workload/store unpublished\n", "{removed}");
    let view = server.run_cli_json(&["status", "site", "-o", "json"]);
    assert_eq!(view["counts"]["Healthy"], 1, "what runs is not stopped: {view}");
    // The flag replaces what the file names, and an empty one removes all.
    let alone = server.run_cli_json(&["apply", "-f", &site, "--depends-on=", "-o", "json"]);
    assert_eq!(alone["workload"]["draft"].get("dependsOn"), None, "{alone}");
}
