//! The multi-cluster deployment API: groups, deployments and operations, in requests as its clients send them (S1).

use domain::placement::ClusterGroup;
use reqwest::{Method, StatusCode};
use wire::OverridePut;

use super::charts::{chart, set_helm};
use super::*;

pub(super) const GROUPS: &str = "/api/v1/orgs/default/clustergroups";
pub(super) const EU: &str = "/api/v1/orgs/default/clustergroups/europe";
pub(super) const DEPLOYMENTS: &str = "/api/v1/orgs/default/clustergroups/europe/deployments";
pub(super) const WEB: &str = "/api/v1/orgs/default/clustergroups/europe/deployments/web";

/// A fleet with charts `local/web` 1.0.0 and 1.1.0.
pub(super) async fn fleet_of(names: &[&str]) -> TestFleet {
    let names: Vec<String> = names.iter().map(|name| (*name).to_owned()).collect();
    let fleet = TestFleet::start_with(&names).await;
    set_helm(&fleet).await;
    for version in ["1.0.0", "1.1.0"] {
        fleet.client.upload_chart(chart(version, &[])).await.unwrap();
    }
    fleet
}

pub(super) fn outcomes(result: &Value) -> Vec<String> {
    let text = |target: &Value| {
        format!("{} {}", target["clusterName"].as_str().unwrap(), target["status"].as_str().unwrap())
    };
    result["targetClusters"].as_array().unwrap().iter().map(text).collect()
}

