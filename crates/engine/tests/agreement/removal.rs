//! Pruning, removal, finalizers, garbage.

use domain::release::{StageName, StageState, Sync};
use domain::workload::{DeletionPolicy, Policies};
use serde_json::json;

use crate::place::*;

async fn recorded(place: &Place, count: usize) {
    let all = async || {
        let record = place.record().await;
        record.is_some_and(|record| {
            record["spec"]["applied"] != ""
                && record["spec"]["resources"].as_array().is_some_and(|all| all.len() == count)
        })
    };
    place.eventually("recorded", all).await;
}

pub async fn s3_13_what_a_new_bundle_no_longer_has_goes(place: Place) {
    place.wants(vec![config_map("a", "1"), config_map("b", "1")], Policies::default());
    place.until_operational().await;
    place.wants(vec![config_map("a", "1")], Policies::default());
    let report = place.until_applied().await;
    assert_eq!(stage(&report, StageName::Pruned), Some(&StageState::Done));
    assert!(place.get(CONFIG_MAP, "b").await.is_none());
    recorded(&place, 1).await;
}

pub async fn s3_13_what_somebody_made_anew_stays(mut place: Place) {
    let both = vec![config_map("a", "1"), config_map("b", "1")];
    place.wants(both.clone(), Policies::default());
    place.until_operational().await;
    recorded(&place, 2).await;
    // Nobody watches while it is replaced.
    place.later(std::time::Duration::ZERO, both).await;
    place.agent.engine.set_desired(vec![]);
    place.delete(CONFIG_MAP, "b").await;
    place.create(config_map("b", "theirs"), "someone-else").await;
    place.wants(vec![config_map("a", "1")], Policies::default());
    place.until_applied().await;
    assert_eq!(place.get(CONFIG_MAP, "b").await.unwrap()["data"]["key"], "theirs");
}

pub async fn s3_11_a_removed_release_leaves_nothing_and_its_pods_go_too(place: Place) {
    let objects = vec![config_map("settings", "1"), workload("Deployment", "web", None)];
    place.wants(objects, Policies::default());
    place.until_operational().await;
    assert_eq!(place.list(POD).await.len(), 2);
    place.wants_nothing(DeletionPolicy::Foreground);
    let report = place.until_gone().await;
    assert_eq!(report.sync, Sync::Removed);
    assert!(place.get(DEPLOYMENT, "web").await.is_none());
    assert!(place.get(CONFIG_MAP, "settings").await.is_none());
    assert!(place.list(("apps/v1", "ReplicaSet")).await.is_empty(), "dependants go first");
    assert!(place.list(POD).await.is_empty(), "dependants go first");
    assert!(place.record().await.is_none());
}

pub async fn s3_12_a_finalizer_holds_the_removal_and_is_named(place: Place) {
    place.wants(vec![config_map("held", "1")], Policies::default());
    place.until_operational().await;
    let hold = |finalizers| json!({"metadata": {"finalizers": finalizers}});
    place.merge(CONFIG_MAP, "held", hold(json!(["example.com/hold"])), "kubectl-edit").await;
    place.wants_nothing(DeletionPolicy::Foreground);
    let (report, message) = place.until_trouble(StageName::Pruned, "FinalizerPending").await;
    assert!(message.contains("example.com/hold"), "{message}");
    assert_eq!(report.sync, Sync::Removing);
    assert!(place.record().await.is_some());
    place.merge(CONFIG_MAP, "held", hold(json!(null)), "kubectl-edit").await;
    place.until_gone().await;
    assert!(place.record().await.is_none());
}

pub async fn an_orphaned_release_leaves_its_objects_without_our_marks(place: Place) {
    place.wants(vec![config_map("settings", "1")], Policies::default());
    place.until_operational().await;
    place.wants_nothing(DeletionPolicy::Orphan);
    place.until_gone().await;
    let live = place.get(CONFIG_MAP, "settings").await.unwrap();
    assert_eq!(live["data"]["key"], "1");
    assert!(!live.to_string().contains("flotilla"), "{live}");
    assert!(place.record().await.is_none());
}

pub async fn s3_11_a_record_deleted_by_hand_is_made_again(place: Place) {
    place.wants(vec![config_map("settings", "1")], Policies::default());
    place.until_operational().await;
    recorded(&place, 1).await;
    let record = place.record().await.unwrap();
    let uid = place.get(CONFIG_MAP, "settings").await.unwrap()["metadata"]["uid"].clone();
    place.delete(RECORD, record["metadata"]["name"].as_str().unwrap()).await;
    let anew = async || {
        place.record().await.is_some_and(|fresh| fresh["metadata"]["uid"] != record["metadata"]["uid"])
    };
    place.eventually("made again", anew).await;
    assert_eq!(place.get(CONFIG_MAP, "settings").await.unwrap()["metadata"]["uid"], uid);
}

pub async fn s3_11_an_apply_that_names_a_uid_makes_nothing_anew(place: Place) {
    use k8s_openapi::api::core::v1::ConfigMap;
    use kube::api::{Patch, PatchParams};
    let made = place.create(config_map("once", "1"), "test").await;
    let named = json!({"apiVersion": "v1", "kind": "ConfigMap",
        "metadata": {"name": "once", "uid": made["metadata"]["uid"]}, "data": {"key": "2"}});
    let api: kube::Api<ConfigMap> = kube::Api::namespaced(place.client(), &place.namespace);
    let apply = async || api.patch("once", &PatchParams::apply("test").force(), &Patch::Apply(&named)).await;
    apply().await.unwrap();
    place.delete(CONFIG_MAP, "once").await;
    for code in [409, 422] {
        let refused = apply().await.unwrap_err();
        assert!(matches!(&refused, kube::Error::Api(status) if status.code == code), "{refused:?}");
        if code == 409 {
            place.create(config_map("once", "3"), "test").await;
        }
    }
    assert_eq!(place.get(CONFIG_MAP, "once").await.unwrap()["data"]["key"], "3", "another of the same name");
}
