//! A registry with one repository, which requires a user name and a password.

use std::collections::BTreeMap;
use std::sync::Arc;

use domain::Digest;
use domain::chart_repository::RepositoryCredentials;
use parking_lot::Mutex;
use serde_json::{Value, json};
use testkit::{HttpRequest, HttpResponse, HttpServer};

/// ci:s3cret
const AUTHORIZATION: &str = "Basic Y2k6czNjcmV0";

/// A layer: its media type and its bytes.
pub type Layer = (&'static str, Vec<u8>);

/// What the repository has, by the path below its own.
type RegistryContents = Arc<Mutex<BTreeMap<String, Vec<u8>>>>;

/// The registry and its server.
pub struct TestRegistry {
    server: HttpServer,
    contents: RegistryContents,
}

impl TestRegistry {
    /// A registry whose only repository has this name and is empty.
    pub async fn start(repository: &str) -> Self {
        let contents = RegistryContents::default();
        let (state, prefix) = (contents.clone(), format!("/v2/{repository}/"));
        let server = HttpServer::start(move |_, request| respond(&state, &prefix, request)).await;
        Self { server, contents }
    }

    /// The address of a repository or of a folder of repositories.
    pub fn url(&self, path: &str) -> String {
        format!("oci://{}/{path}", self.server.host())
    }

    /// Stores content at a path below that of the repository.
    pub fn insert(&self, path: impl Into<String>, bytes: impl Into<Vec<u8>>) {
        self.contents.lock().insert(path.into(), bytes.into());
    }

    /// Pushes layers and a manifest with a tag. Returns the digest of the manifest.
    pub fn push(&self, tag: &str, config_type: &str, layers: &[Layer], annotations: &Value) -> String {
        let mut described = Vec::new();
        for (media_type, bytes) in layers {
            let digest = Digest::compute(bytes);
            described.push(json!({"mediaType": media_type, "digest": digest, "size": bytes.len()}));
            self.insert(format!("blobs/{digest}"), bytes.clone());
        }
        let manifest = json!({
            "schemaVersion": 2,
            "config": {"mediaType": config_type, "digest": Digest::compute(b"{}"), "size": 2},
            "layers": described,
            "annotations": annotations,
        });
        let bytes = manifest.to_string().into_bytes();
        let digest = Digest::compute(&bytes).to_string();
        self.insert(format!("manifests/{tag}"), bytes.clone());
        self.insert(format!("manifests/{digest}"), bytes);
        digest
    }

    /// Removes a tag, and leaves its manifest.
    pub fn remove_tag(&self, tag: &str) {
        self.contents.lock().remove(&format!("manifests/{tag}"));
    }

    /// Removes everything, as a registry that has lost its storage.
    pub fn clear(&self) {
        self.contents.lock().clear();
    }

    /// Appends a byte to each layer.
    pub fn change_layers(&self) {
        for (path, bytes) in self.contents.lock().iter_mut() {
            if path.starts_with("blobs/") {
                bytes.push(0);
            }
        }
    }

    /// How many layers were requested.
    pub fn count_layers(&self) -> usize {
        self.server.paths().iter().filter(|path| path.contains("/blobs/")).count()
    }
}

/// The credentials of the user of the registry, with this password: it accepts `s3cret`.
pub fn login(password: &str) -> RepositoryCredentials {
    RepositoryCredentials::Basic {
        user_name: "ci".into(),
        password: password.into(),
        token_endpoint: String::new(),
    }
}

fn respond(contents: &RegistryContents, prefix: &str, request: &HttpRequest) -> HttpResponse {
    if request.header("authorization") != Some(AUTHORIZATION) {
        return HttpResponse::status(401).with_header("www-authenticate", "Basic realm=\"registry\"");
    }
    let path = request.path.split('?').next().unwrap_or_default();
    let found = path.strip_prefix(prefix).and_then(|path| contents.lock().get(path).cloned());
    found.map_or_else(|| HttpResponse::status(404), HttpResponse::ok)
}
