//! The built command without any server: `validate` on the fixtures, exit codes, and what it says when it can't go on.

use std::io::Write;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

struct Said {
    code: i32,
    out: String,
    err: String,
}

/// The command with nothing of this machine's settings.
fn command(args: &[&str]) -> Command {
    let mut command = Command::new(env!("CARGO_BIN_EXE_flotilla"));
    command.args(args).env_clear().stdin(Stdio::null());
    command
}

fn done(mut command: Command) -> Said {
    let output = command.output().unwrap();
    Said {
        code: output.status.code().unwrap(),
        out: String::from_utf8(output.stdout).unwrap(),
        err: String::from_utf8(output.stderr).unwrap(),
    }
}

fn flotilla(args: &[&str]) -> Said {
    done(command(args))
}

fn fixture(name: &str) -> String {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../end2end/fixtures");
    let path: PathBuf = root.join(name);
    assert!(path.exists(), "{} is gone", path.display());
    path.display().to_string()
}

#[test]
fn the_good_fixtures_are_valid() {
    for name in ["three-tier", "ten-services", "crd", "stateful", "jobs"] {
        let said = flotilla(&["validate", "-f", &fixture(name)]);
        assert_eq!(said.code, 0, "{name}: {}{}", said.out, said.err);
        assert!(said.out.contains(" objects: "), "{}", said.out);
    }
}

#[test]
fn s0_15_what_is_bad_is_told_with_its_place_and_how_to_mend_it() {
    let expected = [
        ("duplicate-key.yaml", "duplicate-key.yaml:16:11: error[G109]", "image"),
        ("selector-mismatch.yaml", "selector-mismatch.yaml:9:7: error[G214]", "app=api"),
        ("unknown-field.yaml", "unknown-field.yaml:7:3: error[G403]", "did you mean replicas?"),
        ("missing-kind.yaml", "missing-kind.yaml:8:1: error[G109]", "nameless-kind"),
        ("not-yaml.yaml", "not-yaml.yaml:1:1: error[G109]", "a script"),
        ("bomb.yaml", "error[G111]", "bomb.yaml"),
    ];
    for (name, place, word) in expected {
        let said = flotilla(&["validate", "-f", &fixture(&format!("bad/{name}"))]);
        assert_eq!(said.code, 3, "{name}: {}", said.out);
        for part in [place, word, "    fix: "] {
            assert!(said.out.contains(part), "{part:?} is missing in {}", said.out);
        }
        assert!(!said.out.contains('\u{1b}'), "no colour without a terminal");
    }
}

#[test]
fn programs_get_the_findings_as_the_api_gives_them() {
    let said = flotilla(&["validate", "-o", "json", "-f", &fixture("bad")]);
    assert_eq!(said.code, 3);
    let answer: serde_json::Value = serde_json::from_str(&said.out).unwrap();
    assert_eq!(answer["valid"], false);
    let findings: Vec<domain::Finding> = serde_json::from_value(answer["findings"].clone()).unwrap();
    let duplicate = findings.iter().find(|finding| finding.message.contains("twice")).unwrap();
    assert_eq!(duplicate.place.as_ref().unwrap().file, "duplicate-key.yaml");
    assert!(said.err.is_empty(), "{}", said.err);
}

#[test]
fn manifests_come_through_a_pipe_too() {
    let mut command = command(&["validate", "-f", "-", "--name", "web"]);
    let mut child = command.stdin(Stdio::piped()).stdout(Stdio::piped()).spawn().unwrap();
    let text = "apiVersion: v1\nkind: ConfigMap\nmetadata: {name: a}\n";
    child.stdin.take().unwrap().write_all(text.as_bytes()).unwrap();
    let output = child.wait_with_output().unwrap();
    assert_eq!(output.status.code(), Some(0));
    assert_eq!(String::from_utf8(output.stdout).unwrap(), "1 object: no findings\n");
}

#[test]
fn a_pipe_with_nothing_in_it_is_refused() {
    let said = flotilla(&["validate", "-f", "-"]);
    assert_eq!(said.code, 1);
    assert!(said.err.contains("There is nothing in stdin"), "{}", said.err);
}

#[test]
fn a_reader_who_goes_away_ends_it_quietly() {
    let mut child =
        command(&["completion", "bash"]).stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().unwrap();
    drop(child.stdout.take());
    let output = child.wait_with_output().unwrap();
    assert_eq!(output.status.code(), Some(0));
    assert!(output.stderr.is_empty(), "{}", String::from_utf8_lossy(&output.stderr));
}

#[test]
fn a_wrong_command_line_is_2() {
    for args in [
        &["publish"][..],
        &["nonsense"],
        &["apply", "-f", "x", "--clusters", "a", "--all-clusters"],
        &["apply", "-f", "x", "--selector", "a=b", "--clusters", "a"],
        &["publish", "w", "--wait", "--timeout", "soon"],
        &["--server", "ftp://x", "get"],
        &["get"],
    ] {
        assert_eq!(flotilla(args).code, 2, "{args:?}");
    }
}

