//! The schema of kinds against a real API server: it is the server's own, and says what the server says.
//!
//! With `FLOTILLA_SCHEMA_OUT` set the schema is written there instead of compared: `cargo xtask schema`.

mod agreement;
mod broken;
mod taken;

use kube::core::{ApiResource, GroupVersionKind};
use serde_json::Value;
use testkit::{ControlPlane, Options};
use tokio::sync::OnceCell;

/// One API server for all tests here.
async fn plane() -> &'static ControlPlane {
    static SHARED: OnceCell<ControlPlane> = OnceCell::const_new();
    SHARED.get_or_init(|| ControlPlane::start(Options::default())).await
}

/// What the server answers to this request.
async fn ask(plane: &ControlPlane, request: http::Request<Vec<u8>>) -> Result<Value, String> {
    plane.client().request(request).await.map_err(|error| match error {
        kube::Error::Api(status) => status.message.clone(),
        other => other.to_string(),
    })
}

/// The address of an object's kind, in the namespace `default` unless the kind has none.
fn address(object: &Value, namespaced: bool) -> String {
    let version = object["apiVersion"].as_str().unwrap();
    let (group, short) = version.split_once('/').unwrap_or(("", version));
    let kind = GroupVersionKind::gvk(group, short, object["kind"].as_str().unwrap());
    let root = if group.is_empty() { "/api" } else { "/apis" };
    let namespace = if namespaced { "/namespaces/default" } else { "" };
    format!("{root}/{version}{namespace}/{}", ApiResource::from_gvk(&kind).plural)
}
