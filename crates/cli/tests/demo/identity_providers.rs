//! `flotilla identity-provider`.

use crate::test_server::TestServer;

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
