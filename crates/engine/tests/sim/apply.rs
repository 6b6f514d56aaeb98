//! Apply: create, update, conflicts, order, no write without need.

use domain::health::HealthStatus;
use domain::plan::Outcome;
use domain::policy::{UpdateRule, UpdateStrategy};
use domain::release::{StageName, Sync};
use domain::workload::{ConflictPolicy, Policies};
use serde_json::json;

use crate::harness::*;

#[tokio::test]
async fn s0_9_a_bundle_is_applied_and_becomes_operational() {
    let cluster = cluster();
    let agent = agent(&cluster).await;
    let bundle = shop("nginx:1.27");
    let wanted = desired(1, 1, &bundle, Policies::default());
    agent.engine.set_desired(vec![wanted.clone()]);
    let report = agent.until_operational(&wanted.want).await;
    assert_eq!(report.applied, Some(bundle.digest()));
    assert_eq!(report.health.status, HealthStatus::Healthy);
    assert!(report.resources.iter().all(|resource| resource.applied));
    assert!(!report.gone);
    let kinds: Vec<&str> = report.resources.iter().map(|resource| resource.object.kind.as_str()).collect();
    assert_eq!(kinds, ["ConfigMap", "Service", "Deployment"], "S3-5: in the order of the bundle");
    let live = cluster.get(DEPLOYMENT, ("default", "web")).unwrap();
    assert_eq!(live["metadata"]["labels"][engine::RELEASE_LABEL], release(1).to_string());
    assert_eq!(live["metadata"]["annotations"][engine::WORKLOAD_ANNOTATION], "shop1");
    assert_eq!(
        live["spec"]["template"]["metadata"]["labels"],
        json!({"app": "web"}),
        "pods are not restarted by labels"
    );
    agent.stop().await;
}

#[tokio::test]
async fn s3_8_the_record_names_every_object_with_its_uid_and_holds_a_finalizer() {
    let cluster = cluster();
    let agent = agent(&cluster).await;
    let bundle = shop("nginx");
    let wanted = desired(1, 1, &bundle, Policies::default());
    agent.engine.set_desired(vec![wanted.clone()]);
    agent.until_operational(&wanted.want).await;
    until("recorded", || {
        let records = cluster.list(RECORD, None);
        records.len() == 1 && records[0]["spec"]["applied"] == bundle.digest().as_str()
    })
    .await;
    let record = &cluster.list(RECORD, None)[0];
    assert_eq!(record["metadata"]["finalizers"], json!(["flotilla.dev/applied-cleanup"]));
    assert_eq!(record["spec"]["workload"], "shop1");
    let resources = record["spec"]["resources"].as_array().unwrap();
    assert_eq!(resources.len(), 3);
    let live = cluster.get(CONFIG_MAP, ("default", "settings")).unwrap();
    let entry = resources.iter().find(|entry| entry["kind"] == "ConfigMap").unwrap();
    assert_eq!(entry["uid"], live["metadata"]["uid"]);
    assert_eq!(entry["resource"], "configmaps");
    agent.stop().await;
}

#[tokio::test]
async fn s3_6_an_update_writes_only_what_differs() {
    let cluster = cluster();
    let agent = agent(&cluster).await;
    let first = desired(1, 1, &shop("nginx:1"), Policies::default());
    agent.engine.set_desired(vec![first.clone()]);
    agent.until_operational(&first.want).await;
    let before = cluster.get(CONFIG_MAP, ("default", "settings")).unwrap();
    let second = desired(1, 2, &shop("nginx:2"), Policies::default());
    agent.engine.set_desired(vec![second.clone()]);
    agent.until_operational(&second.want).await;
    let live = cluster.get(DEPLOYMENT, ("default", "web")).unwrap();
    assert_eq!(live["spec"]["template"]["spec"]["containers"][0]["image"], "nginx:2");
    assert_eq!(cluster.get(CONFIG_MAP, ("default", "settings")).unwrap(), before);
    agent.stop().await;
}

#[tokio::test]
async fn p13_a_conflict_names_the_other_manager_and_writes_nothing() {
    let cluster = still_cluster();
    cluster.create(config_map("settings", "theirs"), "someone-else").unwrap();
    let agent = agent(&cluster).await;
    let wanted = desired(1, 1, &bundle(vec![config_map("settings", "ours")]), Policies::default());
    agent.engine.set_desired(vec![wanted.clone()]);
    let (report, message) = agent.until_trouble(release(1), StageName::Applied, "ApplyConflict").await;
    assert!(message.contains("someone-else"), "{message}");
    assert!(message.contains("ConfigMap default/settings"), "{message}");
    assert!(message.contains("key"), "{message}");
    assert_eq!(report.resources[0].problem.as_ref().unwrap().code, "ApplyConflict");
    assert!(!report.resources[0].applied);
    assert_eq!(report.applied, None);
    assert_eq!(cluster.get(CONFIG_MAP, ("default", "settings")).unwrap()["data"]["key"], "theirs");
    agent.stop().await;
}

