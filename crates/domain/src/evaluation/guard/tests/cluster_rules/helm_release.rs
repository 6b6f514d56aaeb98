//! Names of Helm releases that are in use on a cluster.

use super::*;
use crate::model::chart::ChartSource;
use crate::model::cluster::HelmReleaseFacts;
use crate::model::policy::HelmReleasePolicy;
use crate::model::workload::Source;

fn chart_spec(release_name: &str, policy: HelmReleasePolicy) -> WorkloadSpec {
    let chart = ChartSource {
        chart: "local/web".into(),
        version: "1.0.0".into(),
        release_name: release_name.into(),
        ..ChartSource::default()
    };
    let mut spec = WorkloadSpec { source: Source::Chart(chart), ..WorkloadSpec::default() };
    spec.policies.helm_release = policy;
    spec
}

/// A cluster with a Helm release `shop` in the namespace of the workload, recorded by this workload.
fn cluster_with_release(workload: &str) -> Cluster {
    let release = HelmReleaseFacts {
        name: "shop".into(),
        revision: 4,
        status: "deployed".into(),
        workload: workload.into(),
    };
    let web = NamespaceFacts { helm_releases: Some(vec![release]), ..namespace("web") };
    cluster("eu-1", ClusterFacts { namespaces: vec![web], ..ClusterFacts::default() })
}

fn find(spec: WorkloadSpec, cluster: Cluster) -> Vec<Finding> {
    let mut found = findings_for(CONFIG, spec, &[cluster]);
    found.retain(|finding| ["G105", "G106"].contains(&&*finding.code));
    found
}

#[test]
fn g105_a_release_of_another_tool_blocks_its_name_unless_it_is_adopted() {
    let [found] = &find(chart_spec("", HelmReleasePolicy::None), cluster_with_release(""))[..] else {
        panic!("one finding")
    };
    assert!(found.is_blocking());
    assert_eq!(
        found.message,
        "Helm release \"shop\" in namespace \"web\" exists already: revision 4, deployed, not managed here."
    );
    let other = find(chart_spec("", HelmReleasePolicy::Record), cluster_with_release("api"));
    assert!(other[0].is_blocking() && other[0].message.contains("of workload \"api\""), "{other:?}");
    let adopted = find(chart_spec("", HelmReleasePolicy::Adopt), cluster_with_release(""));
    assert_eq!(codes(&adopted), [("G105", false)]);
}

#[test]
fn g105_another_name_and_the_own_record_are_free() {
    assert_eq!(find(chart_spec("other", HelmReleasePolicy::None), cluster_with_release("")), []);
    assert_eq!(find(chart_spec("", HelmReleasePolicy::Record), cluster_with_release("shop")), []);
    assert_eq!(find(WorkloadSpec::default(), cluster_with_release("")), [], "files are no Helm release");
}

#[test]
fn g106_what_could_not_be_listed_is_reported_as_unchecked() {
    let of_unknown = NamespaceFacts { helm_releases: None, ..namespace("web") };
    let unknown = cluster("eu-1", ClusterFacts { namespaces: vec![of_unknown], ..ClusterFacts::default() });
    let found = find(chart_spec("", HelmReleasePolicy::None), unknown);
    assert_eq!(codes(&found), [("G106", false)]);
    assert!(found[0].message.contains("has not listed the Secrets"), "{}", found[0].message);
    let offline = Cluster { connectivity: Connectivity::Offline, ..cluster_with_release("shop") };
    let found = find(chart_spec("", HelmReleasePolicy::None), offline);
    assert_eq!(codes(&found), [("G106", false)]);
    assert!(found[0].message.contains("is offline"), "{}", found[0].message);
    // No release is in a namespace that does not exist.
    let empty = ClusterFacts { namespaces: vec![namespace("default")], ..ClusterFacts::default() };
    assert_eq!(find(chart_spec("", HelmReleasePolicy::None), cluster("eu-1", empty)), []);
}
