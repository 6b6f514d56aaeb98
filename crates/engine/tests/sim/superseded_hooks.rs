//! Hooks that still run when a newer revision is published or the release is removed.

use std::sync::{Arc, Mutex};
use std::time::Duration;

use domain::health::HealthStatus;
use domain::plan::PlannedAction;
use domain::policy::{DeletionPolicy, Policies};
use domain::report::{ReleaseReport, ResourceStatus};
use kubesim::SimCluster;
use serde_json::Value;

use crate::harness::*;
use crate::hooks::{chart, has_config, hook_job, job_uid, until_complete};

const JOB: (&str, &str) = ("batch/v1", "Job");
const POD: (&str, &str) = ("v1", "Pod");
/// The annotation with which an object stays on the cluster.
const KEEP: (&str, &str) = ("helm.sh/resource-policy", "keep");
/// Longer than any test.
const NEVER: Duration = Duration::from_secs(864_000);

/// Kind, uid, and whether it is a deletion, of every write of a Job or Pod.
type Changes = Arc<Mutex<Vec<(String, String, bool)>>>;

fn log_jobs_and_pods(cluster: &SimCluster) -> Changes {
    let log = Changes::default();
    let written = log.clone();
    cluster.observe_changes(move |change| {
        let text = |value: &Value| value.as_str().unwrap_or_default().to_owned();
        let (kind, uid) = (text(&change.object["kind"]), text(&change.object["metadata"]["uid"]));
        if kind == "Job" || kind == "Pod" {
            written.lock().unwrap().push((kind, uid, change.is_deleted));
        }
    });
    log
}

/// Position of the first write of which this is true, by uid and whether it is a deletion.
fn position(log: &[(String, String, bool)], is_it: impl Fn(&str, bool) -> bool) -> usize {
    log.iter().position(|(_, uid, is_deleted)| is_it(uid, *is_deleted)).unwrap()
}

/// Waits until the hook `migrate`, whose pods do not start, has a pod on a node; returns the uid of its Job.
async fn until_migrate_runs(cluster: &SimCluster) -> String {
    let has_started = || {
        job_uid(cluster, "migrate").is_some()
            && cluster.list(POD, None).iter().any(|pod| {
                let is_of_hook =
                    pod["metadata"]["name"].as_str().is_some_and(|name| name.starts_with("migrate"));
                is_of_hook && pod["spec"]["nodeName"].is_string()
            })
    };
    wait_until("the hook runs", has_started).await;
    job_uid(cluster, "migrate").unwrap()
}

fn let_migrate_hang(cluster: &SimCluster, hangs: bool) {
    let rules = if hangs { vec![("migrate".to_owned(), NEVER)] } else { Vec::new() };
    cluster.faults().set_slow_start(rules);
}

#[tokio::test(start_paused = true)]
async fn s4_4_a_hook_that_hangs_ends_with_its_pods_before_the_run_of_the_next_revision_starts() {
    let cluster = simulated_cluster();
    let log = log_jobs_and_pods(&cluster);
    let_migrate_hang(&cluster, true);
    let agent = start_agent(&cluster).await;
    let revision = |value: &str, image: &str| {
        // It runs before the other one, and must not run beside it either.
        let prepare = hook_job("prepare", "pre-install", image, &[("helm.sh/hook-weight", "-1")]);
        chart(vec![config_map("a", value)], vec![prepare, hook_job("migrate", "pre-install", image, &[])])
    };
    agent.engine.set_desired(vec![present_input(1, 1, &revision("1", "tool:1"), Policies::default())]);
    let first = until_migrate_runs(&cluster).await;
    let prepared = job_uid(&cluster, "prepare").unwrap();
    let_migrate_hang(&cluster, false);
    agent.engine.set_desired(vec![present_input(1, 2, &revision("2", "tool:2"), Policies::default())]);
    until_complete(&agent, 2).await;
    assert!(has_config(&cluster, "2"));
    let second = job_uid(&cluster, "migrate").unwrap();
    let again = job_uid(&cluster, "prepare").unwrap();
    assert!(first != second && prepared != again);
    let log = log.lock().unwrap().clone();
    let ended = position(&log, |uid, is_deleted| uid == first && is_deleted);
    let pods = log[..=ended].iter().filter(|(kind, _, is_deleted)| kind == "Pod" && *is_deleted);
    assert!(pods.count() >= 1, "its pod is gone before it is: {log:?}");
    for next in [again, second] {
        let started = position(&log, |uid, _| uid == next);
        assert!(ended < started, "no hook runs beside the one that hung: {log:?}");
    }
    agent.stop().await;
}

