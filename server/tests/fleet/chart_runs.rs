//! How often Helm runs: once for each distinct set of inputs, whatever the number of clusters, and never again for the same.

use domain::cluster::Connectivity;
use domain::overrides::ClusterSelector;
use wire::OverridePut;

use super::charts::{chart, chart_workload, override_for, set_helm, update_chart};
use super::*;

const CLUSTERS: u32 = 9;

fn clusters(names: &[String]) -> ClusterSelector {
    ClusterSelector { clusters: names.to_vec(), ..ClusterSelector::default() }
}

/// The replicas that each cluster has, and the version of the object there.
fn observe(fleet: &TestFleet) -> Vec<(String, String)> {
    let text = |value: &Value| value.as_str().unwrap_or_default().to_owned();
    let objects = fleet.clusters.iter().map(|cluster| cluster.get(CONFIG_MAP, ("apps", "web")));
    let objects = objects.map(Option::unwrap_or_default);
    objects
        .map(|object| (text(&object["data"]["replicas"]), text(&object["metadata"]["resourceVersion"])))
        .collect()
}

#[tokio::test(flavor = "multi_thread")]
async fn s1_11_helm_runs_once_for_each_distinct_set_of_values_and_once_more_for_a_changed_override() {
    with_timeout(Box::pin(async {
        let names: Vec<String> = (0..CLUSTERS).map(|n| format!("c-{n}")).collect();
        let mut fleet = TestFleet::start_with(&names).await;
        set_helm(&fleet).await;
        fleet.client.upload_chart(chart("1.0.0", &[])).await.unwrap();
        let mut new = chart_workload("1.0.0", "");
        new.spec.placement.predicates[0].names.clone_from(&names);
        new.spec.overrides = vec![
            override_for("two", clusters(&names[3..6]), "replicas: 2\n"),
            override_for("three", clusters(&names[6..]), "replicas: 3\n"),
        ];
        fleet.client.create_workload(&new).await.unwrap();
        let plan = fleet.client.plan_workload("web", 20).await.unwrap();
        assert!(!plan.findings.iter().any(domain::Finding::is_blocking), "{:?}", plan.findings);
        assert_eq!(fleet.hub.count_renderings(), 3, "one for each set of values");
        fleet.client.publish_workload("web", &PublishRequest::default(), None).await.unwrap();
        fleet.wait_for_web(|status| status.counts.healthy() == CLUSTERS).await;
        assert_eq!(fleet.hub.count_renderings(), 3, "the publish and the placer use those of the plan");
        let first = observe(&fleet);
        let replicas: Vec<&str> = first.iter().map(|(replicas, _)| replicas.as_str()).collect();
        assert_eq!(replicas, ["1", "1", "1", "2", "2", "2", "3", "3", "3"]);

        // One override changed: one more, and only its clusters are written to.
        let changed = OverridePut {
            target: clusters(&names[6..]),
            values: "replicas: 4\n".to_owned(),
            ..OverridePut::default()
        };
        let current = fleet.client.get_workload("web").await.unwrap().workload;
        fleet.client.put_override("web", "three", &changed, current.revision).await.unwrap();
        fleet.client.publish_workload("web", &PublishRequest::default(), None).await.unwrap();
        let is_changed = || observe(&fleet)[6..].iter().all(|(replicas, _)| replicas == "4");
        fleet.wait_for_web(|status| status.counts.healthy() == CLUSTERS && is_changed()).await;
        assert_eq!(fleet.hub.count_renderings(), 4);
        assert_eq!(observe(&fleet)[..6], first[..6], "nothing was written to the others");

        // A further cluster with values that others have, and a return to earlier values: none.
        fleet.add_cluster("c-9").await;
        fleet.wait_for_connectivity("c-9", Connectivity::Online).await;
        update_chart(&fleet, |spec| {
            spec.placement.predicates[0].names.push("c-9".to_owned());
            for over in spec.overrides.iter_mut().filter(|over| over.name == "three") {
                over.values = "replicas: 3\n".to_owned();
            }
        })
        .await;
        let is_back = || {
            let seen = observe(&fleet);
            seen[8].0 == "3" && seen[9].0 == "1"
        };
        fleet.wait_for_web(|status| status.counts.healthy() == CLUSTERS + 1 && is_back()).await;
        assert_eq!(fleet.hub.count_renderings(), 4);
        fleet.stop().await;
    }))
    .await;
}
