//! Pruning, removal, finalizers, garbage collection.

use domain::health::HealthStatus::{Healthy, Suspended};
use domain::policy::PruneOrder;
use domain::release::{StageName, StageState, SyncStatus};
use domain::report::ReleaseReport;
use domain::workload::{DeletionPolicy, Policies};
use serde_json::json;
use testkit::PodFault;

use crate::test_env::*;

async fn until_recorded(env: &TestEnv, count: usize) {
    let is_recorded = async || {
        let record = env.record().await;
        record.is_some_and(|record| {
            record["spec"]["applied"] != ""
                && record["spec"]["resources"].as_array().is_some_and(|all| all.len() == count)
        })
    };
    env.wait_until("recorded", is_recorded).await;
}

pub async fn s3_13_objects_missing_from_a_new_bundle_are_pruned(env: TestEnv) {
    env.set_present(vec![config_map("a", "1"), config_map("b", "1")], Policies::default());
    env.until_operational().await;
    env.set_present(vec![config_map("a", "1")], Policies::default());
    let report = env.until_applied().await;
    assert_eq!(stage_state(&report, StageName::Pruned), Some(&StageState::Done));
    assert!(env.get(CONFIG_MAP, "b").await.is_none());
    until_recorded(&env, 1).await;
}

pub async fn s3_13_what_old_pods_need_is_pruned_after_the_rollout(env: TestEnv) {
    let revision = |config: &str, fault: Option<PodFault>| {
        let mut web = workload("Deployment", "web", fault);
        web["spec"]["template"]["metadata"]["labels"]["config"] = config.into();
        let mut account = json!({"apiVersion": "v1", "kind": "ServiceAccount", "metadata": {"name": "old"}});
        account["metadata"]["name"] = format!("account-{config}").into();
        vec![config_map(config, "1"), account, web]
    };
    env.set_present(revision("first", None), Policies::default());
    env.until_operational().await;
    let broken = revision("second", Some(PodFault::NeverReady));
    let plan = env.dry_run(broken.clone(), Policies::default()).await;
    let late = plan.objects.iter().filter(|change| change.after_operational);
    let mut late: Vec<&str> = late.map(|change| change.object.name.as_str()).collect();
    late.sort_unstable();
    assert_eq!(late, ["account-first", "first"]);
    env.set_present(broken, Policies::default());
    let is_named = |state: Option<&StageState>| matches!(state, Some(StageState::Skipped { message }) if message.contains("ConfigMap") && message.contains("once the revision is operational"));
    env.wait_for_report("the late deletions named", |report| {
        is_named(stage_state(report, StageName::Pruned))
    })
    .await;
    assert!(env.get(CONFIG_MAP, "first").await.is_some());
    assert!(env.get(SERVICE_ACCOUNT, "account-first").await.is_some());
    env.set_present(revision("second", None), Policies::default());
    env.wait_until("pruned", async || env.get(CONFIG_MAP, "first").await.is_none()).await;
    env.wait_until("pruned", async || env.get(SERVICE_ACCOUNT, "account-first").await.is_none()).await;
    let report = env.until_operational().await;
    assert_eq!(stage_state(&report, StageName::Operational), Some(&StageState::Done));
    env.wait_for_report("pruned", |report| stage_state(report, StageName::Pruned) == Some(&StageState::Done))
        .await;
    until_recorded(&env, 3).await;
}

