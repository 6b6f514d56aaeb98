//! Requests of the deployment API that are repeated with their `Idempotency-Key`: one effect per key, whatever happens to the
//! client in between (P2).

use std::time::Duration;

use domain::page::ListQuery;
use reqwest::{Method, StatusCode};

use super::charts::{chart, set_helm};
use super::deployment_outcomes::set_members;
use super::deployments::{DEPLOYMENTS, EU, GROUPS, WEB};
use super::*;

/// How long a client waits that does not give up.
const RESPONSE_PATIENCE: Duration = Duration::from_secs(90);

/// A response with what tells a replay.
#[derive(Debug, PartialEq)]
struct KeyedResponse {
    status: StatusCode,
    body: Value,
    etag: Option<String>,
    is_replayed: bool,
}

impl TestFleet {
    async fn send_once(&self, method: Method, path: &str, (key, body): (&str, &Value)) -> KeyedResponse {
        self.try_send_once(method, path, (key, body), RESPONSE_PATIENCE).await.unwrap()
    }

    /// `None` if the client gives up after `patience`.
    async fn try_send_once(
        &self,
        method: Method,
        path: &str,
        (key, body): (&str, &Value),
        patience: Duration,
    ) -> Option<KeyedResponse> {
        let request = reqwest::Client::new()
            .request(method, format!("{}{path}", self.url))
            .bearer_auth(&self.token)
            .header("Idempotency-Key", key)
            .timeout(patience);
        let request = if body.is_null() { request } else { request.json(body) };
        let response = match request.send().await {
            Ok(response) => response,
            Err(error) if error.is_timeout() => return None,
            Err(error) => panic!("{error}"),
        };
        let is_replayed = response.headers().contains_key("idempotency-replayed");
        let etag = response.headers().get("etag").map(|etag| etag.to_str().unwrap().to_owned());
        let status = response.status();
        let text = response.text().await.unwrap();
        let body = serde_json::from_str(&text).unwrap_or(Value::Null);
        Some(KeyedResponse { status, body, etag, is_replayed })
    }

    async fn list_deployment_names(&self) -> Vec<String> {
        let (status, list) = self.send(Method::GET, DEPLOYMENTS, Value::Null).await;
        assert_eq!(status, StatusCode::OK, "{list}");
        let names =
            list.as_array().unwrap().iter().map(|one| one["releaseName"].as_str().unwrap().to_owned());
        names.collect()
    }
}

/// Two clusters in the group `europe`, and the chart `local/web`.
async fn fleet_with_group() -> TestFleet {
    let fleet = TestFleet::start_with(&["eu-1", "eu-2"].map(str::to_owned)).await;
    set_helm(&fleet).await;
    fleet.client.upload_chart(chart("1.0.0", &[])).await.unwrap();
    fleet
}

fn assert_same(first: &KeyedResponse, again: &KeyedResponse) {
    assert!(!first.is_replayed && again.is_replayed, "{first:?} {again:?}");
    assert_eq!((again.status, &again.body, &again.etag), (first.status, &first.body, &first.etag));
}

