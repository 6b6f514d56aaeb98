//! The largest plan, check and report that are accepted need a bounded amount of memory (P19).

use std::collections::BTreeSet;

use domain::ReleaseId;
use domain::report::limits::{MAX_RELEASES, MAX_RESOURCES, MAX_TEXT_BYTES};
use domain::report::{DesiredPhase, DriftedField, ReleaseReport, ReportBatch};
use domain::workload::NewWorkload;
use futures::future::join_all;
use serde_json::{Value, json};
use wire::ValidateRequest;
use wire::agent::SessionRequest;

use crate::server_process::{ServerProcess, workload_spec};

const MIB: u64 = 1024;
/// Clusters of the plan: with a copy of the bundle for each, it would need 600 MiB. With more, a debug build on a busy machine
/// would not finish the plan within the server's limit of the time of a request.
const CLUSTERS: usize = 150;
/// How much the peak may grow by a plan of 4 MiB, in KiB: the text, its parsed form and the bundle, in a debug build.
const MAX_PLAN_GROWTH: u64 = 400 * MIB;
/// The same for a report of 16 MiB.
const MAX_REPORT_GROWTH: u64 = 300 * MIB;
/// Clusters of a plan whose bundles of 1.8 MiB all differ, and how much the peak may grow by it, in KiB. The bytes of the bundles have
/// 90 MiB; each was in memory three times while they were compared. With twice the clusters, a debug build on a busy machine would not
/// finish the plan within the server's limit of the time of a request.
const DIFFERING_CLUSTERS: usize = 50;
const MAX_DIFFERING_GROWTH: u64 = 200 * MIB;
/// Drifted fields of a report of 7 MiB, parsed more than 100 MiB, and how much the peak may grow by it, in KiB: it is not parsed.
const TOO_MANY_FIELDS: usize = 600_000;
const MAX_REFUSED_GROWTH: u64 = 60 * MIB;
/// Drifted fields of a report of 60 KiB, such reports of each agent at the same time, and how much the peak may grow by all of them, in KiB.
const USUAL_FIELDS: usize = 5_000;
const USUAL_REPORTS: usize = 64;
const MAX_USUAL_GROWTH: u64 = 200 * MIB;

fn config_map(name: &str, bytes: usize) -> String {
    let value = "x".repeat(bytes);
    format!(
        "apiVersion: v1\nkind: ConfigMap\nmetadata: {{name: {name}}}\ndata: {{value: \"{value}\"}}\n---\n"
    )
}

#[tokio::test]
async fn p19_the_largest_plan_for_many_clusters_needs_a_bounded_amount_of_memory() {
    let server = ServerProcess::start(CLUSTERS).await;
    let text: String = (0..4).map(|number| config_map(&format!("m{number}"), 1_000_000)).collect();
    let new =
        NewWorkload { name: "web".to_owned(), spec: workload_spec(text, &[]), ..NewWorkload::default() };
    server.client.create_workload(&new).await.unwrap();
    let before = server.memory_kib("VmHWM");
    let plan = server.client.plan_workload("web", 0).await.unwrap();
    assert_eq!(plan.targets.len(), CLUSTERS);
    assert!(plan.targets.iter().all(|target| target.bundle.is_some()), "{:?}", plan.targets[0]);
    let growth = server.memory_kib("VmHWM") - before;
    assert!(growth < MAX_PLAN_GROWTH, "the peak grew by {growth} KiB");
}

/// Maps of this many bytes with a value of each cluster.
fn templated_maps(count: usize, bytes: usize) -> String {
    let templated = |number: usize| {
        let map = config_map(&format!("m{number}"), bytes);
        map.replace("data: {", "data: {cluster: \"${{ cluster.name }}\", ")
    };
    (0..count).map(templated).collect()
}

#[tokio::test]
async fn p19_a_templated_draft_needs_one_copy_of_its_objects_however_many_clusters_it_has() {
    let server = ServerProcess::start(CLUSTERS).await;
    let spec = workload_spec(templated_maps(4, 900_000), &[]);
    let request = ValidateRequest { name: "web".to_owned(), spec };
    let before = server.memory_kib("VmHWM");
    let checked = server.client.validate_workload(&request).await.unwrap();
    assert_eq!(checked.decision.selected().count(), CLUSTERS);
    assert!(checked.findings.iter().all(|finding| finding.code != "G115"), "{:?}", checked.findings);
    let growth = server.memory_kib("VmHWM") - before;
    assert!(growth < MAX_PLAN_GROWTH, "the peak grew by {growth} KiB");
}

#[tokio::test]
async fn p19_a_plan_whose_bundles_all_differ_needs_the_memory_of_their_bytes() {
    let server = ServerProcess::start(DIFFERING_CLUSTERS).await;
    let spec = workload_spec(templated_maps(2, 900_000), &[]);
    let new = NewWorkload { name: "web".to_owned(), spec, ..NewWorkload::default() };
    server.client.create_workload(&new).await.unwrap();
    let before = server.memory_kib("VmHWM");
    match server.client.plan_workload("web", 0).await {
        Ok(plan) => {
            let bundles: BTreeSet<_> =
                plan.targets.iter().filter_map(|target| target.bundle.as_ref()).collect();
            assert_eq!(bundles.len(), DIFFERING_CLUSTERS);
        }
        // Where the server has less memory, that is more than a plan may have.
        Err(refused) => assert!(refused.to_string().contains("plan at once"), "{refused}"),
    }
    let growth = server.memory_kib("VmHWM") - before;
    assert!(growth < MAX_DIFFERING_GROWTH, "the peak grew by {growth} KiB");
}

