//! Requests to the deployment API, and what its responses say.

use domain::cluster::Connectivity;
use reqwest::{Method, StatusCode};

use super::deployments::GROUPS;
use super::*;

/// A request that waits for an outcome waits as long as the server allows: a busy machine may need more than the default of 30 s.
const LONGEST_WAIT: &str = "wait=60";

impl TestFleet {
    pub(super) async fn send(&self, method: Method, path: &str, body: Value) -> (StatusCode, Value) {
        self.send_with_wait(method, path, body, LONGEST_WAIT).await
    }

    /// The same with this preference for the wait.
    pub(super) async fn send_with_wait(
        &self,
        method: Method,
        path: &str,
        body: Value,
        wait: &str,
    ) -> (StatusCode, Value) {
        let request =
            reqwest::Client::new().request(method, format!("{}{path}", self.url)).bearer_auth(&self.token);
        let request = request.header("prefer", wait);
        let request = if body.is_null() { request } else { request.json(&body) };
        let response = request.send().await.unwrap();
        let status = response.status();
        let text = response.text().await.unwrap();
        (status, serde_json::from_str(&text).unwrap_or(Value::Null))
    }

    /// The same, based on this revision.
    pub(super) async fn send_if_match(
        &self,
        method: Method,
        path: &str,
        revision: &Value,
        body: &Value,
    ) -> (StatusCode, Value) {
        let request = reqwest::Client::new().request(method, format!("{}{path}", self.url));
        let request = request.bearer_auth(&self.token).header("if-match", format!("\"{revision}\""));
        let request = request.header("prefer", LONGEST_WAIT);
        let request = if body.is_null() { request } else { request.json(body) };
        let response = request.send().await.unwrap();
        let status = response.status();
        (status, serde_json::from_str(&response.text().await.unwrap()).unwrap_or(Value::Null))
    }

    pub(super) async fn wait_for_connectivity(&self, name: &str, connectivity: Connectivity) {
        let mut watch = self.client.watch(None);
        loop {
            let cluster = self.client.get_cluster(name).await.unwrap().cluster;
            // A chart is rendered for the version and the APIs that the agent reports.
            if cluster.connectivity == connectivity && cluster.facts.is_reported() {
                return;
            }
            await_event(&mut watch).await;
        }
    }

    pub(super) fn ids(&self, indexes: &[usize]) -> Vec<String> {
        indexes.iter().map(|index| self.agents[*index].cluster.to_string()).collect()
    }

    pub(super) async fn create_europe(&self, members: &[usize]) {
        let body = json!({"name": "europe", "members": self.ids(members)});
        let (status, group) = self.send(Method::POST, GROUPS, body).await;
        assert_eq!((status, &group["id"]), (StatusCode::CREATED, &json!("europe")), "{group}");
    }

    /// The status of a deployment by cluster: `eu-1 DEPLOYED 1.0.0`, with `stale` where it is.
    pub(super) async fn statuses(&self, path: &str) -> Vec<String> {
        let (status, view) = self.send(Method::GET, path, Value::Null).await;
        assert_eq!(status, StatusCode::OK, "{view}");
        let text = |target: &Value| {
            let stale = if target["stale"] == true { " stale" } else { "" };
            let field = |name: &str| target[name].as_str().unwrap().to_owned();
            format!("{} {} {}{stale}", field("clusterName"), field("status"), field("version"))
        };
        view["targetClusters"].as_array().unwrap().iter().map(text).collect()
    }

    /// Waits until `condition` holds, checked at every change.
    pub(super) async fn wait_until(&self, condition: impl AsyncFn() -> bool) {
        let mut watch = self.client.watch(None);
        while !condition().await {
            await_event(&mut watch).await;
        }
    }

    pub(super) fn data(&self, cluster: usize, name: &str) -> Value {
        let found = self.clusters[cluster].get(CONFIG_MAP, ("shop", name));
        found.map(|object| object["data"].clone()).unwrap_or_default()
    }
}
