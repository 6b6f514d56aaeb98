//! Hooks of charts: order, installation and upgrade, failures, delete policies.

use std::sync::{Arc, Mutex};

use domain::bundle::Bundle;
use domain::health::HealthStatus;
use domain::policy::{DeletionPolicy, Policies};
use domain::release::{StageName, SyncStatus};
use domain::report::ReleaseReport;
use kubesim::SimCluster;
use serde_json::{Value, json};

use crate::harness::*;

const JOB: (&str, &str) = ("batch/v1", "Job");

/// A hook that is a Job, with these annotations beside its events.
pub fn hook_job(name: &str, events: &str, image: &str, annotations: &[(&str, &str)]) -> Value {
    let mut job = json!({"apiVersion": "batch/v1", "kind": "Job",
        "metadata": {"name": name, "namespace": "default", "annotations": {"helm.sh/hook": events}},
        "spec": {"backoffLimit": 0, "template": {"spec": {"restartPolicy": "Never",
            "containers": [{"name": "main", "image": image}]}}}});
    for (key, value) in annotations {
        job["metadata"]["annotations"][key] = (*value).into();
    }
    job
}

fn hook_account(name: &str, events: &str) -> Value {
    json!({"apiVersion": "v1", "kind": "ServiceAccount", "metadata": {"name": name, "namespace": "default",
        "annotations": {"helm.sh/hook": events, "helm.sh/hook-delete-policy": "hook-succeeded,before-hook-creation"}}})
}

pub fn chart(objects: Vec<Value>, mut hooks: Vec<Value>) -> Arc<Bundle> {
    domain::chart_hook::sort_hooks(&mut hooks);
    Arc::new(Bundle::new(objects).with_hooks(hooks))
}

/// The uid of a job; `None` if there is none.
pub fn job_uid(cluster: &SimCluster, name: &str) -> Option<String> {
    cluster.get(JOB, ("default", name)).map(|job| job["metadata"]["uid"].as_str().unwrap().to_owned())
}

pub fn has_config(cluster: &SimCluster, value: &str) -> bool {
    cluster.get(CONFIG_MAP, ("default", "a")).is_some_and(|found| found["data"]["key"] == value)
}

/// Names of the created objects and completed jobs, in order.
fn log_changes(cluster: &SimCluster) -> Arc<Mutex<Vec<String>>> {
    let log = Arc::new(Mutex::new(Vec::new()));
    let written = log.clone();
    cluster.observe_changes(move |change| {
        let (kind, name) = (change.object["kind"].as_str().unwrap(), &change.object["metadata"]["name"]);
        let is_built_in = ["default", "kube-root-ca.crt"].iter().any(|built_in| name == built_in);
        if is_built_in || !["Job", "ServiceAccount", "ConfigMap"].contains(&kind) {
            return;
        }
        let what = match (change.is_deleted, change.object["status"]["succeeded"].as_i64()) {
            (true, _) => "deleted",
            (false, Some(1)) => "succeeded",
            (false, _) => "created",
        };
        let entry = format!("{} {what}", name.as_str().unwrap());
        let mut log: std::sync::MutexGuard<'_, Vec<String>> = written.lock().unwrap();
        if !log.contains(&entry) {
            log.push(entry);
        }
    });
    log
}

pub async fn until_complete(agent: &TestAgent, generation: i64) -> ReleaseReport {
    let is_complete = |report: &ReleaseReport| {
        report.generation == generation
            && report.sync == SyncStatus::Synced
            && is_done(report, StageName::Operational)
    };
    agent.wait_for_report(release_id(1), "complete", is_complete).await
}

