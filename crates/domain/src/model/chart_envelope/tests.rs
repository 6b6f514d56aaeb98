//! Tests of the objects that hold a chart, and of what they become.

use serde_json::json;

use super::*;
use crate::kubernetes::time::Timestamp;
use crate::model::chart_repository::{RepositoryLogin, RepositoryStatus};
use crate::model::policy::{ConflictPolicy, DriftPolicy, IgnoreWhen};

fn unwrap(text: &str) -> Result<UnwrappedChart, Vec<Finding>> {
    unwrap_chart(&[SourceFile { name: "chart.yaml".to_owned(), text: text.to_owned() }])
}

fn refusal(text: &str) -> String {
    let findings = unwrap(text).unwrap_err();
    assert!(findings.iter().all(Finding::is_blocking), "{findings:?}");
    findings.into_iter().map(|finding| format!("{} {}", finding.message, finding.hint)).collect()
}

/// The paths that are not carried over, with the kind of their object.
fn left(unwrapped: &UnwrappedChart) -> Vec<String> {
    let describe = |one: &FieldNotCarried| {
        let kind = one.object.split(' ').next().unwrap_or_default();
        format!("{kind}{}", one.path)
    };
    unwrapped.not_carried.iter().map(describe).collect()
}

fn repository(name: &str, url: &str) -> ChartRepository {
    ChartRepository {
        name: name.to_owned(),
        url: url.to_owned(),
        plain_http: false,
        login: RepositoryLogin::None,
        created_by: "ada".to_owned(),
        created_at: Timestamp::from_millis(0),
        revision: 1,
        status: RepositoryStatus::default(),
    }
}

const HELM_CHART: &str = "apiVersion: helm.cattle.io/v1
kind: HelmChart
metadata: {name: traefik, namespace: kube-system}
spec:
  repo: https://Traefik.github.io/charts/
  chart: traefik
  version: 34.1.0
  targetNamespace: ingress
  createNamespace: true
  bootstrap: true
  surprise: 1
  set:
    image.tag: '3'
    replicas: 2
    debug: 'false'
    hosts[0]: a
  valuesContent: |-
    replicas: 1 # one
    service:
      type: ClusterIP # inside
---
apiVersion: helm.cattle.io/v1
kind: HelmChartConfig
metadata: {name: traefik, namespace: kube-system}
spec:
  valuesContent: 'service: {type: LoadBalancer}'
  failurePolicy: abort
";

#[test]
fn s3_2_a_helm_chart_of_k3s_becomes_a_chart_with_its_values_and_comments() {
    let unwrapped = unwrap(HELM_CHART).unwrap();
    assert_eq!(
        unwrapped.address,
        ChartAddress::Repository {
            url: "https://Traefik.github.io/charts/".to_owned(),
            chart: "traefik".to_owned(),
            version: "34.1.0".to_owned()
        }
    );
    assert_eq!((&*unwrapped.release_name, &*unwrapped.namespace), ("traefik", "ingress"));
    let values = manifest::yaml_value::read(&unwrapped.values).unwrap().unwrap();
    let expected = json!({
        "replicas": 2, "service": {"type": "LoadBalancer"}, "image": {"tag": "3"}, "debug": false
    });
    assert_eq!(values, expected);
    assert!(
        unwrapped.values.contains("# one") && unwrapped.values.contains("# inside"),
        "{}",
        unwrapped.values
    );
    assert_eq!(Value::Object(unwrapped.policies.clone()), json!({"createNamespace": true}));
    let expected = [
        "HelmChart/spec/set/hosts[0]",
        "HelmChart/spec/bootstrap",
        "HelmChart/spec/surprise",
        "HelmChartConfig/spec/failurePolicy",
    ];
    assert_eq!(left(&unwrapped), expected);
    let unknown = unwrapped.not_carried.iter().find(|one| one.path == "/spec/surprise").unwrap();
    assert!(unknown.reason.contains("does not know the field"), "{}", unknown.reason);
}

