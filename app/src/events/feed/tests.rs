//! Tests of the entries.

use serde_json::{Value, json};

use domain::Timestamp;
use domain::event::Event;

use super::{FeedEntry, fold_events};

fn event(seconds: i64, kind: &str, cluster: &str, message: &str, detail: Value) -> Event {
    let mut event = json!({
        "seq": seconds, "at": Timestamp::from_millis(seconds * 1_000).to_string(), "kind": kind,
        "severity": "error", "actor": "flotilla", "workloadName": "shop", "clusterName": cluster,
        "message": message,
    });
    if !detail.is_null() {
        event["detail"] = detail;
    }
    serde_json::from_value(event).unwrap()
}

fn line(entry: &FeedEntry) -> String {
    format!("{} {} | {}", entry.subject, entry.text, entry.whole_detail())
}

#[test]
fn a_change_on_several_clusters_is_one_entry_with_from_and_to() {
    let state = |cluster: &str, at| {
        let detail =
            json!({"type": "releaseState", "from": "Progressing", "to": "Degraded", "message": "no image"});
        event(at, "releaseChanged", cluster, "shop on …", detail)
    };
    let events = [
        state("us-1", 99),
        state("eu-2", 98),
        event(97, "workloadEdited", "", "shop was edited.", Value::Null),
        state("eu-1", 96),
        state("eu-1", 10),
    ];
    let lines: Vec<String> = fold_events(&events).iter().map(line).collect();
    assert_eq!(
        lines,
        [
            "shop was edited | ",
            "shop Progressing → Degraded | eu-1, eu-2 and us-1 · no image",
            "shop Progressing → Degraded | eu-1 · no image",
        ]
    );
}

#[test]
fn drift_names_the_field_from_to_and_who_changed_it() {
    let object = json!({"version": "v1", "kind": "Deployment", "namespace": "shop", "name": "shop"});
    let detail = json!({"type": "drift", "object": object, "fields": ["/spec/replicas"], "manager": "kubectl-edit",
        "outcome": "healed", "values": [{"path": "/spec/replicas", "applied": 2, "live": 5}]});
    let drift = event(1, "driftHealed", "eu-1", "…", detail);
    assert_eq!(
        line(&fold_events(&[drift])[0]),
        "shop drift reverted | eu-1 · replicas 5 → 2 · changed by kubectl-edit"
    );
}

fn state(at: i64, cluster: &str, from: &str, to: &str) -> Event {
    event(at, "releaseChanged", cluster, "…", json!({"type": "releaseState", "from": from, "to": to}))
}

#[test]
fn a_publish_is_one_entry_with_its_outcome_and_a_later_failure_another_one() {
    let placement = json!({"type": "placement", "selected": 2, "total": 5});
    let mut placed = event(2, "placementDecided", "", "shop is placed on 2 of 5 clusters.", placement);
    placed.severity = domain::Severity::Note;
    let mut events = vec![
        event(
            1,
            "workloadPublished",
            "",
            "…",
            json!({"type": "published", "revision": 2, "message": "faster"}),
        ),
        placed,
        state(3, "eu-1", "Queued", "Progressing"),
        state(4, "eu-2", "Queued", "Progressing"),
        state(9, "eu-1", "Progressing", "Healthy"),
        state(15, "eu-2", "Progressing", "Healthy"),
        state(20, "eu-2", "Healthy", "Degraded"),
        state(24, "eu-2", "Degraded", "Healthy"),
    ];
    events.reverse();
    let entries = fold_events(&events);
    let lines: Vec<String> = entries.iter().map(line).collect();
    assert_eq!(
        lines,
        [
            "shop Healthy again after 4 s | eu-2",
            "shop r2 published | faster · healthy on 2 clusters after 14 s",
        ]
    );
    assert_eq!(entries[1].steps.len(), 6);
    assert_eq!(entries[1].steps[3].message, "eu-2 Queued → Progressing");
}