pub async fn s3_13_what_old_pods_need_is_pruned_at_once_if_the_policy_says_so(env: TestEnv) {
    const ROLE: KindName = ("rbac.authorization.k8s.io/v1", "Role");
    const SECRET: KindName = ("v1", "Secret");
    let revision = |config: &str, fault: Option<PodFault>| {
        let login = json!({"apiVersion": SECRET.0, "kind": SECRET.1,
            "metadata": {"name": format!("login-{config}")}, "stringData": {"user": "ann"}});
        let reader = json!({"apiVersion": ROLE.0, "kind": ROLE.1,
            "metadata": {"name": format!("reader-{config}")},
            "rules": [{"apiGroups": [""], "resources": ["configmaps"], "verbs": ["get"]}]});
        vec![config_map(config, "1"), login, reader, workload("Deployment", "web", fault)]
    };
    env.set_present(revision("first", None), Policies::default());
    env.until_operational().await;
    let broken = revision("second", Some(PodFault::NeverReady));
    let late = async |policies: Policies| {
        let plan = env.dry_run(broken.clone(), policies).await;
        assert_eq!(plan.counts().delete, 3, "{plan:#?}");
        let late = plan.objects.iter().filter(|change| change.after_operational);
        let mut names: Vec<String> = late.map(|change| change.object.name.clone()).collect();
        names.sort();
        names
    };
    let at_once = Policies { prune_order: PruneOrder::AfterApply, ..Policies::default() };
    assert_eq!(late(Policies::default()).await, ["first", "login-first", "reader-first"]);
    assert_eq!(late(at_once.clone()).await, Vec::<String>::new());
    env.set_present(broken.clone(), at_once);
    let is_pruned = |report: &ReleaseReport| {
        stage_state(report, StageName::Pruned) == Some(&StageState::Done)
            && !stage_state(report, StageName::Operational).is_some_and(StageState::is_finished)
    };
    env.wait_for_report("pruned before it is operational", is_pruned).await;
    for (kind, name) in [(CONFIG_MAP, "first"), (SECRET, "login-first"), (ROLE, "reader-first")] {
        assert!(env.get(kind, name).await.is_none(), "{name}");
    }
}

pub async fn s3_13_a_workload_that_its_manifest_suspends_does_not_keep_objects_of_former_revisions(
    env: TestEnv,
) {
    let revision = |config: &str, paused: bool| {
        let mut web = workload("Deployment", "web", None);
        web["spec"]["template"]["metadata"]["labels"]["config"] = config.into();
        web["spec"]["paused"] = paused.into();
        let mut job = template("nightly", None);
        job["spec"]["restartPolicy"] = "Never".into();
        let nightly = json!({"apiVersion": "batch/v1", "kind": "CronJob", "metadata": {"name": "nightly"},
            "spec": {"schedule": "0 0 1 1 *", "suspend": true, "jobTemplate": {"spec": {"template": job}}}});
        vec![config_map(config, "1"), web, nightly]
    };
    env.set_present(revision("first", false), Policies::default());
    env.until_health("web", Healthy, "").await;
    // The pods of the first revision stay, because the second one is not rolled out.
    env.set_present(revision("second", true), Policies::default());
    env.until_health("web", Suspended, "DeploymentPaused").await;
    let is_observed = async || {
        let web = env.get(DEPLOYMENT, "web").await.unwrap();
        web["status"]["observedGeneration"] == web["metadata"]["generation"]
    };
    env.wait_until("observed", is_observed).await;
    env.set_present([revision("second", true), vec![config_map("more", "1")]].concat(), Policies::default());
    let is_late = |state: Option<&StageState>| matches!(state, Some(StageState::Skipped { message }) if message.contains("once the revision is operational"));
    env.wait_for_report("the late deletion named", |report| {
        is_late(stage_state(report, StageName::Pruned)) && report.health.status == Suspended
    })
    .await;
    assert!(env.get(CONFIG_MAP, "first").await.is_some(), "its pods run");

    env.set_present(revision("second", false), Policies::default());
    env.wait_until("pruned", async || env.get(CONFIG_MAP, "first").await.is_none()).await;
    env.until_health("web", Healthy, "").await;
    env.until_health("nightly", Suspended, "CronJobSuspended").await;
    // Paused without another template: no pod of a former revision runs.
    let mut paused = revision("second", true);
    paused[0] = config_map("third", "1");
    env.set_present(paused, Policies::default());
    env.wait_until("pruned", async || env.get(CONFIG_MAP, "second").await.is_none()).await;
}