#[tokio::test(flavor = "multi_thread")]
async fn s1_3_s1_9b_s1_10_s1_12_s1_15_s1_18_s1_21_a_deployment_is_created_edited_with_reused_values_synced_and_deleted()
 {
    with_timeout(async {
        let fleet = fleet_of(&["eu-1", "eu-2", "eu-3"]).await;
        fleet.create_europe(&[0, 1]).await;
        // Nothing is stored by a dry run.
        let mut body = json!({
            "name": "local/web", "version": "1.0.0", "namespace": "shop", "releaseName": "web", "dryrun": "true",
            "values": {"replicas": 2}, "valueOverrides": {"eu-2": {"region": "west"}},
        });
        let (status, checked) = fleet.send(Method::POST, DEPLOYMENTS, body.clone()).await;
        assert_eq!((status, outcomes(&checked)), (StatusCode::OK, vec!["eu-1 PENDING".into(), "eu-2 PENDING".into()]));
        assert_eq!(fleet.send(Method::GET, WEB, Value::Null).await.0, StatusCode::NOT_FOUND);

        body["dryrun"] = json!(false);
        let (status, created) = fleet.send(Method::POST, DEPLOYMENTS, body).await;
        assert_eq!(status, StatusCode::CREATED, "{created}");
        assert_eq!(outcomes(&created), ["eu-1 SUCCEEDED", "eu-2 SUCCEEDED"]);
        assert_eq!(fleet.statuses(WEB).await, ["eu-1 DEPLOYED 1.0.0", "eu-2 DEPLOYED 1.0.0"]);
        assert_eq!((&fleet.data(0, "web")["replicas"], &fleet.data(1, "web")["region"]), (&json!("2"), &json!("west")));
        let (_, listed) = fleet.send(Method::GET, DEPLOYMENTS, Value::Null).await;
        let first = &listed.as_array().unwrap()[0];
        assert_eq!((&first["chartName"], &first["chartVersion"], &first["version"]), (&json!("web"), &json!("1.0.0"), &json!(1)));

        // Reused values are merged, and a cluster that is not mentioned keeps its own.
        let edit = json!({"version": "1.1.0", "reuseValues": "true", "values": {"join": "all"}, "valueOverrides": {"eu-1": {"replicas": 5}}});
        let (status, edited) = fleet.send(Method::PUT, WEB, edit).await;
        assert_eq!((status, outcomes(&edited)), (StatusCode::OK, vec!["eu-1 SUCCEEDED".into(), "eu-2 SUCCEEDED".into()]));
        assert_eq!(fleet.data(0, "web"), json!({"replicas": "5", "region": "none", "join": "all", "chart": "1.1.0"}));
        assert_eq!(fleet.data(1, "web"), json!({"replicas": "2", "region": "west", "join": "all", "chart": "1.1.0"}));
        let (_, view) = fleet.send(Method::GET, WEB, Value::Null).await;
        assert_eq!(view["values"], json!({"replicas": 2, "join": "all"}));
        assert_eq!(view["valueOverrides"], json!({"eu-1": {"replicas": 5}, "eu-2": {"region": "west"}}));
        // Replaced values: a cluster that is not mentioned loses its own.
        let edit = json!({"name": "local/web", "values": {"replicas": 3}, "valueOverrides": {"eu-1": {"join": "x"}}});
        assert_eq!(fleet.send(Method::PUT, WEB, edit).await.0, StatusCode::OK);
        assert_eq!(fleet.data(1, "web"), json!({"replicas": "3", "region": "none", "join": "", "chart": "1.1.0"}));

        // A new member waits for an edit; sync does not add it (S1-9).
        let members = json!({"members": fleet.ids(&[0, 1, 2])});
        assert_eq!(fleet.send(Method::PUT, EU, members).await.0, StatusCode::OK);
        let (status, synced) = fleet.send(Method::PUT, &format!("{WEB}/sync"), Value::Null).await;
        assert_eq!((status, &synced["message"]), (StatusCode::ACCEPTED, &json!("nothing to do")));
        assert_eq!(outcomes(&synced), ["eu-1 SUCCEEDED", "eu-2 SUCCEEDED"]);
        assert_eq!(fleet.statuses(WEB).await.len(), 2);
        let edit = json!({"reuseValues": true});
        assert_eq!(fleet.send(Method::PUT, WEB, edit).await.0, StatusCode::OK);
        assert_eq!((fleet.statuses(WEB).await.len(), &fleet.data(2, "web")["replicas"]), (3, &json!("3")));

        let (status, deleted) = fleet.send(Method::DELETE, WEB, Value::Null).await;
        assert_eq!((status, outcomes(&deleted).len()), (StatusCode::OK, 3), "{deleted}");
        assert!((0..3).all(|cluster| fleet.data(cluster, "web").is_null()));
        fleet.wait_until(async || fleet.send(Method::GET, WEB, Value::Null).await.0 == StatusCode::NOT_FOUND).await;
        // The operation outlives the workload.
        let id = deleted["operation"].as_str().unwrap();
        let (_, operation) = fleet.send(Method::GET, &format!("/api/v1/operations/{id}"), Value::Null).await;
        assert_eq!((&operation["kind"], &operation["counts"]["succeeded"]), (&json!("delete"), &json!(3)), "{operation}");
        fleet.stop().await;
    })
    .await;
}

