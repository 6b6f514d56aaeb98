//! Outcomes of requests to the deployment API: what failed, what is deferred, and what a sync waits for (S1-13, S1-20, S1-21).

use domain::placement::ClusterGroup;
use reqwest::{Method, StatusCode};

use super::charts::chart;
use super::deployments::{DEPLOYMENTS, EU, WEB, fleet_of, outcomes};
use super::*;

fn web(version: &str) -> Value {
    json!({"name": "local/web", "version": version, "namespace": "shop", "releaseName": "web"})
}

/// Sets the members of group europe with the notice that the API of groups gives.
pub(super) async fn set_members(fleet: &TestFleet, members: &[&str]) {
    let group = fleet.client.get_group("europe").await.unwrap().group;
    let revision = group.revision;
    let members = members.iter().map(|&name| name.to_owned()).collect();
    let group = ClusterGroup { members, ..group };
    fleet.client.put_group("europe", &group.into(), revision).await.unwrap();
}

async fn sync(fleet: &TestFleet) -> (StatusCode, Value) {
    fleet.send(Method::PUT, &format!("{WEB}/sync"), Value::Null).await
}

/// Lets these clusters reject the ConfigMap of the deployment.
fn reject_config_maps(fleet: &TestFleet, clusters: &[usize]) {
    for index in clusters {
        fleet.clusters[*index].faults().set_admission_rules(vec![kubesim::AdmissionRule {
            webhook: "policy.example.com".to_owned(),
            kind: "ConfigMap".to_owned(),
            name: "web".to_owned(),
            message: "no web here".to_owned(),
            ..kubesim::AdmissionRule::default()
        }]);
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn s1_10_a_response_before_the_placement_is_in_progress_on_every_cluster() {
    with_timeout(Box::pin(async {
        let fleet = fleet_of(&["eu-1", "eu-2"]).await;
        fleet.create_europe(&[0, 1]).await;
        let (status, started) = fleet.send_with_wait(Method::POST, DEPLOYMENTS, web("1.0.0"), "wait=0").await;
        assert_eq!(status, StatusCode::ACCEPTED, "{started}");
        let clusters: Vec<&Value> =
            started["targetClusters"].as_array().unwrap().iter().map(|one| &one["clusterName"]).collect();
        assert_eq!(clusters, ["eu-1", "eu-2"], "{started}");
        fleet.stop().await;
    }))
    .await;
}

#[tokio::test(flavor = "multi_thread")]
async fn s1_21_a_sync_succeeds_on_a_cluster_that_left_once_its_objects_are_gone() {
    with_timeout(Box::pin(async {
        let fleet = fleet_of(&["eu-1", "eu-2"]).await;
        fleet.create_europe(&[0, 1]).await;
        assert_eq!(fleet.send(Method::POST, DEPLOYMENTS, web("1.0.0")).await.0, StatusCode::CREATED);
        assert!(!fleet.data(1, "web").is_null());
        set_members(&fleet, &["eu-1"]).await;
        let (status, synced) = sync(&fleet).await;
        assert_eq!(
            (status, outcomes(&synced)),
            (StatusCode::ACCEPTED, vec!["eu-1 SUCCEEDED".to_owned(), "eu-2 SUCCEEDED".to_owned()]),
            "{synced}"
        );
        assert!(fleet.data(1, "web").is_null(), "it was answered after the removal");
        assert_eq!(fleet.statuses(WEB).await, ["eu-1 DEPLOYED 1.0.0"]);
        fleet.stop().await;
    }))
    .await;
}

#[tokio::test(flavor = "multi_thread")]
async fn g106_s1_13_s1_21_an_offline_cluster_is_deferred_also_if_it_has_the_objects_or_has_left() {
    with_timeout(Box::pin(async {
        let mut fleet = fleet_of(&["eu-1", "eu-2"]).await;
        fleet.create_europe(&[0, 1]).await;
        assert_eq!(fleet.send(Method::POST, DEPLOYMENTS, web("1.0.0")).await.0, StatusCode::CREATED);
        fleet.stop_agent(1, "eu-2").await;
        let deferred = vec!["eu-1 SUCCEEDED".to_owned(), "eu-2 DEFERRED".to_owned()];
        let (status, synced) = sync(&fleet).await;
        assert_eq!((status, outcomes(&synced)), (StatusCode::MULTI_STATUS, deferred.clone()), "{synced}");
        // An edit that changes nothing does not reach it either.
        let (status, edited) = fleet.send(Method::PUT, WEB, json!({"reuseValues": true})).await;
        assert_eq!((status, outcomes(&edited)), (StatusCode::MULTI_STATUS, deferred.clone()), "{edited}");
        // Whether it has a release of this name is not known.
        let other = json!({"name": "local/web", "namespace": "shop", "releaseName": "api"});
        let (status, created) = fleet.send(Method::POST, DEPLOYMENTS, other).await;
        assert_eq!((status, outcomes(&created)), (StatusCode::MULTI_STATUS, deferred.clone()), "{created}");
        let is_unchecked =
            |finding: &Value| finding["code"] == "G106" && finding["clusters"] == json!(["eu-2"]);
        assert!(created["findings"].as_array().unwrap().iter().any(is_unchecked), "{created}");

        set_members(&fleet, &["eu-1"]).await;
        let (status, synced) = sync(&fleet).await;
        assert_eq!((status, outcomes(&synced)), (StatusCode::MULTI_STATUS, deferred), "{synced}");
        let message = synced["message"].as_str().unwrap();
        let cause = "The cluster is unreachable; it completes the removal when it returns.";
        assert!(message.contains(&format!("CLUSTER: eu-2 CAUSE: {cause}")), "{message}");
        fleet.stop().await;
    }))
    .await;
}

#[tokio::test(flavor = "multi_thread")]
async fn s1_10_s1_13_s1_20_failures_are_named_by_cluster_and_a_sync_repeats_or_ends_them() {
    with_timeout(Box::pin(async {
        let fleet = fleet_of(&["eu-1", "eu-2", "eu-3"]).await;
        fleet.create_europe(&[0, 1, 2]).await;
        reject_config_maps(&fleet, &[0, 1]);
        let failed = ["eu-1 FAILED", "eu-2 FAILED", "eu-3 SUCCEEDED"].map(str::to_owned).to_vec();
        let (status, created) = fleet.send(Method::POST, DEPLOYMENTS, web("1.0.0")).await;
        assert_eq!((status, outcomes(&created)), (StatusCode::MULTI_STATUS, failed.clone()), "{created}");
        let message = created["message"].as_str().unwrap();
        let start = "Some operations related to multi-cluster deployment web were not successful: CLUSTER: eu-1 CAUSE: ";
        assert!(message.starts_with(start) && message.contains(" | CLUSTER: eu-2 CAUSE: "), "{message}");
        assert!(message.matches("no web here").count() >= 2, "{message}");
        let statuses = fleet.statuses(WEB).await;
        assert!(statuses[0].starts_with("eu-1 FAILED") && statuses[1].starts_with("eu-2 FAILED"), "{statuses:?}");
        assert_eq!(statuses[2], "eu-3 DEPLOYED 1.0.0");

        // Still failing: the outcome is that of another attempt.
        let (status, synced) = sync(&fleet).await;
        assert_eq!((status, outcomes(&synced)), (StatusCode::MULTI_STATUS, failed), "{synced}");
        for cluster in &fleet.clusters {
            cluster.faults().clear();
        }
        let (status, synced) = sync(&fleet).await;
        let succeeded = ["eu-1 SUCCEEDED", "eu-2 SUCCEEDED", "eu-3 SUCCEEDED"].map(str::to_owned).to_vec();
        assert_eq!((status, outcomes(&synced)), (StatusCode::ACCEPTED, succeeded), "{synced}");
        let deployed = ["eu-1 DEPLOYED 1.0.0", "eu-2 DEPLOYED 1.0.0", "eu-3 DEPLOYED 1.0.0"];
        assert_eq!(fleet.statuses(WEB).await, deployed);
        fleet.stop().await;
    }))
    .await;
}

#[tokio::test(flavor = "multi_thread")]
async fn s1_2_s1_22_a_feature_whose_deletion_failed_says_why_and_is_tried_again_on_request() {
    with_timeout(Box::pin(async {
        let fleet = fleet_of(&["eu-1"]).await;
        fleet.create_europe(&[0]).await;
        assert_eq!(fleet.send(Method::POST, DEPLOYMENTS, web("1.0.0")).await.0, StatusCode::CREATED);
        fleet.clusters[0].faults().set_failing_paths(vec!["/configmaps/web".to_owned()]);
        let feature = format!("{EU}/features/deployment");
        assert_eq!(fleet.send(Method::DELETE, &feature, Value::Null).await.0, StatusCode::ACCEPTED);
        let read = async || fleet.send(Method::GET, &feature, Value::Null).await.1;
        fleet.wait_until(async || read().await["reconcileState"] == "FAILED").await;
        let failed = read().await;
        let error = failed["lastReconcileError"].as_str().unwrap();
        assert!(error.starts_with("web: ") && error.contains("ConfigMap"), "{failed}");
        let statuses = fleet.statuses(WEB).await;
        assert!(statuses[0].starts_with("eu-1 FAILED"), "{statuses:?}");
        // A deletion by name fails for the same reason, after another attempt.
        let (status, deleted) = fleet.send(Method::DELETE, WEB, Value::Null).await;
        assert_eq!(
            (status, outcomes(&deleted)),
            (StatusCode::MULTI_STATUS, vec!["eu-1 FAILED".to_owned()]),
            "{deleted}"
        );

        fleet.clusters[0].faults().clear();
        let (status, retried) = fleet.send(Method::DELETE, &feature, Value::Null).await;
        assert_eq!(status, StatusCode::ACCEPTED, "{retried}");
        fleet.wait_until(async || read().await["reconcileState"] == "SUCCESS").await;
        assert!(fleet.data(0, "web").is_null());
        assert_eq!(read().await["lastReconcileError"].as_str().unwrap_or_default(), "");
        fleet.stop().await;
    }))
    .await;
}

/// What the deployment would lose if a dry run stored something: its values, and its newest operation.
async fn stored(fleet: &TestFleet) -> (Value, Value, Value) {
    let (_, view) = fleet.send(Method::GET, WEB, Value::Null).await;
    let operations = "/api/v1/projects/default/workloads/web/operations";
    let (status, listed) = fleet.send(Method::GET, operations, Value::Null).await;
    assert_eq!(status, StatusCode::OK, "{listed}");
    (view["values"].clone(), view["valueOverrides"].clone(), listed["items"].clone())
}

#[tokio::test(flavor = "multi_thread")]
async fn s1_15_a_dry_run_of_an_edit_stores_nothing_and_names_the_cluster_whose_values_are_wrong() {
    with_timeout(Box::pin(async {
        let fleet = fleet_of(&["eu-1", "eu-2"]).await;
        let schema = r#"{"properties": {"replicas": {"type": "integer"}}}"#;
        let checked = chart("2.0.0", &[("values.schema.json", schema)]);
        fleet.client.upload_chart(checked).await.unwrap();
        fleet.create_europe(&[0, 1]).await;
        assert_eq!(fleet.send(Method::POST, DEPLOYMENTS, web("2.0.0")).await.0, StatusCode::CREATED);
        let before = stored(&fleet).await;
        let data = [fleet.data(0, "web"), fleet.data(1, "web")];

        // Both spellings, as boolean and as text.
        let pending = ["eu-1 PENDING", "eu-2 PENDING"].map(str::to_owned).to_vec();
        for (flag, value) in [("dryRun", json!(true)), ("dryrun", json!("true"))] {
            let mut edit = json!({"reuseValues": true, "valueOverrides": {"eu-2": {"replicas": 9}}});
            edit[flag] = value;
            let (status, tried) = fleet.send(Method::PUT, WEB, edit).await;
            assert_eq!((status, outcomes(&tried)), (StatusCode::OK, pending.clone()), "{flag}: {tried}");
            assert!(tried["operation"].is_null(), "{flag}: {tried}");
        }
        let wrong =
            json!({"dryRun": "true", "reuseValues": true, "valueOverrides": {"eu-2": {"replicas": "many"}}});
        let (status, refused) = fleet.send(Method::PUT, WEB, wrong).await;
        assert_eq!(status, StatusCode::BAD_REQUEST, "{refused}");
        let findings = refused["findings"].as_array().unwrap();
        let found = findings.iter().find(|finding| finding["code"] == "G113").unwrap();
        assert_eq!(found["clusters"], json!(["eu-2"]), "{refused}");
        assert_eq!(stored(&fleet).await, before);
        assert_eq!([fleet.data(0, "web"), fleet.data(1, "web")], data);
        fleet.stop().await;
    }))
    .await;
}

#[tokio::test(flavor = "multi_thread")]
async fn s1_22_s1_23_a_deleted_cluster_holds_up_no_deletion_and_is_cleaned_up_when_it_joins_again() {
    with_timeout(Box::pin(async {
        let mut fleet = fleet_of(&["eu-1", "eu-2"]).await;
        fleet.create_europe(&[0, 1]).await;
        assert_eq!(fleet.send(Method::POST, DEPLOYMENTS, web("1.0.0")).await.0, StatusCode::CREATED);
        fleet.stop_agent(1, "eu-2").await;
        fleet.client.delete_cluster("eu-2", true).await.unwrap();

        // Without force: only the clusters that exist have to remove it.
        let (status, deleted) = fleet.send(Method::DELETE, WEB, Value::Null).await;
        assert_eq!(
            (status, outcomes(&deleted)),
            (StatusCode::OK, vec!["eu-1 SUCCEEDED".to_owned()]),
            "{deleted}"
        );
        let is_gone = async || fleet.send(Method::GET, WEB, Value::Null).await.0 == StatusCode::NOT_FOUND;
        fleet.wait_until(is_gone).await;
        assert!(!fleet.data(1, "web").is_null(), "the deleted cluster could not remove it");

        let client = fleet.agents[1].client.clone();
        fleet.join_cluster("eu-2", client).await;
        fleet.wait_until(async || fleet.data(1, "web").is_null()).await;
        let query = EventQuery { cluster: Some("eu-2".to_owned()), ..EventQuery::default() };
        let is_reported = async || {
            let events = fleet.client.list_events(&query).await.unwrap().items;
            events.iter().any(|one| one.kind == EventKind::ReleaseCleanedUp && one.message.contains("eu-2"))
        };
        fleet.wait_until(is_reported).await;
        fleet.stop().await;
    }))
    .await;
}
