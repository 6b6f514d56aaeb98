//! The responses about a fleet in use, with real releases, plans and deployments, compared with the OpenAPI document.

use std::collections::BTreeSet;

use reqwest::StatusCode;

use super::deployments::{DEPLOYMENTS, EU, GROUPS, WEB, fleet_of};
use super::openapi_document::{DocumentedOperation, ReceivedResponse, ServedDocument};
use super::*;

const PROJECT: &str = "/api/v1/projects/default";
const ORDERS: &str = "/api/v1/projects/default/workloads/orders";
/// For requests that concern a stopped cluster.
const SHORT_WAIT: &str = "wait=1";
const LONG_WAIT: &str = "wait=60";

/// A client that compares every response with the document.
struct CheckedClient<'c> {
    fleet: &'c TestFleet,
    document: &'c ServedDocument,
    violations: Vec<String>,
    /// Ids of the operations that have succeeded.
    successful: BTreeSet<String>,
}

impl<'c> CheckedClient<'c> {
    fn new(fleet: &'c TestFleet, document: &'c ServedDocument) -> Self {
        Self { fleet, document, violations: Vec::new(), successful: BTreeSet::new() }
    }

    /// Sends a request and returns the JSON of its response.
    async fn send(&mut self, method: &str, path: &str, body: Value) -> Value {
        self.send_with_wait(method, path, body, LONG_WAIT).await
    }

    async fn send_with_wait(&mut self, method: &str, path: &str, body: Value, wait: &str) -> Value {
        let operation = find_operation(self.document, method, path);
        let url = format!("{}{path}", self.fleet.url);
        let request = reqwest::Client::new().request(method.parse().unwrap(), url);
        let request = request.bearer_auth(&self.fleet.token).header("prefer", wait).header("if-match", "*");
        let request = if body.is_null() { request } else { request.json(&body) };
        let response = request.send().await.unwrap();
        let (status, headers) = (response.status(), response.headers().clone());
        let text = response.text().await.unwrap();
        let received = ReceivedResponse { status: status.as_u16(), headers: &headers, text: &text };
        if let Err(violation) = self.document.find_violation(&operation, &received) {
            self.violations.push(format!("{} ({method} {path}): {violation}", operation.id));
        }
        if status.is_success() {
            self.successful.insert(operation.id.to_owned());
        }
        assert!(!status.is_server_error(), "{method} {path}: {status} {text}");
        serde_json::from_str(&text).unwrap_or(Value::Null)
    }

    async fn get(&mut self, path: &str) -> Value {
        self.send("GET", path, Value::Null).await
    }

    /// Everything that is read about a workload.
    async fn get_workload(&mut self, name: &str) {
        let workload = format!("{PROJECT}/workloads/{name}");
        for part in [
            "",
            "/git",
            "/overrides",
            "/placement",
            "/releases",
            "/releases/eu-1",
            "/releases/eu-2",
            "/revisions",
            "/revisions/1",
            "/revisions/2?cluster=eu-1",
            "/rollout",
            "/rollout/clusters?limit=2",
            "/rollout/report?format=json",
            "/status",
            "/values?cluster=eu-1&source=true",
            "/manifests?cluster=eu-1",
        ] {
            self.get(&format!("{workload}{part}")).await;
        }
        let operations = self.get(&format!("{workload}/operations")).await;
        for operation in operations["items"].as_array().unwrap() {
            let id = operation["id"].as_str().unwrap();
            self.get(&format!("/api/v1/operations/{id}")).await;
        }
        let plan = self.send("POST", &format!("{workload}:plan?wait=20"), Value::Null).await;
        if let Some(id) = plan["id"].as_str() {
            self.get(&format!("/api/v1/plans/{id}")).await;
        }
        self.send("POST", &format!("{workload}:publish?dryRun=true"), json!({})).await;
    }

