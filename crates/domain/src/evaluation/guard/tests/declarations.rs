//! The rules emit what the catalogue declares, over every manifest of the corpus and of the fixtures.

use std::collections::{BTreeSet, HashMap};
use std::fs;
use std::path::{Path, PathBuf};

use super::super::catalogue::{find_foreign, rails};
use super::super::rules::{CLUSTER_RULES, STATIC_RULES};
use super::*;
use crate::kubernetes::id::ClusterId;
use crate::kubernetes::quantity::Quantity;
use crate::kubernetes::time::Timestamp;
use crate::model::chart::ChartSource;
use crate::model::cluster::{
    ApiResource, ClusterFacts, ClusterKind, HelmReleaseFacts, NamespaceFacts, NodePool, Quota,
};
use crate::model::dependency::WorkloadDependency;
use crate::model::policy::HelmReleasePolicy;
use crate::model::remote::RemoteSource;
use crate::model::workload::Source;
use crate::text::schema::kubernetes_schema;

/// All manifests below a folder.
fn manifests(folder: &Path) -> Vec<PathBuf> {
    let entries = fs::read_dir(folder).unwrap().map(|entry| entry.unwrap().path());
    let (folders, files): (Vec<PathBuf>, Vec<PathBuf>) = entries.partition(|path| path.is_dir());
    let is_manifest = |path: &PathBuf| path.extension().is_some_and(|kind| kind == "yaml");
    folders.iter().flat_map(|folder| manifests(folder)).chain(files.into_iter().filter(is_manifest)).collect()
}

fn corpus() -> Vec<ParsedManifests> {
    let root = Path::new(env!("CARGO_MANIFEST_DIR"));
    let folders = [root.join("tests/corpus"), root.join("../../end2end/fixtures")];
    let paths: Vec<PathBuf> = folders.iter().flat_map(|folder| manifests(folder)).collect();
    assert!(paths.len() > 100, "{} files", paths.len());
    let parse = |path: &PathBuf| {
        let text = fs::read_to_string(path).unwrap();
        crate::text::manifest::parse(&[SourceFile { name: path.display().to_string(), text }])
    };
    paths.iter().map(parse).collect()
}

fn spec(create_namespace: bool) -> WorkloadSpec {
    let mut spec = WorkloadSpec { namespace: "shop".into(), ..WorkloadSpec::default() };
    spec.policies.create_namespace = create_namespace;
    spec
}

fn chart_spec(helm_release: HelmReleasePolicy) -> WorkloadSpec {
    let chart = ChartSource { chart: "local/web".into(), version: "1.0.0".into(), ..ChartSource::default() };
    let mut spec = WorkloadSpec { source: Source::Chart(chart), ..spec(true) };
    spec.policies.helm_release = helm_release;
    spec
}

fn cluster(name: &str, facts: ClusterFacts) -> Cluster {
    let mut cluster =
        Cluster::new(ClusterId::from_parts(1, 1), name, ClusterKind::Agent, Timestamp::from_millis(0));
    cluster.labels.insert("env".into(), "production".into());
    Cluster { facts, ..cluster }
}

/// Facts that nearly every rule about one cluster objects to.
fn strict_facts() -> ClusterFacts {
    let amounts = |pods: &str| [("pods".to_owned(), Quantity::parse(pods).unwrap())].into_iter().collect();
    let quota = |hard, used| Quota { name: "small".into(), hard: amounts(hard), used: amounts(used) };
    let shop = NamespaceFacts {
        name: "shop".into(),
        pod_security: "restricted".into(),
        quotas: vec![quota("1", "1"), quota("0", "0")],
        pull_accounts: Some(Vec::new()),
        granted: Some(Vec::new()),
        helm_releases: Some(vec![HelmReleaseFacts { name: "shop".into(), ..HelmReleaseFacts::default() }]),
    };
    let service = ApiResource {
        group: String::new(),
        version: "v1".into(),
        kind: "Service".into(),
        namespaced: true,
        denied: true,
    };
    ClusterFacts {
        kubernetes_version: "v1.99.0".into(),
        apis: vec![service],
        permissions_known: true,
        namespaces: vec![shop],
        storage_classes: vec!["other".into()],
        ingress_classes: vec!["other".into()],
        node_pools: vec![NodePool::default()],
        ..ClusterFacts::default()
    }
}

type Emitted = BTreeSet<(String, Severity)>;

fn emitted(findings: Vec<Finding>) -> impl Iterator<Item = (String, Severity)> {
    findings.into_iter().map(|finding| (finding.code, finding.severity))
}

/// What the catalogue declares for a scope, of the codes that pass `parse_filter`.
fn declared(scope: Scope, filter: impl Fn(&str) -> bool) -> Emitted {
    let of_scope = rails().filter(|rail| filter(rail.code));
    of_scope
        .flat_map(|rail| rail.severities_in(scope).iter().map(|severity| (rail.code.to_owned(), *severity)))
        .collect()
}

