//! Output for scripts, labels of a workload, and one release with its objects, by the command line (S0-3).

use serde_json::json;

use super::test_server::{TestServer, fixture_path};

#[test]
fn s0_3_s2_14_names_and_fields_are_printed_for_scripts_and_a_release_with_the_sentence_of_every_stage() {
    let server = TestServer::start_new();
    let names = server.run_cli(&["cluster", "list", "-o", "name"]);
    assert_eq!(names.exit_code, 0, "{names}");
    assert_eq!(names.stdout.lines().next(), Some("eu-west-1"), "{names}");
    let template = "jsonpath={range .[*]}{.name}:{.connectivity};{end}";
    let fields = server.run_cli(&["cluster", "list", "-o", template]);
    assert!(fields.stdout.starts_with("eu-west-1:Online;eu-west-2:"), "{fields}");
    let open = server.run_cli(&["cluster", "list", "-o", "jsonpath={.items"]);
    assert_eq!(open.exit_code, 2, "{open}");
    assert!(open.stderr.contains("the brace at character 1 is not closed"), "{open}");
    let unknown = server.run_cli(&["cluster", "list", "-o", "xml"]);
    assert!(unknown.exit_code == 2 && unknown.stderr.contains("jsonpath=TEMPLATE"), "{unknown}");
    let unnamed = server.run_cli(&["version", "-o", "name"]);
    assert!(unnamed.exit_code == 2 && unnamed.stderr.contains("has no names"), "{unnamed}");

    let path = fixture_path("three-tier");
    let applied = server.run_cli(&["apply", "-f", &path, "--clusters", "eu-west-1", "-n", "shop"]);
    assert_eq!(applied.exit_code, 0, "{applied}");
    let labeled = server.run_cli(&["label", "three-tier", "team=web", "tier=2"]);
    assert_eq!(labeled.stdout, "workload/three-tier labeled\n", "{labeled}");
    assert_eq!(server.run_cli(&["label", "three-tier", "tier-"]).exit_code, 0);
    let labels = || server.run_cli_json(&["get", "three-tier", "-o", "json"])["labels"].clone();
    assert_eq!(labels(), json!({"team": "web"}));
    let wrong = server.run_cli(&["label", "three-tier", "team"]);
    assert!(wrong.exit_code == 2 && wrong.stderr.contains("is not a label change"), "{wrong}");
    assert_eq!(labels(), json!({"team": "web"}));

    let published = server.run_cli(&["publish", "three-tier", "--wait", "--timeout", super::WAIT_TIMEOUT]);
    assert_eq!(published.exit_code, 0, "{published}");
    let release = server.run_cli(&["status", "three-tier", "--cluster", "eu-west-1"]);
    assert_eq!(release.exit_code, 0, "{release}");
    assert!(release.stdout.starts_with("three-tier on eu-west-1: Healthy"), "{release}");
    for sentence in ["Guard rails passed and the revision is stored.", "Every object is healthy."] {
        assert!(release.stdout.contains(sentence), "{release}");
    }
    assert!(release.stdout.contains("Deployment/web"), "{release}");
    let elsewhere = server.run_cli(&["status", "three-tier", "--cluster", "us-east-1"]);
    assert_eq!(elsewhere.exit_code, 1, "{elsewhere}");
}
