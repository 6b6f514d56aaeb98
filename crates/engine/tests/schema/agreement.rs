//! The server rejects what the schema rejects, at the same field, and the schema accepts what the server accepts.
//!
//! The server is tested with a dry run of a server-side apply with `fieldValidation=Strict`.

use std::path::{Path, PathBuf};

use domain::guard::{ClusterSchemas, check_static_with};
use domain::manifest::{self, Manifest, ParsedManifests};
use domain::schema::{Schema, kubernetes_schema};
use domain::workload::{SourceFile, WorkloadSpec};
use domain::{Finding, finding::SourceLocation};
use serde_json::{Value, json};
use testkit::{ControlPlane, is_available};

use crate::validation_cases::{self, InvalidObject, ValidObject};
use crate::{collection_path, send, shared_control_plane};

/// Violations of the stored schema, each as pointer and message.
fn find_violations(objects: &[&Value]) -> Vec<(String, String)> {
    find_violations_with(kubernetes_schema(), objects)
}

/// Violations of a schema, each as pointer and message.
fn find_violations_with(schema: &Schema, objects: &[&Value]) -> Vec<(String, String)> {
    let manifests = objects.iter().map(|object| Manifest::new((*object).clone(), SourceLocation::default()));
    let parsed = ParsedManifests { manifests: manifests.collect(), findings: Vec::new() };
    let spec = WorkloadSpec { namespace: "web".to_owned(), ..WorkloadSpec::default() };
    let findings = check_static_with(&ClusterSchemas::from_schema(schema), "a", &spec, &parsed);
    let errors = findings.into_iter().filter(Finding::is_blocking);
    errors.map(|finding| (finding.path, finding.message)).collect()
}

/// Dry-run apply of an object on the server.
async fn apply_dry_run(plane: &ControlPlane, object: &Value) -> Result<Value, String> {
    let cluster_wide = ["CustomResourceDefinition", "ClusterRole", "ClusterRoleBinding", "Namespace"];
    let namespaced = !cluster_wide.iter().any(|kind| object["kind"] == *kind);
    let mut object = object.clone();
    if namespaced {
        object["metadata"]["namespace"] = "default".into();
    }
    let path = format!(
        "{}/{}?dryRun=All&fieldValidation=Strict&fieldManager=test&force=true",
        collection_path(&object, namespaced),
        object["metadata"]["name"].as_str().unwrap()
    );
    let request = http::Request::patch(path).header("content-type", "application/apply-patch+yaml");
    send(plane, request.body(object.to_string().into_bytes()).unwrap()).await
}

#[tokio::test]
async fn g403_the_server_rejects_what_the_schema_rejects_at_the_same_field() {
    if !is_available("g403_the_server_rejects_what_the_schema_rejects_at_the_same_field") {
        return;
    }
    let plane = shared_control_plane().await;
    let mut wrong = Vec::new();
    for InvalidObject { what, at, server, object } in validation_cases::invalid_objects() {
        let violations = find_violations(&[&object]);
        let pointers: Vec<&str> = violations.iter().map(|(pointer, _)| pointer.as_str()).collect();
        if pointers != [at] {
            wrong.push(format!("{what}: the schema reports {violations:?}"));
        }
        match apply_dry_run(plane, &object).await {
            Err(message) if message.contains(&server) => {}
            result => wrong.push(format!("{what}: the server returns {result:?}, not {server}")),
        }
    }
    assert!(wrong.is_empty(), "{wrong:#?}");
}

#[tokio::test]
async fn g403_the_schema_accepts_what_the_server_accepts() {
    if !is_available("g403_the_schema_accepts_what_the_server_accepts") {
        return;
    }
    let plane = shared_control_plane().await;
    for ValidObject { what, object } in validation_cases::valid_objects() {
        assert_eq!(find_violations(&[&object]), [], "{what}");
        apply_dry_run(plane, &object)
            .await
            .unwrap_or_else(|error| panic!("{what}: the server rejects it: {error}"));
    }
}

