//! Fields that a policy ignores until the next revision: what a plan says of them happens with its publish, and at no other time.

use domain::overrides::{ClusterSelector, ObjectSelector, Patch, PatchOp};
use domain::policy::{ConflictPolicy, IgnoreRule, IgnoreWhen};
use wire::OverridePut;

use super::charts::cluster_named;
use super::*;

const RECORD: (&str, &str) = ("flotilla.dev/v1alpha1", "AppliedRelease");
const SETTINGS: (&str, &str) = ("apps", "settings");

/// A ConfigMap whose key is left to others until the next revision.
fn settings_workload() -> NewWorkload {
    let text = json!({"apiVersion": "v1", "kind": "ConfigMap",
        "metadata": {"name": "settings", "namespace": "apps"}, "data": {"key": "ours", "other": "1"}});
    let mut new = web_workload();
    new.spec.source =
        Source::Yaml { files: vec![SourceFile { name: "app.yaml".to_owned(), text: text.to_string() }] };
    let paths = vec!["/data/key".to_owned()];
    new.spec.policies.ignore =
        vec![IgnoreRule { when: IgnoreWhen::OnChange, paths, ..IgnoreRule::default() }];
    new.spec.policies.conflict = ConflictPolicy::Force;
    new
}

/// An override of the other field.
fn set_other(target: ClusterSelector, value: &str) -> OverridePut {
    let op = PatchOp::Set { path: "/data/other".to_owned(), value: json!(value) };
    let patches = vec![Patch { object: ObjectSelector::default(), op }];
    OverridePut { target, patches, ..OverridePut::default() }
}

/// Waits for what the API of the hub does not tell.
async fn poll_until(condition: impl Fn() -> bool) {
    while !condition() {
        tokio::time::sleep(Duration::from_millis(20)).await;
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn p26_a_field_that_is_ignored_until_the_next_revision_is_written_by_its_publish_and_by_no_restart() {
    with_timeout(Box::pin(async {
        let mut fleet = TestFleet::start().await;
        fleet.client.create_workload(&settings_workload()).await.unwrap();
        fleet.client.publish_workload("web", &PublishRequest::default(), None).await.unwrap();
        fleet.wait_for_web(|status| status.counts.healthy() == 3).await;
        let cluster = fleet.clusters[0].clone();
        let data = || cluster.get(CONFIG_MAP, SETTINGS).map(|map| map["data"].clone()).unwrap_or_default();
        poll_until(|| {
            let records = cluster.list(RECORD, None);
            records.iter().any(|record| record["spec"]["resources"][0]["leftFields"].is_string())
        })
        .await;
        let set_key = |object: &mut Value| object["data"]["key"] = json!("theirs");
        cluster.edit(CONFIG_MAP, SETTINGS, "operator", set_key).unwrap();

        // A change of another cluster only: the plan says that the field is written here too.
        let draft = fleet.client.get_workload("web").await.unwrap().workload.revision;
        let put = set_other(cluster_named("us-1"), "2");
        fleet.client.put_override("web", "us", &put, draft).await.unwrap();
        let plan = fleet.client.plan_workload("web", 20).await.unwrap();
        let target = plan.targets.iter().find(|target| target.name == "eu-1").unwrap();
        let changes =
            serde_json::to_string(&plan.cluster_plans[target.cluster_plan.as_ref().unwrap()]).unwrap();
        assert!(changes.contains("/data/key") && !changes.contains("/data/other"), "{changes}");
        let request = PublishRequest { plan_hash: Some(plan.hash), ..PublishRequest::default() };
        fleet.client.publish_workload("web", &request, None).await.unwrap();
        poll_until(|| data() == json!({"key": "ours", "other": "1"})).await;
        fleet.wait_for_web(|status| status.counts.healthy() == 3).await;

        // Without a publish it stays theirs: the agent reverts only the drift that it finds at its start.
        fleet.stop_agent(0, "eu-1").await;
        let set_both = |object: &mut Value| object["data"] = json!({"key": "theirs", "other": "drifted"});
        cluster.edit(CONFIG_MAP, SETTINGS, "operator", set_both).unwrap();
        fleet.start_agent(0);
        poll_until(|| data()["other"] == "1").await;
        assert_eq!(data()["key"], "theirs");
        fleet.stop().await;
    }))
    .await;
}
