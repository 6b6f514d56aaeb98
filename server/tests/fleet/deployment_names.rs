//! Names and bodies of deployments: release names and whole responses.

use domain::chart::ChartSource;
use domain::deployment::group_placement;
use domain::page::ListQuery;
use reqwest::{Method, StatusCode};

use super::charts::{chart_workload, describe_chart};
use super::deployments::{DEPLOYMENTS, GROUPS, WEB, fleet_of};
use super::*;

const ASIA: &str = "/api/v1/orgs/default/clustergroups/asia/deployments";
const WORLD: &str = "/api/v1/orgs/default/clustergroups/world/deployments";

async fn create_group(fleet: &TestFleet, name: &str, members: &[usize]) {
    let body = json!({"name": name, "members": fleet.ids(members)});
    assert_eq!(fleet.send(Method::POST, GROUPS, body).await.0, StatusCode::CREATED);
}

#[tokio::test(flavor = "multi_thread")]
async fn g105_s1_16_groups_without_a_common_cluster_may_use_the_same_release_name() {
    with_timeout(Box::pin(async {
        let fleet = fleet_of(&["eu-1", "as-1"]).await;
        fleet.create_europe(&[0]).await;
        create_group(&fleet, "asia", &[1]).await;
        create_group(&fleet, "world", &[0, 1]).await;
        let body =
            json!({"name": "local/web", "version": "1.0.0", "namespace": "shop", "releaseName": "web"});
        assert_eq!(fleet.send(Method::POST, DEPLOYMENTS, body.clone()).await.0, StatusCode::CREATED);
        let (status, created) = fleet.send(Method::POST, ASIA, body.clone()).await;
        assert_eq!((status, &created["releaseName"]), (StatusCode::CREATED, &json!("web")), "{created}");
        assert_eq!(fleet.statuses(&format!("{ASIA}/web")).await, ["as-1 DEPLOYED 1.0.0"]);
        assert_eq!(fleet.statuses(WEB).await, ["eu-1 DEPLOYED 1.0.0"]);
        assert!(fleet.client.get_workload("web-asia").await.is_ok());
        let (_, listed) = fleet.send(Method::GET, ASIA, Value::Null).await;
        assert_eq!(listed[0]["releaseName"], "web", "{listed}");
        let (status, _) = fleet.send(Method::GET, &format!("{ASIA}/web-asia"), Value::Null).await;
        assert_eq!(status, StatusCode::NOT_FOUND, "a deployment has the name of its release");

        let (status, again) = fleet.send(Method::POST, ASIA, body.clone()).await;
        assert_eq!(status, StatusCode::CONFLICT, "{again}");
        let (status, refused) = fleet.send(Method::POST, WORLD, body).await;
        let finding = &refused["findings"][0];
        assert_eq!((status, &finding["code"]), (StatusCode::BAD_REQUEST, &json!("G105")), "{refused}");
        let message = finding["message"].as_str().unwrap();
        assert!(message.starts_with("release name web not available on all target clusters"), "{message}");
        assert!(message.contains("on cluster eu-1") || message.contains("on cluster as-1"), "{message}");

        // Each verb finds the workload by the release name.
        let path = format!("{ASIA}/web");
        let (status, edited) = fleet.send(Method::PUT, &path, json!({"values": {"replicas": 4}})).await;
        assert_eq!((status, &fleet.data(1, "web")["replicas"]), (StatusCode::OK, &json!("4")), "{edited}");
        let (status, synced) = fleet.send(Method::PUT, &format!("{path}/sync"), Value::Null).await;
        assert_eq!((status, &synced["message"]), (StatusCode::ACCEPTED, &json!("nothing to do")));
        assert_eq!(fleet.send(Method::DELETE, &path, Value::Null).await.0, StatusCode::OK);
        assert!(fleet.data(1, "web").is_null() && !fleet.data(0, "web").is_null());
        fleet.stop().await;
    }))
    .await;
}

