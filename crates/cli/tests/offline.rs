//! Tests the built command line without a server: `validate` on the fixtures, exit codes, and error messages.

use std::io::Write;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

struct CliOutput {
    exit_code: i32,
    stdout: String,
    stderr: String,
}

/// The command with an empty environment.
fn cli_command(args: &[&str]) -> Command {
    let mut command = Command::new(env!("CARGO_BIN_EXE_flotilla"));
    command.args(args).env_clear().stdin(Stdio::null());
    command
}

fn run_command(mut command: Command) -> CliOutput {
    let output = command.output().unwrap();
    CliOutput {
        exit_code: output.status.code().unwrap(),
        stdout: String::from_utf8(output.stdout).unwrap(),
        stderr: String::from_utf8(output.stderr).unwrap(),
    }
}

fn run_cli(args: &[&str]) -> CliOutput {
    run_command(cli_command(args))
}

fn fixture_path(name: &str) -> String {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../end2end/fixtures");
    let path: PathBuf = root.join(name);
    assert!(path.exists(), "{} is gone", path.display());
    path.display().to_string()
}

#[test]
fn the_good_fixtures_are_valid() {
    for name in ["three-tier", "ten-services", "crd", "stateful", "jobs"] {
        let output = run_cli(&["validate", "-f", &fixture_path(name)]);
        assert_eq!(output.exit_code, 0, "{name}: {}{}", output.stdout, output.stderr);
        assert!(output.stdout.contains(" objects: "), "{}", output.stdout);
    }
}

#[test]
fn s0_15_invalid_manifests_are_reported_with_location_and_hint() {
    let expected = [
        ("duplicate-key.yaml", "duplicate-key.yaml:16:11: error[G109]", "image"),
        ("selector-mismatch.yaml", "selector-mismatch.yaml:9:7: error[G214]", "app=api"),
        ("unknown-field.yaml", "unknown-field.yaml:7:3: error[G403]", "did you mean replicas?"),
        ("missing-kind.yaml", "missing-kind.yaml:8:1: error[G109]", "nameless-kind"),
        ("not-yaml.yaml", "not-yaml.yaml:1:1: error[G109]", "a script"),
        ("bomb.yaml", "error[G111]", "bomb.yaml"),
    ];
    for (name, location, word) in expected {
        let output = run_cli(&["validate", "-f", &fixture_path(&format!("bad/{name}"))]);
        assert_eq!(output.exit_code, 3, "{name}: {}", output.stdout);
        for part in [location, word, "    fix: "] {
            assert!(output.stdout.contains(part), "{part:?} is missing in {}", output.stdout);
        }
        assert!(!output.stdout.contains('\u{1b}'), "no colour without a terminal");
    }
}

#[test]
fn json_output_has_the_findings_in_the_form_of_the_api() {
    let output = run_cli(&["validate", "-o", "json", "-f", &fixture_path("bad")]);
    assert_eq!(output.exit_code, 3);
    let result: serde_json::Value = serde_json::from_str(&output.stdout).unwrap();
    assert_eq!(result["valid"], false);
    let findings: Vec<domain::Finding> = serde_json::from_value(result["findings"].clone()).unwrap();
    let duplicate = findings.iter().find(|finding| finding.message.contains("twice")).unwrap();
    assert_eq!(duplicate.location.as_ref().unwrap().file, "duplicate-key.yaml");
    assert!(output.stderr.is_empty(), "{}", output.stderr);
}

#[test]
fn manifests_are_read_from_a_pipe() {
    let mut command = cli_command(&["validate", "-f", "-", "--name", "web"]);
    let mut child = command.stdin(Stdio::piped()).stdout(Stdio::piped()).spawn().unwrap();
    let text = "apiVersion: v1\nkind: ConfigMap\nmetadata: {name: a}\n";
    child.stdin.take().unwrap().write_all(text.as_bytes()).unwrap();
    let output = child.wait_with_output().unwrap();
    assert_eq!(output.status.code(), Some(0));
    assert_eq!(String::from_utf8(output.stdout).unwrap(), "1 object: no findings\n");
}

#[test]
fn an_empty_pipe_is_rejected() {
    let output = run_cli(&["validate", "-f", "-"]);
    assert_eq!(output.exit_code, 1);
    assert!(output.stderr.contains("stdin contains no manifest"), "{}", output.stderr);
}

#[test]
fn a_closed_stdout_ends_the_command_without_an_error() {
    let mut child =
        cli_command(&["completion", "bash"]).stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().unwrap();
    drop(child.stdout.take());
    let output = child.wait_with_output().unwrap();
    assert_eq!(output.status.code(), Some(0));
    assert!(output.stderr.is_empty(), "{}", String::from_utf8_lossy(&output.stderr));
}

