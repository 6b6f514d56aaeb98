//! Checks against the facts of the selected clusters.

use super::*;
use crate::kubernetes::id::ClusterId;
use crate::kubernetes::time::Timestamp;
use crate::model::cluster::{ApiResource, ClusterFacts, ClusterKind, Connectivity};
use crate::model::dependency::WorkloadDependency;
use crate::text::source_file::SourceFile;

fn cluster(name: &str, version: &str, apis: &[(&str, &str, &str)]) -> Cluster {
    let api = |(group, version, kind): &(&str, &str, &str)| ApiResource {
        group: (*group).into(),
        version: (*version).into(),
        kind: (*kind).into(),
        namespaced: true,
        denied: false,
    };
    Cluster {
        facts: ClusterFacts {
            kubernetes_version: version.into(),
            apis: apis.iter().map(api).collect(),
            ..ClusterFacts::default()
        },
        connectivity: Connectivity::Online,
        ..Cluster::new(ClusterId::from_parts(1, 1), name, ClusterKind::Agent, Timestamp::from_millis(0))
    }
}

fn check_clusters(text: &str, clusters: &[Cluster]) -> Vec<Finding> {
    let files = [SourceFile { name: "a.yaml".into(), text: text.into() }];
    let (spec, parsed) = (WorkloadSpec::default(), crate::text::manifest::parse(&files));
    let rendering = BundleRenderer {
        workload: "shop",
        revision: 1,
        spec: &spec,
        parsed: &parsed,
        groups: &[],
        targets: &[],
    };
    check_fleet(&rendering, &clusters.iter().collect::<Vec<_>>())
}

const BUDGET: &str = "# old\napiVersion: policy/v1beta1\nkind: PodDisruptionBudget\nmetadata: {name: b}\n";
const PLANET: &str = "apiVersion: example.org/v1\nkind: Planet\nmetadata: {name: p}\n";
const POD: (&str, &str, &str) = ("", "v1", "Pod");

#[test]
fn g401_a_kind_that_clusters_do_not_serve_is_one_error_for_all_of_them() {
    let clusters = [
        cluster("b", "v1.33.0", &[POD]),
        cluster("a", "v1.33.0", &[POD]),
        cluster("c", "v1.33.0", &[("example.org", "v1", "Planet")]),
    ];
    let findings = check_clusters(PLANET, &clusters);
    assert_eq!(findings.len(), 1, "{findings:#?}");
    assert_eq!(
        (findings[0].code.as_str(), findings[0].clusters.as_slice()),
        ("G401", ["a".to_owned(), "b".to_owned()].as_slice())
    );
    assert_eq!(
        findings[0].message,
        "These clusters do not serve example.org/v1 Planet, so they would reject Planet p."
    );
}

#[test]
fn g401_a_kind_defined_in_the_same_workload_has_no_finding() {
    let text = format!(
        "apiVersion: apiextensions.k8s.io/v1\nkind: CustomResourceDefinition\nmetadata: {{name: planets.example.org}}\n\
         spec: {{group: example.org, names: {{kind: Planet}}, scope: Namespaced, versions: [{{name: v1, served: true}}]}}\n---\n{PLANET}"
    );
    let crds = ("apiextensions.k8s.io", "v1", "CustomResourceDefinition");
    assert_eq!(check_clusters(&text, &[cluster("a", "v1.33.0", &[crds])]), []);
}

#[test]
fn g402_a_removed_version_is_an_error_with_its_replacement() {
    let finding = |clusters: &[Cluster]| {
        let findings = check_clusters(BUDGET, clusters);
        assert_eq!(findings.len(), 1, "{findings:#?}");
        findings.into_iter().next().unwrap()
    };
    for known in [&[POD][..], &[]] {
        let found = finding(&[cluster("a", "v1.33.4", known)]);
        assert_eq!((found.code.as_str(), found.location.as_ref().unwrap().line), ("G402", 2));
        assert!(
            found.message.contains("removed in Kubernetes 1.25") && found.hint.contains("policy/v1"),
            "{found:?}"
        );
    }
    let still = finding(&[cluster("a", "v1.24.1", &[])]);
    assert_eq!(still.severity, Severity::Note);
    assert!(still.message.contains("until they are upgraded"), "{}", still.message);
    assert_eq!(
        check_clusters(BUDGET, &[cluster("a", "v1.33.4", &[("policy", "v1beta1", "PodDisruptionBudget")])]),
        [],
        "the reported APIs decide"
    );
    let new = check_clusters(&BUDGET.replace("v1beta1", "v1"), &[cluster("a", "v1.20.0", &[])]);
    assert!(new[0].message.contains("was added in Kubernetes 1.21"), "{new:?}");
}

#[test]
fn g401_a_kind_that_a_dependency_may_bring_is_a_warning_and_one_of_kubernetes_is_not() {
    let check = |text: &str, dependencies: &[&str]| {
        let files = [SourceFile { name: "a.yaml".into(), text: text.into() }];
        let depends_on = dependencies.iter().copied().map(WorkloadDependency::new).collect();
        let spec = WorkloadSpec { depends_on, ..WorkloadSpec::default() };
        let parsed = crate::text::manifest::parse(&files);
        let rendering = BundleRenderer {
            workload: "shop",
            revision: 1,
            spec: &spec,
            parsed: &parsed,
            groups: &[],
            targets: &[],
        };
        let findings = check_fleet(&rendering, &[&cluster("a", "v1.33.4", &[POD])]);
        findings.into_iter().find(|finding| finding.code == "G401").unwrap()
    };
    assert!(check(PLANET, &[]).is_blocking());
    let accepted = check(PLANET, &["planets"]);
    assert_eq!(accepted.severity, Severity::Warning);
    assert!(accepted.message.ends_with("has to bring it: planets."), "{}", accepted.message);
    for kind in ["apps/v1\nkind: Deploymint", "networking.k8s.io/v1\nkind: Ingres"] {
        let slip = format!("apiVersion: {kind}\nmetadata: {{name: d}}\n");
        assert!(check(&slip, &["planets"]).is_blocking(), "{kind}");
    }
}

