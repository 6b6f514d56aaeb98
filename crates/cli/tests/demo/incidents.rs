//! Incidents, by the command line.

use domain::IncidentId;

use super::WAIT_TIMEOUT;
use super::test_server::{TestServer, fixture_path, wait_until};

/// The open incidents of the workload `broken`.
fn open_incidents(server: &TestServer) -> Vec<serde_json::Value> {
    let page = server.run_cli_json(&["incidents", "list", "--workload", "broken", "-o", "json"]);
    page["items"].as_array().unwrap().clone()
}

#[test]
fn e12_an_incident_is_listed_with_its_cause_shown_and_acknowledged() {
    let server = TestServer::start_with_variable(("FLOTILLA_INCIDENT_DELAY_SECONDS", "1"));
    let none = server.run_cli(&["incidents", "--workload", "broken"]);
    assert_eq!(none.exit_code, 0, "{none}");
    assert!(none.to_string().contains("There is no open incident."), "{none}");

    let file = fixture_path("bad/image-does-not-exist.yaml");
    let applied =
        server.run_cli(&["apply", "-f", &file, "--name", "broken", "--clusters", "eu-west-1", "-n", "shop"]);
    assert_eq!(applied.exit_code, 0, "{applied}");
    server.run_cli(&["publish", "broken", "--wait", "--timeout", WAIT_TIMEOUT]);
    let mut found = None;
    wait_until("the image is an incident", || {
        let of_image = |one: &serde_json::Value| one["reason"] == "ImagePullFailed";
        found = open_incidents(&server).into_iter().find(of_image);
        found.is_some()
    });
    let found = found.unwrap();
    assert_eq!(found["clusters"], serde_json::json!(["eu-west-1"]), "{found}");
    assert!(found["acknowledgedBy"].is_null(), "{found}");
    let id = found["id"].as_str().unwrap();

    let listed = server.run_cli(&["incidents", "--workload", "broken"]);
    assert_eq!(listed.exit_code, 0, "{listed}");
    let row = listed.stdout.lines().find(|line| line.contains(id)).unwrap_or_default();
    for part in ["broken", "open", "eu-west-1", "registry.invalid/does-not-exist:1.0"] {
        assert!(row.contains(part), "{part}: {listed}");
    }
    let acknowledged = server.run_cli(&["incidents", "ack", id]);
    assert_eq!(acknowledged.exit_code, 0, "{acknowledged}");
    assert_eq!(acknowledged.stdout, format!("incident/{id} acknowledged by demo\n"));
    let details = server.run_cli_json(&["incidents", "get", id, "-o", "json"]);
    assert_eq!((&details["id"], &details["acknowledgedBy"]), (&id.into(), &"demo".into()), "{details}");
    let still_open: Vec<_> = open_incidents(&server).into_iter().filter(|one| one["id"] == id).collect();
    assert!(still_open.len() == 1 && still_open[0]["acknowledgedBy"] == "demo", "{still_open:?}");

    let unknown = server.run_cli(&["incidents", "ack", &IncidentId::from_parts(1, 1).to_string()]);
    assert!(unknown.exit_code == 1 && unknown.stderr.to_lowercase().contains("incident"), "{unknown}");
    assert_eq!(server.run_cli(&["incidents", "ack", "none"]).exit_code, 2);
}
