//! `flotilla-server keys`: the keys of the database's encrypted columns, as an administrator sees them.

use std::path::Path;
use std::process::{Command, Output};

fn run(data: &Path, args: &[&str]) -> Output {
    Command::new(env!("CARGO_BIN_EXE_flotilla-server"))
        .args(args)
        .arg("--data")
        .arg(data)
        .env_remove("FLOTILLA_KEY")
        .output()
        .unwrap()
}

fn succeed(data: &Path, args: &[&str]) -> String {
    let output = run(data, args);
    assert!(output.status.success(), "{args:?}: {}", String::from_utf8_lossy(&output.stderr));
    String::from_utf8(output.stdout).unwrap()
}

fn fail(data: &Path, args: &[&str]) -> String {
    let output = run(data, args);
    assert!(!output.status.success(), "{args:?}: {}", String::from_utf8_lossy(&output.stdout));
    String::from_utf8(output.stderr).unwrap()
}

#[test]
fn keys_are_shown_rotated_and_wrapped_by_another_key() {
    let folder = tempfile::tempdir().unwrap();
    let data = folder.path();
    fail(data, &["keys", "status"]);
    succeed(data, &["migrate"]);
    let status = succeed(data, &["keys", "status"]);
    assert!(status.contains("Encryption is complete") && status.matches("Data key").count() == 1, "{status}");
    succeed(data, &["keys", "rotate"]);
    let status = succeed(data, &["keys", "status"]);
    assert!(
        status.matches("Data key").count() == 2 && status.contains("revision.spec: in progress"),
        "{status}"
    );

    let file = data.join("keys").join("flotilla.key");
    let old = std::fs::read_to_string(&file).unwrap();
    let new =
        Command::new(env!("CARGO_BIN_EXE_flotilla-server")).args(["keys", "generate"]).output().unwrap();
    let new = String::from_utf8(new.stdout).unwrap();
    std::fs::write(&file, format!("{new}{old}")).unwrap();
    let rewrapped = succeed(data, &["keys", "rewrap"]);
    assert!(rewrapped.contains("Wrapped 2 data keys"), "{rewrapped}");
    std::fs::write(&file, &new).unwrap();
    succeed(data, &["keys", "status"]);

    std::fs::write(&file, &old).unwrap();
    let refused = fail(data, &["serve", "--listen", "127.0.0.1:0"]);
    assert!(refused.contains("give this server the key"), "{refused}");
    std::fs::remove_file(&file).unwrap();
    let refused = fail(data, &["serve", "--listen", "127.0.0.1:0"]);
    assert!(refused.contains("key file") && refused.contains("is missing"), "{refused}");
    for text in [status, rewrapped, refused] {
        assert!(!text.contains(new.trim().trim_start_matches("flotilla-key-1:")), "{text}");
    }
}