#[tokio::test(flavor = "multi_thread")]
async fn g105_of_two_deployments_that_are_created_at_once_with_one_name_on_one_cluster_one_is_refused() {
    with_timeout(Box::pin(async {
        let fleet = fleet_of(&["eu-1", "as-1"]).await;
        fleet.create_europe(&[0]).await;
        create_group(&fleet, "asia", &[1]).await;
        create_group(&fleet, "world", &[1]).await;
        for round in 0..4 {
            let name = format!("web-{round}");
            let body =
                json!({"name": "local/web", "version": "1.0.0", "namespace": "shop", "releaseName": name});
            // The plain name of the workload is taken, so that both choose another one.
            assert_eq!(fleet.send(Method::POST, DEPLOYMENTS, body.clone()).await.0, StatusCode::CREATED);
            let ((first, one), (second, other)) = tokio::join!(
                fleet.send(Method::POST, ASIA, body.clone()),
                fleet.send(Method::POST, WORLD, body.clone())
            );
            let refused = if first == StatusCode::CREATED { &other } else { &one };
            let mut statuses = [first, second];
            statuses.sort_unstable();
            assert_eq!(statuses, [StatusCode::CREATED, StatusCode::BAD_REQUEST], "{one} {other}");
            assert_eq!(refused["findings"][0]["code"], "G105", "{refused}");
            // Nothing is left of the refused one: neither a deployment nor a draft.
            let listed = fleet.client.list_workloads(&ListQuery::default()).await.unwrap();
            let of_round = listed.items.iter().filter(|one| one.name.starts_with(&name)).count();
            assert_eq!(of_round, 2, "{:?}", listed.items);
        }
        fleet.stop().await;
    }))
    .await;
}

#[tokio::test(flavor = "multi_thread")]
async fn s1_19_a_workload_with_a_release_name_of_its_own_is_a_deployment_of_that_name() {
    with_timeout(Box::pin(async {
        let fleet = fleet_of(&["eu-1"]).await;
        fleet.create_europe(&[0]).await;
        let mut new = chart_workload("1.0.0", "");
        new.name = "shop-front".to_owned();
        new.spec.namespace = "shop".to_owned();
        new.spec.policies.create_namespace = true;
        new.spec.placement = group_placement("europe");
        new.spec.source = Source::Chart(ChartSource {
            chart: "local/web".to_owned(),
            version: "1.0.0".to_owned(),
            release_name: "front".to_owned(),
            ..ChartSource::default()
        });
        fleet.client.create_workload(&new).await.unwrap();
        fleet.client.publish_workload("shop-front", &PublishRequest::default(), None).await.unwrap();
        let path = format!("{DEPLOYMENTS}/front");
        fleet.wait_until(async || fleet.statuses(&path).await == ["eu-1 DEPLOYED 1.0.0"]).await;
        assert!(!fleet.data(0, "front").is_null());
        let taken = json!({"name": "local/web", "namespace": "shop", "releaseName": "front"});
        let (status, refused) = fleet.send(Method::POST, DEPLOYMENTS, taken).await;
        assert_eq!(status, StatusCode::CONFLICT, "{refused}");
        fleet.stop().await;
    }))
    .await;
}