#[tokio::test(start_paused = true)]
async fn s4_4_hooks_run_in_order_and_each_job_completes_before_the_next() {
    let cluster = simulated_cluster();
    let log = log_changes(&cluster);
    let agent = start_agent(&cluster).await;
    let hooks = vec![
        hook_job("after", "post-install,post-upgrade", "tool:1", &[]),
        hook_job("second", "pre-install", "tool:1", &[("helm.sh/hook-weight", "5")]),
        hook_job("first", "pre-install", "tool:1", &[]),
        hook_job("upgrade", "pre-upgrade", "tool:1", &[]),
        hook_account("account", "pre-install,pre-upgrade"),
    ];
    let input = present_input(1, 1, &chart(vec![config_map("a", "1")], hooks.clone()), Policies::default());
    agent.engine.set_desired(vec![input.clone()]);
    let report = until_complete(&agent, 1).await;
    assert_eq!(report.health.status, HealthStatus::Healthy);
    assert_eq!(report.resources.len(), 1, "hooks that have succeeded are not listed: {report:?}");
    let expected = [
        "account created",
        "first created",
        "first succeeded",
        "second created",
        "second succeeded",
        "account deleted",
        "a created",
        "after created",
        "after succeeded",
    ];
    assert_eq!(*log.lock().unwrap(), expected);
    assert!(agent.reports(release_id(1)).iter().any(|report| {
        let state = stage_state(report, StageName::Applied);
        format!("{state:?}").contains("Hook pre-install Job default/first")
    }));

    // The plan of the upgrade lists them; that of the same bundle does not.
    let upgrade = chart(vec![config_map("a", "2")], hooks);
    let mut planned = Vec::new();
    for content in [&upgrade, input.bundle.as_ref().unwrap()] {
        let phase = present_phase(Policies::default());
        let plan = agent.engine.dry_run("shop1", Some(release_id(1)), &phase, content).await;
        planned.push(plan.objects.into_iter().map(|change| change.object.name).collect::<Vec<_>>());
    }
    assert_eq!(planned, [vec!["a", "account", "after", "upgrade"], vec!["a"]]);

    // An upgrade runs the hooks of an upgrade, and the one of both events again.
    log.lock().unwrap().clear();
    let (first, after) = (job_uid(&cluster, "first"), job_uid(&cluster, "after"));
    let upgrade = present_input(1, 2, &upgrade, Policies::default());
    agent.engine.set_desired(vec![upgrade.clone()]);
    until_complete(&agent, 2).await;
    let log = log.lock().unwrap().clone();
    let at = |entry: &str| {
        log.iter().position(|found| found == entry).unwrap_or_else(|| panic!("{entry}: {log:?}"))
    };
    assert!(
        at("account created") < at("upgrade created") && at("upgrade succeeded") < at("a created"),
        "{log:?}"
    );
    assert!(at("a created") < at("after deleted") && at("after deleted") < at("after succeeded"), "{log:?}");
    assert!(job_uid(&cluster, "first") == first && job_uid(&cluster, "after") != after);
    agent.stop().await;
}

#[tokio::test(start_paused = true)]
async fn s4_4_the_same_bundle_runs_no_hook_again_also_not_in_another_process_or_by_a_sync() {
    let cluster = simulated_cluster();
    let agent = start_agent(&cluster).await;
    let hooks = vec![
        hook_job("kept", "pre-install,pre-upgrade", "tool:1", &[]),
        hook_job("gone", "post-install", "tool:1", &[("helm.sh/hook-delete-policy", "hook-succeeded")]),
    ];
    let input = present_input(1, 1, &chart(vec![config_map("a", "1")], hooks), Policies::default());
    agent.engine.set_desired(vec![input.clone()]);
    until_complete(&agent, 1).await;
    wait_until("deleted", || job_uid(&cluster, "gone").is_none()).await;
    let kept = job_uid(&cluster, "kept");
    agent.stop().await;
    let log = log_changes(&cluster);
    let successor = start_agent(&cluster).await;
    let mut synced = input;
    synced.desired.sync_nonce = 1;
    synced.desired.generation = 2;
    successor.engine.set_desired(vec![synced]);
    until_complete(&successor, 2).await;
    // A hook that has succeeded is not reverted, nor created again.
    cluster.delete(JOB, ("default", "kept")).unwrap();
    tokio::time::sleep(QUIET_TIME).await;
    assert_eq!(*log.lock().unwrap(), ["kept deleted"]);
    assert!(kept.is_some() && successor.drift().is_empty());
    assert_eq!(successor.report(release_id(1)).unwrap().health.status, HealthStatus::Healthy);
    successor.stop().await;
}

#[tokio::test(start_paused = true)]
async fn s4_4_a_failed_hook_stops_the_release_with_its_cause_is_retried_and_a_new_revision_resumes() {
    let cluster = simulated_cluster();
    cluster.faults().set_crashing_images(vec!["broken".into()]);
    let agent = start_agent(&cluster).await;
    let chart_with = |image: &str| {
        let hooks = vec![
            hook_job("done", "pre-install", "tool:1", &[("helm.sh/hook-weight", "-1")]),
            hook_job("migrate", "pre-install", image, &[]),
        ];
        chart(vec![config_map("a", "1")], hooks)
    };
    agent.engine.set_desired(vec![present_input(1, 1, &chart_with("broken:1"), Policies::default())]);
    let (report, message) = agent.until_stage_reason(release_id(1), StageName::Applied, "HookFailed").await;
    assert!(message.starts_with("Hook pre-install Job default/migrate: "), "{message}");
    assert!(message.contains("backoff limit"), "{message}");
    assert!(cluster.get(CONFIG_MAP, ("default", "a")).is_none(), "nothing else is applied");
    let listed = report.resources.iter().find(|resource| resource.object.name == "migrate").unwrap();
    assert_eq!(listed.health.status, HealthStatus::Degraded);
    assert_eq!(report.applied, None);
    let first = job_uid(&cluster, "migrate");
    let is_second = || job_uid(&cluster, "migrate").is_some_and(|uid| Some(uid) != first);
    wait_until("created again", is_second).await;
    let is_counted = |report: &ReleaseReport| {
        stage_state(report, StageName::Applied)
            .and_then(|state| state.reason())
            .is_some_and(|r| r.attempts >= 2)
    };
    agent.wait_for_report(release_id(1), "failed twice", is_counted).await;

    let done = job_uid(&cluster, "done");
    agent.engine.set_desired(vec![present_input(1, 2, &chart_with("tool:2"), Policies::default())]);
    until_complete(&agent, 2).await;
    assert!(has_config(&cluster, "1"));
    assert_eq!(
        job_uid(&cluster, "done"),
        done,
        "a hook that succeeded in this installation does not run again"
    );
    agent.stop().await;
}