/// The events of a cluster that joins at this time, oldest first.
fn join(at: i64, cluster: &str) -> Vec<Event> {
    let of_cluster = |kind: &str, message: String, detail: Value| {
        let mut event = event(at, kind, cluster, &message, detail);
        event.workload_name.clear();
        event.severity = domain::Severity::Note;
        event
    };
    let online = json!({"type": "connectivity", "from": "Offline", "to": "Online"});
    let version = json!({"type": "kubernetesVersion", "to": "v1.33.4"});
    vec![
        of_cluster("clusterRegistered", format!("Cluster {cluster} was registered."), Value::Null),
        of_cluster("clusterConnectivity", format!("{cluster} is online."), online),
        of_cluster("clusterFacts", format!("{cluster} runs Kubernetes v1.33.4."), version),
    ]
}

#[test]
fn clusters_that_join_at_the_same_time_are_one_entry() {
    let lines = |events: &[Event]| {
        let newest_first: Vec<Event> = events.iter().rev().cloned().collect();
        fold_events(&newest_first).iter().map(line).collect::<Vec<_>>()
    };
    assert_eq!(lines(&join(1, "eu-1")), ["eu-1 joined | "]);
    let both = [join(1, "eu-1"), join(2, "eu-2")].concat();
    assert_eq!(lines(&both), [" 2 clusters joined | eu-1 and eu-2"]);
    // A later outage is another entry, and so is a cluster that joins later.
    let mut late = event(
        20,
        "clusterConnectivity",
        "eu-1",
        "eu-1 is late.",
        json!({"type": "connectivity", "from": "Online", "to": "Late"}),
    );
    late.workload_name.clear();
    let mut online = late.clone();
    online.seq = 30;
    online.at = Timestamp::from_millis(30_000);
    online.detail =
        serde_json::from_value(json!({"type": "connectivity", "from": "Late", "to": "Online"})).unwrap();
    let later = [both, vec![late, online], join(900, "us-1")].concat();
    assert_eq!(
        lines(&later),
        ["us-1 joined | ", "eu-1 was late for 10 s | ", " 2 clusters joined | eu-1 and eu-2"]
    );
}

#[test]
fn an_incident_names_its_workload_first_and_its_cause_beside_it() {
    let opened = event(
        1,
        "incidentOpened",
        "",
        "An incident was opened: shop fails on 2 clusters (eu-1, us-1). Container web cannot pull its image.",
        Value::Null,
    );
    let closed =
        event(9, "incidentClosed", "", "The incident was closed: shop recovered on 2 clusters.", Value::Null);
    let lines: Vec<String> = fold_events(&[closed, opened]).iter().map(line).collect();
    assert_eq!(
        lines,
        [
            "shop recovered on 2 clusters | incident closed",
            "shop fails on 2 clusters (eu-1, us-1) | incident opened · Container web cannot pull its image",
        ]
    );
}

#[test]
fn the_outage_of_a_cluster_is_one_entry() {
    let outage = |at, detail| {
        let mut event = event(at, "clusterConnectivity", "eu-1", "eu-1 is late.", detail);
        event.workload_name.clear();
        event
    };
    let events = [
        outage(40, json!({"type": "connectivity", "from": "Online", "to": "Late"})),
        outage(21, json!({"type": "apiServer", "responds": true})),
        outage(20, json!({"type": "connectivity", "from": "Offline", "to": "Online"})),
        outage(15, json!({"type": "connectivity", "from": "Late", "to": "Offline"})),
        outage(5, json!({"type": "apiServer", "responds": false, "message": "connection reset"})),
    ];
    let lines = |events: &[Event]| fold_events(events).iter().map(line).collect::<Vec<_>>();
    assert_eq!(lines(&events), ["eu-1 is late | ", "eu-1 was offline for 16 s | "]);
    assert_eq!(lines(&events[3..]), ["eu-1 is offline | connection reset"]);
}
