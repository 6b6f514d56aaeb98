//! Drift: found by watch, put back or told, with fields and manager.

use domain::release::{StageName, Sync};
use domain::report::DriftOutcome;
use domain::workload::{DriftPolicy, Policies};
use serde_json::Value;

use crate::harness::*;

fn value(cluster: &kubesim::Cluster) -> Option<Value> {
    Some(cluster.get(CONFIG_MAP, ("default", "settings"))?["data"]["key"].clone())
}

fn set(to: &'static str) -> impl Fn(&mut Value) {
    move |object| object["data"]["key"] = to.into()
}

async fn applied(cluster: &kubesim::Cluster, policies: Policies) -> (Agent, domain::report::Want) {
    let agent = agent(cluster).await;
    let wanted = desired(1, 1, &bundle(vec![config_map("settings", "1")]), policies);
    agent.engine.set_desired(vec![wanted.clone()]);
    agent.until_operational(&wanted.want).await;
    until("recorded", || cluster.list(RECORD, None)[0]["spec"]["applied"] != "").await;
    (agent, wanted.want)
}

#[tokio::test]
async fn s0_12_an_edited_field_is_put_back_and_told_with_its_manager() {
    let cluster = still_cluster();
    let (agent, want) = applied(&cluster, Policies::default()).await;
    cluster.touch(CONFIG_MAP, ("default", "settings"), "kubectl-edit", set("2")).unwrap();
    until("put back", || value(&cluster) == Some("1".into())).await;
    until("told", || !agent.drift().is_empty()).await;
    let note = &agent.drift()[0];
    assert_eq!(note.fields, ["/data/key"]);
    assert_eq!(note.manager, "kubectl-edit");
    assert_eq!(note.outcome, DriftOutcome::Healed);
    assert_eq!(note.object.to_string(), "ConfigMap default/settings");
    agent.until_operational(&want).await;
    assert_eq!(agent.drift().len(), 1);
    agent.stop().await;
}

#[tokio::test]
async fn s0_12_a_deleted_object_is_made_again() {
    let cluster = still_cluster();
    let (agent, want) = applied(&cluster, Policies::default()).await;
    cluster.delete(CONFIG_MAP, ("default", "settings")).unwrap();
    until("made again", || value(&cluster) == Some("1".into())).await;
    until("told", || !agent.drift().is_empty()).await;
    assert!(agent.drift()[0].fields.is_empty());
    assert_eq!(agent.drift()[0].manager, "unknown");
    agent.until_operational(&want).await;
    let uid = cluster.get(CONFIG_MAP, ("default", "settings")).unwrap()["metadata"]["uid"].clone();
    until("recorded", || cluster.list(RECORD, None)[0]["spec"]["resources"][0]["uid"] == uid).await;
    agent.stop().await;
}

#[tokio::test]
async fn p25_an_object_without_our_label_is_not_taken_for_deleted() {
    let cluster = still_cluster();
    let (agent, _) = applied(&cluster, Policies::default()).await;
    let before = cluster.get(CONFIG_MAP, ("default", "settings")).unwrap()["metadata"]["uid"].clone();
    let strip = |object: &mut Value| {
        object["metadata"]["labels"].as_object_mut().unwrap().remove(engine::RELEASE_LABEL);
        object["data"]["key"] = "2".into();
    };
    cluster.touch(CONFIG_MAP, ("default", "settings"), "kubectl-edit", strip).unwrap();
    until("put back", || value(&cluster) == Some("1".into())).await;
    until("told", || !agent.drift().is_empty()).await;
    let after = cluster.get(CONFIG_MAP, ("default", "settings")).unwrap();
    assert_eq!(after["metadata"]["uid"], before);
    assert_eq!(after["metadata"]["labels"][engine::RELEASE_LABEL], release(1).to_string());
    assert_eq!(agent.drift()[0].fields, ["/metadata/labels/flotilla.dev~1release"]);
    agent.stop().await;
}

