//! What a test does behind the API server's back: etcd's own API, which it also speaks as JSON.

use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use serde_json::{Value, json};

/// etcd of one control plane.
pub(crate) struct Etcd {
    client: kube::Client,
}

impl Etcd {
    /// Must be called on a tokio runtime, like every use of it.
    pub(crate) fn at(url: &str) -> Etcd {
        let config = kube::Config::new(url.parse().expect("a URL"));
        Etcd { client: kube::Client::try_from(config).expect("a client without TLS") }
    }

    async fn ask(&self, path: &str, body: Value) -> Value {
        let request = http::Request::post(path)
            .header(http::header::CONTENT_TYPE, "application/json")
            .body(body.to_string().into_bytes())
            .expect("a request");
        self.client.request(request).await.unwrap_or_else(|error| panic!("etcd answers {path}: {error}"))
    }

    /// Deletes one key and returns the revision of the whole store after it.
    pub(crate) async fn delete(&self, key: &str) -> i64 {
        let answer = self.ask("/v3/kv/deleterange", json!({"key": STANDARD.encode(key)})).await;
        assert_eq!(answer["deleted"], "1", "etcd holds {key}");
        revision(&answer)
    }

    /// Forgets all history before now.
    pub(crate) async fn compact(&self) {
        let now = revision(&self.ask("/v3/kv/range", json!({"key": STANDARD.encode("/")})).await);
        self.ask("/v3/kv/compaction", json!({"revision": now.to_string(), "physical": true})).await;
    }
}

fn revision(answer: &Value) -> i64 {
    let text = answer["header"]["revision"].as_str().expect("an answer has a revision");
    text.parse().expect("a revision is a number")
}
