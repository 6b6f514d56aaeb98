//! What protects browsers: headers of every kind of route, errors of forms, forms that can't be read.

use axum::body::Body;
use axum::http::{Request, StatusCode};

use crate::sessions::{cookie, form, set_cookie, sign_in};
use crate::test_server::{PASSWORD, TestResponse, TestServer, USER_NAME, WORKLOADS};

async fn start_over_https() -> TestServer {
    TestServer::start_with(|hub| server::SiteOptions {
        secure_cookies: true,
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
async fn every_kind_of_route_has_the_security_headers() {
    let server = start_over_https().await;
    let signed_in = sign_in(&server).await;
    let cookie = set_cookie(&signed_in, "__Host-flotilla_session").split(';').next().unwrap().to_owned();
    let session = [("cookie", &*cookie)];
    let answers = [
        ("page", get(&server, "/workloads", &session).await),
        ("page that does not exist", get(&server, "/no/such/page", &session).await),
        ("public page", get(&server, "/sign-in", &[]).await),
        ("redirect to sign-in", get(&server, "/workloads", &[]).await),
        ("health", get(&server, "/livez", &[]).await),
        ("metrics", get(&server, "/metrics", &session).await),
        ("operation", get(&server, WORKLOADS, &session).await),
        ("problem", get(&server, WORKLOADS, &[]).await),
        ("operation that does not exist", get(&server, "/api/v1/nothing", &session).await),
        ("server function", get(&server, "/api/fn/frame_read", &session).await),
        ("sign-in", signed_in),
        (
            "webhook",
            server
                .send_raw(
                    Request::post("/api/v1/projects/default/git-webhooks/x").body(Body::empty()).unwrap(),
                )
                .await,
        ),
    ];
    for (kind, answer) in answers {
        for (header, value) in [
            ("x-content-type-options", "nosniff"),
            ("x-frame-options", "DENY"),
            ("referrer-policy", "same-origin"),
            ("cross-origin-opener-policy", "same-origin"),
            ("cross-origin-resource-policy", "same-origin"),
            ("strict-transport-security", "max-age=31536000"),
            ("cache-control", "no-store"),
        ] {
            assert_eq!(answer.header(header), value, "{header} of {kind}");
        }
        let policy = answer.header("content-security-policy");
        assert!(
            policy.contains("frame-ancestors 'none'") && !policy.contains("unsafe-inline' "),
            "{kind}: {policy}"
        );
        assert!(!answer.header("permissions-policy").is_empty(), "{kind}");
    }
    let plain = TestServer::start().await;
    assert_eq!(get(&plain, "/livez", &[]).await.header("strict-transport-security"), "");
}

#[tokio::test]
async fn over_https_only_this_host_can_set_the_cookies() {
    let server = start_over_https().await;
    let answer = sign_in(&server).await;
    for name in ["__Host-flotilla_session", "__Host-flotilla_device"] {
        let cookie = set_cookie(&answer, name);
        assert!(
            cookie.contains("Secure") && cookie.contains("Path=/;") || cookie.ends_with("Path=/"),
            "{cookie}"
        );
        assert!(!cookie.contains("Domain"), "{cookie}");
    }
    let plain = cookie(&sign_in(&TestServer::start().await).await).replace("flotilla", "__Host-flotilla");
    assert_eq!(get(&server, "/workloads", &[("cookie", &plain)]).await.status, StatusCode::SEE_OTHER);
}

/// A form sent without script from the sign-in page.
fn plain_form(path: &str, body: &str) -> Request<Body> {
    let mut request = form(path, body, &[("referer", "http://localhost/sign-in?next=%2Fclusters")]);
    request.headers_mut().insert("accept", "text/html".parse().unwrap());
    request
}

#[tokio::test]
async fn a_page_displays_the_error_of_a_form_only_to_the_browser_that_sent_it() {
    let server = TestServer::start().await;
    let answer =
        server.send_raw(plain_form("/api/fn/sign_in", &format!("name={USER_NAME}&password=x&next="))).await;
    assert_eq!(answer.status, StatusCode::FOUND);
    let location = answer.header("location").strip_prefix("http://localhost").unwrap().to_owned();
    assert!(location.contains("__err="), "{location}");
    let mark = set_cookie(&answer, "flotilla_form_error").split(';').next().unwrap().to_owned();
    let own = get(&server, &location, &[("cookie", &mark)]).await;
    assert!(own.text.contains("The name or the password is not correct."), "{}", own.text);
    let stranger = get(&server, &location, &[]).await;
    assert_eq!(
        (stranger.status, stranger.header("location")),
        (StatusCode::SEE_OTHER, "/sign-in?next=%2Fclusters")
    );
    let forged = location.replace("__err=", "%5F%5Ferr=");
    let forged = get(&server, &format!("{forged}x"), &[("cookie", &mark)]).await;
    assert_eq!(
        (forged.status, forged.header("location")),
        (StatusCode::SEE_OTHER, "/sign-in?next=%2Fclusters")
    );
}

#[tokio::test]
async fn sign_in_never_leads_to_another_host_however_the_path_is_written() {
    let server = TestServer::start().await;
    for next in
        ["%2F..%2F%2Fevil.example", "%2F%2e%2e%2F%2Fevil", "%2Fa%2F..%2F..%2F%2Fevil", "%2F.%2F%2Fevil"]
    {
        let body = format!("name={USER_NAME}&password={}&next={next}", PASSWORD.replace(' ', "+"));
        let answer = server.send_raw(plain_form("/api/fn/sign_in", &body)).await;
        assert_eq!((answer.status, answer.header("location")), (StatusCode::FOUND, "/"), "{next}");
    }
}

#[tokio::test]
async fn a_form_that_cannot_be_read_is_an_error_of_its_sender() {
    let server = TestServer::start().await;
    let cookie = cookie(&sign_in(&server).await);
    let bodies: [&[u8]; 5] =
        [b"", b"%", b"name=\xff\xfe&password=x", b"form[a][b][c][d][e][f][g]=1", b"{\"name\":1}"];
    // A sign-out has no fields, and would end the session.
    let all = server::console::list_server_fns().into_iter();
    for (path, method) in all.filter(|(path, _)| *path != "/api/fn/sign_out") {
        for body in bodies {
            let request = Request::builder().method(&method).uri(path).header("cookie", &cookie);
            let request = request.header("content-type", "application/x-www-form-urlencoded");
            let request =
                request.header("accept", "application/json").header("sec-fetch-site", "same-origin");
            let answer = server.send_raw(request.body(Body::from(body.to_vec())).unwrap()).await;
            assert!(!answer.status.is_server_error(), "{path} {body:?}: {} {}", answer.status, answer.text);
        }
    }
}

#[tokio::test]
async fn an_unreadable_sign_in_says_that_the_form_could_not_be_read() {
    let server = TestServer::start().await;
    let answer = server.send_raw(form("/api/fn/sign_in", "name=ada", &[])).await;
    assert_eq!(answer.status, StatusCode::UNPROCESSABLE_ENTITY);
    assert!(answer.text.contains("The form could not be read."), "{}", answer.text);
}
