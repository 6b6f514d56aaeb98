//! What users sign in with, as an administrator sees and ends it, the own password, and what one may do.

use std::io::{BufRead, BufReader};

use domain::Digest;
use domain::api_token::{NewApiToken, confirmation_code};
use serde_json::Value;

use super::test_server::TestServer;

#[test]
fn s0_3_an_administrator_lists_and_revokes_what_another_user_signs_in_with() {
    let server = TestServer::start_new();
    let invited = server.run_cli(&["user", "invite", "bob"]);
    assert_eq!(invited.exit_code, 0, "{invited}");
    let sessions = server.run_cli(&["session", "list", "--user", "bob"]);
    assert_eq!(sessions.exit_code, 0, "{sessions}");
    assert!(sessions.stderr.contains("bob is not signed in to the console in any browser."), "{sessions}");
    let unconfirmed = server.run_cli(&["session", "revoke", "--all", "--user", "bob"]);
    assert_eq!(unconfirmed.exit_code, 2, "{unconfirmed}");
    assert!(unconfirmed.stderr.contains("bob will be signed out of the console"), "{unconfirmed}");
    let confirmed = server.run_cli(&["session", "revoke", "--all", "--user", "bob", "--yes"]);
    assert_eq!(confirmed.stdout, "sessions revoked\n", "{confirmed}");
    let missing = server.run_cli(&["session", "revoke", "0a1b", "--user", "bob", "--yes"]);
    assert!(missing.exit_code == 1 && missing.stderr.contains("0a1b"), "{missing}");
    let nobody = server.run_cli(&["token", "list", "--user", "nobody"]);
    assert!(nobody.exit_code == 1 && nobody.stderr.contains("nobody"), "{nobody}");

    // The same of the own user.
    let user = server.run_cli_json(&["auth", "can-i", "view", "-o", "json"])["user"].clone();
    let user = user.as_str().unwrap();
    let created = server.run_cli_json(&["token", "create", "ci", "--role", "viewer", "-o", "json"]);
    let id = created["id"].as_str().unwrap();
    let listed = server.run_cli_json(&["token", "list", "--user", user, "-o", "json"]);
    let is_listed = |listed: &Value| listed.as_array().unwrap().iter().any(|token| token["id"] == id);
    assert!(is_listed(&listed), "{listed}");
    let limited = server
        .run_cli_json(&["token", "create", "cd", "--action", "publish", "--action", "plan", "-o", "json"]);
    let secret = limited["token"].as_str().unwrap();
    let as_limited = |args: &[&str]| server.run_cli(&[&["--token", secret][..], args].concat());
    let can = as_limited(&["auth", "can-i", "plan"]);
    assert_eq!((can.exit_code, &*can.stdout), (0, "yes\n"), "{can}");
    let refused = as_limited(&["token", "create", "more"]);
    assert!(refused.exit_code != 0 && refused.stderr.contains("the action manage-own-tokens"), "{refused}");
    let table = as_limited(&["auth", "can-i", "--list"]);
    assert!(table.stdout.lines().any(|line| line.starts_with("unpublish") && line.contains("no")), "{table}");
    let listed_actions = server.run_cli(&["token", "list"]);
    assert!(listed_actions.stdout.contains("plan, publish"), "{listed_actions}");
    let unknown = server.run_cli(&["token", "create", "wrong", "--action", "fly"]);
    assert!(unknown.exit_code != 0 && unknown.stderr.contains("is not an action"), "{unknown}");
    let revoked = server.run_cli(&["token", "revoke", id, "--user", user, "--yes"]);
    assert_eq!(revoked.stdout, format!("token/{id} revoked\n"), "{revoked}");
    assert!(!is_listed(&server.run_cli_json(&["token", "list", "--user", user, "-o", "json"])));
    let log = server.run_cli(&["audit", "list", "--subject", id]);
    assert!(log.stdout.contains("The API token ci of"), "{log}");
}

