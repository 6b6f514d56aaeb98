//! Tests against a local HTTP server that responds like real registries.

use std::sync::Arc;
use std::sync::atomic::{AtomicU32, Ordering::Relaxed};

use serde_json::json;
use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};
use tokio::net::TcpListener;

use super::*;

/// Starts a registry; returns its host and its request counter.
async fn start_registry() -> (String, Arc<AtomicU32>) {
    let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let host = listener.local_addr().unwrap().to_string();
    let requests = Arc::new(AtomicU32::new(0));
    let (own, count) = (host.clone(), requests.clone());
    tokio::spawn(async move {
        while let Ok((mut socket, _)) = listener.accept().await {
            let (host, count) = (own.clone(), count.clone());
            tokio::spawn(async move {
                let mut head = Vec::new();
                while !head.ends_with(b"\r\n\r\n") {
                    head.push(socket.read_u8().await.unwrap());
                }
                count.fetch_add(1, Relaxed);
                let (status, more, body) = respond_to(&host, &String::from_utf8_lossy(&head));
                let length = body.len();
                let head = format!(
                    "HTTP/1.1 {status}\r\ncontent-length: {length}\r\nconnection: close\r\n{more}\r\n"
                );
                socket.write_all(head.as_bytes()).await.unwrap();
                socket.write_all(body.as_bytes()).await.unwrap();
            });
        }
    });
    (host, requests)
}

fn respond_to(host: &str, head: &str) -> (&'static str, String, String) {
    let path = head.split(' ').nth(1).unwrap_or_default();
    let unknown = json!({"errors": [{"code": "MANIFEST_UNKNOWN"}]}).to_string();
    let platform =
        |os: &str, architecture: &str| json!({"platform": {"os": os, "architecture": architecture}});
    let index = json!({"manifests": [platform("linux", "amd64"), platform("linux", "arm64"), platform("unknown", "unknown")]});
    match path {
        "/v2/web/manifests/1" | "/v2/web/manifests/latest" => ("200 OK", String::new(), index.to_string()),
        "/v2/web/manifests/single" => {
            ("200 OK", String::new(), json!({"config": {}, "layers": []}).to_string())
        }
        "/v2/web/manifests/gone" => ("404 Not Found", String::new(), unknown),
        "/v2/web/manifests/proxied" => {
            ("404 Not Found", String::new(), "<html>nothing here</html>".to_owned())
        }
        "/v2/web/manifests/broken" => ("500 Oops", String::new(), String::new()),
        "/v2/moved/manifests/1" => {
            ("307 Temporary Redirect", "location: /v2/web/manifests/1\r\n".to_owned(), String::new())
        }
        "/v2/elsewhere/manifests/1" if head.contains("Bearer everybody") => {
            ("200 OK", String::new(), index.to_string())
        }
        _ if path.starts_with("/v2/elsewhere/") => {
            // The same registry, by an address that must not be connected to.
            let (_, port) = host.split_once(':').unwrap();
            let realm = format!("http://0.0.0.0:{port}/token");
            let challenge = format!(
                "www-authenticate: Bearer realm=\"{realm}\",service=\"reg\",scope=\"repository:open:pull\"\r\n"
            );
            ("401 Unauthorized", challenge, String::new())
        }
        "/v2/open/manifests/1" | "/v2/open/manifests/gone" if head.contains("Bearer everybody") => {
            if path.ends_with("gone") {
                ("404 Not Found", String::new(), unknown)
            } else {
                ("200 OK", String::new(), index.to_string())
            }
        }
        "/token?service=reg&scope=repository%3Aopen%3Apull" => {
            ("200 OK", String::new(), json!({"token": "everybody"}).to_string())
        }
        _ if path.starts_with("/v2/open/") => {
            let realm = format!("http://{host}/token");
            let challenge = format!(
                "www-authenticate: Bearer realm=\"{realm}\",service=\"reg\",scope=\"repository:open:pull\"\r\n"
            );
            ("401 Unauthorized", challenge, String::new())
        }
        _ => ("403 Forbidden", String::new(), String::new()),
    }
}

fn pod_bundle(images: &[String]) -> Bundle {
    let containers: Vec<_> = images.iter().map(|image| json!({"name": "a", "image": image})).collect();
    let pod = json!({"apiVersion": "v1", "kind": "Pod", "metadata": {"name": "a"}, "spec": {"containers": containers}});
    Bundle { objects: vec![pod] }
}

#[tokio::test]
async fn g204_an_image_is_missing_only_if_the_registry_itself_reports_it() {
    let (host, requests) = start_registry().await;
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
    let before = requests.load(Relaxed);
    registries.check_availability(&pod_bundle(&images)).await;
    assert_eq!(requests.load(Relaxed), before, "results are cached");
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
    let (host, requests) = start_registry().await;
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
    assert_eq!(requests.load(Relaxed), 0, "a path was requested that is no manifest");
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
    for here in ["127.0.0.1:5000/web", "[::1]:5000/web", "0.0.0.0:5000/web", "2130706433:5000/web"] {
        assert_eq!(address(here), None, "{here} means another machine on a node");
    }
}

#[test]
fn g204_a_registry_on_the_internet_names_no_token_endpoint_of_the_closed_network() {
    let registries = RegistryClient::new(RegistryAccess::PrivateHttps).unwrap();
    let network = |address: &str| registries.client_for_realm(Some(address.parse().unwrap())).1;
    assert_eq!(network("8.8.8.8:443"), ReachableNetwork::Public);
    assert_eq!(network("10.0.0.7:443"), ReachableNetwork::Private);
    assert_eq!(registries.client_for_realm(None).1, ReachableNetwork::Public);
    let public = RegistryClient::new(RegistryAccess::Https).unwrap();
    assert_eq!(public.client_for_realm(Some("10.0.0.7:443".parse().unwrap())).1, ReachableNetwork::Public);
}

#[test]
fn a_bearer_challenge_is_parsed_and_others_are_ignored() {
    let challenge = BearerChallenge::parse(
        "Bearer realm=\"https://auth.example.com/token\",service=\"a b\",scope=\"repository:x:pull\"",
    );
    let challenge = challenge.unwrap();
    assert_eq!(
        (&*challenge.realm, &*challenge.service, &*challenge.scope),
        ("https://auth.example.com/token", "a b", "repository:x:pull")
    );
    for other in ["Basic realm=\"x\"", "Bearer", "Bearer service=\"x\"", "Bearer realm=\"x"] {
        assert_eq!(BearerChallenge::parse(other), None, "{other}");
    }
}
