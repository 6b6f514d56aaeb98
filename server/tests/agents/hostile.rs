//! An agent whose credential was stolen: whatever it reports, it harms its own cluster only, and that one recovers.

use domain::event::{Event, EventKind, MAX_DETAIL_BYTES, MAX_MESSAGE_BYTES};
use domain::report::limits::serialized_length;
use domain::request::EventQuery;
use serde_json::{Value, json};

use crate::raw_agent::{RawAgent, operational_report};
use crate::test_server::{TestServer, wait_until};

/// The most releases of one batch, and the most notes of one release that become events.
const MAX_RELEASES: usize = 4_000;
const MAX_DRIFT_NOTES: usize = 10;

fn batch(incarnation: i64, seq: i64, releases: &[Value]) -> Value {
    json!({"incarnation": incarnation, "seq": seq, "releases": releases})
}

/// An agent of a cluster with one release, and the report that this release is complete.
async fn join_with_release(server: &TestServer) -> (RawAgent, Value) {
    let token = server.create_auto_accept_token().await;
    let agent = RawAgent::join(server, "eu", &token).await;
    server.publish("web", "1", &["eu"]).await;
    let (desired, bundle) = agent.wait_for_release().await;
    (agent, operational_report(&desired, &bundle))
}

async fn list_drift_events(server: &TestServer) -> Vec<Event> {
    let events = server.hub.list_events_after(0, 500).await.unwrap();
    let is_drift = |event: &Event| matches!(event.kind, EventKind::DriftFound | EventKind::DriftHealed);
    events.into_iter().filter(is_drift).collect()
}

#[tokio::test(flavor = "multi_thread")]
async fn p9_a_report_with_a_forged_position_is_rejected_and_the_cluster_continues() {
    let server = TestServer::open().await;
    let token = server.create_auto_accept_token().await;
    let agent = RawAgent::join(&server, "eu", &token).await;
    let first = agent.start_session().await;
    for (incarnation, seq) in [(i64::MAX, 1 << 40), (first + 1, 1), (first, i64::MAX), (first, 1 << 40)] {
        let refused = agent.send("reports", &batch(incarnation, seq, &[])).await;
        let answer = (refused.status, refused.body["code"].as_str().unwrap_or_default());
        assert_eq!(answer, (409, "SessionUnknown"), "{incarnation} {seq}: {refused:?}");
    }
    let next = agent.start_session().await;
    assert_eq!(next, first + 1);
    assert_eq!(agent.post("reports", &batch(next, 1, &[])).await["accepted"], true);

    // The same after the agent was removed and another joined.
    server.hub.revoke_cluster(&server.actor, "eu").await.unwrap();
    assert_eq!(agent.send("reports", &batch(next, 2, &[])).await.status, 401);
    let accept = wait_until("the agent that joins again is accepted", async || {
        server.hub.accept_cluster(&server.actor, "eu", None).await.is_ok()
    });
    let (agent, ()) = tokio::join!(RawAgent::join(&server, "eu", &token), accept);
    let late = agent.post("reports", &batch(next, 2, &[])).await;
    assert_eq!(late["accepted"], false, "the new agent has not started a session");
    let begun = agent.start_session().await;
    assert!(begun > next);
    assert_eq!(agent.post("reports", &batch(begun, 1, &[])).await["accepted"], true);
}

#[tokio::test(flavor = "multi_thread")]
async fn p19_a_batch_counts_once_per_release_and_one_with_too_many_entries_is_rejected() {
    let server = TestServer::open().await;
    let (agent, report) = join_with_release(&server).await;
    let incarnation = agent.start_session().await;
    let refused = agent.send("reports", &batch(incarnation, 1, &vec![json!({}); 80_000])).await;
    assert_eq!(refused.status, 400, "an entry has to be a report");
    let mut small = report.clone();
    for field in ["stages", "resources"] {
        small[field] = json!([]);
    }
    let refused = agent.send("reports", &batch(incarnation, 1, &vec![small.clone(); 10_000])).await;
    assert_eq!((refused.status, &refused.body["code"]), (422, &json!("Invalid")), "{refused:?}");
    let message = refused.body["findings"][0]["message"].as_str().unwrap();
    assert!(message.contains("10000") && message.contains("4000"), "{message}");

    // The last entry of a release counts; the drift of the others is not recorded.
    let note = json!({"object": {"version": "v1", "kind": "ConfigMap", "namespace": "default", "name": "web"},
        "fields": ["/data"], "manager": "kubectl", "outcome": "healed", "at": "2026-01-01T00:00:00Z"});
    let mut other = small.clone();
    other["drift"] = json!([note]);
    other["health"] = json!({"status": "Degraded"});
    let mut entries = vec![other; MAX_RELEASES - 1];
    entries.push(report);
    assert_eq!(agent.post("reports", &batch(incarnation, 1, &entries)).await["accepted"], true);
    server.wait_for_state("web", "eu", domain::release::ReleaseState::Healthy).await;
    assert_eq!(list_drift_events(&server).await.len(), 0);
}