#[test]
fn every_static_rule_emits_its_code_and_no_other() {
    let (spec, mut emitting) = (spec(true), BTreeSet::new());
    for parsed in corpus() {
        let objects = rule_context::rule_objects(&spec, &parsed);
        let context = RuleContext::new(&spec, &objects);
        for (at, (code, rule)) in STATIC_RULES.iter().enumerate() {
            let findings = rule(&context);
            assert_eq!(find_foreign(code, &findings, Scope::Static), None, "rule {at} of {code}");
            if !findings.is_empty() {
                emitting.insert(at);
            }
        }
    }
    let silent = STATIC_RULES.iter().enumerate().filter(|(at, _)| !emitting.contains(at));
    let silent: Vec<(usize, &str)> = silent.map(|(at, (code, _))| (at, *code)).collect();
    assert_eq!(silent, [], "rules without a finding in the corpus: add a manifest");
}

#[test]
fn the_static_checks_of_manifests_emit_exactly_the_declared_severities() {
    let newer = [cluster("newer", strict_facts())];
    let (builtin, reported) = (kubernetes_schema(), HashMap::new());
    let mut found = Emitted::new();
    for schemas in
        [ClusterSchemas::from_schema(builtin), ClusterSchemas::for_clusters(builtin, &newer, &reported)]
    {
        for parsed in corpus() {
            let findings = check_static_with(&schemas, "shop", &spec(true), &parsed);
            assert_eq!(find_undeclared(&findings, Scope::Static), None);
            found.extend(emitted(findings));
        }
    }
    // A chart has no objects here: only its fields are checked.
    let chart = ChartSource { chart: "web".into(), release_name: "-web".into(), ..ChartSource::default() };
    let charted = WorkloadSpec { source: Source::Chart(chart), ..spec(true) };
    let git = RemoteSource { repository: "ftp://example.com/a/b".into(), ..RemoteSource::default() };
    let in_git = WorkloadSpec { source: Source::Git(Box::new(git)), ..spec(true) };
    // An option of an envelope is compared with the policies of the spec.
    let text = "apiVersion: work.open-cluster-management.io/v1\nkind: ManifestWork\nmetadata: {name: web}\n\
                spec: {deleteOption: {propagationPolicy: Orphan}}\n";
    let files = vec![SourceFile { name: "work.yaml".into(), text: text.into() }];
    let enveloped = WorkloadSpec { source: Source::Yaml { files }, ..spec(true) };
    let depends_on = vec![WorkloadDependency::new("shop")];
    let dependent = WorkloadSpec { depends_on, ..spec(true) };
    for other in [charted, in_git, enveloped, dependent] {
        let schemas = ClusterSchemas::from_schema(builtin);
        let findings = check_static_with(&schemas, "shop", &other, &ParsedManifests::default());
        assert_eq!(find_undeclared(&findings, Scope::Static), None);
        found.extend(emitted(findings));
    }
    // G5xx is about the other fields of the spec, except for the rules about objects.
    let of_objects = |code: &str| code < "G5" || STATIC_RULES.iter().any(|(other, _)| *other == code);
    assert_eq!(found, declared(Scope::Static, of_objects));
}

#[test]
fn the_rules_about_one_cluster_emit_exactly_the_declared_severities() {
    let without_namespace = ClusterFacts {
        namespaces: vec![NamespaceFacts { name: "default".into(), ..NamespaceFacts::default() }],
        ..ClusterFacts::default()
    };
    let unreported = cluster("unreported", ClusterFacts::default());
    let clusters = [cluster("strict", strict_facts()), cluster("empty", without_namespace), unreported];
    let selected: Vec<&Cluster> = clusters.iter().collect();
    let is_cluster_rule = |code: &str| CLUSTER_RULES.iter().any(|(other, _)| *other == code);
    let mut found = Emitted::new();
    let specs =
        [spec(true), spec(false), chart_spec(HelmReleasePolicy::None), chart_spec(HelmReleasePolicy::Adopt)];
    for spec in specs {
        for parsed in corpus() {
            let rendering = BundleRenderer {
                workload: "shop",
                revision: 1,
                spec: &spec,
                parsed: &parsed,
                groups: &[],
                targets: &[],
            };
            let findings = check_fleet(&rendering, &selected);
            assert_eq!(find_undeclared(&findings, Scope::Fleet), None);
            found.extend(emitted(findings).filter(|(code, _)| is_cluster_rule(code)));
        }
    }
    assert_eq!(found, declared(Scope::Fleet, is_cluster_rule));
}

#[test]
fn the_tables_of_rules_are_sorted_by_code() {
    assert!(STATIC_RULES.is_sorted_by_key(|(code, _)| *code));
    assert!(CLUSTER_RULES.is_sorted_by_key(|(code, _)| *code));
}
