//! What the schema refuses the server refuses, at the same field, and what the server takes the schema takes.
//!
//! The server is asked by server-side apply, which is how objects are applied, as a dry run with `fieldValidation=Strict`.

use std::path::{Path, PathBuf};

use domain::guard::{Known, check_static_with};
use domain::manifest::{self, Manifest, Parsed};
use domain::schema::{Schema, kubernetes};
use domain::workload::{SourceFile, WorkloadSpec};
use domain::{Finding, finding::Place};
use serde_json::{Value, json};
use testkit::{ControlPlane, available};

use crate::broken::{self, Broken, Taken};
use crate::{address, ask, plane};

/// What we say of the structure of an object beside others, each as `pointer: message`.
fn ours(objects: &[&Value]) -> Vec<(String, String)> {
    by(kubernetes(), objects)
}

/// What this schema says of the structure of objects.
fn by(schema: &Schema, objects: &[&Value]) -> Vec<(String, String)> {
    let manifests = objects.iter().map(|object| Manifest::new((*object).clone(), Place::default()));
    let parsed = Parsed { manifests: manifests.collect(), findings: Vec::new() };
    let spec = WorkloadSpec { namespace: "web".to_owned(), ..WorkloadSpec::default() };
    let findings = check_static_with(&Known::of(schema), "a", &spec, &parsed);
    let errors = findings.into_iter().filter(Finding::blocks);
    errors.map(|finding| (finding.path, finding.message)).collect()
}

/// Asks the server to apply an object, and to keep nothing.
async fn theirs(plane: &ControlPlane, object: &Value) -> Result<Value, String> {
    let everywhere = ["CustomResourceDefinition", "ClusterRole", "ClusterRoleBinding", "Namespace"];
    let namespaced = !everywhere.iter().any(|kind| object["kind"] == *kind);
    let mut object = object.clone();
    if namespaced {
        object["metadata"]["namespace"] = "default".into();
    }
    let path = format!(
        "{}/{}?dryRun=All&fieldValidation=Strict&fieldManager=test&force=true",
        address(&object, namespaced),
        object["metadata"]["name"].as_str().unwrap()
    );
    let request = http::Request::patch(path).header("content-type", "application/apply-patch+yaml");
    ask(plane, request.body(object.to_string().into_bytes()).unwrap()).await
}

#[tokio::test]
async fn g403_what_the_schema_refuses_the_server_refuses_at_the_same_field() {
    if !available("g403_what_the_schema_refuses_the_server_refuses_at_the_same_field") {
        return;
    }
    let plane = plane().await;
    let mut wrong = Vec::new();
    for Broken { what, at, server, object } in broken::broken() {
        let said = ours(&[&object]);
        let pointers: Vec<&str> = said.iter().map(|(pointer, _)| pointer.as_str()).collect();
        if pointers != [at] {
            wrong.push(format!("{what}: we say {said:?}"));
        }
        match theirs(plane, &object).await {
            Err(answer) if answer.contains(&server) => {}
            answer => wrong.push(format!("{what}: the server says {answer:?}, not {server}")),
        }
    }
    assert!(wrong.is_empty(), "{wrong:#?}");
}

#[tokio::test]
async fn g403_what_the_server_takes_the_schema_takes() {
    if !available("g403_what_the_server_takes_the_schema_takes") {
        return;
    }
    let plane = plane().await;
    for Taken { what, object } in broken::taken() {
        assert_eq!(ours(&[&object]), [], "{what}");
        theirs(plane, &object).await.unwrap_or_else(|answer| panic!("{what}: the server says {answer}"));
    }
}

fn fixtures() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../../end2end/fixtures")
}

fn read(folder: &Path) -> Parsed {
    let mut paths: Vec<PathBuf> =
        std::fs::read_dir(folder).unwrap().map(|entry| entry.unwrap().path()).collect();
    paths.sort();
    let file = |path: &PathBuf| SourceFile {
        name: path.display().to_string(),
        text: std::fs::read_to_string(path).unwrap(),
    };
    manifest::parse(&paths.iter().map(file).collect::<Vec<_>>())
}

#[tokio::test]
async fn g403_the_good_fixtures_fit_here_and_there() {
    if !available("g403_the_good_fixtures_fit_here_and_there") {
        return;
    }
    let plane = plane().await;
    for name in ["three-tier", "ten-services", "stateful", "jobs"] {
        let objects = read(&fixtures().join(name)).objects();
        assert_eq!(ours(&objects.iter().collect::<Vec<_>>()), [], "{name}");
        for object in objects {
            theirs(plane, &object).await.unwrap_or_else(|answer| panic!("{name}: the server says {answer}"));
        }
    }
}

#[tokio::test]
async fn g403_a_custom_kind_is_held_to_its_definition_here_and_there() {
    if !available("g403_a_custom_kind_is_held_to_its_definition_here_and_there") {
        return;
    }
    let plane = plane().await;
    let objects = read(&fixtures().join("crd")).objects();
    let find = |kind: &str| objects.iter().find(|object| object["kind"] == kind).unwrap();
    let (definition, good) = (find("CustomResourceDefinition"), find("Lighthouse"));
    let request = http::Request::post(address(definition, false)).header("content-type", "application/json");
    ask(plane, request.body(definition.to_string().into_bytes()).unwrap()).await.unwrap();
    // A kind is served a moment after it is defined.
    let deadline = tokio::time::Instant::now() + std::time::Duration::from_secs(60);
    while let Err(answer) = theirs(plane, good).await {
        assert!(tokio::time::Instant::now() < deadline, "{answer}");
        tokio::time::sleep(std::time::Duration::from_millis(50)).await;
    }
    assert_eq!(ours(&[definition, good]), []);
    let told = told_kind(plane, good).await;
    assert_eq!(by(&told, &[good]), []);
    for (spec, pointer, words) in [
        (json!({"heightMetres": 3, "caracter": "F"}), "/spec/caracter", ".spec.caracter"),
        (json!({"heightMetres": "3"}), "/spec/heightMetres", "spec.heightMetres"),
        (json!({"heightMetres": 3, "coast": "up"}), "/spec/coast", "spec.coast"),
        (json!({"character": "F"}), "/spec/heightMetres", "spec.heightMetres"),
        (Value::Null, "/spec", "spec"),
    ] {
        let mut object = good.clone();
        object["spec"] = spec;
        let said = ours(&[definition, &object]);
        assert_eq!(said.iter().map(|(pointer, _)| pointer).collect::<Vec<_>>(), [pointer], "{said:?}");
        assert_eq!(
            by(&told, &[&object]),
            said,
            "the definition is not needed where the server tells of the kind"
        );
        let answer = theirs(plane, &object).await.unwrap_err();
        assert!(answer.contains(words), "{words}: {answer}");
    }
}

/// What agents read of the server's kinds, once this object's kind is among them: a moment after it is served.
async fn told_kind(plane: &ControlPlane, object: &Value) -> Schema {
    let options = engine::Options::new(|| domain::Timestamp::from_millis(0));
    let mut broken = object.clone();
    broken["spec"]["no-such-field"] = 1.into();
    let deadline = tokio::time::Instant::now() + std::time::Duration::from_secs(60);
    loop {
        let written = engine::schema(plane.client(), &options).await.unwrap();
        let schema = Schema::read(written.text.as_bytes()).unwrap();
        if !by(&schema, &[&broken]).is_empty() {
            return schema;
        }
        assert!(tokio::time::Instant::now() < deadline, "the server does not tell of the kind");
        tokio::time::sleep(std::time::Duration::from_millis(200)).await;
    }
}
