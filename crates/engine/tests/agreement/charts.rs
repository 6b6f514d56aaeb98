//! Objects of charts: hooks, definitions of the `crds/` folder, and objects that stay.

use std::sync::Arc;

use domain::bundle::Bundle;
use domain::policy::{DeletionPolicy, Policies};
use domain::release::StageName;
use serde_json::{Value, json};
use testkit::PodFault;

use crate::test_env::*;

const CONFIG_MAP: KindName = ("v1", "ConfigMap");
const CRD: KindName = ("apiextensions.k8s.io/v1", "CustomResourceDefinition");

fn hook_job(name: &str, events: &str, fault: Option<PodFault>) -> Value {
    let mut template = template(name, fault);
    template["spec"]["restartPolicy"] = "Never".into();
    json!({"apiVersion": "batch/v1", "kind": "Job",
        "metadata": {"name": name, "annotations": {"helm.sh/hook": events}},
        "spec": {"backoffLimit": 0, "template": template}})
}

fn chart(env: &TestEnv, value: &str, hooks: Vec<Value>) -> Arc<Bundle> {
    let objects = env.bundle(vec![config_map("a", value)]);
    let mut hooks = env.bundle(hooks).objects.clone();
    domain::chart_hook::sort_hooks(&mut hooks);
    Arc::new((*objects).clone().with_hooks(hooks))
}

/// The hook Job `migrate` of another party, with the labels of the release's ConfigMap `a`.
async fn create_copied_job(env: &TestEnv) {
    let mut theirs = hook_job("migrate", "pre-upgrade", None);
    theirs["metadata"]["labels"] = env.get(CONFIG_MAP, "a").await.unwrap()["metadata"]["labels"].clone();
    assert!(theirs["metadata"]["labels"][engine::RELEASE_LABEL].is_string(), "{theirs}");
    env.create(theirs, "operator").await;
}

async fn job_uid(env: &TestEnv, name: &str) -> Option<Value> {
    env.get(JOB, name).await.map(|job| job["metadata"]["uid"].clone())
}

pub async fn s4_4_hooks_complete_before_the_objects_and_a_failed_one_stops_them_until_it_is_fixed(
    env: TestEnv,
) {
    let hooks = |fault| {
        vec![
            hook_job("migrate", "pre-install,pre-upgrade", fault),
            hook_job("announce", "post-install", None),
        ]
    };
    env.set_bundle(chart(&env, "1", hooks(Some(PodFault::Crash))), Policies::default());
    let (report, message) = env.until_stage_reason(StageName::Applied, "HookFailed").await;
    assert!(message.starts_with("Hook pre-install Job ") && message.contains("backoff limit"), "{message}");
    assert_eq!(report.applied, None);
    assert!(env.get(CONFIG_MAP, "a").await.is_none() && env.get(JOB, "announce").await.is_none());

    env.set_bundle(chart(&env, "1", hooks(None)), Policies::default());
    env.until_operational().await;
    assert!(env.get(CONFIG_MAP, "a").await.is_some());
    let (migrated, announced) = (job_uid(&env, "migrate").await, job_uid(&env, "announce").await);
    assert!(migrated.is_some() && announced.is_some());

    env.set_bundle(chart(&env, "2", hooks(None)), Policies::default());
    env.until_operational().await;
    assert_ne!(job_uid(&env, "migrate").await, migrated, "an upgrade runs it again");
    assert_eq!(job_uid(&env, "announce").await, announced, "an upgrade does not run it");
    env.set_absent(DeletionPolicy::Foreground);
    env.until_gone().await;
    assert_eq!((job_uid(&env, "migrate").await, job_uid(&env, "announce").await), (None, None));
}

/// A hook whose Job does not end: no node matches its pods.
fn endless_hook(name: &str, events: &str) -> Value {
    let mut job = hook_job(name, events, None);
    job["spec"]["template"]["spec"]["nodeSelector"] = json!({"disk": "none"});
    job
}

async fn until_active(env: &TestEnv, name: &str) -> Option<Value> {
    let is_active = async || env.get(JOB, name).await.is_some_and(|job| job["status"]["active"] == 1);
    env.wait_until("active", is_active).await;
    job_uid(env, name).await
}

