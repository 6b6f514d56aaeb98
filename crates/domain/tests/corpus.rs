//! The guard rails on whole workloads: the fixtures of this repository, and real ones if they are available.
//!
//! Each file of `corpus/` has one or two mistakes; its first line lists the codes of all expected errors and warnings.
//! `FLOTILLA_CORPUS` is the path of a folder of real manifests, with one folder per workload, or `none`.

use std::collections::BTreeSet;
use std::fs;
use std::io::Write as _;
use std::path::{Path, PathBuf};

use domain::cluster::{ApiResource, Cluster, ClusterFacts, ClusterKind, Connectivity};
use domain::guard::ClusterSchemas;
use domain::manifest::{self, ParsedManifests};
use domain::render::BundleRenderer;
use domain::schema::kubernetes_schema;
use domain::workload::{SourceFile, WorkloadSpec};
use domain::{ClusterId, Finding, Severity, Timestamp, fix, guard};

fn fixtures() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../../end2end/fixtures")
}

/// The files of a folder whose names pass the filter, sorted by name.
fn files(folder: &Path, filter: impl Fn(&str) -> bool) -> Vec<SourceFile> {
    let mut paths: Vec<PathBuf> = fs::read_dir(folder).unwrap().map(|entry| entry.unwrap().path()).collect();
    paths.sort();
    let named =
        paths.into_iter().map(|path| (path.file_name().unwrap().to_string_lossy().into_owned(), path));
    named
        .filter(|(name, _)| filter(name))
        .map(|(name, path)| SourceFile { name, text: fs::read_to_string(path).unwrap() })
        .collect()
}

fn check(files: &[SourceFile]) -> (ParsedManifests, Vec<Finding>) {
    let parsed = manifest::parse(files);
    let spec = WorkloadSpec { namespace: "shop".into(), ..WorkloadSpec::default() };
    let findings =
        guard::check_static_with(&ClusterSchemas::from_schema(kubernetes_schema()), "shop", &spec, &parsed);
    (parsed, findings)
}

fn rendering<'a>(spec: &'a WorkloadSpec, parsed: &'a ParsedManifests) -> BundleRenderer<'a> {
    BundleRenderer { workload: "shop", revision: 1, spec, parsed, groups: &[], targets: &[] }
}

fn cluster_findings(parsed: &ParsedManifests, version: &str) -> Vec<Finding> {
    let spec = WorkloadSpec::default();
    guard::check_fleet(&rendering(&spec, parsed), &[&cluster(version, current_apis())])
}

fn errors(findings: &[Finding]) -> Vec<&Finding> {
    findings.iter().filter(|finding| finding.is_blocking()).collect()
}

fn cluster(version: &str, apis: Vec<ApiResource>) -> Cluster {
    Cluster {
        facts: ClusterFacts { kubernetes_version: version.into(), apis, ..ClusterFacts::default() },
        connectivity: Connectivity::Online,
        ..Cluster::new(ClusterId::from_parts(1, 1), "eu-1", ClusterKind::Agent, Timestamp::from_millis(0))
    }
}

/// The kinds used by the corpus that every current cluster serves.
fn current_apis() -> Vec<ApiResource> {
    let kinds = [
        ("", "v1", "ConfigMap"),
        ("", "v1", "Pod"),
        ("", "v1", "Service"),
        ("", "v1", "ServiceAccount"),
        ("apps", "v1", "Deployment"),
        ("apps", "v1", "StatefulSet"),
        ("policy", "v1", "PodDisruptionBudget"),
        ("rbac.authorization.k8s.io", "v1", "Role"),
        ("rbac.authorization.k8s.io", "v1", "RoleBinding"),
        ("rbac.authorization.k8s.io", "v1", "ClusterRole"),
        ("rbac.authorization.k8s.io", "v1", "ClusterRoleBinding"),
    ];
    let api = |(group, version, kind): (&str, &str, &str)| ApiResource {
        group: group.into(),
        version: version.into(),
        kind: kind.into(),
        namespaced: !kind.starts_with("Cluster"),
        denied: false,
    };
    kinds.into_iter().map(api).collect()
}

#[test]
fn the_good_fixtures_have_no_blocking_finding_and_render() {
    for name in ["three-tier", "ten-services", "crd", "stateful", "jobs"] {
        let (parsed, findings) = check(&files(&fixtures().join(name), |_| true));
        // G218 is a note on a Secret that is managed elsewhere, which is the recommended way.
        let findings: Vec<&Finding> = findings.iter().filter(|finding| finding.code != "G218").collect();
        assert_eq!(findings, [] as [&Finding; 0], "{name}: an example has no findings");
        assert!(parsed.manifests.len() >= 2, "{name}");
        let spec = WorkloadSpec { namespace: "shop".into(), ..WorkloadSpec::default() };
        let bundle = rendering(&spec, &parsed).render_bundle(&cluster("v1.33.0", Vec::new())).unwrap();
        assert_eq!(bundle.objects.len(), parsed.manifests.len(), "{name}");
    }
}

/// The codes that the first line of a file names: `# expect: G214 G301`.
fn expected(file: &SourceFile) -> BTreeSet<String> {
    let first = file.text.lines().next().unwrap_or_default();
    let codes =
        first.strip_prefix("# expect:").unwrap_or_else(|| panic!("{} has no \"# expect:\" line", file.name));
    codes.split_whitespace().map(str::to_owned).collect()
}

