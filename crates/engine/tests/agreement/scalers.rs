//! Replicas that scalers set through the subresource `scale`, without a HorizontalPodAutoscaler.

use domain::plan::PlannedAction;
use domain::release::StageName;
use domain::report::{DriftOutcome, DriftReport};
use domain::workload::{ConflictPolicy, Policies};
use serde_json::{Value, json};

use crate::apply::definition;
use crate::test_env::*;

const SCALER: KindName = ("scaled.example.com/v1", "Scaler");

fn web(image: &str, replicas: u32) -> Value {
    let mut web = workload("Deployment", "web", None);
    web["spec"]["template"]["spec"]["containers"][0]["image"] = image.into();
    web["spec"]["replicas"] = replicas.into();
    web["metadata"]["labels"] = json!({"tier": "front"});
    web
}

async fn replicas(env: &TestEnv) -> Value {
    env.get(DEPLOYMENT, "web").await.unwrap()["spec"]["replicas"].clone()
}

/// Changes a label and waits until it is restored, which proves that the writes before were observed.
async fn change_label(env: &TestEnv) {
    let patch = json!({"metadata": {"labels": {"tier": "back"}}});
    env.merge_patch(DEPLOYMENT, "web", patch, "kubectl-edit").await;
    let is_healed =
        async || env.get(DEPLOYMENT, "web").await.unwrap()["metadata"]["labels"]["tier"] == "front";
    env.wait_until("healed", is_healed).await;
}

/// The reports about the replicas.
fn replica_reports(env: &TestEnv) -> Vec<DriftReport> {
    env.agent.drift().into_iter().filter(|note| note.fields == ["/spec/replicas"]).collect()
}

pub async fn p13_replicas_are_left_to_a_scaler_without_an_autoscaler_and_not_to_a_person(env: TestEnv) {
    env.set_present(vec![web("nginx:1", 2)], Policies::default());
    env.until_operational().await;
    env.scale(DEPLOYMENT, "web", 7, "keda-operator").await;
    change_label(&env).await;
    assert_eq!(replicas(&env).await, 7, "what a scaler sets is no drift");
    env.wait_until("reported", async || !replica_reports(&env).is_empty()).await;
    env.wait_for_report("in sync", |report| report.resources.iter().all(|one| one.drifted.is_empty())).await;

    let plan = env.dry_run(vec![web("nginx:2", 2)], Policies::default()).await;
    let PlannedAction::Change { fields, .. } = &plan.objects[0].action else { panic!("{plan:#?}") };
    assert_eq!(fields.len(), 1, "{fields:#?}");
    env.set_present(vec![web("nginx:2", 2)], Policies::default());
    env.until_applied().await;
    assert_eq!(replicas(&env).await, 7, "a publish leaves it too");
    env.scale(DEPLOYMENT, "web", 5, "keda-operator").await;
    change_label(&env).await;
    assert_eq!(replicas(&env).await, 5);
    let reports = replica_reports(&env);
    assert_eq!(reports.len(), 1, "a scaler is reported once: {reports:#?}");
    assert_eq!((reports[0].manager.as_str(), reports[0].outcome), ("keda-operator", DriftOutcome::Found));

    if env.kubectl(&["scale", "deployment/web", "--replicas=9"]).await.is_none() {
        env.scale(DEPLOYMENT, "web", 9, "kubectl").await;
    }
    env.wait_until("reverted", async || replicas(&env).await == 2).await;
    env.wait_until("reported", async || replica_reports(&env).len() == 2).await;
    let report = replica_reports(&env).remove(1);
    assert_eq!((report.manager.as_str(), report.outcome), ("kubectl", DriftOutcome::Healed));
}

pub async fn p13_an_adopted_object_has_the_replicas_that_its_scaler_set(env: TestEnv) {
    env.create(web("nginx:1", 2), "kubectl-create").await;
    env.scale(DEPLOYMENT, "web", 7, "keda-operator").await;
    let plan = env.dry_run(vec![web("nginx:1", 2)], Policies::default()).await;
    let action = &plan.objects[0].action;
    assert!(!matches!(action, PlannedAction::Rejected { .. }), "{plan:#?}");
    assert!(!format!("{action:?}").contains("replicas"), "{plan:#?}");
    env.set_present(vec![web("nginx:1", 2)], Policies::default());
    env.until_applied().await;
    assert_eq!(replicas(&env).await, 7);
    // Force is for conflicts with managers that own other fields of the manifest.
    let force = Policies { conflict: ConflictPolicy::Force, ..Policies::default() };
    env.set_present(vec![web("nginx:2", 2)], force);
    env.until_applied().await;
    assert_eq!(replicas(&env).await, 7);
}