#[test]
fn a_wrong_command_line_exits_with_2() {
    for args in [
        &["publish"][..],
        &["nonsense"],
        &["apply", "-f", "x", "--clusters", "a", "--all-clusters"],
        &["apply", "-f", "x", "--selector", "a=b", "--clusters", "a"],
        &["publish", "w", "--wait", "--timeout", "soon"],
        &["--server", "ftp://x", "get"],
        &["get"],
    ] {
        assert_eq!(run_cli(args).exit_code, 2, "{args:?}");
    }
}

#[test]
fn without_a_server_the_hint_names_the_login_command() {
    let output = run_cli(&["get"]);
    assert!(output.stderr.contains("flotilla login"), "{}", output.stderr);
    assert!(output.stderr.contains("FLOTILLA_SERVER"), "{}", output.stderr);
}

#[test]
fn an_unreachable_server_is_reported_with_the_source_of_its_address() {
    let mut command = cli_command(&["get"]);
    // Port 9 is "discard" and closed on all test machines.
    command.env("FLOTILLA_SERVER", "http://127.0.0.1:9").env("FLOTILLA_TOKEN", "flt_secret");
    let output = run_command(command);
    assert_eq!(output.exit_code, 1);
    assert!(output.stderr.contains("http://127.0.0.1:9 can't be reached"), "{}", output.stderr);
    assert!(output.stderr.contains("comes from FLOTILLA_SERVER"), "{}", output.stderr);
    assert!(!output.stderr.contains("flt_secret"));
}

#[test]
fn the_token_is_never_shown() {
    for args in
        [&["--help"][..], &["login", "--help"], &["get", "-x"], &["context"], &["version", "--client"]]
    {
        let mut command = cli_command(args);
        command.env("FLOTILLA_TOKEN", "flt_secret").env("FLOTILLA_CONFIG", "/nonexistent/flotilla.yaml");
        let output = run_command(command);
        assert!(!output.stdout.contains("flt_secret") && !output.stderr.contains("flt_secret"), "{args:?}");
    }
}

#[test]
fn contexts_are_listed_and_selected_without_their_tokens() {
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("config.yaml");
    let text =
        "current: a\ncontexts:\n  a: {server: 'http://a', token: flt_secret}\n  b: {server: 'http://b'}\n";
    std::fs::write(&file, text).unwrap();
    let with = |args: &[&str]| {
        let mut command = cli_command(args);
        command.env("FLOTILLA_CONFIG", &file);
        run_command(command)
    };
    assert_eq!(with(&["context", "use", "b"]).exit_code, 0);
    let output = with(&["context", "list", "-o", "json"]);
    let result: serde_json::Value = serde_json::from_str(&output.stdout).unwrap();
    assert_eq!(result[0]["hasToken"], true);
    assert_eq!(result[1]["current"], true);
    assert!(!output.stdout.contains("flt_secret"));
    assert_eq!(with(&["context", "use", "c"]).exit_code, 1);
    assert_eq!(with(&["context", "remove", "a"]).exit_code, 0);
    assert!(!std::fs::read_to_string(&file).unwrap().contains("flt_secret"));
}

#[test]
fn every_shell_has_a_completion_script() {
    for shell in ["bash", "zsh", "fish", "powershell"] {
        let output = run_cli(&["completion", shell]);
        assert_eq!(output.exit_code, 0);
        assert!(output.stdout.contains("publish"), "{shell}");
    }
}

#[test]
fn r1_a_definition_file_is_validated_with_its_payload() {
    let folder = tempfile::tempdir().unwrap();
    let definition = folder.path().join("workload.yaml");
    let text = format!("name: tiers\nclusters: eu-1, us-1\npayload: {}\n", fixture_path("three-tier"));
    std::fs::write(&definition, text).unwrap();
    let output = run_cli(&["validate", "-f", &definition.display().to_string()]);
    assert_eq!(output.exit_code, 0, "{}{}", output.stdout, output.stderr);
}

#[test]
fn a_folder_with_values_of_another_tool_is_valid_and_the_file_itself_is_not() {
    let folder = tempfile::tempdir().unwrap();
    let write = |name: &str, text: &str| std::fs::write(folder.path().join(name), text).unwrap();
    write("config.yaml", "apiVersion: v1\nkind: ConfigMap\nmetadata: {name: app}\n");
    write("values-production.yaml", "replicas: 9\n");
    let output = run_cli(&["validate", "-f", &folder.path().display().to_string()]);
    assert_eq!(output.exit_code, 0, "{}{}", output.stdout, output.stderr);
    assert!(output.stdout.contains("warning[G109]"), "{}", output.stdout);
    assert!(output.stdout.contains("\"values-production.yaml\" is left out"), "{}", output.stdout);
    let named = folder.path().join("values-production.yaml").display().to_string();
    assert_eq!(run_cli(&["validate", "-f", &named]).exit_code, 3, "a file that is named is a manifest");
}

