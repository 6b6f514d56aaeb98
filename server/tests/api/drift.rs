//! The drift inbox over REST: lists, decisions and who may make them.

use std::time::Duration;

use axum::http::{Method, StatusCode};
use domain::ClusterId;
use domain::health::Health;
use domain::object::ObjectRef;
use domain::release::{StageName, StageState, SyncStatus};
use domain::report::{
    DesiredPhase, DesiredRelease, DriftOutcome, DriftReport, DriftedField, FieldRevertOutcome,
    FieldRevertRequest, ReleaseReport, ReportBatch, ResourceStatus, StageReport,
};
use domain::role::Role;
use hub::Loops;
use serde_json::{Value, json};

use crate::roles::RoleUser;
use crate::test_server::{TestServer, WORKLOADS};

const DRIFT: &str = "/api/v1/drift";

/// A server with a workload on one cluster, whose agent the test simulates.
struct DriftServer {
    server: TestServer,
    cluster: ClusterId,
    incarnation: i64,
    seq: i64,
    desired: DesiredRelease,
    loops: Loops,
    /// Whether a report also has the drift as an event.
    has_events: bool,
    /// The answer to a revert of fields that a report has.
    answer: Option<FieldRevertOutcome>,
}

fn drifted(path: &str, applied: &str, live: &str) -> DriftedField {
    DriftedField {
        path: path.to_owned(),
        applied: Some(json!(applied)),
        live: Some(json!(live)),
        manager: "kubectl-edit".to_owned(),
        operation: "Update".to_owned(),
        ..DriftedField::default()
    }
}

impl DriftServer {
    async fn start() -> Self {
        let server = TestServer::start().await;
        let loops = server.hub.spawn_loops();
        server.register_cluster("eu-1", &[("env", "prod")]).await;
        server.create_workload("web").await;
        let published = server.post(&format!("{WORKLOADS}/web:publish"), &json!({})).await;
        assert_eq!(published.status, StatusCode::ACCEPTED, "{}", published.text);
        let cluster = server.hub.get_cluster("eu-1").await.unwrap().cluster.id;
        let incarnation = server.hub.begin_agent_incarnation(cluster).await.unwrap();
        server.hub.record_heartbeat(cluster).await.unwrap();
        let mut version = -1;
        let desired = loop {
            let state =
                server.hub.get_desired_state(cluster, version, Duration::from_secs(60)).await.unwrap();
            assert!(state.version > version, "the workload is not placed");
            version = state.version;
            if let Some(found) = state.releases.into_iter().next() {
                break found;
            }
        };
        Self { server, cluster, incarnation, seq: 0, desired, loops, has_events: false, answer: None }
    }

    /// Reports this object with these fields as drifted, and no other.
    async fn report(&mut self, kind: &str, fields: &[DriftedField]) {
        let DesiredPhase::Present { bundle, .. } = &self.desired.phase else { panic!() };
        let stages = StageName::ALL.iter().copied().filter(|name| name.is_reported_by_agent());
        let object = ObjectRef {
            version: "v1".to_owned(),
            kind: kind.to_owned(),
            namespace: "apps".to_owned(),
            name: "web".to_owned(),
            ..ObjectRef::default()
        };
        let event = self.has_events.then(|| DriftReport {
            object: object.clone(),
            fields: fields.iter().map(|field| field.path.clone()).collect(),
            values: fields.to_vec(),
            manager: "kubectl-edit".to_owned(),
            outcome: DriftOutcome::Found,
            at: self.server.hub.clock().now(),
        });
        let report = ReleaseReport {
            release: self.desired.release,
            generation: self.desired.generation,
            applied: Some(bundle.clone()),
            stages: stages.map(|name| StageReport { name, state: StageState::Done }).collect(),
            sync: if fields.is_empty() { SyncStatus::Synced } else { SyncStatus::Drifted },
            health: Health::healthy(),
            resources: vec![ResourceStatus {
                object,
                applied: true,
                drifted: fields.iter().map(|field| field.path.clone()).collect(),
                drifted_fields: fields.to_vec(),
                field_revert: self.answer.clone(),
                ..ResourceStatus::default()
            }],
            drift: event.into_iter().collect(),
            drift_omitted: 0,
            removed: false,
        };
        self.seq += 1;
        let batch = ReportBatch {
            incarnation: self.incarnation,
            seq: self.seq,
            facts: None,
            schema: None,
            leftovers: None,
            releases: vec![report],
        };
        assert!(self.server.hub.record_reports(self.cluster, batch).await.unwrap().accepted);
    }

