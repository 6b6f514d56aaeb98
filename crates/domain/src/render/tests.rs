//! Rendering, seen from outside.

use serde_json::json;

use super::*;
use crate::cluster::{ClusterKind, Reach};
use crate::id::ClusterId;
use crate::manifest;
use crate::time::Timestamp;
use crate::workload::SourceFile;

fn cluster() -> Cluster {
    Cluster {
        reach: Reach::Online,
        ..Cluster::new(ClusterId::from_parts(1, 1), "eu-1", ClusterKind::Agent, Timestamp::from_millis(0))
    }
}

fn rendered(text: &str) -> Result<Bundle, Unrendered> {
    rendered_for(text, &cluster(), WorkloadSpec { namespace: "web".into(), ..WorkloadSpec::default() })
}

fn rendered_for(text: &str, cluster: &Cluster, spec: WorkloadSpec) -> Result<Bundle, Unrendered> {
    let parsed = manifest::parse(&[SourceFile { name: "a.yaml".into(), text: text.into() }]);
    let targets = ["eu-1".to_owned(), "us-1".to_owned()];
    Rendering { workload: "shop", revision: 7, spec: &spec, parsed: &parsed, groups: &[], targets: &targets }
        .of(cluster)
}

fn refused(result: Result<Bundle, Unrendered>) -> Vec<Finding> {
    match result {
        Err(Unrendered::Refused(findings)) => findings,
        other => panic!("not refused: {other:?}"),
    }
}

#[test]
fn objects_without_a_namespace_get_the_workloads_and_cluster_scoped_ones_get_none() {
    let bundle = rendered(
        "apiVersion: v1\nkind: ConfigMap\nmetadata: {name: a}\n---\n\
         apiVersion: v1\nkind: ConfigMap\nmetadata: {name: b, namespace: other}\n---\n\
         apiVersion: rbac.authorization.k8s.io/v1\nkind: ClusterRole\nmetadata: {name: c, namespace: web}\n",
    )
    .unwrap();
    let names: Vec<String> = bundle.refs().map(|name| name.to_string()).collect();
    assert_eq!(names, ["ConfigMap web/a", "ConfigMap other/b", "ClusterRole c"]);
}

#[test]
fn what_belongs_to_the_server_is_left_out() {
    let bundle = rendered(
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
fn the_mark_of_the_manager_is_only_on_the_object_and_never_overwritten() {
    let text = "apiVersion: apps/v1\nkind: Deployment\nmetadata: {name: a, labels: {app.kubernetes.io/managed-by: helm}}\n\
                spec: {selector: {matchLabels: {app: a}}, template: {metadata: {labels: {app: a}}}}\n";
    let kept = &rendered(text).unwrap().objects[0];
    assert_eq!(kept["metadata"]["labels"], json!({"app.kubernetes.io/managed-by": "helm"}));
    let marked =
        &rendered(&text.replace(", labels: {app.kubernetes.io/managed-by: helm}", "")).unwrap().objects[0];
    assert_eq!(marked["metadata"]["labels"], json!({"app.kubernetes.io/managed-by": "flotilla"}));
    assert_eq!(
        marked["spec"],
        json!({"selector": {"matchLabels": {"app": "a"}}, "template": {"metadata": {"labels": {"app": "a"}}}})
    );
}

#[test]
fn g107_objects_in_namespaces_of_the_system_are_refused() {
    let findings =
        refused(rendered("apiVersion: v1\nkind: Pod\nmetadata: {name: a, namespace: kube-system}\n"));
    assert_eq!(
        (findings[0].code.as_str(), findings[0].clusters.as_slice()),
        ("G107", ["eu-1".to_owned()].as_slice())
    );
    assert!(rendered("apiVersion: v1\nkind: Namespace\nmetadata: {name: kube-x}\n").is_err());
}

#[test]
fn text_that_could_not_be_read_gives_no_bundle() {
    assert_eq!(refused(rendered("kind: Pod\n"))[0].code, "G109");
}

#[test]
fn p32_the_same_revision_gives_the_same_digest_whatever_the_order_of_keys() {
    let one =
        rendered("apiVersion: v1\nkind: ConfigMap\nmetadata: {name: a}\ndata: {x: '1', y2: '2'}\n").unwrap();
    let other =
        rendered("data: {y2: '2', x: '1'}\nmetadata:\n  name: a\nkind: ConfigMap\napiVersion: v1\n").unwrap();
    assert_eq!(one.digest(), other.digest());
}

#[test]
fn a_namespace_that_is_used_but_not_written_is_not_added() {
    assert_eq!(rendered("apiVersion: v1\nkind: ConfigMap\nmetadata: {name: a}\n").unwrap().objects.len(), 1);
}

const REGIONAL: &str = "apiVersion: v1\nkind: ConfigMap\nmetadata: {name: 'edge-${{ cluster.name }}'}\n\
                        data: {region: '${{ cluster.labels.region }}', peers: '${{ fleet.targets }}'}\n";

fn spec() -> WorkloadSpec {
    WorkloadSpec { namespace: "web".into(), ..WorkloadSpec::default() }
}

#[test]
fn s4_7_a_bundle_holds_the_values_of_its_cluster_also_where_an_override_asks_for_them() {
    let mut cluster = cluster();
    cluster.labels.insert("region".into(), "eu-west".into());
    let value = json!({"data": {"here": "${{ cluster.region }}"}});
    let one = crate::overrides::Override {
        id: crate::id::OverrideId::from_parts(1, 1),
        name: "here".into(),
        target: crate::overrides::Target { clusters: vec!["eu-1".into()], ..Default::default() },
        priority: 500,
        patches: vec![crate::overrides::Patch {
            object: Default::default(),
            op: crate::overrides::PatchOp::Merge { value },
        }],
    };
    let spec = WorkloadSpec { overrides: vec![one], ..spec() };
    let bundle = rendered_for(REGIONAL, &cluster, spec).unwrap();
    assert_eq!(bundle.objects[0]["metadata"]["name"], "edge-eu-1");
    assert_eq!(
        bundle.objects[0]["data"],
        json!({"region": "eu-west", "peers": "eu-1,us-1", "here": "eu-west"})
    );
}

#[test]
fn s4_9_a_bundle_waits_for_values_that_the_cluster_does_not_have() {
    let Err(Unrendered::Waiting(findings)) = rendered_for(REGIONAL, &cluster(), spec()) else { panic!() };
    assert_eq!(findings.len(), 1);
    assert_eq!((findings[0].code.as_str(), findings[0].path.as_str()), ("G115", "/data/region"));
    assert!(findings[0].message.contains("cluster.labels.region"), "{}", findings[0].message);
}

#[test]
fn values_that_make_a_bad_name_or_the_same_name_twice_are_refused() {
    let mut cluster = cluster();
    cluster.labels.insert("team".into(), "Blue_1".into());
    let text = "apiVersion: v1\nkind: ConfigMap\nmetadata: {name: 'a-${{ cluster.labels.team }}'}\n";
    let findings = refused(rendered_for(text, &cluster, spec()));
    assert_eq!((findings[0].code.as_str(), findings[0].clusters[0].as_str()), ("G101", "eu-1"));
    let text = "apiVersion: v1\nkind: ConfigMap\nmetadata: {name: 'a-${{ cluster.name }}'}\n---\n\
                apiVersion: v1\nkind: ConfigMap\nmetadata: {name: 'a-${{ cluster.name | lower }}'}\n";
    assert_eq!(refused(rendered_for(text, &cluster, spec()))[0].code, "G110");
}