#[test]
fn a_password_is_changed_with_files_and_only_with_the_current_one() {
    let server = TestServer::start_new();
    let file = |name: &str, text: &str| {
        let path = server.folder().join(name);
        std::fs::write(&path, text).unwrap();
        path.display().to_string()
    };
    let (wrong, new) = (file("wrong", "a wrong password 9\n"), file("new", "another long phrase 7\n"));
    let refused = server.run_cli(&["user", "change-password", "--current", &wrong, "--new", &new]);
    assert!(refused.exit_code != 0, "{refused}");
    assert!(refused.stderr.contains("The current password is not correct."), "{refused}");
    assert!(!refused.to_string().contains("another long phrase"), "{refused}");
    let both = server.run_cli(&["user", "change-password", "--current", "-", "--new", "-"]);
    assert_eq!(both.exit_code, 2, "{both}");
}

#[test]
fn can_i_answers_for_objects_that_exist_and_for_no_others() {
    let server = TestServer::start_new();
    let yes = server.run_cli(&["auth", "can-i", "publish", "lighthouse"]);
    assert_eq!((yes.exit_code, &*yes.stdout), (0, "yes\n"), "{yes}");
    for action in ["publish", "edit-cluster"] {
        let unknown = server.run_cli(&["auth", "can-i", action, "nothing"]);
        assert!(unknown.exit_code == 1 && unknown.stderr.contains("nothing"), "{unknown}");
        assert_eq!(unknown.stdout, "", "neither yes nor no: {unknown}");
    }
}

#[test]
fn a_login_in_the_browser_stores_a_token_of_which_only_the_hash_is_in_the_link() {
    let server = TestServer::start_new();
    let mut login = server.spawn_cli(&["login", "--browser"]);
    let mut lines = BufReader::new(login.stderr.take().unwrap()).lines().map_while(Result::ok);
    let link = lines.find(|line| line.contains("/settings?authorize=")).unwrap();
    let hash = link.split("authorize=").nth(1).unwrap().split('&').next().unwrap();
    let hash: Digest = hash.parse().unwrap();
    let code = confirmation_code(&hash);
    assert_eq!(lines.next().unwrap(), format!("Code: {code}"));
    assert!(!link.contains(&code), "whoever sends a link sends no code with it: {link}");
    // What the console does when the user allows it.
    let new = NewApiToken { secret_hash: Some(hash.clone()), ..NewApiToken::new("laptop", 1) };
    server.call(async |client| client.create_token(&new).await).unwrap();
    let rest: Vec<String> = lines.collect();
    assert!(login.wait().unwrap().success(), "{rest:?}");
    assert!(rest[0].contains("has allowed it, with the role admin"), "{rest:?}");
    let stored = std::fs::read_to_string(server.folder().join("config.yaml")).unwrap();
    let secret = stored.split_whitespace().find(|word| word.starts_with("flt_")).unwrap();
    assert_eq!(Digest::compute(secret.as_bytes()), hash);
    assert!(!link.contains(secret), "{link}");
    let listed = server.run_cli_with_context_file(&["token", "list"]);
    assert!(listed.stdout.contains("laptop"), "{listed}");
}

#[test]
fn a_user_is_elevated_until_a_time_which_the_list_shows() {
    let server = TestServer::start_new();
    assert_eq!(server.run_cli(&["user", "invite", "bob"]).exit_code, 0);
    let elevate =
        |role: &str| server.run_cli(&["user", "elevate", "bob", "--role", role, "--reason", "on call"]);
    let elevated = elevate("publisher");
    assert!(elevated.stdout.starts_with("user/bob is publisher until "), "{elevated}");
    let listed = server.run_cli(&["user", "list"]);
    assert!(listed.stdout.contains("viewer (publisher until "), "{listed}");
    let refused = elevate("admin");
    assert!(refused.exit_code != 0 && refused.stderr.contains("could keep the role"), "{refused}");
    let ended = server.run_cli(&["user", "end-elevation", "bob"]);
    assert_eq!((ended.exit_code, &*ended.stdout), (0, "user/bob is no longer elevated\n"), "{ended}");
    assert_eq!(server.run_cli(&["user", "end-elevation", "bob"]).exit_code, 1);
}
