//! The stages of a delivery, as the REST API shows them: in order, with reasons, corrected without a new delivery.

use std::sync::Arc;

use domain::release::StageName;
use domain::rollout::{Approver, RolloutAction, RolloutState, RolloutStrategy, Wave};
use parking_lot::Mutex;
use reqwest::{Method, StatusCode};

use super::*;

const IMAGE: &str = "docker.io/library/nginx:1.29.3";

impl TestFleet {
    /// The stages of `web` on a cluster.
    async fn list_stages(&self, cluster: &str) -> Vec<Value> {
        let path = format!("/api/v1/projects/default/workloads/web/releases/{cluster}");
        let (status, release) = self.send(Method::GET, &path, Value::Null).await;
        assert_eq!(status, StatusCode::OK, "{release}");
        release["stages"].as_array().unwrap().clone()
    }
}

/// The stage with this name.
fn stage(stages: &[Value], name: StageName) -> &Value {
    let name = serde_json::to_value(name).unwrap();
    stages.iter().find(|stage| stage["name"] == name).unwrap()
}

fn is_finished(stage: &Value) -> bool {
    stage["state"] == "done" || stage["state"] == "skipped"
}

#[tokio::test(flavor = "multi_thread")]
async fn s0_4_s2_1_s2_4_s2_6_s2_7_s2_13_every_cluster_has_stages_that_end_in_order_and_stays_managed() {
    with_timeout(async {
        let fleet = TestFleet::start().await;
        fleet.client.create_workload(&web_workload()).await.unwrap();
        fleet.client.publish_workload("web", &PublishRequest::default(), None).await.unwrap();
        fleet.wait_for_web(|status| status.counts.healthy() == 3).await;
        for cluster in ["eu-1", "eu-2", "us-1"] {
            let stages = fleet.list_stages(cluster).await;
            let names: Vec<&Value> = stages.iter().map(|stage| &stage["name"]).collect();
            let expected: Vec<Value> =
                StageName::ALL.iter().map(|name| serde_json::to_value(name).unwrap()).collect();
            assert_eq!(names, expected.iter().collect::<Vec<_>>());
            assert!(stages.iter().all(is_finished), "{stages:#?}");
            let ends: Vec<&str> = stages.iter().map(|stage| stage["finishedAt"].as_str().unwrap()).collect();
            assert!(ends.is_sorted(), "no stage ends before the one before it: {stages:#?}");
            // What had nothing to do is listed, with the reason.
            for name in [StageName::Approved, StageName::Pruned] {
                let skipped = stage(&stages, name);
                assert_eq!(skipped["state"], "skipped", "{skipped}");
                assert!(skipped["message"].as_str().unwrap().ends_with('.'), "{skipped}");
            }
        }
        // The last stage is not the end: what is deleted is applied again.
        let uid = |fleet: &TestFleet| fleet.deployment(0).map(|found| found["metadata"]["uid"].clone());
        let first = uid(&fleet);
        fleet.clusters[0].delete(DEPLOYMENT, WEB_KEY).unwrap();
        let is_restored = |status: &WorkloadStatus| {
            status.counts.healthy() == 3 && uid(&fleet).is_some_and(|uid| Some(uid) != first)
        };
        fleet.wait_for_web(is_restored).await;
        fleet.stop().await;
    })
    .await;
}

