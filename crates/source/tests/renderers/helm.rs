//! Charts rendered by the real helm, in the sandbox: as `helm template` does, and within the limits.

use std::collections::BTreeMap;
use std::process::Command;

use domain::chart::ChartInputs;
use domain::chart_hook::is_test_hook;
use domain::manifest;
use domain::workload::SourceFile;
use serde_json::Value;
use source::helm::{FailureKind, RenderedChart};

use super::{chart, helm, helm_program, inputs, pack_chart, render_archive};

pub const CONFIG: &str = "apiVersion: v1\nkind: ConfigMap\nmetadata: {name: web}\ndata:\n";

async fn render(template: &str, values: &str) -> Result<RenderedChart, source::helm::RenderFailed> {
    let template = format!("{CONFIG}{template}");
    render_archive(&helm().await, &chart(&[("templates/a.yaml", &template)]), &inputs(values)).await
}

fn objects(files: &[SourceFile]) -> BTreeMap<String, Value> {
    let parsed = manifest::parse(files);
    assert_eq!(
        parsed.findings.iter().filter(|found| found.is_blocking()).collect::<Vec<_>>(),
        Vec::<&domain::Finding>::new()
    );
    parsed.manifests.into_iter().map(|one| (one.object_ref().to_string(), one.object)).collect()
}

/// S1-10: what is published is what `helm template` prints with the same inputs.
#[tokio::test]
async fn s1_10_every_real_chart_renders_the_objects_of_helm_template() {
    let test = "s1_10_every_real_chart_renders_the_objects_of_helm_template";
    let Some(corpus) = testkit::find_corpus(test) else { return };
    let helm = helm().await;
    let values =
        [("podinfo", "replicaCount: 3\nui: {message: hello}\n"), ("app-template", APP_TEMPLATE_VALUES)];
    let mut rendered = Vec::new();
    for entry in std::fs::read_dir(corpus.join("charts")).unwrap() {
        let path = entry.unwrap().path();
        if path.extension().is_none_or(|extension| extension != "tgz") {
            continue;
        }
        let name = path.file_name().unwrap().to_string_lossy().into_owned();
        let values =
            values.iter().find(|(chart, _)| name.starts_with(chart)).map_or("", |(_, values)| values);
        let output = render_archive(&helm, &std::fs::read(&path).unwrap(), &inputs(values))
            .await
            .unwrap_or_else(|error| panic!("{name}: {error}"));
        let folder = tempfile::tempdir().unwrap();
        let values_file = folder.path().join("values.yaml");
        std::fs::write(&values_file, values).unwrap();
        let mut by_hand = Command::new(helm_program());
        by_hand
            .args(["template", "web"])
            .arg(&path)
            .args(["-n", "shop", "--include-crds", "--skip-tests", "--kube-version", "v1.36.3", "-f"])
            .arg(values_file);
        if !output.unchecked_schema_refs.is_empty() {
            by_hand.arg("--skip-schema-validation");
        }
        let by_hand = by_hand.output().unwrap();
        assert!(by_hand.status.success(), "{name}: {}", String::from_utf8_lossy(&by_hand.stderr));
        let text = String::from_utf8(by_hand.stdout).unwrap();
        let expected = objects(&[SourceFile { name: "all.yaml".into(), text }]);
        // Tests are rendered to be named, and never applied.
        let mut actual = objects(&output.files);
        actual.retain(|_, object| !is_test_hook(object));
        assert_eq!(actual.keys().collect::<Vec<_>>(), expected.keys().collect::<Vec<_>>(), "{name}");
        if output.random_files.is_empty() {
            assert!(actual == expected, "{name}");
        }
        rendered.push(name);
    }
    assert_eq!(rendered.len(), 8, "{rendered:?}");
}

const APP_TEMPLATE_VALUES: &str =
    "controllers: {main: {containers: {main: {image: {repository: nginx, tag: \"1.29\"}}}}}\n";

