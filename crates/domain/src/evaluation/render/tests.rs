//! Tests of rendering.

use serde_json::json;

use super::*;
use crate::kubernetes::id::ClusterId;
use crate::kubernetes::time::Timestamp;
use crate::model::cluster::{ClusterKind, Connectivity};
use crate::text::manifest;
use crate::text::source_file::SourceFile;

fn cluster() -> Cluster {
    Cluster {
        connectivity: Connectivity::Online,
        ..Cluster::new(ClusterId::from_parts(1, 1), "eu-1", ClusterKind::Agent, Timestamp::from_millis(0))
    }
}

fn render(text: &str) -> Result<Bundle, RenderError> {
    render_for(text, &cluster(), WorkloadSpec { namespace: "web".into(), ..WorkloadSpec::default() })
}

fn render_for(text: &str, cluster: &Cluster, spec: WorkloadSpec) -> Result<Bundle, RenderError> {
    let parsed = manifest::parse(&[SourceFile { name: "a.yaml".into(), text: text.into() }]);
    let targets = ["eu-1".to_owned(), "us-1".to_owned()];
    BundleRenderer {
        workload: "shop",
        revision: 7,
        spec: &spec,
        parsed: &parsed,
        groups: &[],
        targets: &targets,
    }
    .render_bundle(cluster)
}

fn rejected_findings(result: Result<Bundle, RenderError>) -> Vec<Finding> {
    match result {
        Err(RenderError::Rejected(findings)) => findings,
        other => panic!("not refused: {other:?}"),
    }
}

#[test]
fn objects_without_a_namespace_get_that_of_the_workload_and_cluster_scoped_ones_get_none() {
    let bundle = render(
        "apiVersion: v1\nkind: ConfigMap\nmetadata: {name: a}\n---\n\
         apiVersion: v1\nkind: ConfigMap\nmetadata: {name: b, namespace: other}\n---\n\
         apiVersion: rbac.authorization.k8s.io/v1\nkind: ClusterRole\nmetadata: {name: c, namespace: web}\n",
    )
    .unwrap();
    let names: Vec<String> = bundle.object_refs().map(|name| name.to_string()).collect();
    assert_eq!(names, ["ConfigMap web/a", "ConfigMap other/b", "ClusterRole c"]);
}

#[test]
fn server_owned_fields_are_removed() {
    let bundle = render(
        "apiVersion: v1\nkind: Pod\nmetadata:\n  name: a\n  uid: x\n  resourceVersion: '1'\n  creationTimestamp: null\n  \
         generation: 3\n  managedFields: []\n  selfLink: /x\n  annotations: {kubectl.kubernetes.io/last-applied-configuration: '{}'}\nstatus: {phase: Running}\n",
    )
    .unwrap();
    assert_eq!(
        bundle.objects[0],
        json!({"apiVersion": "v1", "kind": "Pod", "metadata": {"name": "a", "namespace": "web",
            "labels": {"app.kubernetes.io/managed-by": "flotilla"}}})
    );
}

#[test]
fn the_managed_by_label_is_set_only_on_the_object_and_never_overwritten() {
    let text = "apiVersion: apps/v1\nkind: Deployment\nmetadata: {name: a, labels: {app.kubernetes.io/managed-by: helm}}\n\
                spec: {selector: {matchLabels: {app: a}}, template: {metadata: {labels: {app: a}}}}\n";
    let foreign = &render(text).unwrap().objects[0];
    assert_eq!(foreign["metadata"]["labels"], json!({"app.kubernetes.io/managed-by": "helm"}));
    let labelled =
        &render(&text.replace(", labels: {app.kubernetes.io/managed-by: helm}", "")).unwrap().objects[0];
    assert_eq!(labelled["metadata"]["labels"], json!({"app.kubernetes.io/managed-by": "flotilla"}));
    assert_eq!(
        labelled["spec"],
        json!({"selector": {"matchLabels": {"app": "a"}}, "template": {"metadata": {"labels": {"app": "a"}}}})
    );
}

#[test]
fn g107_objects_in_system_namespaces_are_rejected() {
    let findings =
        rejected_findings(render("apiVersion: v1\nkind: Pod\nmetadata: {name: a, namespace: kube-system}\n"));
    assert_eq!(
        (findings[0].code.as_str(), findings[0].clusters.as_slice()),
        ("G107", ["eu-1".to_owned()].as_slice())
    );
    assert!(render("apiVersion: v1\nkind: Namespace\nmetadata: {name: kube-x}\n").is_err());
}

#[test]
fn a_manifest_that_cannot_be_parsed_gives_no_bundle() {
    assert_eq!(rejected_findings(render("kind: Pod\n"))[0].code, "G109");
}

#[test]
fn p32_the_digest_does_not_depend_on_the_order_of_keys() {
    let one =
        render("apiVersion: v1\nkind: ConfigMap\nmetadata: {name: a}\ndata: {x: '1', y2: '2'}\n").unwrap();
    let other =
        render("data: {y2: '2', x: '1'}\nmetadata:\n  name: a\nkind: ConfigMap\napiVersion: v1\n").unwrap();
    assert_eq!(one.digest(), other.digest());
}

#[test]
fn a_namespace_object_is_not_added_for_a_namespace_that_is_only_referenced() {
    assert_eq!(render("apiVersion: v1\nkind: ConfigMap\nmetadata: {name: a}\n").unwrap().objects.len(), 1);
}

