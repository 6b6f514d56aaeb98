//! G403: the schema check together with the other rules.

use std::collections::HashMap;
use std::sync::Arc;

use serde_json::json;

use super::*;
use crate::kubernetes::id::ClusterId;
use crate::kubernetes::time::Timestamp;
use crate::model::cluster::{Cluster, ClusterFacts, ClusterKind};
use crate::text::schema::{OpenApiDocuments, kubernetes_schema};

/// The findings of all static rules, with these schemas.
fn findings_with(schemas: &ClusterSchemas<'_>, text: &str) -> Vec<Finding> {
    let files = vec![SourceFile { name: "a.yaml".into(), text: text.into() }];
    let parsed = crate::text::manifest::parse(&files);
    let spec =
        WorkloadSpec { namespace: "web".into(), source: Source::Yaml { files }, ..WorkloadSpec::default() };
    check_static_with(schemas, "shop", &spec, &parsed)
}

fn errors(text: &str) -> Vec<Finding> {
    let mut findings = findings_with(&ClusterSchemas::from_schema(kubernetes_schema()), text);
    findings.retain(Finding::is_blocking);
    findings
}

fn cluster(version: &str) -> Cluster {
    let facts = ClusterFacts { kubernetes_version: version.into(), ..ClusterFacts::default() };
    Cluster {
        facts,
        ..Cluster::new(ClusterId::from_parts(1, 1), "eu-1", ClusterKind::Agent, Timestamp::from_millis(0))
    }
}

#[test]
fn g403_an_unknown_field_is_reported_at_its_line_and_column() {
    let text = deployment("").replace("containers:", "container:");
    let found = errors(&text);
    assert_eq!(found.len(), 2, "{found:#?}");
    let unknown = found.iter().find(|finding| finding.message.contains("unknown")).unwrap();
    assert_eq!(
        unknown.message,
        "Deployment \"web\": unknown field spec.template.spec.container (did you mean containers?)."
    );
    let place = unknown.location.as_ref().unwrap();
    let line = text.lines().position(|line| line.contains("container:")).unwrap();
    assert_eq!((place.line as usize, place.column), (line + 1, 7));
    assert_eq!((unknown.code.as_str(), unknown.object.as_str()), ("G403", "Deployment web/web"));
    let missing = found.iter().find(|finding| !finding.message.contains("unknown")).unwrap();
    assert!(missing.message.contains("containers"), "{missing:?}");
}

#[test]
fn g403_a_field_with_an_error_of_another_rule_has_no_second_finding() {
    for (text, code) in [
        (deployment_with("replicas: \"3\"", "", ""), "G213"),
        (deployment("resources: {limits: {memory: 512mb}}"), "G209"),
        (deployment("env: [{name: A, value: 1}]"), "G217"),
        (deployment("ports: [{containerPort: x}]"), "G207"),
        ("apiVersion: v1\nkind: ConfigMap\nmetadata: {name: a}\ndata: {a: 1}\n".to_owned(), "G403"),
        ("apiVersion: v1\nkind: ConfigMap\nmetadata: {name: a, labels: {a: 1}}\n".to_owned(), "G215"),
        (
            "apiVersion: v1\nkind: Service\nmetadata: {name: a}\nspec: {ports: [{name: a}]}\n".to_owned(),
            "G302",
        ),
        (
            "apiVersion: autoscaling/v2\nkind: HorizontalPodAutoscaler\nmetadata: {name: a}\n\
             spec: {scaleTargetRef: {apiVersion: apps/v1, kind: Deployment, name: a}}\n"
                .to_owned(),
            "G307",
        ),
    ] {
        let found = errors(&text);
        let codes: Vec<&str> = found.iter().map(|finding| finding.code.as_str()).collect();
        assert_eq!(codes, [code], "{found:#?}");
    }
}