#[tokio::test(flavor = "multi_thread")]
async fn p19_many_drift_notes_become_few_events_and_the_last_one_counts_the_rest() {
    let server = TestServer::open().await;
    let (agent, mut report) = join_with_release(&server).await;
    let incarnation = agent.start_session().await;
    let note = json!({"object": {"version": "v1", "kind": "ConfigMap", "namespace": "default", "name": "web"},
        "fields": ["/data"], "manager": "m".repeat(4 * 1024 * 1024), "outcome": "healed", "at": "2026-01-01T00:00:00Z"});
    let mut short = note.clone();
    short["manager"] = json!("kubectl");
    let mut notes = vec![short; 9_999];
    notes.insert(0, note);
    report["drift"] = json!(notes);
    assert_eq!(agent.post("reports", &batch(incarnation, 1, &[report])).await["accepted"], true);
    let events = list_drift_events(&server).await;
    assert_eq!(events.len(), MAX_DRIFT_NOTES);
    assert!(events.iter().all(|event| event.message.len() < 2_000 && event.actor.len() <= 512));
    let last = events.iter().map(|event| event.message.as_str()).find(|message| message.contains("more"));
    assert!(last.is_some_and(|message| message.contains("9990 more")), "{events:?}");
}

#[tokio::test(flavor = "multi_thread")]
async fn p19_long_drift_is_cut_in_its_events_and_a_list_of_many_of_them_has_several_pages() {
    const BATCHES: i64 = 8;
    let server = TestServer::open().await;
    let (agent, report) = join_with_release(&server).await;
    let incarnation = agent.start_session().await;
    let field = |number: usize| {
        json!({"path": format!("/data/{number}{}", "p".repeat(400)), "applied": vec![0; 300], "live": "l".repeat(1_000),
            "manager": "m".repeat(400)})
    };
    let values: Vec<Value> = (0..80).map(field).collect();
    let fields: Vec<&Value> = values.iter().map(|value| &value["path"]).collect();
    let note = json!({"object": {"version": "v1", "kind": "ConfigMap", "namespace": "default", "name": "web"},
        "fields": fields, "values": values, "manager": "kubectl", "outcome": "found", "at": "2026-01-01T00:00:00Z"});
    let mut drifted = report;
    drifted["drift"] = json!(vec![note; MAX_DRIFT_NOTES]);
    for seq in 1..=BATCHES {
        assert_eq!(
            agent.post("reports", &batch(incarnation, seq, std::slice::from_ref(&drifted))).await["accepted"],
            true
        );
    }
    let mut query = EventQuery { limit: Some(500), ..EventQuery::default() };
    let (mut found, mut pages) = (Vec::new(), 0);
    loop {
        let page = server.hub.list_events(&query).await.unwrap();
        found.extend(page.events.into_iter().filter(|event| event.kind == EventKind::DriftFound));
        pages += 1;
        query.before = page.next;
        if page.next.is_none() {
            break;
        }
    }
    assert_eq!(found.len(), usize::try_from(BATCHES).unwrap() * MAX_DRIFT_NOTES);
    assert!(pages > 1, "{pages} pages");
    for event in &found {
        assert!(
            serialized_length(&event.detail) <= MAX_DETAIL_BYTES && event.message.len() <= MAX_MESSAGE_BYTES
        );
        let Some(domain::event::EventDetail::Drift(drift)) = &event.detail else { panic!("{event:?}") };
        let counted = format!("… {} more", 80 - (drift.fields.len() - 1));
        assert_eq!(drift.fields.last(), Some(&counted));
        assert_eq!(drift.values.last().map(|field| &field.path), Some(&counted));
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn p19_long_lists_and_texts_of_a_report_are_truncated_with_a_mark() {
    let server = TestServer::open().await;
    let (agent, mut report) = join_with_release(&server).await;
    let incarnation = agent.start_session().await;
    let resource = |at: usize| {
        json!({"ordinal": at, "object": {"version": "v1", "kind": "ConfigMap", "name": format!("c{at}")},
            "applied": true, "health": {"status": "Healthy"}})
    };
    report["resources"] = (0..10_000).map(resource).collect();
    report["resources"][0]["causes"] = json!(vec!["ä".repeat(10_000); 100]);
    report["resources"][0]["health"]["message"] = json!("ö".repeat(1024 * 1024));
    assert_eq!(agent.post("reports", &batch(incarnation, 1, &[report])).await["accepted"], true);
    let release = server.hub.get_release("web", "eu").await.unwrap();
    assert_eq!(release.resources.len(), 2_000);
    assert_eq!(release.resources[1_999].object.name, "… 8001 more");
    let causes = &release.resources[0].causes;
    assert_eq!(causes.last().map(String::as_str), Some("… 81 more"));
    let first = &causes[0];
    assert!(first.ends_with('…') && first.len() <= 4_096, "{}", first.len());
    let message = &release.resources[0].health.message;
    assert!(message.ends_with('…') && message.len() <= 4_096, "{}", message.len());

    let zones: Vec<String> = (0..100_000).map(|at| format!("zone-{at}")).collect();
    let facts = json!({"kubernetesVersion": "v1.33.4", "zones": zones});
    let body = json!({"incarnation": incarnation, "seq": 2, "facts": facts, "releases": []});
    assert_eq!(agent.post("reports", &body).await["accepted"], true);
    let zones = server.hub.get_cluster("eu").await.unwrap().cluster.facts.zones;
    assert_eq!((zones.len(), zones.last().map(String::as_str)), (100, Some("… 99901 more")));
}

#[tokio::test(flavor = "multi_thread")]
async fn p20_an_agent_that_reports_without_pause_is_slowed_down_and_others_are_not() {
    let server = TestServer::open().await;
    let token = server.create_auto_accept_token().await;
    let busy = RawAgent::join(&server, "eu", &token).await;
    let other = RawAgent::join(&server, "us", &token).await;
    let (incarnation, others) = (busy.start_session().await, other.start_session().await);
    let mut refused = None;
    for seq in 1..=500 {
        let response = busy.send("reports", &batch(incarnation, seq, &[])).await;
        if response.status != 200 {
            refused = Some(response);
            break;
        }
    }
    let refused = refused.expect("the rate is limited");
    assert_eq!((refused.status, &refused.body["code"]), (429, &json!("RateLimited")), "{refused:?}");
    assert!(refused.retry_after.is_some_and(|seconds| seconds >= 1), "{refused:?}");
    assert_eq!(other.post("reports", &batch(others, 1, &[])).await["accepted"], true);
}

#[tokio::test(flavor = "multi_thread")]
async fn texts_of_a_cluster_with_the_character_u_0000_are_recorded_without_it_and_keep_no_other_report_from_being_recorded()
 {
    let server = TestServer::open().await;
    let (agent, mut report) = join_with_release(&server).await;
    let incarnation = agent.start_session().await;
    let text = "a\0b";
    let facts = json!({"kubernetesVersion": text, "region": text, "zones": [text], "apis": [], "storageClasses": [text],
        "ingressClasses": [], "nodePools": []});
    report["health"] = json!({"status": "Degraded", "reason": text, "message": text});
    report["drift"] = json!([{"object": {"version": "v1", "kind": "ConfigMap", "namespace": "default", "name": text},
        "fields": [text], "manager": text, "outcome": "healed", "at": "2026-01-01T00:00:00Z"}]);
    report["resources"][0]["causes"] = json!([text]);
    report["resources"][0]["health"] = json!({"status": "Degraded", "reason": text, "message": text});
    let mut all = batch(incarnation, 1, &[report]);
    all["facts"] = facts;
    assert_eq!(agent.post("reports", &all).await["accepted"], true);
    server.wait_for_state("web", "eu", domain::release::ReleaseState::Degraded).await;
    let events = list_drift_events(&server).await;
    assert_eq!(events.len(), 1);
    assert!(events[0].message.contains("a\u{fffd}b") && events[0].actor == "a\u{fffd}b", "{events:?}");
    let cluster = server.hub.get_cluster("eu").await.unwrap().cluster;
    assert_eq!(cluster.facts.region, "a\u{fffd}b");
    let outage = agent.send("heartbeat", &json!({"apiServerError": text})).await;
    assert_eq!(outage.status, 200, "{outage:?}");
}
