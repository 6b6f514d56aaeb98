//! The record of a release on its cluster: content, owning hub, finalizer.

use std::sync::{Arc, Mutex};

use domain::Digest;
use domain::policy::{DeletionPolicy, Policies};
use domain::release::StageName;
use http::Method;
use serde_json::{Value, json};

use crate::harness::*;

async fn start_agent_of_hub(cluster: &kubesim::SimCluster, hub: &str) -> TestAgent {
    let client = kube::Client::new(cluster.service(), "default");
    let options = engine::Options { hub: hub.to_owned(), agent: format!("agent of {hub}"), ..options() };
    TestAgent::start(engine::Engine::connect(client, options).await.unwrap())
}

fn records_of<'a>(records: &'a [Value], hub: &str) -> Vec<&'a Value> {
    let hash = Digest::compute(hub.as_bytes()).as_str().trim_start_matches("sha256:").to_owned();
    records.iter().filter(|record| record["spec"]["hubHash"] == hash.as_str()).collect()
}

#[tokio::test(start_paused = true)]
async fn s3_7_a_record_contains_the_hashes_of_hub_spec_and_objects() {
    let cluster = cluster_without_controllers();
    let agent = start_agent_of_hub(&cluster, "https://hub.example.com").await;
    let content = bundle(vec![config_map("a", "1")]);
    let input = present_input(1, 1, &content, Policies::default());
    agent.engine.set_desired(vec![input.clone()]);
    agent.until_operational(&input.desired).await;
    wait_until("recorded", || cluster.list(RECORD, None)[0]["spec"]["applied"] != "").await;
    let records = cluster.list(RECORD, None);
    let record = records_of(&records, "https://hub.example.com")[0];
    let name = record["metadata"]["name"].as_str().unwrap();
    let hub = record["spec"]["hubHash"].as_str().unwrap();
    assert_eq!(
        (hub.len(), name),
        (64, format!("{hub}-{}", release_id(1).to_string().to_lowercase()).as_str())
    );
    assert_eq!(record["spec"]["specHash"], content.digest().as_str());
    assert_eq!(record["spec"]["agentId"], "agent of https://hub.example.com");
    let live = cluster.get(CONFIG_MAP, ("default", "a")).unwrap();
    let entry = &record["spec"]["resources"][0];
    assert_eq!(entry["hash"], live["metadata"]["annotations"][engine::HASH_ANNOTATION]);
    assert_eq!(entry["uid"], live["metadata"]["uid"]);
    let changed = present_input(1, 2, &bundle(vec![config_map("a", "2")]), Policies::default());
    agent.engine.set_desired(vec![changed.clone()]);
    agent.until_operational(&changed.desired).await;
    wait_until("updated", || {
        let records = cluster.list(RECORD, None);
        records.len() == 1 && records[0]["spec"]["specHash"] != content.digest().as_str()
    })
    .await;
    agent.stop().await;
}

#[tokio::test(start_paused = true)]
async fn s3_8_the_record_of_a_release_missing_from_the_desired_state_is_marked_and_nothing_is_removed() {
    let cluster = cluster_without_controllers();
    let agent = start_agent(&cluster).await;
    let input = present_input(1, 1, &bundle(vec![config_map("a", "1")]), Policies::default());
    agent.engine.set_desired(vec![input.clone()]);
    agent.until_operational(&input.desired).await;
    wait_until("recorded", || cluster.list(RECORD, None)[0]["spec"]["applied"] != "").await;
    agent.engine.set_desired(vec![]);
    wait_until("marked", || cluster.list(RECORD, None)[0]["spec"]["evictionStart"].is_string()).await;
    assert!(agent.engine.applied_releases()[0].eviction_start.is_some());
    assert!(cluster.get(CONFIG_MAP, ("default", "a")).is_some());
    agent.engine.set_desired(vec![input]);
    wait_until("unmarked", || cluster.list(RECORD, None)[0]["spec"].get("evictionStart").is_none()).await;
    agent.stop().await;
}

