//! Tests against local HTTP servers.

use testkit::{HttpResponse, HttpServer, ReservedPort};

use super::*;
use crate::registry::RegistrySession;

/// As a server of a closed network is configured.
const CLOSED: EgressPolicy =
    EgressPolicy { https: Some(ReachableNetwork::PublicAndPrivate), http: Some(ReachableNetwork::Private) };

fn options(timeout: Duration) -> EgressOptions {
    EgressOptions {
        user_agent: "test",
        connect_timeout: timeout,
        read_timeout: timeout,
        minimum_rate: MinimumRate::FILES,
        timeout,
    }
}

fn client_with_timeout(timeout: Duration) -> EgressClient {
    EgressClient::new(options(timeout)).unwrap()
}

fn client() -> EgressClient {
    client_with_timeout(Duration::from_secs(20))
}

fn request(url: &str) -> FetchRequest<'static> {
    FetchRequest {
        url: Url::parse(url).unwrap(),
        policy: CLOSED,
        accept: "",
        credentials: None,
        validators: None,
        max_bytes: 1_000,
        max_redirects: 3,
        headers: Vec::new(),
        body: None,
    }
}

async fn fail(request: FetchRequest<'_>) -> FetchErrorKind {
    client().fetch(request).await.expect_err("the request fails").kind
}

#[tokio::test]
async fn a_response_is_read_with_its_status_and_headers() {
    let server = HttpServer::start(|_, request| match &*request.path {
        "/gone" => HttpResponse::ok("a".repeat(MAX_ERROR_BYTES + 1)).with_status(404),
        _ => HttpResponse::ok("text").with_header("x-kind", "plain"),
    })
    .await;
    let response = client()
        .fetch(FetchRequest { accept: "text/plain", ..request(&server.url("/a?b=c")) })
        .await
        .unwrap();
    assert_eq!((response.status, &*response.body), (StatusCode::OK, &b"text"[..]));
    assert_eq!(response.headers["x-kind"], "plain");
    assert_eq!(response.policy, CLOSED, "the server is in the closed network");
    let sent = &server.requests()[0];
    assert_eq!(
        (sent.path.as_str(), sent.header("accept"), sent.header("user-agent")),
        ("/a?b=c", Some("text/plain"), Some("test"))
    );
    let gone = client().fetch(request(&server.url("/gone"))).await.unwrap();
    assert_eq!((gone.status.as_u16(), gone.body.len()), (404, MAX_ERROR_BYTES), "the error is cut, not lost");
}

#[tokio::test]
async fn a_response_over_the_limit_is_refused_with_and_without_its_length() {
    let server = HttpServer::start(|_, request| match &*request.path {
        "/endless" => HttpResponse::endless(),
        path => HttpResponse::ok("a".repeat(path[1..].parse().unwrap())),
    })
    .await;
    assert_eq!(client().fetch(request(&server.url("/1000"))).await.unwrap().body.len(), 1_000);
    assert_eq!(fail(request(&server.url("/1001"))).await, FetchErrorKind::TooLarge);
    assert_eq!(fail(request(&server.url("/endless"))).await, FetchErrorKind::TooLarge);
}

#[tokio::test]
async fn three_redirects_are_followed_and_a_fourth_is_an_error() {
    let server = HttpServer::start(|_, request| match &*request.path {
        "/0" => HttpResponse::ok("end"),
        "/nowhere" => HttpResponse::status(302),
        path => HttpResponse::redirect(format!("/{}", path[1..].parse::<u32>().unwrap() - 1)),
    })
    .await;
    let response = client().fetch(request(&server.url("/3"))).await.unwrap();
    assert_eq!((response.url.path(), &*response.body), ("/0", &b"end"[..]));
    assert_eq!(fail(request(&server.url("/4"))).await, FetchErrorKind::Redirect);
    assert_eq!(server.paths().iter().filter(|path| *path == "/0").count(), 1, "the end was requested once");
    assert_eq!(fail(request(&server.url("/nowhere"))).await, FetchErrorKind::Redirect);
}

#[tokio::test]
async fn a_redirect_to_an_address_that_is_not_allowed_is_not_followed() {
    let server = HttpServer::start(|host, request| {
        let port = host.rsplit(':').next().unwrap();
        match &*request.path {
            // This address reaches the same server.
            "/any-address" => HttpResponse::redirect(format!("http://0.0.0.0:{port}/secret")),
            "/hidden" => HttpResponse::redirect(format!("http://0:{port}/secret")),
            "/metadata" => HttpResponse::redirect("http://169.254.169.254/secret"),
            "/file" => HttpResponse::redirect("file:///etc/passwd"),
            "/user" => HttpResponse::redirect(format!("http://user:password@{host}/secret")),
            "/name" => HttpResponse::redirect(format!("http://localhost:{port}/allowed")),
            _ => HttpResponse::ok("reached"),
        }
    })
    .await;
    for path in ["/any-address", "/hidden", "/metadata", "/file", "/user"] {
        assert_eq!(fail(request(&server.url(path))).await, FetchErrorKind::NotAllowed, "{path}");
    }
    assert!(!server.paths().contains(&"/secret".to_owned()), "{:?}", server.paths());
    let allowed = client().fetch(request(&server.url("/name"))).await.unwrap();
    assert_eq!(allowed.body, b"reached");
}

