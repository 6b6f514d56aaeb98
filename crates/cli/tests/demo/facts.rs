//! Facts of a cluster that changed, and that a user confirms.

use kubesim::{SimCluster, SimOptions};
use serde_json::Value;

use crate::test_server::{TestServer, wait_until};

const CLUSTER: &str = "eu-west-1";

fn read_cluster(server: &TestServer) -> Value {
    server.run_cli_json(&["cluster", "get", CLUSTER, "-o", "json"])
}

/// The snapshot of the cluster with nodes in another region.
fn moved_cluster() -> String {
    let options = SimOptions {
        name: CLUSTER.to_owned(),
        node_labels: vec![("topology.kubernetes.io/region".to_owned(), "eu-moon".to_owned())],
        run_controllers: false,
        ..SimOptions::default()
    };
    let runtime = tokio::runtime::Runtime::new().unwrap();
    runtime.block_on(async { SimCluster::new(options).snapshot().to_string() })
}

#[test]
fn s0_2_a_changed_region_is_listed_and_used_once_it_is_confirmed() {
    let mut server = TestServer::start_new();
    wait_until("the first report is confirmed", || {
        read_cluster(&server)["confirmedFacts"]["region"] == "eu-west"
    });
    // Without the label, the region is that of the nodes.
    let labeled = server.run_cli(&["cluster", "label", CLUSTER, "region-", "--yes"]);
    assert_eq!(labeled.exit_code, 0, "{labeled}");
    let nothing = server.run_cli(&["cluster", "confirm-facts", CLUSTER, "--yes"]);
    assert_eq!((nothing.exit_code, nothing.stdout.contains("no fact waits")), (0, true), "{nothing}");

    let snapshot = server.cluster_snapshot(CLUSTER);
    wait_until("the simulated cluster is saved", || snapshot.exists());
    server.kill();
    // The server encrypts snapshots, and also reads one in clear text.
    std::fs::write(&snapshot, moved_cluster()).unwrap();
    server.start();
    wait_until("the other region is reported", || read_cluster(&server)["facts"]["region"] == "eu-moon");

    let cluster = read_cluster(&server);
    assert_eq!(cluster["confirmedFacts"]["region"], "eu-west", "{cluster}");
    let shown = server.run_cli(&["cluster", "get", CLUSTER]);
    assert!(shown.stdout.contains("region eu-moon (confirmed: eu-west)"), "{shown}");
    let listed = server.run_cli(&["cluster", "confirm-facts", CLUSTER]);
    assert_eq!(listed.exit_code, 0, "{listed}");
    assert!(listed.stdout.contains("eu-moon") && listed.stdout.contains("--yes"), "{listed}");
    assert_eq!(read_cluster(&server)["confirmedFacts"]["region"], "eu-west", "it was only listed");

    let confirmed = server.run_cli(&["cluster", "confirm-facts", CLUSTER, "--yes"]);
    assert_eq!(confirmed.exit_code, 0, "{confirmed}");
    let cluster = read_cluster(&server);
    assert_eq!(
        (&cluster["confirmedFacts"]["region"], cluster.get("pendingFacts")),
        (&"eu-moon".into(), None)
    );
}
