//! Commands on several workloads.

use crate::test_server::TestServer;

#[test]
fn several_workloads_are_changed_with_one_command_and_every_failure_is_printed() {
    let server = TestServer::start_new();
    let path = server.folder().join("settings.yaml");
    std::fs::write(&path, "apiVersion: v1\nkind: ConfigMap\nmetadata: {name: settings}\n").unwrap();
    let path = path.display().to_string();
    let applied =
        server.run_cli(&["apply", "--name", "idle", "-n", "idle", "-f", &path, "--clusters", "eu-west-1"]);
    assert_eq!(applied.exit_code, 0, "{applied}");

    let synced = server.run_cli(&["sync", "lighthouse", "idle", "lighthouse"]);
    assert_eq!(synced.exit_code, 1, "{synced}");
    assert!(synced.stdout.starts_with("workload/lighthouse sync requested on "), "{synced}");
    assert_eq!(synced.stdout.lines().count(), 1, "{synced}");
    assert!(synced.stderr.contains("workload/idle: idle was never published."), "{synced}");
    assert!(synced.stderr.contains("1 of 2 workloads failed."), "{synced}");

    let unconfirmed = server.run_cli(&["unpublish", "lighthouse", "idle"]);
    assert_eq!(unconfirmed.exit_code, 2, "{unconfirmed}");
    assert!(unconfirmed.stderr.contains("This removes 2 workloads: "), "{unconfirmed}");
    let nothing = server.run_cli(&["unpublish", "--selector", "team=nobody", "--yes"]);
    assert!(nothing.stderr.contains("No workload has the labels team=nobody."), "{nothing}");
    let labelled = server.run_cli(&["label", "idle", "team=web"]);
    assert_eq!(labelled.exit_code, 0, "{labelled}");
    let selected = server.run_cli(&["sync", "-l", "team=web"]);
    assert!(selected.stderr.contains("idle was never published."), "{selected}");

    let removed = server.run_cli(&["unpublish", "lighthouse", "idle", "--yes"]);
    assert_eq!(removed.stdout, "workload/lighthouse unpublished\n", "{removed}");
    assert_eq!(removed.exit_code, 1, "{removed}");
    let all = server.run_cli(&["status"]);
    assert!(all.stdout.contains("lighthouse") && all.stdout.contains("idle"), "{all}");
}
