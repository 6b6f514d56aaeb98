//! Messages of renderers about files of the server (P33).

use std::collections::BTreeMap;

use domain::server_status::SandboxMode;
use source::helm::FailureKind;

use super::helm::CONFIG;
use super::{chart, helm, inputs, kustomize_in, measure_sandbox, render_archive};

/// A file that exists, one that does not, a folder, and a path below a file.
const PATHS: [&str; 4] = ["/etc/passwd", "/etc/flotilla-missing", "/etc", "/etc/passwd/a"];

#[tokio::test]
async fn p33_helm_does_not_reveal_whether_a_file_of_the_server_exists() {
    let mut shown = Vec::new();
    for path in PATHS {
        // Schemas that refer to files are not used. A parser of Rust refuses this text, one of Go reads it.
        let schema = format!(r#"{{"title": "\ud800", "$ref": "file://{path}"}}"#);
        let archive =
            chart(&[("values.schema.json", &schema), ("templates/a.yaml", &format!("{CONFIG}  a: b\n"))]);
        let failed = render_archive(&helm().await, &archive, &inputs("")).await.unwrap_err();
        assert!(failed.message.contains(path), "{failed}");
        shown.push((failed.kind, failed.message.replace(path, "PATH")));
    }
    assert_eq!(shown[0].0, FailureKind::Schema);
    assert!(shown[0].1.contains("is missing or can't be read"), "{}", shown[0].1);
    assert!(shown.iter().all(|one| *one == shown[0]), "{shown:#?}");
}

#[tokio::test]
async fn p33_kustomize_does_not_reveal_whether_a_file_of_the_server_exists() {
    let kustomize = kustomize_in(measure_sandbox("", SandboxMode::Strict).await).await;
    let build = async |text: &str| {
        let files = [("eu/kustomization.yaml", text), ("base/a.yaml", "a: 1")];
        let files: BTreeMap<String, Vec<u8>> =
            files.map(|(name, text)| (name.to_owned(), text.as_bytes().to_vec())).into();
        kustomize.build(files, "eu").await.unwrap_err()
    };
    let mut shown = Vec::new();
    for path in PATHS.into_iter().flat_map(|path| [path.to_owned(), format!("../../../../../../..{path}")]) {
        for text in [
            format!("configMapGenerator: [{{name: a, files: ['{path}']}}]\n"),
            format!("configMapGenerator: [{{name: a, envs: ['{path}']}}]\n"),
            format!("patches: [{{path: '{path}', target: {{kind: A}}}}]\n"),
            format!("configurations: ['{path}']\n"),
            format!("openapi: {{path: '{path}'}}\n"),
            format!("replacements: [{{path: '{path}'}}]\n"),
            format!("resources: ['{path}']\n"),
            format!("transformers: ['{path}']\n"),
        ] {
            let failed = build(&text).await;
            assert!(!failed.is_temporary, "{failed}");
            shown.push((text, failed.message));
        }
    }
    let expected = "kustomize build fails: it names a path outside of the repository.";
    let others: Vec<_> = shown.iter().filter(|(_, message)| message != expected).collect();
    assert!(others.is_empty(), "{others:#?}");
    let missing = build("resources: [missing.yaml]\n").await.message;
    assert!(missing.contains("missing.yaml") && !missing.contains("server-"), "{missing}");
}
