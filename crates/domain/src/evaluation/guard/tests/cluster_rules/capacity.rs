//! Checks against the quotas and the nodes of one cluster.

use super::*;
use crate::kubernetes::quantity::Quantity;
use crate::model::cluster::{NodePool, Quota};

fn with_quota(hard: &[(&str, &str)], used: &[(&str, &str)]) -> ClusterFacts {
    let amounts = |all: &[(&str, &str)]| {
        all.iter().map(|(name, amount)| ((*name).to_owned(), Quantity::parse(amount).unwrap())).collect()
    };
    let quota = Quota { name: "small".into(), hard: amounts(hard), used: amounts(used) };
    let namespaces = vec![NamespaceFacts { quotas: vec![quota], ..namespace("web") }];
    ClusterFacts { namespaces, ..ClusterFacts::default() }
}

#[test]
fn g407_requests_above_a_quota_are_an_error_and_above_its_remainder_a_warning() {
    let three = deployment(3, "resources: {requests: {cpu: 500m, memory: 1Gi}}");
    let cpu = |hard, used| with_quota(&[("requests.cpu", hard)], &[("requests.cpu", used)]);
    assert_eq!(findings_with_facts(&three, cpu("4", "2")), []);
    assert_eq!(codes(&findings_with_facts(&three, cpu("4", "3"))), [("G407", false)]);
    let findings = findings_with_facts(&three, cpu("1", "0"));
    assert_eq!(codes(&findings), [("G407", true)]);
    assert!(
        findings[0].message.contains("allows requests.cpu 1, and this needs 1500m"),
        "{}",
        findings[0].message
    );
    let memory = findings_with_facts(&three, with_quota(&[("memory", "2Gi")], &[]));
    assert!(
        memory[0].message.contains("2 GiB") && memory[0].message.contains("3 GiB"),
        "{}",
        memory[0].message
    );
    assert_eq!(codes(&findings_with_facts(&three, with_quota(&[("pods", "2")], &[]))), [("G407", true)]);
    // A quota rejects pods that do not set its resource.
    let findings = findings_with_facts(&three, with_quota(&[("limits.memory", "9Gi")], &[]));
    assert_eq!(codes(&findings), [("G407", false)]);
    assert_eq!(findings[0].hint, "Set resources.limits.memory.");
    assert_eq!(
        findings_with_facts(&three, with_quota(&[("count/secrets", "1")], &[])),
        [],
        "quotas that do not count pods are ignored"
    );
}

#[test]
fn g407_a_quota_without_room_for_an_update_is_a_warning() {
    let with = |replicas: u32, strategy: &str| {
        deployment(replicas, "resources: {requests: {cpu: 500m}}")
            .replace("  selector:", &format!("  {strategy}\n  selector:"))
    };
    let cpu = |hard| with_quota(&[("requests.cpu", hard)], &[]);
    let findings = findings_with_facts(&with(3, "minReadySeconds: 0"), cpu("1500m"));
    assert_eq!(codes(&findings), [("G407", false)]);
    assert!(findings[0].message.contains("Deployment web/api starts a new pod"), "{}", findings[0].message);
    assert_eq!(findings_with_facts(&with(3, "minReadySeconds: 0"), cpu("2")), []);
    assert_eq!(
        findings_with_facts(&with(4, "minReadySeconds: 0"), cpu("2")),
        [],
        "one of four pods may be unavailable by default"
    );
    assert_eq!(findings_with_facts(&with(3, "strategy: {type: Recreate}"), cpu("1500m")), []);
    assert_eq!(
        findings_with_facts(&with(3, "strategy: {rollingUpdate: {maxUnavailable: 1}}"), cpu("1500m")),
        []
    );
    assert_eq!(
        findings_with_facts(&with(3, "strategy: {rollingUpdate: {maxUnavailable: 34%}}"), cpu("1500m")),
        []
    );
}

#[test]
fn g408_a_pod_that_fits_no_node_is_a_warning_with_the_largest_node() {
    let pool = |architecture: &str, cores: u32| NodePool {
        architecture: architecture.into(),
        os: "linux".into(),
        nodes: 2,
        ready: 2,
        largest_cpu: Quantity::from_units(cores),
        largest_memory: Quantity::parse("8Gi").unwrap(),
        ..NodePool::default()
    };
    let facts =
        || ClusterFacts { node_pools: vec![pool("amd64", 4), pool("arm64", 2)], ..ClusterFacts::default() };
    let requesting =
        |cpu: &str| deployment(1, &format!("resources: {{requests: {{cpu: '{cpu}', memory: 1Gi}}}}"));
    assert_eq!(findings_with_facts(&requesting("4"), facts()), []);
    let findings = findings_with_facts(&requesting("5"), facts());
    assert_eq!(codes(&findings), [("G408", false)]);
    assert!(findings[0].message.contains("the largest node has 4 and 8 GiB"), "{}", findings[0].message);
    let on = |arch: &str, cpu: &str| {
        requesting(cpu).replace(
            "      containers:",
            &format!("      nodeSelector: {{kubernetes.io/arch: {arch}}}\n      containers:"),
        )
    };
    assert_eq!(findings_with_facts(&on("arm64", "2"), facts()), []);
    assert_eq!(codes(&findings_with_facts(&on("arm64", "4"), facts())), [("G408", false)]);
    let nowhere = findings_with_facts(&on("riscv64", "1"), facts());
    assert!(nowhere[0].message.contains("the nodes are linux/amd64, linux/arm64"), "{}", nowhere[0].message);
}
