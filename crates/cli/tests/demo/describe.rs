//! `describe` of a workload, a cluster and a group, and a cluster that waits to join.

use super::WAIT_TIMEOUT;
use super::test_server::{TestServer, fixture_path};

#[test]
fn e3_describe_shows_placement_with_reasons_overrides_objects_with_causes_and_events() {
    let server = TestServer::start_new();
    let file = fixture_path("bad/image-does-not-exist.yaml");
    server.run_cli(&["apply", "-f", &file, "--name", "broken", "--clusters", "eu-west-1", "-n", "shop"]);
    let draft = server.run_cli(&["describe", "broken"]);
    assert!(draft.stdout.contains("preview of the draft"), "{draft}");
    assert!(draft.stdout.contains("releases (0):\n  none: flotilla publish broken --wait"), "{draft}");
    let set = server.run_cli(&["override", "set", "broken", "--cluster", "eu-west-1", "replicas=2"]);
    assert_eq!(set.exit_code, 0, "{set}");
    server.run_cli(&["publish", "broken", "--wait", "--timeout", WAIT_TIMEOUT]);

    let workload = server.run_cli(&["describe", "workload", "broken"]);
    assert_eq!(workload.exit_code, 0, "{workload}");
    for part in [
        "namespace:          shop",
        "placement (of revision 1):",
        "failed selection: required",
        "/spec/replicas=2",
        "  eu-west-1: Degraded for ",
        "    Deployment shop/no-image: Degraded",
        "registry.invalid/does-not-exist:1.0",
        "events:",
    ] {
        assert!(workload.stdout.to_lowercase().contains(&part.to_lowercase()), "{part}: {workload}");
    }
    let cluster = server.run_cli(&["describe", "cluster", "eu-west-1"]);
    assert_eq!(cluster.exit_code, 0, "{cluster}");
    assert!(cluster.stdout.contains("groups:             none"), "{cluster}");
    let rows: Vec<&str> =
        cluster.stdout.lines().skip_while(|line| !line.starts_with("releases (2)")).collect();
    assert!(rows[2].trim_start().starts_with("broken "), "the worst release is the first: {cluster}");

    server.run_cli(&["group", "set", "eu", "--selector", "region=eu-west", "--clusters", "us-east-1,gone-1"]);
    let group = server.run_cli(&["describe", "group", "eu"]);
    assert_eq!(group.exit_code, 0, "{group}");
    assert!(group.stdout.contains("not registered:     gone-1"), "{group}");
    let typo = server.run_cli(&["describe", "cluster", "eu-wset-1"]);
    assert!(typo.exit_code == 1 && typo.stderr.contains("Did you mean \"eu-west-1\"?"), "{typo}");
    let kind = server.run_cli(&["describe", "pod", "web"]);
    assert!(kind.exit_code == 2 && kind.stderr.contains("can't be described"), "{kind}");
}