#[tokio::test(start_paused = true)]
async fn s4_4_a_failed_hook_of_an_upgrade_leaves_the_running_version() {
    let cluster = simulated_cluster();
    cluster.faults().set_crashing_images(vec!["broken".into()]);
    let agent = start_agent(&cluster).await;
    let chart_with = |value: &str, image: &str| {
        let policy = [("helm.sh/hook-delete-policy", "hook-failed")];
        chart(vec![config_map("a", value)], vec![hook_job("migrate", "pre-upgrade", image, &policy)])
    };
    agent.engine.set_desired(vec![present_input(1, 1, &chart_with("1", "broken:1"), Policies::default())]);
    until_complete(&agent, 1).await;
    assert_eq!(job_uid(&cluster, "migrate"), None, "an installation does not run it");
    agent.engine.set_desired(vec![present_input(1, 2, &chart_with("2", "broken:1"), Policies::default())]);
    agent.until_stage_reason(release_id(1), StageName::Applied, "HookFailed").await;
    wait_until("deleted by its policy", || job_uid(&cluster, "migrate").is_none()).await;
    assert!(has_config(&cluster, "1"), "the running version stays");
    agent.engine.set_desired(vec![present_input(1, 3, &chart_with("2", "tool:1"), Policies::default())]);
    until_complete(&agent, 3).await;
    assert!(has_config(&cluster, "2"));
    agent.stop().await;
}

#[tokio::test(start_paused = true)]
async fn s4_4_a_hook_that_runs_while_the_agent_restarts_is_not_run_twice() {
    let cluster = SimCluster::new(kubesim::SimOptions {
        job_run: std::time::Duration::from_secs(5),
        ..kubesim::SimOptions::default()
    });
    let agent = start_agent(&cluster).await;
    let content = chart(vec![config_map("a", "1")], vec![hook_job("migrate", "pre-install", "tool:1", &[])]);
    let input = present_input(1, 1, &content, Policies::default());
    agent.engine.set_desired(vec![input.clone()]);
    wait_until("created", || job_uid(&cluster, "migrate").is_some()).await;
    agent.stop().await;
    let uid = job_uid(&cluster, "migrate");
    let successor = start_agent(&cluster).await;
    successor.engine.set_desired(vec![input]);
    until_complete(&successor, 1).await;
    assert_eq!(job_uid(&cluster, "migrate"), uid);
    successor.stop().await;
}

#[tokio::test(start_paused = true)]
async fn s4_4_the_objects_of_hooks_are_removed_with_the_release_and_those_of_others_never() {
    let cluster = simulated_cluster();
    let agent = start_agent(&cluster).await;
    let mut theirs = hook_job("theirs", "", "tool:1", &[]);
    theirs["metadata"]["annotations"] = json!({});
    cluster.create(theirs, "kubectl").unwrap();
    let before = job_uid(&cluster, "theirs");
    let hook = |name: &str| hook_job(name, "pre-install", "tool:1", &[]);
    let blocked = chart(vec![config_map("a", "1")], vec![hook("mine"), hook("theirs")]);
    agent.engine.set_desired(vec![present_input(1, 1, &blocked, Policies::default())]);
    let (_, message) = agent.until_stage_reason(release_id(1), StageName::Applied, "HookFailed").await;
    assert!(message.contains("does not belong to the release"), "{message}");
    assert_eq!(job_uid(&cluster, "theirs"), before);
    let fixed = chart(vec![config_map("a", "1")], vec![hook("mine"), hook("renamed")]);
    agent.engine.set_desired(vec![present_input(1, 2, &fixed, Policies::default())]);
    until_complete(&agent, 2).await;
    agent.engine.set_desired(vec![absent_input(1, 3, DeletionPolicy::Foreground)]);
    agent.wait_for_report(release_id(1), "gone", |report| report.removed).await;
    assert_eq!([job_uid(&cluster, "mine"), job_uid(&cluster, "renamed")], [None, None]);
    assert_eq!(job_uid(&cluster, "theirs"), before);
    agent.stop().await;
}

