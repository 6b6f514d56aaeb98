//! API tokens whose secret the client has generated: `flotilla login --browser`.

use axum::body::Body;
use axum::http::{Request, StatusCode};
use domain::Digest;
use domain::api_token::confirmation_code;
use serde_json::{Value, json};

use crate::credentials::TOKENS;
use crate::sessions::{cookie, form, sign_in};
use crate::test_server::TestServer;

/// The status of a request with this token.
async fn status_with(server: &TestServer, token: &str) -> StatusCode {
    let request = Request::get(TOKENS).header("authorization", format!("Bearer {token}"));
    server.send_raw(request.body(Body::empty()).unwrap()).await.status
}

#[tokio::test]
async fn a_token_is_created_by_the_hash_of_a_secret_that_the_server_never_gets() {
    let server = TestServer::start().await;
    let (secret, other) = (wire::generate_token_secret(), wire::generate_token_secret());
    assert_ne!(secret, other);
    assert_eq!(status_with(&server, &secret).await, StatusCode::UNAUTHORIZED);
    let hash = Digest::compute(secret.as_bytes());
    let body = json!({"name": "laptop", "role": "viewer", "secretHash": hash});
    let created = server.post(TOKENS, &body).await;
    assert_eq!(created.status, StatusCode::CREATED, "{}", created.text);
    assert_eq!((created.json().get("token"), created.json().get("secret")), (None, None));
    assert_eq!(status_with(&server, &secret).await, StatusCode::OK);
    assert_eq!(status_with(&server, &other).await, StatusCode::UNAUTHORIZED);
    assert_eq!(server.post(TOKENS, &body).await.problem(), (409, "AlreadyExists".to_owned()));
    for wrong in [json!("sha256:12"), json!(""), Value::from(hash.as_str().to_uppercase())] {
        let body = json!({"name": "laptop", "secretHash": wrong});
        assert_eq!(server.post(TOKENS, &body).await.problem().0, 400, "{wrong}");
    }
}

#[tokio::test]
async fn a_user_allows_a_command_line_in_the_console_only_with_the_code_of_its_terminal() {
    let server = TestServer::start().await;
    let secret = wire::generate_token_secret();
    let hash = Digest::compute(secret.as_bytes());
    let code = confirmation_code(&hash);
    let address = format!("/settings?authorize={}&name=click-here", hash.as_str());
    let page = async |cookie: &str| {
        let request = Request::get(&address).header("cookie", cookie).header("accept", "text/html");
        server.send_raw(request.body(Body::empty()).unwrap()).await
    };
    let anonymous = page("").await;
    assert_eq!(anonymous.status, StatusCode::SEE_OTHER);
    assert!(anonymous.header("location").contains("authorize"), "{}", anonymous.header("location"));
    let session = cookie(&sign_in(&server).await);
    let question = page(&session).await;
    for shown in ["Sign the command line in?", "if somebody sent you this link", "value=\"command-line\""] {
        assert!(question.text.contains(shown), "{shown}: {}", question.text);
    }
    // Whoever sends a link has chosen what is in it.
    assert!(!question.text.contains(&code) && !question.text.contains("value=\"click-here\""));
    assert_eq!(status_with(&server, &secret).await, StatusCode::UNAUTHORIZED, "a question allows nothing");

    let allow = async |code: &str| {
        let hash = hash.as_str().replace(':', "%3A");
        let body = format!("secret_hash={hash}&name=laptop&days=7&role=editor&code={code}&can_mint=true");
        server.send_raw(form("/api/fn/token_authorize", &body, &[("cookie", session.as_str())])).await
    };
    for wrong in ["", "0000-0000-0000", &code[..9]] {
        let refused = allow(wrong).await;
        assert_eq!(refused.status, StatusCode::UNPROCESSABLE_ENTITY, "{wrong}: {}", refused.text);
        assert!(refused.text.contains("not the code of the command line"), "{}", refused.text);
    }
    assert_eq!(status_with(&server, &secret).await, StatusCode::UNAUTHORIZED, "a wrong code allows nothing");

    let allowed = allow(&code.to_uppercase()).await;
    assert!(allowed.status.is_success() || allowed.status.is_redirection(), "{}", allowed.text);
    assert_eq!(status_with(&server, &secret).await, StatusCode::OK);
    let listed = server.get(TOKENS).await.json();
    let laptop = listed.as_array().unwrap().iter().find(|token| token["name"] == "laptop").unwrap();
    assert_eq!((&laptop["role"], &laptop["canMint"]), (&json!("editor"), &json!(false)), "{listed}");
    assert_eq!(allow(&code).await.status, StatusCode::CONFLICT, "a link creates one token");
}
