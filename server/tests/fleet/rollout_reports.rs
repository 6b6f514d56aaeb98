//! The clusters of a rollout by wave, and its report.

use domain::overrides::ClusterSelector;
use domain::rollout::{RolloutReport, RolloutState, RolloutStrategy, Wave};
use reqwest::{Method, StatusCode};

use super::*;

const CLUSTERS: &str = "/api/v1/projects/default/workloads/web/rollout/clusters";

#[tokio::test(flavor = "multi_thread")]
async fn f4b_the_clusters_of_a_rollout_are_paged_and_filtered_by_wave_and_state_and_reported() {
    with_timeout(Box::pin(async {
        let fleet = TestFleet::start().await;
        let mut new = web_workload();
        let target = ClusterSelector { clusters: vec!["us-1".into()], ..ClusterSelector::default() };
        let canary = Wave { name: "canary".into(), target, ..Wave::default() };
        let rest = Wave { name: "rest".into(), ..Wave::default() };
        new.spec.rollout = RolloutStrategy { waves: vec![canary, rest], ..RolloutStrategy::default() };
        fleet.client.create_workload(&new).await.unwrap();
        fleet.client.publish_workload("web", &PublishRequest::default(), None).await.unwrap();
        let is_completed = |status: &WorkloadStatus| {
            status.rollout.as_ref().is_some_and(|rollout| rollout.state == RolloutState::Completed)
        };
        fleet.wait_for_web(is_completed).await;

        let get =
            async |query: &str| fleet.send(Method::GET, &format!("{CLUSTERS}{query}"), Value::Null).await;
        let (status, first) = get("?limit=2").await;
        assert_eq!((status, &first["total"]), (StatusCode::OK, &json!(3)), "{first}");
        let names = |page: &Value| -> Vec<String> {
            let items = page["items"].as_array().unwrap().iter();
            items.map(|one| one["name"].as_str().unwrap().to_owned()).collect()
        };
        assert_eq!(names(&first), ["us-1", "eu-1"], "by wave, then by name");
        let canary = &first["items"][0];
        assert_eq!((&canary["waveName"], &canary["status"]), (&json!("canary"), &json!("operational")));
        assert_eq!((&canary["releasedRevision"], &canary["appliedRevision"]), (&json!(1), &json!(1)));
        let (_, second) = get(&format!("?limit=2&cursor={}", first["next"].as_str().unwrap())).await;
        assert_eq!((names(&second), &second["next"]), (vec!["eu-2".to_owned()], &Value::Null));
        assert_eq!(names(&get("?wave=canary").await.1), ["us-1"]);
        assert_eq!(names(&get("?q=eu-&state=Healthy&revision=1").await.1), ["eu-1", "eu-2"]);
        assert_eq!(names(&get("?state=Failed").await.1), Vec::<String>::new());
        assert_eq!(get("?wave=nowhere").await.0, StatusCode::NOT_FOUND);
        assert_eq!(get("?state=Nope").await.0, StatusCode::BAD_REQUEST);
        assert_eq!(get("?revision=9").await.0, StatusCode::NOT_FOUND);

        let unknown = fleet.client.get_rollout("web", Some(9)).await.unwrap_err();
        assert_eq!(unknown.code(), "NotFound", "the revision is part of the request: {unknown}");
        let csv = fleet.client.report_rollout("web", Some(1), "csv").await.unwrap();
        let rows: Vec<&str> = csv.lines().collect();
        assert_eq!(rows.len(), 4, "{csv}");
        assert!(rows[1].starts_with(r#""1","canary","us-1","operational","Healthy","1","1","#), "{csv}");
        let text = fleet.client.report_rollout("web", None, "md").await.unwrap();
        assert!(text.contains("| canary | Done | 1 | 1 | 0 |"), "{text}");
        let report = fleet.client.report_rollout("web", None, "json").await.unwrap();
        let report: RolloutReport = serde_json::from_str(&report).unwrap();
        assert_eq!((report.clusters.len(), report.omitted), (3, 0));
        assert!(fleet.client.report_rollout("web", None, "pdf").await.is_err());
        fleet.stop().await;
    }))
    .await;
}
