//! Cost of guard rails: parsing the manifests, the static rules, and the rules on the facts of every cluster.

use std::hint::black_box;
use std::time::Instant;

use domain::cluster::{ApiResource, Cluster, ClusterFacts, ClusterKind, NamespaceFacts, NodePool, Quota};
use domain::guard::ClusterSchemas;
use domain::overrides::{ClusterSelector, Override, Patch, PatchOp};
use domain::quantity::Quantity;
use domain::render::BundleRenderer;
use domain::schema::kubernetes_schema;
use domain::workload::{SourceFile, WorkloadSpec};
use domain::{ClusterId, OverrideId, Timestamp, guard, manifest};
use serde_json::json;

use crate::figures::Durations;

/// Checks `objects` objects against `clusters` clusters, `runs` times.
pub fn run(objects: usize, clusters: usize, runs: usize) {
    let files = [SourceFile { name: "app.yaml".to_owned(), text: manifests(objects) }];
    let fleet: Vec<Cluster> = (0..clusters).map(cluster_with_facts).collect();
    let chosen: Vec<&Cluster> = fleet.iter().collect();
    let targets: Vec<String> = fleet.iter().map(|cluster| cluster.name.clone()).collect();
    let plain = WorkloadSpec { namespace: "bench".to_owned(), ..WorkloadSpec::default() };
    let overridden = WorkloadSpec { overrides: vec![replicas_override(&targets)], ..plain.clone() };
    let [mut read, mut stat, mut whole, mut facts, mut with] = [(); 5].map(|()| Durations::default());
    for _ in 0..runs {
        let begun = Instant::now();
        let parsed = black_box(manifest::parse(&files));
        read.add(begun.elapsed());
        let begun = Instant::now();
        black_box(guard::check_static("bench", &plain, &parsed));
        stat.add(begun.elapsed());
        let begun = Instant::now();
        black_box(guard::check_static_with(
            &ClusterSchemas::from_schema(kubernetes_schema()),
            "bench",
            &plain,
            &parsed,
        ));
        whole.add(begun.elapsed());
        for (spec, figures) in [(&plain, &mut facts), (&overridden, &mut with)] {
            let rendering = BundleRenderer {
                workload: "bench",
                revision: 1,
                spec,
                parsed: &parsed,
                groups: &[],
                targets: &targets,
            };
            let begun = Instant::now();
            black_box(guard::check_fleet(&rendering, &chosen));
            figures.add(begun.elapsed());
        }
    }
    println!("guard rails, {objects} objects, {clusters} clusters");
    println!("  {}", read.summary_line("read the manifests"));
    println!("  {}", stat.summary_line("static rules"));
    println!("  {}", whole.summary_line("the same with the schema of kinds"));
    println!("  {}", facts.summary_line("facts of the clusters"));
    println!("  {}", with.summary_line("the same with an override"));
}

/// Manifests: one half Deployments, one half their Services.
fn manifests(objects: usize) -> String {
    let one = |n: usize| {
        format!(
            "apiVersion: apps/v1\nkind: Deployment\nmetadata: {{name: app-{n}}}\nspec:\n  replicas: 2\n  \
             selector: {{matchLabels: {{app: app-{n}}}}}\n  template:\n    metadata: {{labels: {{app: app-{n}}}}}\n    \
             spec:\n      containers:\n      - name: app\n        image: example.com/app:1.{n}\n        \
             ports: [{{containerPort: 8080, name: http}}]\n        \
             resources: {{requests: {{cpu: 100m, memory: 64Mi}}, limits: {{memory: 128Mi}}}}\n        \
             readinessProbe: {{httpGet: {{path: /, port: http}}}}\n---\napiVersion: v1\nkind: Service\n\
             metadata: {{name: app-{n}}}\nspec: {{selector: {{app: app-{n}}}, ports: [{{port: 80, targetPort: http}}]}}\n"
        )
    };
    (0..objects.div_ceil(2)).map(one).collect::<Vec<_>>().join("---\n")
}

/// A cluster with complete facts: sixty kinds and twenty namespaces with a Pod Security level and a quota.
fn cluster_with_facts(n: usize) -> Cluster {
    let api = |(group, kind): (&str, &str)| ApiResource {
        group: group.to_owned(),
        version: "v1".to_owned(),
        kind: kind.to_owned(),
        namespaced: true,
        denied: false,
    };
    let more = (0..58).map(|n| ("example.com", format!("Kind{n:02}")));
    let mut apis: Vec<ApiResource> = more.map(|(group, kind)| api((group, &kind))).collect();
    apis.extend([("apps", "Deployment"), ("", "Service")].map(api));
    let amounts = |cpu: u32| [("requests.cpu".to_owned(), Quantity::from_units(cpu))].into();
    let namespace = |number: usize| NamespaceFacts {
        name: if number == 0 { "bench".to_owned() } else { format!("space-{number}") },
        pod_security: if n.is_multiple_of(2) { "restricted" } else { "baseline" }.to_owned(),
        quotas: vec![Quota { name: "all".to_owned(), hard: amounts(40), used: amounts(2) }],
        ..NamespaceFacts::default()
    };
    let pool = NodePool {
        architecture: "amd64".to_owned(),
        os: "linux".to_owned(),
        nodes: 3,
        ready: 3,
        largest_cpu: Quantity::from_units(8),
        largest_memory: Quantity::from_units(u32::MAX),
        ..NodePool::default()
    };
    let id = ClusterId::from_parts(1, n as u128 + 1);
    Cluster {
        facts: ClusterFacts {
            kubernetes_version: "v1.36.3".to_owned(),
            apis,
            node_pools: vec![pool],
            namespaces: (0..20).map(namespace).collect(),
            ..ClusterFacts::default()
        },
        ..Cluster::new(id, format!("cluster-{n:05}"), ClusterKind::Agent, Timestamp::from_millis(0))
    }
}

/// Another number of replicas on every tenth cluster.
fn replicas_override(clusters: &[String]) -> Override {
    Override {
        id: OverrideId::from_parts(1, 1),
        name: "tenth".to_owned(),
        target: ClusterSelector {
            clusters: clusters.iter().step_by(10).cloned().collect(),
            ..ClusterSelector::default()
        },
        priority: 500,
        values: String::new(),
        patches: vec![Patch {
            object: domain::overrides::ObjectSelector { kind: "Deployment".to_owned(), ..Default::default() },
            op: PatchOp::Merge { value: json!({"spec": {"replicas": 3}}) },
        }],
    }
}
