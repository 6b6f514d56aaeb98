//! Repositories with an index.

use testkit::ReservedPort;

use super::*;

/// An index with these entries of the chart `web`: version, URL and more fields.
fn index(entries: &[(&str, &str, &str)]) -> String {
    let entry = |(version, url, more): &(&str, &str, &str)| {
        format!("  - {{name: web, version: {version}, urls: [\"{url}\"]{more}}}\n")
    };
    format!("apiVersion: v1\nentries:\n  web:\n{}", entries.iter().map(entry).collect::<String>())
}

fn digest_field(digest: &Digest) -> String {
    format!(", digest: {}", digest.as_str().trim_start_matches("sha256:"))
}

async fn fetch(server: &HttpServer, version: &str) -> Result<FetchedChart, RepositoryError> {
    client().fetch_chart(&repository(&server.url("/charts"), None), web(version)).await
}

async fn fail(server: &HttpServer, version: &str) -> (RepositoryErrorKind, String) {
    let error = fetch(server, version).await.expect_err("the chart is refused");
    (error.kind, error.message)
}

#[tokio::test]
async fn a_chart_is_listed_and_fetched_with_the_digest_of_the_index() {
    let archive = pack("web", "1.2.0");
    let digest = Digest::compute(&archive);
    let text =
        index(&[("1.2.0", "files/web-1.2.0.tgz", &digest_field(&digest)), ("1.10.0", "files/x.tgz", "")]);
    let served = archive.clone();
    let server = HttpServer::start(move |_, request| match &*request.path {
        "/charts/index.yaml" => HttpResponse::ok(text.clone()),
        "/charts/files/web-1.2.0.tgz" => HttpResponse::ok(served.clone()),
        _ => HttpResponse::status(404),
    })
    .await;
    let repository = repository(&server.url("/charts"), None);
    let listed = client().list_versions(&repository, "web").await.unwrap();
    assert_eq!(listed.iter().map(|version| &*version.version).collect::<Vec<_>>(), ["1.10.0", "1.2.0"]);
    let fetched = client().fetch_chart(&repository, web("1.2.0")).await.unwrap();
    assert_eq!((fetched.archive, &fetched.digest, fetched.is_digest_published), (archive, &digest, true));
    assert_eq!((&*fetched.metadata.name, &*fetched.metadata.version), ("web", "1.2.0"));
    let other = Digest::compute(b"other");
    let request = ChartRequest { expected: Some(&other), ..web("1.2.0") };
    let error = client().fetch_chart(&repository, request).await.unwrap_err();
    assert_eq!(error.kind, RepositoryErrorKind::DigestMismatch);
    assert!(error.message.contains("was fetched before"), "{}", error.message);
    let missing = client().fetch_chart(&repository, web("1.2.1")).await.unwrap_err();
    assert_eq!((missing.kind, &*missing.hint), (RepositoryErrorKind::NotFound, "Did you mean \"1.2.0\"?"));
}

#[tokio::test]
async fn content_that_is_not_the_published_chart_is_refused() {
    let other = Digest::compute(b"other");
    let text = index(&[
        ("1.0.0", "web-1.0.0.tgz", &digest_field(&other)),
        ("2.0.0", "web-1.0.0.tgz", ""),
        ("3.0.0", "page.html", ""),
        ("4.0.0", "other-4.0.0.tgz", ""),
        ("5.0.0", "endless", ""),
    ]);
    let server = HttpServer::start(move |_, request| match &*request.path {
        "/charts/index.yaml" => HttpResponse::ok(text.clone()),
        "/charts/web-1.0.0.tgz" => HttpResponse::ok(pack("web", "1.0.0")),
        "/charts/other-4.0.0.tgz" => HttpResponse::ok(pack("other", "4.0.0")),
        "/charts/endless" => HttpResponse::endless(),
        _ => HttpResponse::ok("<html>Sign in</html>"),
    })
    .await;
    let (kind, message) = fail(&server, "1.0.0").await;
    assert_eq!(kind, RepositoryErrorKind::DigestMismatch);
    assert!(message.contains("the repository publishes"), "{message}");
    let (kind, message) = fail(&server, "2.0.0").await;
    assert_eq!(kind, RepositoryErrorKind::InvalidResponse);
    assert!(message.contains("contains the chart web 1.0.0, not web 2.0.0"), "{message}");
    assert_eq!(fail(&server, "3.0.0").await.0, RepositoryErrorKind::RejectedArchive);
    assert_eq!(fail(&server, "4.0.0").await.0, RepositoryErrorKind::InvalidResponse);
    assert_eq!(fail(&server, "5.0.0").await.0, RepositoryErrorKind::TooLarge);
}