#[tokio::test(start_paused = true)]
async fn e_2_a_plan_names_the_hook_that_still_runs_and_would_be_ended() {
    let cluster = simulated_cluster();
    let_migrate_hang(&cluster, true);
    let agent = start_agent(&cluster).await;
    let revision = |events: &str, image: &str| {
        chart(vec![config_map("a", image)], vec![hook_job("migrate", events, image, &[])])
    };
    let first = revision("pre-install", "tool:1");
    agent.engine.set_desired(vec![present_input(1, 1, &first, Policies::default())]);
    until_migrate_runs(&cluster).await;
    let phase = present_phase(Policies::default());
    let mut planned = Vec::new();
    for content in [
        first,
        revision("pre-install", "tool:2"),
        revision("post-delete", "tool:2"),
        chart(Vec::new(), Vec::new()),
    ] {
        let plan = agent.engine.dry_run("shop1", Some(release_id(1)), &phase, &content).await;
        let mut changes = plan.objects.into_iter().filter(|change| change.object.name == "migrate");
        let change = changes.next().unwrap();
        assert_eq!(changes.next(), None, "it is listed once");
        planned.push((change.action, change.unverified.contains("still runs for an earlier revision")));
    }
    let replaced = PlannedAction::Replace { fields: Vec::new(), omitted: 0 };
    let expected = [
        (PlannedAction::Create, false),
        (replaced, true),
        (PlannedAction::Delete, true),
        (PlannedAction::Delete, false),
    ];
    assert_eq!(planned, expected);
    agent.stop().await;
}

#[tokio::test(start_paused = true)]
async fn s4_4_a_hook_that_a_new_revision_drops_while_it_runs_is_ended_unless_its_object_stays() {
    let cases: [(bool, &[(&str, &str)]); 3] = [(true, &[]), (false, &[]), (true, &[KEEP])];
    for (prune, annotations) in cases {
        let cluster = simulated_cluster();
        let agent = start_agent(&cluster).await;
        let hooks = || vec![hook_job("migrate", "pre-upgrade", "tool:1", annotations)];
        let policies = Policies { prune, ..Policies::default() };
        let revision = |value: &str, hooks: Vec<Value>| chart(vec![config_map("a", value)], hooks);
        agent.engine.set_desired(vec![present_input(1, 1, &revision("1", hooks()), policies.clone())]);
        until_complete(&agent, 1).await;
        let_migrate_hang(&cluster, true);
        agent.engine.set_desired(vec![present_input(1, 2, &revision("2", hooks()), policies.clone())]);
        let running = until_migrate_runs(&cluster).await;
        assert!(has_config(&cluster, "1"), "the objects wait for it");
        agent.engine.set_desired(vec![present_input(1, 3, &revision("3", Vec::new()), policies)]);
        wait_until("applied", || has_config(&cluster, "3")).await;
        let uid = job_uid(&cluster, "migrate");
        let is_ended = prune && annotations.is_empty();
        assert_eq!(uid, (!is_ended).then_some(running), "prune: {prune}, {annotations:?}");
        assert_eq!(cluster.list(POD, None).is_empty(), is_ended);
        agent.stop().await;
    }
}

#[tokio::test(start_paused = true)]
async fn s4_4_a_hook_that_keeps_its_object_is_ended_before_it_runs_for_the_next_revision() {
    let cluster = simulated_cluster();
    let log = log_jobs_and_pods(&cluster);
    let_migrate_hang(&cluster, true);
    let agent = start_agent(&cluster).await;
    let revision = |value: &str, image: &str| {
        chart(vec![config_map("a", value)], vec![hook_job("migrate", "pre-install", image, &[KEEP])])
    };
    agent.engine.set_desired(vec![present_input(1, 1, &revision("1", "tool:1"), Policies::default())]);
    let first = until_migrate_runs(&cluster).await;
    let_migrate_hang(&cluster, false);
    agent.engine.set_desired(vec![present_input(1, 2, &revision("2", "tool:2"), Policies::default())]);
    until_complete(&agent, 2).await;
    let second = job_uid(&cluster, "migrate").unwrap();
    let log = log.lock().unwrap().clone();
    let ended = position(&log, |uid, is_deleted| uid == first && is_deleted);
    let started = position(&log, |uid, _| uid == second);
    assert!(ended < started, "two migrations never run at the same time: {log:?}");
    agent.stop().await;
}

#[tokio::test(start_paused = true)]
async fn s4_4_a_superseded_hook_that_can_not_be_deleted_is_reported_with_its_object() {
    let cluster = simulated_cluster();
    let_migrate_hang(&cluster, true);
    let agent = start_agent(&cluster).await;
    let revision = |value: &str, image: &str| {
        chart(vec![config_map("a", value)], vec![hook_job("migrate", "pre-install", image, &[])])
    };
    agent.engine.set_desired(vec![present_input(1, 1, &revision("1", "tool:1"), Policies::default())]);
    until_migrate_runs(&cluster).await;
    let_migrate_hang(&cluster, false);
    cluster.faults().set_failing_paths(vec!["/jobs/migrate".to_owned()]);
    agent.engine.set_desired(vec![present_input(1, 2, &revision("2", "tool:2"), Policies::default())]);
    let find_failed = |report: &ReleaseReport| {
        let is_failed = |resource: &&ResourceStatus| {
            resource.object.name == "migrate" && resource.health.status == HealthStatus::Degraded
        };
        report.resources.iter().find(is_failed).cloned()
    };
    let report = agent
        .wait_for_report(release_id(1), "the failed deletion", |report| {
            report.generation == 2 && find_failed(report).is_some()
        })
        .await;
    let failed = find_failed(&report).unwrap();
    let problem = failed.problem.unwrap();
    assert_eq!((problem.code.as_str(), failed.resource.as_str()), ("HookFailed", "jobs"));
    assert!(problem.message.starts_with("Job default/migrate: "), "{}", problem.message);
    cluster.faults().set_failing_paths(Vec::new());
    until_complete(&agent, 2).await;
    agent.stop().await;
}