#[test]
fn s3_2_the_chart_is_named_by_the_repository_of_the_project_that_has_its_url() {
    let unwrapped = unwrap(HELM_CHART).unwrap();
    let missing = unwrapped.to_source(&[repository("other", "https://example.com")]).unwrap_err();
    assert!(missing.message.contains("https://Traefik.github.io/charts/"), "{}", missing.message);
    assert!(missing.hint.contains("flotilla chart repo add"), "{}", missing.hint);
    let known = [repository("edge", "https://traefik.github.io/charts")];
    let source = unwrapped.to_source(&known).unwrap();
    let chart = source.chart().unwrap();
    assert_eq!((&*chart.chart, &*chart.version, &*chart.release_name), ("edge/traefik", "34.1.0", "traefik"));
}

#[test]
fn s3_2_policies_of_the_object_replace_those_that_have_their_default_value() {
    let unwrapped = unwrap(&HELM_CHART.replace("bootstrap", "takeOwnership")).unwrap();
    let mut spec = WorkloadSpec { namespace: "old".to_owned(), ..WorkloadSpec::default() };
    assert_eq!(unwrapped.apply_to(&mut spec, Source::default()), []);
    assert_eq!((&*spec.namespace, spec.policies.conflict), ("ingress", ConflictPolicy::Force));

    let mut own = WorkloadSpec::default();
    own.policies.conflict = ConflictPolicy::IfIdentical;
    let kept = unwrapped.apply_to(&mut own, Source::default());
    assert_eq!(own.policies.conflict, ConflictPolicy::IfIdentical);
    assert_eq!((kept.len(), &*kept[0].path), (1, "/policies/conflict"));
}

#[test]
fn s3_2_a_preview_names_the_missing_repository_and_the_policies_that_stay() {
    let file =
        SourceFile { name: "a.yaml".to_owned(), text: HELM_CHART.replace("bootstrap", "takeOwnership") };
    let mut spec = WorkloadSpec { source: Source::Yaml { files: vec![file] }, ..WorkloadSpec::default() };
    spec.policies.conflict = ConflictPolicy::IfIdentical;
    let preview = preview_unwrapping(&spec, &[]);
    assert_eq!((preview.source, preview.findings.len()), (None, 1));
    let last = preview.chart.unwrap().not_carried.pop().unwrap();
    assert_eq!(last.path, "/policies/conflict");
    assert!(last.reason.contains("ifIdentical") && last.reason.contains("force"), "{}", last.reason);
    let known = [repository("edge", "https://traefik.github.io/charts")];
    assert!(preview_unwrapping(&spec, &known).source.is_some());
    spec.source = preview_unwrapping(&spec, &known).source.unwrap();
    let again = preview_unwrapping(&spec, &known);
    assert!(
        again.chart.is_none() && again.findings[0].message.contains("Only files"),
        "{:?}",
        again.findings
    );
}

#[test]
fn s3_2_a_packed_chart_inside_an_object_is_refused_with_the_way_on() {
    let content = HELM_CHART.replace("bootstrap: true", "chartContent: H4sI");
    assert!(refusal(&content).contains("flotilla chart push"));
    let url = HELM_CHART.replace("chart: traefik", "chart: https://example.com/traefik.tgz");
    assert!(refusal(&url).contains("flotilla chart push"));
    assert!(
        refusal(&HELM_CHART.replace("replicas: 1 # one", "replicas: ["))
            .contains("The values of HelmChart traefik")
    );
    assert!(refusal("apiVersion: v1\nkind: ConfigMap\nmetadata: {name: a}\n").contains("No object"));
    let second = HELM_CHART.replace("name: traefik", "name: other");
    assert!(refusal(&format!("{HELM_CHART}---\n{second}")).contains("2 objects"));
    let oci = unwrap(&HELM_CHART.replace("chart: traefik", "chart: oci://ghcr.io/org/web")).unwrap();
    assert!(
        matches!(&oci.address, ChartAddress::Repository { url, chart, .. } if url == "oci://ghcr.io/org" && chart == "web")
    );
}