#[test]
fn folders_below_a_folder_are_read_with_r_and_named_without_it() {
    let folder = tempfile::tempdir().unwrap();
    let map = |name: &str| format!("apiVersion: v1\nkind: ConfigMap\nmetadata: {{name: {name}}}\n");
    for (name, text) in [
        ("config.yaml", map("app")),
        ("regions/eu/config.yaml", map("eu")),
        ("regions/eu/values.yaml", "replicas: 9\n".to_owned()),
        ("dashboards/app.json", "{\"panels\": []}\n".to_owned()),
        (".github/check.yml", "on: push\n".to_owned()),
    ] {
        let path = folder.path().join(name);
        std::fs::create_dir_all(path.parent().unwrap()).unwrap();
        std::fs::write(path, text).unwrap();
    }
    let shown = folder.path().display().to_string();
    let alone = run_cli(&["validate", "-f", &shown]);
    assert_eq!(alone.exit_code, 0, "{}{}", alone.stdout, alone.stderr);
    assert!(alone.stdout.contains("1 object: "), "{}", alone.stdout);
    let named = "2 folders below were not read: dashboards, regions/eu.";
    assert!(alone.stdout.contains(named) && alone.stdout.contains("-R"), "{}", alone.stdout);

    let all = run_cli(&["validate", "-R", "-f", &shown]);
    assert_eq!(all.exit_code, 0, "{}{}", all.stdout, all.stderr);
    assert!(all.stdout.contains("2 objects: "), "{}", all.stdout);
    assert_eq!(all.stdout.matches("warning[G109]").count(), 1, "one warning: {}", all.stdout);
    for file in ["dashboards/app.json", "regions/eu/values.yaml"] {
        assert!(all.stdout.contains(file), "{}", all.stdout);
    }
    assert!(!all.stdout.contains(".github"), "{}", all.stdout);
}

#[test]
fn s0_15_unambiguous_fixes_are_written_into_the_files() {
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("web.yaml");
    let text = "# a comment\napiVersion: v1\nkind: Pod\nmetadata: {name: a}\nspec:\n  containers:\n  - name: a\n    image: Nginx:1.29 # pinned\n    resources: {limits: {memory: 512mb}}\n";
    std::fs::write(&file, text).unwrap();
    let shown = file.display().to_string();
    assert_eq!(run_cli(&["validate", "-f", &shown]).exit_code, 3);
    assert_eq!(std::fs::read_to_string(&file).unwrap(), text, "without --fix no file is written");
    let output = run_cli(&["validate", "--fix", "-f", &shown]);
    assert_eq!(output.exit_code, 0, "{}{}", output.stdout, output.stderr);
    assert!(
        output.stdout.contains(&format!("{shown}:9: fixed[G209] Write \"512Mi\" instead of \"512mb\".")),
        "{}",
        output.stdout
    );
    let fixed = text.replace("Nginx", "nginx").replace("512mb", "512Mi");
    assert_eq!(std::fs::read_to_string(&file).unwrap(), fixed);
    let output = run_cli(&["validate", "--fix", "-f", "-", "--name", "web"]);
    assert_eq!(output.exit_code, 1, "stdin is empty: {}{}", output.stdout, output.stderr);
}

#[test]
fn an_export_of_the_audit_log_is_verified_without_a_server() {
    use domain::audit::{AuditEntry, AuditOutcome, AuditRecord, first_hash};
    let mut previous = first_hash();
    let lines: Vec<String> = (1..=3)
        .map(|seq| {
            let record = AuditRecord {
                actor: "ada".into(),
                credential: String::new(),
                address: String::new(),
                request_id: String::new(),
                action: "publish".into(),
                outcome: AuditOutcome::Succeeded,
                subject: "workload shop".into(),
                message: format!("r{seq}"),
                changes: Vec::new(),
            };
            let entry = AuditEntry::chain(seq, domain::Timestamp::from_millis(seq), record, previous.clone());
            previous = entry.hash.clone();
            serde_json::to_string(&entry).unwrap()
        })
        .collect();
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("audit.jsonl");
    let verify = |text: String, more: &[&str]| {
        std::fs::write(&file, text).unwrap();
        run_cli(&[&["audit", "verify", file.to_str().unwrap()], more].concat())
    };
    let intact = verify(lines.join("\n"), &["--head", previous.as_str()]);
    assert_eq!(intact.exit_code, 0, "{}", intact.stderr);
    assert!(intact.stdout.contains("intact up to entry 3") && intact.stdout.contains(previous.as_str()));
    let changed = verify(lines.join("\n").replace("r2", "r9"), &[]);
    assert_eq!(changed.exit_code, 1);
    assert!(changed.stderr.contains("entry 2"), "{}", changed.stderr);
    let cut = verify(lines[..2].join("\n"), &["--head", previous.as_str()]);
    assert_eq!(cut.exit_code, 1);
    assert!(cut.stderr.contains("replaced"), "{}", cut.stderr);
}
