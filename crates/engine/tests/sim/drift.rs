//! Drift: detected by watches, healed or reported, with fields and manager.

use domain::overrides::ObjectSelector;
use domain::policy::{ConflictPolicy, IgnoreRule, IgnoreWhen};
use domain::release::{StageName, SyncStatus};
use domain::report::DriftOutcome;
use domain::workload::{DriftPolicy, Policies};
use serde_json::Value;

use crate::harness::*;

fn settings_value(cluster: &kubesim::SimCluster) -> Option<Value> {
    Some(cluster.get(CONFIG_MAP, ("default", "settings"))?["data"]["key"].clone())
}

fn set_key(to: &'static str) -> impl Fn(&mut Value) {
    move |object| object["data"]["key"] = to.into()
}

async fn apply_settings(
    cluster: &kubesim::SimCluster,
    policies: Policies,
) -> (TestAgent, domain::report::DesiredRelease) {
    let agent = start_agent(cluster).await;
    let input = present_input(1, 1, &bundle(vec![config_map("settings", "1")]), policies);
    agent.engine.set_desired(vec![input.clone()]);
    agent.until_operational(&input.desired).await;
    wait_until("recorded", || cluster.list(RECORD, None)[0]["spec"]["applied"] != "").await;
    (agent, input.desired)
}

#[tokio::test(start_paused = true)]
async fn s0_12_an_edited_field_is_healed_and_reported_with_its_manager() {
    let cluster = cluster_without_controllers();
    let (agent, want) = apply_settings(&cluster, Policies::default()).await;
    cluster.edit(CONFIG_MAP, ("default", "settings"), "kubectl-edit", set_key("2")).unwrap();
    wait_until("healed", || settings_value(&cluster) == Some("1".into())).await;
    wait_until("reported", || !agent.drift().is_empty()).await;
    let note = &agent.drift()[0];
    assert_eq!(note.fields, ["/data/key"]);
    assert_eq!(note.manager, "kubectl-edit");
    assert_eq!(note.outcome, DriftOutcome::Healed);
    assert_eq!(note.object.to_string(), "ConfigMap default/settings");
    agent.until_operational(&want).await;
    assert_eq!(agent.drift().len(), 1);
    agent.stop().await;
}

#[tokio::test(start_paused = true)]
async fn s0_12_a_deleted_object_is_re_created() {
    let cluster = cluster_without_controllers();
    let (agent, want) = apply_settings(&cluster, Policies::default()).await;
    cluster.delete(CONFIG_MAP, ("default", "settings")).unwrap();
    wait_until("re-created", || settings_value(&cluster) == Some("1".into())).await;
    wait_until("reported", || !agent.drift().is_empty()).await;
    assert!(agent.drift()[0].fields.is_empty());
    assert_eq!(agent.drift()[0].manager, "unknown");
    agent.until_operational(&want).await;
    let uid = cluster.get(CONFIG_MAP, ("default", "settings")).unwrap()["metadata"]["uid"].clone();
    wait_until("recorded", || cluster.list(RECORD, None)[0]["spec"]["resources"][0]["uid"] == uid).await;
    agent.stop().await;
}

#[tokio::test(start_paused = true)]
async fn p25_an_object_that_lost_its_label_is_not_treated_as_deleted() {
    let cluster = cluster_without_controllers();
    let (agent, _) = apply_settings(&cluster, Policies::default()).await;
    let before = cluster.get(CONFIG_MAP, ("default", "settings")).unwrap()["metadata"]["uid"].clone();
    let remove_label = |object: &mut Value| {
        object["metadata"]["labels"].as_object_mut().unwrap().remove(engine::RELEASE_LABEL);
        object["data"]["key"] = "2".into();
    };
    cluster.edit(CONFIG_MAP, ("default", "settings"), "kubectl-edit", remove_label).unwrap();
    wait_until("healed", || settings_value(&cluster) == Some("1".into())).await;
    wait_until("reported", || !agent.drift().is_empty()).await;
    let after = cluster.get(CONFIG_MAP, ("default", "settings")).unwrap();
    assert_eq!(after["metadata"]["uid"], before);
    assert_eq!(after["metadata"]["labels"][engine::RELEASE_LABEL], release_id(1).to_string());
    assert_eq!(agent.drift()[0].fields, ["/metadata/labels/flotilla.dev~1release"]);
    agent.stop().await;
}