#[test]
fn a_redirect_of_a_server_on_the_internet_into_the_closed_network_is_refused() {
    let first = request("http://charts.internal/");
    let location: HeaderMap = [(LOCATION, "http://10.0.0.7/".parse().unwrap())].into_iter().collect();
    for (remote, is_allowed) in [("10.0.0.8:80", true), ("8.8.8.8:80", false)] {
        let policy = first.policy.after_response(&first.url, Some(remote.parse().unwrap()));
        let next = first.clone().redirect(&location, policy).unwrap();
        assert_eq!(next.policy.network(&next.url).is_ok(), is_allowed, "{remote}");
    }
}

#[tokio::test]
async fn no_spelling_of_this_host_is_connected_to_where_only_public_addresses_are_allowed() {
    let server = HttpServer::start(|_, _| HttpResponse::ok("reached")).await;
    let policy = EgressPolicy { https: Some(ReachableNetwork::Public), http: Some(ReachableNetwork::Public) };
    for host in [
        "127.0.0.1",
        "127.1",
        "0.0.0.0",
        "0x7f.1",
        "2130706433",
        "0177.0.0.1",
        "localhost",
        "LOCALHOST",
        "[::ffff:127.0.0.1]",
    ] {
        let url = format!("http://{host}:{}/", server.port());
        let error = client().fetch(FetchRequest { policy, ..request(&url) }).await.unwrap_err();
        assert_eq!(error.kind, FetchErrorKind::NotAllowed, "{host}");
        assert!(error.to_string().contains("its address is not a public one"), "{error}");
    }
    assert_eq!(server.paths(), Vec::<String>::new());
}

#[tokio::test]
async fn credentials_are_sent_to_their_origin_and_not_after_a_redirect_to_another() {
    let other = HttpServer::start(|_, _| HttpResponse::ok("chart")).await;
    let location = other.url("/chart.tgz");
    let server = HttpServer::start(move |_, request| match &*request.path {
        "/away" => HttpResponse::redirect(location.clone()),
        "/moved" => HttpResponse::redirect("/here"),
        _ => HttpResponse::ok("here"),
    })
    .await;
    let credentials = Credentials::basic(&Url::parse(&server.url("/")).unwrap(), "ci", "s3cret").unwrap();
    for path in ["/away", "/moved"] {
        client()
            .fetch(FetchRequest { credentials: Some(&credentials), ..request(&server.url(path)) })
            .await
            .unwrap();
    }
    let sent = |server: &HttpServer| -> Vec<bool> {
        server.requests().iter().map(|request| request.header("authorization").is_some()).collect()
    };
    assert_eq!(sent(&server), [true, true, true]);
    assert_eq!(sent(&other), [false], "another port is another origin");
}

#[tokio::test]
async fn a_response_that_does_not_end_and_a_closed_port_are_errors() {
    let server = HttpServer::start(|_, _| HttpResponse::unfinished()).await;
    let client = client_with_timeout(Duration::from_millis(200));
    let error = client.fetch(request(&server.url("/"))).await.unwrap_err();
    assert_eq!(error.kind, FetchErrorKind::Timeout, "{error}");
    let port = ReservedPort::reserve();
    assert_eq!(fail(request(&format!("http://{}/", port.address()))).await, FetchErrorKind::Unreachable);
}

#[tokio::test]
async fn p20_a_server_that_sends_a_byte_now_and_then_is_left_before_the_time_limit_of_the_request() {
    let server = HttpServer::start(|_, request| {
        HttpResponse::slow().with_status(if request.path == "/error" { 500 } else { 200 })
    })
    .await;
    let minimum_rate = MinimumRate { bytes: 1_000, window: Duration::from_secs(1) };
    let client =
        EgressClient::new(EgressOptions { minimum_rate, ..options(Duration::from_secs(600)) }).unwrap();
    for path in ["/index.yaml", "/error"] {
        let error = client.fetch(request(&server.url(path))).await.unwrap_err();
        assert_eq!(error.kind, FetchErrorKind::TooSlow, "{error}");
        assert!(error.to_string().contains(&server.host()), "{error}");
        assert!(error.message.contains("within 1 s, and at least 1000 are required"), "{error}");
    }
}