#[tokio::test(flavor = "multi_thread")]
async fn s1_13_s1_20_s1_23_a_cluster_that_is_down_is_deferred_reported_and_cleaned_up_when_it_returns() {
    with_timeout(async {
        let mut fleet = fleet_of(&["eu-1", "eu-2"]).await;
        fleet.create_europe(&[0, 1]).await;
        let body = json!({"name": "local/web", "version": "1.0.0", "namespace": "shop", "releaseName": "web"});
        assert_eq!(fleet.send(Method::POST, DEPLOYMENTS, body).await.0, StatusCode::CREATED);
        fleet.stop_agent(1, "eu-2").await;

        let (status, edited) = fleet.send(Method::PUT, WEB, json!({"values": {"replicas": 9}})).await;
        assert_eq!((status, outcomes(&edited)), (StatusCode::MULTI_STATUS, vec!["eu-1 SUCCEEDED".into(), "eu-2 DEFERRED".into()]));
        let message = edited["message"].as_str().unwrap();
        let start = "Some operations related to multi-cluster deployment web were not successful: CLUSTER: eu-2 CAUSE: The cluster is unreachable";
        assert!(message.starts_with(start), "{message}");
        assert_eq!(fleet.statuses(WEB).await, ["eu-1 DEPLOYED 1.0.0", "eu-2 UNKNOWN 1.0.0 stale"]);

        // Without force it stays until the cluster has returned.
        let (status, deleted) = fleet.send(Method::DELETE, WEB, Value::Null).await;
        assert_eq!((status, outcomes(&deleted)), (StatusCode::MULTI_STATUS, vec!["eu-1 SUCCEEDED".into(), "eu-2 DEFERRED".into()]));
        assert_eq!(fleet.statuses(WEB).await, ["eu-1 DELETED ", "eu-2 UNKNOWN 1.0.0 stale"]);
        let (status, forced) = fleet.send(Method::DELETE, &format!("{WEB}?force=true"), Value::Null).await;
        assert_eq!((status, &forced["message"]), (StatusCode::OK, &Value::Null), "{forced}");
        fleet.wait_until(async || fleet.send(Method::GET, WEB, Value::Null).await.0 == StatusCode::NOT_FOUND).await;
        assert!(!fleet.data(1, "web").is_null(), "the cluster is still down");

        fleet.start_agent(1);
        let cleaned = async || {
            let query = EventQuery { cluster: Some("eu-2".to_owned()), ..EventQuery::default() };
            let events = fleet.client.list_events(&query).await.unwrap().items;
            let found = events.iter().find(|event| event.kind == EventKind::ReleaseCleanedUp);
            found.is_some_and(|event| event.message.contains("eu-2"))
        };
        fleet.wait_until(cleaned).await;
        assert!(fleet.data(1, "web").is_null());
        fleet.stop().await;
    })
    .await;
}

#[tokio::test(flavor = "multi_thread")]
async fn s1_7_s1_8_s1_17_s1_28_a_cluster_that_leaves_the_group_loses_its_deployments_and_the_group_all_of_them()
 {
    with_timeout(async {
        let fleet = fleet_of(&["eu-1", "eu-2"]).await;
        fleet.create_europe(&[0, 1]).await;
        let body = json!({"name": "local/web", "namespace": "shop"});
        let (_, created) = fleet.send(Method::POST, DEPLOYMENTS, body).await;
        // Without a release name: two random words (S1-17); without a version: the newest one.
        let name = created["releaseName"].as_str().unwrap().to_owned();
        assert_eq!(name.split('-').count(), 2, "{name}");
        let path = format!("{DEPLOYMENTS}/{name}");
        assert_eq!(fleet.statuses(&path).await, ["eu-1 DEPLOYED 1.1.0", "eu-2 DEPLOYED 1.1.0"]);

        let (status, group) = fleet.send(Method::PUT, EU, json!({"members": fleet.ids(&[0])})).await;
        assert_eq!((status, group["members"].as_array().unwrap().len()), (StatusCode::OK, 1));
        fleet.wait_until(async || fleet.data(1, &name).is_null()).await;
        fleet.wait_until(async || fleet.statuses(&path).await == ["eu-1 DEPLOYED 1.1.0"]).await;
        assert!(fleet.client.get_cluster("eu-2").await.is_ok(), "the cluster itself stays");
        let events = fleet.client.list_events(&EventQuery::default()).await.unwrap().items;
        assert!(events.iter().any(|event| event.message == "Cluster group europe was saved; eu-2 left."));
        // Values for a cluster that is no member are refused (S1-11).
        let (status, refused) =
            fleet.send(Method::PUT, &path, json!({"valueOverrides": {"eu-2": {"replicas": 1}}})).await;
        assert_eq!(
            (status, &refused["findings"][0]["code"]),
            (StatusCode::BAD_REQUEST, &json!("G506")),
            "{refused}"
        );

        // Without members, the group and its deployments are deleted.
        assert_eq!(fleet.send(Method::PUT, EU, json!({"members": []})).await.0, StatusCode::NO_CONTENT);
        assert_eq!(fleet.send(Method::GET, EU, Value::Null).await.0, StatusCode::NOT_FOUND);
        fleet.wait_until(async || fleet.data(0, &name).is_null()).await;
        fleet.stop().await;
    })
    .await;
}

