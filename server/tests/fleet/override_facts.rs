//! Values of a chart that differ by the facts of clusters: distribution and region (S1-11, S4-7).

use domain::cluster::Connectivity;
use domain::overrides::ClusterSelector;
use wire::ValuesQuery;

use super::charts::{chart, chart_workload, override_for, set_helm, values_of};
use super::*;

fn by_facts(selector: &str) -> ClusterSelector {
    ClusterSelector { field_selector: selector.parse().unwrap(), ..ClusterSelector::default() }
}

#[tokio::test(flavor = "multi_thread")]
async fn s4_7_values_of_a_chart_differ_by_distribution_and_region_with_their_provenance() {
    with_timeout(Box::pin(async {
        let mut fleet = TestFleet::start_with(&[]).await;
        set_helm(&fleet).await;
        let versions = [("eu-1", "v1.33.4+k3s1"), ("eu-2", "v1.33.4-eks-3"), ("us-1", "v1.33.4+k3s1")];
        for (name, version) in versions {
            let options = kubesim::SimOptions {
                name: name.to_owned(),
                version: version.to_owned(),
                ..kubesim::SimOptions::default()
            };
            let cluster = SimCluster::new(options);
            let client = kube::Client::new(cluster.service(), "default");
            fleet.clusters.push(cluster);
            fleet.join_cluster(name, client).await;
        }
        for (name, _) in versions {
            fleet.wait_for_connectivity(name, Connectivity::Online).await;
        }
        fleet.client.upload_chart(chart("1.0.0", &[])).await.unwrap();
        let mut new = chart_workload("1.0.0", "replicas: 2\n");
        let america = ClusterSelector { selector: "region=us".parse().ok(), ..by_facts("distribution=k3s") };
        new.spec.overrides = vec![
            override_for("edge", by_facts("distribution=k3s"), "replicas: 3\n"),
            override_for("america", america, "region: america\n"),
            override_for("nowhere", by_facts("distribution=gke"), "replicas: 9\n"),
        ];
        fleet.client.create_workload(&new).await.unwrap();
        fleet.client.publish_workload("web", &PublishRequest::default(), None).await.unwrap();
        fleet.wait_for_web(|status| status.counts.healthy() == 3).await;
        let values = |index: usize| {
            let data = values_of(&fleet, index);
            (data["replicas"].clone(), data["region"].clone())
        };
        let expected = [("3", "none"), ("2", "none"), ("3", "america")];
        assert_eq!(
            [0, 1, 2].map(values),
            expected.map(|(replicas, region)| (json!(replicas), json!(region)))
        );

        let query = ValuesQuery { cluster: "eu-1".into(), source: true, revision: Some(1) };
        let traced = fleet.client.get_values("web", &query).await.unwrap().provenance;
        let replicas = traced.iter().find(|leaf| leaf.path == "/replicas").unwrap();
        let layers: Vec<String> =
            replicas.settings.iter().map(|one| format!("{} ← {}", one.value, one.layer)).collect();
        assert_eq!(layers, ["3 ← selector edge", "2 ← common", "1 ← chart default"]);
        fleet.stop().await;
    }))
    .await;
}
