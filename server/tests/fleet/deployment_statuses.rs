//! Status words of a deployment on its clusters, in the states that pass or need a cause (S1-14, S1-20, S1-21, S1-28).

use domain::rollout::{RolloutAction, RolloutState, RolloutStrategy, Wave};
use reqwest::{Method, StatusCode};

use super::charts::{chart, cluster_named, hook_job};
use super::deployments::{DEPLOYMENTS, EU, WEB, fleet_of, outcomes};
use super::*;

/// Charts 2.0.0 and 2.1.0 of `web`, with the Jobs `create` before the installation and `migrate` before an upgrade.
pub(super) async fn upload_charts_with_jobs(fleet: &TestFleet) {
    let (install, upgrade) = (hook_job("create", "pre-install"), hook_job("migrate", "pre-upgrade"));
    let files = [("templates/create.yaml", install.as_str()), ("templates/migrate.yaml", upgrade.as_str())];
    for version in ["2.0.0", "2.1.0"] {
        fleet.client.upload_chart(chart(version, &files)).await.unwrap();
    }
}

fn web(version: &str) -> Value {
    json!({"name": "local/web", "version": version, "namespace": "shop", "releaseName": "web"})
}

/// Lets the pods of these Jobs start on no cluster; none of them lets all start.
pub(super) fn stop_jobs(fleet: &TestFleet, jobs: &[&str]) {
    for cluster in &fleet.clusters {
        cluster.faults().set_unschedulable_pods(jobs.iter().map(|&job| job.to_owned()).collect());
    }
}

/// Sets the finalizers of the ConfigMap of `web` on a cluster.
fn set_finalizers(fleet: &TestFleet, cluster: usize, finalizers: &Value) {
    let edit = |object: &mut Value| object["metadata"]["finalizers"] = finalizers.clone();
    fleet.clusters[cluster].edit(CONFIG_MAP, ("shop", "web"), "backup", edit).unwrap();
}

impl TestFleet {
    /// Waits until the deployment has this status on each of this many clusters.
    async fn wait_for_all(&self, count: usize, status: &str) {
        self.wait_until(async || {
            let statuses = self.statuses(WEB).await;
            let is_it = |text: &String| text.split_once(' ').is_some_and(|(_, rest)| rest == status);
            statuses.len() == count && statuses.iter().all(is_it)
        })
        .await;
    }

    /// On how many clusters the deployment has this status.
    async fn count_with(&self, status: &str) -> usize {
        let statuses = self.statuses(WEB).await;
        let is_it = |text: &&String| text.split_once(' ').is_some_and(|(_, rest)| rest == status);
        statuses.iter().filter(is_it).count()
    }

