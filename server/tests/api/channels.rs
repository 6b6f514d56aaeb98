//! Channels over REST: e-mail settings, and templates with the place of a fault.

use axum::http::Method;
use serde_json::json;

use crate::test_server::TestServer;

#[tokio::test]
async fn e12_a_channel_for_e_mail_shows_its_addresses_and_never_its_password() {
    let server = TestServer::start().await;
    let email = json!({
        "host": "mail.example.com",
        "username": "flotilla",
        "from": "flotilla@example.com",
        "to": ["ops@example.com"],
    });
    let new = json!({"name": "mail", "kind": "email", "email": email, "secret": "canary-secret"});
    let created = server.post("/api/v1/channels", &new).await;
    assert_eq!(created.status, 201, "{}", created.text);
    let shown = server.get("/api/v1/channels/mail").await;
    assert!(!shown.text.contains("canary"), "{}", shown.text);
    let channel = shown.json();
    assert_eq!(
        (&channel["url"], &channel["hasSecret"]),
        (&"smtp://mail.example.com:587".into(), &true.into())
    );
    assert_eq!(channel["email"]["to"], json!(["ops@example.com"]));

    for (path, email) in [
        (
            "/email/to/0",
            json!({"host": "mail.example.com", "from": "a@b.test", "to": ["x@y.test\r\nBcc: z@y.test"]}),
        ),
        ("/email/host", json!({"host": "a b", "from": "a@b.test", "to": ["x@y.test"]})),
    ] {
        let new = json!({"name": "bad", "kind": "email", "email": email});
        let refused = server.post("/api/v1/channels", &new).await;
        assert_eq!(refused.status, 422, "{}", refused.text);
        assert!(refused.text.contains(&format!("\"{path}\"")), "{path}: {}", refused.text);
    }
    let email = json!({"host": "a.test", "from": "a@b.test", "to": ["x@y.test"], "bcc": []});
    let unknown = json!({"name": "bad", "kind": "email", "email": email});
    let refused = server.post("/api/v1/channels", &unknown).await;
    assert!(refused.status.is_client_error() && refused.text.contains("bcc"), "{}", refused.text);
}

#[tokio::test]
async fn a_template_is_previewed_and_one_that_is_not_valid_is_refused_with_line_and_cause() {
    let server = TestServer::start().await;
    let preview = |template: &str| json!({"kind": "slack", "template": template});
    let shown = server.post("/api/v1/channels:preview", &preview("<{{ link }}> {{ cause }}")).await;
    assert_eq!(shown.status, 200, "{}", shown.text);
    let text = shown.json()["text"].as_str().unwrap().to_owned();
    assert!(text.contains("&lt;not found&gt;"), "{text}");
    let body: serde_json::Value = serde_json::from_str(shown.json()["body"].as_str().unwrap()).unwrap();
    assert_eq!(body, json!({"text": text}));

    // The end of a publish, by the channels that are sent it.
    let of_publish = |kind: &str| json!({"kind": kind, "event": "publishEnded", "template": "{{ title }}"});
    let shown = server.post("/api/v1/channels:preview", &of_publish("email")).await;
    assert_eq!(shown.json()["text"], "shop-web r9 fails on 1 of 3 clusters", "{}", shown.text);
    let refused = server.post("/api/v1/channels:preview", &of_publish("pagerduty")).await;
    assert!(refused.status == 422 && refused.text.contains("is sent incidents only"), "{}", refused.text);

    let hook = json!({"name": "ops", "url": "https://a.test/hook", "kind": "slack"});
    assert_eq!(server.post("/api/v1/channels", &hook).await.status, 201);
    let path = "/api/v1/channels/ops/template";
    let doubling = json!({"template": "a\n{% set x = cause ~ cause %}"});
    for refused in [
        server.post("/api/v1/channels:preview", &preview("a\n{% set x = cause ~ cause %}")).await,
        server.send_json(Method::PUT, path, &[], &doubling).await,
    ] {
        assert_eq!(refused.status, 422, "{}", refused.text);
        assert!(
            refused.text.contains("Line 2 of the template: '=' is not allowed in a tag."),
            "{}",
            refused.text
        );
    }
    assert!(server.get("/api/v1/channels/ops").await.json()["template"].is_null());
    let set = server.send_json(Method::PUT, path, &[], &json!({"template": "{{ title }}"})).await;
    assert_eq!(set.status, 200, "{}", set.text);
    assert_eq!(set.json()["template"], "{{ title }}");
    let removed = server.send_json(Method::PUT, path, &[], &json!({"template": ""})).await;
    assert!(removed.json()["template"].is_null(), "{}", removed.text);
    let other =
        server.send_json(Method::PUT, "/api/v1/channels/none/template", &[], &json!({"template": ""})).await;
    assert_eq!(other.status, 404, "{}", other.text);
}