fn fixtures_dir() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../../end2end/fixtures")
}

fn read_fixture(folder: &Path) -> ParsedManifests {
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
async fn g403_valid_fixtures_are_accepted_by_schema_and_server() {
    if !is_available("g403_valid_fixtures_are_accepted_by_schema_and_server") {
        return;
    }
    let plane = shared_control_plane().await;
    for name in ["three-tier", "ten-services", "stateful", "jobs"] {
        let objects = read_fixture(&fixtures_dir().join(name)).objects();
        assert_eq!(find_violations(&objects.iter().collect::<Vec<_>>()), [], "{name}");
        for object in objects {
            apply_dry_run(plane, &object)
                .await
                .unwrap_or_else(|error| panic!("{name}: the server rejects it: {error}"));
        }
    }
}

#[tokio::test]
async fn g403_a_custom_kind_is_validated_by_its_definition_in_schema_and_server() {
    if !is_available("g403_a_custom_kind_is_validated_by_its_definition_in_schema_and_server") {
        return;
    }
    let plane = shared_control_plane().await;
    let objects = read_fixture(&fixtures_dir().join("crd")).objects();
    let find = |kind: &str| objects.iter().find(|object| object["kind"] == kind).unwrap();
    let (definition, good) = (find("CustomResourceDefinition"), find("Lighthouse"));
    let request =
        http::Request::post(collection_path(definition, false)).header("content-type", "application/json");
    send(plane, request.body(definition.to_string().into_bytes()).unwrap()).await.unwrap();
    // A kind is served with a delay after its definition.
    let deadline = tokio::time::Instant::now() + testkit::patience();
    while let Err(error) = apply_dry_run(plane, good).await {
        assert!(tokio::time::Instant::now() < deadline, "{error}");
        tokio::time::sleep(std::time::Duration::from_millis(50)).await;
    }
    assert_eq!(find_violations(&[definition, good]), []);
    let server_schema = read_schema_with_kind(plane, good).await;
    assert_eq!(find_violations_with(&server_schema, &[good]), []);
    for (spec, pointer, text) in [
        (json!({"heightMetres": 3, "caracter": "F"}), "/spec/caracter", ".spec.caracter"),
        (json!({"heightMetres": "3"}), "/spec/heightMetres", "spec.heightMetres"),
        (json!({"heightMetres": 3, "coast": "up"}), "/spec/coast", "spec.coast"),
        (json!({"character": "F"}), "/spec/heightMetres", "spec.heightMetres"),
        (Value::Null, "/spec", "spec"),
    ] {
        let mut object = good.clone();
        object["spec"] = spec;
        let violations = find_violations(&[definition, &object]);
        assert_eq!(
            violations.iter().map(|(pointer, _)| pointer).collect::<Vec<_>>(),
            [pointer],
            "{violations:?}"
        );
        assert_eq!(
            find_violations_with(&server_schema, &[&object]),
            violations,
            "the definition is not needed if the schema of the server contains the kind"
        );
        let error = apply_dry_run(plane, &object).await.unwrap_err();
        assert!(error.contains(text), "{text}: {error}");
    }
}

/// The schema that agents read from the server, once it contains the kind of this object.
async fn read_schema_with_kind(plane: &ControlPlane, object: &Value) -> Schema {
    let options = engine::Options::new(|| domain::Timestamp::from_millis(0));
    let mut invalid = object.clone();
    invalid["spec"]["no-such-field"] = 1.into();
    let deadline = tokio::time::Instant::now() + testkit::patience();
    loop {
        let written = engine::read_schema(plane.client(), &options).await.unwrap();
        let schema = Schema::from_json(written.text.as_bytes()).unwrap();
        if !find_violations_with(&schema, &[&invalid]).is_empty() {
            return schema;
        }
        assert!(tokio::time::Instant::now() < deadline, "the schema of the server does not contain the kind");
        tokio::time::sleep(std::time::Duration::from_millis(200)).await;
    }
}