#[tokio::test(start_paused = true)]
async fn p25_a_label_that_somebody_changes_is_restored() {
    let cluster = cluster_without_controllers();
    let (agent, _) = apply_settings(&cluster, Policies::default()).await;
    let own = release_id(1).to_string();
    for (at, label) in ["edited".to_owned(), release_id(2).to_string()].into_iter().enumerate() {
        let change_label = |object: &mut Value| {
            object["metadata"]["labels"][engine::RELEASE_LABEL] = label.clone().into();
        };
        cluster.edit(CONFIG_MAP, ("default", "settings"), "kubectl-edit", change_label).unwrap();
        let live_label = || {
            let live = cluster.get(CONFIG_MAP, ("default", "settings")).unwrap();
            live["metadata"]["labels"][engine::RELEASE_LABEL].clone()
        };
        wait_until("restored", || live_label() == own.as_str()).await;
        wait_until("reported", || agent.drift().len() == at + 1).await;
        let note = agent.drift().remove(at);
        assert_eq!(note.fields, ["/metadata/labels/flotilla.dev~1release"], "{label}");
        assert_eq!((note.manager.as_str(), note.outcome), ("kubectl-edit", DriftOutcome::Healed), "{label}");
    }
    agent.stop().await;
}

#[tokio::test(start_paused = true)]
async fn p13_a_policy_that_an_earlier_agent_did_not_record_is_dropped_without_force() {
    let cluster = cluster_without_controllers();
    let selector = ObjectSelector { kind: "ConfigMap".into(), ..ObjectSelector::default() };
    let rule = IgnoreRule { object: selector, when: IgnoreWhen::OnPresence, paths: vec!["/data/key".into()] };
    let (agent, _) = apply_settings(&cluster, Policies { ignore: vec![rule], ..Policies::default() }).await;
    agent.stop().await;
    cluster.edit(CONFIG_MAP, ("default", "settings"), "operator", set_key("2")).unwrap();
    // The record as an agent wrote it that did not know the field.
    let record = cluster.list(RECORD, None)[0]["metadata"]["name"].as_str().unwrap().to_owned();
    let remove = |record: &mut Value| {
        let spec = record["spec"].as_object_mut().unwrap();
        assert_eq!(spec.shift_remove("leftFieldsRecorded"), Some(true.into()));
        let entry = spec["resources"][0].as_object_mut().unwrap();
        assert!(entry.shift_remove("leftFields").is_some());
    };
    cluster.edit(RECORD, ("", &record), "flotilla", remove).unwrap();
    let agent = start_agent(&cluster).await;
    let content = bundle(vec![config_map("settings", "1")]);
    agent.engine.set_desired(vec![present_input(1, 2, &content, Policies::default())]);
    agent.until_stage_reason(release_id(1), StageName::Applied, "ApplyConflict").await;
    assert_eq!(settings_value(&cluster), Some("2".into()));
    assert!(agent.drift().is_empty());
    let force = Policies { conflict: ConflictPolicy::Force, ..Policies::default() };
    agent.engine.set_desired(vec![present_input(1, 3, &content, force)]);
    wait_until("taken back", || settings_value(&cluster) == Some("1".into())).await;
    agent.stop().await;
}

#[tokio::test(start_paused = true)]
async fn r_4_with_the_notify_policy_drift_is_reported_once_and_not_healed() {
    let cluster = cluster_without_controllers();
    let policies = Policies { drift: DriftPolicy::Notify, ..Policies::default() };
    let (agent, _) = apply_settings(&cluster, policies).await;
    let writes = cluster.stats().applies;
    cluster.edit(CONFIG_MAP, ("default", "settings"), "kubectl-edit", set_key("2")).unwrap();
    let report =
        agent.wait_for_report(release_id(1), "drifted", |report| report.sync == SyncStatus::Drifted).await;
    assert_eq!(report.resources[0].drifted, ["/data/key"]);
    let drifted = &report.resources[0].drifted_fields[0];
    assert_eq!((drifted.path.as_str(), drifted.manager.as_str()), ("/data/key", "kubectl-edit"));
    assert_eq!((drifted.operation.as_str(), drifted.changed_at.is_some()), ("Update", true), "{drifted:?}");
    assert!(drifted.applied.is_some() && drifted.live.is_some(), "{drifted:?}");
    assert!(is_done(&report, StageName::Applied));
    wait_until("reported", || !agent.drift().is_empty()).await;
    assert_eq!(agent.drift()[0].outcome, DriftOutcome::Found);
    assert_eq!(settings_value(&cluster), Some("2".into()));
    assert_eq!(cluster.stats().applies, writes);
    cluster.edit(CONFIG_MAP, ("default", "settings"), "kubectl-edit", set_key("1")).unwrap();
    agent.wait_for_report(release_id(1), "synced again", |report| report.sync == SyncStatus::Synced).await;
    assert_eq!(agent.drift().len(), 1);
    agent.stop().await;
}