    /// Everything that is read about the fleet.
    async fn get_fleet(&mut self) {
        for path in [
            "/api/v1/audit",
            "/api/v1/audit/export",
            "/api/v1/audit/verification",
            "/api/v1/clusters",
            "/api/v1/cluster-groups",
            "/api/v1/cluster-groups/europe",
            "/api/v1/events",
            "/api/v1/fleet",
            "/api/v1/incidents",
            "/api/v1/search?q=web",
            "/api/v1/server-status",
            "/api/v1/users",
            "/api/v1/tokens",
            GROUPS,
            EU,
            DEPLOYMENTS,
            WEB,
        ] {
            self.get(path).await;
        }
        for part in ["/charts", "/charts/local/web/1.0.0", "/chart-catalog?q=web", "/chart-catalog/local/web"]
        {
            self.get(&format!("{PROJECT}{part}")).await;
        }
        for feature in ["", "/deployment", "/membershipLock"] {
            self.get(&format!("{EU}/features{feature}")).await;
        }
        for cluster in ["eu-1", "eu-2", "eu-3"] {
            for part in ["", "/releases", "/onboarding"] {
                self.get(&format!("/api/v1/clusters/{cluster}{part}")).await;
            }
        }
    }

    /// Creates a group with its deployment, changes it, and adds a cluster to the group.
    async fn deploy(&mut self, ids: &[String], some: &[String]) {
        self.send("POST", GROUPS, json!({"name": "europe", "members": some})).await;
        let deployment = json!({
            "name": "local/web", "version": "1.0.0", "namespace": "shop", "releaseName": "web",
            "values": {"replicas": 2}, "valueOverrides": {"eu-2": {"region": "west"}},
        });
        self.send("POST", DEPLOYMENTS, deployment).await;
        self.send("PUT", WEB, json!({"version": "1.1.0", "reuseValues": true})).await;
        self.send("PUT", &format!("{WEB}/sync"), Value::Null).await;
        let feature = format!("{EU}/features/membershipLock");
        self.send("POST", &feature, json!({"ticket": 7})).await;
        self.send("PUT", &feature, json!({"ticket": 8})).await;
        self.send("DELETE", &feature, Value::Null).await;
        self.send("PUT", EU, json!({"members": ids})).await;
    }

    /// Creates the workload `orders` with an override and publishes it.
    async fn publish_orders(&mut self) {
        let spec = orders();
        let draft = json!({"name": "orders", "spec": spec});
        self.send("POST", &format!("{PROJECT}/workloads?dryRun=true"), draft.clone()).await;
        self.send("POST", &format!("{PROJECT}/workloads:validate"), draft.clone()).await;
        self.send("POST", &format!("{PROJECT}/workloads"), draft).await;
        let preview = json!({"workload": "orders", "placement": spec["placement"]});
        self.send("POST", &format!("{PROJECT}/placements:preview"), preview).await;
        let object = json!({"kind": "ConfigMap"});
        let patches = json!([
            {"op": "set", "path": "/data/key", "value": "changed", "object": object},
            {"op": "merge", "value": {"data": {"more": "x"}}, "object": object},
        ]);
        let put = json!({"target": {"clusters": ["eu-1"]}, "patches": patches});
        self.send("PUT", &format!("{ORDERS}/overrides/eu"), put).await;
        self.get(&format!("{ORDERS}/overrides/eu")).await;
        self.send("POST", &format!("{ORDERS}:previewUnwrapping"), Value::Null).await;
        self.send("POST", &format!("{ORDERS}:publish"), json!({"message": "first"})).await;
    }

    /// Makes the small changes of a day.
    async fn edit(&mut self) {
        self.send("PATCH", ORDERS, json!({"labels": {"team": "a"}})).await;
        self.send("PATCH", "/api/v1/clusters/eu-1", json!({"labels": {"team": "a"}, "values": {"a": 1}}))
            .await;
        self.send("POST", "/api/v1/clusters/eu-1:preview", json!({"labels": {"team": null}})).await;
        self.send("POST", &format!("{ORDERS}:sync"), json!({"clusters": []})).await;
        self.send("POST", &format!("{ORDERS}/rollout:pause"), Value::Null).await;
        self.send("POST", &format!("{ORDERS}:restore"), json!({"revision": 1})).await;
        let preview = json!({"members": ["eu-1"]});
        self.send("POST", "/api/v1/cluster-groups/europe:preview", preview).await;
    }
}

