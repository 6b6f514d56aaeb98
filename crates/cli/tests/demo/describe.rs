//! `describe` of a workload, a cluster and a group, and a cluster that waits to join.

use domain::cluster::ClusterFacts;
use wire::AgentClient;
use wire::agent::{JoinTokenParts, RegisterRequest};

use super::WAIT_TIMEOUT;
use super::test_server::{TestServer, fixture_path, wait_until};

#[test]
fn e3_describe_shows_placement_with_reasons_overrides_objects_with_causes_and_events() {
    let server = TestServer::start_new();
    let file = fixture_path("bad/image-does-not-exist.yaml");
    let place = ["--clusters", "eu-west-1", "-n", "shop", "--policy", "deadline=30m"];
    server.run_cli(&[&["apply", "-f", &file, "--name", "broken"][..], &place[..]].concat());
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
    let words = |line: &str| line.split_whitespace().collect::<Vec<_>>().join(" ");
    let lines: Vec<String> = workload.stdout.lines().map(words).collect();
    for line in [
        "Approved skipped No approval is required.",
        "Applied done Every object is applied, in order.",
        "Confirmed pending Done when the cluster's confirmation is stored.",
    ] {
        assert!(lines.iter().any(|shown| shown == line), "{line}: {workload}");
    }
    let is_pull = |line: &&String| line.starts_with("Images pulled failed ");
    let pull = lines.iter().find(is_pull).cloned().unwrap_or_default();
    assert!(pull.contains("cannot pull image"), "why the stage failed: {workload}");
    let wide = server.run_cli(&["status", "broken", "-o", "wide"]);
    assert_eq!(wide.exit_code, 0, "{wide}");
    let row = wide.stdout.lines().find(|line| line.contains("eu-west-1")).map(words).unwrap_or_default();
    assert!(row.contains("Images pulled failed") && row.contains("cannot pull image"), "{wide}");
    assert!(wide.stdout.contains("STAGE DETAIL"), "{wide}");
    // Its deadline has not come: nothing is marked.
    let status = server.run_cli_json(&["status", "broken", "-o", "json"]);
    assert!(status["targetClusters"][0]["deadlineAt"].is_string(), "{status}");
    assert!(!wide.stdout.contains("past its deadline"), "{wide}");
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

/// The longest part of the text that begins with `start` and consists of characters of tokens and addresses.
fn find_word<'t>(text: &'t str, start: &str) -> &'t str {
    let rest = &text[text.find(start).unwrap()..];
    let is_other = |c: char| !c.is_ascii_alphanumeric() && !"_:/.-".contains(c);
    rest.split(is_other).next().unwrap()
}

/// Sends the registration of an agent for a cluster of this name, with the token and the address of its manifests. The request waits
/// for the decision in a thread.
fn register_agent(server: &TestServer, cluster: &str) {
    let install = server.run_cli(&["cluster", "install-manifest", cluster, "--namespaces", "shop"]);
    assert_eq!(install.exit_code, 0, "{install}");
    let token = find_word(&install.stdout, "flj_").to_owned();
    let hub = find_word(&install.stdout, "https://").to_owned();
    let authority = token.parse::<JoinTokenParts>().unwrap().authority;
    let request = RegisterRequest {
        token,
        name: cluster.to_owned(),
        csr: testkit::create_certificate_request(),
        facts: ClusterFacts { kubernetes_version: "v1.36.3".to_owned(), ..ClusterFacts::default() },
    };
    std::thread::spawn(move || {
        let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap();
        let client = AgentClient::new(&hub, wire::tls::pinned_config(&authority).unwrap()).unwrap();
        // An error if the server is stopped meanwhile.
        drop(runtime.block_on(client.register(&request)));
    });
}

#[test]
fn s0_16_a_cluster_that_waits_is_described_with_its_key_and_then_with_its_certificate_and_stages() {
    let server = TestServer::start_new();
    register_agent(&server, "edge-9");
    let describe = || server.run_cli(&["describe", "cluster", "edge-9"]);
    wait_until("the agent has registered", || describe().exit_code == 0);
    let pending = describe();
    for part in
        ["state:              pending: its agent waits to join", "v1.36.3", "flotilla cluster accept edge-9"]
    {
        assert!(pending.stdout.contains(part), "{part}: {pending}");
    }
    let waiting = server.run_cli_json(&["cluster", "get", "edge-9", "-o", "json"]);
    let key = waiting["fingerprint"].as_str().unwrap();
    assert!(waiting["state"] == "pending" && pending.stdout.contains(key), "{waiting}");
    let shown = server.run_cli(&["cluster", "get", "edge-9"]);
    assert!(shown.stderr.contains("Compare the key with the agent's log"), "{shown}");

    assert_eq!(server.run_cli(&["cluster", "accept", "edge-9"]).exit_code, 0);
    wait_until("the waiting request has got the certificate", || describe().stdout.contains("valid until"));
    let joined = describe();
    for part in [
        "certificate:        valid until ",
        "certificate key:    ",
        "joined:",
        "Key compared and accepted  done",
    ] {
        assert!(joined.stdout.contains(part), "{part}: {joined}");
    }
    assert!(joined.stdout.contains(key), "{joined}");
    let simulated = server.run_cli(&["describe", "cluster", "eu-west-1"]);
    assert!(
        !simulated.stdout.contains("certificate:") && !simulated.stdout.contains("joined:"),
        "{simulated}"
    );
}