#[tokio::test(start_paused = true)]
async fn s3_11_a_deleted_record_is_not_re_created_to_mark_its_eviction() {
    let cluster = cluster_without_controllers();
    // The watch of records never delivers an event.
    let client = intercepted_client(&cluster, |request| {
        let uri = request.uri().to_string();
        let is_watch = uri.contains("appliedreleases") && uri.contains("watch=");
        if is_watch { Interception::Hang } else { Interception::Pass }
    });
    let agent = TestAgent::start(engine::Engine::connect(client, options()).await.unwrap());
    let input = present_input(1, 1, &bundle(vec![config_map("a", "1")]), Policies::default());
    agent.engine.set_desired(vec![input.clone()]);
    agent.until_operational(&input.desired).await;
    wait_until("recorded", || cluster.list(RECORD, None)[0]["spec"]["applied"] != "").await;
    let name = cluster.list(RECORD, None)[0]["metadata"]["name"].as_str().unwrap().to_owned();
    let remove_finalizer = |record: &mut Value| record["metadata"]["finalizers"] = json!([]);
    cluster.edit(RECORD, ("", &name), "somebody", remove_finalizer).unwrap();
    cluster.delete(RECORD, ("", &name)).unwrap();
    assert_eq!(agent.engine.applied_releases().len(), 1, "the engine has not observed the deletion");
    agent.engine.set_desired(vec![]);
    wait_until("dropped from the cache", || agent.engine.applied_releases().is_empty()).await;
    assert_eq!(cluster.list(RECORD, None), [] as [Value; 0]);
    agent.stop().await;
}

#[tokio::test(start_paused = true)]
async fn s3_13_an_object_listed_by_two_records_is_orphaned_instead_of_deleted() {
    let cluster = cluster_without_controllers();
    let ours = start_agent_of_hub(&cluster, "https://one.example.com").await;
    let input = present_input(
        1,
        1,
        &bundle(vec![config_map("both", "1"), config_map("own", "1")]),
        Policies::default(),
    );
    ours.engine.set_desired(vec![input.clone()]);
    ours.until_operational(&input.desired).await;
    wait_until("recorded", || cluster.list(RECORD, None)[0]["spec"]["applied"] != "").await;
    // The agent of another hub recorded the same object.
    let both = cluster.get(CONFIG_MAP, ("default", "both")).unwrap();
    let mut other = cluster.list(RECORD, None).remove(0);
    other["metadata"] = json!({"name": "other", "finalizers": ["flotilla.dev/applied-cleanup"]});
    other["spec"]["hubHash"] = "f".repeat(64).into();
    other["spec"]["releaseId"] = release_id(9).to_string().into();
    other["spec"]["resources"] = json!([{"version": "v1", "kind": "ConfigMap", "namespace": "default", "name": "both",
        "resource": "configmaps", "uid": both["metadata"]["uid"], "hash": "x"}]);
    cluster.create(other, "flotilla").unwrap();
    // A new engine lists all records before it starts.
    ours.stop().await;
    let ours = start_agent_of_hub(&cluster, "https://one.example.com").await;
    assert_eq!(ours.engine.applied_releases().len(), 1, "the record of the other hub is foreign");
    ours.engine.set_desired(vec![absent_input(1, 2, DeletionPolicy::Foreground)]);
    ours.wait_for_report(release_id(1), "gone", |report| report.removed).await;
    assert!(cluster.get(CONFIG_MAP, ("default", "own")).is_none());
    let orphaned = cluster.get(CONFIG_MAP, ("default", "both")).unwrap();
    assert_eq!(orphaned["metadata"]["uid"], both["metadata"]["uid"]);
    assert!(orphaned["metadata"]["labels"].get(engine::RELEASE_LABEL).is_none());
    assert_eq!(cluster.list(RECORD, None).len(), 1, "the record of the other hub stays");
    ours.stop().await;
}

