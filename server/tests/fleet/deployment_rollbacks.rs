//! Rollbacks of deployments: requested with `atomic`, and by a user; and the history of their revisions (S1-10, S1-20).

use domain::deployment::group_placement;
use domain::rollout::RolloutStrategy;
use reqwest::{Method, StatusCode};

use super::charts::{chart, chart_workload};
use super::deployment_statuses::{stop_jobs, upload_charts_with_jobs};
use super::deployments::{DEPLOYMENTS, WEB, fleet_of, outcomes};
use super::*;

/// A chart with an object that a cluster can reject beside the one of every version.
async fn upload_chart_with_quota(fleet: &TestFleet) {
    let quota = "apiVersion: v1\nkind: ConfigMap\nmetadata: {name: quota}\n";
    fleet.client.upload_chart(chart("1.2.0", &[("templates/quota.yaml", quota)])).await.unwrap();
}

/// Lets a cluster reject that object.
fn reject_quota(fleet: &TestFleet, cluster: usize) {
    fleet.clusters[cluster].faults().set_admission_rules(vec![kubesim::AdmissionRule {
        webhook: "policy.example.com".to_owned(),
        kind: "ConfigMap".to_owned(),
        name: "quota".to_owned(),
        message: "no quota here".to_owned(),
        ..kubesim::AdmissionRule::default()
    }]);
}

/// Clusters on which a revision fails for a second are rolled back.
fn atomic_strategy() -> RolloutStrategy {
    let mut strategy = RolloutStrategy::default();
    strategy.set_cluster_rollback(true);
    strategy.fail_after = "1s".parse().ok();
    strategy
}

/// Publishes the deployment as it is, with this rollout.
async fn publish_with_rollout(fleet: &TestFleet, rollout: RolloutStrategy) {
    let current = fleet.client.get_workload("web").await.unwrap().workload;
    let spec = WorkloadSpec { rollout, ..current.draft };
    let put = WorkloadPut { spec, ..WorkloadPut::default() };
    fleet.client.put_workload("web", &put, current.revision).await.unwrap();
    fleet.client.publish_workload("web", &PublishRequest::default(), None).await.unwrap();
}

/// The error of a target cluster of the deployment; empty if there is none.
async fn target_error(fleet: &TestFleet, cluster: usize) -> String {
    let (_, view) = fleet.send(Method::GET, WEB, Value::Null).await;
    view["targetClusters"][cluster]["error"].as_str().unwrap_or_default().to_owned()
}

/// The revisions of the deployment, newest first: `2 SUPERSEDED 1.1.0`.
async fn history(fleet: &TestFleet) -> Vec<String> {
    let (_, view) = fleet.send(Method::GET, WEB, Value::Null).await;
    let text = |revision: &Value| {
        let field = |name: &str| revision[name].as_str().unwrap().to_owned();
        format!("{} {} {}", revision["version"], field("status"), field("chartVersion"))
    };
    view["history"].as_array().unwrap().iter().map(text).collect()
}

#[tokio::test(flavor = "multi_thread")]
async fn s1_10_an_atomic_edit_that_fails_on_a_cluster_is_rolled_back_there_and_stays_on_the_others() {
    with_timeout(Box::pin(async {
        let fleet = fleet_of(&["eu-1", "eu-2"]).await;
        upload_chart_with_quota(&fleet).await;
        fleet.create_europe(&[0, 1]).await;
        let body = json!({"name": "local/web", "version": "1.0.0", "namespace": "shop", "releaseName": "web",
            "atomic": "true"});
        let (status, created) = fleet.send(Method::POST, DEPLOYMENTS, body).await;
        assert_eq!(status, StatusCode::CREATED, "{created}");
        let workload = fleet.client.get_workload("web").await.unwrap().workload;
        assert!(workload.draft.rollout.has_only_rollback(), "{:?}", workload.draft.rollout);
        publish_with_rollout(&fleet, atomic_strategy()).await;
        fleet.wait_until(async || history(&fleet).await[0] == "2 DEPLOYED 1.0.0").await;

        reject_quota(&fleet, 0);
        let (status, edited) =
            fleet.send(Method::PUT, WEB, json!({"version": "1.2.0", "atomic": true})).await;
        assert_eq!(status, StatusCode::MULTI_STATUS, "{edited}");
        assert_eq!(outcomes(&edited), ["eu-1 FAILED", "eu-2 SUCCEEDED"]);
        let rolled_back = ["eu-1 FAILED 1.0.0 stale", "eu-2 DEPLOYED 1.2.0"];
        let is_rolled_back = async || {
            fleet.statuses(WEB).await == rolled_back
                && target_error(&fleet, 0).await.contains("rolled back to revision 2")
        };
        fleet.wait_until(is_rolled_back).await;
        let error = target_error(&fleet, 0).await;
        assert!(error.starts_with("Revision 3 failed here") && error.contains("no quota here"), "{error}");
        assert_eq!(fleet.data(0, "web")["chart"], "1.0.0");
        assert_eq!(fleet.data(1, "web")["chart"], "1.2.0");
        // The outcome of the request names it too.
        let path = format!("/api/v1/operations/{}", edited["operation"].as_str().unwrap());
        let (_, operation) = fleet.send(Method::GET, &path, Value::Null).await;
        let target = &operation["targetClusters"][0];
        assert!(target["error"].as_str().unwrap().contains("rolled back to revision 2"), "{operation}");

        // An edit without it is delivered as before.
        let (status, edited) = fleet.send(Method::PUT, WEB, json!({"version": "1.1.0"})).await;
        assert_eq!(status, StatusCode::OK, "{edited}");
        let workload = fleet.client.get_workload("web").await.unwrap().workload;
        assert_eq!(workload.draft.rollout, RolloutStrategy::default());
        assert_eq!(fleet.statuses(WEB).await, ["eu-1 DEPLOYED 1.1.0", "eu-2 DEPLOYED 1.1.0"]);
        fleet.stop().await;
    }))
    .await;
}