#[tokio::test(flavor = "multi_thread")]
async fn s2_2_s2_3_a_cause_that_is_removed_lets_the_same_stage_of_the_same_revision_continue() {
    with_timeout(async {
        let fleet = TestFleet::start().await;
        fleet.clusters[0].faults().fail_pulls_of(IMAGE);
        fleet.client.create_workload(&web_workload()).await.unwrap();
        fleet.client.publish_workload("web", &PublishRequest::default(), None).await.unwrap();
        let is_failing = async || {
            let status = fleet.client.get_workload_status("web", None).await.unwrap();
            // The placer creates the releases after the publish; a release that two clusters have, the third has too.
            status.counts.healthy() == 2
                && stage(&fleet.list_stages("eu-1").await, StageName::ImagesPulled)["state"] == "failed"
        };
        fleet.wait_until(is_failing).await;
        let failing = fleet.list_stages("eu-1").await;
        let pull = stage(&failing, StageName::ImagesPulled);
        assert_eq!(
            (&pull["state"], &pull["reason"]),
            (&json!("failed"), &json!("ImagePullFailed")),
            "{pull}"
        );
        assert!(pull["message"].as_str().unwrap().contains(IMAGE), "{pull}");
        let (before, after) = failing
            .split_at(StageName::ALL.iter().position(|name| *name == StageName::ImagesPulled).unwrap());
        assert!(before.iter().all(is_finished) && !after.iter().any(is_finished), "{failing:#?}");

        // Nothing is published or synchronized again: the cause is gone.
        fleet.clusters[0].faults().restore_image(IMAGE);
        fleet.wait_for_web(|status| status.counts.healthy() == 3).await;
        let continued = fleet.list_stages("eu-1").await;
        assert!(continued.iter().all(is_finished), "{continued:#?}");
        for name in [StageName::Accepted, StageName::Released, StageName::Applied] {
            let end = |stages: &[Value]| stage(stages, name)["finishedAt"].clone();
            assert_eq!(end(&continued), end(&failing), "{name:?} did not begin again");
        }
        assert_eq!(fleet.client.get_workload("web").await.unwrap().workload.published, Some(1));
        fleet.stop().await;
    })
    .await;
}

