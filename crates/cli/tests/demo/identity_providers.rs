//! `flotilla identity-provider`.

use std::io::{BufRead, BufReader, Read, Write};
use std::net::{TcpListener, TcpStream};

use serde_json::json;

use crate::test_server::TestServer;

/// A provider that publishes a document and a key, and refuses every code; returns its issuer. It ends with the test.
fn start_provider() -> String {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let issuer = format!("http://{}", listener.local_addr().unwrap());
    let served = issuer.clone();
    std::thread::spawn(move || {
        for stream in listener.incoming().map_while(Result::ok) {
            answer_request(stream, &served);
        }
    });
    issuer
}

/// Answers one request. A client that is gone is ignored.
fn answer_request(mut stream: TcpStream, issuer: &str) {
    let mut reader = BufReader::new(stream.try_clone().unwrap());
    let mut lines = Vec::new();
    while let Some(Ok(line)) =
        reader.by_ref().lines().next().filter(|line| !matches!(line, Ok(text) if text.is_empty()))
    {
        lines.push(line.to_ascii_lowercase());
    }
    let length = lines.iter().find_map(|line| line.strip_prefix("content-length:")?.trim().parse().ok());
    let mut body = vec![0_u8; length.unwrap_or(0)];
    let _ = reader.read_exact(&mut body);
    let path = lines.first().and_then(|line| line.split(' ').nth(1)).unwrap_or_default();
    let (status, answer) = match path {
        "/.well-known/openid-configuration" => (
            "200 OK",
            json!({
                "issuer": issuer,
                "authorization_endpoint": format!("{issuer}/authorize"),
                "token_endpoint": format!("{issuer}/token"),
                "jwks_uri": format!("{issuer}/keys"),
            }),
        ),
        "/keys" => {
            let coordinate = "A".repeat(43);
            let key = json!({"kty": "EC", "crv": "P-256", "x": coordinate, "y": coordinate});
            ("200 OK", json!({"keys": [key]}))
        }
        _ => ("400 Bad Request", json!({"error": "invalid_grant"})),
    };
    let answer = answer.to_string();
    let head = format!("HTTP/1.1 {status}\r\ncontent-type: application/json\r\nconnection: close\r\n");
    let _ = write!(stream, "{head}content-length: {}\r\n\r\n{answer}", answer.len());
}

#[test]
fn a_test_of_an_identity_provider_prints_every_check_and_fails_unless_all_passed() {
    let server = TestServer::start_new();
    let set = |name: &str, issuer: &str| {
        let args = ["identity-provider", "set", name, "--issuer", issuer, "--client-id", "flotilla"];
        assert_eq!(server.run_cli(&args).exit_code, 0);
    };
    set("works", &start_provider());
    // Nothing listens at this port.
    set("gone", "http://127.0.0.1:9");
    let works = server.run_cli(&["identity-provider", "test", "works"]);
    assert_eq!(works.exit_code, 0, "{works}");
    for shown in ["Discovery document", "Keys", "Client", "passed"] {
        assert!(works.stdout.contains(shown), "{shown}: {works}");
    }
    let json = server.run_cli_json(&["identity-provider", "test", "works", "-o", "json"]);
    assert_eq!((&json["succeeded"], &json["checks"][2]["check"]), (&true.into(), &"client".into()), "{json}");
    let gone = server.run_cli(&["identity-provider", "test", "gone"]);
    assert_eq!(gone.exit_code, 1, "{gone}");
    assert!(gone.stdout.contains("failed") && !gone.stdout.contains("passed"), "{gone}");
}

#[test]
fn an_identity_provider_is_saved_listed_and_removed_and_its_secret_is_not_printed() {
    let server = TestServer::start_new();
    let folder = tempfile::tempdir().unwrap();
    let secret = folder.path().join("secret.txt");
    std::fs::write(&secret, "canary-secret\n").unwrap();
    let set = |more: &[&str]| {
        let base = [
            "identity-provider",
            "set",
            "corp",
            "--issuer",
            "https://id.example.com",
            "--client-id",
            "flotilla",
        ];
        server.run_cli(&[&base[..], more].concat())
    };
    let file = secret.to_str().unwrap();
    let saved = set(&[
        "--client-secret-file",
        file,
        "--group-role",
        "ops=publisher",
        "--display-name",
        "Example Inc",
    ]);
    assert_eq!((saved.exit_code, &*saved.stdout), (0, "identity provider/corp saved\n"), "{saved}");
    assert!(
        saved.stderr.contains("/auth/corp/callback")
            && saved.stderr.contains("/auth/corp/back-channel-logout"),
        "{saved}"
    );
    let wrong = set(&["--group-role", "ops=king"]);
    assert!(wrong.exit_code != 0 && wrong.stderr.contains("is not a role"), "{wrong}");
    // The secret stays; what else is not named gets its default.
    assert_eq!(set(&["--group-role", "ops=editor", "--disabled"]).exit_code, 0);
    let listed = server.run_cli_json(&["identity-provider", "list", "-o", "json"]);
    let corp = &listed[0];
    assert_eq!((&corp["hasClientSecret"], &corp["enabled"]), (&true.into(), &false.into()), "{listed}");
    assert_eq!((&corp["displayName"], &corp["groupsClaim"]), (&"corp".into(), &"groups".into()), "{listed}");
    assert!(!listed.to_string().contains("canary"), "{listed}");
    let table = server.run_cli(&["identity-provider", "list"]);
    assert!(table.stdout.contains("ops=editor") && table.stdout.contains("disabled"), "{table}");
    let nobody = server.run_cli(&["user", "explain", "nobody"]);
    assert!(nobody.exit_code != 0 && nobody.stderr.contains("There is no user"), "{nobody}");

    let unconfirmed = server.run_cli(&["identity-provider", "remove", "corp"]);
    assert!(unconfirmed.exit_code != 0 && unconfirmed.stderr.contains("signed out"), "{unconfirmed}");
    let removed = server.run_cli(&["identity-provider", "remove", "corp", "--yes"]);
    assert_eq!((removed.exit_code, &*removed.stdout), (0, "identity provider/corp removed\n"), "{removed}");
    let empty = server.run_cli_json(&["identity-provider", "list", "-o", "json"]);
    assert_eq!(empty, serde_json::json!([]));
}