#[tokio::test]
async fn p20_a_server_whose_head_does_not_end_is_left_before_the_time_limit_of_the_request() {
    let server = HttpServer::start(|_, _| HttpResponse::slow_head()).await;
    let read_timeout = Duration::from_secs(1);
    let client =
        EgressClient::new(EgressOptions { read_timeout, ..options(Duration::from_secs(600)) }).unwrap();
    let error = client.fetch(request(&server.url("/"))).await.unwrap_err();
    assert_eq!(
        (error.kind, &*error.message),
        (FetchErrorKind::Timeout, "the server did not respond in time")
    );
}

/// A registry that requires a token, from an endpoint at `realm`; `None` for its own.
async fn start_registry(realm: Option<String>) -> HttpServer {
    HttpServer::start(move |host, request| {
        let token = request.header("authorization");
        match &*request.path {
            "/token?service=reg&scope=pull" => {
                let user =
                    if token.is_some_and(|token| token.starts_with("Basic ")) { "ci" } else { "anonymous" };
                HttpResponse::ok(format!("{{\"access_token\":\"for-{user}\"}}"))
            }
            "/basic" if token.is_some_and(|token| token.starts_with("Basic ")) => HttpResponse::ok("ci"),
            "/basic" => HttpResponse::status(401).with_header("www-authenticate", "Basic realm=\"reg\""),
            _ => match token.and_then(|token| token.strip_prefix("Bearer for-")) {
                Some(user) => HttpResponse::ok(user),
                None => {
                    let realm = realm.clone().unwrap_or_else(|| format!("http://{host}/token"));
                    let challenge = format!("Bearer realm=\"{realm}\",service=\"reg\",scope=\"pull\"");
                    HttpResponse::status(401).with_header("www-authenticate", challenge)
                }
            },
        }
    })
    .await
}

#[tokio::test]
async fn a_token_is_obtained_once_per_session_with_the_credentials_of_the_registry() {
    let registry = start_registry(None).await;
    let client = client();
    let mut anonymous = RegistrySession::new(&client, None);
    for _ in 0..2 {
        assert_eq!(anonymous.fetch(request(&registry.url("/v2/a"))).await.unwrap().body, b"anonymous");
    }
    assert_eq!(registry.paths(), ["/v2/a", "/token?service=reg&scope=pull", "/v2/a", "/v2/a"]);
    let credentials = Credentials::basic(&Url::parse(&registry.url("/")).unwrap(), "ci", "s3cret").unwrap();
    let mut session = RegistrySession::new(&client, Some(&credentials));
    assert_eq!(session.fetch(request(&registry.url("/v2/a"))).await.unwrap().body, b"ci");
    let mut basic = RegistrySession::new(&client, Some(&credentials));
    assert_eq!(basic.fetch(request(&registry.url("/basic"))).await.unwrap().body, b"ci");
    let mut without = RegistrySession::new(&client, None);
    assert_eq!(
        without.fetch(request(&registry.url("/basic"))).await.unwrap().status,
        StatusCode::UNAUTHORIZED
    );
}

#[tokio::test]
async fn credentials_are_not_sent_to_a_token_endpoint_that_they_are_not_for() {
    let other = start_registry(None).await;
    let registry = start_registry(Some(other.url("/token"))).await;
    let client = client();
    let credentials = Credentials::basic(&Url::parse(&registry.url("/")).unwrap(), "ci", "s3cret").unwrap();
    let mut session = RegistrySession::new(&client, Some(&credentials));
    let error = session.fetch(request(&registry.url("/v2/a"))).await.unwrap_err();
    assert_eq!(error.kind, FetchErrorKind::Credentials);
    assert!(error.to_string().contains(&other.host()), "{error}");
    assert_eq!(other.paths(), Vec::<String>::new());
    let both = credentials.also_for(&Url::parse(&other.url("/")).unwrap());
    let mut session = RegistrySession::new(&client, Some(&both));
    assert_eq!(session.fetch(request(&registry.url("/v2/a"))).await.unwrap().body, b"ci");
}

#[tokio::test]
async fn a_token_endpoint_is_decided_by_its_address() {
    let registry = HttpServer::start(|host, _| {
        let realm = format!("http://{}/token", host.replace("127.0.0.1", "0.0.0.0"));
        HttpResponse::status(401).with_header("www-authenticate", format!("Bearer realm=\"{realm}\""))
    })
    .await;
    let client = client();
    let error = RegistrySession::new(&client, None).fetch(request(&registry.url("/v2/a"))).await.unwrap_err();
    assert_eq!((error.kind, registry.paths().len()), (FetchErrorKind::NotAllowed, 1));
}