#[tokio::test(start_paused = true)]
async fn r_4_with_the_notify_policy_a_requested_sync_reverts_the_drift_once() {
    let cluster = cluster_without_controllers();
    let policies = Policies { drift: DriftPolicy::Notify, ..Policies::default() };
    let (agent, _) = apply_settings(&cluster, policies.clone()).await;
    let mut input = present_input(1, 1, &bundle(vec![config_map("settings", "1")]), policies);
    let drift = async || {
        cluster.edit(CONFIG_MAP, ("default", "settings"), "kubectl-edit", set_key("2")).unwrap();
        agent.wait_for_report(release_id(1), "drifted", |report| report.sync == SyncStatus::Drifted).await;
    };
    drift().await;
    input.desired.sync_nonce += 1;
    agent.engine.set_desired(vec![input.clone()]);
    agent.wait_for_report(release_id(1), "reverted", |report| report.sync == SyncStatus::Synced).await;
    assert_eq!(settings_value(&cluster), Some("1".into()));
    // The request is done: later drift stays, also when the same desired state is sent again.
    drift().await;
    agent.engine.set_desired(vec![input]);
    tokio::time::sleep(QUIET_TIME).await;
    assert_eq!(settings_value(&cluster), Some("2".into()));
    agent.stop().await;
}

#[tokio::test(start_paused = true)]
async fn p13_a_field_healed_repeatedly_is_contested_and_left_until_a_sync() {
    let cluster = cluster_without_controllers();
    let client = kube::Client::new(cluster.service(), "default");
    let options = engine::Options { retry_max: std::time::Duration::from_secs(3_600), ..options() };
    let agent = TestAgent::start(engine::Engine::connect(client, options).await.unwrap());
    let input = present_input(1, 1, &bundle(vec![config_map("settings", "1")]), Policies::default());
    agent.engine.set_desired(vec![input.clone()]);
    agent.until_operational(&input.desired).await;
    for round in 0..3 {
        cluster.edit(CONFIG_MAP, ("default", "settings"), "other-controller", set_key("2")).unwrap();
        wait_until("healed", || settings_value(&cluster) == Some("1".into())).await;
        wait_until("reported", || agent.drift().len() > round).await;
    }
    cluster.edit(CONFIG_MAP, ("default", "settings"), "other-controller", set_key("2")).unwrap();
    let report =
        agent.wait_for_report(release_id(1), "contested", |report| report.sync == SyncStatus::Drifted).await;
    let problem = report.resources[0].problem.as_ref().unwrap();
    assert_eq!(problem.code, "Contested");
    assert!(problem.message.contains("other-controller"), "{}", problem.message);
    let outcomes: Vec<DriftOutcome> = agent.drift().iter().map(|note| note.outcome).collect();
    assert_eq!(outcomes[3..], [DriftOutcome::Contested]);
    assert_eq!(settings_value(&cluster), Some("2".into()));
    let applies = cluster.stats().applies;
    tokio::time::sleep(std::time::Duration::from_secs(10_000)).await;
    assert_eq!((cluster.stats().applies, agent.drift().len()), (applies, 4), "left, and reported once");

    // A person decides.
    let mut synced = input;
    synced.desired.sync_nonce += 1;
    agent.engine.set_desired(vec![synced]);
    wait_until("reverted", || settings_value(&cluster) == Some("1".into())).await;
    agent.stop().await;
}

#[tokio::test(start_paused = true)]
async fn p13_a_field_that_a_controller_takes_back_slowly_is_contested_and_one_that_people_edit_is_not() {
    const PAUSE: std::time::Duration = std::time::Duration::from_secs(3_600);
    let cluster = cluster_without_controllers();
    let agent = start_agent(&cluster).await;
    let input = present_input(1, 1, &bundle(vec![config_map("settings", "1")]), Policies::default());
    agent.engine.set_desired(vec![input.clone()]);
    agent.until_operational(&input.desired).await;
    let edit =
        |manager: &str| cluster.edit(CONFIG_MAP, ("default", "settings"), manager, set_key("2")).unwrap();
    let heal_after = async |manager: &str, reported: usize| {
        edit(manager);
        wait_until("healed", || settings_value(&cluster) == Some("1".into())).await;
        wait_until("reported", || agent.drift().len() > reported).await;
        tokio::time::sleep(PAUSE).await;
    };
    for round in 0..8 {
        heal_after("kubectl-edit", round).await;
    }
    for round in 8..14 {
        heal_after("other-controller", round).await;
    }
    edit("other-controller");
    let is_drifted = |report: &domain::report::ReleaseReport| report.sync == SyncStatus::Drifted;
    let report = agent.wait_for_report(release_id(1), "contested", is_drifted).await;
    let problem = report.resources[0].problem.as_ref().unwrap();
    assert_eq!(problem.code, "Contested");
    assert!(problem.message.contains("other-controller"), "{}", problem.message);
    let outcomes: Vec<DriftOutcome> = agent.drift().iter().map(|note| note.outcome).collect();
    assert_eq!(outcomes[14..], [DriftOutcome::Contested]);
    assert!(outcomes[..14].iter().all(|outcome| *outcome == DriftOutcome::Healed), "{outcomes:?}");
    tokio::time::sleep(PAUSE).await;
    assert_eq!(settings_value(&cluster), Some("2".into()), "it is left");
    agent.stop().await;
}