#[tokio::test(flavor = "multi_thread")]
async fn s1_1_s1_2_groups_have_rules_for_their_members_and_features_with_a_state() {
    with_timeout(async {
        let mut fleet = fleet_of(&["eu-1", "eu-2", "eu-3"]).await;
        fleet.stop_agent(2, "eu-3").await;
        let refused = async |body: Value, text: &str| {
            let (status, problem) = fleet.send(Method::POST, GROUPS, body).await;
            assert!(status.is_client_error() && problem.to_string().contains(text), "{status} {problem}");
        };
        refused(json!({"name": "europe", "members": []}), "has no members").await;
        refused(json!({"name": "Europe", "members": fleet.ids(&[0])}), "Group name").await;
        refused(
            json!({"name": "europe", "members": fleet.ids(&[0, 2])}),
            "unable to join member cluster with status UNREACHABLE: eu-3",
        )
        .await;
        refused(
            json!({"name": "europe", "members": ["01ARZ3NDEKTSV4RRFFQ69G5FAV"]}),
            "There is no cluster with the id",
        )
        .await;
        fleet.create_europe(&[0, 1]).await;
        refused(
            json!({"name": "europe", "members": fleet.ids(&[0])}),
            "cluster group already exists with this name",
        )
        .await;
        refused(
            json!({"name": "alone", "members": fleet.ids(&[0]), "exclusive": true}),
            "member cluster is already part of a cluster group: europe",
        )
        .await;
        assert_eq!(
            fleet.send(Method::GET, "/api/v1/orgs/other/clustergroups", Value::Null).await.0,
            StatusCode::NOT_FOUND
        );

        let (_, group) = fleet.send(Method::GET, EU, Value::Null).await;
        assert_eq!(group["enabledFeatures"], json!(["deployment"]));
        // `exclusive` is applied, and stays without it; a change that is based on an older revision is rejected.
        let members = fleet.ids(&[0, 1]);
        let strict = json!({"members": members, "exclusive": true});
        let (_, group) = fleet.send_if_match(Method::PUT, EU, &group["revision"], &strict).await;
        assert_eq!(group["exclusive"], true, "{group}");
        let open = json!({"members": members, "exclusive": false});
        let (status, changed) = fleet.send_if_match(Method::PUT, EU, &group["revision"], &open).await;
        assert_eq!((status, &changed["exclusive"]), (StatusCode::OK, &json!(false)), "{changed}");
        let same = json!({"members": members});
        let (status, stale) = fleet.send_if_match(Method::PUT, EU, &group["revision"], &same).await;
        assert_eq!(status, StatusCode::PRECONDITION_FAILED, "{stale}");
        let (status, stale) = fleet.send_if_match(Method::DELETE, EU, &group["revision"], &Value::Null).await;
        assert_eq!(status, StatusCode::PRECONDITION_FAILED, "{stale}");
        let (status, kept) = fleet.send_if_match(Method::PUT, EU, &changed["revision"], &same).await;
        assert_eq!((status, &kept["exclusive"]), (StatusCode::OK, &json!(false)), "{kept}");
        let member = &group["members"][0];
        assert_eq!((&member["name"], &member["id"]), (&json!("eu-1"), &json!(fleet.ids(&[0])[0])));
        assert_eq!(member["status"], "RUNNING", "{member}");

        // A feature rejects a change of the members.
        let lock = format!("{EU}/features/membershipLock");
        assert_eq!(fleet.send(Method::POST, &lock, json!({"ticket": 7})).await.0, StatusCode::OK);
        let (status, vetoed) = fleet.send(Method::PUT, EU, json!({"members": fleet.ids(&[0])})).await;
        assert_eq!(status, StatusCode::CONFLICT);
        assert!(
            vetoed["detail"].as_str().unwrap().starts_with("update rejected: feature membershipLock"),
            "{vetoed}"
        );
        assert_eq!(fleet.send(Method::GET, &lock, Value::Null).await.1["properties"], json!({"ticket": 7}));
        assert_eq!(fleet.send(Method::DELETE, &lock, Value::Null).await.0, StatusCode::ACCEPTED);
        fleet.stop().await;
    })
    .await;
}

