//! Tests against a local HTTP server that responds like real registries.

use serde_json::json;
use testkit::{HttpRequest, HttpResponse, HttpServer};

use super::*;

/// Starts a registry.
async fn start_registry() -> HttpServer {
    HttpServer::start(respond_to).await
}

fn respond_to(host: &str, request: &HttpRequest) -> HttpResponse {
    let path = &*request.path;
    let unknown = json!({"errors": [{"code": "MANIFEST_UNKNOWN"}]}).to_string();
    let missing = || HttpResponse::ok(unknown.clone()).with_status(404);
    let platform =
        |os: &str, architecture: &str| json!({"platform": {"os": os, "architecture": architecture}});
    let index = json!({"manifests": [platform("linux", "amd64"), platform("linux", "arm64"), platform("unknown", "unknown")]});
    let challenge = |realm: String| {
        let challenge = format!("Bearer realm=\"{realm}\",service=\"reg\",scope=\"repository:open:pull\"");
        HttpResponse::status(401).with_header("www-authenticate", challenge)
    };
    let has_token = request.header("authorization") == Some("Bearer everybody");
    match path {
        "/v2/web/manifests/1" | "/v2/web/manifests/latest" => HttpResponse::ok(index.to_string()),
        "/v2/web/manifests/single" => HttpResponse::ok(json!({"config": {}, "layers": []}).to_string()),
        "/v2/web/manifests/gone" => missing(),
        "/v2/web/manifests/proxied" => HttpResponse::ok("<html>nothing here</html>").with_status(404),
        "/v2/web/manifests/broken" => HttpResponse::status(500),
        "/v2/moved/manifests/1" => HttpResponse::redirect("/v2/web/manifests/1"),
        "/v2/elsewhere/manifests/1" | "/v2/open/manifests/1" if has_token => {
            HttpResponse::ok(index.to_string())
        }
        "/v2/open/manifests/gone" if has_token => missing(),
        // The same registry, by an address that must not be connected to.
        _ if path.starts_with("/v2/elsewhere/") => {
            challenge(format!("http://{}/token", host.replace("127.0.0.1", "0.0.0.0")))
        }
        _ if path.starts_with("/v2/open/") => challenge(format!("http://{host}/token")),
        "/token?service=reg&scope=repository%3Aopen%3Apull" => {
            HttpResponse::ok(json!({"token": "everybody"}).to_string())
        }
        _ => HttpResponse::status(403),
    }
}

fn pod_bundle(images: &[String]) -> Bundle {
    let containers: Vec<_> = images.iter().map(|image| json!({"name": "a", "image": image})).collect();
    let pod = json!({"apiVersion": "v1", "kind": "Pod", "metadata": {"name": "a"}, "spec": {"containers": containers}});
    Bundle::new(vec![pod])
}

#[tokio::test]
async fn g204_an_image_is_missing_only_if_the_registry_itself_reports_it() {
    let registry = start_registry().await;
    let host = registry.host();
    let registries = RegistryClient::new(RegistryAccess::Http).unwrap();
    let both = || ImageAvailability::Available(["linux/amd64".to_owned(), "linux/arm64".to_owned()].into());
    let cases = [
        ("web:1", both()),
        ("web", both()),
        ("web:single", ImageAvailability::Unknown),
        ("web:gone", ImageAvailability::Missing),
        ("web:proxied", ImageAvailability::Unknown),
        ("web:broken", ImageAvailability::Unknown),
        ("private:1", ImageAvailability::Unknown),
        ("open:1", both()),
        ("open:gone", ImageAvailability::Missing),
        ("moved:1", ImageAvailability::Unknown),
        ("elsewhere:1", ImageAvailability::Unknown),
    ];
    let images: Vec<String> = cases.iter().map(|(image, _)| format!("{host}/{image}")).collect();
    let availability = registries.check_availability(&pod_bundle(&images)).await;
    for ((image, expected), name) in cases.iter().zip(&images) {
        assert_eq!(availability.get(name), Some(expected), "{image}");
    }
    let before = registry.requests();
    registries.check_availability(&pod_bundle(&images)).await;
    assert_eq!(registry.requests(), before, "results are cached");
}

#[tokio::test]
async fn g204_no_spelling_of_the_own_host_is_connected_to() {
    let listener = std::net::TcpListener::bind("127.0.0.1:0").unwrap();
    listener.set_nonblocking(true).unwrap();
    let port = listener.local_addr().unwrap().port();
    let registries = RegistryClient::new(RegistryAccess::Https).unwrap();
    for host in [
        "127.0.0.1",
        "127.1",
        "0.0.0.0",
        "0x7f000001",
        "2130706433",
        "0177.0.0.1",
        "localhost",
        "LOCALHOST",
        "LocalHost",
        "[::ffff:127.0.0.1]",
    ] {
        let image = format!("{host}:{port}/web:1");
        let availability = registries.check_availability(&pod_bundle(std::slice::from_ref(&image))).await;
        assert_eq!(availability[&image], ImageAvailability::Unknown, "{image}");
        let arrived = listener.accept().map(drop).map_err(|error| error.kind());
        assert_eq!(arrived, Err(std::io::ErrorKind::WouldBlock), "{image} was connected to");
    }
}

#[tokio::test]
async fn g204_a_text_that_is_no_image_reference_is_not_requested() {
    let registry = start_registry().await;
    let host = registry.host();
    let registries = RegistryClient::new(RegistryAccess::Http).unwrap();
    let hex = "0123456789abcdef".repeat(2);
    let images = [
        format!("{host}\\admin/web:1"),
        format!("{host}?path=/web:1"),
        format!("{host}#/web:1"),
        format!("{host}/web@x?y:{hex}"),
        format!("{host}/web@x#y:{hex}"),
        format!("{host}/web@x\\y:{hex}"),
        format!("{host}%2fadmin/web:1"),
    ];
    let availability = registries.check_availability(&pod_bundle(&images)).await;
    assert_eq!(registry.paths(), Vec::<String>::new(), "a path was requested that is no manifest");
    assert!(availability.values().all(|one| *one == ImageAvailability::Unknown), "{availability:?}");
}

#[tokio::test]
async fn g204_images_of_an_unreachable_registry_are_unknown() {
    let port = testkit::ReservedPort::reserve();
    let image = format!("{}/web:1", port.address());
    let availability = RegistryClient::new(RegistryAccess::Http)
        .unwrap()
        .check_availability(&pod_bundle(std::slice::from_ref(&image)))
        .await;
    assert_eq!(availability[&image], ImageAvailability::Unknown);
}

#[test]
fn g204_the_manifest_url_follows_from_the_image_reference() {
    let registries = RegistryClient::new(RegistryAccess::Https).unwrap();
    let address = |image: &str| registries.manifest_url(image).map(|url| url.to_string());
    let at = |url: &str| Some(url.to_owned());
    assert_eq!(address("nginx"), at("https://registry-1.docker.io/v2/library/nginx/manifests/latest"));
    assert_eq!(address("shop/web:2"), at("https://registry-1.docker.io/v2/shop/web/manifests/2"));
    let digest = format!("sha256:{}", "ab".repeat(32));
    let pinned = at(&format!("https://reg.example.com:444/v2/a/b/manifests/{digest}"));
    assert_eq!(address(&format!("reg.example.com:444/a/b:1@{digest}")), pinned);
}
