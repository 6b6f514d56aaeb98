//! Apply: create, update, conflicts, order, no unnecessary writes.

use domain::health::HealthStatus;
use domain::plan::PlannedAction;
use domain::policy::{UpdateRule, UpdateStrategy};
use domain::release::{StageName, SyncStatus};
use domain::workload::{ConflictPolicy, Policies};
use serde_json::json;

use crate::harness::*;

#[tokio::test(start_paused = true)]
async fn s0_9_a_bundle_is_applied_and_becomes_operational() {
    let cluster = simulated_cluster();
    let agent = start_agent(&cluster).await;
    let bundle = shop("nginx:1.27");
    let input = present_input(1, 1, &bundle, Policies::default());
    agent.engine.set_desired(vec![input.clone()]);
    let report = agent.until_operational(&input.desired).await;
    assert_eq!(report.applied, Some(bundle.digest()));
    assert_eq!(report.health.status, HealthStatus::Healthy);
    assert!(report.resources.iter().all(|resource| resource.applied));
    assert!(!report.removed);
    let kinds: Vec<&str> = report.resources.iter().map(|resource| resource.object.kind.as_str()).collect();
    assert_eq!(kinds, ["ConfigMap", "Service", "Deployment"], "S3-5: in the order of the bundle");
    let live = cluster.get(DEPLOYMENT, ("default", "web")).unwrap();
    assert_eq!(live["metadata"]["labels"][engine::RELEASE_LABEL], release_id(1).to_string());
    assert_eq!(live["metadata"]["annotations"][engine::WORKLOAD_ANNOTATION], "shop1");
    assert_eq!(
        live["spec"]["template"]["metadata"]["labels"],
        json!({"app": "web"}),
        "the pod template is unchanged, so pods are not restarted"
    );
    agent.stop().await;
}