#[tokio::test]
async fn the_policy_take_over_takes_fields_of_others() {
    let cluster = still_cluster();
    cluster.create(config_map("settings", "theirs"), "someone-else").unwrap();
    let agent = agent(&cluster).await;
    let policies = Policies { conflict: ConflictPolicy::TakeOver, ..Policies::default() };
    let wanted = desired(1, 1, &bundle(vec![config_map("settings", "ours")]), policies);
    agent.engine.set_desired(vec![wanted.clone()]);
    agent.until_applied(&wanted.want).await;
    assert_eq!(cluster.get(CONFIG_MAP, ("default", "settings")).unwrap()["data"]["key"], "ours");
    agent.stop().await;
}

#[tokio::test]
async fn p14_a_refused_object_says_why_and_the_others_of_its_rank_are_applied() {
    let cluster = still_cluster();
    cluster.faults().set_admission(vec![kubesim::AdmissionRule {
        webhook: "policy.example.com".into(),
        kind: "ConfigMap".into(),
        name: "bad".into(),
        message: "names must be good".into(),
        ..Default::default()
    }]);
    let agent = agent(&cluster).await;
    let objects = vec![config_map("bad", "1"), config_map("good", "1"), service("web")];
    let wanted = desired(1, 1, &bundle(objects), Policies::default());
    agent.engine.set_desired(vec![wanted.clone()]);
    let (report, message) = agent.until_trouble(release(1), StageName::Applied, "AdmissionRejected").await;
    assert!(message.contains("ConfigMap default/bad") && message.contains("names must be good"), "{message}");
    let applied: Vec<bool> = report.resources.iter().map(|resource| resource.applied).collect();
    assert_eq!(applied, [false, true, false], "what comes later needs what comes before");
    assert!(cluster.get(("v1", "Service"), ("default", "web")).is_none());
    assert_eq!(report.sync, Sync::Applying);
    cluster.faults().clear();
    agent.until_applied(&wanted.want).await;
    agent.stop().await;
}

#[tokio::test]
async fn g405_what_a_webhook_lets_nobody_try_is_compared_and_told() {
    let cluster = still_cluster();
    cluster.faults().set_admission(vec![kubesim::AdmissionRule {
        webhook: "audit.example.com".into(),
        kind: "ConfigMap".into(),
        no_dry_run: true,
        ..Default::default()
    }]);
    let agent = agent(&cluster).await;
    let planned = bundle(vec![config_map("settings", "1"), service("web")]);
    let wanted = desired(1, 1, &planned, Policies::default());
    let effect = agent.engine.effect(Some(release(1)), &wanted.want.goal, &planned).await;
    assert_eq!((effect.tally().create, effect.tally().untried), (2, 1), "{effect:#?}");
    let [finding] = effect.findings.as_slice() else { panic!("{effect:#?}") };
    assert_eq!((finding.code.as_str(), finding.blocks()), ("G405", false));
    assert!(finding.message.starts_with("ConfigMap default/settings could not be tried: "), "{finding:?}");
    assert!(finding.message.contains("audit.example.com"), "{finding:?}");
    agent.engine.set_desired(vec![wanted.clone()]);
    agent.until_applied(&wanted.want).await;
    agent.stop().await;
}

#[tokio::test]
async fn p12_a_release_in_trouble_does_not_hold_up_another() {
    let cluster = still_cluster();
    cluster.create(config_map("taken", "theirs"), "someone-else").unwrap();
    let agent = agent(&cluster).await;
    let stuck = desired(1, 1, &bundle(vec![config_map("taken", "ours")]), Policies::default());
    let fine = desired(2, 1, &bundle(vec![config_map("free", "1")]), Policies::default());
    agent.engine.set_desired(vec![stuck, fine.clone()]);
    agent.until_applied(&fine.want).await;
    agent.until_trouble(release(1), StageName::Applied, "ApplyConflict").await;
    agent.stop().await;
}