#[tokio::test]
async fn r_4_with_the_policy_notify_drift_is_told_once_and_left() {
    let cluster = still_cluster();
    let policies = Policies { drift: DriftPolicy::Notify, ..Policies::default() };
    let (agent, _) = applied(&cluster, policies).await;
    let writes = cluster.stats().applies;
    cluster.touch(CONFIG_MAP, ("default", "settings"), "kubectl-edit", set("2")).unwrap();
    let report = agent.until(release(1), "drifted", |report| report.sync == Sync::Drifted).await;
    assert_eq!(report.resources[0].drifted, ["/data/key"]);
    assert!(is_done(&report, StageName::Applied));
    until("told", || !agent.drift().is_empty()).await;
    assert_eq!(agent.drift()[0].outcome, DriftOutcome::Found);
    assert_eq!(value(&cluster), Some("2".into()));
    assert_eq!(cluster.stats().applies, writes);
    cluster.touch(CONFIG_MAP, ("default", "settings"), "kubectl-edit", set("1")).unwrap();
    agent.until(release(1), "synced again", |report| report.sync == Sync::Synced).await;
    assert_eq!(agent.drift().len(), 1);
    agent.stop().await;
}

#[tokio::test]
async fn p13_an_object_that_is_fought_over_is_contested_and_not_fought_for() {
    let cluster = still_cluster();
    let client = kube::Client::new(cluster.service(), "default");
    let patient = engine::Options { retry_max: std::time::Duration::from_secs(3_600), ..options() };
    let agent = Agent::start(engine::Engine::connect(client, patient).await.unwrap());
    let wanted = desired(1, 1, &bundle(vec![config_map("settings", "1")]), Policies::default());
    agent.engine.set_desired(vec![wanted.clone()]);
    agent.until_operational(&wanted.want).await;
    for round in 0..3 {
        cluster.touch(CONFIG_MAP, ("default", "settings"), "other-controller", set("2")).unwrap();
        until("put back", || value(&cluster) == Some("1".into())).await;
        until("told", || agent.drift().len() > round).await;
    }
    cluster.touch(CONFIG_MAP, ("default", "settings"), "other-controller", set("2")).unwrap();
    let report = agent.until(release(1), "contested", |report| report.sync == Sync::Drifted).await;
    let problem = report.resources[0].problem.as_ref().unwrap();
    assert_eq!(problem.code, "Contested");
    assert!(problem.message.contains("other-controller"), "{}", problem.message);
    let outcomes: Vec<DriftOutcome> = agent.drift().iter().map(|note| note.outcome).collect();
    assert_eq!(outcomes[3..], [DriftOutcome::Contested]);
    assert_eq!(value(&cluster), Some("2".into()));
    agent.stop().await;
}

#[tokio::test]
async fn what_the_server_writes_differently_is_no_drift() {
    let cluster = still_cluster();
    let agent = agent(&cluster).await;
    let mut object = deployment("web", 1, "nginx");
    object["spec"]["template"]["spec"]["containers"][0]["resources"] =
        serde_json::json!({"limits": {"cpu": "1000m", "memory": "1024Mi"}});
    let wanted = desired(1, 1, &bundle(vec![object]), Policies::default());
    agent.engine.set_desired(vec![wanted.clone()]);
    agent.until_applied(&wanted.want).await;
    until("recorded", || cluster.list(RECORD, None)[0]["spec"]["applied"] != "").await;
    let writes = cluster.stats().applies;
    // Something of no importance changes, so that the object is compared again.
    let annotate = |object: &mut Value| object["metadata"]["annotations"]["note"] = "hello".into();
    cluster.touch(DEPLOYMENT, ("default", "web"), "kubectl-annotate", annotate).unwrap();
    tokio::time::sleep(std::time::Duration::from_millis(100)).await;
    assert_eq!(cluster.stats().applies, writes);
    assert!(agent.drift().is_empty());
    agent.stop().await;
}