#[test]
fn without_a_server_it_says_how_to_name_one() {
    let said = flotilla(&["get"]);
    assert!(said.err.contains("flotilla login"), "{}", said.err);
    assert!(said.err.contains("FLOTILLA_SERVER"), "{}", said.err);
}

#[test]
fn a_server_that_is_not_there_is_named_with_where_its_address_came_from() {
    let mut command = command(&["get"]);
    // Port 9 is "discard"; nobody has it open.
    command.env("FLOTILLA_SERVER", "http://127.0.0.1:9").env("FLOTILLA_TOKEN", "flt_secret");
    let said = done(command);
    assert_eq!(said.code, 1);
    assert!(said.err.contains("http://127.0.0.1:9 can't be reached"), "{}", said.err);
    assert!(said.err.contains("comes from FLOTILLA_SERVER"), "{}", said.err);
    assert!(!said.err.contains("flt_secret"));
}

#[test]
fn the_token_is_never_shown() {
    for args in
        [&["--help"][..], &["login", "--help"], &["get", "-x"], &["context"], &["version", "--client"]]
    {
        let mut command = command(args);
        command.env("FLOTILLA_TOKEN", "flt_secret").env("FLOTILLA_CONFIG", "/nonexistent/flotilla.yaml");
        let said = done(command);
        assert!(!said.out.contains("flt_secret") && !said.err.contains("flt_secret"), "{args:?}");
    }
}

#[test]
fn contexts_are_listed_and_chosen_without_their_tokens() {
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("config.yaml");
    let text =
        "current: a\ncontexts:\n  a: {server: 'http://a', token: flt_secret}\n  b: {server: 'http://b'}\n";
    std::fs::write(&file, text).unwrap();
    let with = |args: &[&str]| {
        let mut command = command(args);
        command.env("FLOTILLA_CONFIG", &file);
        done(command)
    };
    assert_eq!(with(&["context", "use", "b"]).code, 0);
    let said = with(&["context", "list", "-o", "json"]);
    let answer: serde_json::Value = serde_json::from_str(&said.out).unwrap();
    assert_eq!(answer[0]["hasToken"], true);
    assert_eq!(answer[1]["current"], true);
    assert!(!said.out.contains("flt_secret"));
    assert_eq!(with(&["context", "use", "c"]).code, 1);
    assert_eq!(with(&["context", "remove", "a"]).code, 0);
    assert!(!std::fs::read_to_string(&file).unwrap().contains("flt_secret"));
}

#[test]
fn every_shell_gets_its_completion() {
    for shell in ["bash", "zsh", "fish", "powershell"] {
        let said = flotilla(&["completion", shell]);
        assert_eq!(said.code, 0);
        assert!(said.out.contains("publish"), "{shell}");
    }
}

#[test]
fn r1_a_definition_file_is_validated_with_its_payload() {
    let folder = tempfile::tempdir().unwrap();
    let definition = folder.path().join("workload.yaml");
    let text = format!("name: tiers\nclusters: eu-1, us-1\npayload: {}\n", fixture("three-tier"));
    std::fs::write(&definition, text).unwrap();
    let said = flotilla(&["validate", "-f", &definition.display().to_string()]);
    assert_eq!(said.code, 0, "{}{}", said.out, said.err);
}

#[test]
fn s0_15_what_can_be_meant_in_one_way_only_is_written_into_the_files() {
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("web.yaml");
    let text = "# keep me\napiVersion: v1\nkind: Pod\nmetadata: {name: a}\nspec:\n  containers:\n  - name: a\n    image: Nginx:1.29 # pinned\n    resources: {limits: {memory: 512mb}}\n";
    std::fs::write(&file, text).unwrap();
    let shown = file.display().to_string();
    assert_eq!(flotilla(&["validate", "-f", &shown]).code, 3);
    assert_eq!(std::fs::read_to_string(&file).unwrap(), text, "nothing is written unless it is asked for");
    let said = flotilla(&["validate", "--fix", "-f", &shown]);
    assert_eq!(said.code, 0, "{}{}", said.out, said.err);
    assert!(
        said.out.contains(&format!("{shown}:9: fixed[G209] Write \"512Mi\" instead of \"512mb\".")),
        "{}",
        said.out
    );
    let mended = text.replace("Nginx", "nginx").replace("512mb", "512Mi");
    assert_eq!(std::fs::read_to_string(&file).unwrap(), mended);
    let said = flotilla(&["validate", "--fix", "-f", "-", "--name", "web"]);
    assert_eq!(said.code, 1, "there is nothing in it: {}{}", said.out, said.err);
}