#[tokio::test(start_paused = true)]
async fn s3_8_the_record_lists_every_object_with_its_uid_and_has_a_finalizer() {
    let cluster = simulated_cluster();
    let agent = start_agent(&cluster).await;
    let bundle = shop("nginx");
    let input = present_input(1, 1, &bundle, Policies::default());
    agent.engine.set_desired(vec![input.clone()]);
    agent.until_operational(&input.desired).await;
    wait_until("recorded", || {
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

#[tokio::test(start_paused = true)]
async fn s4_5_an_update_writes_only_differing_objects() {
    let cluster = simulated_cluster();
    let agent = start_agent(&cluster).await;
    let first = present_input(1, 1, &shop("nginx:1"), Policies::default());
    agent.engine.set_desired(vec![first.clone()]);
    agent.until_operational(&first.desired).await;
    let before = cluster.get(CONFIG_MAP, ("default", "settings")).unwrap();
    let second = present_input(1, 2, &shop("nginx:2"), Policies::default());
    agent.engine.set_desired(vec![second.clone()]);
    agent.until_operational(&second.desired).await;
    let live = cluster.get(DEPLOYMENT, ("default", "web")).unwrap();
    assert_eq!(live["spec"]["template"]["spec"]["containers"][0]["image"], "nginx:2");
    assert_eq!(cluster.get(CONFIG_MAP, ("default", "settings")).unwrap(), before);
    agent.stop().await;
}

#[tokio::test(start_paused = true)]
async fn p13_a_conflict_reports_the_other_manager_and_writes_nothing() {
    let cluster = cluster_without_controllers();
    cluster.create(config_map("settings", "theirs"), "someone-else").unwrap();
    let agent = start_agent(&cluster).await;
    let input = present_input(1, 1, &bundle(vec![config_map("settings", "ours")]), Policies::default());
    agent.engine.set_desired(vec![input.clone()]);
    let (report, message) =
        agent.until_stage_reason(release_id(1), StageName::Applied, "ApplyConflict").await;
    assert!(message.contains("someone-else"), "{message}");
    assert!(message.contains("ConfigMap default/settings"), "{message}");
    assert!(message.contains("key"), "{message}");
    assert_eq!(report.resources[0].problem.as_ref().unwrap().code, "ApplyConflict");
    assert!(!report.resources[0].applied);
    assert_eq!(report.applied, None);
    assert_eq!(cluster.get(CONFIG_MAP, ("default", "settings")).unwrap()["data"]["key"], "theirs");
    agent.stop().await;
}

#[tokio::test(start_paused = true)]
async fn the_take_over_policy_forces_fields_of_other_managers() {
    let cluster = cluster_without_controllers();
    cluster.create(config_map("settings", "theirs"), "someone-else").unwrap();
    let agent = start_agent(&cluster).await;
    let policies = Policies { conflict: ConflictPolicy::Force, ..Policies::default() };
    let input = present_input(1, 1, &bundle(vec![config_map("settings", "ours")]), policies);
    agent.engine.set_desired(vec![input.clone()]);
    agent.until_applied(&input.desired).await;
    assert_eq!(cluster.get(CONFIG_MAP, ("default", "settings")).unwrap()["data"]["key"], "ours");
    agent.stop().await;
}

#[tokio::test(start_paused = true)]
async fn p14_a_rejected_object_reports_the_reason_and_the_others_of_its_rank_are_applied() {
    let cluster = cluster_without_controllers();
    cluster.faults().set_admission_rules(vec![kubesim::AdmissionRule {
        webhook: "policy.example.com".into(),
        kind: "ConfigMap".into(),
        name: "bad".into(),
        message: "names must be good".into(),
        ..Default::default()
    }]);
    let agent = start_agent(&cluster).await;
    let objects = vec![config_map("bad", "1"), config_map("good", "1"), service("web")];
    let input = present_input(1, 1, &bundle(objects), Policies::default());
    agent.engine.set_desired(vec![input.clone()]);
    let (report, message) =
        agent.until_stage_reason(release_id(1), StageName::Applied, "AdmissionRejected").await;
    assert!(message.contains("ConfigMap default/bad") && message.contains("names must be good"), "{message}");
    let applied: Vec<bool> = report.resources.iter().map(|resource| resource.applied).collect();
    assert_eq!(applied, [false, true, false], "a later rank is not applied before an earlier one");
    assert!(cluster.get(("v1", "Service"), ("default", "web")).is_none());
    assert_eq!(report.sync, SyncStatus::Applying);
    cluster.faults().clear();
    agent.until_applied(&input.desired).await;
    agent.stop().await;
}

#[tokio::test(start_paused = true)]
async fn s1_21_a_sync_is_reported_also_if_nothing_changed() {
    let cluster = cluster_without_controllers();
    let agent = start_agent(&cluster).await;
    let mut input = present_input(1, 1, &bundle(vec![config_map("settings", "1")]), Policies::default());
    agent.engine.set_desired(vec![input.clone()]);
    agent.until_operational(&input.desired).await;
    tokio::time::sleep(QUIET_TIME).await;
    let before = agent.reports(release_id(1));
    input.desired.sync_nonce += 1;
    agent.engine.set_desired(vec![input]);
    wait_until("reported again", || agent.reports(release_id(1)).len() > before.len()).await;
    assert_eq!(agent.reports(release_id(1)).last(), before.last());
    agent.stop().await;
}

#[tokio::test(start_paused = true)]
async fn g405_an_object_whose_webhook_rejects_dry_runs_is_compared_and_reported() {
    let cluster = cluster_without_controllers();
    cluster.faults().set_admission_rules(vec![kubesim::AdmissionRule {
        webhook: "audit.example.com".into(),
        kind: "ConfigMap".into(),
        no_dry_run: true,
        ..Default::default()
    }]);
    let agent = start_agent(&cluster).await;
    let content = bundle(vec![config_map("settings", "1"), service("web")]);
    let input = present_input(1, 1, &content, Policies::default());
    let plan = agent.engine.dry_run("shop", Some(release_id(1)), &input.desired.phase, &content).await;
    assert_eq!((plan.counts().create, plan.counts().unverified), (2, 1), "{plan:#?}");
    let [finding] = plan.findings.as_slice() else { panic!("{plan:#?}") };
    assert_eq!((finding.code.as_str(), finding.is_blocking()), ("G405", false));
    assert!(finding.message.starts_with("ConfigMap default/settings could not be dry-run: "), "{finding:?}");
    assert!(finding.message.contains("audit.example.com"), "{finding:?}");
    agent.engine.set_desired(vec![input.clone()]);
    agent.until_applied(&input.desired).await;
    agent.stop().await;
}

#[tokio::test(start_paused = true)]
async fn p12_a_failing_release_does_not_block_another() {
    let cluster = cluster_without_controllers();
    cluster.create(config_map("owned", "theirs"), "someone-else").unwrap();
    let agent = start_agent(&cluster).await;
    let failing = present_input(1, 1, &bundle(vec![config_map("owned", "ours")]), Policies::default());
    let independent = present_input(2, 1, &bundle(vec![config_map("free", "1")]), Policies::default());
    agent.engine.set_desired(vec![failing, independent.clone()]);
    agent.until_applied(&independent.desired).await;
    agent.until_stage_reason(release_id(1), StageName::Applied, "ApplyConflict").await;
    agent.stop().await;
}

#[tokio::test(start_paused = true)]
async fn two_releases_never_share_an_object() {
    let cluster = cluster_without_controllers();
    let agent = start_agent(&cluster).await;
    let first = present_input(1, 1, &bundle(vec![config_map("settings", "1")]), Policies::default());
    agent.engine.set_desired(vec![first.clone()]);
    agent.until_applied(&first.desired).await;
    let second = present_input(2, 1, &bundle(vec![config_map("settings", "2")]), Policies::default());
    agent.engine.set_desired(vec![first, second]);
    let (_, message) =
        agent.until_stage_reason(release_id(2), StageName::Preflight, "ResourceConflict").await;
    assert!(message.contains("shop1"), "{message}");
    assert_eq!(cluster.get(CONFIG_MAP, ("default", "settings")).unwrap()["data"]["key"], "1");
    agent.stop().await;
}

#[tokio::test(start_paused = true)]
async fn replicas_controlled_by_an_autoscaler_of_the_bundle_are_not_overwritten() {
    let cluster = cluster_without_controllers();
    let scaler = json!({"apiVersion": "autoscaling/v2", "kind": "HorizontalPodAutoscaler",
        "metadata": {"name": "web", "namespace": "default"},
        "spec": {"minReplicas": 1, "maxReplicas": 9,
            "scaleTargetRef": {"apiVersion": "apps/v1", "kind": "Deployment", "name": "web"}}});
    let agent = start_agent(&cluster).await;
    let first = present_input(
        1,
        1,
        &bundle(vec![deployment("web", 2, "nginx:1"), scaler.clone()]),
        Policies::default(),
    );
    agent.engine.set_desired(vec![first.clone()]);
    agent.until_applied(&first.desired).await;
    let scale = |object: &mut serde_json::Value| object["spec"]["replicas"] = 7.into();
    cluster.edit(DEPLOYMENT, ("default", "web"), "horizontal-pod-autoscaler", scale).unwrap();
    let second =
        present_input(1, 2, &bundle(vec![deployment("web", 2, "nginx:2"), scaler]), Policies::default());
    agent.engine.set_desired(vec![second.clone()]);
    agent.until_applied(&second.desired).await;
    let live = cluster.get(DEPLOYMENT, ("default", "web")).unwrap();
    assert_eq!(live["spec"]["replicas"], 7);
    assert_eq!(live["spec"]["template"]["spec"]["containers"][0]["image"], "nginx:2");
    assert!(agent.drift().is_empty());
    agent.stop().await;
}

#[tokio::test(start_paused = true)]
async fn g404_a_dry_run_reports_the_changes_and_writes_nothing() {
    let cluster = cluster_without_controllers();
    let agent = start_agent(&cluster).await;
    let input = present_input(1, 1, &bundle(vec![config_map("settings", "1")]), Policies::default());
    agent.engine.set_desired(vec![input.clone()]);
    agent.until_applied(&input.desired).await;
    wait_until("recorded", || cluster.list(RECORD, None)[0]["spec"]["applied"] != "").await;
    let version = cluster.resource_version();
    let mut widget = config_map("x", "1");
    widget["apiVersion"] = "example.com/v1".into();
    widget["kind"] = "Widget".into();
    let content = bundle(vec![config_map("settings", "2"), config_map("fresh", "1"), widget]);
    let plan = agent
        .engine
        .dry_run("shop", Some(release_id(1)), &present_phase(Policies::default()), &content)
        .await;
    let [changed, created, unknown] = plan.objects.as_slice() else { panic!("{plan:?}") };
    let PlannedAction::Change { fields, .. } = &changed.action else { panic!("{changed:?}") };
    assert_eq!(fields.len(), 1, "{fields:?}");
    assert_eq!(fields[0].path, "/data/key");
    assert_eq!(fields[0].desired, Some("2".into()));
    assert_eq!(created.action, PlannedAction::Create);
    assert!(
        matches!(&unknown.action, PlannedAction::Rejected { finding } if finding.code == "G401"),
        "{unknown:?}"
    );
    assert_eq!(cluster.resource_version(), version);
    agent.stop().await;
}

#[tokio::test(start_paused = true)]
async fn e_2_a_plan_does_not_create_read_only_objects() {
    let cluster = cluster_without_controllers();
    let agent = start_agent(&cluster).await;
    let rule = UpdateRule { strategy: UpdateStrategy::ReadOnly, ..UpdateRule::default() };
    let policies = Policies { update: vec![rule], ..Policies::default() };
    let content = bundle(vec![config_map("theirs", "1")]);
    let plan = agent.engine.dry_run("shop", Some(release_id(1)), &present_phase(policies), &content).await;
    assert_eq!(plan.objects[0].action, PlannedAction::Unchanged);
    assert!(plan.objects[0].unverified.contains("only observes it"), "{plan:?}");
    agent.stop().await;
}