#[tokio::test]
async fn p19_the_largest_report_needs_a_bounded_amount_of_memory() {
    let server = ServerProcess::start(0).await;
    let agent = server.join_agent("eu").await;
    let new = NewWorkload {
        name: "web".to_owned(),
        spec: workload_spec(config_map("web", 1), &["eu"]),
        ..NewWorkload::default()
    };
    server.client.create_workload(&new).await.unwrap();
    server.client.publish_workload("web", &Default::default(), None).await.unwrap();
    let desired = loop {
        let state = agent.fetch_desired_state(-1, false).await.unwrap().unwrap();
        if let Some(release) = state.releases.into_iter().next() {
            break release;
        }
    };
    let DesiredPhase::Present { bundle, .. } = &desired.phase else { panic!("{desired:?}") };
    let resource = |ordinal: usize| {
        json!({"ordinal": ordinal, "object": {"version": "v1", "kind": "ConfigMap", "name": format!("c{ordinal}")},
            "applied": true, "health": {"status": "Degraded"}, "causes": ["y".repeat(MAX_TEXT_BYTES)]})
    };
    let resources: Vec<Value> = (0..MAX_RESOURCES).map(resource).collect();
    let report = json!({"release": desired.release, "generation": desired.generation, "applied": bundle,
        "stages": [], "sync": "Synced", "health": {"status": "Degraded"}, "resources": resources, "removed": false});
    let report: ReleaseReport = serde_json::from_value(report).unwrap();
    // The entries of one release count once; 8 MiB of them are small.
    let small = ReleaseReport { resources: Vec::new(), ..report.clone() };
    let mut releases = vec![small; MAX_RELEASES - 1];
    releases.push(report);
    let incarnation = agent.start_session(&SessionRequest::default()).await.unwrap().incarnation;
    let mut batch = ReportBatch { incarnation, seq: 0, facts: None, schema: None, leftovers: None, releases };
    let bytes = serde_json::to_vec(&batch).unwrap().len();
    assert!((8 << 20..16 << 20).contains(&bytes), "{bytes} bytes");
    let before = server.memory_kib("VmHWM");
    for seq in 1..=5 {
        batch.seq = seq;
        assert!(agent.send_reports(&batch).await.unwrap().accepted);
    }
    let growth = server.memory_kib("VmHWM") - before;
    assert!(growth < MAX_REPORT_GROWTH, "the peak grew by {growth} KiB");
    let release = server.client.get_release("web", "eu").await.unwrap();
    assert_eq!(release.resources.len(), MAX_RESOURCES);
}

/// A batch with one report that has so many drifted fields, none of which says anything.
fn batch_of_fields(count: usize) -> ReportBatch {
    batch_of(vec![DriftedField::default(); count])
}

/// A batch with one report that has these drifted fields.
pub fn batch_of(drifted_fields: Vec<DriftedField>) -> ReportBatch {
    let object = json!({"version": "v1", "kind": "ConfigMap", "name": "web"});
    let resource = json!({"ordinal": 0, "object": object, "applied": true, "health": {"status": "Healthy"}});
    let report = json!({"release": ReleaseId::from_parts(1, 1), "generation": 1, "stages": [], "sync": "Synced",
        "health": {"status": "Healthy"}, "resources": [resource], "removed": false});
    let mut report: ReleaseReport = serde_json::from_value(report).unwrap();
    report.resources[0].drifted_fields = drifted_fields;
    ReportBatch { incarnation: 0, seq: 1, facts: None, schema: None, leftovers: None, releases: vec![report] }
}

#[tokio::test]
async fn p19_reports_with_many_small_values_need_a_bounded_amount_of_memory() {
    let server = ServerProcess::start(0).await;
    let agents = [server.join_agent("eu").await, server.join_agent("us").await];
    let hostile = batch_of_fields(TOO_MANY_FIELDS);
    let before = server.memory_kib("VmHWM");
    let refused = agents[0].send_reports(&hostile).await.unwrap_err();
    assert!(refused.to_string().contains("at most 1000000 are read"), "{refused}");
    let growth = server.memory_kib("VmHWM") - before;
    assert!(growth < MAX_REFUSED_GROWTH, "the peak grew by {growth} KiB");
    let usual = batch_of_fields(USUAL_FIELDS);
    assert!((48 << 10..64 << 10).contains(&serde_json::to_vec(&usual).unwrap().len()));
    let before = server.memory_kib("VmHWM");
    let mut sending = Vec::new();
    for agent in &agents {
        sending.extend((0..USUAL_REPORTS).map(|_| agent.send_reports(&usual)));
    }
    let sent = join_all(sending).await;
    assert!(sent.iter().any(Result::is_ok), "{:?}", sent[0]);
    let growth = server.memory_kib("VmHWM") - before;
    assert!(growth < MAX_USUAL_GROWTH, "the peak grew by {growth} KiB");
}
