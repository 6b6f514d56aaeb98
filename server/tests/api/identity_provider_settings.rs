//! How an administrator sets identity providers up: the test of the connection, and the forms of the console.

use axum::http::StatusCode;
use domain::role::Role;
use serde_json::{Value, json};

use crate::identity_providers::{CONSOLE, PROVIDERS, SignInTest};
use crate::openid_server::CLIENT_SECRET;
use crate::roles::RoleUser;
use crate::sessions::{cookie, form, sign_in};
use crate::test_server::TestResponse;

const PAGE: &str = "/settings?tab=identity-providers";

/// The checks of a test and what they found out, in their order.
fn outcomes(tested: &TestResponse) -> Vec<String> {
    assert_eq!(tested.status, StatusCode::OK, "{}", tested.text);
    let checks = tested.json()["checks"].as_array().unwrap().clone();
    let text = |value: &Value| value.as_str().unwrap().to_owned();
    checks.iter().map(|check| format!("{} {}", text(&check["check"]), text(&check["outcome"]))).collect()
}

#[tokio::test]
async fn a_test_of_a_provider_finds_out_what_does_not_work_and_stores_nothing() {
    let test = SignInTest::start().await;
    let run = async || test.server.post(&format!("{PROVIDERS}/corp:test"), &json!({})).await;
    let with_document = async |document: Value| {
        test.openid.change(|answers| answers.document = document);
        run().await
    };
    let tested = run().await;
    assert_eq!(outcomes(&tested), ["discovery passed", "keys passed", "client passed"]);
    assert_eq!(tested.json()["succeeded"], true);

    let tested = with_document(json!({"scopes_supported": ["openid", "profile", "email"]})).await;
    let expected = ["discovery passed", "keys passed", "scopes unknown", "client passed"];
    assert_eq!(
        (outcomes(&tested), &tested.json()["succeeded"]),
        (expected.map(str::to_owned).to_vec(), &json!(false))
    );
    assert!(tested.text.contains("offline_access"), "{}", tested.text);

    let none = format!("{}/none", test.openid.issuer);
    let tested = with_document(json!({"jwks_uri": none})).await;
    assert_eq!(outcomes(&tested), ["discovery passed", "keys failed", "client passed"]);
    assert!(tested.text.contains("answered with status 404"), "{}", tested.text);
    let tested = with_document(json!({"token_endpoint": none})).await;
    assert_eq!(outcomes(&tested), ["discovery passed", "keys passed", "client unknown"]);

    // Often only a slash at the end differs: the message has the issuer that the document names.
    let tested = with_document(json!({"issuer": "https://id.example.com/"})).await;
    assert_eq!(outcomes(&tested), ["discovery failed"]);
    assert!(tested.text.contains("https://id.example.com/"), "{}", tested.text);
    let tested = with_document(json!({"token_endpoint": null})).await;
    assert_eq!(outcomes(&tested), ["discovery failed"]);
    assert!(tested.text.contains("token_endpoint"), "{}", tested.text);

    // One that is disabled is tested too, and its client is the one that is stored.
    let mut wrong = test.provider();
    (wrong["clientSecret"], wrong["enabled"]) = ("canary-other".into(), false.into());
    assert_eq!(test.save("corp", &wrong).await.status, StatusCode::OK);
    let tested = with_document(json!({})).await;
    assert_eq!(outcomes(&tested), ["discovery passed", "keys passed", "client failed"]);
    assert!(!tested.text.contains("canary"), "{}", tested.text);
    let read = test.server.get(&format!("{PROVIDERS}/corp")).await.json();
    assert_eq!((&read["revision"], &read["enabled"]), (&json!(2), &json!(false)));

    test.openid.change(|answers| answers.is_down = true);
    let tested = run().await;
    assert_eq!(outcomes(&tested), ["discovery failed"]);
    assert!(tested.text.contains("answered with status 502"), "{}", tested.text);
    assert_eq!(test.server.post(&format!("{PROVIDERS}/other:test"), &json!({})).await.problem().0, 404);
}

