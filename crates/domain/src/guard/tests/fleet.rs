//! What the chosen clusters' facts say.

use super::*;
use crate::cluster::{ApiResource, ClusterFacts, ClusterKind, Reach};
use crate::id::ClusterId;
use crate::time::Timestamp;
use crate::workload::SourceFile;

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
        reach: Reach::Online,
        ..Cluster::new(ClusterId::from_parts(1, 1), name, ClusterKind::Agent, Timestamp::from_millis(0))
    }
}

fn fleet(text: &str, clusters: &[Cluster]) -> Vec<Finding> {
    let files = [SourceFile { name: "a.yaml".into(), text: text.into() }];
    let (spec, parsed) = (WorkloadSpec::default(), crate::manifest::parse(&files));
    let rendering =
        Rendering { workload: "shop", revision: 1, spec: &spec, parsed: &parsed, groups: &[], targets: &[] };
    check_fleet(&rendering, &clusters.iter().collect::<Vec<_>>())
}

const BUDGET: &str = "# old\napiVersion: policy/v1beta1\nkind: PodDisruptionBudget\nmetadata: {name: b}\n";
const PLANET: &str = "apiVersion: example.org/v1\nkind: Planet\nmetadata: {name: p}\n";
const POD: (&str, &str, &str) = ("", "v1", "Pod");

#[test]
fn g401_a_kind_that_clusters_do_not_serve_is_refused_once_for_all_of_them() {
    let clusters = [
        cluster("b", "v1.33.0", &[POD]),
        cluster("a", "v1.33.0", &[POD]),
        cluster("c", "v1.33.0", &[("example.org", "v1", "Planet")]),
    ];
    let findings = fleet(PLANET, &clusters);
    assert_eq!(findings.len(), 1, "{findings:#?}");
    assert_eq!(
        (findings[0].code.as_str(), findings[0].clusters.as_slice()),
        ("G401", ["a".to_owned(), "b".to_owned()].as_slice())
    );
    assert_eq!(
        findings[0].message,
        "These clusters do not know example.org/v1 Planet, so they would refuse Planet p."
    );
}

#[test]
fn g401_a_definition_in_the_same_workload_brings_its_kind() {
    let text = format!(
        "apiVersion: apiextensions.k8s.io/v1\nkind: CustomResourceDefinition\nmetadata: {{name: planets.example.org}}\n\
         spec: {{group: example.org, names: {{kind: Planet}}, scope: Namespaced, versions: [{{name: v1, served: true}}]}}\n---\n{PLANET}"
    );
    let crds = ("apiextensions.k8s.io", "v1", "CustomResourceDefinition");
    assert_eq!(fleet(&text, &[cluster("a", "v1.33.0", &[crds])]), []);
}

#[test]
fn g402_a_removed_version_is_refused_with_its_replacement() {
    let finding = |clusters: &[Cluster]| {
        let findings = fleet(BUDGET, clusters);
        assert_eq!(findings.len(), 1, "{findings:#?}");
        findings.into_iter().next().unwrap()
    };
    for known in [&[POD][..], &[]] {
        let found = finding(&[cluster("a", "v1.33.4", known)]);
        assert_eq!((found.code.as_str(), found.place.as_ref().unwrap().line), ("G402", 2));
        assert!(
            found.message.contains("removed in Kubernetes 1.25") && found.hint.contains("policy/v1"),
            "{found:?}"
        );
    }
    let still = finding(&[cluster("a", "v1.24.1", &[])]);
    assert_eq!(still.severity, Severity::Note);
    assert!(still.message.contains("until they are upgraded"), "{}", still.message);
    assert_eq!(
        fleet(BUDGET, &[cluster("a", "v1.33.4", &[("policy", "v1beta1", "PodDisruptionBudget")])]),
        [],
        "the facts decide"
    );
    let new = fleet(&BUDGET.replace("v1beta1", "v1"), &[cluster("a", "v1.20.0", &[])]);
    assert!(new[0].message.contains("came with Kubernetes 1.21"), "{new:?}");
}

#[test]
fn g401_clusters_of_which_nothing_is_known_are_a_warning() {
    let findings = fleet(PLANET, &[cluster("a", "", &[]), cluster("b", "", &[])]);
    assert_eq!(findings.len(), 1);
    assert_eq!((findings[0].severity, findings[0].clusters.len()), (Severity::Warning, 2));
}

#[test]
fn g411_offline_clusters_are_a_warning() {
    let mut gone = cluster("a", "v1.33.0", &[("example.org", "v1", "Planet")]);
    gone.reach = Reach::Offline;
    let findings = fleet(PLANET, &[gone]);
    assert_eq!((findings[0].code.as_str(), findings[0].severity), ("G411", Severity::Warning));
}

#[test]
fn g501_a_placement_that_chooses_nothing_is_refused() {
    assert_eq!(fleet(PLANET, &[])[0].code, "G501");
}

const REGIONAL: &str =
    "apiVersion: v1\nkind: ConfigMap\nmetadata: {name: a}\ndata: {r: '${{ cluster.labels.region }}'}\n";

#[test]
fn g115_a_value_that_a_chosen_cluster_lacks_is_named_with_the_cluster() {
    let mut labelled = cluster("eu-1", "v1.30.0", &[]);
    labelled.labels.insert("region".into(), "eu".into());
    let bare = cluster("us-1", "v1.30.0", &[]);
    let of = |findings: Vec<Finding>| -> Vec<Finding> {
        findings.into_iter().filter(|finding| finding.code == "G115").collect()
    };
    let findings = of(fleet(REGIONAL, &[labelled.clone(), bare]));
    assert_eq!(findings.len(), 1);
    assert!(findings[0].blocks());
    assert_eq!(findings[0].clusters, ["us-1"]);
    assert!(findings[0].hint.contains("Label the cluster with region"), "{}", findings[0].hint);
    assert_eq!(of(fleet(REGIONAL, &[labelled])), []);
    // One that has not told of itself yet may still bring it.
    let findings = of(fleet(REGIONAL, &[cluster("new-1", "", &[])]));
    assert!(!findings[0].blocks(), "{findings:?}");
}

#[test]
fn g115_templates_are_read_as_samples_by_the_other_rules_and_slips_are_told_where_they_stand() {
    let check = |text: &str| {
        let files = [SourceFile { name: "a.yaml".into(), text: text.into() }];
        let spec = WorkloadSpec { namespace: "web".into(), ..WorkloadSpec::default() };
        check_static("shop", &spec, &crate::manifest::parse(&files))
    };
    let good = "apiVersion: v1\nkind: ConfigMap\nmetadata: {name: 'a-${{ cluster.name }}'}\n";
    assert_eq!(check(good), []);
    let bad = "apiVersion: v1\nkind: ConfigMap\nmetadata:\n  name: a\ndata:\n  x: ${{ cluster.nmae }}\n";
    let findings = check(bad);
    let [finding] = &findings[..] else { panic!("{findings:?}") };
    assert_eq!((finding.code.as_str(), finding.place.as_ref().unwrap().line), ("G115", 6));
    assert_eq!(finding.hint, "Did you mean cluster.name?");
}
