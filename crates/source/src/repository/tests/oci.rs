//! OCI registries.

use serde_json::{Value, json};
use testkit::HttpRequest;

use super::*;

const CONFIG_TYPE: &str = "application/vnd.cncf.helm.config.v1+json";
const ARCHIVE_TYPE: &str = "application/vnd.cncf.helm.chart.content.v1.tar+gzip";

fn manifest(config_type: &str, archive: &[u8]) -> Value {
    let digest = Digest::compute(archive);
    json!({
        "schemaVersion": 2,
        "config": {"mediaType": config_type, "digest": Digest::compute(b"{}"), "size": 2},
        "layers": [
            {"mediaType": "application/vnd.cncf.helm.chart.provenance.v1.prov", "digest": Digest::compute(b"p"), "size": 1},
            {"mediaType": ARCHIVE_TYPE, "digest": digest, "size": archive.len()},
        ],
    })
}

/// The manifest of a version; `None` if there is none.
fn manifest_of(tag: &str) -> Option<Value> {
    let archive = pack("web", "1.0.0+build.1");
    let mut found = manifest(CONFIG_TYPE, &archive);
    match tag {
        "1.0.0_build.1" => {}
        "2.0.0" => found = manifest("application/vnd.oci.image.config.v1+json", &archive),
        "3.0.0" => found["layers"][1]["digest"] = json!("sha256:../../../../secret"),
        "4.0.0" => found["layers"][1]["size"] = json!(1_u64 << 40),
        "5.0.0" => found["layers"][1]["digest"] = json!(Digest::compute(b"tampered")),
        _ => return None,
    }
    Some(found)
}

/// A registry that requires a token for the repository `charts/web`, and redirects to `store` for blobs.
fn respond(host: &str, request: &HttpRequest, store: &str) -> HttpResponse {
    let authorization = request.header("authorization");
    if request.path.starts_with("/token?") {
        let user =
            if authorization.is_some_and(|value| value.starts_with("Basic ")) { "ci" } else { "anonymous" };
        return HttpResponse::ok(json!({"token": user}).to_string());
    }
    if !authorization.is_some_and(|value| value.starts_with("Bearer ")) {
        let challenge = format!(
            "Bearer realm=\"http://{host}/token\",service=\"reg\",scope=\"repository:charts/web:pull\""
        );
        // Its body never ends: the challenge is in the head.
        return HttpResponse::unfinished().with_status(401).with_header("www-authenticate", challenge);
    }
    let Some(path) = request.path.strip_prefix("/v2/charts/web/") else { return HttpResponse::status(404) };
    match path {
        "tags/list?n=1000" => HttpResponse::ok(
            json!({"name": "charts/web", "tags": ["1.0.0_build.1", "latest", "1.9.0"]}).to_string(),
        )
        .with_header("link", "</v2/charts/web/tags/list?n=1000&last=1.9.0>; rel=\"next\""),
        "tags/list?n=1000&last=1.9.0" => {
            HttpResponse::ok(json!({"tags": ["1.10.0", "sha256-abc.sig"]}).to_string())
        }
        _ => match path.strip_prefix("manifests/") {
            Some("6.0.0") => HttpResponse::ok(manifest_of("1.0.0_build.1").unwrap_or_default().to_string())
                .with_header("docker-content-digest", Digest::compute(b"other").as_str()),
            Some(tag) => manifest_of(tag).map_or(HttpResponse::status(404), |found| {
                HttpResponse::ok(found.to_string()).with_header(
                    "docker-content-digest",
                    Digest::compute(found.to_string().as_bytes()).as_str(),
                )
            }),
            None => HttpResponse::redirect(format!("{store}/{path}")),
        },
    }
}

/// A registry, and the store of its blobs.
async fn start() -> (HttpServer, HttpServer) {
    let store = HttpServer::start(|_, _| HttpResponse::ok(pack("web", "1.0.0+build.1"))).await;
    let blobs = store.url("/store");
    let registry = HttpServer::start(move |host, request| respond(host, request, &blobs)).await;
    (registry, store)
}

fn charts(registry: &HttpServer, login: Option<Login<'_>>) -> Repository {
    repository(&format!("oci://{}/charts", registry.host()), login)
}

#[tokio::test]
async fn tags_of_all_pages_are_versions_and_others_are_left_out() {
    let (registry, _store) = start().await;
    let repository = charts(&registry, None);
    let versions = client().list_versions(&repository, "web").await.unwrap();
    assert_eq!(
        versions.iter().map(|version| &*version.version).collect::<Vec<_>>(),
        ["1.10.0", "1.9.0", "1.0.0+build.1"]
    );
    let missing = client().list_versions(&repository, "other").await.unwrap_err();
    let message = format!("The registry has no oci://{}/charts/other, or it is not public.", registry.host());
    assert_eq!((missing.kind, missing.message), (RepositoryErrorKind::NotFound, message));
    let index = client().fetch_index(&repository).await.unwrap_err();
    assert_eq!(index.kind, RepositoryErrorKind::Unsupported);
}

