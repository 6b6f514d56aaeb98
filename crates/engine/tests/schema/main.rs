//! The schema of kinds against a real API server: it equals the server's schema and validates like the server.
//!
//! With `FLOTILLA_SCHEMA_OUT` set, the schema is written to that file instead of compared (`cargo xtask schema`).

mod agreement;
mod server_schema;
mod validation_cases;

use kube::core::{ApiResource, GroupVersionKind};
use serde_json::Value;
use testkit::{ControlPlane, ControlPlaneOptions};
use tokio::sync::OnceCell;

/// The API server shared by the tests.
async fn shared_control_plane() -> &'static ControlPlane {
    static SHARED: OnceCell<ControlPlane> = OnceCell::const_new();
    SHARED.get_or_init(|| ControlPlane::start(ControlPlaneOptions::default())).await
}

/// Sends a request; an error is the server's message.
async fn send(plane: &ControlPlane, request: http::Request<Vec<u8>>) -> Result<Value, String> {
    plane.client().request(request).await.map_err(|error| match error {
        kube::Error::Api(status) => status.message.clone(),
        other => other.to_string(),
    })
}

/// URL path of the collection of an object's kind, in the namespace `default` if it is namespaced.
fn collection_path(object: &Value, namespaced: bool) -> String {
    let version = object["apiVersion"].as_str().unwrap();
    let (group, short) = version.split_once('/').unwrap_or(("", version));
    let kind = GroupVersionKind::gvk(group, short, object["kind"].as_str().unwrap());
    let root = if group.is_empty() { "/api" } else { "/apis" };
    let namespace = if namespaced { "/namespaces/default" } else { "" };
    format!("{root}/{version}{namespace}/{}", ApiResource::from_gvk(&kind).plural)
}