#[test]
fn the_findings_of_every_corpus_file_are_exactly_the_expected_ones() {
    let corpus = files(&Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/corpus"), |_| true);
    assert!(corpus.len() > 60, "{} files", corpus.len());
    let mut wrong = Vec::new();
    for file in corpus {
        let (_, findings) = check(std::slice::from_ref(&file));
        let reported = || findings.iter().filter(|finding| finding.severity > Severity::Note);
        let codes: BTreeSet<String> = reported().map(|finding| finding.code.clone()).collect();
        if codes != expected(&file) {
            let all: Vec<String> = reported().map(|one| format!("{} {}", one.code, one.message)).collect();
            wrong.push(format!("{}: {codes:?}\n    {}", file.name, all.join("\n    ")));
        }
        for finding in reported() {
            assert!(finding.message.ends_with('.') && !finding.hint.is_empty(), "{}: {finding:?}", file.name);
            assert!(finding.location.is_some(), "{}: {finding:?}", file.name);
        }
    }
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
}

#[test]
fn every_fix_removes_its_finding() {
    for file in files(&Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/corpus"), |_| true) {
        let before = [file];
        let (_, findings) = check(&before);
        let count = |findings: &[Finding], code: &str| findings.iter().filter(|one| one.code == code).count();
        for finding in findings.iter().filter(|finding| finding.fix.is_some()) {
            let after = fix::apply(&before, finding.fix.as_ref().unwrap()).unwrap();
            let (_, remaining) = check(&after);
            assert!(count(&remaining, &finding.code) < count(&findings, &finding.code), "{}", before[0].name);
            assert!(remaining.len() <= findings.len(), "{}: {remaining:#?}", before[0].name);
        }
    }
}

#[test]
fn the_bad_fixtures_are_rejected_at_the_right_line() {
    for (name, code, line) in [
        ("not-yaml.yaml", "G109", 1),
        ("bomb.yaml", "G111", 6),
        ("missing-kind.yaml", "G109", 8),
        ("duplicate-key.yaml", "G109", 16),
        ("selector-mismatch.yaml", "G214", 9),
        ("unknown-field.yaml", "G403", 7),
    ] {
        let (_, findings) = check(&files(&fixtures().join("bad"), |file| file == name));
        let errors = errors(&findings);
        assert_eq!(errors.len(), 1, "{name}: {errors:#?}");
        let place = errors[0].location.as_ref().unwrap();
        assert_eq!(
            (errors[0].code.as_str(), place.line, place.file.as_str()),
            (code, line, name),
            "{:?}",
            errors[0]
        );
    }
}

#[test]
fn fixtures_that_only_clusters_reject_have_findings_for_the_selected_clusters() {
    let fleet = |name: &str| {
        let (parsed, findings) = check(&files(&fixtures().join("bad"), |file| file == name));
        assert_eq!(errors(&findings), [] as [&Finding; 0], "{name}");
        cluster_findings(&parsed, "v1.33.0")
    };
    assert_eq!(fleet("removed-api.yaml")[0].code, "G402");
    assert_eq!(fleet("unknown-kind.yaml")[0].code, "G401");
    assert_eq!(fleet("image-does-not-exist.yaml"), [], "only a registry check finds this");
}

/// The folder of real manifests; `None` if the run was asked to go without it. As `testkit::find_corpus`, whose
/// crate brings the clients of clusters, which nothing here needs.
fn corpus(test: &str) -> Option<PathBuf> {
    let corpus = std::env::var_os("FLOTILLA_CORPUS").filter(|corpus| !corpus.is_empty()).unwrap_or_else(|| {
        panic!("set FLOTILLA_CORPUS to the folder of real manifests and charts, or to `none` to run without them")
    });
    if corpus == "none" {
        // The harness captures `eprintln!`, but not this.
        let _ = writeln!(std::io::stderr(), "did not run, no corpus: {test}");
        return None;
    }
    Some(PathBuf::from(corpus))
}

#[test]
fn real_workloads_have_no_blocking_finding() {
    let Some(corpus) = corpus("real_workloads_have_no_blocking_finding") else { return };
    for name in ["guestbook", "boutique", "bookinfo", "cassandra", "podinfo", "cockroachdb"] {
        let (parsed, findings) = check(&files(&corpus.join(name), |file| file != "kustomization.yaml"));
        for finding in &findings {
            eprintln!(
                "{name}: {} {} {} {:?}",
                finding.severity.as_str(),
                finding.code,
                finding.message,
                finding.location
            );
        }
        assert_eq!(errors(&findings), [] as [&Finding; 0], "{name}");
        assert!(!parsed.manifests.is_empty(), "{name}");
    }
}

#[test]
fn a_folder_with_a_kustomization_is_rejected() {
    let Some(corpus) = corpus("a_folder_with_a_kustomization_is_rejected") else { return };
    let (parsed, findings) = check(&files(&corpus.join("podinfo"), |_| true));
    let errors = errors(&findings);
    assert_eq!(errors.len(), 1, "{errors:#?}");
    assert!(errors[0].message.contains("kustomize"));
    assert_eq!(parsed.manifests.len(), 3);
}

#[test]
fn g402_a_removed_budget_version_is_rejected_for_a_new_cluster() {
    let Some(corpus) = corpus("g402_a_removed_budget_version_is_rejected_for_a_new_cluster") else { return };
    let (parsed, _) = check(&files(&corpus.join("cockroachdb"), |_| true));
    let findings = cluster_findings(&parsed, "v1.33.2");
    let codes: Vec<&str> = findings.iter().map(|finding| finding.code.as_str()).collect();
    assert!(!codes.is_empty() && codes.iter().all(|code| *code == "G402"), "{findings:#?}");
    assert!(findings.iter().any(|finding| finding.hint.contains("policy/v1")));
}
