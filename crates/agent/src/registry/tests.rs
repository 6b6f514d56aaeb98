//! Against a registry on this machine that speaks HTTP as the real ones do.

use std::sync::Arc;
use std::sync::atomic::{AtomicU32, Ordering::Relaxed};

use serde_json::json;
use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};
use tokio::net::TcpListener;

use super::*;

/// A registry; returns its host and how often it was asked.
async fn registry() -> (String, Arc<AtomicU32>) {
    let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let host = listener.local_addr().unwrap().to_string();
    let asked = Arc::new(AtomicU32::new(0));
    let (own, count) = (host.clone(), asked.clone());
    tokio::spawn(async move {
        while let Ok((mut socket, _)) = listener.accept().await {
            let (host, count) = (own.clone(), count.clone());
            tokio::spawn(async move {
                let mut head = Vec::new();
                while !head.ends_with(b"\r\n\r\n") {
                    head.push(socket.read_u8().await.unwrap());
                }
                count.fetch_add(1, Relaxed);
                let (status, more, body) = answer(&host, &String::from_utf8_lossy(&head));
                let length = body.len();
                let head = format!(
                    "HTTP/1.1 {status}\r\ncontent-length: {length}\r\nconnection: close\r\n{more}\r\n"
                );
                socket.write_all(head.as_bytes()).await.unwrap();
                socket.write_all(body.as_bytes()).await.unwrap();
            });
        }
    });
    (host, asked)
}

fn answer(host: &str, head: &str) -> (&'static str, String, String) {
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
            let ask = format!(
                "www-authenticate: Bearer realm=\"{realm}\",service=\"reg\",scope=\"repository:open:pull\"\r\n"
            );
            ("401 Unauthorized", ask, String::new())
        }
        _ => ("403 Forbidden", String::new(), String::new()),
    }
}

fn bundle(images: &[String]) -> Bundle {
    let containers: Vec<_> = images.iter().map(|image| json!({"name": "a", "image": image})).collect();
    let pod = json!({"apiVersion": "v1", "kind": "Pod", "metadata": {"name": "a"}, "spec": {"containers": containers}});
    Bundle { objects: vec![pod] }
}

#[tokio::test]
async fn g204_a_registry_is_asked_for_what_it_has_and_believed_only_in_its_own_words() {
    let (host, asked) = registry().await;
    let registries = Registries::over(Scheme::Http).unwrap();
    let both = || Availability::Offered(["linux/amd64".to_owned(), "linux/arm64".to_owned()].into());
    let cases = [
        ("web:1", both()),
        ("web", both()),
        ("web:single", Availability::Unknown),
        ("web:gone", Availability::Missing),
        ("web:proxied", Availability::Unknown),
        ("web:broken", Availability::Unknown),
        ("private:1", Availability::Unknown),
        ("open:1", both()),
        ("open:gone", Availability::Missing),
    ];
    let images: Vec<String> = cases.iter().map(|(image, _)| format!("{host}/{image}")).collect();
    let said = registries.availability(&bundle(&images)).await;
    for ((image, expected), name) in cases.iter().zip(&images) {
        assert_eq!(said.get(name), Some(expected), "{image}");
    }
    let before = asked.load(Relaxed);
    registries.availability(&bundle(&images)).await;
    assert_eq!(asked.load(Relaxed), before, "an answer is good for a while");
}

#[tokio::test]
async fn g204_a_registry_that_is_not_reached_says_nothing() {
    let nobody = TcpListener::bind("127.0.0.1:0").await.unwrap().local_addr().unwrap();
    let image = format!("{nobody}/web:1");
    let said =
        Registries::over(Scheme::Http).unwrap().availability(&bundle(std::slice::from_ref(&image))).await;
    assert_eq!(said[&image], Availability::Unknown);
}

#[test]
fn g204_an_image_is_described_where_its_reference_says() {
    let registries = Registries::over(Scheme::Https).unwrap();
    let address = |image: &str| registries.address(image).map(|url| url.to_string());
    let at = |url: &str| Some(url.to_owned());
    assert_eq!(address("nginx"), at("https://registry-1.docker.io/v2/library/nginx/manifests/latest"));
    assert_eq!(address("shop/web:2"), at("https://registry-1.docker.io/v2/shop/web/manifests/2"));
    let digest = format!("sha256:{}", "ab".repeat(32));
    let pinned = at(&format!("https://reg.example.com:444/v2/a/b/manifests/{digest}"));
    assert_eq!(address(&format!("reg.example.com:444/a/b:1@{digest}")), pinned);
    for here in ["localhost/web", "localhost:5000/web:1", "127.0.0.1:5000/web", "[::1]:5000/web"] {
        assert_eq!(address(here), None, "{here} is another place for a node");
    }
}

#[test]
fn a_challenge_is_read_or_left() {
    let read = Challenge::parse(
        "Bearer realm=\"https://auth.example.com/token\",service=\"a b\",scope=\"repository:x:pull\"",
    );
    let read = read.unwrap();
    assert_eq!(
        (&*read.realm, &*read.service, &*read.scope),
        ("https://auth.example.com/token", "a b", "repository:x:pull")
    );
    for other in ["Basic realm=\"x\"", "Bearer", "Bearer service=\"x\"", "Bearer realm=\"x"] {
        assert_eq!(Challenge::parse(other), None, "{other}");
    }
}
