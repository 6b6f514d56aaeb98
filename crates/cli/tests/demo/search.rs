//! The search, by the command line.

use super::test_server::TestServer;

#[test]
fn a_search_prints_names_of_all_kinds_and_the_command_of_each_action() {
    let server = TestServer::start_new();
    let found = server.run_cli(&["search", "eu-west"]);
    assert_eq!(found.exit_code, 0, "{found}");
    assert!(found.stdout.starts_with("KIND"), "{found}");
    assert_eq!(found.stdout.matches("\ncluster").count(), 3, "{found}");
    let names = server.run_cli(&["search", "lighthouse", "--kind", "workload", "-o", "name"]);
    assert_eq!(names.stdout, "lighthouse\n", "{names}");
    let actions = server.run_cli(&["search", "sync", "lighth", "--actions"]);
    assert!(actions.stdout.contains("flotilla sync lighthouse"), "{actions}");
    assert!(!actions.stdout.contains("flotilla delete"), "only the selected one: {actions}");
    let nothing = server.run_cli(&["search", "no-such-name"]);
    assert_eq!((nothing.exit_code, nothing.stdout.as_str()), (0, ""), "{nothing}");
    let unknown = server.run_cli(&["search", "x", "--kind", "pod"]);
    assert!(unknown.exit_code == 2 && unknown.stderr.contains("kinds are failure"), "{unknown}");
}