    /// How many clusters of the operation are in progress.
    async fn count_running(&self, started: &Value) -> Value {
        let path = format!("/api/v1/operations/{}", started["operation"].as_str().unwrap());
        let (status, operation) = self.send(Method::GET, &path, Value::Null).await;
        assert_eq!(status, StatusCode::OK, "{operation}");
        operation["counts"]["running"].clone()
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn s1_13_s1_14_s1_20_every_cluster_is_in_progress_at_the_same_time_at_installation_and_upgrade() {
    with_timeout(Box::pin(async {
        let fleet = fleet_of(&["eu-1", "eu-2", "eu-3"]).await;
        upload_charts_with_jobs(&fleet).await;
        fleet.create_europe(&[0, 1, 2]).await;
        stop_jobs(&fleet, &["create", "migrate"]);
        let (status, started) = fleet.send_with_wait(Method::POST, DEPLOYMENTS, web("2.0.0"), "wait=0").await;
        assert_eq!(status, StatusCode::ACCEPTED, "{started}");
        // None ends before its Job does: if one waited for another, it would not have begun.
        fleet.wait_for_all(3, "PENDING_INSTALL  stale").await;
        assert_eq!(fleet.count_running(&started).await, 3);
        stop_jobs(&fleet, &["migrate"]);
        fleet.wait_for_all(3, "DEPLOYED 2.0.0").await;

        let edit = json!({"version": "2.1.0"});
        let (status, started) = fleet.send_with_wait(Method::PUT, WEB, edit, "wait=0").await;
        assert_eq!(status, StatusCode::ACCEPTED, "{started}");
        fleet.wait_for_all(3, "PENDING_UPGRADE 2.0.0 stale").await;
        assert_eq!(fleet.count_running(&started).await, 3);
        stop_jobs(&fleet, &[]);
        fleet.wait_for_all(3, "DEPLOYED 2.1.0").await;
        fleet.stop().await;
    }))
    .await;
}

#[tokio::test(flavor = "multi_thread")]
async fn s1_10_in_rolling_mode_one_cluster_follows_the_other_and_the_next_edit_updates_all_at_once() {
    with_timeout(Box::pin(async {
        let fleet = fleet_of(&["eu-1", "eu-2", "eu-3"]).await;
        upload_charts_with_jobs(&fleet).await;
        fleet.create_europe(&[0, 1, 2]).await;
        stop_jobs(&fleet, &["create", "migrate"]);
        let mut rolling = web("2.0.0");
        rolling["rollingMode"] = json!("true");
        let (status, started) = fleet.send_with_wait(Method::POST, DEPLOYMENTS, rolling, "wait=0").await;
        assert_eq!(status, StatusCode::ACCEPTED, "{started}");
        // The first one does not end before its Job does, and the others wait for it.
        fleet.wait_until(async || fleet.count_with("PENDING_INSTALL  stale").await == 1).await;
        assert_eq!(fleet.count_with("NOT INSTALLED  stale").await, 2);
        assert_eq!(fleet.count_running(&started).await, 1);
        stop_jobs(&fleet, &["migrate"]);
        fleet.wait_for_all(3, "DEPLOYED 2.0.0").await;

        let edit = json!({"version": "2.1.0"});
        let (status, started) = fleet.send_with_wait(Method::PUT, WEB, edit, "wait=0").await;
        assert_eq!(status, StatusCode::ACCEPTED, "{started}");
        fleet.wait_for_all(3, "PENDING_UPGRADE 2.0.0 stale").await;
        stop_jobs(&fleet, &[]);
        fleet.wait_for_all(3, "DEPLOYED 2.1.0").await;
        fleet.stop().await;
    }))
    .await;
}

#[tokio::test(flavor = "multi_thread")]
async fn s1_20_clusters_of_a_wave_that_is_not_approved_are_stale_or_not_installed() {
    with_timeout(Box::pin(async {
        let fleet = fleet_of(&["eu-1", "eu-2", "eu-3"]).await;
        fleet.create_europe(&[0, 1]).await;
        assert_eq!(fleet.send(Method::POST, DEPLOYMENTS, web("1.0.0")).await.0, StatusCode::CREATED);
        let members = json!({"members": fleet.ids(&[0, 1, 2])});
        assert_eq!(fleet.send(Method::PUT, EU, members).await.0, StatusCode::OK);

        // A person publishes the next version in waves.
        let current = fleet.client.get_workload("web").await.unwrap().workload;
        let mut spec = current.draft.clone();
        let near = Wave { name: "near".to_owned(), target: cluster_named("eu-1"), ..Wave::default() };
        let far = Wave { name: "far".to_owned(), approval: true, ..Wave::default() };
        spec.rollout = RolloutStrategy { waves: vec![near, far], ..RolloutStrategy::default() };
        let Source::Chart(source) = &mut spec.source else { panic!("no chart") };
        source.version = "1.1.0".to_owned();
        let put = WorkloadPut { spec, ..WorkloadPut::default() };
        fleet.client.put_workload("web", &put, current.revision).await.unwrap();
        fleet.client.publish_workload("web", &PublishRequest::default(), None).await.unwrap();
        let gated = ["eu-1 DEPLOYED 1.1.0", "eu-2 STALE 1.0.0 stale", "eu-3 NOT INSTALLED  stale"];
        fleet.wait_until(async || fleet.statuses(WEB).await == gated).await;

        let is_waiting = async || {
            let rollout = fleet.client.get_rollout("web", Some(2)).await.unwrap();
            rollout.state == RolloutState::AwaitingApproval
        };
        fleet.wait_until(is_waiting).await;
        assert_eq!(fleet.statuses(WEB).await, gated);
        fleet.client.control_rollout("web", RolloutAction::Approve).await.unwrap();
        fleet.wait_for_all(3, "DEPLOYED 1.1.0").await;
        fleet.stop().await;
    }))
    .await;
}

#[tokio::test(flavor = "multi_thread")]
async fn s1_13_s1_20_s1_22_a_deployment_is_deleting_while_an_object_terminates_and_is_gone_after_it() {
    with_timeout(Box::pin(async {
        let fleet = fleet_of(&["eu-1", "eu-2"]).await;
        fleet.create_europe(&[0, 1]).await;
        assert_eq!(fleet.send(Method::POST, DEPLOYMENTS, web("1.0.0")).await.0, StatusCode::CREATED);
        set_finalizers(&fleet, 1, &json!(["example.com/backup"]));
        let (status, started) = fleet.send_with_wait(Method::DELETE, WEB, Value::Null, "wait=0").await;
        assert_eq!(status, StatusCode::ACCEPTED, "{started}");
        // The cluster that has removed it is listed until the last one has.
        let is_deleting = async || {
            let statuses = fleet.statuses(WEB).await;
            statuses.len() == 2 && statuses[0] == "eu-1 DELETED " && statuses[1].starts_with("eu-2 DELETING ")
        };
        fleet.wait_until(is_deleting).await;
        assert_eq!(fleet.count_running(&started).await, 1);
        assert!(fleet.data(0, "web").is_null() && !fleet.data(1, "web").is_null());
        let (_, view) = fleet.send(Method::GET, WEB, Value::Null).await;
        assert_eq!(view["history"][0]["status"], "DELETING", "{view}");

        set_finalizers(&fleet, 1, &json!([]));
        let is_gone = async || fleet.send(Method::GET, WEB, Value::Null).await.0 == StatusCode::NOT_FOUND;
        fleet.wait_until(is_gone).await;
        assert!(fleet.data(1, "web").is_null());
        fleet.stop().await;
    }))
    .await;
}

#[tokio::test(flavor = "multi_thread")]
async fn s1_20_s1_21_s1_23_a_deleted_cluster_is_stale_and_not_found_until_it_has_joined_again_and_reported_the_objects()
 {
    with_timeout(Box::pin(async {
        let mut fleet = fleet_of(&["eu-1", "eu-2"]).await;
        fleet.create_europe(&[0, 1]).await;
        assert_eq!(fleet.send(Method::POST, DEPLOYMENTS, web("1.0.0")).await.0, StatusCode::CREATED);
        set_finalizers(&fleet, 1, &json!(["example.com/backup"]));
        fleet.stop_agent(1, "eu-2").await;
        fleet.client.delete_cluster("eu-2", true).await.unwrap();
        let left = ["eu-1 DEPLOYED 1.0.0", "eu-2 STALE - cluster not found  stale"];
        assert_eq!(fleet.statuses(WEB).await, left);
        let (_, view) = fleet.send(Method::GET, WEB, Value::Null).await;
        let error = view["targetClusters"][1]["error"].as_str().unwrap();
        assert!(error.contains("was deleted"), "{view}");
        // A sync repairs the clusters that exist.
        let (status, synced) = fleet.send(Method::PUT, &format!("{WEB}/sync"), Value::Null).await;
        assert_eq!((status, outcomes(&synced)), (StatusCode::ACCEPTED, vec!["eu-1 SUCCEEDED".to_owned()]));

        let client = fleet.agents[1].client.clone();
        fleet.join_cluster("eu-2", client).await;
        // It is a member again by its name, and gets nothing before an edit. It is not listed while it removes what it had before.
        fleet.wait_until(async || fleet.statuses(WEB).await == ["eu-1 DEPLOYED 1.0.0"]).await;
        assert!(!fleet.data(1, "web").is_null(), "the object waits for its finalizer");
        set_finalizers(&fleet, 1, &json!([]));
        fleet.wait_until(async || fleet.data(1, "web").is_null()).await;
        assert_eq!(fleet.statuses(WEB).await, ["eu-1 DEPLOYED 1.0.0"]);
        fleet.stop().await;
    }))
    .await;
}

#[tokio::test(flavor = "multi_thread")]
async fn s1_28_a_deleted_group_takes_its_deployments_from_all_clusters_and_leaves_the_clusters() {
    with_timeout(Box::pin(async {
        let fleet = fleet_of(&["eu-1", "eu-2"]).await;
        fleet.create_europe(&[0, 1]).await;
        for name in ["web", "api"] {
            let body = json!({"name": "local/web", "namespace": "shop", "releaseName": name});
            assert_eq!(fleet.send(Method::POST, DEPLOYMENTS, body).await.0, StatusCode::CREATED);
        }
        let (status, deleted) = fleet.send(Method::DELETE, EU, Value::Null).await;
        assert_eq!(status, StatusCode::NO_CONTENT, "{deleted}");
        for path in [EU, DEPLOYMENTS, WEB] {
            assert_eq!(fleet.send(Method::GET, path, Value::Null).await.0, StatusCode::NOT_FOUND, "{path}");
        }
        let is_gone = |cluster: usize| ["web", "api"].iter().all(|name| fleet.data(cluster, name).is_null());
        let is_complete = async || {
            let query = domain::page::ListQuery::default();
            let workloads = fleet.client.list_workloads(&query).await.unwrap().items;
            workloads.is_empty() && is_gone(0) && is_gone(1)
        };
        fleet.wait_until(is_complete).await;
        for cluster in ["eu-1", "eu-2"] {
            assert!(fleet.client.get_cluster(cluster).await.is_ok(), "{cluster}");
        }
        let (status, again) = fleet.send(Method::DELETE, EU, Value::Null).await;
        assert_eq!(status, StatusCode::NOT_FOUND, "{again}");
        fleet.stop().await;
    }))
    .await;
}
