//! Values of Secrets that servers of earlier versions have stored, and that agents of earlier versions report.

use domain::event::{DriftDetail, EventDetail, EventSubject, NewEvent};
use domain::object::ObjectRef;
use domain::release::SyncStatus;
use domain::report::{DriftOutcome, DriftReport, DriftedField, ReleaseReport, ResourceStatus};
use serde_json::json;
use tokio_util::sync::CancellationToken;

use crate::test_hub::{TestHub, applied_report, everywhere};

/// How many rows have a value.
const CANARIES: &str = "SELECT (SELECT COUNT(*) FROM event WHERE message LIKE '%canary%' OR detail LIKE '%canary%') \
     + (SELECT COUNT(*) FROM release_resources WHERE resources LIKE '%canary%') \
     + (SELECT COUNT(*) FROM drift_item WHERE fields LIKE '%canary%') \
     + (SELECT COUNT(*) FROM release WHERE message LIKE '%canary%' OR stages LIKE '%canary%' OR health_detail LIKE '%canary%')";
/// What an API server answers to an apply with a number in place of a text.
const MESSAGE: &str = "failed to create typed patch object (shop/db; /v1, Kind=Secret): .stringData.pin: expected string, \
     got &value.valueUnstructured{Value:canary}";

fn secret() -> ObjectRef {
    ObjectRef {
        version: "v1".to_owned(),
        kind: "Secret".to_owned(),
        namespace: "shop".to_owned(),
        name: "db".to_owned(),
        ..ObjectRef::default()
    }
}

fn drifted() -> DriftedField {
    DriftedField {
        path: "/data/a".to_owned(),
        applied: Some(json!("canary-old")),
        live: Some(json!("canary-new")),
        manager: "kubectl".to_owned(),
        ..DriftedField::default()
    }
}

fn drifted_secret() -> ResourceStatus {
    ResourceStatus {
        object: secret(),
        applied: true,
        drifted: vec!["/data/a".to_owned()],
        drifted_fields: vec![drifted()],
        ..ResourceStatus::default()
    }
}

/// A text in a statement.
fn quote(text: &str) -> String {
    format!("'{}'", text.replace('\'', "''"))
}

#[tokio::test(flavor = "multi_thread")]
async fn values_of_secrets_that_earlier_versions_have_stored_are_redacted_after_an_update() {
    let mut test = TestHub::open().await;
    let mut east = test.register_cluster("east", &[]).await;
    test.publish_new("web", everywhere()).await;
    east.apply_release().await;
    test.stop_loops().await;
    let detail = EventDetail::Drift(DriftDetail {
        object: secret(),
        fields: vec!["/data/a".to_owned()],
        values: vec![drifted()],
        manager: "kubectl".to_owned(),
        outcome: DriftOutcome::Found,
        more: 0,
    });
    let event = NewEvent::from_detail(detail, "kubectl", EventSubject::default(), test.hub.clock().now());
    test.execute_sql(&format!(
        "INSERT INTO event (seq, created_at, kind, severity, workload_name, cluster_name, actor, message, detail) \
         VALUES (9001, 1, 'driftFound', 'warning', 'web', 'east', 'kubectl', {}, {})",
        quote(&event.message),
        quote(&serde_json::to_string(&event.detail).unwrap())
    ))
    .await;
    let resources = serde_json::to_string(&[drifted_secret()]).unwrap();
    test.execute_sql(&format!("UPDATE release_resources SET resources = {}", quote(&resources))).await;
    let break_message = format!("UPDATE release SET message = {}", quote(MESSAGE));
    test.execute_sql(&break_message).await;
    test.execute_sql("UPDATE setting SET value = '2' WHERE name = 'redaction'").await;
    assert_eq!(test.count(CANARIES).await, 3);

    let cancel = CancellationToken::new();
    let redact = async || Box::pin(test.hub.redact_stored_values(&cancel)).await.unwrap();
    redact().await;
    assert_eq!(test.count(CANARIES).await, 0);
    let events = test.hub.list_events_after(0, 500).await.unwrap();
    let stored = events.iter().find(|event| event.seq == 9_001).unwrap();
    assert!(stored.message.contains("/data/a changed by kubectl; it was not reverted."), "{stored:?}");
    let Some(EventDetail::Drift(drift)) = &stored.detail else { panic!("{stored:?}") };
    assert_eq!(drift.values[0].live, Some(json!("(hidden)")));
    let view = test.hub.get_release("web", "east").await.unwrap();
    assert_eq!(view.resources[0].drifted_fields[0].path, "/data/a");

    // Servers of the version before may run until the second pass. Then nothing is looked for any more.
    test.execute_sql(&break_message).await;
    redact().await;
    assert_eq!(test.count(CANARIES).await, 0);
    test.execute_sql(&break_message).await;
    redact().await;
    assert_eq!(test.count(CANARIES).await, 1);
    test.close().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn values_of_secrets_that_an_agent_of_an_earlier_version_reports_are_not_stored() {
    let mut test = TestHub::open().await;
    let mut east = test.register_cluster("east", &[]).await;
    test.publish_new("web", everywhere()).await;
    let desired = east.apply_release().await;
    test.stop_loops().await;
    let mut resource = drifted_secret();
    resource.causes = vec![MESSAGE.to_owned()];
    resource.health.message = MESSAGE.to_owned();
    let note = DriftReport {
        object: secret(),
        fields: vec!["/data/a".to_owned()],
        values: vec![drifted()],
        manager: "kubectl".to_owned(),
        outcome: DriftOutcome::Found,
        at: test.hub.clock().now(),
    };
    let report = ReleaseReport {
        sync: SyncStatus::Drifted,
        resources: vec![resource],
        drift: vec![note],
        ..applied_report(&desired)
    };
    assert!(east.send_report(report).await.accepted);
    assert_eq!(test.count(CANARIES).await, 0);
    assert_eq!(test.count("SELECT COUNT(*) FROM drift_item").await, 1);
    let view = test.hub.get_release("web", "east").await.unwrap();
    assert!(view.resources[0].health.message.ends_with("got &value.valueUnstructured…"), "{view:?}");
    let messages = test.event_messages().await;
    let is_told = |message: &&String| message.contains("/data/a changed by kubectl");
    let told = messages.iter().find(is_told).unwrap_or_else(|| panic!("{messages:?}"));
    assert!(!told.contains("canary"), "{told}");
    test.close().await;
}