    /// The reverts of fields that the agent is asked for.
    async fn field_reverts(&self) -> Vec<FieldRevertRequest> {
        let hub = &self.server.hub;
        hub.get_desired_state(self.cluster, -1, Duration::ZERO).await.unwrap().field_reverts
    }

    /// The only entry of the inbox.
    async fn entry(&self) -> Value {
        let page = self.server.get(DRIFT).await;
        assert_eq!((page.status, &page.json()["total"]), (StatusCode::OK, &json!(1)), "{}", page.text);
        page.json()["items"][0].clone()
    }

    /// The address of a verb of an entry.
    fn verb(entry: &Value, verb: &str) -> String {
        format!("{DRIFT}/{}:{verb}", entry["id"].as_str().unwrap())
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn e9_an_entry_has_three_values_who_changed_them_and_what_can_be_done() {
    let mut drift = DriftServer::start().await;
    drift.report("ConfigMap", &[drifted("/data/key", "value", "other")]).await;
    let entry = drift.entry().await;
    assert_eq!((&entry["workload"], &entry["cluster"]), (&json!("web"), &json!("eu-1")));
    assert_eq!((&entry["policy"], &entry["contested"]), (&json!("revert"), &json!(false)));
    let field = &entry["fields"][0];
    let values = [&field["applied"], &field["live"], &field["desired"]];
    assert_eq!(values, [&json!("value"), &json!("other"), &json!("value")]);
    assert_eq!((&field["manager"], &field["operation"]), (&json!("kubectl-edit"), &json!("Update")));
    let can: Vec<&str> =
        entry["can"].as_array().unwrap().iter().map(|one| one["verb"].as_str().unwrap()).collect();
    assert_eq!(can, ["revert", "adoptBase", "adoptOverride", "ignore", "snooze"]);
    let one = drift.server.get(&format!("{DRIFT}/{}", entry["id"].as_str().unwrap())).await;
    assert_eq!((one.status, one.json()), (StatusCode::OK, entry));

    for (query, total) in
        [("workload=web", 1), ("workload=api", 0), ("cluster=eu-2", 0), ("state=snoozed", 0)]
    {
        let page = drift.server.get(&format!("{DRIFT}?{query}")).await;
        assert_eq!(page.json()["total"], total, "{query}");
    }
    for (query, status) in [("state=closed", 400), ("limit=0", 400), ("owner=ana", 400), ("cursor=zz", 422)] {
        let page = drift.server.get(&format!("{DRIFT}?{query}")).await;
        assert_eq!(page.problem().0, status, "{query}");
    }
    assert_eq!(drift.server.get(&format!("{DRIFT}/x")).await.problem(), (404, "NotFound".to_owned()));
    drift.loops.stop().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn e9_ten_thousand_drifted_fields_are_listed_in_part_with_their_number() {
    let mut drift = DriftServer::start().await;
    let fields: Vec<DriftedField> =
        (0..10_000).map(|n| drifted(&format!("/data/k{n}"), "value", &"x".repeat(500))).collect();
    drift.report("ConfigMap", &fields).await;
    let page = drift.server.get(DRIFT).await;
    let entry = page.json()["items"][0].clone();
    assert_eq!((&entry["fieldCount"], entry["fields"].as_array().unwrap().len()), (&json!(10_000), 5));
    assert!(page.text.len() < 20_000, "{}", page.text.len());
    let one = drift.server.get(&format!("{DRIFT}/{}", entry["id"].as_str().unwrap())).await;
    assert_eq!(one.json()["fields"].as_array().unwrap().len(), 49, "as many as the report may have");
    drift.loops.stop().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn e9_an_adoption_needs_the_version_that_was_read_and_publishes_nothing() {
    let mut drift = DriftServer::start().await;
    drift.report("ConfigMap", &[drifted("/data/key", "value", "other")]).await;
    let entry = drift.entry().await;
    let adopt = DriftServer::verb(&entry, "adopt");
    let body = json!({"into": "base", "fields": ["/data/key"], "digest": entry["digest"]});
    let server = &drift.server;
    let blind = server.send_json(Method::POST, &adopt, &[], &body).await;
    assert_eq!(blind.problem(), (428, "PreconditionRequired".to_owned()));
    let stale = server.send_json(Method::POST, &adopt, &[("if-match", "\"999\"")], &body).await;
    assert_eq!(stale.problem(), (412, "RevisionConflict".to_owned()));
    let version = format!("\"{}\"", entry["workloadVersion"]);
    let headers = [("if-match", version.as_str()), ("idempotency-key", "k-1")];
    let adopted = server.send_json(Method::POST, &adopt, &headers, &body).await;
    assert_eq!(adopted.status, StatusCode::OK, "{}", adopted.text);
    let workload = adopted.json();
    let text = workload["draft"]["source"]["files"][0]["text"].as_str().unwrap();
    assert!(text.contains("key: other"), "{text}");
    assert_eq!((&workload["published"], &workload["draftChanged"]), (&json!(1), &json!(true)));
    let again = server.send_json(Method::POST, &adopt, &headers, &body).await;
    assert_eq!((again.header("idempotency-replayed"), again.json()), ("true", workload.clone()));
    assert_eq!(again.header("etag"), adopted.header("etag"));
    let audit = drift.server.get("/api/v1/audit?action=edit&limit=1").await;
    assert_eq!(audit.json()["items"][0]["outcome"], "succeeded", "{}", audit.text);

    // A field that was not reported, and a field of the request that does not exist.
    for (body, status) in [
        (json!({"into": "base", "fields": ["/data/none"]}), StatusCode::CONFLICT),
        (json!({"into": "base", "field": "/data/key"}), StatusCode::BAD_REQUEST),
        (json!({}), StatusCode::BAD_REQUEST),
    ] {
        let refused = drift.server.send_json(Method::POST, &adopt, &[("if-match", "*")], &body).await;
        assert_eq!(refused.status, status, "{}", refused.text);
    }
    drift.loops.stop().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn e9_a_snoozed_entry_leaves_the_open_ones_until_it_is_shown_again() {
    let mut drift = DriftServer::start().await;
    drift.report("ConfigMap", &[drifted("/data/key", "value", "other")]).await;
    let entry = drift.entry().await;
    let snooze = DriftServer::verb(&entry, "snooze");
    let until = drift.server.hub.clock().now().plus_millis(3_600_000).to_string();
    let snoozed = drift.server.post(&snooze, &json!({"until": until, "digest": entry["digest"]})).await;
    assert_eq!((snoozed.status, &snoozed.json()["state"]), (StatusCode::OK, &json!("snoozed")));
    let open = async || drift.server.get(&format!("{DRIFT}?state=open")).await.json()["total"].clone();
    assert_eq!(open().await, 0);
    let late = drift.server.post(&snooze, &json!({"until": "2999-01-01T00:00:00Z"})).await;
    assert_eq!(late.status, StatusCode::UNPROCESSABLE_ENTITY, "{}", late.text);
    assert!(late.text.contains("30 days"), "{}", late.text);
    let shown = drift.server.post(&snooze, &json!({"until": null})).await;
    assert_eq!((shown.status, &shown.json()["state"]), (StatusCode::OK, &json!("open")));
    assert_eq!(open().await, 1);
    drift.loops.stop().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn e9_a_revert_is_accepted_and_an_ignored_field_is_a_rule_of_the_draft() {
    let mut drift = DriftServer::start().await;
    drift.report("ConfigMap", &[drifted("/data/key", "value", "other")]).await;
    let entry = drift.entry().await;
    let reverted = drift.server.post(&DriftServer::verb(&entry, "revert"), &json!({})).await;
    assert_eq!(reverted.status, StatusCode::ACCEPTED, "{}", reverted.text);
    let operations = drift.server.get(&format!("{WORKLOADS}/web/operations")).await.json();
    assert_eq!(operations["items"][0]["kind"], "sync", "{operations}");
    let ignored = drift.server.post(&DriftServer::verb(&entry, "ignore"), &json!({})).await;
    assert_eq!(ignored.status, StatusCode::OK, "{}", ignored.text);
    assert_eq!(ignored.json()["draft"]["policies"]["ignore"][0]["paths"], json!(["/data/key"]));
    drift.loops.stop().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn e9_a_revert_of_one_field_is_sent_to_the_agent_and_shown_until_it_has_succeeded() {
    let mut drift = DriftServer::start().await;
    let fields = [drifted("/data/key", "value", "other"), drifted("/data/mode", "fast", "slow")];
    drift.report("ConfigMap", &fields).await;
    let entry = drift.entry().await;
    let revert = DriftServer::verb(&entry, "revertFields");
    for (body, status) in [
        (json!({"fields": ["/data/none"]}), StatusCode::CONFLICT),
        (
            json!({"fields": ["/data/key"], "digest": format!("sha256:{}", "0".repeat(64))}),
            StatusCode::CONFLICT,
        ),
        (json!({"field": "/data/key"}), StatusCode::BAD_REQUEST),
    ] {
        let refused = drift.server.post(&revert, &body).await;
        assert_eq!(refused.status, status, "{body}: {}", refused.text);
    }
    assert_eq!(drift.field_reverts().await, []);
    let body = json!({"fields": ["/data/key"], "digest": entry["digest"]});
    let accepted = drift.server.post(&revert, &body).await;
    assert_eq!(accepted.status, StatusCode::ACCEPTED, "{}", accepted.text);
    assert_eq!(accepted.json()["revert"]["paths"], json!(["/data/key"]));
    let asked = drift.field_reverts().await;
    assert_eq!((asked.len(), asked[0].release), (1, drift.desired.release));
    assert_eq!((asked[0].object.name.as_str(), &asked[0].paths[..]), ("web", &["/data/key".to_owned()][..]));

    // The agent refuses it: the entry says why, and the agent is not asked again.
    let error = Some("It can't be reverted alone.".to_owned());
    drift.answer = Some(FieldRevertOutcome { id: asked[0].id.clone(), error });
    drift.report("ConfigMap", &fields).await;
    assert_eq!(drift.entry().await["revert"]["error"], "It can't be reverted alone.");
    assert_eq!(drift.field_reverts().await, []);

    // It is requested again, and succeeds: the rest of the entry stays.
    assert_eq!(drift.server.post(&revert, &body).await.status, StatusCode::ACCEPTED);
    assert_eq!(drift.entry().await["revert"]["error"], Value::Null);
    let again = drift.field_reverts().await;
    assert_ne!(again[0].id, asked[0].id);
    drift.answer = Some(FieldRevertOutcome { id: again[0].id.clone(), error: None });
    drift.report("ConfigMap", &fields[1..]).await;
    let left = drift.entry().await;
    assert_eq!((&left["id"], &left["revert"], &left["fieldCount"]), (&entry["id"], &Value::Null, &json!(1)));
    assert_eq!(drift.field_reverts().await, []);
    let operations = drift.server.get(&format!("{WORKLOADS}/web/operations")).await.json();
    let is_sync = |one: &Value| one["kind"] == "sync";
    assert!(
        !operations["items"].as_array().unwrap().iter().any(is_sync),
        "nothing else is applied: {operations}"
    );
    let events = drift.server.get("/api/v1/events").await;
    assert!(events.text.contains("A revert of /data/key"), "{}", events.text);
    drift.loops.stop().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn s2_11_a_revert_of_one_field_waits_while_the_workload_is_suspended() {
    let mut drift = DriftServer::start().await;
    drift.report("ConfigMap", &[drifted("/data/key", "value", "other")]).await;
    let revert = DriftServer::verb(&drift.entry().await, "revertFields");
    let accepted = drift.server.post(&revert, &json!({"fields": ["/data/key"]})).await;
    assert_eq!(accepted.status, StatusCode::ACCEPTED, "{}", accepted.text);
    let web = format!("{WORKLOADS}/web");
    let suspended = drift.server.post(&format!("{web}:suspend"), &json!({"reason": "handover"})).await;
    assert_eq!(suspended.status, StatusCode::OK, "{}", suspended.text);
    assert_eq!(drift.field_reverts().await, []);
    let refused = drift.server.post(&revert, &json!({"fields": ["/data/key"]})).await;
    assert_eq!(refused.status, StatusCode::CONFLICT, "{}", refused.text);
    assert!(refused.text.contains("handover"), "{}", refused.text);
    assert_eq!(drift.server.post(&format!("{web}:resume"), &json!({})).await.status, StatusCode::OK);
    assert_eq!(drift.field_reverts().await.len(), 1);
    drift.loops.stop().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn p2_a_decision_about_drift_whose_response_is_lost_is_made_once_and_its_response_repeated() {
    let mut drift = DriftServer::start().await;
    drift.report("ConfigMap", &[drifted("/data/key", "value", "other")]).await;
    let entry = drift.entry().await;
    let until = drift.server.hub.clock().now().plus_millis(3_600_000).to_string();
    for (verb, body) in [
        ("adopt", json!({"into": "base"})),
        ("ignore", json!({})),
        ("snooze", json!({"until": until})),
        ("revertFields", json!({"fields": ["/data/key"]})),
        ("revert", json!({})),
    ] {
        let key = format!("lost-drift-{verb}");
        let headers = [("idempotency-key", key.as_str()), ("if-match", "*")];
        let path = DriftServer::verb(&entry, verb);
        let send = async || drift.server.send_json(Method::POST, &path, &headers, &body).await;
        hub::arm_lost_response(&key);
        let first = send().await;
        assert!(first.status.is_success(), "{verb}: {} {}", first.status, first.text);
        assert!(!hub::loses_response(&key), "{verb}: the response was not lost");
        let again = send().await;
        assert_eq!(again.header("idempotency-replayed"), "true", "{verb}: {} {}", again.status, again.text);
        assert_eq!((again.status, again.json()), (first.status, first.json()), "{verb}");
        assert_eq!(again.header("etag"), first.header("etag"), "{verb}");
    }
    drift.loops.stop().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn e9_a_viewer_sees_no_value_of_a_secret_and_decides_nothing() {
    let mut drift = DriftServer::start().await;
    let fields = [
        drifted("/data/dbPassword", "canary-applied", "canary-live"),
        drifted("/data/key", "value", "other"),
    ];
    drift.report("ConfigMap", &fields).await;
    let viewer = RoleUser::create(&drift.server, Role::Viewer).await;
    let seen = viewer.send(&drift.server, &Method::GET, DRIFT, "").await;
    assert!(!seen.text.contains("canary") && seen.text.contains("other"), "{}", seen.text);
    let entry = seen.json()["items"][0].clone();
    for one in entry["can"].as_array().unwrap() {
        assert!(one["unavailable"].as_str().unwrap().contains("you need the role"), "{one}");
    }
    for verb in ["revert", "revertFields", "adopt", "ignore", "snooze"] {
        let refused = viewer.send(&drift.server, &Method::POST, &DriftServer::verb(&entry, verb), "{}").await;
        assert_eq!(refused.problem(), (403, "Forbidden".to_owned()), "{verb}");
    }
    let editor = RoleUser::create(&drift.server, Role::Editor).await;
    let seen = editor.send(&drift.server, &Method::GET, DRIFT, "").await;
    assert!(seen.text.contains("canary-live"), "who may write it sees it: {}", seen.text);
    let revert = DriftServer::verb(&entry, "revertFields");
    let refused = editor.send(&drift.server, &Method::POST, &revert, "{}").await;
    assert_eq!(refused.problem(), (403, "Forbidden".to_owned()), "it is a change on a cluster, as a publish");

    // What is a Secret, or the manifest of one, is shown to nobody, whatever an agent reports.
    let manifest = "kind: Secret\ndata: {a: canary-live}";
    for (kind, fields) in [
        ("Secret", [drifted("/data/key", "canary-applied", "canary-live")]),
        ("ConfigMap", [drifted("/data/all.yaml", "value", manifest)]),
    ] {
        drift.report(kind, &fields).await;
        let seen = drift.server.get(DRIFT).await;
        assert!(!seen.text.contains("canary") && seen.text.contains("(hidden)"), "{}", seen.text);
    }
    drift.loops.stop().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn e9_a_viewer_reads_no_drifted_secret_in_a_release_or_an_event_and_no_digest_of_one() {
    let mut drift = DriftServer::start().await;
    drift.has_events = true;
    let fields = [
        drifted("/data/dbPassword", "canary-applied", "canary-live"),
        drifted("/data/key", "value", "other"),
    ];
    drift.report("ConfigMap", &fields).await;
    let viewer = RoleUser::create(&drift.server, Role::Viewer).await;
    let editor = RoleUser::create(&drift.server, Role::Editor).await;
    let release = format!("{WORKLOADS}/web/releases/eu-1");
    let seen = viewer.send(&drift.server, &Method::GET, &release, "").await;
    assert!(!seen.text.contains("canary") && seen.text.contains("other"), "{}", seen.text);
    let seen = editor.send(&drift.server, &Method::GET, &release, "").await;
    assert!(seen.text.contains("canary-live"), "who may write it sees it: {}", seen.text);
    let page = "/api/fn/releases_read?name=web&group=&open=eu-1";
    let seen = viewer.call(&drift.server, &Method::GET, page).await;
    assert_eq!(seen.status, StatusCode::OK, "{}", seen.text);
    assert!(!seen.text.contains("canary") && seen.text.contains("/data/dbPassword"), "{}", seen.text);

    // An event is stored once for all of its readers.
    let events = drift.server.get("/api/v1/events").await;
    assert!(events.text.contains("/data/key value \u{2192} other"), "{}", events.text);
    assert!(events.text.contains("/data/dbPassword") && !events.text.contains("canary"), "{}", events.text);

    let shown = viewer.send(&drift.server, &Method::GET, DRIFT, "").await.json();
    let decided = drift.entry().await;
    assert_ne!(shown["items"][0]["digest"], decided["digest"], "values can be tried until it is theirs");
    drift.loops.stop().await;
}