#[tokio::test(flavor = "multi_thread")]
async fn p2_a_repeated_request_of_the_deployment_api_has_one_effect_and_the_same_response() {
    with_timeout(async {
        let fleet = fleet_with_group().await;
        let group = json!({"name": "europe", "members": fleet.ids(&[0, 1])});
        let created = fleet.send_once(Method::POST, GROUPS, ("k-group", &group)).await;
        assert_eq!((created.status, created.etag.as_deref()), (StatusCode::CREATED, Some("\"1\"")));
        assert_same(&created, &fleet.send_once(Method::POST, GROUPS, ("k-group", &group)).await);

        let put = json!({"members": fleet.ids(&[0, 1]), "exclusive": true});
        let changed = fleet.send_once(Method::PUT, EU, ("k-put", &put)).await;
        assert!(changed.body["members"][0]["name"].is_string(), "{changed:?}");
        assert_same(&changed, &fleet.send_once(Method::PUT, EU, ("k-put", &put)).await);

        // Without a release name: the name is random, and the same for the repeated request.
        let body = json!({"name": "local/web", "namespace": "shop"});
        let deployed = fleet.send_once(Method::POST, DEPLOYMENTS, ("k-deploy", &body)).await;
        assert_eq!(deployed.status, StatusCode::CREATED, "{deployed:?}");
        assert_same(&deployed, &fleet.send_once(Method::POST, DEPLOYMENTS, ("k-deploy", &body)).await);
        assert_eq!(fleet.list_deployment_names().await.len(), 1);
        for name in ["second", "third"] {
            let body = json!({"name": "local/web", "namespace": "shop", "releaseName": name});
            assert_eq!(fleet.send(Method::POST, DEPLOYMENTS, body).await.0, StatusCode::CREATED);
        }

        // All deployments, and not the first alone.
        let feature = format!("{EU}/features/deployment");
        let disabled = fleet.send_once(Method::DELETE, &feature, ("k-off", &Value::Null)).await;
        assert_eq!(disabled.status, StatusCode::ACCEPTED, "{disabled:?}");
        assert_eq!(disabled.body["reconcileState"], "IN_PROGRESS", "{disabled:?}");
        assert_same(&disabled, &fleet.send_once(Method::DELETE, &feature, ("k-off", &Value::Null)).await);
        fleet.wait_until(async || fleet.list_deployment_names().await.is_empty()).await;
        fleet
            .wait_until(async || {
                fleet.client.list_workloads(&ListQuery::default()).await.unwrap().items.is_empty()
            })
            .await;
        let enabled = fleet.send_once(Method::POST, &feature, ("k-on", &json!({}))).await;
        assert_eq!(enabled.status, StatusCode::OK, "{enabled:?}");
        assert_same(&enabled, &fleet.send_once(Method::POST, &feature, ("k-on", &json!({}))).await);

        for name in ["first", "second"] {
            let body = json!({"name": "local/web", "namespace": "shop", "releaseName": name});
            assert_eq!(fleet.send(Method::POST, DEPLOYMENTS, body).await.0, StatusCode::CREATED);
        }
        let deleted = fleet.send_once(Method::DELETE, EU, ("k-delete", &Value::Null)).await;
        assert_eq!(deleted.status, StatusCode::NO_CONTENT, "{deleted:?}");
        assert_same(&deleted, &fleet.send_once(Method::DELETE, EU, ("k-delete", &Value::Null)).await);
        assert_eq!(fleet.send(Method::GET, EU, Value::Null).await.0, StatusCode::NOT_FOUND);
        fleet
            .wait_until(async || {
                fleet.client.list_workloads(&ListQuery::default()).await.unwrap().items.is_empty()
            })
            .await;
        fleet.stop().await;
    })
    .await;
}

#[tokio::test(flavor = "multi_thread")]
async fn p2_a_client_that_was_cut_off_finds_its_own_deployment_and_not_a_conflict() {
    with_timeout(async {
        let fleet = fleet_with_group().await;
        fleet.create_europe(&[0, 1]).await;
        // A slow API server: the request waits for the outcome.
        fleet.clusters[0].faults().set_delay(Duration::from_secs(20));
        let body = json!({"name": "local/web", "namespace": "shop"});
        let cut_off =
            fleet.try_send_once(Method::POST, DEPLOYMENTS, ("k-1", &body), Duration::from_secs(3)).await;
        assert_eq!(cut_off, None);
        fleet.wait_until(async || fleet.list_deployment_names().await.len() == 1).await;
        let again = fleet.send_once(Method::POST, DEPLOYMENTS, ("k-1", &body)).await;
        assert_eq!((again.status, again.is_replayed), (StatusCode::ACCEPTED, true), "{again:?}");
        let names = fleet.list_deployment_names().await;
        assert_eq!(names, [again.body["releaseName"].as_str().unwrap()]);
        assert!(again.body["operation"].is_string(), "{again:?}");
        assert_eq!(again.body["targetClusters"].as_array().unwrap().len(), 2, "{again:?}");
        fleet.clusters[0].faults().set_delay(Duration::ZERO);
        fleet.stop().await;
    })
    .await;
}