const HELM_RELEASE: &str = "apiVersion: helm.toolkit.fluxcd.io/v2
kind: HelmRelease
metadata: {name: web, namespace: apps}
spec:
  interval: 10m
  targetNamespace: shop
  serviceAccountName: deployer
  chart:
    spec:
      chart: podinfo
      version: '6.x'
      sourceRef: {kind: HelmRepository, name: podinfo, namespace: flux-system}
  install: {createNamespace: true, crds: Skip, remediation: {retries: 3}}
  upgrade: {crds: CreateReplace}
  driftDetection:
    mode: warn
    ignore:
    - {paths: [/spec/replicas], target: {kind: Deployment}}
  suspend: true
  dependsOn: [{name: redis}]
  values: {replicas: 2, ui: {message: hello}}
  valuesFrom: [{kind: Secret, name: web-values}]
---
apiVersion: source.toolkit.fluxcd.io/v1
kind: HelmRepository
metadata: {name: podinfo, namespace: flux-system}
spec: {interval: 1h, url: 'https://stefanprodan.github.io/podinfo', secretRef: {name: login}}
---
apiVersion: v1
kind: ConfigMap
metadata: {name: settings, namespace: shop}
";

#[test]
fn s3_2_a_helm_release_of_flux_becomes_a_chart_of_the_repository_that_it_names() {
    let unwrapped = unwrap(HELM_RELEASE).unwrap();
    let url = "https://stefanprodan.github.io/podinfo".to_owned();
    let (chart, version) = ("podinfo".to_owned(), "6.x".to_owned());
    assert_eq!(unwrapped.address, ChartAddress::Repository { url, chart, version });
    assert_eq!((&*unwrapped.release_name, &*unwrapped.namespace), ("shop-web", "shop"));
    assert_eq!(
        manifest::yaml_value::read(&unwrapped.values).unwrap().unwrap(),
        json!({"replicas": 2, "ui": {"message": "hello"}})
    );
    let mut spec = WorkloadSpec::default();
    assert_eq!(unwrapped.apply_to(&mut spec, Source::default()), []);
    let policies = &spec.policies;
    assert!(policies.create_namespace && policies.skip_crds && policies.upgrade_crds);
    assert_eq!((policies.drift, &*policies.executor), (DriftPolicy::Notify, "apps/deployer"));
    let rule = &policies.ignore[0];
    assert_eq!(
        (&*rule.object.kind, rule.when, &*rule.paths[0]),
        ("Deployment", IgnoreWhen::OnChange, "/spec/replicas")
    );
    assert_eq!(
        left(&unwrapped),
        [
            "HelmRelease/spec/chart/spec/version",
            "HelmRelease/spec/interval",
            "HelmRelease/spec/install/remediation",
            "HelmRelease/spec/suspend",
            "HelmRelease/spec/dependsOn",
            "HelmRelease/spec/valuesFrom",
            "HelmRepository/spec/interval",
            "HelmRepository/spec/secretRef",
            "ConfigMap",
        ]
    );
}

#[test]
fn s3_2_a_source_that_is_not_in_the_text_is_an_error_that_names_it() {
    let alone = HELM_RELEASE.split("---").next().unwrap();
    let refused = refusal(alone);
    assert!(
        refused.contains("HelmRepository \"podinfo\"") && refused.contains("Add its manifest"),
        "{refused}"
    );
    let elsewhere = HELM_RELEASE.replace("namespace: flux-system}\nspec", "namespace: other}\nspec");
    assert!(refusal(&elsewhere).contains("which is not in the source"));
    let bucket = HELM_RELEASE.replace("kind: HelmRepository, name", "kind: Bucket, name");
    assert!(refusal(&bucket).contains("\"Bucket\""));
}