#[test]
fn g403_a_custom_kind_is_checked_against_its_definition_in_the_workload() {
    let text = "apiVersion: apiextensions.k8s.io/v1\nkind: CustomResourceDefinition\nmetadata: {name: ships.sea.example.com}\n\
        spec:\n  group: sea.example.com\n  scope: Namespaced\n  names: {kind: Ship, plural: ships}\n  versions:\n  \
        - name: v1\n    served: true\n    storage: true\n    schema: {openAPIV3Schema: {type: object, properties: \
        {spec: {type: object, properties: {masts: {type: integer}}}}}}\n---\n\
        apiVersion: sea.example.com/v1\nkind: Ship\nmetadata: {name: argo}\nspec: {mast: 3}\n";
    for schemas in
        [ClusterSchemas::from_schema(kubernetes_schema()), ClusterSchemas::from_schema(&Schema::default())]
    {
        let found: Vec<Finding> =
            findings_with(&schemas, text).into_iter().filter(Finding::is_blocking).collect();
        assert_eq!(found.len(), 1, "{found:#?}");
        assert_eq!(found[0].message, "Ship \"argo\": unknown field spec.mast (did you mean masts?).");
    }
}

#[test]
fn g403_a_field_that_a_newer_cluster_may_have_is_a_warning() {
    let text = deployment_with("replica: 3", "restartPolicy: Sometimes\nhostNetwork: 3", "");
    let severities = |version: &str| -> Vec<(Severity, bool)> {
        let found = findings_with(
            &ClusterSchemas::for_clusters(
                kubernetes_schema(),
                &[cluster("v1.20.0"), cluster(version)],
                &HashMap::new(),
            ),
            &text,
        );
        let found = found.into_iter().filter(|finding| finding.code == "G403");
        found.map(|finding| (finding.severity, finding.message.contains("newer"))).collect()
    };
    let same = format!("v1.{}.9", kubernetes_schema().minor());
    let newer = format!("v1.{}.0", kubernetes_schema().minor() + 1);
    assert_eq!(severities(&same), [(Severity::Error, false); 3]);
    let mut loosened = severities(&newer);
    loosened.sort();
    assert_eq!(loosened, [(Severity::Warning, true), (Severity::Warning, true), (Severity::Error, false)]);
}

#[test]
fn g403_a_template_in_a_name_or_a_number_is_not_checked() {
    let text = deployment_with("replicas: ${{ cluster.labels.size | int }}", "", "")
        .replace("{name: web}", "{name: \"web-${{ cluster.name }}\"}");
    assert_eq!(errors(&text), []);
}

#[test]
fn g403_a_violation_by_an_override_names_the_clusters_of_the_override() {
    use crate::model::overrides::{ClusterSelector, ObjectSelector, Override, Patch, PatchOp};
    let patch = |kind: &str, value: serde_json::Value| Patch {
        object: ObjectSelector { kind: kind.into(), ..ObjectSelector::default() },
        op: PatchOp::Merge { value },
    };
    let one = |number: u128, cluster: &str, value: serde_json::Value| Override {
        id: crate::kubernetes::id::OverrideId::from_parts(1, number),
        name: format!("of {cluster}"),
        target: ClusterSelector { clusters: vec![cluster.into()], ..ClusterSelector::default() },
        priority: 500,
        values: String::new(),
        patches: vec![patch("Deployment", value)],
    };
    let overrides = vec![
        one(1, "eu-1", serde_json::json!({"spec": {"replica": 3}})),
        one(2, "eu-2", serde_json::json!({"spec": {"replicas": 3}})),
    ];
    let files = vec![SourceFile { name: "a.yaml".into(), text: deployment("imagePolicy: x") }];
    let parsed = crate::text::manifest::parse(&files);
    let spec = WorkloadSpec { namespace: "web".into(), overrides, ..WorkloadSpec::default() };
    let rendering = BundleRenderer {
        workload: "shop",
        revision: 1,
        spec: &spec,
        parsed: &parsed,
        groups: &[],
        targets: &[],
    };
    let clusters = [cluster("v1.30.0"), Cluster { name: "eu-2".into(), ..cluster("v1.30.0") }];
    let found = check_overridden_objects(
        &ClusterSchemas::from_schema(kubernetes_schema()),
        &rendering,
        &clusters.each_ref(),
    );
    assert_eq!(found.len(), 1, "{found:#?}");
    assert_eq!(found[0].clusters, ["eu-1"]);
    assert_eq!(
        found[0].message,
        "With the overrides for these clusters, Deployment \"web\": unknown field spec.replica (did you mean replicas?)."
    );
}

