//! What a cluster would receive, taints, and manual pages, by the command line (S0-3).

use serde_json::json;

use super::test_server::TestServer;

const MANIFESTS: &str = "apiVersion: v1\nkind: Secret\nmetadata: {name: key}\nstringData: {token: s3cret}\n---\n\
                         apiVersion: v1\nkind: ConfigMap\nmetadata: {name: site}\ndata: {region: \"${{ cluster.name }}\"}\n";

#[test]
fn s0_3_render_prints_what_a_cluster_would_receive_and_no_secret() {
    let server = TestServer::start_new();
    let path = server.folder().join("site.yaml");
    std::fs::write(&path, MANIFESTS).unwrap();
    let file = path.display().to_string();
    let clusters = "eu-west-1,eu-west-2";
    let applied =
        server.run_cli(&["apply", "--name", "site", "-n", "shop", "-f", &file, "--clusters", clusters]);
    assert_eq!(applied.exit_code, 0, "{applied}");
    let rendered = server.run_cli(&["render", "site", "--cluster", "eu-west-1"]);
    assert_eq!(rendered.exit_code, 0, "{rendered}");
    assert!(rendered.stdout.contains("region: eu-west-1"), "{rendered}");
    assert!(rendered.stdout.contains("\n---\n") && rendered.stdout.contains("namespace: shop"), "{rendered}");
    assert!(!rendered.stdout.contains("s3cret"), "{rendered}");
    let json = server.run_cli_json(&["render", "site", "--cluster", "eu-west-2", "-o", "json"]);
    assert_eq!((&json["cluster"], json["objects"].as_array().unwrap().len()), (&json!("eu-west-2"), 2));
    assert!(!json.to_string().contains("s3cret"), "{json}");

    let elsewhere = server.run_cli(&["render", "site", "--cluster", "us-east-1"]);
    assert_eq!(elsewhere.exit_code, 1, "{elsewhere}");
    assert!(elsewhere.stderr.contains("does not select this cluster"), "{elsewhere}");
    let missing = server.run_cli(&["render", "site", "--cluster", "eu-west-9"]);
    assert!(missing.exit_code == 1 && missing.stderr.contains("eu-west-9"), "{missing}");
    let revision = server.run_cli(&["render", "site", "--cluster", "eu-west-1", "--revision", "7"]);
    assert_eq!(revision.exit_code, 1, "{revision}");
}

#[test]
fn s0_3_taints_are_set_and_removed_and_manual_pages_cover_every_command() {
    let server = TestServer::start_new();
    let tainted = server.run_cli(&["cluster", "taint", "eu-west-1", "gpu=a100:NoSelectIfNew"]);
    assert_eq!(tainted.stdout, "cluster/eu-west-1 tainted\n", "{tainted}");
    let cluster = server.run_cli_json(&["cluster", "get", "eu-west-1", "-o", "json"]);
    assert_eq!(
        cluster["taints"],
        json!([{"key": "gpu", "value": "a100", "effect": "NoSelectIfNew"}]),
        "{cluster}"
    );
    let wrong = server.run_cli(&["cluster", "taint", "eu-west-1", "gpu=a100:NoSchedule"]);
    assert!(wrong.exit_code == 2 && wrong.stderr.contains("NoSelectIfNew"), "{wrong}");
    let absent = server.run_cli(&["cluster", "taint", "eu-west-1", "cpu-"]);
    assert!(absent.exit_code == 1 && absent.stderr.contains("has no taint cpu"), "{absent}");
    assert_eq!(server.run_cli(&["cluster", "taint", "eu-west-1", "gpu-"]).exit_code, 0);

    let folder = server.folder().join("man");
    let written = server.run_cli(&["man", "--dir", &folder.display().to_string()]);
    assert_eq!(written.exit_code, 0, "{written}");
    for page in ["flotilla.1", "flotilla-render.1", "flotilla-cluster-taint.1"] {
        let text = std::fs::read_to_string(folder.join(page)).unwrap();
        assert!(text.contains(".SH SYNOPSIS"), "{page}: {text}");
    }
}

#[test]
fn s0_3_a_placement_by_groups_facts_number_and_spread_is_set_by_flags() {
    let server = TestServer::start_new();
    let path = server.folder().join("site.yaml");
    std::fs::write(&path, MANIFESTS).unwrap();
    let file = path.display().to_string();
    let grouped = server.run_cli(&["group", "set", "europe", "--clusters", "eu-west-1,eu-west-2,eu-west-3"]);
    assert_eq!(grouped.exit_code, 0, "{grouped}");
    let applied = server.run_cli(&[
        "apply",
        "--name",
        "site",
        "-n",
        "shop",
        "-f",
        &file,
        "--groups",
        "europe",
        "--number",
        "2",
        "--score",
        "allocatableCpu=2",
        "--spread",
        "zone:3:preferred",
        "--tolerate",
        "spot",
    ]);
    assert_eq!(applied.exit_code, 0, "{applied}");
    assert!(applied.stderr.contains("would go to 2 of 5 clusters"), "{applied}");
    let stored = server.run_cli_json(&["get", "workload", "site", "-o", "json"]);
    let placement =
        stored.pointer("/workload/draft/placement").or_else(|| stored.pointer("/draft/placement"));
    let placement = placement.unwrap_or_else(|| panic!("{stored}"));
    assert_eq!(placement["predicates"], json!([{"groups": ["europe"]}]), "{placement}");
    assert_eq!(placement["numberOfClusters"], 2);
    assert_eq!(placement["tolerations"][0]["key"], "spot");
    let kept = server.run_cli(&["apply", "--name", "site", "-n", "shop", "-f", &file, "--spread", "region"]);
    assert!(kept.stderr.contains("would go to 2 of 5 clusters"), "a list alone keeps the selection: {kept}");
    let wrong = server.run_cli(&["apply", "--name", "site", "-f", &file, "--facts", "planet=mars"]);
    assert!(wrong.exit_code == 2 && wrong.stderr.contains("--facts"), "{wrong}");
}
