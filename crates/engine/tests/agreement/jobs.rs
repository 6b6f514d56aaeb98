//! A Job that a new revision changes: planned, replaced once it has ended, or refused by policy.

use domain::health::HealthStatus::Healthy;
use domain::plan::PlannedAction;
use domain::policy::{ChangedJobsPolicy, ConflictPolicy, Policies};
use domain::release::StageName;
use serde_json::{Value, json};

use crate::test_env::*;

fn job(image: &str) -> Value {
    let mut template = template("once", None);
    template["spec"]["restartPolicy"] = "Never".into();
    template["spec"]["containers"][0]["image"] = image.into();
    json!({"apiVersion": "batch/v1", "kind": "Job", "metadata": {"name": "once"},
        "spec": {"backoffLimit": 0, "template": template}})
}

async fn image_and_uid(env: &TestEnv) -> (Value, Value) {
    let live = env.get(JOB, "once").await.unwrap();
    let image = live.pointer("/spec/template/spec/containers/0/image").unwrap().clone();
    (image, live["metadata"]["uid"].clone())
}

/// Publishes the job and waits until it has completed.
async fn complete_job(env: &TestEnv, image: &str) -> Value {
    env.set_present(vec![job(image)], Policies::default());
    env.until_operational().await;
    env.until_health("once", Healthy, "Completed").await;
    let (live, uid) = image_and_uid(env).await;
    assert_eq!(live, image);
    uid
}

pub async fn a_changed_job_is_planned_as_replaced_and_runs_again(env: TestEnv) {
    let first = complete_job(&env, "nginx:1").await;
    let plan = env.dry_run(vec![job("nginx:2")], Policies::default()).await;
    let PlannedAction::Replace { fields, .. } = &plan.objects[0].action else { panic!("{plan:#?}") };
    assert_eq!(fields[0].path, "/spec/template/spec/containers[name=web]/image");
    assert_eq!((plan.counts().replace, plan.counts().unverified), (1, 0));
    assert_eq!(image_and_uid(&env).await.1, first, "a plan writes nothing");
    let second = complete_job(&env, "nginx:2").await;
    assert_ne!(first, second);
    let plan = env.dry_run(vec![job("nginx:2")], Policies::default()).await;
    assert!(plan.is_no_op(), "{plan:#?}");
    // Without its label a change of fields that are not immutable does not run it again.
    let mut labelled = job("nginx:2");
    labelled["metadata"]["labels"] = json!({"team": "a"});
    env.set_present(vec![labelled], Policies::default());
    env.until_operational().await;
    assert_eq!(env.get(JOB, "once").await.unwrap()["metadata"]["labels"]["team"], "a");
    assert_eq!(image_and_uid(&env).await.1, second);
}

pub async fn a_changed_job_that_runs_is_replaced_after_its_end(env: TestEnv) {
    let mut endless = job("nginx:1");
    endless["spec"]["template"]["spec"]["nodeSelector"] = json!({"disk": "none"});
    env.set_present(vec![endless], Policies::default());
    env.until_applied().await;
    let is_active = async || env.get(JOB, "once").await.unwrap()["status"]["active"] == 1;
    env.wait_until("active", is_active).await;
    let (_, uid) = image_and_uid(&env).await;
    env.set_present(vec![job("nginx:2")], Policies::default());
    let (report, message) = env.until_stage_reason(StageName::Applied, "JobRunning").await;
    assert!(message.contains("runs again once it has ended"), "{message}");
    assert_eq!(report.applied, None);
    assert_eq!(image_and_uid(&env).await.1, uid, "a running job is not interrupted");
    env.merge_patch(JOB, "once", json!({"spec": {"activeDeadlineSeconds": 1}}), "test").await;
    env.until_operational().await;
    assert_eq!(image_and_uid(&env).await.0, "nginx:2");
}

pub async fn g406_a_changed_job_is_rejected_by_plan_and_publish_if_the_policy_refuses_it(env: TestEnv) {
    let uid = complete_job(&env, "nginx:1").await;
    let refusing = Policies { changed_jobs: ChangedJobsPolicy::Refuse, ..Policies::default() };
    let plan = env.dry_run(vec![job("nginx:2")], refusing.clone()).await;
    let finding = plan.findings().next().unwrap();
    assert_eq!(finding.code, "G406");
    assert!(finding.message.contains("field spec.template cannot be changed"), "{}", finding.message);
    env.set_present(vec![job("nginx:2")], refusing);
    let (report, message) = env.until_stage_reason(StageName::Applied, "ImmutableField").await;
    assert!(message.contains("spec.template"), "{message}");
    assert_eq!(report.applied, None, "the revision does not run");
    assert_eq!(image_and_uid(&env).await, ("nginx:1".into(), uid));
}

pub async fn i5_a_job_of_another_party_with_a_copied_label_is_not_replaced(env: TestEnv) {
    let settings = config_map("settings", "1");
    env.set_present(vec![settings.clone()], Policies::default());
    env.until_operational().await;
    let mut theirs = job("nginx:1");
    theirs["metadata"]["labels"] =
        env.get(CONFIG_MAP, "settings").await.unwrap()["metadata"]["labels"].clone();
    env.create(theirs, "operator").await;
    let has_ended = async || env.get(JOB, "once").await.unwrap()["status"]["succeeded"] == 1;
    env.wait_until("ended", has_ended).await;
    let before = image_and_uid(&env).await;
    let force = Policies { conflict: ConflictPolicy::Force, ..Policies::default() };
    let objects = vec![settings, job("nginx:2")];
    let plan = env.dry_run(objects.clone(), force.clone()).await;
    assert_eq!(plan.findings().next().map(|finding| finding.code.as_str()), Some("G406"), "{plan:#?}");
    env.set_present(objects, force);
    let (report, _) = env.until_stage_reason(StageName::Applied, "ImmutableField").await;
    assert_eq!(report.applied, None);
    assert_eq!(image_and_uid(&env).await, before, "a forced publish takes over fields, it deletes nothing");
}

pub async fn g406_every_immutable_field_is_named(env: TestEnv) {
    let before = workload("StatefulSet", "db", None);
    env.set_present(vec![before.clone()], Policies::default());
    env.until_operational().await;
    let mut after = before;
    after["spec"]["serviceName"] = "other".into();
    after["spec"]["podManagementPolicy"] = "Parallel".into();
    after["spec"]["replicas"] = 3.into();
    let plan = env.dry_run(vec![after.clone()], Policies::default()).await;
    let named = "fields spec.podManagementPolicy, spec.serviceName cannot be changed";
    let message = &plan.findings().next().unwrap().message;
    assert!(message.contains(named), "{message}");
    env.set_present(vec![after], Policies::default());
    let (report, message) = env.until_stage_reason(StageName::Applied, "ImmutableField").await;
    assert!(message.contains(named), "{message}");
    let reason = stage_state(&report, StageName::Applied).and_then(|state| state.reason()).unwrap();
    assert_eq!(reason.next_retry, None, "no time is shown at which another attempt could succeed");
    env.delete(("apps/v1", "StatefulSet"), "db").await;
    env.until_applied().await;
    let live = env.get(("apps/v1", "StatefulSet"), "db").await.unwrap();
    assert_eq!(live["spec"]["serviceName"], "other");
}