pub async fn s4_4_a_hook_that_still_runs_is_ended_by_the_next_revision_and_by_the_removal(env: TestEnv) {
    env.set_bundle(chart(&env, "1", vec![endless_hook("migrate", "pre-install")]), Policies::default());
    let endless = until_active(&env, "migrate").await;
    let next = chart(&env, "2", vec![hook_job("migrate", "pre-install,pre-upgrade", None)]);
    let phase = present_phase(Policies::default());
    let plan = env.agent.engine.dry_run("shop", Some(env.release), &phase, &next).await;
    let replaced = plan.objects.iter().find(|change| change.object.name == "migrate").unwrap();
    assert!(replaced.unverified.contains("still runs for an earlier revision"), "{replaced:?}");
    env.set_bundle(next, Policies::default());
    env.until_operational().await;
    assert_ne!(job_uid(&env, "migrate").await, endless, "the next run has an object of its own");
    assert_eq!(env.get(CONFIG_MAP, "a").await.unwrap()["data"]["key"], "2");

    // A revision that drops the hook ends it too.
    env.set_bundle(chart(&env, "3", vec![endless_hook("migrate", "pre-upgrade")]), Policies::default());
    until_active(&env, "migrate").await;
    env.set_bundle(chart(&env, "4", Vec::new()), Policies::default());
    env.until_operational().await;
    assert_eq!(job_uid(&env, "migrate").await, None);
    assert_eq!(env.get(CONFIG_MAP, "a").await.unwrap()["data"]["key"], "4");

    env.set_bundle(chart(&env, "5", vec![endless_hook("migrate", "pre-upgrade")]), Policies::default());
    until_active(&env, "migrate").await;
    env.set_absent(DeletionPolicy::Foreground);
    env.until_gone().await;
    assert_eq!(job_uid(&env, "migrate").await, None);
    env.wait_until("without pods", async || env.list(POD).await.is_empty()).await;
}

pub async fn i5_a_job_with_a_copied_label_is_not_deleted_for_a_hook(env: TestEnv) {
    env.set_bundle(chart(&env, "1", Vec::new()), Policies::default());
    let first = env.until_operational().await;
    create_copied_job(&env).await;
    let theirs = job_uid(&env, "migrate").await;
    let hooks = vec![hook_job("migrate", "pre-upgrade", None)];
    env.set_bundle(chart(&env, "2", hooks), Policies::default());
    let (report, message) = env.until_stage_reason(StageName::Applied, "HookFailed").await;
    assert!(message.contains("does not belong to the release"), "{message}");
    assert_eq!(report.applied, first.applied);
    assert_eq!(job_uid(&env, "migrate").await, theirs);
    // Once it is gone, the hook runs, and is deleted with the release.
    env.delete(JOB, "migrate").await;
    env.until_operational().await;
    assert_ne!(job_uid(&env, "migrate").await, theirs);
    env.set_absent(DeletionPolicy::Foreground);
    env.until_gone().await;
    assert_eq!(job_uid(&env, "migrate").await, None);
}

pub async fn s4_4_a_definition_of_a_chart_and_a_kept_object_stay_on_the_cluster(env: TestEnv) {
    let group = format!("{}.example.com", env.namespace);
    let definition = |short_name: &str| {
        json!({"apiVersion": "apiextensions.k8s.io/v1", "kind": "CustomResourceDefinition",
            "metadata": {"name": format!("widgets.{group}"), "annotations": {"flotilla.dev/chart-crd": "true"}},
            "spec": {"group": group, "scope": "Namespaced",
                "names": {"kind": "Widget", "listKind": "WidgetList", "plural": "widgets", "singular": "widget",
                    "shortNames": [short_name]},
                "versions": [{"name": "v1", "served": true, "storage": true, "schema": {"openAPIV3Schema":
                    {"type": "object", "x-kubernetes-preserve-unknown-fields": true}}}]}})
    };
    let widget = json!({"apiVersion": format!("{group}/v1"), "kind": "Widget", "metadata": {"name": "a",
        "annotations": {"helm.sh/resource-policy": "keep"}}, "spec": {"size": 1}});
    let objects =
        |short_name: &str| vec![config_map("a", short_name), definition(short_name), widget.clone()];
    env.set_present(objects("w"), Policies::default());
    env.until_operational().await;
    let plan = env.dry_run(objects("wid"), Policies::default()).await;
    assert_eq!(
        plan.findings.iter().map(|found| found.code.as_str()).collect::<Vec<_>>(),
        ["G412"],
        "{plan:#?}"
    );
    env.set_present(objects("wid"), Policies::default());
    env.until_operational().await;
    let name = format!("widgets.{group}");
    let short_name = async || env.get(CRD, &name).await.unwrap()["spec"]["names"]["shortNames"][0].clone();
    assert_eq!(short_name().await, "w");
    env.set_present(objects("wid"), Policies { upgrade_crds: true, ..Policies::default() });
    env.until_operational().await;
    assert_eq!(short_name().await, "wid");
    env.set_absent(DeletionPolicy::Foreground);
    env.until_gone().await;
    let metadata = env.get(CRD, &name).await.unwrap()["metadata"].clone();
    assert_eq!(metadata["labels"].get("flotilla.dev/release"), None);
    assert_eq!(metadata["annotations"].get("flotilla.dev/chart-crd"), None);
    let kind = (format!("{group}/v1").leak() as &str, "Widget");
    assert_eq!(env.get(kind, "a").await.unwrap()["spec"]["size"], 1, "its objects are not lost");
    env.delete(CRD, &name).await;
}