#[tokio::test(start_paused = true)]
async fn p13_a_contested_field_is_left_after_a_restart_and_a_re_rendering_until_the_next_revision() {
    let cluster = cluster_without_controllers();
    let start = async || {
        let client = kube::Client::new(cluster.service(), "default");
        let options = engine::Options { retry_max: std::time::Duration::from_secs(3_600), ..options() };
        TestAgent::start(engine::Engine::connect(client, options).await.unwrap())
    };
    let edit =
        || cluster.edit(CONFIG_MAP, ("default", "settings"), "other-controller", set_key("2")).unwrap();
    let version = || {
        let settings = cluster.get(CONFIG_MAP, ("default", "settings")).unwrap();
        settings["metadata"]["resourceVersion"].clone()
    };
    let contents = bundle(vec![config_map("settings", "1")]);
    let mut input = present_input(1, 1, &contents, Policies::default());
    let agent = start().await;
    agent.engine.set_desired(vec![input.clone()]);
    agent.until_operational(&input.desired).await;
    for round in 0..3 {
        edit();
        wait_until("healed", || settings_value(&cluster) == Some("1".into())).await;
        wait_until("reported", || agent.drift().len() > round).await;
    }
    edit();
    wait_until("recorded", || {
        cluster.list(RECORD, None)[0]["spec"]["contested"]["objects"][0]["fields"][0] == "/data/key"
    })
    .await;
    agent.stop().await;

    let before = version();
    let agent = start().await;
    agent.engine.set_desired(vec![input.clone()]);
    agent.wait_for_report(release_id(1), "drifted", |report| report.sync == SyncStatus::Drifted).await;
    // Another generation of the same revision, as for a label of the cluster.
    input.desired.generation += 1;
    agent.engine.set_desired(vec![input.clone()]);
    tokio::time::sleep(std::time::Duration::from_secs(10_000)).await;
    assert_eq!((version(), settings_value(&cluster)), (before, Some("2".into())), "nothing is applied");
    assert!(agent.drift().is_empty(), "it was reported before the restart");

    // A publish decides.
    let published = present_input(1, 3, &contents, Policies::default());
    agent.engine.set_desired(vec![published]);
    wait_until("reverted", || settings_value(&cluster) == Some("1".into())).await;
    wait_until("forgotten", || cluster.list(RECORD, None)[0]["spec"].get("contested").is_none()).await;
    agent.stop().await;
}

#[tokio::test(start_paused = true)]
async fn values_normalized_by_the_server_are_no_drift() {
    let cluster = cluster_without_controllers();
    let agent = start_agent(&cluster).await;
    let mut object = deployment("web", 1, "nginx");
    object["spec"]["template"]["spec"]["containers"][0]["resources"] =
        serde_json::json!({"limits": {"cpu": "1000m", "memory": "1024Mi"}});
    let input = present_input(1, 1, &bundle(vec![object]), Policies::default());
    agent.engine.set_desired(vec![input.clone()]);
    agent.until_applied(&input.desired).await;
    wait_until("recorded", || cluster.list(RECORD, None)[0]["spec"]["applied"] != "").await;
    let writes = cluster.stats().applies;
    // An unrelated change causes another comparison.
    let annotate = |object: &mut Value| object["metadata"]["annotations"]["note"] = "hello".into();
    cluster.edit(DEPLOYMENT, ("default", "web"), "kubectl-annotate", annotate).unwrap();
    tokio::time::sleep(QUIET_TIME).await;
    assert_eq!(cluster.stats().applies, writes);
    assert!(agent.drift().is_empty());
    agent.stop().await;
}