/// Applies the Deployment with 4 replicas and a scaler of a custom kind, which then sets them to `scaled`. Returns the definition of
/// the kind.
async fn apply_scaled(env: &TestEnv, scaler: KindName, scaled: u32) -> Value {
    let mut kind = definition(scaler.0.trim_end_matches("/v1"), scaler.1);
    let schema = &mut kind["spec"]["versions"][0]["schema"]["openAPIV3Schema"]["properties"]["spec"];
    schema["x-kubernetes-preserve-unknown-fields"] = true.into();
    let object = json!({"apiVersion": scaler.0, "kind": scaler.1, "metadata": {"name": "web"},
        "spec": {"scaleTargetRef": {"name": "web"}}});
    env.set_present(vec![kind.clone(), object, web("nginx:1", 4)], Policies::default());
    env.until_applied().await;
    assert_eq!(replicas(env).await, 4);
    let is_recorded = async || {
        env.record().await.is_some_and(|record| {
            let entries = record["spec"]["resources"].as_array().unwrap();
            let scaled = entries.iter().any(|entry| entry["kind"] == "Deployment" && entry["scaled"] == true);
            scaled && entries.iter().all(|entry| entry["uid"].is_string())
        })
    };
    env.wait_until("recorded", is_recorded).await;
    env.scale(DEPLOYMENT, "web", scaled, "scaler").await;
    change_label(env).await;
    assert_eq!(replicas(env).await, scaled);
    kind
}

pub async fn p13_replicas_are_taken_back_from_a_scaler_of_any_kind_that_a_revision_drops(env: TestEnv) {
    let kind = apply_scaled(&env, SCALER, 7).await;
    env.wait_until("reported", async || !env.agent.drift().is_empty()).await;
    let drift = env.agent.drift();
    assert!(drift.iter().all(|note| note.fields == ["/metadata/labels/tier"]), "{drift:#?}");

    let dropped = || vec![kind.clone(), web("nginx:1", 3)];
    let plan = env.dry_run(dropped(), Policies::default()).await;
    let planned = plan.objects.iter().find(|planned| planned.object.kind == "Deployment").unwrap();
    let PlannedAction::Rejected { finding } = &planned.action else { panic!("{plan:#?}") };
    assert!(finding.code == "G409" && finding.message.contains("spec.replicas"), "{finding:#?}");
    assert!(finding.message.contains("scaler"), "the scaler is named: {finding:#?}");
    env.set_present(dropped(), Policies::default());
    let (_, message) = env.until_stage_reason(StageName::Applied, "ApplyConflict").await;
    assert!(message.contains("scaler"), "{message}");
    assert_eq!(replicas(&env).await, 7, "a publish without force takes nothing");
    let force = Policies { conflict: ConflictPolicy::Force, ..Policies::default() };
    env.set_present(dropped(), force);
    env.wait_until("taken back", async || {
        replicas(&env).await == 3 && env.get(SCALER, "web").await.is_none()
    })
    .await;
}

pub async fn p13_an_unchanged_number_is_no_drift_of_the_revision_that_drops_its_scaler(env: TestEnv) {
    let scaler = ("unchanged.example.com/v1", "Scaler");
    let kind = apply_scaled(&env, scaler, 7).await;
    let dropped = || vec![kind.clone(), web("nginx:1", 4)];
    let plan = env.dry_run(dropped(), Policies::default()).await;
    let planned = plan.objects.iter().find(|planned| planned.object.kind == "Deployment").unwrap();
    let PlannedAction::Rejected { finding } = &planned.action else { panic!("{plan:#?}") };
    assert!(finding.code == "G409" && finding.message.contains("scaler"), "{finding:#?}");
    env.set_present(dropped(), Policies::default());
    let (_, message) = env.until_stage_reason(StageName::Applied, "ApplyConflict").await;
    assert!(message.contains("scaler"), "{message}");
    assert_eq!(replicas(&env).await, 7, "a publish without force takes nothing");
    assert!(replica_reports(&env).is_empty(), "{:#?}", env.agent.drift());
    env.set_present(dropped(), Policies { conflict: ConflictPolicy::Force, ..Policies::default() });
    env.wait_until("taken back", async || {
        replicas(&env).await == 4 && env.get(scaler, "web").await.is_none()
    })
    .await;
}

pub async fn p13_a_number_that_a_dropped_scaler_still_owns_is_a_conflict_of_every_later_revision(
    env: TestEnv,
) {
    let scaler = ("owned.example.com/v1", "Scaler");
    let kind = apply_scaled(&env, scaler, 3).await;
    // The number of the manifest is that of the scaler: both own it.
    env.set_present(vec![kind.clone(), web("nginx:1", 3)], Policies::default());
    env.until_applied().await;
    env.wait_until("dropped", async || env.get(scaler, "web").await.is_none()).await;
    let later = || vec![kind.clone(), web("nginx:1", 5)];
    let plan = env.dry_run(later(), Policies::default()).await;
    let planned = plan.objects.iter().find(|planned| planned.object.kind == "Deployment").unwrap();
    let PlannedAction::Rejected { finding } = &planned.action else { panic!("{plan:#?}") };
    assert!(finding.code == "G409" && finding.message.contains("scaler"), "{finding:#?}");
    env.set_present(later(), Policies::default());
    let (_, message) = env.until_stage_reason(StageName::Applied, "ApplyConflict").await;
    assert!(message.contains("scaler"), "{message}");
    assert_eq!(replicas(&env).await, 3);
    env.set_present(later(), Policies { conflict: ConflictPolicy::Force, ..Policies::default() });
    env.wait_until("taken back", async || replicas(&env).await == 5).await;
}
