//! Charts from the command line: packed, pushed, applied with values, published, and their values explained.

use std::path::Path;

use flate2::Compression;
use flate2::write::GzEncoder;
use tar::{Builder, Header};

use crate::WAIT_TIMEOUT;
use crate::test_server::TestServer;

/// Writes a packed chart with one ConfigMap.
pub fn write_chart(path: &Path, version: &str) {
    let description =
        format!("apiVersion: v2\nname: web\nversion: {version}\ndescription: Shows its values\n");
    let template = "apiVersion: v1\nkind: ConfigMap\nmetadata: {name: {{ .Release.Name }}, namespace: {{ .Release.Namespace }}}\ndata: {replicas: {{ .Values.replicas | quote }}}\n";
    let file = std::fs::File::create(path).unwrap();
    let mut builder = Builder::new(GzEncoder::new(file, Compression::fast()));
    for (name, text) in [
        ("Chart.yaml", description.as_str()),
        ("values.yaml", "replicas: 1\n"),
        ("templates/a.yaml", template),
    ] {
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