#[tokio::test]
async fn an_index_leads_to_no_forbidden_address_and_takes_no_credentials_along() {
    let store = HttpServer::start(|_, _| HttpResponse::ok(pack("web", "1.0.0"))).await;
    let port = store.port();
    let text = index(&[
        ("1.0.0", &store.url("/web.tgz"), ""),
        ("1.0.1", "web.tgz", ""),
        ("2.0.0", &format!("http://0.0.0.0:{port}/secret"), ""),
        ("3.0.0", "http://169.254.169.254/latest/meta-data", ""),
        ("4.0.0", "file:///etc/passwd", ""),
        ("5.0.0", &format!("http://ci:s3cret@127.0.0.1:{port}/secret"), ""),
    ]);
    let server = HttpServer::start(move |_, request| match &*request.path {
        "/charts/index.yaml" => HttpResponse::ok(text.clone()),
        "/charts/web.tgz" => HttpResponse::ok(pack("web", "1.0.1")),
        _ => HttpResponse::status(404),
    })
    .await;
    let repository = repository(&server.url("/charts"), Some(LOGIN));
    for version in ["2.0.0", "3.0.0", "4.0.0", "5.0.0"] {
        let error = client().fetch_chart(&repository, web(version)).await.unwrap_err();
        assert_eq!(error.kind, RepositoryErrorKind::NotAllowed, "{version}: {}", error.message);
        assert!(!error.message.contains("s3cret"), "{}", error.message);
    }
    assert_eq!(store.paths(), Vec::<String>::new());
    for version in ["1.0.0", "1.0.1"] {
        client().fetch_chart(&repository, web(version)).await.unwrap();
    }
    assert_eq!(authorized(&store), [("/web.tgz".to_owned(), false)], "another origin gets no credentials");
    assert!(authorized(&server).into_iter().all(|(_, authorized)| authorized));
}

#[tokio::test]
async fn a_repository_of_the_own_network_needs_the_setting_of_the_server() {
    let server = HttpServer::start(|_, _| HttpResponse::ok("apiVersion: v1\nentries: {}\n")).await;
    for (access, url) in [
        (RemoteAccess::Https, server.url("/")),
        (RemoteAccess::Https, format!("https://127.0.0.1:{}/", server.port())),
        (RemoteAccess::Https, format!("https://localhost:{}/", server.port())),
        (RemoteAccess::PrivateHttps, server.url("/")),
        (RemoteAccess::PrivateHttp, "http://8.8.8.8/".to_owned()),
    ] {
        let client = RepositoryClient::new(access).unwrap();
        let error = client.fetch_index(&repository(&url, None)).await.unwrap_err();
        assert_eq!(error.kind, RepositoryErrorKind::NotAllowed, "{access:?} {url}: {}", error.message);
        assert!(error.hint.contains("settings"), "{}", error.hint);
    }
    assert_eq!(server.paths(), Vec::<String>::new());
    let allowed = client().fetch_index(&repository(&server.url("/"), None)).await.unwrap();
    assert_eq!(allowed.charts().count(), 0);
    // The connection is attempted, and refused by the port.
    let port = ReservedPort::reserve();
    let private = RepositoryClient::new(RemoteAccess::PrivateHttps).unwrap();
    let error =
        private.fetch_index(&repository(&format!("https://{}/", port.address()), None)).await.unwrap_err();
    assert_eq!(error.kind, RepositoryErrorKind::Unreachable, "{}", error.message);
}

#[tokio::test]
async fn a_failed_response_is_an_error_with_its_cause_and_never_an_empty_list() {
    let server = HttpServer::start(|_, request| match &*request.path {
        "/401/index.yaml" => HttpResponse::status(401),
        "/500/index.yaml" => HttpResponse::status(500),
        "/endless/index.yaml" => HttpResponse::endless(),
        "/loop/index.yaml" => HttpResponse::redirect("index.yaml"),
        "/html/index.yaml" => HttpResponse::ok("<html>Sign in</html>"),
        _ => HttpResponse::status(404),
    })
    .await;
    for (path, kind) in [
        ("/401", RepositoryErrorKind::Unauthorized),
        ("/404", RepositoryErrorKind::NotFound),
        ("/500", RepositoryErrorKind::Unreachable),
        ("/endless", RepositoryErrorKind::TooLarge),
        ("/loop", RepositoryErrorKind::InvalidResponse),
        ("/html", RepositoryErrorKind::InvalidResponse),
    ] {
        let error = client().fetch_index(&repository(&server.url(path), None)).await.unwrap_err();
        assert_eq!(error.kind, kind, "{path}: {}", error.message);
        assert!(error.message.contains(&server.url(path)), "{}", error.message);
    }
}

#[tokio::test]
async fn an_error_is_reported_by_its_status_whatever_follows_it() {
    let server = HttpServer::start(|_, request| match &*request.path {
        "/401/index.yaml" => HttpResponse::unfinished().with_status(401),
        "/403/index.yaml" => HttpResponse::slow().with_status(403),
        _ => HttpResponse::endless().with_status(500),
    })
    .await;
    for (path, kind, status) in [
        ("/401", RepositoryErrorKind::Unauthorized, "401"),
        ("/403", RepositoryErrorKind::Unauthorized, "403"),
        ("/500", RepositoryErrorKind::Unreachable, "500"),
    ] {
        let error = client().fetch_index(&repository(&server.url(path), None)).await.unwrap_err();
        assert_eq!(error.kind, kind, "{path}: {}", error.message);
        assert!(error.message.contains(&format!("responds {status}")), "{}", error.message);
    }
}