#[tokio::test(flavor = "multi_thread")]
async fn p2_a_change_of_a_deployment_whose_response_is_lost_is_made_once() {
    with_timeout(Box::pin(async {
        let fleet = fleet_with_group().await;
        fleet.create_europe(&[0, 1]).await;
        let deployment = json!({"name": "local/web", "namespace": "shop", "releaseName": "web"});
        let sync = format!("{WEB}/sync");
        let changes = [
            (Method::POST, DEPLOYMENTS, "lost-deploy", deployment),
            (Method::PUT, WEB, "lost-edit", json!({"values": {"replicas": 5}})),
            (Method::PUT, sync.as_str(), "lost-sync", Value::Null),
            (Method::DELETE, WEB, "lost-delete", Value::Null),
        ];
        for (method, path, key, body) in changes {
            if key == "lost-sync" {
                // Without a cluster that left, there is nothing to do, and nothing is stored.
                set_members(&fleet, &["eu-1"]).await;
            }
            hub::arm_lost_response(key);
            let first = fleet.send_once(method.clone(), path, (key, &body)).await;
            assert!(first.status.is_success() && !first.is_replayed, "{first:?}");
            let again = fleet.send_once(method, path, (key, &body)).await;
            // As it was when the change was committed: the operation leads to its outcome.
            assert_eq!((again.status, again.is_replayed), (StatusCode::ACCEPTED, true), "{key}: {again:?}");
            assert!(again.body["operation"].is_string(), "{key}: {again:?}");
            assert_eq!(again.body["operation"], first.body["operation"], "{key}");
        }
        fleet.stop().await;
    }))
    .await;
}

#[tokio::test(flavor = "multi_thread")]
async fn p2_a_repeated_change_sync_or_deletion_of_a_deployment_has_no_effect_after_later_requests() {
    with_timeout(async {
        let fleet = fleet_with_group().await;
        fleet.create_europe(&[0, 1]).await;
        let body = json!({"name": "local/web", "namespace": "shop", "releaseName": "web"});
        let deployed = fleet.send_once(Method::POST, DEPLOYMENTS, ("k-deploy", &body)).await;
        assert_eq!(deployed.status, StatusCode::CREATED, "{deployed:?}");

        let edit = json!({"values": {"replicas": 5}});
        let edited = fleet.send_once(Method::PUT, WEB, ("k-edit", &edit)).await;
        assert_eq!((edited.status, &fleet.data(0, "web")["replicas"]), (StatusCode::OK, &json!("5")));
        let later = json!({"values": {"replicas": 7}});
        assert_eq!(fleet.send(Method::PUT, WEB, later).await.0, StatusCode::OK);
        assert_same(&edited, &fleet.send_once(Method::PUT, WEB, ("k-edit", &edit)).await);
        let (_, view) = fleet.send(Method::GET, WEB, Value::Null).await;
        assert_eq!(view["values"], json!({"replicas": 7}), "the later change stays");
        let (_, listed) = fleet.send(Method::GET, DEPLOYMENTS, Value::Null).await;
        assert_eq!(listed[0]["version"], 3, "{listed}");
        // A key belongs to one request, also on the same path.
        let (other, sync) = (json!({"values": {}}), format!("{WEB}/sync"));
        let reused = fleet.send_once(Method::PUT, WEB, ("k-edit", &other)).await;
        assert_eq!(reused.status, StatusCode::UNPROCESSABLE_ENTITY, "{reused:?}");

        let synced = fleet.send_once(Method::PUT, &sync, ("k-sync", &Value::Null)).await;
        assert_eq!(synced.status, StatusCode::ACCEPTED, "{synced:?}");
        assert_same(&synced, &fleet.send_once(Method::PUT, &sync, ("k-sync", &Value::Null)).await);

        let deleted = fleet.send_once(Method::DELETE, WEB, ("k-delete", &Value::Null)).await;
        assert_eq!(deleted.status, StatusCode::OK, "{deleted:?}");
        fleet.wait_until(async || fleet.list_deployment_names().await.is_empty()).await;
        assert_eq!(fleet.send(Method::POST, DEPLOYMENTS, body).await.0, StatusCode::CREATED);
        assert_same(&deleted, &fleet.send_once(Method::DELETE, WEB, ("k-delete", &Value::Null)).await);
        assert_eq!(fleet.list_deployment_names().await, ["web"], "the new deployment of this name stays");
        assert!(!fleet.data(0, "web").is_null());
        fleet.stop().await;
    })
    .await;
}
