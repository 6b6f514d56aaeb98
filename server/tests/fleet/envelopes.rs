//! Manifests in a `ManifestWork` of Open Cluster Management, published as they are.

use domain::policy::UpdateStrategy;
use domain::workload::DeletionPolicy;

use super::charts::{chart, chart_workload, fleet_with_helm};
use super::*;

#[tokio::test(flavor = "multi_thread")]
async fn s3_2_g120_the_manifests_of_a_manifest_work_are_published_with_its_options_as_policies() {
    with_timeout(async {
        let fleet = TestFleet::start().await;
        let work = json!({
            "apiVersion": "work.open-cluster-management.io/v1", "kind": "ManifestWork",
            "metadata": {"name": "web", "namespace": "eu-1"},
            "spec": {
                "deleteOption": {"propagationPolicy": "Orphan"},
                "manifestConfigs": [{"resourceIdentifier": {"resource": "secrets", "name": "web"}}],
                "workload": {"manifests": [
                    {"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": "one", "namespace": "apps"}},
                    {"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": "two", "namespace": "apps"}},
                ]},
            },
        });
        let mut new = web_workload();
        new.spec.source =
            Source::Yaml { files: vec![SourceFile { name: "work.yaml".to_owned(), text: work.to_string() }] };
        let created = fleet.client.create_workload(&new).await.unwrap();
        assert_eq!(created.draft.policies.deletion, DeletionPolicy::Orphan);
        let published = fleet.client.publish_workload("web", &PublishRequest::default(), None).await.unwrap();
        let findings: Vec<&str> = published.findings.iter().map(|finding| &*finding.message).collect();
        let warned = |text: &&str| text.starts_with("ManifestWork \"web\"") && text.contains("\"secrets\"");
        assert!(findings.iter().any(warned), "{findings:?}");
        fleet.wait_for_web(|status| status.counts.healthy() == 3).await;
        for cluster in &fleet.clusters {
            for name in ["one", "two"] {
                assert!(cluster.get(CONFIG_MAP, ("apps", name)).is_some(), "{name}");
            }
        }
        // Its deletion policy keeps the objects.
        fleet.client.unpublish_workload("web", &RemovalOptions::default()).await.unwrap();
        fleet.wait_for_web(|status| status.counts.gone() == 3).await;
        assert!(fleet.clusters[0].get(CONFIG_MAP, ("apps", "one")).is_some());
        fleet.stop().await;
    })
    .await;
}

#[tokio::test(flavor = "multi_thread")]
async fn s3_2_the_clusters_follow_the_strategies_and_the_orphans_that_a_manifest_work_names() {
    with_timeout(Box::pin(async {
        let fleet = TestFleet::start().await;
        let settings = json!({"resource": "configmaps", "namespace": "apps", "name": "settings"});
        let object = |name: &str| {
            json!({"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": name, "namespace": "apps"},
                "data": {"level": "1"}})
        };
        let work = json!({
            "apiVersion": "work.open-cluster-management.io/v1", "kind": "ManifestWork",
            "metadata": {"name": "web", "namespace": "eu-1"},
            "spec": {
                "deleteOption": {
                    "propagationPolicy": "SelectivelyOrphan",
                    "selectivelyOrphans": {"orphaningRules": [settings]},
                },
                "manifestConfigs": [{"resourceIdentifier": settings, "updateStrategy": {"type": "CreateOnly"}}],
                "workload": {"manifests": [object("settings"), object("state")]},
            },
        });
        let mut new = web_workload();
        new.spec.source =
            Source::Yaml { files: vec![SourceFile { name: "work.yaml".to_owned(), text: work.to_string() }] };
        let policies = fleet.client.create_workload(&new).await.unwrap().draft.policies;
        assert_eq!((policies.deletion, policies.orphan.len()), (DeletionPolicy::SelectivelyOrphan, 1));
        assert_eq!(policies.update[0].strategy, UpdateStrategy::CreateOnly);
        fleet.client.publish_workload("web", &PublishRequest::default(), None).await.unwrap();
        fleet.wait_for_web(|status| status.counts.healthy() == 3).await;

        // Changed by hand: one is only created, the other one is reverted.
        let level = |name: &str| fleet.clusters[1].get(CONFIG_MAP, ("apps", name)).unwrap()["data"]["level"].clone();
        for name in ["settings", "state"] {
            let by_hand = |object: &mut Value| object["data"]["level"] = json!("9");
            fleet.clusters[1].edit(CONFIG_MAP, ("apps", name), "kubectl-edit", by_hand).unwrap();
        }
        wait_for_self_heal(&fleet).await;
        assert_eq!((level("settings"), level("state")), (json!("9"), json!("1")));

        fleet.client.unpublish_workload("web", &RemovalOptions::default()).await.unwrap();
        fleet.wait_for_web(|status| status.counts.gone() == 3).await;
        for cluster in &fleet.clusters {
            assert!(cluster.get(CONFIG_MAP, ("apps", "settings")).is_some());
            assert!(cluster.get(CONFIG_MAP, ("apps", "state")).is_none());
        }
        fleet.stop().await;
    }))
    .await;
}

