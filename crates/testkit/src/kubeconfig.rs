//! The administrator's kubeconfig of a control plane.

use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use serde_json::json;

/// A kubeconfig in JSON, which is YAML too.
pub(crate) fn to_json(url: &str, ca: &str, token: &str) -> String {
    json!({
        "apiVersion": "v1", "kind": "Config", "current-context": "testkit",
        "clusters": [{"name": "testkit", "cluster": {
            "server": url, "certificate-authority-data": STANDARD.encode(ca)}}],
        "users": [{"name": "admin", "user": {"token": token}}],
        "contexts": [{"name": "testkit", "context": {"cluster": "testkit", "user": "admin"}}],
    })
    .to_string()
}