pub async fn s3_13_an_object_re_created_by_another_party_is_not_pruned(mut env: TestEnv) {
    let both = vec![config_map("a", "1"), config_map("b", "1")];
    env.set_present(both.clone(), Policies::default());
    env.until_operational().await;
    until_recorded(&env, 2).await;
    // No release watches it while it is replaced.
    env.restart_agent_ahead(std::time::Duration::ZERO, both).await;
    env.agent.engine.set_desired(vec![]);
    env.delete(CONFIG_MAP, "b").await;
    env.create(config_map("b", "theirs"), "someone-else").await;
    env.set_present(vec![config_map("a", "1")], Policies::default());
    env.until_applied().await;
    assert_eq!(env.get(CONFIG_MAP, "b").await.unwrap()["data"]["key"], "theirs");
}

pub async fn s3_11_a_removal_deletes_all_objects_and_their_pods(env: TestEnv) {
    let objects = vec![config_map("settings", "1"), workload("Deployment", "web", None)];
    env.set_present(objects, Policies::default());
    env.until_operational().await;
    assert_eq!(env.list(POD).await.len(), 2);
    env.set_absent(DeletionPolicy::Foreground);
    let report = env.until_gone().await;
    assert_eq!(report.sync, SyncStatus::Removed);
    assert!(env.get(DEPLOYMENT, "web").await.is_none());
    assert!(env.get(CONFIG_MAP, "settings").await.is_none());
    assert!(env.list(("apps/v1", "ReplicaSet")).await.is_empty(), "dependents are deleted first");
    assert!(env.list(POD).await.is_empty(), "dependents are deleted first");
    assert!(env.record().await.is_none());
}

/// A claim, a ConfigMap and a namespace of an operator that copies all labels of an object it works for.
struct LabelCopies {
    namespaces: kube::Api<k8s_openapi::api::core::v1::Namespace>,
    namespace: String,
}

impl LabelCopies {
    async fn create(env: &TestEnv) -> Self {
        let labels = env.get(CONFIG_MAP, "settings").await.unwrap()["metadata"]["labels"].clone();
        assert!(labels[engine::RELEASE_LABEL].is_string(), "{labels}");
        let mut map = config_map("copied", "theirs");
        map["metadata"]["labels"] = labels.clone();
        env.create(map, "operator").await;
        let claim = json!({"apiVersion": "v1", "kind": "PersistentVolumeClaim", "metadata": {"name": "copied", "labels": labels},
            "spec": {"accessModes": ["ReadWriteOnce"], "resources": {"requests": {"storage": "1Mi"}}}});
        env.create(claim, "operator").await;
        let copies =
            Self { namespaces: kube::Api::all(env.client()), namespace: format!("{}-theirs", env.namespace) };
        let namespace = json!({"apiVersion": "v1", "kind": "Namespace",
            "metadata": {"name": copies.namespace, "labels": labels}});
        let params =
            kube::api::PostParams { field_manager: Some("operator".to_owned()), ..Default::default() };
        copies.namespaces.create(&params, &serde_json::from_value(namespace).unwrap()).await.unwrap();
        let mut elsewhere = config_map("copied", "theirs");
        elsewhere["metadata"]["labels"] = labels;
        elsewhere["metadata"]["namespace"] = copies.namespace.clone().into();
        env.create_in_namespace(elsewhere, "operator").await;
        copies
    }

    async fn assert_untouched(&self, env: &TestEnv) {
        for kind in [CONFIG_MAP, CLAIM] {
            let found = env.get(kind, "copied").await.unwrap();
            assert!(found["metadata"]["deletionTimestamp"].is_null(), "{found}");
        }
        let namespace = self.namespaces.get(&self.namespace).await.unwrap();
        assert_eq!(namespace.metadata.deletion_timestamp, None);
        let elsewhere: kube::Api<k8s_openapi::api::core::v1::ConfigMap> =
            kube::Api::namespaced(env.client(), &self.namespace);
        let elsewhere = elsewhere.get("copied").await.unwrap();
        assert_eq!(elsewhere.metadata.deletion_timestamp, None);
        self.namespaces.delete(&self.namespace, &Default::default()).await.unwrap();
    }
}