#[tokio::test(start_paused = true)]
async fn s3_10_a_release_is_not_reported_gone_before_its_record_is_deleted() {
    let cluster = cluster_without_controllers();
    let agent = start_agent(&cluster).await;
    let input = present_input(1, 1, &bundle(vec![config_map("blocked", "1")]), Policies::default());
    agent.engine.set_desired(vec![input.clone()]);
    agent.until_operational(&input.desired).await;
    let add_finalizer = |object: &mut Value| object["metadata"]["finalizers"] = json!(["example.com/hold"]);
    cluster.edit(CONFIG_MAP, ("default", "blocked"), "kubectl-edit", add_finalizer).unwrap();
    agent.engine.set_desired(vec![absent_input(1, 2, DeletionPolicy::Foreground)]);
    agent.until_stage_reason(release_id(1), StageName::Pruned, "FinalizerPending").await;
    let record = cluster.list(RECORD, None).remove(0);
    assert!(
        record["metadata"]["deletionTimestamp"].is_string(),
        "deletion is requested and blocked by its finalizer"
    );
    let deletes = cluster.stats().deletes;
    // The same desired phase with new generations: the deletion is requested once.
    for generation in 3..6 {
        agent.engine.set_desired(vec![absent_input(1, generation, DeletionPolicy::Foreground)]);
        agent
            .wait_for_report(release_id(1), "reported", |report| {
                report.generation == generation && !report.removed
            })
            .await;
    }
    assert_eq!(cluster.stats().deletes, deletes, "a terminating object is not deleted again");
    assert_eq!(cluster.list(RECORD, None)[0]["metadata"]["uid"], record["metadata"]["uid"]);
    let remove_finalizer = |object: &mut Value| object["metadata"]["finalizers"] = json!([]);
    cluster.edit(CONFIG_MAP, ("default", "blocked"), "kubectl-edit", remove_finalizer).unwrap();
    agent.wait_for_report(release_id(1), "gone", |report| report.removed).await;
    assert!(cluster.list(RECORD, None).is_empty());
    agent.stop().await;
}

#[tokio::test(start_paused = true)]
async fn the_executor_writes_and_deletes_the_objects_and_the_agent_writes_the_record() {
    let cluster = cluster_without_controllers();
    // Path and user of each write.
    let writes = Arc::new(Mutex::new(Vec::<(String, Option<String>)>::new()));
    let recorded = writes.clone();
    let client = intercepted_client(&cluster, move |request| {
        if request.method() != Method::GET {
            let user = request.headers().get("Impersonate-User");
            let user = user.and_then(|user| user.to_str().ok()).map(str::to_owned);
            recorded.lock().unwrap().push((request.uri().path().to_owned(), user));
        }
        Interception::Pass
    });
    let engine = engine::Engine::connect(client, options()).await.unwrap();
    let agent = TestAgent::start(engine);
    let policies = Policies { executor: "web/deployer".into(), ..Policies::default() };
    let input = present_input(1, 1, &bundle(vec![config_map("a", "1")]), policies.clone());
    agent.engine.set_desired(vec![input.clone()]);
    agent.until_operational(&input.desired).await;
    let mut removal = absent_input(1, 2, DeletionPolicy::Foreground);
    removal.desired.phase =
        domain::report::DesiredPhase::Absent { deletion: DeletionPolicy::Foreground, policies };
    agent.engine.set_desired(vec![removal]);
    agent.wait_for_report(release_id(1), "gone", |report| report.removed).await;
    let writes = writes.lock().unwrap().clone();
    let (objects, others): (Vec<_>, Vec<_>) =
        writes.iter().partition(|(path, _)| path.contains("/configmaps/"));
    assert_eq!(objects.len(), 2, "{writes:?}");
    assert!(objects.iter().all(|(_, user)| user.as_deref() == Some("system:serviceaccount:web:deployer")));
    assert!(others.iter().all(|(_, user)| user.is_none()), "{others:?}");
    agent.stop().await;
}
