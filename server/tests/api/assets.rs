//! Static assets.

use std::io::Read as _;
use std::path::Path;

use axum::body::{Body, to_bytes};
use axum::http::{Request, StatusCode};
use flate2::read::GzDecoder;
use server::assets::StaticAssets;
use tower::ServiceExt as _;

use crate::test_server::{TestResponse, TestServer};

fn write_files(dir: &Path, files: &[(&str, &str)]) {
    for (name, text) in files {
        let path = dir.join(name);
        std::fs::create_dir_all(path.parent().unwrap()).unwrap();
        std::fs::write(path, text).unwrap();
    }
}

async fn start_server() -> TestServer {
    let dir = tempfile::tempdir().unwrap();
    let map = r#"{"main.css": "/pkg/main.0a1b2c3d.css", "frontend.js": "/pkg/frontend.js"}"#;
    let large = "a".repeat(100_000);
    let wasm = format!("\0asm{large}");
    write_files(
        dir.path(),
        &[
            ("assets.json", map),
            ("pkg/main.0a1b2c3d.css", "body { color: red }"),
            ("pkg/main.0a1b2c3d.css.br", "small"),
            ("pkg/frontend.js", "export {}"),
            ("pkg/frontend_bg.wasm", wasm.as_str()),
            ("pkg/photo.png", large.as_str()),
            ("favicon.svg", "<svg/>"),
            ("icons.svg", "<svg/>"),
        ],
    );
    let shelf = StaticAssets::read(dir.path()).unwrap();
    TestServer::start_with(|hub| server::SiteOptions {
        static_assets: shelf,
        ..server::SiteOptions::bare(hub)
    })
    .await
}

async fn get(server: &TestServer, path: &str, headers: &[(&str, &str)]) -> TestResponse {
    let request =
        headers.iter().fold(Request::get(path), |request, (name, value)| request.header(*name, *value));
    server.send_raw(request.body(Body::empty()).unwrap()).await
}

#[tokio::test]
async fn a_file_with_a_hash_in_its_name_is_immutable_and_others_are_revalidated() {
    let server = start_server().await;
    let css = get(&server, "/pkg/main.0a1b2c3d.css", &[]).await;
    assert_eq!(css.header("cache-control"), "public, max-age=31536000, immutable");
    assert_eq!((css.header("content-type"), &*css.text), ("text/css; charset=utf-8", "body { color: red }"));
    let js = get(&server, "/pkg/frontend.js", &[]).await;
    assert_eq!(
        (js.header("cache-control"), js.header("content-type")),
        ("no-cache", "text/javascript; charset=utf-8")
    );
    let again = get(&server, "/pkg/frontend.js", &[("if-none-match", js.header("etag"))]).await;
    assert_eq!((again.status, &*again.text), (StatusCode::NOT_MODIFIED, ""));
    assert_eq!(get(&server, "/pkg/frontend_bg.wasm", &[]).await.header("content-type"), "application/wasm");
    assert_eq!(get(&server, "/favicon.svg", &[]).await.header("content-type"), "image/svg+xml");
}

#[tokio::test]
async fn the_sprite_of_icons_is_cached_although_its_name_has_no_hash() {
    let server = start_server().await;
    let sprite = get(&server, "/icons.svg", &[]).await;
    assert_eq!(sprite.status, StatusCode::OK);
    let cache = sprite.header("cache-control");
    assert!(
        cache.contains("max-age=") && !cache.contains("no-cache") && !cache.contains("immutable"),
        "{cache}"
    );
    let again = get(&server, "/icons.svg", &[("if-none-match", sprite.header("etag"))]).await;
    assert_eq!(again.status, StatusCode::NOT_MODIFIED);
}

#[tokio::test]
async fn clients_that_accept_brotli_receive_the_compressed_file() {
    let server = start_server().await;
    let small = get(&server, "/pkg/main.0a1b2c3d.css", &[("accept-encoding", "gzip, br")]).await;
    assert_eq!((small.header("content-encoding"), &*small.text), ("br", "small"));
    let plain = get(&server, "/pkg/main.0a1b2c3d.css", &[("accept-encoding", "br;q=0")]).await;
    assert_eq!((plain.header("content-encoding"), &*plain.text), ("", "body { color: red }"));
    assert!(plain.header("vary").contains("accept-encoding"));
}

#[tokio::test]
async fn p20_static_files_have_a_variant_with_gzip_from_the_start_and_are_never_compressed_for_a_request() {
    let server = start_server().await;
    let request = |path: &str, accepted: &str| {
        let request = Request::get(path).header("accept-encoding", accepted);
        server.app.router.clone().oneshot(request.body(Body::empty()).unwrap())
    };
    let packed = request("/pkg/frontend_bg.wasm", "gzip, deflate").await.unwrap();
    assert_eq!(packed.headers()["content-encoding"], "gzip");
    let stated: usize = packed.headers()["content-length"].to_str().unwrap().parse().unwrap();
    let bytes = to_bytes(packed.into_body(), usize::MAX).await.unwrap();
    assert_eq!(bytes.len(), stated, "what is compressed while it is sent states no size");
    let mut text = String::new();
    GzDecoder::new(&*bytes).read_to_string(&mut text).unwrap();
    assert_eq!(text.len(), 100_004);
    // The framework would compress the first one with Brotli, and leaves the type of the second one alone.
    for path in ["/pkg/frontend_bg.wasm", "/pkg/photo.png"] {
        let plain = request(path, "br").await.unwrap();
        assert!(!plain.headers().contains_key("content-encoding"), "{path}");
        assert!(plain.headers().contains_key("content-length"), "{path}");
    }
}

#[tokio::test]
async fn other_files_of_the_folder_are_not_served() {
    let server = start_server().await;
    for path in
        ["/assets.json", "/pkg/../assets.json", "/pkg/main.0a1b2c3d.css.br", "/pkg/", "/%2e%2e/etc/passwd"]
    {
        assert_eq!(get(&server, path, &[]).await.status, StatusCode::SEE_OTHER, "{path}");
    }
}

#[test]
fn a_folder_without_assets_json_is_an_error_that_names_the_file() {
    let dir = tempfile::tempdir().unwrap();
    let error = format!("{:#}", StaticAssets::read(dir.path()).unwrap_err());
    assert!(error.contains("assets.json"), "{error}");
}