/// A namespace, a claim and a ConfigMap of the release: so these kinds are watched.
fn objects_of_every_copied_kind(env: &TestEnv) -> Vec<serde_json::Value> {
    vec![
        json!({"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": format!("{}-own", env.namespace)}}),
        json!({"apiVersion": "v1", "kind": "PersistentVolumeClaim", "metadata": {"name": "scratch"},
            "spec": {"accessModes": ["ReadWriteOnce"], "resources": {"requests": {"storage": "1Mi"}}}}),
        config_map("settings", "1"),
    ]
}

pub async fn i5_a_copied_label_is_no_owner(env: TestEnv) {
    env.set_present(objects_of_every_copied_kind(&env), Policies::default());
    env.until_applied().await;
    until_recorded(&env, 3).await;
    let copies = LabelCopies::create(&env).await;
    let phase = domain::report::DesiredPhase::Absent {
        deletion: DeletionPolicy::Foreground,
        policies: Policies::default(),
    };
    let plan =
        env.agent.engine.dry_run("shop", Some(env.release), &phase, &domain::bundle::Bundle::default()).await;
    assert_eq!(plan.counts().delete, 3, "{plan:#?}");
    env.set_absent(DeletionPolicy::Foreground);
    env.until_gone().await;
    assert!(env.get(CONFIG_MAP, "settings").await.is_none());
    copies.assert_untouched(&env).await;
}

pub async fn i5_a_prune_leaves_objects_with_a_copied_label(env: TestEnv) {
    env.set_present(objects_of_every_copied_kind(&env), Policies::default());
    env.until_applied().await;
    until_recorded(&env, 3).await;
    let copies = LabelCopies::create(&env).await;
    let next = vec![config_map("next", "1")];
    let plan = env.dry_run(next.clone(), Policies::default()).await;
    assert_eq!(plan.counts().delete, 3, "{plan:#?}");
    env.set_present(next, Policies::default());
    let is_pruned =
        async || env.get(CONFIG_MAP, "settings").await.is_none() && env.get(CLAIM, "scratch").await.is_none();
    env.wait_until("pruned", is_pruned).await;
    until_recorded(&env, 1).await;
    copies.assert_untouched(&env).await;
}

pub async fn i5_a_removal_that_orphans_leaves_the_labels_of_copies(env: TestEnv) {
    env.set_present(objects_of_every_copied_kind(&env), Policies::default());
    env.until_applied().await;
    until_recorded(&env, 3).await;
    let copies = LabelCopies::create(&env).await;
    env.set_absent(DeletionPolicy::Orphan);
    env.until_gone().await;
    for (kind, own) in [(CONFIG_MAP, "settings"), (CLAIM, "scratch")] {
        for (name, is_labelled) in [(own, false), ("copied", true)] {
            let live = env.get(kind, name).await.unwrap();
            assert_eq!(live["metadata"]["labels"][engine::RELEASE_LABEL].is_string(), is_labelled, "{live}");
        }
    }
    copies.assert_untouched(&env).await;
    env.delete(NAMESPACE, &format!("{}-own", env.namespace)).await;
}

pub async fn i5_a_copied_label_is_no_owner_without_a_record(mut env: TestEnv) {
    let objects = objects_of_every_copied_kind(&env);
    env.set_present(objects.clone(), Policies::default());
    env.until_applied().await;
    until_recorded(&env, 3).await;
    let copies = LabelCopies::create(&env).await;
    // While no release is desired, nobody writes the record again.
    env.restart_agent_ahead(std::time::Duration::ZERO, objects).await;
    env.agent.engine.set_desired(vec![]);
    let record = env.record().await.unwrap();
    let name = record["metadata"]["name"].as_str().unwrap();
    env.delete(RECORD, name).await;
    env.merge_patch(RECORD, name, json!({"metadata": {"finalizers": null}}), "somebody").await;
    env.wait_until("the record is gone", async || env.record().await.is_none()).await;
    env.set_absent(DeletionPolicy::Foreground);
    env.until_gone().await;
    copies.assert_untouched(&env).await;
}

