//! Charts from the command line: packed, pushed, applied with values, published, and their values explained.

use std::path::Path;

use flate2::Compression;
use flate2::write::GzEncoder;
use tar::{Builder, Header};

use crate::WAIT_TIMEOUT;
use crate::test_server::TestServer;

/// Writes a packed chart with one ConfigMap.
pub fn write_chart(path: &Path, version: &str) {
    write_chart_with(path, version, &[("values.yaml", "replicas: 1\n")]);
}

/// The same with these files in place of its values.
fn write_chart_with(path: &Path, version: &str, files: &[(&str, &str)]) {
    let description =
        format!("apiVersion: v2\nname: web\nversion: {version}\ndescription: Shows its values\n");
    let template = "apiVersion: v1\nkind: ConfigMap\nmetadata: {name: {{ .Release.Name }}, namespace: {{ .Release.Namespace }}}\ndata: {replicas: {{ .Values.replicas | quote }}}\n";
    let file = std::fs::File::create(path).unwrap();
    let mut builder = Builder::new(GzEncoder::new(file, Compression::fast()));
    let described = [("Chart.yaml", description.as_str()), ("templates/a.yaml", template)];
    for &(name, text) in described.iter().chain(files) {
        let mut header = Header::new_gnu();
        header.set_size(text.len() as u64);
        header.set_mode(0o644);
        builder.append_data(&mut header, format!("web/{name}"), text.as_bytes()).unwrap();
    }
    builder.into_inner().unwrap().finish().unwrap();
}

#[test]
fn s1_10_r1_r6_a_chart_is_pushed_applied_with_values_published_and_explained() {
    let server = TestServer::start_new();
    let folder = tempfile::tempdir().unwrap();
    let path = |name: &str| folder.path().join(name).display().to_string();
    write_chart(Path::new(&path("web-1.0.0.tgz")), "1.0.0");

    let pushed = server.run_cli(&["chart", "push", &path("web-1.0.0.tgz")]);
    assert_eq!((pushed.exit_code, &*pushed.stdout), (0, "chart/local/web 1.0.0 uploaded\n"), "{pushed}");
    let listed = server.run_cli(&["chart", "list"]);
    assert!(listed.stdout.contains("local/web") && listed.stdout.contains("Shows its values"), "{listed}");
    let defaults = server.run_cli(&["chart", "get", "local/web", "--values"]);
    assert_eq!(defaults.stdout, "replicas: 1\n");

    std::fs::write(path("values.yaml"), "replicas: 2 # for all\n").unwrap();
    let applied = server.run_cli(&[
        "apply",
        "--chart",
        "local/web",
        "--values",
        &path("values.yaml"),
        "--all-clusters",
        "-n",
        "shop",
    ]);
    assert_eq!(applied.stdout, "workload/web created (draft)\n", "{applied}");
    let published = server.run_cli(&["publish", "web", "--wait", "--timeout", WAIT_TIMEOUT]);
    assert_eq!(published.exit_code, 0, "{published}");
    let values = server.run_cli(&["values", "web", "--cluster", "eu-west-1", "--show-source"]);
    assert!(values.stdout.contains("common ← chart default 1"), "{values}");

    // A file is uploaded on the way, and only what a flag names changes.
    write_chart(Path::new(&path("web-1.1.0.tgz")), "1.1.0");
    let upgraded = server.run_cli(&["apply", "--name", "web", "--chart", &path("web-1.1.0.tgz")]);
    assert_eq!(upgraded.stdout, "workload/web changed (draft)\n", "{upgraded}");
    let workload = server.run_cli_json(&["get", "web", "-o", "json"]);
    let source = &workload["draft"]["source"];
    assert_eq!((&source["type"], &source["version"]), (&"chart".into(), &"1.1.0".into()), "{workload}");
    assert_eq!(source["values"], "replicas: 2 # for all\n", "comments are kept");

    // A single value is set in the text of the others.
    let set = server.run_cli(&["apply", "--name", "web", "--set", "replicas=3", "--set-string", "note=007"]);
    assert_eq!(set.stdout, "workload/web changed (draft)\n", "{set}");
    let workload = server.run_cli_json(&["get", "web", "-o", "json"]);
    let values = workload["draft"]["source"]["values"].as_str().unwrap();
    assert!(values.starts_with("replicas: 3 # for all\n"), "{values}");
    let merged =
        server.run_cli_json(&["values", "web", "--cluster", "eu-west-1", "-o", "json"])["values"].take();
    assert_eq!((&merged["replicas"], &merged["note"]), (&3.into(), &"007".into()), "{merged}");

    // The same by a definition file.
    let definition = "name: other\nnamespace: shop\ntype: Helm\npayload: ./web-1.1.0.tgz\nvalues: ./values.yaml\nclusters: eu-west-1\n";
    std::fs::write(path("workload.yaml"), definition).unwrap();
    let defined = server.run_cli(&["apply", "-f", &path("workload.yaml")]);
    assert_eq!(defined.stdout, "workload/other created (draft)\n", "{defined}");

    // Bad input: what, why and what to do.
    let missing = server.run_cli(&["apply", "--name", "bad", "--chart", "local/wbe", "--all-clusters"]);
    assert!(missing.stderr.contains("Did you mean \"local/web\"?"), "{missing}");
    std::fs::write(path("no.tgz"), "not a chart").unwrap();
    let hostile = server.run_cli(&["chart", "push", &path("no.tgz")]);
    assert!(hostile.exit_code == 3 && hostile.stderr.contains("is no readable .tgz file"), "{hostile}");
}

#[test]
fn p19_a_file_of_a_chart_that_is_too_long_for_a_response_is_a_failure_and_a_cut_readme_has_a_warning() {
    let server = TestServer::start_new();
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("web-1.0.0.tgz");
    // Each of these characters has six bytes in JSON.
    let values = format!("# {}\n", "\u{1}".repeat(720_000));
    let readme = "# Web ".repeat(50_000);
    let schema = "{\"type\":\"object\"}";
    let files = [("values.yaml", &*values), ("README.md", &*readme), ("values.schema.json", schema)];
    write_chart_with(&path, "1.0.0", &files);
    let pushed = server.run_cli(&["chart", "push", &path.display().to_string()]);
    assert_eq!(pushed.exit_code, 0, "{pushed}");
    let values = server.run_cli(&["chart", "get", "local/web", "--values"]);
    assert_eq!((values.exit_code, &*values.stdout), (1, ""), "{values}");
    assert!(values.stderr.contains("values.yaml is not in the response: it has 4320004 bytes"), "{values}");
    let shown = server.run_cli(&["chart", "get", "local/web", "--readme"]);
    assert!(shown.exit_code == 0 && readme.starts_with(shown.stdout.trim_end()), "{}", shown.stderr);
    assert!(shown.stderr.contains("warning: README.md has 300000 bytes"), "{}", shown.stderr);
    let schema = server.run_cli(&["chart", "get", "local/web", "--schema"]);
    assert_eq!((schema.exit_code, &*schema.stdout), (0, "{\"type\":\"object\"}\n"), "{schema}");
}