#[tokio::test]
async fn null_in_values_deletes_the_default_of_the_chart() {
    let template = format!("{CONFIG}  a: {{{{ .Values.m | toJson | quote }}}}\n");
    let archive = chart(&[("templates/a.yaml", &template), ("values.yaml", "m: {x: 1, z: 2}\n")]);
    let rendered = render_archive(&helm().await, &archive, &inputs(r#"{"m":{"x":null}}"#)).await.unwrap();
    let objects = objects(&rendered.files);
    assert_eq!(objects.values().next().unwrap()["data"]["a"], r#"{"z":2}"#);
}

#[tokio::test]
async fn values_of_one_line_and_a_multiple_of_4096_bytes_are_not_lost() {
    let values = format!(r#"{{"a":"{}"}}"#, "x".repeat(4096 - 8));
    assert_eq!(values.len(), 4096);
    let rendered = render("  a: {{ len .Values.a | quote }}\n", &values).await.unwrap();
    assert_eq!(objects(&rendered.files).values().next().unwrap()["data"]["a"], "4088");
}

#[tokio::test]
async fn version_apis_release_and_namespace_are_those_of_the_inputs() {
    let template = "  a: {{ printf \"%s %s %s %v %v\" .Release.Name .Release.Namespace .Capabilities.KubeVersion.Version (.Capabilities.APIVersions.Has \"example.com/v1/Planet\") .Release.IsUpgrade | quote }}\n";
    let archive = chart(&[("templates/a.yaml", &format!("{CONFIG}{template}"))]);
    let with_api = ChartInputs {
        api_versions: vec!["example.com/v1".into(), "example.com/v1/Planet".into()],
        ..inputs("")
    };
    let rendered = render_archive(&helm().await, &archive, &with_api).await.unwrap();
    assert_eq!(objects(&rendered.files).values().next().unwrap()["data"]["a"], "web shop v1.36.3 true false");
}

#[tokio::test]
async fn content_that_differs_with_every_rendering_is_named() {
    let rendered = render("  a: {{ randAlphaNum 20 | quote }}\n", "").await.unwrap();
    assert_eq!(rendered.random_files, ["templates/a.yaml"]);
    assert!(render("  a: b\n", "").await.unwrap().random_files.is_empty());
}

/// S1-10: Helm loads packed subcharts, so what they read is found there.
#[tokio::test]
async fn a_packed_subchart_and_a_value_that_tpl_evaluates_are_rendered_and_named_if_they_are_random() {
    let token = "{{ define \"kit.token\" }}{{ randAlphaNum 8 }}{{ end }}";
    let library = pack_chart("kit", &[("templates/_kit.tpl", token.as_bytes())]);
    let by_library = format!("{CONFIG}  token: {{{{ include \"kit.token\" . }}}}\n");
    let by_value = format!("{CONFIG}  note: {{{{ tpl .Values.note . }}}}\n");
    let files: [(&str, &[u8]); 3] = [
        ("charts/kit-1.0.0.tgz", &library),
        ("templates/a.yaml", by_library.as_bytes()),
        ("templates/b.yaml", by_value.as_bytes()),
    ];
    let random = async |files: &[(&str, &[u8])], values: &str| {
        render_archive(&helm().await, &pack_chart("web", files), &inputs(values)).await.unwrap().random_files
    };
    let (fixed, changing) = (r#"{"note":"{{ .Release.Name }}"}"#, r#"{"note":"{{ randNumeric 9 }}"}"#);
    assert_eq!(random(&files, fixed).await, ["templates/a.yaml"]);
    assert_eq!(random(&files[2..], fixed).await, Vec::<String>::new());
    assert_eq!(random(&files[2..], changing).await, ["templates/b.yaml"]);
}

#[tokio::test]
async fn tests_hooks_and_crds_of_the_chart_are_rendered_and_a_random_test_is_no_finding() {
    let hook = |name: &str, event: &str| {
        format!(
            "apiVersion: v1\nkind: Pod\nmetadata: {{name: {name}, annotations: {{helm.sh/hook: {event}}}}}\n"
        )
    };
    let archive = chart(&[
        ("templates/test.yaml", &hook("'t-{{ randAlphaNum 5 | lower }}'", "test")),
        ("templates/hook.yaml", &hook("h", "pre-install")),
        (
            "crds/a.yaml",
            "apiVersion: apiextensions.k8s.io/v1\nkind: CustomResourceDefinition\nmetadata: {name: a.example.com}\n",
        ),
    ]);
    let rendered = render_archive(&helm().await, &archive, &inputs("")).await.unwrap();
    let names: Vec<&str> = rendered.files.iter().map(|file| file.name.as_str()).collect();
    assert_eq!(names, ["crds/a.yaml", "templates/hook.yaml", "templates/test.yaml"]);
    assert!(rendered.random_files.is_empty(), "{:?}", rendered.random_files);
}

#[tokio::test]
async fn a_template_that_imitates_the_separators_stays_one_file() {
    let template = "  a: b\n---\n# Source: web/templates/other.yaml\napiVersion: v1\nkind: ConfigMap\nmetadata: {name: other}\n";
    let rendered = render(template, "").await.unwrap();
    assert_eq!(rendered.files.len(), 1);
    assert_eq!(objects(&rendered.files).len(), 2);
}

#[tokio::test]
async fn failures_name_their_cause_and_no_path_of_the_server() {
    let failed = render("  a: {{ required \"set password\" .Values.password }}\n", "").await.unwrap_err();
    assert_eq!(failed.kind, FailureKind::Template);
    assert!(
        failed.message.contains("web/templates/a.yaml:5:") && failed.message.contains("set password"),
        "{failed}"
    );
    assert!(!failed.message.contains("/tmp"), "{failed}");

    let schema = r#"{"properties": {"replicas": {"type": "integer"}}}"#;
    let archive =
        chart(&[("values.schema.json", schema), ("templates/a.yaml", &format!("{CONFIG}  a: b\n"))]);
    let failed = render_archive(&helm().await, &archive, &inputs(r#"{"replicas":"3"}"#)).await.unwrap_err();
    assert_eq!(failed.kind, FailureKind::Schema);
    assert!(failed.message.contains("replicas") && failed.message.contains("integer"), "{failed}");

    let archive = chart(&[("templates/a.yaml", &format!("{CONFIG}  a: b\n")), ("charts/.keep", "")]);
    let old = ChartInputs { kubernetes_version: "v1.22.17".into(), ..inputs("") };
    assert!(render_archive(&helm().await, &archive, &old).await.is_ok(), "the chart has no range");
}

#[tokio::test]
async fn a_schema_that_refers_elsewhere_is_not_fetched_and_named() {
    let schema = r#"{"$ref": "https://127.0.0.1:9/schema.json"}"#;
    let archive =
        chart(&[("values.schema.json", schema), ("templates/a.yaml", &format!("{CONFIG}  a: b\n"))]);
    let rendered = render_archive(&helm().await, &archive, &inputs("")).await.unwrap();
    assert_eq!(rendered.unchecked_schema_refs, ["https://127.0.0.1:9/schema.json"]);
}

#[tokio::test]
async fn a_hostile_template_reads_no_file_resolves_no_name_and_stays_within_the_limits() {
    let read = render("  a: {{ .Files.Get \"/etc/passwd\" | quote }}\n  b: {{ .Files.Get \"../../etc/passwd\" | quote }}\n  c: {{ getHostByName \"localhost\" | quote }}\n", "").await.unwrap();
    let data = &objects(&read.files).values().next().unwrap()["data"].clone();
    assert_eq!((&data["a"], &data["b"], &data["c"]), (&"".into(), &"".into(), &"".into()));
    assert!(
        render("  a: {{ env \"PATH\" }}\n", "").await.is_err(),
        "helm has no function for the environment"
    );

    let endless =
        render("  a: {{ range until 100000000 }}{{ end }}{{ range until 1000000000 }}{{ end }}b\n", "")
            .await
            .unwrap_err();
    assert_eq!(endless.kind, FailureKind::Limit, "{endless}");
    let large = render("  a: \"{{ range until 60000000 }}xxxxxxxxxx{{ end }}\"\n", "").await.unwrap_err();
    assert_eq!(large.kind, FailureKind::Limit, "{large}");
    assert!(render("  a: b\n", "").await.is_ok(), "other renderings go on");
}