#[tokio::test(flavor = "multi_thread")]
async fn g105_a_workload_that_is_published_with_the_release_name_of_another_one_is_refused() {
    with_timeout(Box::pin(async {
        let fleet = fleet_of(&["eu-1", "as-1"]).await;
        fleet.create_europe(&[0]).await;
        let body =
            json!({"name": "local/web", "version": "1.0.0", "namespace": "shop", "releaseName": "web"});
        assert_eq!(fleet.send(Method::POST, DEPLOYMENTS, body).await.0, StatusCode::CREATED);
        let mut new = chart_workload("1.0.0", "");
        new.name = "shop-front".to_owned();
        new.spec.namespace = "shop".to_owned();
        new.spec.policies.create_namespace = true;
        new.spec.placement.predicates[0].names = vec!["as-1".to_owned()];
        let Source::Chart(source) = &mut new.spec.source else { unreachable!() };
        source.release_name = "web".to_owned();
        fleet.client.create_workload(&new).await.unwrap();
        let published = fleet.client.publish_workload("shop-front", &PublishRequest::default(), None).await;
        assert!(published.is_ok(), "on another cluster: {published:?}");

        // A change of its placement is a publish too.
        new.spec.placement.predicates[0].names = vec!["as-1".to_owned(), "eu-1".to_owned()];
        let current = fleet.client.get_workload("shop-front").await.unwrap().workload.revision;
        let put = WorkloadPut { spec: new.spec.clone(), ..WorkloadPut::default() };
        fleet.client.put_workload("shop-front", &put, current).await.unwrap();
        let path = "/api/v1/projects/default/workloads/shop-front:publish";
        let (status, refused) = fleet.send(Method::POST, path, json!({})).await;
        assert_eq!(status, StatusCode::UNPROCESSABLE_ENTITY, "{refused}");
        let findings = refused["findings"].as_array().unwrap();
        let found = findings.iter().find(|finding| finding["code"] == "G105").unwrap();
        assert_eq!(found["clusters"], json!(["eu-1"]), "{found}");
        let message = found["message"].as_str().unwrap();
        assert!(message.contains("is that of workload \"web\" on eu-1"), "{message}");
        let plan = fleet.client.plan_workload("shop-front", 0).await.unwrap();
        assert!(plan.findings.iter().any(|finding| finding.code == "G105"), "{:?}", plan.findings);

        // Helm has a name once per namespace.
        new.name = "blog-front".to_owned();
        new.spec.namespace = "blog".to_owned();
        fleet.client.create_workload(&new).await.unwrap();
        let published = fleet.client.publish_workload("blog-front", &PublishRequest::default(), None).await;
        assert!(published.is_ok(), "in another namespace: {published:?}");
        fleet.stop().await;
    }))
    .await;
}

#[tokio::test(flavor = "multi_thread")]
async fn s1_19_the_whole_body_of_a_deployment_has_the_fields_of_the_original_api() {
    with_timeout(Box::pin(async {
        let fleet = fleet_of(&["eu-1"]).await;
        fleet.create_europe(&[0]).await;
        let described = describe_chart("version: 1.2.0\ndescription: A page on the web\n", &[]);
        fleet.client.upload_chart(described).await.unwrap();
        let body = json!({"name": "local/web", "version": "1.2.0", "namespace": "shop", "releaseName": "web",
            "values": {"replicas": 2}, "valueOverrides": {"eu-1": {"region": "west"}}});
        assert_eq!(fleet.send(Method::POST, DEPLOYMENTS, body).await.0, StatusCode::CREATED);
        let (_, view) = fleet.send(Method::GET, WEB, Value::Null).await;
        let workload = fleet.client.get_workload("web").await.unwrap().workload;
        let facts = fleet.client.get_cluster("eu-1").await.unwrap().cluster.facts;
        let expected = json!({
            "releaseName": "web", "chart": "local/web", "chartName": "web", "chartVersion": "1.2.0", "version": 1,
            "namespace": "shop", "description": "A page on the web",
            "createdAt": workload.created_at, "updatedAt": workload.updated_at,
            "values": {"replicas": 2}, "valueOverrides": {"eu-1": {"region": "west"}},
            "targetClusters": [{
                "clusterId": fleet.ids(&[0])[0], "clusterName": "eu-1",
                "cloud": facts.provider, "distribution": facts.distribution(),
                "status": "DEPLOYED", "stale": false, "version": "1.2.0",
                // It may not be assessed yet.
                "health": view["targetClusters"][0]["health"],
            }],
            "history": [{
                "version": 1, "updatedAt": view["history"][0]["updatedAt"], "status": "DEPLOYED",
                "chartVersion": "1.2.0", "description": "local/web 1.2.0",
            }],
        });
        assert_eq!(view, expected);
        fleet.stop().await;
    }))
    .await;
}
