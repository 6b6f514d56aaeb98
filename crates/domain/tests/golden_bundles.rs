//! Bundles that were rendered once and are compared byte for byte (P32): a change of rendering would change the digest of every
//! bundle, and so start a delivery to every cluster.

use domain::cluster::{Cluster, ClusterKind, Connectivity};
use domain::manifest;
use domain::render::BundleRenderer;
use domain::workload::{SourceFile, WorkloadSpec};
use domain::{ClusterId, Timestamp};
use serde_json::json;

/// Numbers, texts and orders that serializers treat differently.
const MANIFESTS: &str = r#"
apiVersion: v1
kind: ConfigMap
metadata: {name: texts, labels: {b: "2", a: "1"}}
data:
  unicode: "Grüße, 世界 \u0007 \u2028"
  multi: |
    line 1
      line 2

  folded: >-
    one
    two
  zebra: ""
  quoted: '"\/ <&>'
---
apiVersion: example.com/v1
kind: Numbers
metadata: {name: numbers}
spec:
  octal: 0644
  hex: 0x1F
  float: 1.50
  exponent: 12e3
  small: 0.000001
  large: 9007199254740993
  largest: 18446744073709551615
  negative: -0
  yes: yes
  null_value: null
  nested: [[], {}, [1, [2, {z: 1, a: 2}]]]
---
apiVersion: apps/v1
kind: Deployment
metadata: {name: web, annotations: {cluster: '${{ cluster.name }}', region: '${{ cluster.labels.region }}'}}
spec:
  replicas: 2
  selector: {matchLabels: {app: web}}
  template:
    metadata: {labels: {app: web}}
    spec:
      containers:
        - name: web
          image: registry.example/web:1.0
          env: [{name: B, value: "2"}, {name: A, value: "1"}]
          resources: {requests: {cpu: 100m, memory: 64Mi}}
---
apiVersion: v1
kind: Namespace
metadata: {name: extra}
"#;

/// The bundle of one cluster: its digest and its bytes.
fn render(region: &str) -> String {
    let mut cluster = Cluster {
        connectivity: Connectivity::Online,
        ..Cluster::new(ClusterId::from_parts(1, 1), "eu-1", ClusterKind::Agent, Timestamp::from_millis(0))
    };
    cluster.labels.insert("region".to_owned(), region.to_owned());
    let spec: WorkloadSpec = serde_json::from_value(json!({
        "namespace": "shop",
        "overrides": [
            {"id": "01J00000000000000000000000", "name": "scale", "target": {"clusters": ["eu-1"]}, "patches": [
                {"object": {"kind": "Deployment"}, "op": "set", "path": "/spec/replicas", "value": 5},
                {"object": {"kind": "Deployment"}, "op": "set",
                 "path": "/spec/template/spec/containers[name=web]/image", "value": "registry.example/web:1.1"},
                {"object": {"kind": "ConfigMap"}, "op": "remove", "path": "/data/zebra"}]},
            {"id": "01J00000000000000000000001", "name": "region", "target": {"selector": "region=eu"},
             "patches": [{"object": {"kind": "ConfigMap"}, "op": "merge", "value": {"data": {"only": "eu", "multi": null}}}]}
        ]
    }))
    .unwrap();
    let parsed = manifest::parse(&[SourceFile { name: "a.yaml".to_owned(), text: MANIFESTS.to_owned() }]);
    let targets = ["eu-1".to_owned(), "us-1".to_owned()];
    let renderer = BundleRenderer {
        workload: "shop",
        revision: 7,
        spec: &spec,
        parsed: &parsed,
        groups: &[],
        targets: &targets,
    };
    let bundle = renderer.render_bundle(&cluster).unwrap();
    format!("{}\n{}", bundle.digest(), String::from_utf8(bundle.to_bytes()).unwrap())
}

#[test]
fn p32_bundles_are_rendered_to_the_recorded_bytes() {
    insta::assert_snapshot!("eu", render("eu"));
    insta::assert_snapshot!("us", render("us"));
}
