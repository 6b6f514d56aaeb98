//! What the command line prints where something is wrong: orders, ages, hints, and inputs of which nothing is stored.

use super::WAIT_TIMEOUT;
use super::test_server::{TestServer, fixture_path};

#[test]
fn s1_19_status_lists_the_worst_workload_first_with_ages_in_whole_units() {
    let server = TestServer::start_new();
    let file = fixture_path("bad/image-does-not-exist.yaml");
    server.run_cli(&["apply", "-f", &file, "--name", "zebra", "--clusters", "eu-west-1", "-n", "broken"]);
    let published = server.run_cli(&["publish", "zebra", "--wait", "--timeout", WAIT_TIMEOUT]);
    assert_eq!(published.exit_code, 4, "{published}");
    let names = |args: &[&str]| {
        let output = server.run_cli(args);
        let rows = output.stdout.lines().skip(1).map(|row| row.split_whitespace().next().unwrap().to_owned());
        rows.collect::<Vec<_>>()
    };
    assert_eq!(names(&["status"]), ["zebra", "lighthouse"]);
    assert_eq!(names(&["get"]), ["lighthouse", "zebra"]);
    let status = server.run_cli(&["status", "zebra"]);
    assert!(!status.stdout.contains(" ms "), "{status}");
    let since = server.run_cli(&["status"]);
    let changed = since.stdout.lines().nth(1).unwrap().split_whitespace().last().unwrap().to_owned();
    assert!(changed.ends_with(['s', 'm']), "{since}");
}

#[test]
fn s0_15_apply_stores_nothing_of_text_that_is_not_a_list_of_manifests() {
    let server = TestServer::start_new();
    for name in ["not-yaml", "missing-kind"] {
        let file = fixture_path(&format!("bad/{name}.yaml"));
        let applied = server.run_cli(&["apply", "-f", &file, "--name", "web", "--clusters", "eu-west-1"]);
        assert_eq!(applied.exit_code, 3, "{applied}");
        assert!(applied.stderr.contains("error[G109]"), "{applied}");
        assert!(applied.stderr.contains("Nothing is stored: "), "{applied}");
        assert_eq!((server.run_cli(&["get", "web"]).exit_code, &*applied.stdout), (1, ""), "{applied}");
    }
}

#[test]
fn a_hint_never_suggests_the_name_that_was_given() {
    let server = TestServer::start_new();
    let rollout = server.run_cli(&["rollout", "status", "lighthouse"]);
    assert_eq!(rollout.exit_code, 1, "{rollout}");
    assert!(rollout.stderr.contains("no rollout of workload \"lighthouse\""), "{rollout}");
    assert!(!rollout.stderr.contains("Did you mean"), "{rollout}");
}

#[test]
fn r2_alternative_conditions_and_minimum_numbers_are_set_by_flags() {
    let server = TestServer::start_new();
    let jobs = fixture_path("jobs");
    let flags = ["--selector", "env=staging", "--alternative", "clusters=us-east-2", "--min-clusters", "3"];
    let applied = server.run_cli(&[&["apply", "-f", &jobs, "-n", "work"][..], &flags].concat());
    assert!(applied.stderr.contains("2 of 5 clusters: eu-west-3, us-east-2"), "{applied}");
    assert!(applied.stderr.contains("G504"), "{applied}");
    let view = server.run_cli_json(&["get", "jobs", "-o", "json"]);
    assert_eq!(view["draft"]["placement"]["minClusters"], 3, "{view}");
    let wrong = server.run_cli(&["apply", "-f", &jobs, "--alternative", "env=staging"]);
    assert!(wrong.exit_code == 2 && wrong.stderr.contains("is not a condition"), "{wrong}");
}

#[test]
fn a_publish_prints_a_warning_and_one_of_a_plan_that_printed_it_only_counts_it() {
    let server = TestServer::start_new();
    let path = server.folder().join("milli.yaml");
    // 512m is a valid quantity of memory, half a byte.
    let manifest = "apiVersion: apps/v1\nkind: Deployment\nmetadata: {name: milli}\nspec:\n  selector: {matchLabels: {app: milli}}\n  template:\n    metadata: {labels: {app: milli}}\n    spec:\n      containers:\n        - {name: web, image: \"nginx:1.29\", resources: {limits: {memory: 512m}}}\n";
    std::fs::write(&path, manifest).unwrap();
    let file = path.display().to_string();
    let applied =
        server.run_cli(&["apply", "-f", &file, "--name", "milli", "-n", "shop", "--clusters", "eu-west-1"]);
    assert!(applied.exit_code == 0 && applied.stderr.contains("warning[G210]"), "{applied}");
    let plan = server.run_cli(&["plan", "milli"]);
    assert!(plan.exit_code == 0 && plan.stderr.contains("warning[G210]"), "{plan}");
    let hash = server.run_cli_json(&["plan", "milli", "-o", "json"])["hash"].as_str().unwrap().to_owned();
    let published = server.run_cli(&["publish", "milli", "--plan", &hash]);
    assert_eq!(published.exit_code, 0, "{published}");
    assert!(!published.stderr.contains("G210"), "{published}");
    let count = published.stderr.lines().find(|line| line.contains("\"flotilla plan milli\" prints them."));
    assert!(count.is_some_and(|line| line.contains("warning")), "{published}");
    // Nobody has read a plan of this one.
    let published = server.run_cli(&["publish", "milli"]);
    assert!(published.exit_code == 0 && published.stderr.contains("warning[G210]"), "{published}");
}