#[tokio::test(start_paused = true)]
async fn s4_4_a_hook_that_runs_when_the_release_is_removed_ends_before_the_hooks_of_the_removal() {
    let cluster = simulated_cluster();
    let log = log_jobs_and_pods(&cluster);
    let agent = start_agent(&cluster).await;
    let revision = |value: &str| {
        let policy = [("helm.sh/hook-delete-policy", "before-hook-creation")];
        let backup = hook_job("backup", "pre-delete", "tool:1", &policy);
        chart(vec![config_map("a", value)], vec![hook_job("migrate", "pre-upgrade", "tool:1", &[]), backup])
    };
    agent.engine.set_desired(vec![present_input(1, 1, &revision("1"), Policies::default())]);
    until_complete(&agent, 1).await;
    let_migrate_hang(&cluster, true);
    agent.engine.set_desired(vec![present_input(1, 2, &revision("2"), Policies::default())]);
    let running = until_migrate_runs(&cluster).await;
    agent.engine.set_desired(vec![absent_input(1, 3, DeletionPolicy::Foreground)]);
    agent.wait_for_report(release_id(1), "gone", |report| report.removed).await;
    assert!(cluster.list(JOB, None).is_empty() && cluster.list(POD, None).is_empty());
    let log = log.lock().unwrap().clone();
    let ended = position(&log, |uid, is_deleted| uid == running && is_deleted);
    let mut later = log[ended..].iter().filter(|(kind, uid, _)| kind == "Job" && *uid != running);
    assert!(later.next().is_some(), "the hook of the removal has run: {log:?}");
    let before = log[..ended].iter().filter(|(kind, uid, _)| kind == "Job" && *uid != running);
    assert_eq!(before.count(), 0, "{log:?}");
    agent.stop().await;
}

#[tokio::test(start_paused = true)]
async fn s4_4_a_hook_that_runs_when_the_release_is_orphaned_goes_on() {
    let cluster = simulated_cluster();
    let_migrate_hang(&cluster, true);
    let agent = start_agent(&cluster).await;
    let content = chart(vec![config_map("a", "1")], vec![hook_job("migrate", "pre-install", "tool:1", &[])]);
    agent.engine.set_desired(vec![present_input(1, 1, &content, Policies::default())]);
    let running = until_migrate_runs(&cluster).await;
    agent.engine.set_desired(vec![absent_input(1, 2, DeletionPolicy::Orphan)]);
    agent.wait_for_report(release_id(1), "gone", |report| report.removed).await;
    let job = cluster.get(JOB, ("default", "migrate")).unwrap();
    assert_eq!((job["metadata"]["uid"].as_str(), cluster.list(POD, None).len()), (Some(&*running), 1));
    assert!(!has_config(&cluster, "1"), "it was never applied");
    agent.stop().await;
}

#[tokio::test(start_paused = true)]
async fn i5_a_job_with_a_copied_run_is_not_ended_for_a_new_revision() {
    let cluster = simulated_cluster();
    let_migrate_hang(&cluster, true);
    let agent = start_agent(&cluster).await;
    let revision = |value: &str, hook: &str| {
        chart(vec![config_map("a", value)], vec![hook_job(hook, "pre-install", "tool:1", &[])])
    };
    agent.engine.set_desired(vec![present_input(1, 1, &revision("1", "migrate"), Policies::default())]);
    until_migrate_runs(&cluster).await;
    // Somebody replaces the Job by a copy of it, with label and annotations.
    let mut copy = cluster.get(JOB, ("default", "migrate")).unwrap();
    cluster.faults().set_offline(true);
    tokio::time::sleep(QUIET_TIME).await;
    cluster.delete(JOB, ("default", "migrate")).unwrap();
    wait_until("deleted", || job_uid(&cluster, "migrate").is_none()).await;
    let metadata = copy["metadata"].as_object_mut().unwrap();
    for field in ["uid", "resourceVersion", "creationTimestamp", "managedFields", "generation", "finalizers"]
    {
        metadata.remove(field);
    }
    for part in ["/spec", "/spec/template/metadata"] {
        let Some(part) = copy.pointer_mut(part).and_then(Value::as_object_mut) else { continue };
        part.remove("selector");
        part.remove("labels");
    }
    copy.as_object_mut().unwrap().remove("status");
    cluster.create(copy, "operator").unwrap();
    let theirs = job_uid(&cluster, "migrate");
    cluster.faults().set_offline(false);
    agent.engine.set_desired(vec![present_input(1, 2, &revision("2", "other"), Policies::default())]);
    until_complete(&agent, 2).await;
    assert_eq!(job_uid(&cluster, "migrate"), theirs, "it is neither ended nor pruned");
    agent.stop().await;
}