#[tokio::test]
async fn two_releases_never_share_an_object() {
    let cluster = still_cluster();
    let agent = agent(&cluster).await;
    let first = desired(1, 1, &bundle(vec![config_map("settings", "1")]), Policies::default());
    agent.engine.set_desired(vec![first.clone()]);
    agent.until_applied(&first.want).await;
    let second = desired(2, 1, &bundle(vec![config_map("settings", "2")]), Policies::default());
    agent.engine.set_desired(vec![first, second]);
    let (_, message) = agent.until_trouble(release(2), StageName::Preflight, "ResourceConflict").await;
    assert!(message.contains("shop1"), "{message}");
    assert_eq!(cluster.get(CONFIG_MAP, ("default", "settings")).unwrap()["data"]["key"], "1");
    agent.stop().await;
}

#[tokio::test]
async fn replicas_are_left_to_the_autoscaler_of_the_bundle() {
    let cluster = still_cluster();
    let scaler = json!({"apiVersion": "autoscaling/v2", "kind": "HorizontalPodAutoscaler",
        "metadata": {"name": "web", "namespace": "default"},
        "spec": {"minReplicas": 1, "maxReplicas": 9,
            "scaleTargetRef": {"apiVersion": "apps/v1", "kind": "Deployment", "name": "web"}}});
    let agent = agent(&cluster).await;
    let first =
        desired(1, 1, &bundle(vec![deployment("web", 2, "nginx:1"), scaler.clone()]), Policies::default());
    agent.engine.set_desired(vec![first.clone()]);
    agent.until_applied(&first.want).await;
    let scale = |object: &mut serde_json::Value| object["spec"]["replicas"] = 7.into();
    cluster.touch(DEPLOYMENT, ("default", "web"), "horizontal-pod-autoscaler", scale).unwrap();
    let second = desired(1, 2, &bundle(vec![deployment("web", 2, "nginx:2"), scaler]), Policies::default());
    agent.engine.set_desired(vec![second.clone()]);
    agent.until_applied(&second.want).await;
    let live = cluster.get(DEPLOYMENT, ("default", "web")).unwrap();
    assert_eq!(live["spec"]["replicas"], 7);
    assert_eq!(live["spec"]["template"]["spec"]["containers"][0]["image"], "nginx:2");
    assert!(agent.drift().is_empty());
    agent.stop().await;
}

#[tokio::test]
async fn g404_a_dry_run_tells_what_would_change_and_writes_nothing() {
    let cluster = still_cluster();
    let agent = agent(&cluster).await;
    let wanted = desired(1, 1, &bundle(vec![config_map("settings", "1")]), Policies::default());
    agent.engine.set_desired(vec![wanted.clone()]);
    agent.until_applied(&wanted.want).await;
    until("recorded", || cluster.list(RECORD, None)[0]["spec"]["applied"] != "").await;
    let version = cluster.resource_version();
    let mut widget = config_map("x", "1");
    widget["apiVersion"] = "example.com/v1".into();
    widget["kind"] = "Widget".into();
    let asked = bundle(vec![config_map("settings", "2"), config_map("fresh", "1"), widget]);
    let effect = agent.engine.effect(Some(release(1)), &present(Policies::default()), &asked).await;
    let [changed, made, unknown] = effect.objects.as_slice() else { panic!("{effect:?}") };
    let Outcome::Change { fields, .. } = &changed.outcome else { panic!("{changed:?}") };
    assert_eq!(fields.len(), 1, "{fields:?}");
    assert_eq!(fields[0].path, "/data/key");
    assert_eq!(fields[0].wanted, Some("2".into()));
    assert_eq!(made.outcome, Outcome::Create);
    assert!(
        matches!(&unknown.outcome, Outcome::Refused { finding } if finding.code == "G401"),
        "{unknown:?}"
    );
    assert_eq!(cluster.resource_version(), version);
    agent.stop().await;
}

#[tokio::test]
async fn e_2_a_plan_does_not_say_that_it_makes_what_it_only_observes() {
    let cluster = still_cluster();
    let agent = agent(&cluster).await;
    let rule = UpdateRule { strategy: UpdateStrategy::ReadOnly, ..UpdateRule::default() };
    let policies = Policies { update: vec![rule], ..Policies::default() };
    let asked = bundle(vec![config_map("theirs", "1")]);
    let effect = agent.engine.effect(Some(release(1)), &present(policies), &asked).await;
    assert_eq!(effect.objects[0].outcome, Outcome::Unchanged);
    assert!(effect.objects[0].untried.contains("only observes it"), "{effect:?}");
    agent.stop().await;
}