#[test]
fn g401_clusters_without_reported_facts_are_a_warning() {
    let findings = check_clusters(PLANET, &[cluster("a", "", &[]), cluster("b", "", &[])]);
    assert_eq!(findings.len(), 1);
    assert_eq!((findings[0].severity, findings[0].clusters.len()), (Severity::Warning, 2));
}

#[test]
fn g411_offline_clusters_are_a_warning() {
    let mut gone = cluster("a", "v1.33.0", &[("example.org", "v1", "Planet")]);
    gone.connectivity = Connectivity::Offline;
    let findings = check_clusters(PLANET, &[gone]);
    assert_eq!((findings[0].code.as_str(), findings[0].severity), ("G411", Severity::Warning));
}

#[test]
fn g501_a_placement_without_clusters_is_an_error() {
    let finding = &check_clusters(PLANET, &[])[0];
    assert_eq!((finding.code.as_str(), finding.path.as_str()), ("G501", "/placement"));
}

const REGIONAL: &str =
    "apiVersion: v1\nkind: ConfigMap\nmetadata: {name: a}\ndata: {r: '${{ cluster.labels.region }}'}\n";

#[test]
fn g115_a_value_that_a_selected_cluster_lacks_is_reported_with_the_cluster() {
    let mut labelled = cluster("eu-1", "v1.30.0", &[]);
    labelled.labels.insert("region".into(), "eu".into());
    let bare = cluster("us-1", "v1.30.0", &[]);
    let of = |findings: Vec<Finding>| -> Vec<Finding> {
        findings.into_iter().filter(|finding| finding.code == "G115").collect()
    };
    let findings = of(check_clusters(REGIONAL, &[labelled.clone(), bare]));
    assert_eq!(findings.len(), 1);
    assert!(findings[0].is_blocking());
    assert_eq!(findings[0].clusters, ["us-1"]);
    assert!(findings[0].hint.contains("Label the cluster with region"), "{}", findings[0].hint);
    assert_eq!(of(check_clusters(REGIONAL, &[labelled])), []);
    // A cluster that has not reported its facts yet may still have the value.
    let findings = of(check_clusters(REGIONAL, &[cluster("new-1", "", &[])]));
    assert!(!findings[0].is_blocking(), "{findings:?}");
}

#[test]
fn g115_an_expression_that_expands_too_much_with_the_values_of_a_cluster_is_reported_with_the_cluster() {
    let seed = |name: &str, bytes: usize| {
        let mut cluster = cluster(name, "v1.30.0", &[]);
        cluster.values.insert("seed".into(), "x".repeat(bytes).into());
        cluster
    };
    // It has 256 times its value.
    let text = format!(
        "apiVersion: v1\nkind: ConfigMap\nmetadata: {{name: a}}\ndata:\n  key: '${{{{ cluster.values.seed{} }}}}'\n",
        " | map(\"{}{}\")".repeat(8)
    );
    let of = |findings: Vec<Finding>| -> Vec<Finding> {
        findings.into_iter().filter(|finding| finding.code == "G115").collect()
    };
    let findings = of(check_clusters(&text, &[seed("eu-1", 10), seed("eu-2", 30_000)]));
    let [finding] = &findings[..] else { panic!("{findings:?}") };
    assert!(
        finding.is_blocking() && finding.message.contains("would produce more than 2 MiB"),
        "{finding:?}"
    );
    assert_eq!((&finding.clusters[..], finding.location.is_some()), (&["eu-2".to_owned()][..], true));
    // What fails on every cluster is a finding of the draft, and none of each cluster.
    let everywhere =
        text.replace("cluster.values.seed", &format!("cluster.name{}", " | map(\"{}{}\")".repeat(32)));
    assert_eq!(of(check_clusters(&everywhere, &[seed("eu-1", 10), seed("eu-2", 10)])), []);
}

#[test]
fn g115_other_rules_see_sample_values_and_errors_have_a_location() {
    let check = |text: &str| {
        let files = [SourceFile { name: "a.yaml".into(), text: text.into() }];
        let spec = WorkloadSpec { namespace: "web".into(), ..WorkloadSpec::default() };
        check_static("shop", &spec, &crate::text::manifest::parse(&files))
    };
    let good = "apiVersion: v1\nkind: ConfigMap\nmetadata: {name: 'a-${{ cluster.name }}'}\n";
    assert_eq!(check(good), []);
    let bad = "apiVersion: v1\nkind: ConfigMap\nmetadata:\n  name: a\ndata:\n  x: ${{ cluster.nmae }}\n";
    let findings = check(bad);
    let [finding] = &findings[..] else { panic!("{findings:?}") };
    assert_eq!((finding.code.as_str(), finding.location.as_ref().unwrap().line), ("G115", 6));
    assert_eq!(finding.hint, "Did you mean cluster.name?");
}