#[tokio::test(flavor = "multi_thread")]
async fn p19_g111_a_manifest_work_with_more_objects_than_documents_are_allowed_is_refused() {
    with_timeout(async {
        let fleet = TestFleet::start().await;
        let object = |n: u32| json!({"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": format!("c-{n}"), "namespace": "apps"}});
        let work = json!({
            "apiVersion": "work.open-cluster-management.io/v1", "kind": "ManifestWork", "metadata": {"name": "web"},
            "spec": {"workload": {"manifests": (0..5_000).map(object).collect::<Vec<_>>()}},
        });
        let mut new = web_workload();
        new.spec.source =
            Source::Yaml { files: vec![SourceFile { name: "work.yaml".to_owned(), text: work.to_string() }] };
        fleet.client.create_workload(&new).await.unwrap();
        let refused =
            fleet.client.publish_workload("web", &PublishRequest::default(), None).await.unwrap_err();
        let is_limit =
            |finding: &domain::Finding| finding.code == "G111" && finding.message.contains("500 documents");
        assert!(refused.findings().iter().any(is_limit), "{refused:?}");
        fleet.stop().await;
    })
    .await;
}

#[tokio::test(flavor = "multi_thread")]
async fn g128_a_chart_in_an_object_of_another_tool_is_named_with_the_way_to_manage_it_here() {
    with_timeout(async {
        let fleet = TestFleet::start().await;
        let chart = json!({
            "apiVersion": "helm.cattle.io/v1", "kind": "HelmChart", "metadata": {"name": "traefik", "namespace": "apps"},
            "spec": {"chart": "traefik", "version": "27.0.2", "repo": "https://charts.example.com", "valuesContent": "a: 1\n"},
        });
        let mut new = web_workload();
        new.spec.source =
            Source::Yaml { files: vec![SourceFile { name: "chart.yaml".to_owned(), text: chart.to_string() }] };
        let request = wire::ValidateRequest { name: "web".into(), spec: new.spec };
        let findings = fleet.client.validate_workload(&request).await.unwrap().findings;
        let found: Vec<_> = findings.iter().filter(|finding| finding.code == "G128").collect();
        assert_eq!(found.len(), 1, "{findings:?}");
        let message = &found[0].message;
        assert!(message.starts_with("HelmChart traefik names the chart \"traefik\" 27.0.2 of https://charts.example.com."), "{message}");
        assert!(!found[0].is_blocking() && found[0].hint.contains("flotilla apply -f FILE --unwrap-chart"), "{:?}", found[0]);
        fleet.stop().await;
    })
    .await;
}

#[tokio::test(flavor = "multi_thread")]
async fn s3_2_g120_a_manifest_work_in_a_chart_is_unwrapped_and_its_options_are_named_as_without_effect() {
    with_timeout(Box::pin(async {
        let fleet = fleet_with_helm().await;
        let work = "apiVersion: work.open-cluster-management.io/v1
kind: ManifestWork
metadata: {name: addon, namespace: cluster1}
spec:
  deleteOption: {propagationPolicy: Orphan}
  workload:
    manifests:
      - {apiVersion: v1, kind: ConfigMap, metadata: {name: inner, namespace: apps}, data: {replicas: '{{ .Values.replicas }}'}}
";
        fleet.client.upload_chart(chart("1.0.0", &[("templates/work.yaml", work)])).await.unwrap();
        let mut new = chart_workload("1.0.0", "replicas: 4\n");
        let validate = async |spec: WorkloadSpec| {
            let request = wire::ValidateRequest { name: "web".into(), spec };
            fleet.client.validate_workload(&request).await.unwrap().findings
        };
        let findings = validate(new.spec.clone()).await;
        let is_named = |finding: &domain::Finding| {
            finding.code == "G120" && finding.message.contains("addon") && finding.message.contains("deletion")
        };
        assert_eq!(findings.iter().filter(|finding| is_named(finding)).count(), 1, "{findings:?}");
        fleet.client.create_workload(&new).await.unwrap();
        fleet.client.publish_workload("web", &PublishRequest::default(), None).await.unwrap();
        fleet.wait_for_web(|status| status.counts.healthy() == 3).await;
        for cluster in &fleet.clusters {
            let inner = cluster.get(CONFIG_MAP, ("apps", "inner")).unwrap();
            assert_eq!(inner["data"]["replicas"], "4");
        }
        new.spec.policies.deletion = DeletionPolicy::Orphan;
        let findings = validate(new.spec).await;
        assert!(!findings.iter().any(|finding| finding.code == "G120"), "the policy is the same: {findings:?}");
        fleet.stop().await;
    }))
    .await;
}
