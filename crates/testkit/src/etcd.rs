//! Direct access to etcd, bypassing the API server, through etcd's JSON gateway.

use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use serde_json::{Value, json};

/// A client of a control plane's etcd.
pub(crate) struct EtcdClient {
    client: kube::Client,
}

impl EtcdClient {
    /// A client of the etcd at this URL. Must be called and used on a tokio runtime.
    pub(crate) fn connect(url: &str) -> EtcdClient {
        let config = kube::Config::new(url.parse().expect("a URL"));
        EtcdClient { client: kube::Client::try_from(config).expect("a client without TLS") }
    }

    async fn post(&self, path: &str, body: Value) -> Value {
        let request = http::Request::post(path)
            .header(http::header::CONTENT_TYPE, "application/json")
            .body(body.to_string().into_bytes())
            .expect("a request");
        self.client
            .request(request)
            .await
            .unwrap_or_else(|error| panic!("etcd request {path} failed: {error}"))
    }

    /// Deletes one key and returns the store's revision after it.
    pub(crate) async fn delete_key(&self, key: &str) -> i64 {
        let response = self.post("/v3/kv/deleterange", json!({"key": STANDARD.encode(key)})).await;
        assert_eq!(response["deleted"], "1", "etcd has {key}");
        revision(&response)
    }

    /// Compacts all history before the current revision.
    pub(crate) async fn compact_history(&self) {
        let now = revision(&self.post("/v3/kv/range", json!({"key": STANDARD.encode("/")})).await);
        self.post("/v3/kv/compaction", json!({"revision": now.to_string(), "physical": true})).await;
    }
}

fn revision(response: &Value) -> i64 {
    let text = response["header"]["revision"].as_str().expect("a response has a revision");
    text.parse().expect("a revision is a number")
}
