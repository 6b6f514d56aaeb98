//! `apply --atomic`: a cluster on which a revision fails is rolled back.

use crate::WAIT_TIMEOUT;
use crate::test_server::{TestServer, wait_until};

/// Writes a Deployment with this image and a definition of the workload `site`; returns the path of the definition.
fn write_definition(server: &TestServer, image: &str) -> String {
    let manifest = format!(
        "apiVersion: apps/v1\nkind: Deployment\nmetadata: {{name: site}}\nspec:\n  replicas: 1\n  \
         selector: {{matchLabels: {{app: site}}}}\n  template:\n    metadata: {{labels: {{app: site}}}}\n    \
         spec: {{containers: [{{name: web, image: '{image}'}}]}}\n"
    );
    std::fs::write(server.folder().join("site-web.yaml"), manifest).unwrap();
    let path = server.folder().join("site.yaml");
    let text = "name: site\nnamespace: shop\nclusters: eu-west-1\npayload: ./site-web.yaml\nrollout: {failAfter: 1s}\n";
    std::fs::write(&path, text).unwrap();
    path.display().to_string()
}

#[test]
fn s1_10_an_atomic_revision_that_fails_on_a_cluster_is_rolled_back_and_the_wait_fails() {
    let server = TestServer::start_new();
    let site = write_definition(&server, "nginx:1.29");
    let applied = server.run_cli_json(&["apply", "-f", &site, "--atomic", "-o", "json"]);
    let rollout = &applied["workload"]["draft"]["rollout"];
    assert_eq!(
        (&rollout["onFailure"], &rollout["waves"][0]["name"], &rollout["failAfter"]),
        (&"rollbackCluster".into(), &"all-at-once".into(), &"1s".into()),
        "{applied}"
    );
    let published = server.run_cli(&["publish", "site", "--wait", "--timeout", WAIT_TIMEOUT]);
    assert_eq!(published.exit_code, 0, "{published}");

    let site = write_definition(&server, "nginx:9.9");
    assert_eq!(server.run_cli(&["apply", "-f", &site, "--atomic"]).exit_code, 0);
    let published = server.run_cli(&["publish", "site", "--wait", "--timeout", WAIT_TIMEOUT]);
    assert_ne!(published.exit_code, 0, "{published}");
    let cause = "Revision 2 failed here, and it was rolled back to revision 1.";
    wait_until("the rollback is shown", || {
        server.run_cli(&["status", "site", "-o", "json"]).stdout.contains(cause)
    });
    let events = server.run_cli(&["events", "-o", "json"]);
    assert!(events.stdout.contains(&format!("eu-west-1: {cause}")), "{events}");

    let plain = server.run_cli_json(&["apply", "-f", &site, "--atomic=false", "-o", "json"]);
    assert!(plain["workload"]["draft"]["rollout"]["onFailure"].is_null(), "{plain}");
    assert!(plain["workload"]["draft"]["rollout"]["waves"].is_null(), "{plain}");
}