#[tokio::test]
async fn a_chart_is_fetched_with_a_token_that_the_store_of_blobs_does_not_get() {
    let (registry, store) = start().await;
    let repository = charts(&registry, Some(LOGIN));
    let fetched = client().fetch_chart(&repository, web("1.0.0+build.1")).await.unwrap();
    assert_eq!(fetched.archive, pack("web", "1.0.0+build.1"));
    assert!(fetched.is_digest_published && fetched.metadata.version == "1.0.0+build.1");
    let token = registry.requests().into_iter().find(|request| request.path.starts_with("/token?")).unwrap();
    assert!(
        token.header("authorization").unwrap().starts_with("Basic "),
        "the token is requested with the login"
    );
    let blob = format!("/store/blobs/{}", fetched.digest);
    assert_eq!(authorized(&store), [(blob, false)]);
}

#[tokio::test]
async fn a_manifest_that_names_no_acceptable_archive_is_refused_before_the_archive_is_fetched() {
    let (registry, store) = start().await;
    for (version, kind) in [
        ("1.0.0", RepositoryErrorKind::NotFound),
        ("2.0.0", RepositoryErrorKind::InvalidResponse),
        ("3.0.0", RepositoryErrorKind::InvalidResponse),
        ("4.0.0", RepositoryErrorKind::TooLarge),
        ("6.0.0", RepositoryErrorKind::DigestMismatch),
    ] {
        let error = client().fetch_chart(&charts(&registry, None), web(version)).await.unwrap_err();
        assert_eq!(error.kind, kind, "{version}: {}", error.message);
    }
    assert_eq!(store.paths(), Vec::<String>::new());
    let error = client().fetch_chart(&charts(&registry, None), web("5.0.0")).await.unwrap_err();
    assert_eq!(
        error.kind,
        RepositoryErrorKind::DigestMismatch,
        "the archive has another digest than its layer"
    );
}

#[tokio::test]
async fn an_incomplete_list_of_tags_is_an_error() {
    let other = HttpServer::start(|_, _| HttpResponse::ok("{\"tags\": [\"9.0.0\"]}")).await;
    let elsewhere = format!("<{}>; rel=\"next\"", other.url("/v2/charts/web/tags/list"));
    let registry = HttpServer::start(move |_, request| {
        let page = HttpResponse::ok("{\"tags\": [\"1.0.0\"]}");
        match &*request.path {
            path if path.contains("/elsewhere/web/") => page.with_header("link", elsewhere.clone()),
            path if path.contains("/endless/web/") => page.with_header("link", "<list?n=1>; rel=\"next\""),
            path if path.contains("/broken/web/") => HttpResponse::ok("[]"),
            path if path.contains("/empty/web/") => HttpResponse::ok("{}"),
            _ => HttpResponse::status(500),
        }
    })
    .await;
    for (path, kind) in [
        ("elsewhere", RepositoryErrorKind::InvalidResponse),
        ("endless", RepositoryErrorKind::TooLarge),
        ("broken", RepositoryErrorKind::InvalidResponse),
        ("empty", RepositoryErrorKind::InvalidResponse),
        ("down", RepositoryErrorKind::Unreachable),
    ] {
        let repository = repository(&format!("oci://{}/{path}", registry.host()), None);
        let error = client().list_versions(&repository, "web").await.unwrap_err();
        assert_eq!(error.kind, kind, "{path}: {}", error.message);
    }
    assert_eq!(other.paths(), Vec::<String>::new());
}

#[tokio::test]
async fn an_index_that_names_an_archive_in_a_registry_leads_there_without_credentials() {
    let (registry, _store) = start().await;
    let text = format!(
        "apiVersion: v1\nentries:\n  web:\n  - {{version: 1.0.0+build.1, urls: [\"oci://{}/charts/web:1.0.0_build.1\"]}}\n",
        registry.host()
    );
    let server = HttpServer::start(move |_, _| HttpResponse::ok(text.clone())).await;
    let fetched =
        client().fetch_chart(&repository(&server.url("/"), Some(LOGIN)), web("1.0.0+build.1")).await.unwrap();
    assert_eq!(fetched.archive, pack("web", "1.0.0+build.1"));
    let token = registry.requests().into_iter().find(|request| request.path.starts_with("/token?")).unwrap();
    assert_eq!(token.header("authorization"), None);
}