#[tokio::test(start_paused = true)]
async fn s4_4_hooks_of_the_removal_run_before_and_after_the_objects_are_deleted_also_in_another_process() {
    let cluster = simulated_cluster();
    let agent = start_agent(&cluster).await;
    let policy = [("helm.sh/hook-delete-policy", "hook-succeeded")];
    let hooks = vec![
        hook_job("backup", "pre-delete", "tool:1", &[]),
        hook_job("clean", "post-delete", "tool:1", &policy),
        hook_job("farewell", "post-delete", "tool:1", &[("helm.sh/hook-weight", "1")]),
    ];
    let content = chart(vec![config_map("a", "1")], hooks);
    agent.engine.set_desired(vec![present_input(1, 1, &content, Policies::default())]);
    until_complete(&agent, 1).await;
    wait_until("recorded", || cluster.list(RECORD, None)[0]["spec"]["applied"] != "").await;
    assert_eq!(job_uid(&cluster, "backup"), None);
    agent.stop().await;

    // The successor never sees the bundle.
    let log = log_changes(&cluster);
    let successor = start_agent(&cluster).await;
    let phase = absent_input(1, 2, DeletionPolicy::Foreground);
    let plan = successor.engine.dry_run("shop1", Some(release_id(1)), &phase.desired.phase, &content).await;
    let planned: Vec<&str> = plan.objects.iter().map(|change| change.object.name.as_str()).collect();
    assert_eq!(planned, ["a", "backup", "clean", "farewell"]);
    successor.engine.set_desired(vec![phase]);
    successor.wait_for_report(release_id(1), "gone", |report| report.removed).await;
    let expected = [
        "backup created",
        "backup succeeded",
        "backup deleted",
        "a deleted",
        "clean created",
        "clean succeeded",
        "farewell created",
        "farewell succeeded",
        "clean deleted",
        "farewell deleted",
    ];
    assert_eq!(*log.lock().unwrap(), expected);
    assert!(cluster.list(RECORD, None).is_empty() && cluster.list(JOB, None).is_empty());
    successor.stop().await;
}

#[tokio::test(start_paused = true)]
async fn s4_4_a_failed_hook_of_the_removal_deletes_nothing_and_an_orphaned_release_runs_none() {
    let cluster = simulated_cluster();
    cluster.faults().set_crashing_images(vec!["broken".into()]);
    let agent = start_agent(&cluster).await;
    let content = chart(vec![config_map("a", "1")], vec![hook_job("backup", "pre-delete", "broken:1", &[])]);
    agent.engine.set_desired(vec![present_input(1, 1, &content, Policies::default())]);
    until_complete(&agent, 1).await;
    agent.engine.set_desired(vec![absent_input(1, 2, DeletionPolicy::Foreground)]);
    let (_, message) = agent.until_stage_reason(release_id(1), StageName::Pruned, "HookFailed").await;
    assert!(message.starts_with("Hook pre-delete Job default/backup: "), "{message}");
    assert!(has_config(&cluster, "1"));
    agent.engine.set_desired(vec![absent_input(1, 3, DeletionPolicy::Orphan)]);
    agent.wait_for_report(release_id(1), "gone", |report| report.removed).await;
    assert!(has_config(&cluster, "1"));

    // Published again, it is an installation.
    let again = chart(vec![config_map("b", "2")], vec![hook_job("create", "pre-install", "tool:1", &[])]);
    agent.engine.set_desired(vec![present_input(1, 4, &again, Policies::default())]);
    until_complete(&agent, 4).await;
    assert!(job_uid(&cluster, "create").is_some());
    agent.stop().await;
}

#[tokio::test(start_paused = true)]
async fn s4_4_a_hook_whose_job_is_deleted_as_soon_as_it_has_finished_runs_once() {
    let cluster = simulated_cluster();
    let uids = Arc::new(Mutex::new(std::collections::BTreeSet::new()));
    let seen = uids.clone();
    cluster.observe_changes(move |change| {
        if change.object["kind"] == "Job" {
            seen.lock().unwrap().insert(change.object["metadata"]["uid"].to_string());
        }
    });
    let agent = start_agent(&cluster).await;
    let mut job = hook_job("migrate", "pre-install", "tool:1", &[]);
    job["spec"]["ttlSecondsAfterFinished"] = 0.into();
    let input = present_input(1, 1, &chart(vec![config_map("a", "1")], vec![job]), Policies::default());
    agent.engine.set_desired(vec![input]);
    until_complete(&agent, 1).await;
    assert_eq!(uids.lock().unwrap().len(), 1);
    agent.stop().await;
}