/// The operation of a request: of those whose path fits, the one with the fewest parameters.
fn find_operation<'d>(document: &'d ServedDocument, method: &str, path: &str) -> DocumentedOperation<'d> {
    let path = path.split('?').next().unwrap();
    let fitting = document.list_operations().into_iter();
    let fitting =
        fitting.filter(|operation| operation.method.as_str() == method && fits(operation.path, path));
    let found = fitting.min_by_key(|operation| operation.path.matches('{').count());
    found.unwrap_or_else(|| panic!("no operation is {method} {path}"))
}

fn fits(template: &str, path: &str) -> bool {
    let fits_segment = |template: &str, segment: &str| match template.split_once('{') {
        Some((before, rest)) => {
            let (_, after) = rest.split_once('}').unwrap();
            let name = segment.strip_prefix(before).and_then(|rest| rest.strip_suffix(after));
            name.is_some_and(|name| !name.is_empty() && !name.contains(':'))
        }
        None => template == segment,
    };
    template.split('/').count() == path.split('/').count()
        && template.split('/').zip(path.split('/')).all(|(template, segment)| fits_segment(template, segment))
}

/// A spec with two objects and two waves.
fn orders() -> Value {
    let config =
        "apiVersion: v1\nkind: ConfigMap\nmetadata: {name: orders, namespace: shop}\ndata: {key: value}\n";
    let files = json!([{"name": "app.yaml", "text": format!("{MANIFESTS}---\n{config}")}]);
    json!({
        "namespace": "shop",
        "source": {"type": "yaml", "files": files},
        "placement": {"predicates": [{}], "score": [{"name": "steady"}]},
        "rollout": {"waves": [{"name": "first", "maxClusters": "1"}, {"name": "rest"}]},
    })
}

#[tokio::test(flavor = "multi_thread")]
async fn s1_24_every_response_about_a_fleet_in_use_is_one_that_the_openapi_document_describes() {
    with_timeout(async {
        let mut fleet = fleet_of(&["eu-1", "eu-2", "eu-3"]).await;
        let client = reqwest::Client::new().get(format!("{}/api/v1/openapi.json", fleet.url));
        let response = client.bearer_auth(&fleet.token).send().await.unwrap();
        assert_eq!(response.status(), StatusCode::OK);
        let document = ServedDocument::new(response.json().await.unwrap());
        let (ids, some) = (fleet.ids(&[0, 1, 2]), fleet.ids(&[0, 1]));

        let mut client = CheckedClient::new(&fleet, &document);
        client.deploy(&ids, &some).await;
        client.publish_orders().await;
        let all = |status: &WorkloadStatus| status.counts.healthy() == 3;
        fleet.wait_for_status("orders", all).await;
        for name in ["web", "orders"] {
            client.get_workload(name).await;
        }
        client.get_fleet().await;
        client.edit().await;
        let CheckedClient { mut violations, mut successful, .. } = client;

        fleet.stop_agent(1, "eu-2").await;
        let mut client = CheckedClient::new(&fleet, &document);
        client.send_with_wait("PUT", WEB, json!({"values": {"replicas": 3}}), SHORT_WAIT).await;
        for name in ["web", "orders"] {
            client.get_workload(name).await;
        }
        client.get_fleet().await;
        client.send_with_wait("DELETE", WEB, Value::Null, SHORT_WAIT).await;
        client.send_with_wait("DELETE", &format!("{WEB}?force=true"), Value::Null, SHORT_WAIT).await;
        client.send("POST", &format!("{ORDERS}:unpublish"), json!({})).await;
        let removed = |status: &WorkloadStatus| status.counts.count(ReleaseState::Removed) == 2;
        fleet.wait_for_status("orders", removed).await;
        client.get(&format!("{ORDERS}/status")).await;
        client.send("DELETE", ORDERS, Value::Null).await;
        violations.extend(client.violations);
        successful.extend(client.successful);
        assert!(violations.is_empty(), "{}", violations.join("\n"));
        assert!(successful.len() > 50, "{} operations: {successful:?}", successful.len());
        fleet.stop().await;
    })
    .await;
}