#[tokio::test(flavor = "multi_thread")]
async fn s1_10_s1_21_an_atomic_installation_that_fails_is_removed_there_and_a_sync_installs_it_again() {
    with_timeout(Box::pin(async {
        let fleet = fleet_of(&["eu-1", "eu-2"]).await;
        upload_chart_with_quota(&fleet).await;
        fleet.create_europe(&[0, 1]).await;
        reject_quota(&fleet, 0);
        let mut new = chart_workload("1.2.0", "");
        new.spec.namespace = "shop".to_owned();
        new.spec.policies.create_namespace = true;
        new.spec.placement = group_placement("europe");
        new.spec.rollout = atomic_strategy();
        fleet.client.create_workload(&new).await.unwrap();
        fleet.client.publish_workload("web", &PublishRequest::default(), None).await.unwrap();
        let removed = ["eu-1 NOT INSTALLED  stale", "eu-2 DEPLOYED 1.2.0"];
        let is_removed = async || {
            fleet.statuses(WEB).await == removed
                && target_error(&fleet, 0).await.contains("its first installation was rolled back")
        };
        fleet.wait_until(is_removed).await;
        assert!(fleet.data(0, "web").is_null() && !fleet.data(1, "web").is_null());

        fleet.clusters[0].faults().clear();
        let (status, synced) = fleet.send(Method::PUT, &format!("{WEB}/sync"), Value::Null).await;
        assert_eq!(status, StatusCode::ACCEPTED, "{synced}");
        assert_eq!(outcomes(&synced), ["eu-1 SUCCEEDED", "eu-2 SUCCEEDED"], "{synced}");
        let installed = ["eu-1 DEPLOYED 1.2.0", "eu-2 DEPLOYED 1.2.0"];
        fleet.wait_until(async || fleet.statuses(WEB).await == installed).await;
        fleet.stop().await;
    }))
    .await;
}

#[tokio::test(flavor = "multi_thread")]
async fn s1_20_a_rollback_is_pending_while_it_is_applied_and_earlier_revisions_are_superseded() {
    with_timeout(Box::pin(async {
        let fleet = fleet_of(&["eu-1"]).await;
        upload_charts_with_jobs(&fleet).await;
        fleet.create_europe(&[0]).await;
        let body =
            json!({"name": "local/web", "version": "2.0.0", "namespace": "shop", "releaseName": "web"});
        assert_eq!(fleet.send(Method::POST, DEPLOYMENTS, body).await.0, StatusCode::CREATED);
        let (status, edited) = fleet.send(Method::PUT, WEB, json!({"version": "2.1.0"})).await;
        assert_eq!(status, StatusCode::OK, "{edited}");
        assert_eq!(history(&fleet).await, ["2 DEPLOYED 2.1.0", "1 SUPERSEDED 2.0.0"]);

        // The Job before an upgrade, which a rollback is, does not end.
        stop_jobs(&fleet, &["migrate"]);
        let earlier = PublishRequest { revision: Some(1), ..PublishRequest::default() };
        fleet.client.publish_workload("web", &earlier, None).await.unwrap();
        fleet.wait_until(async || fleet.statuses(WEB).await == ["eu-1 PENDING_ROLLBACK 2.1.0 stale"]).await;
        let pending = ["3 PENDING_ROLLBACK 2.0.0", "2 SUPERSEDED 2.1.0", "1 SUPERSEDED 2.0.0"];
        assert_eq!(history(&fleet).await, pending);
        stop_jobs(&fleet, &[]);
        fleet.wait_until(async || fleet.statuses(WEB).await == ["eu-1 DEPLOYED 2.0.0"]).await;
        assert_eq!(history(&fleet).await[0], "3 DEPLOYED 2.0.0");
        fleet.stop().await;
    }))
    .await;
}