pub async fn s3_12_a_finalizer_blocks_the_removal_and_is_reported(env: TestEnv) {
    env.set_present(vec![config_map("blocked", "1")], Policies::default());
    env.until_operational().await;
    let with_finalizers = |finalizers| json!({"metadata": {"finalizers": finalizers}});
    env.merge_patch(CONFIG_MAP, "blocked", with_finalizers(json!(["example.com/hold"])), "kubectl-edit")
        .await;
    env.set_absent(DeletionPolicy::Foreground);
    let (report, message) = env.until_stage_reason(StageName::Pruned, "FinalizerPending").await;
    assert!(message.contains("example.com/hold"), "{message}");
    assert_eq!(report.sync, SyncStatus::Removing);
    assert!(env.record().await.is_some());
    env.merge_patch(CONFIG_MAP, "blocked", with_finalizers(json!(null)), "kubectl-edit").await;
    env.until_gone().await;
    assert!(env.record().await.is_none());
}

pub async fn an_orphaned_release_leaves_its_objects_without_label_and_annotations(env: TestEnv) {
    env.set_present(vec![config_map("settings", "1")], Policies::default());
    env.until_operational().await;
    env.set_absent(DeletionPolicy::Orphan);
    env.until_gone().await;
    let live = env.get(CONFIG_MAP, "settings").await.unwrap();
    assert_eq!(live["data"]["key"], "1");
    assert!(!live.to_string().contains("flotilla"), "{live}");
    assert!(env.record().await.is_none());
}

pub async fn s3_11_a_manually_deleted_record_is_re_created(env: TestEnv) {
    env.set_present(vec![config_map("settings", "1")], Policies::default());
    env.until_operational().await;
    until_recorded(&env, 1).await;
    let record = env.record().await.unwrap();
    let uid = env.get(CONFIG_MAP, "settings").await.unwrap()["metadata"]["uid"].clone();
    env.delete(RECORD, record["metadata"]["name"].as_str().unwrap()).await;
    let is_re_created = async || {
        env.record().await.is_some_and(|fresh| fresh["metadata"]["uid"] != record["metadata"]["uid"])
    };
    env.wait_until("re-created", is_re_created).await;
    assert_eq!(env.get(CONFIG_MAP, "settings").await.unwrap()["metadata"]["uid"], uid);
}

pub async fn s3_11_an_apply_with_a_uid_re_creates_nothing(env: TestEnv) {
    use k8s_openapi::api::core::v1::ConfigMap;
    use kube::api::{Patch, PatchParams};
    let created = env.create(config_map("once", "1"), "test").await;
    let named = json!({"apiVersion": "v1", "kind": "ConfigMap",
        "metadata": {"name": "once", "uid": created["metadata"]["uid"]}, "data": {"key": "2"}});
    let api: kube::Api<ConfigMap> = kube::Api::namespaced(env.client(), &env.namespace);
    let apply = async || api.patch("once", &PatchParams::apply("test").force(), &Patch::Apply(&named)).await;
    apply().await.unwrap();
    env.delete(CONFIG_MAP, "once").await;
    for code in [409, 422] {
        let error = apply().await.unwrap_err();
        assert!(matches!(&error, kube::Error::Api(status) if status.code == code), "{error:?}");
        if code == 409 {
            env.create(config_map("once", "3"), "test").await;
        }
    }
    assert_eq!(
        env.get(CONFIG_MAP, "once").await.unwrap()["data"]["key"],
        "3",
        "another object of the same name"
    );
}