#[test]
fn s3_2_a_chart_of_flux_in_git_or_in_a_registry_has_its_address() {
    let git = "apiVersion: helm.toolkit.fluxcd.io/v2
kind: HelmRelease
metadata: {name: web, namespace: apps}
spec:
  chart: {spec: {chart: ./charts/web, sourceRef: {kind: GitRepository, name: app}}}
---
apiVersion: source.toolkit.fluxcd.io/v1
kind: GitRepository
metadata: {name: app, namespace: apps}
spec: {url: 'https://git.example.com/app.git', ref: {branch: main}}
";
    let unwrapped = unwrap(git).unwrap();
    let source = unwrapped.to_source(&[]).unwrap();
    let remote = source.remote().unwrap();
    assert_eq!(
        (&*remote.repository, &*remote.reference, &*remote.path, &*remote.release_name),
        ("https://git.example.com/app.git", "main", "charts/web", "web")
    );
    assert!(refusal(&git.replace("branch: main", "semver: 1.x")).contains("range of tags"));

    let registry = "apiVersion: helm.toolkit.fluxcd.io/v2
kind: HelmRelease
metadata: {name: web, namespace: apps}
spec: {chartRef: {kind: OCIRepository, name: web}}
---
apiVersion: source.toolkit.fluxcd.io/v1
kind: OCIRepository
metadata: {name: web, namespace: apps}
spec: {url: 'oci://ghcr.io/org/charts/web', ref: {tag: 1.2.3}}
";
    let unwrapped = unwrap(registry).unwrap();
    let source = unwrapped.to_source(&[repository("ghcr", "oci://ghcr.io/org/charts")]).unwrap();
    let chart = source.chart().unwrap();
    assert_eq!((&*chart.chart, &*chart.version), ("ghcr/web", "1.2.3"));
    assert!(refusal(&registry.replace("tag: 1.2.3", "digest: 'sha256:00'")).contains("by a digest only"));
}

#[test]
fn s3_2_a_name_that_is_too_long_for_helm_is_shortened_like_by_flux() {
    let long = format!("name: {}web, namespace: apps", "web-".repeat(14));
    let unwrapped = unwrap(&HELM_RELEASE.replace("name: web, namespace: apps", &long)).unwrap();
    assert_eq!(unwrapped.release_name, "shop-web-web-web-web-web-web-web-web-web-b047f6b6dfd6");
}

#[test]
fn s3_2_a_rule_of_flux_with_a_pattern_is_named_and_not_carried_over() {
    let unwrapped =
        unwrap(&HELM_RELEASE.replace("{kind: Deployment}", "{kind: '(Deployment|Job)'}")).unwrap();
    assert_eq!(unwrapped.policies.get("ignore"), None);
    let path = "HelmRelease/spec/driftDetection/ignore/0".to_owned();
    assert!(left(&unwrapped).contains(&path), "{:?}", left(&unwrapped));
}

#[test]
fn s3_2_a_text_that_helm_or_argo_cd_would_change_is_named_and_not_carried_over() {
    let path = "Application/spec/sources/0/helm/parameters/0".to_owned();
    for value in ["{a,b}", "a\\,b", "$ARGOCD_APP_NAME"] {
        let unwrapped = unwrap(&APPLICATION.replace("value: '1.0'", &format!("value: '{value}'"))).unwrap();
        assert!(left(&unwrapped).contains(&path), "{value}: {:?}", left(&unwrapped));
        assert!(!unwrapped.values.contains("image"), "{value}: {}", unwrapped.values);
    }
    let list = unwrap(&HELM_CHART.replace("image.tag: '3'", "image.tag: '{3}'")).unwrap();
    assert!(left(&list).contains(&"HelmChart/spec/set/image.tag".to_owned()), "{:?}", left(&list));
}

#[test]
fn s3_2_an_application_whose_automation_is_off_sets_no_policy_of_it() {
    let off = APPLICATION.replace("{selfHeal: true}", "{enabled: false, prune: false}");
    let unwrapped = unwrap(&off).unwrap();
    assert_eq!((unwrapped.policies.get("prune"), unwrapped.policies.get("drift")), (None, None));
    assert!(left(&unwrapped).contains(&"Application/spec/syncPolicy/automated".to_owned()));
}

const APPLICATION: &str = "apiVersion: argoproj.io/v1alpha1
kind: Application
metadata: {name: shop, namespace: argocd, finalizers: [resources-finalizer.argocd.argoproj.io]}
spec:
  project: default
  destination: {server: 'https://kubernetes.default.svc', namespace: shop}
  sources:
  - repoURL: https://charts.example.com
    chart: web
    targetRevision: 1.4.0
    helm:
      releaseName: web
      skipCrds: true
      valueFiles: [$values/prod.yaml]
      values: |
        replicas: 1 # one
      parameters:
      - {name: image.tag, value: '1.0', forceString: true}
      - {name: replicas, value: '3'}
      - {name: 'hosts[0]', value: a}
  - {repoURL: 'https://git.example.com/values.git', targetRevision: main, ref: values}
  syncPolicy:
    automated: {selfHeal: true}
    syncOptions: [CreateNamespace=true, RespectIgnoreDifferences=true, Replace=true]
  ignoreDifferences:
  - {group: apps, kind: Deployment, jsonPointers: [/spec/replicas], jqPathExpressions: ['.a']}
