//! `flotilla channel`.

use std::fs;

use testkit::{SmtpMode, SmtpServer};

use crate::test_server::TestServer;

#[test]
fn e12_a_channel_for_e_mail_is_created_tested_and_named_with_its_mail_server() {
    let runtime = tokio::runtime::Runtime::new().unwrap();
    let mail = runtime.block_on(SmtpServer::start(SmtpMode::Clear));
    let port = mail.port().to_string();
    let server = TestServer::start_new();
    let create = |name: &str, more: &[&str]| {
        let base =
            ["channel", "create", name, "--kind", "email", "--smtp-host", "127.0.0.1", "--smtp-port", &port];
        server.run_cli(&[&base[..], more].concat())
    };
    let addresses = ["--from", "flotilla@example.com", "--to", "ops@example.com", "--to", "ben@example.com"];
    let created = create("mail", &[&["--smtp-security", "plain"][..], &addresses[..]].concat());
    assert_eq!((created.exit_code, &*created.stdout), (0, "channel/mail created\n"), "{created}");
    let tested = server.run_cli(&["channel", "test", "mail"]);
    assert_eq!((tested.exit_code, &*tested.stdout), (0, "The receiver accepted the message.\n"), "{tested}");
    let emails = mail.emails();
    assert_eq!((emails.len(), emails[0].from.as_str()), (1, "flotilla@example.com"));
    assert_eq!(emails[0].to, ["ops@example.com", "ben@example.com"]);
    assert_eq!(emails[0].header("Subject").as_deref(), Some("[Flotilla] Test of a channel"));
    assert_eq!(emails[0].header("In-Reply-To"), None);
    let listed = server.run_cli(&["channel", "list"]);
    assert!(listed.stdout.contains(&format!("smtp://127.0.0.1:{port}")), "{listed}");
    let shown = server.run_cli_json(&["channel", "get", "mail", "-o", "json"]);
    assert_eq!(shown[0]["email"]["to"], serde_json::json!(["ops@example.com", "ben@example.com"]), "{shown}");

    mail.set_recipient_status(550);
    let refused = server.run_cli(&["channel", "test", "mail"]);
    assert_eq!(refused.exit_code, 1, "{refused}");
    assert!(refused.stdout.contains("The mail server answered with status 550."), "{refused}");
    assert_eq!(mail.emails().len(), 1);

    let injected = create("bad", &["--from", "a@b.test\r\nBcc: c@d.test", "--to", "ops@example.com"]);
    assert!(injected.exit_code != 0 && injected.stderr.contains("is no e-mail address"), "{injected}");
    let no_recipient = create("bad", &["--from", "flotilla@example.com"]);
    assert!(no_recipient.stderr.contains("There is no recipient."), "{no_recipient}");
    let unknown = create("bad", &["--smtp-security", "none"]);
    assert!(unknown.exit_code == 2 && unknown.stderr.contains("startTls, tls, plain"), "{unknown}");
}

#[test]
fn a_template_of_a_channel_is_previewed_set_and_removed_and_an_invalid_one_is_refused_with_its_line() {
    let server = TestServer::start_new();
    let folder = tempfile::tempdir().unwrap();
    let write = |name: &str, text: &str| {
        let file = folder.path().join(name);
        fs::write(&file, text).unwrap();
        file.to_str().unwrap().to_owned()
    };
    let valid = write("valid.txt", "{{ workload }} <on> {% for one in clusters %}{{ one }} {% endfor %}\n");
    let preview = server.run_cli(&["channel", "preview", "--file", &valid]);
    assert_eq!(
        (preview.exit_code, &*preview.stdout),
        (0, "shop-web <on> eu-west-1 eu-west-2 us-east-1 \n"),
        "{preview}"
    );
    let built_in = server.run_cli(&["channel", "preview", "--kind", "email", "--event", "closed"]);
    assert!(built_in.stdout.contains("Re: [Flotilla] shop-web: ImagePullFailed"), "{built_in}");
    assert!(built_in.stdout.contains("&lt;not found&gt;"), "{built_in}");

    server.run_cli(&["channel", "create", "ops", "--url", "http://127.0.0.1:9/hook"]);
    let doubling = write("doubling.txt", "first\n{% set a = cause ~ cause %}{{ a }}");
    for command in [
        &["channel", "template", "ops", "--file", &doubling][..],
        &["channel", "preview", "--file", &doubling],
        &["channel", "create", "other", "--url", "http://127.0.0.1:9/", "--template-file", &doubling],
    ] {
        let refused = server.run_cli(command);
        assert!(refused.exit_code != 0 && refused.stderr.contains("Line 2 of the template"), "{refused}");
    }
    let set = server.run_cli(&["channel", "template", "ops", "--file", &valid]);
    assert_eq!((set.exit_code, &*set.stdout), (0, "channel/ops template set\n"), "{set}");
    let shown = server.run_cli_json(&["channel", "get", "ops", "-o", "json"]);
    assert!(shown[0]["template"].as_str().unwrap().starts_with("{{ workload }}"), "{shown}");
    let removed = server.run_cli(&["channel", "template", "ops", "--remove"]);
    assert_eq!((removed.exit_code, &*removed.stdout), (0, "channel/ops template removed\n"), "{removed}");
    let shown = server.run_cli_json(&["channel", "get", "ops", "-o", "json"]);
    assert!(shown[0]["template"].is_null(), "{shown}");
    let neither = server.run_cli(&["channel", "template", "ops"]);
    assert_eq!(neither.exit_code, 2, "{neither}");
}