#[tokio::test(flavor = "multi_thread")]
async fn s1_27_a_feature_keeps_the_properties_that_a_tool_beside_the_hub_sets_up_a_mesh_from() {
    with_timeout(Box::pin(async {
        let fleet = fleet_of(&["eu-1"]).await;
        fleet.create_europe(&[0]).await;
        let feature = format!("{EU}/features/deployment");
        let mesh = json!({"mesh": {"network": "eu", "mtls": true, "ports": [80, 443]}});
        let (status, _) = fleet.send(Method::PUT, &feature, mesh.clone()).await;
        assert_eq!(status, StatusCode::OK);
        let (_, stored) = fleet.send(Method::GET, &feature, Value::Null).await;
        assert_eq!(stored["properties"], mesh, "{stored}");
        let (status, refused) =
            fleet.send(Method::POST, &format!("{EU}/features/serviceMesh"), json!({})).await;
        assert_eq!(status, StatusCode::BAD_REQUEST, "no mesh is set up, and none is pretended: {refused}");
        let finding = &refused["findings"][0];
        assert_eq!(finding["code"], "G502", "{refused}");
        assert_eq!(finding["message"], "There is no feature \"serviceMesh\" of cluster groups.");
        assert_eq!(finding["hint"], "Features are deployment and membershipLock.");
        fleet.stop().await;
    }))
    .await;
}

#[tokio::test(flavor = "multi_thread")]
async fn s1_2_s1_28_disabling_the_feature_deletes_the_deployments_and_is_in_progress_until_then() {
    with_timeout(async {
        let mut fleet = fleet_of(&["eu-1", "eu-2"]).await;
        fleet.create_europe(&[0, 1]).await;
        let body = json!({"name": "local/web", "namespace": "shop", "releaseName": "web"});
        assert_eq!(fleet.send(Method::POST, DEPLOYMENTS, body.clone()).await.0, StatusCode::CREATED);
        fleet.stop_agent(1, "eu-2").await;
        let feature = format!("{EU}/features/deployment");
        let (status, disabled) = fleet.send(Method::DELETE, &feature, Value::Null).await;
        assert_eq!(
            (status, &disabled["reconcileState"]),
            (StatusCode::ACCEPTED, &json!("IN_PROGRESS")),
            "{disabled}"
        );
        for method in [Method::DELETE, Method::POST] {
            let (status, problem) = fleet.send(method, &feature, json!({})).await;
            assert_eq!(status, StatusCode::CONFLICT, "{problem}");
        }
        let (status, problem) = fleet.send(Method::POST, DEPLOYMENTS, body).await;
        assert!(
            status == StatusCode::CONFLICT && problem["detail"].as_str().unwrap().contains("is disabled"),
            "{problem}"
        );
        assert_eq!(
            fleet.send(Method::GET, EU, Value::Null).await.1["enabledFeatures"],
            json!(["deployment"])
        );
        fleet.start_agent(1);
        fleet
            .wait_until(async || {
                fleet.send(Method::GET, &feature, Value::Null).await.1["reconcileState"] == "SUCCESS"
            })
            .await;
        assert_eq!(fleet.send(Method::GET, EU, Value::Null).await.1["enabledFeatures"], json!([]));
        assert_eq!(fleet.send(Method::POST, &feature, json!({})).await.0, StatusCode::OK);
        // A member that is no longer registered.
        fleet.client.delete_cluster("eu-1", true).await.unwrap();
        let (_, group) = fleet.send(Method::GET, EU, Value::Null).await;
        assert_eq!(group["members"][0]["status"], "cluster not found", "{group}");
        fleet.stop().await;
    })
    .await;
}