";

#[test]
fn s3_2_an_application_of_argo_cd_becomes_a_chart_with_its_policies() {
    let unwrapped = unwrap(APPLICATION).unwrap();
    let (url, chart) = ("https://charts.example.com".to_owned(), "web".to_owned());
    assert_eq!(unwrapped.address, ChartAddress::Repository { url, chart, version: "1.4.0".to_owned() });
    assert_eq!((&*unwrapped.release_name, &*unwrapped.namespace), ("web", "shop"));
    let values = manifest::yaml_value::read(&unwrapped.values).unwrap().unwrap();
    assert_eq!(values, json!({"replicas": 3, "image": {"tag": "1.0"}}));
    assert!(unwrapped.values.contains("# one"), "{}", unwrapped.values);
    let mut spec = WorkloadSpec::default();
    assert_eq!(unwrapped.apply_to(&mut spec, Source::default()), []);
    let policies = &spec.policies;
    assert!(!policies.prune && policies.create_namespace && policies.skip_crds);
    assert_eq!((policies.drift, policies.ignore[0].when), (DriftPolicy::Revert, IgnoreWhen::OnPresence));
    assert_eq!(
        left(&unwrapped),
        [
            "Application/spec/sources/1",
            "Application/spec/sources/0/helm/parameters/2",
            "Application/spec/syncPolicy/syncOptions/2",
            "Application/spec/ignoreDifferences/0/group",
            "Application/spec/ignoreDifferences/0/jqPathExpressions",
            "Application/metadata/finalizers",
            "Application/spec/project",
            "Application/spec/destination/server",
            "Application/spec/sources/0/helm/valueFiles",
        ]
    );
}

#[test]
fn s3_2_an_application_with_a_folder_in_git_or_a_registry_without_a_scheme_has_its_address() {
    let git = "apiVersion: argoproj.io/v1alpha1
kind: Application
metadata: {name: shop, namespace: argocd}
spec:
  destination: {namespace: shop}
  source: {repoURL: 'https://git.example.com/app.git', path: deploy/prod, targetRevision: HEAD, kustomize: {namePrefix: a-}}
";
    let unwrapped = unwrap(git).unwrap();
    let (repository, path) = ("https://git.example.com/app.git".to_owned(), "deploy/prod".to_owned());
    assert_eq!(unwrapped.address, ChartAddress::Path { repository, reference: String::new(), path });
    assert_eq!(left(&unwrapped), ["Application/spec/source/kustomize"]);

    let registry = git
        .replace("https://git.example.com/app.git", "ghcr.io/org")
        .replace("path: deploy/prod", "chart: charts/web");
    let unwrapped = unwrap(&registry.replace("HEAD", "1.0.0")).unwrap();
    let (url, chart) = ("oci://ghcr.io/org/charts".to_owned(), "web".to_owned());
    assert_eq!(unwrapped.address, ChartAddress::Repository { url, chart, version: "1.0.0".to_owned() });

    let two = APPLICATION.replace("ref: values", "path: deploy");
    assert!(refusal(&two).contains("2 sources"));
}

#[test]
fn p19_the_list_of_what_is_not_carried_over_is_bounded() {
    let fields: String = (0..500).map(|n| format!("  field{n}: 1\n")).collect();
    let text = HELM_CHART.replace("  surprise: 1\n", &fields);
    let unwrapped = unwrap(&text).unwrap();
    assert_eq!(unwrapped.not_carried.len(), MAX_NOT_CARRIED);
    let last = &unwrapped.not_carried[MAX_NOT_CARRIED - 1];
    assert!(last.reason.starts_with("More fields"), "{}", last.reason);
}