#[tokio::test(flavor = "multi_thread")]
async fn s2_9_s2_10_a_secret_is_named_after_its_cluster_and_exists_with_its_namespace_before_the_workload() {
    with_timeout(async {
        let fleet = TestFleet::start().await;
        let secret = "---
apiVersion: v1
kind: Secret
metadata: {name: \"bootstrap-key-${{ cluster.name }}\", namespace: apps}
stringData: {key: a}
";
        let text = format!("{MANIFESTS}{secret}");
        let mut new = web_workload();
        new.spec.source = Source::Yaml { files: vec![SourceFile { name: "web.yaml".to_owned(), text }] };
        let created = Arc::new(Mutex::new(Vec::<String>::new()));
        let record = created.clone();
        fleet.clusters[1].observe_changes(move |change| {
            let name =
                format!("{} {}", change.object["kind"], change.object["metadata"]["name"]).replace('"', "");
            let mut created = record.lock();
            if !change.is_deleted && !created.contains(&name) {
                created.push(name);
            }
        });
        fleet.client.create_workload(&new).await.unwrap();
        fleet.client.publish_workload("web", &PublishRequest::default(), None).await.unwrap();
        fleet.wait_for_web(|status| status.counts.healthy() == 3).await;
        for (cluster, name) in fleet.clusters.iter().zip(["eu-1", "eu-2", "us-1"]) {
            let key = format!("bootstrap-key-{name}");
            assert!(cluster.get(("v1", "Secret"), ("apps", &key)).is_some(), "{name}");
        }
        let wanted = ["Namespace apps", "Secret bootstrap-key-eu-2", "Deployment web"];
        let order: Vec<String> =
            created.lock().iter().filter(|object| wanted.contains(&object.as_str())).cloned().collect();
        assert_eq!(order, wanted);
        fleet.stop().await;
    })
    .await;
}

#[tokio::test(flavor = "multi_thread")]
async fn s2_5_a_delivery_waits_for_the_approval_of_another_user_than_its_publisher() {
    with_timeout(async {
        let fleet = TestFleet::start().await;
        let mut new = web_workload();
        let wave = Wave { name: "all".into(), approval: true, ..Wave::default() };
        new.spec.rollout = RolloutStrategy {
            waves: vec![wave],
            approver: Approver::AnotherUser,
            ..RolloutStrategy::default()
        };
        fleet.client.create_workload(&new).await.unwrap();
        fleet.client.publish_workload("web", &PublishRequest::default(), None).await.unwrap();
        let path = "/api/v1/projects/default/workloads/web/rollout:approve";
        let (status, problem) = fleet.send(Method::POST, path, json!({})).await;
        assert_eq!(
            (status, &problem["code"]),
            (StatusCode::CONFLICT, &json!("FailedPrecondition")),
            "{problem}"
        );
        assert!(problem["detail"].as_str().unwrap().contains("the approval of another user"), "{problem}");
        let path = "/api/v1/projects/default/workloads/web/rollout:retry";
        let (status, problem) = fleet.send(Method::POST, path, json!({})).await;
        assert_eq!(status, StatusCode::CONFLICT, "{problem}");
        assert!(problem["detail"].as_str().unwrap().contains("is failing"), "{problem}");
        let rollout = fleet.client.get_rollout("web", None).await.unwrap();
        assert_eq!((&rollout.state, rollout.published_by.as_str()), (&RolloutState::AwaitingApproval, "ada"));
        assert!(fleet.clusters.iter().all(|cluster| cluster.get(DEPLOYMENT, WEB_KEY).is_none()));

        let user = fleet.hub.ensure_user("ben", "correct horse battery").await.unwrap();
        let ben = Actor::new("ben", ActorKind::Session(user), Role::Admin);
        let token = fleet.hub.create_token(&ben, &NewApiToken::new("test", 1)).await.unwrap().secret;
        let ben = Client::new(&fleet.url, &token).unwrap();
        let approved = ben.control_rollout("web", RolloutAction::Approve).await.unwrap();
        assert_eq!(approved.waves[0].approved_by.as_deref(), Some("ben"));
        fleet.wait_for_web(|status| status.counts.healthy() == 3).await;
        let stages = fleet.list_stages("eu-1").await;
        let at = approved.waves[0].approved_at.unwrap().to_string();
        let approval = json!({"by": "ben", "revision": 1, "wave": "wave 1 of 1 (all)", "at": at});
        let shown = stage(&stages, StageName::Approved);
        assert_eq!((&shown["state"], &shown["approval"]), (&json!("done"), &approval), "{shown}");
        fleet.stop().await;
    })
    .await;
}

#[tokio::test(flavor = "multi_thread")]
async fn r_10_a_draft_is_changed_without_a_revision_and_only_a_revision_reaches_a_cluster() {
    with_timeout(async {
        let fleet = TestFleet::start().await;
        fleet.client.create_workload(&web_workload()).await.unwrap();
        fleet.client.publish_workload("web", &PublishRequest::default(), None).await.unwrap();
        fleet.wait_for_web(|status| status.counts.healthy() == 3).await;
        let mut spec = web_workload().spec;
        let text = MANIFESTS.replace("replicas: 2", "replicas: 5");
        spec.source = Source::Yaml { files: vec![SourceFile { name: "web.yaml".to_owned(), text }] };
        let current = fleet.client.get_workload("web").await.unwrap().workload;
        let put = WorkloadPut { spec, ..WorkloadPut::default() };
        fleet.client.put_workload("web", &put, current.revision).await.unwrap();
        // A synchronization applies what is published.
        fleet.client.sync_workload("web", &wire::SyncRequest::default()).await.unwrap();
        fleet.wait_for_web(|status| status.counts.healthy() == 3).await;
        let changed = fleet.client.get_workload("web").await.unwrap().workload;
        assert_eq!((changed.published, changed.draft_changed), (Some(1), true));
        assert_eq!(
            fleet
                .client
                .list_revisions("web", &domain::page::ListQuery::default())
                .await
                .unwrap()
                .items
                .len(),
            1
        );
        for cluster in 0..3 {
            assert_eq!(fleet.deployment(cluster).unwrap()["spec"]["replicas"], 2);
        }
        fleet.client.publish_workload("web", &PublishRequest::default(), None).await.unwrap();
        let is_applied = |_: &WorkloadStatus| {
            (0..3).all(|cluster| fleet.deployment(cluster).unwrap()["spec"]["replicas"] == 5)
        };
        fleet.wait_for_web(is_applied).await;
        fleet.stop().await;
    })
    .await;
}