#[test]
fn g403_a_finding_about_a_secret_contains_none_of_its_values() {
    for values in [
        "stringData: {pin: 47114711}",
        "data: {pin: 47114711}",
        "stringData: 47114711",
        "data: hunter2-47114711",
        "data: {pin: hunter2-47114711}",
    ] {
        let text = format!("apiVersion: v1\nkind: Secret\nmetadata: {{name: key}}\n{values}\n");
        let found = errors(&text);
        assert!(found.iter().any(|finding| finding.code == "G403"), "{values}: {found:#?}");
        let shown = serde_json::to_string(&found).unwrap();
        assert!(!shown.contains("47114711"), "{values}: {shown}");
    }
}

/// The `/openapi/v3` schema of a cluster for a kind `sea.example.com/v1 Ship`.
fn ship_schema(spec: &serde_json::Value) -> Arc<Schema> {
    let kind = json!({"group": "sea.example.com", "version": "v1", "kind": "Ship"});
    let path = "/apis/sea.example.com/v1/namespaces/{namespace}/ships/{name}";
    let document = json!({
        "paths": {path: {"patch": {"x-kubernetes-group-version-kind": kind}}},
        "components": {"schemas": {"com.example.sea.v1.Ship": {
            "type": "object", "description": "A ship.", "x-kubernetes-group-version-kind": [kind],
            "properties": {"metadata": {}, "spec": {"type": "object", "properties": spec}},
        }}},
    });
    let mut documents = OpenApiDocuments::default();
    documents.add(document.to_string().as_bytes()).unwrap();
    Arc::new(Schema::from_openapi(30, &documents))
}

#[test]
fn g403_a_cluster_with_a_reported_schema_is_checked_against_it() {
    let text =
        "apiVersion: sea.example.com/v1\nkind: Ship\nmetadata: {name: argo}\nspec: {mast: 3, crew: many}\n";
    let (old, new) = (ClusterId::from_parts(1, 1), ClusterId::from_parts(1, 2));
    let clusters = [
        Cluster { id: old, name: "old".into(), ..cluster("v1.30.0") },
        Cluster { id: new, name: "new".into(), ..cluster("v1.30.0") },
        Cluster { id: ClusterId::from_parts(1, 3), name: "silent".into(), ..cluster("v1.30.0") },
    ];
    let reported = HashMap::from([
        (old, ship_schema(&json!({"masts": {"type": "integer"}, "crew": {"type": "integer"}}))),
        (new, ship_schema(&json!({"mast": {"type": "integer"}, "crew": {"type": "integer"}}))),
    ]);
    let errors = |clusters: &[Cluster]| -> Vec<(String, Vec<String>)> {
        let found =
            findings_with(&ClusterSchemas::for_clusters(kubernetes_schema(), clusters, &reported), text)
                .into_iter()
                .filter(Finding::is_blocking);
        found.map(|finding| (finding.message, finding.clusters)).collect()
    };
    let typo = "Ship \"argo\": unknown field spec.mast (did you mean masts?).".to_owned();
    let crew = "Ship \"argo\": spec.crew must be a whole number, not the text \"many\".".to_owned();
    assert_eq!(
        errors(&clusters[..1]),
        [(typo.clone(), vec![]), (crew.clone(), vec![])],
        "the finding applies to all selected clusters"
    );
    let both = errors(&clusters);
    assert_eq!(both, [(typo, vec!["old".into()]), (crew, vec!["old".into(), "new".into()])]);
    assert_eq!(errors(&clusters[2..]), [], "the cluster has reported no schema");
}

#[test]
fn g403_the_reported_schema_of_a_newer_cluster_gives_errors() {
    let text = deployment("replica: 3");
    let newer = cluster(&format!("v1.{}.0", kubernetes_schema().minor() + 1));
    let reported = HashMap::from([(newer.id, Arc::new(kubernetes_schema().clone()))]);
    let found = findings_with(
        &ClusterSchemas::for_clusters(kubernetes_schema(), std::slice::from_ref(&newer), &reported),
        &text,
    );
    let found: Vec<_> = found.into_iter().filter(|finding| finding.code == "G403").collect();
    assert_eq!(found.len(), 1);
    assert!(found[0].is_blocking() && !found[0].message.contains("newer"), "{found:#?}");
}
