//! The API's own description.

use crate::house::House;

#[tokio::test]
async fn the_api_has_these_operations() {
    let house = House::new().await;
    let document = house.get("/api/v1/openapi.json").await.json();
    assert_eq!(document["openapi"], "3.1.0");
    let mut lines = Vec::new();
    for (path, item) in document["paths"].as_object().unwrap() {
        for (method, operation) in item.as_object().unwrap() {
            lines.push(format!(
                "{path} {} {}",
                method.to_uppercase(),
                operation["operationId"].as_str().unwrap()
            ));
        }
    }
    lines.sort();
    insta::assert_snapshot!(lines.join("\n"), @r"
    /api/v1/cluster-groups GET groupList
    /api/v1/cluster-groups POST groupCreate
    /api/v1/cluster-groups/{group} DELETE groupDelete
    /api/v1/cluster-groups/{group} GET groupGet
    /api/v1/cluster-groups/{group} PUT groupPut
    /api/v1/clusters GET clusterList
    /api/v1/clusters/{cluster} DELETE clusterDelete
    /api/v1/clusters/{cluster} GET clusterGet
    /api/v1/clusters/{cluster} PATCH clusterPatch
    /api/v1/clusters/{cluster}/releases GET clusterReleases
    /api/v1/clusters/{cluster}:accept POST clusterAccept
    /api/v1/clusters/{cluster}:install POST clusterInstall
    /api/v1/clusters/{cluster}:reject POST clusterReject
    /api/v1/clusters/{cluster}:revoke POST clusterRevoke
    /api/v1/events GET eventList
    /api/v1/fleet GET fleet
    /api/v1/join-tokens GET joinTokenList
    /api/v1/join-tokens POST joinTokenCreate
    /api/v1/join-tokens/{id} DELETE joinTokenRevoke
    /api/v1/plans/{plan} GET planGet
    /api/v1/projects/{project}/placements:preview POST placementPreview
    /api/v1/projects/{project}/workloads GET workloadList
    /api/v1/projects/{project}/workloads POST workloadCreate
    /api/v1/projects/{project}/workloads/{workload} DELETE workloadDelete
    /api/v1/projects/{project}/workloads/{workload} GET workloadGet
    /api/v1/projects/{project}/workloads/{workload} PATCH workloadPatch
    /api/v1/projects/{project}/workloads/{workload} PUT workloadPut
    /api/v1/projects/{project}/workloads/{workload}/overrides/{name} DELETE overrideDelete
    /api/v1/projects/{project}/workloads/{workload}/overrides/{name} PUT overridePut
    /api/v1/projects/{project}/workloads/{workload}/placement GET placementDecision
    /api/v1/projects/{project}/workloads/{workload}/releases GET releaseList
    /api/v1/projects/{project}/workloads/{workload}/releases/{cluster} GET releaseGet
    /api/v1/projects/{project}/workloads/{workload}/revisions GET workloadRevisions
    /api/v1/projects/{project}/workloads/{workload}/revisions/{revision} GET workloadRevision
    /api/v1/projects/{project}/workloads/{workload}/rollout GET rolloutGet
    /api/v1/projects/{project}/workloads/{workload}/rollout:{verb} POST rolloutSteer
    /api/v1/projects/{project}/workloads/{workload}/status GET workloadStatus
    /api/v1/projects/{project}/workloads/{workload}:keep POST workloadKeep
    /api/v1/projects/{project}/workloads/{workload}:plan POST workloadPlan
    /api/v1/projects/{project}/workloads/{workload}:publish POST workloadPublish
    /api/v1/projects/{project}/workloads/{workload}:restore POST workloadRestore
    /api/v1/projects/{project}/workloads/{workload}:sync POST workloadSync
    /api/v1/projects/{project}/workloads/{workload}:unpublish POST workloadUnpublish
    /api/v1/projects/{project}/workloads:validate POST workloadValidate
    /api/v1/registrations GET registrationList
    /api/v1/tokens GET tokenList
    /api/v1/tokens POST tokenCreate
    /api/v1/tokens/{id} DELETE tokenDelete
    /api/v1/watch GET watch
    ");
}

#[tokio::test]
async fn every_reference_of_the_description_leads_somewhere() {
    let house = House::new().await;
    let document = house.get("/api/v1/openapi.json").await.json();
    let text = document.to_string();
    let mut seen = 0;
    for reference in text.split("\"$ref\":\"#").skip(1) {
        let pointer = reference.split('"').next().unwrap();
        assert!(document.pointer(pointer).is_some(), "{pointer}");
        seen += 1;
    }
    assert!(seen > 50, "{seen}");
}