#[tokio::test]
async fn the_console_adds_changes_tests_and_removes_a_provider_and_replaces_none_that_exists() {
    let test = SignInTest::start().await;
    let admin = cookie(&sign_in(&test.server).await);
    let call = async |function: &str, fields: &[(&str, &str)]| {
        let encode = |text: &str| {
            percent_encoding::utf8_percent_encode(text, percent_encoding::NON_ALPHANUMERIC).to_string()
        };
        let pairs = fields.iter().map(|(name, value)| format!("{}={}", encode(name), encode(value)));
        let body = pairs.collect::<Vec<_>>().join("&");
        test.server.send_raw(form(&format!("/api/fn/{function}"), &body, &[("cookie", admin.as_str())])).await
    };
    let save = async |name: &str, more: &[(&str, &str)]| {
        let base = [
            ("form[name]", name),
            ("form[issuer]", "https://id.example.com"),
            ("form[client_id]", "flotilla"),
        ];
        call("identity_provider_save", &[&base[..], more].concat()).await
    };

    let taken = save("corp", &[("form[base_revision]", "0")]).await;
    assert_eq!(taken.status, StatusCode::CONFLICT, "{}", taken.text);
    assert!(taken.text.contains("There is an identity provider"), "{}", taken.text);
    let corp = test.server.get(&format!("{PROVIDERS}/corp")).await.json();
    assert_eq!(corp["issuer"], test.openid.issuer, "it was not replaced");

    let roles = [
        ("form[base_revision]", "0"),
        ("form[client_secret]", "canary-entered"),
        ("form[scopes]", " openid  groups "),
        ("form[roles][0][group]", ""),
        ("form[roles][0][role]", "viewer"),
        ("form[roles][1][group]", "cn=ops,dc=example"),
        ("form[roles][1][role]", "editor"),
    ];
    let added = save("second", &roles).await;
    assert_eq!(added.status, StatusCode::OK, "{}", added.text);
    let second = test.server.get(&format!("{PROVIDERS}/second")).await.json();
    assert_eq!(second["roles"], json!([{"group": "cn=ops,dc=example", "role": "editor"}]));
    assert_eq!(second["scopes"], json!(["openid", "groups"]));
    assert_eq!((&second["groupsClaim"], &second["displayName"]), (&json!("groups"), &json!("second")));
    assert_eq!(second["enabled"], false, "the box was not checked");

    let page = test.get(&format!("{PAGE}&change=second"), &admin).await;
    for shown in ["cn=ops,dc=example is editor", "Change second", &format!("{CONSOLE}/auth/second/callback")]
    {
        assert!(page.text.contains(shown), "{shown}: {}", page.text);
    }
    assert!(!page.text.contains("canary") && !page.text.contains(CLIENT_SECRET));

    let changed = save("second", &[("form[base_revision]", "1"), ("form[enabled]", "true")]).await;
    assert_eq!(changed.status, StatusCode::OK, "{}", changed.text);
    let second = test.server.get(&format!("{PROVIDERS}/second")).await.json();
    assert_eq!((&second["hasClientSecret"], &second["enabled"]), (&json!(true), &json!(true)));
    assert_eq!(second["roles"], json!([]), "the rows were removed");
    let stale = save("second", &[("form[base_revision]", "1")]).await;
    assert_eq!(stale.status, StatusCode::PRECONDITION_FAILED, "{}", stale.text);

    let tested = call("identity_provider_test", &[("name", "corp")]).await;
    assert_eq!(tested.json()["test"]["succeeded"], true, "{}", tested.text);
    let removed = call("identity_provider_remove", &[("name", "second")]).await;
    assert!(removed.status.is_success() || removed.status.is_redirection(), "{}", removed.text);
    assert_eq!(test.server.get(&format!("{PROVIDERS}/second")).await.problem().0, 404);

    let viewer = RoleUser::create(&test.server, Role::Viewer).await;
    let page = test.get(PAGE, &viewer.cookie).await;
    assert_eq!(page.status, StatusCode::FORBIDDEN);
    assert!(page.text.contains("you need the role admin") && !page.text.contains(&test.openid.issuer));
}