#[tokio::test(flavor = "multi_thread")]
async fn g105_s1_10_s1_11_requests_that_can_not_be_done_are_refused_with_their_reason_and_store_nothing() {
    with_timeout(async {
        let fleet = fleet_of(&["eu-1"]).await;
        fleet.create_europe(&[0]).await;
        fleet.client.create_workload(&config_map_workload("taken", &["eu-1".to_owned()])).await.unwrap();
        let refused = async |body: Value, text: &str| {
            let (status, problem) = fleet.send(Method::POST, DEPLOYMENTS, body).await;
            assert_eq!(status, StatusCode::BAD_REQUEST, "{problem}");
            assert!(problem.to_string().contains(text), "{problem}");
        };
        refused(json!({"name": "web"}), "missing repo ref from chart name").await;
        refused(
            json!({"name": "local/web", "package": "aGVsbG8="}),
            "deployment using custom chart content is unsupported",
        )
        .await;
        refused(json!({"name": "local/nope", "version": "1.0.0"}), "There is no chart").await;
        refused(json!({"name": "local/web", "version": "9.0.0"}), "has no version").await;
        refused(
            json!({"name": "local/web", "releaseName": "taken"}),
            "release name is not unique across target clusters",
        )
        .await;
        refused(json!({"name": "local/web", "valueOverrides": {"us-1": {}}}), "no member of cluster group")
            .await;
        refused(json!({"name": "local/web", "namespace": "kube-system"}), "reserved").await;
        refused(json!({"name": "local/web", "vales": {}}), "values").await;
        assert_eq!(fleet.send(Method::GET, DEPLOYMENTS, Value::Null).await.1, json!([]));

        let (status, created) =
            fleet.send(Method::POST, DEPLOYMENTS, json!({"name": "local/web", "releaseName": "web"})).await;
        assert_eq!(status, StatusCode::CREATED);
        let warning = created["findings"][0]["message"].as_str().unwrap();
        assert!(warning.contains("uses the namespace \"default\""), "{created}");
        let again =
            fleet.send(Method::POST, DEPLOYMENTS, json!({"name": "local/web", "releaseName": "web"})).await;
        assert_eq!(again.0, StatusCode::CONFLICT);
        assert!(
            again.1["detail"].as_str().unwrap().contains("deployment already exists with this release name")
        );
        // What a person changed and did not publish is not overwritten.
        let current = fleet.client.get_workload("web").await.unwrap().workload;
        fleet.client.put_override("web", "mine", &own_override(), current.revision).await.unwrap();
        let (status, problem) = fleet.send(Method::PUT, WEB, json!({"values": {"replicas": 2}})).await;
        assert!(
            status == StatusCode::CONFLICT && problem["detail"].as_str().unwrap().contains("not published"),
            "{problem}"
        );
        fleet.stop().await;
    })
    .await;
}

