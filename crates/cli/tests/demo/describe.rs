//! `describe` of a workload, a cluster and a group, and a cluster that waits to join.

use domain::cluster::ClusterFacts;
use wire::AgentClient;
use wire::agent::{JoinTokenParts, RegisterRequest, RegisterResponse};

use super::WAIT_TIMEOUT;
use super::test_server::{TestServer, fixture_path, wait_until};

/// A request for a certificate, of which the hub uses the public key.
const CERTIFICATE_REQUEST: &str = "-----BEGIN CERTIFICATE REQUEST-----
MIHLMHMCAQAwETEPMA0GA1UEAwwGZWRnZS05MFkwEwYHKoZIzj0CAQYIKoZIzj0D
AQcDQgAEDWHCBowMJjDmFYiNKhTpJnbC2mLr84fiu7ma/thThOxpflaACvMsK3MW
Ze2AxZNxitukmPxO6oCFvyElnSaxOaAAMAoGCCqGSM49BAMCA0gAMEUCIBb63W2j
XE4bys9RNav9irAd19no6djg6L/D1aIRcDx1AiEArucaF2fEcBJCw2AzuwNcQAdo
oQqXJS8rseVBMCcPP0k=
-----END CERTIFICATE REQUEST-----
";

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

/// Registers an agent for a cluster, in a thread that ends when a user has decided; whether it was accepted.
fn register(server: &TestServer, cluster: &str) -> std::thread::JoinHandle<bool> {
    let created = server.run_cli_json(&["cluster", "token", "create", "--name", cluster, "-o", "json"]);
    let text = |field: &str| created[field].as_str().unwrap().to_owned();
    let (hub, token) = (text("hub"), text("token"));
    let authority = token.parse::<JoinTokenParts>().unwrap().authority;
    let request = RegisterRequest {
        token,
        name: cluster.to_owned(),
        csr: CERTIFICATE_REQUEST.to_owned(),
        facts: ClusterFacts { kubernetes_version: "v1.36.3".to_owned(), ..ClusterFacts::default() },
    };
    std::thread::spawn(move || {
        let tls = wire::tls::pinned_config(&authority).unwrap();
        let client = AgentClient::new(&hub, tls).unwrap();
        let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap();
        runtime.block_on(async {
            loop {
                match client.register(&request).await {
                    Ok(RegisterResponse::Pending { .. }) => {}
                    decided => return decided.is_ok(),
                }
            }
        })
    })
}

#[test]
fn a_cluster_that_waits_to_join_is_shown_with_its_key_and_the_command_that_accepts_it() {
    let server = TestServer::start_new();
    let agent = register(&server, "edge-9");
    wait_until("the agent waits to join", || server.run_cli(&["cluster", "get", "edge-9"]).exit_code == 0);
    let shown = server.run_cli(&["cluster", "get", "edge-9"]);
    let document = server.run_cli_json(&["cluster", "get", "edge-9", "-o", "json"]);
    let key = document["fingerprint"].as_str().unwrap();
    for part in ["pending: its agent waits to join", key, "v1.36.3"] {
        assert!(shown.stdout.contains(part), "{part}: {shown}");
    }
    assert!(shown.stderr.contains("flotilla cluster accept edge-9"), "{shown}");
    let described = server.run_cli(&["describe", "cluster", "edge-9"]);
    assert_eq!(described.exit_code, 0, "{described}");
    for part in ["pending: its agent waits to join", key, "flotilla cluster accept edge-9"] {
        assert!(described.stdout.contains(part), "{part}: {described}");
    }
    let rejected = server.run_cli(&["cluster", "reject", "edge-9", "--yes"]);
    assert_eq!(rejected.exit_code, 0, "{rejected}");
    assert!(!agent.join().unwrap(), "a rejected agent gets no certificate");
    assert_eq!(server.run_cli(&["cluster", "get", "edge-9"]).exit_code, 1, "it is no longer pending");
}
