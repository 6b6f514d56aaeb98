//! An addon whose source is a chart (S4-4 … S4-7).

use super::charts::{chart, chart_workload, fleet_with_helm, update_chart, values_of};
use super::*;

const EXTRA: &str = "apiVersion: v1
kind: ConfigMap
metadata: {name: extra}
data: {region: {{ .Values.region | quote }}}
";
const OTHER: &str = "apiVersion: v1
kind: ConfigMap
metadata: {name: other}
data: {cluster: {{ .Values.cluster | quote }}}
";
const SUBCHART: &str = "apiVersion: v2\nname: sub\nversion: 0.1.0\n";
const OF_SUBCHART: &str =
    "apiVersion: v1\nkind: ConfigMap\nmetadata: {name: sub}\ndata: {from: a subchart}\n";
const VALUES: &str = "region: ${{ cluster.labels.region }}
cluster: ${{ cluster.name }}
join: ${{ fleet.targets | join(\",\") }}
";

/// The names of the objects of the addon on a cluster.
fn object_names(cluster: &SimCluster) -> Vec<&'static str> {
    let exists = |name: &&str| cluster.get(CONFIG_MAP, ("apps", *name)).is_some();
    ["web", "extra", "other", "sub"].into_iter().filter(exists).collect()
}

fn field(cluster: &SimCluster, name: &str, key: &str) -> Value {
    cluster.get(CONFIG_MAP, ("apps", name)).map(|found| found["data"][key].clone()).unwrap_or_default()
}

/// Whether every cluster has exactly these objects of the addon, and the names of all clusters in its values.
fn is_complete(fleet: &TestFleet, expected: &[&str], join: &str) -> bool {
    let is_it =
        |n: usize| object_names(&fleet.clusters[n]) == expected && values_of(fleet, n)["join"] == join;
    (0..fleet.clusters.len()).all(is_it)
}

#[tokio::test(flavor = "multi_thread")]
async fn s4_1_s4_4_s4_6_s4_7_all_objects_of_an_addon_chart_follow_the_clusters_and_the_version_of_the_chart()
{
    with_timeout(Box::pin(async {
        let mut fleet = fleet_with_helm().await;
        let sub = [("charts/sub/Chart.yaml", SUBCHART), ("charts/sub/templates/config.yaml", OF_SUBCHART)];
        for (version, file) in
            [("1.0.0", ("templates/extra.yaml", EXTRA)), ("1.1.0", ("templates/other.yaml", OTHER))]
        {
            fleet.client.upload_chart(chart(version, &[sub[0], sub[1], file])).await.unwrap();
        }
        let mut new = chart_workload("1.0.0", VALUES);
        new.spec.addon = true;
        new.spec.placement = Placement { predicates: vec![Predicate::default()], ..Placement::default() };
        fleet.client.create_workload(&new).await.unwrap();
        fleet.client.publish_workload("web", &PublishRequest::default(), None).await.unwrap();
        let first = ["web", "extra", "sub"];
        let three = |status: &WorkloadStatus| {
            status.counts.healthy() == 3 && is_complete(&fleet, &first, "eu-1,eu-2,us-1")
        };
        fleet.wait_for_web(three).await;
        assert_eq!(
            (values_of(&fleet, 0)["region"].clone(), values_of(&fleet, 2)["region"].clone()),
            (json!("eu"), json!("us"))
        );

        // A cluster that joins later gets it without a publish, and the others its name.
        fleet.add_cluster("ap-1").await;
        let join = "ap-1,eu-1,eu-2,us-1";
        let four =
            |status: &WorkloadStatus| status.counts.healthy() == 4 && is_complete(&fleet, &first, join);
        fleet.wait_for_web(four).await;
        assert_eq!(field(&fleet.clusters[3], "extra", "region"), "ap");

        // The next version lacks an object and has another one.
        update_chart(&fleet, |spec| spec.source = chart_workload("1.1.0", VALUES).spec.source).await;
        let upgraded = |status: &WorkloadStatus| {
            status.counts.healthy() == 4 && is_complete(&fleet, &["web", "other", "sub"], join)
        };
        fleet.wait_for_web(upgraded).await;
        assert_eq!(field(&fleet.clusters[3], "other", "cluster"), "ap-1");
        fleet.stop().await;
    }))
    .await;
}