#[tokio::test(flavor = "multi_thread")]
async fn s2_8_a_value_that_a_group_locks_is_set_on_its_clusters_and_can_not_be_overridden() {
    with_timeout(async {
        let fleet = fleet_of(&["eu-1", "eu-2"]).await;
        fleet.create_europe(&[0, 1]).await;
        let strict = ClusterGroup {
            name: "strict".to_owned(),
            members: vec!["eu-2".to_owned()],
            locked_values: "region: locked # by the platform team\n".to_owned(),
            ..ClusterGroup::default()
        };
        let strict = fleet.client.create_group(&strict).await.unwrap();
        let mut body = json!({"name": "local/web", "version": "1.0.0", "namespace": "shop", "releaseName": "web",
            "valueOverrides": {"eu-1": {"region": "own"}, "eu-2": {"region": "own"}}});
        let (status, refused) = fleet.send(Method::POST, DEPLOYMENTS, body.clone()).await;
        let finding = &refused["findings"][0];
        assert_eq!((status, &finding["code"], &finding["clusters"]), (StatusCode::BAD_REQUEST, &json!("G119"), &json!(["eu-2"])), "{refused}");
        let message = finding["message"].as_str().unwrap();
        assert!(message.contains("Group strict locks the value /region to \"locked\""), "{message}");

        body["valueOverrides"].as_object_mut().unwrap().remove("eu-2");
        assert_eq!(fleet.send(Method::POST, DEPLOYMENTS, body).await.0, StatusCode::CREATED);
        assert_eq!((&fleet.data(0, "web")["region"], &fleet.data(1, "web")["region"]), (&json!("own"), &json!("locked")));
        let query = wire::ValuesQuery { cluster: "eu-2".to_owned(), source: true, ..wire::ValuesQuery::default() };
        let values = fleet.client.get_values("web", &query).await.unwrap();
        let region = values.provenance.iter().find(|leaf| leaf.path == "/region").unwrap();
        assert_eq!(region.settings[0].layer.to_string(), "locked by group strict");
        // A changed lock reaches the clusters without a publish.
        let revision = strict.revision;
        let moved = ClusterGroup { locked_values: "region: moved\n".to_owned(), ..strict };
        fleet.client.put_group("strict", &moved.into(), revision).await.unwrap();
        fleet.wait_until(async || fleet.data(1, "web")["region"] == "moved").await;
        fleet.stop().await;
    })
    .await;
}

#[tokio::test(flavor = "multi_thread")]
async fn s4_7_values_and_annotations_that_a_user_gives_a_cluster_are_filled_in_and_followed() {
    with_timeout(async {
        let fleet = fleet_of(&["eu-1", "eu-2"]).await;
        fleet.create_europe(&[0, 1]).await;
        let patch = |value: Value| wire::ClusterPatch {
            annotations: [("owner".to_owned(), Some("team-a".to_owned()))].into(),
            values: value.as_object().cloned(),
            ..wire::ClusterPatch::default()
        };
        fleet.client.patch_cluster("eu-1", &patch(json!({"size": {"replicas": 4}})), None).await.unwrap();
        let body = json!({"name": "local/web", "version": "1.0.0", "namespace": "shop", "releaseName": "web", "values": {
            "replicas": "${{ cluster.values.size.replicas | default(\"1\") }}",
            "region": "${{ cluster.annotations.owner | default(\"nobody\") }}",
        }});
        assert_eq!(fleet.send(Method::POST, DEPLOYMENTS, body).await.0, StatusCode::CREATED);
        assert_eq!((&fleet.data(0, "web")["replicas"], &fleet.data(0, "web")["region"]), (&json!("4"), &json!("team-a")));
        assert_eq!((&fleet.data(1, "web")["replicas"], &fleet.data(1, "web")["region"]), (&json!("1"), &json!("nobody")));
        fleet.client.patch_cluster("eu-1", &patch(json!({"size": {"replicas": 6}})), None).await.unwrap();
        fleet.wait_until(async || fleet.data(0, "web")["replicas"] == "6").await;
        let events = fleet.client.list_events(&EventQuery::default()).await.unwrap().items;
        assert!(events.iter().any(|event| event.message == "Cluster eu-1 was changed: values."));
        let large = json!({"text": "x".repeat(40_000)});
        let refused = fleet.client.patch_cluster("eu-1", &patch(large), None).await.unwrap_err().to_string();
        assert!(refused.contains("the limit is 32768"), "{refused}");
        fleet.stop().await;
    })
    .await;
}

fn own_override() -> OverridePut {
    OverridePut {
        target: domain::overrides::ClusterSelector { clusters: vec!["eu-1".into()], ..Default::default() },
        values: "replicas: 7\n".into(),
        ..OverridePut::default()
    }
}