const REGIONAL: &str = "apiVersion: v1\nkind: ConfigMap\nmetadata: {name: 'edge-${{ cluster.name }}'}\n\
                        data: {region: '${{ cluster.labels.region }}', peers: '${{ fleet.targets }}'}\n";

fn spec() -> WorkloadSpec {
    WorkloadSpec { namespace: "web".into(), ..WorkloadSpec::default() }
}

#[test]
fn s4_7_template_values_are_filled_in_for_the_cluster_also_in_overrides() {
    let mut cluster = cluster();
    cluster.labels.insert("region".into(), "eu-west".into());
    let value = json!({"data": {"here": "${{ cluster.region }}"}});
    let one = crate::model::overrides::Override {
        id: crate::kubernetes::id::OverrideId::from_parts(1, 1),
        name: "here".into(),
        target: crate::model::overrides::ClusterSelector {
            clusters: vec!["eu-1".into()],
            ..Default::default()
        },
        priority: 500,
        values: String::new(),
        patches: vec![crate::model::overrides::Patch {
            object: Default::default(),
            op: crate::model::overrides::PatchOp::Merge { value },
        }],
    };
    let spec = WorkloadSpec { overrides: vec![one], ..spec() };
    let bundle = render_for(REGIONAL, &cluster, spec).unwrap();
    assert_eq!(bundle.objects[0]["metadata"]["name"], "edge-eu-1");
    assert_eq!(
        bundle.objects[0]["data"],
        json!({"region": "eu-west", "peers": "eu-1,us-1", "here": "eu-west"})
    );
}

#[test]
fn s4_7_annotations_and_own_values_of_a_cluster_are_filled_in_with_their_type() {
    let mut cluster = cluster();
    cluster.annotations.insert("example.com/owner".into(), "team a".into());
    cluster.values = serde_json::from_value(json!({"net": {"ranges": ["10.0.0.0/8"], "mtu": 1400}})).unwrap();
    cluster.facts.kubernetes_version = "v1.33.4-gke.1200".into();
    let text = "apiVersion: v1\nkind: ConfigMap\nmetadata: {name: edge}\ndata:\n  \
                owner: ${{ cluster.annotations[\"example.com/owner\"] }}\n  \
                mtu: ${{ cluster.values.net.mtu }}\n  runs: ${{ cluster.distribution }}\n";
    let bundle = render_for(text, &cluster, spec()).unwrap();
    assert_eq!(bundle.objects[0]["data"], json!({"owner": "team a", "mtu": "1400", "runs": "gke"}));
    let missing = text.replace("net.mtu", "net.nothing");
    let Err(RenderError::Waiting(findings) | RenderError::Rejected(findings)) =
        render_for(&missing, &cluster, spec())
    else {
        panic!("no such value")
    };
    assert!(findings[0].message.contains("cluster.values.net.nothing"), "{}", findings[0].message);
}

#[test]
fn s4_9_rendering_waits_for_values_that_the_cluster_does_not_have() {
    let Err(RenderError::Waiting(findings)) = render_for(REGIONAL, &cluster(), spec()) else { panic!() };
    assert_eq!(findings.len(), 1);
    assert_eq!((findings[0].code.as_str(), findings[0].path.as_str()), ("G115", "/data/region"));
    assert!(findings[0].message.contains("cluster.labels.region"), "{}", findings[0].message);
}

#[test]
fn g101_template_values_that_produce_a_name_without_room_are_rejected() {
    let mut cluster = cluster();
    let text = "apiVersion: batch/v1\nkind: CronJob\nmetadata: {name: 'a-${{ cluster.labels.team }}'}\n";
    cluster.labels.insert("team".into(), "b".repeat(50));
    assert!(render_for(text, &cluster, spec()).is_ok());
    cluster.labels.insert("team".into(), "b".repeat(51));
    let finding = &rejected_findings(render_for(text, &cluster, spec()))[0];
    assert!(
        finding.message.contains("has a name of 53 characters; at most 52 work, because"),
        "{}",
        finding.message
    );
    assert_eq!(finding.hint, "Shorten the name, or use a shorter value.");
    cluster.labels.insert("team".into(), "b.c".into());
    assert!(render_for(text, &cluster, spec()).is_ok());
    let service = text.replace("batch/v1", "v1").replace("CronJob", "Service");
    assert_eq!(rejected_findings(render_for(&service, &cluster, spec()))[0].code, "G101");
}

#[test]
fn template_values_that_produce_an_invalid_or_duplicate_name_are_rejected() {
    let mut cluster = cluster();
    cluster.labels.insert("team".into(), "Blue_1".into());
    let text = "apiVersion: v1\nkind: ConfigMap\nmetadata: {name: 'a-${{ cluster.labels.team }}'}\n";
    let findings = rejected_findings(render_for(text, &cluster, spec()));
    assert_eq!((findings[0].code.as_str(), findings[0].clusters[0].as_str()), ("G101", "eu-1"));
    let text = "apiVersion: v1\nkind: ConfigMap\nmetadata: {name: 'a-${{ cluster.name }}'}\n---\n\
                apiVersion: v1\nkind: ConfigMap\nmetadata: {name: 'a-${{ cluster.name | lower }}'}\n";
    assert_eq!(rejected_findings(render_for(text, &cluster, spec()))[0].code, "G110");
}
