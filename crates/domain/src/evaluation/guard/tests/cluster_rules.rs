//! Checks against the namespaces, classes and permissions of one cluster.

use super::*;
use crate::kubernetes::id::ClusterId;
use crate::kubernetes::time::Timestamp;
use crate::model::cluster::{ApiResource, ClusterFacts, ClusterKind, Connectivity, NamespaceFacts};
use crate::text::source_file::SourceFile;

mod capacity;
mod helm_release;

fn cluster(name: &str, facts: ClusterFacts) -> Cluster {
    Cluster {
        facts: ClusterFacts { kubernetes_version: "v1.36.3".into(), ..facts },
        connectivity: Connectivity::Online,
        ..Cluster::new(ClusterId::from_parts(1, 1), name, ClusterKind::Agent, Timestamp::from_millis(0))
    }
}

fn findings_for(text: &str, spec: WorkloadSpec, clusters: &[Cluster]) -> Vec<Finding> {
    let files = [SourceFile { name: "a.yaml".into(), text: text.into() }];
    let parsed = crate::text::manifest::parse(&files);
    assert_eq!(parsed.findings, []);
    let spec = WorkloadSpec { namespace: "web".into(), ..spec };
    let rendering = BundleRenderer {
        workload: "shop",
        revision: 1,
        spec: &spec,
        parsed: &parsed,
        groups: &[],
        targets: &[],
    };
    let mut found = check_fleet(&rendering, &clusters.iter().collect::<Vec<_>>());
    // These clusters report no APIs.
    found.retain(|finding| finding.code != "G401");
    found
}

fn findings_with_facts(text: &str, facts: ClusterFacts) -> Vec<Finding> {
    findings_for(text, WorkloadSpec::default(), &[cluster("eu-1", facts)])
}

fn codes(findings: &[Finding]) -> Vec<(&str, bool)> {
    findings.iter().map(|finding| (&*finding.code, finding.is_blocking())).collect()
}

fn namespace(name: &str) -> NamespaceFacts {
    NamespaceFacts { name: name.into(), ..NamespaceFacts::default() }
}

fn deployment(replicas: u32, container: &str) -> String {
    format!(
        "apiVersion: apps/v1\nkind: Deployment\nmetadata: {{name: api}}\nspec:\n  replicas: {replicas}\n  \
         selector: {{matchLabels: {{app: api}}}}\n  template:\n    metadata: {{labels: {{app: api}}}}\n    spec:\n      \
         containers:\n      - {{name: api, image: 'nginx:1.29', {container}}}\n"
    )
}

const CONFIG: &str = "apiVersion: v1\nkind: ConfigMap\nmetadata: {name: a}\n";

#[test]
fn g108_a_missing_namespace_is_a_note_or_an_error_by_policy() {
    let facts = || ClusterFacts { namespaces: vec![namespace("default")], ..ClusterFacts::default() };
    assert_eq!(codes(&findings_with_facts(CONFIG, facts())), [("G108", false)]);
    let mut spec = WorkloadSpec::default();
    spec.policies.create_namespace = false;
    assert_eq!(codes(&findings_for(CONFIG, spec, &[cluster("eu-1", facts())])), [("G108", true)]);
    let existing = ClusterFacts { namespaces: vec![namespace("web")], ..ClusterFacts::default() };
    assert_eq!(findings_with_facts(CONFIG, existing), []);
    assert_eq!(
        findings_with_facts(CONFIG, ClusterFacts::default()),
        [],
        "the agent has no permission to list namespaces"
    );
    let own = format!("{CONFIG}---\napiVersion: v1\nkind: Namespace\nmetadata: {{name: web}}\n");
    assert_eq!(findings_with_facts(&own, facts()), []);
}

/// Facts of a cluster on which these service accounts of the namespace `web` have pull secrets.
fn with_pull_accounts(accounts: &[&str]) -> ClusterFacts {
    let accounts = accounts.iter().map(|name| (*name).to_owned()).collect();
    let namespaces = vec![NamespaceFacts { pull_accounts: Some(accounts), ..namespace("web") }];
    ClusterFacts { namespaces, ..ClusterFacts::default() }
}

fn deployment_with_image(image: &str) -> String {
    deployment(1, "ports: []").replace("nginx:1.29", image)
}

#[test]
fn g205_a_registry_that_is_not_known_to_be_public_needs_a_pull_secret() {
    let private = deployment_with_image("reg.acme.io/shop/api:1");
    let findings = findings_with_facts(&private, with_pull_accounts(&["deployer"]));
    let [finding] = &findings[..] else { panic!("{findings:#?}") };
    assert_eq!((&*finding.code, finding.severity), ("G205", crate::text::finding::Severity::Warning));
    assert_eq!(
        finding.message,
        "Container \"api\" pulls from \"reg.acme.io\", and neither its pod nor service account \"default\" of namespace \
         \"web\" has a pull secret: if that registry requires credentials, the pod does not start."
    );
    assert_eq!(
        finding.hint,
        "Add imagePullSecrets to the pod or to that service account, or ignore this if the registry is public."
    );
    assert_eq!(finding.path, "/spec/template/spec/containers/0/image");
    assert_eq!(finding.clusters, ["eu-1"]);

    assert_eq!(
        findings_with_facts(&private, with_pull_accounts(&["default"])),
        [],
        "the namespace's own account has one"
    );
    let acting = |name: &str| {
        private.replace(
            "spec:\n      containers",
            &format!("spec:\n      serviceAccountName: {name}\n      containers"),
        )
    };
    assert_eq!(findings_with_facts(&acting("deployer"), with_pull_accounts(&["deployer"])), []);
    assert_eq!(
        codes(&findings_with_facts(&acting("other"), with_pull_accounts(&["deployer"]))),
        [("G205", false)]
    );
    let own = private
        .replace("spec:\n      containers", "spec:\n      imagePullSecrets: [{name: reg}]\n      containers");
    assert_eq!(findings_with_facts(&own, with_pull_accounts(&[])), []);
    let with_account = |name: &str| {
        format!(
            "{private}---\napiVersion: v1\nkind: ServiceAccount\nmetadata: {{name: {name}}}\nimagePullSecrets: [{{name: reg}}]\n"
        )
    };
    assert_eq!(findings_with_facts(&with_account("default"), with_pull_accounts(&[])), []);
    assert_eq!(
        codes(&findings_with_facts(&with_account("another"), with_pull_accounts(&[]))),
        [("G205", false)]
    );
}

#[test]
fn g205_public_registries_and_those_of_the_cloud_provider_need_no_pull_secret() {
    for public in [
        "nginx:1",
        "shop/api:1",
        "docker.io/shop/api:1",
        "ghcr.io/a/b:1",
        "eu.gcr.io/a/b:1",
        "localhost:5000/a:1",
    ] {
        assert_eq!(
            findings_with_facts(&deployment_with_image(public), with_pull_accounts(&[])),
            [],
            "{public}"
        );
    }
    for private in ["notghcr.io/a/b:1", "registry:5000/a:1", "ghcr.io.example.com/a:1"] {
        assert_eq!(
            codes(&findings_with_facts(&deployment_with_image(private), with_pull_accounts(&[]))),
            [("G205", false)],
            "{private}"
        );
    }
    let aws = "1.dkr.ecr.eu-west-1.amazonaws.com/api:1";
    assert_eq!(
        codes(&findings_with_facts(&deployment_with_image(aws), with_pull_accounts(&[]))),
        [("G205", false)]
    );
    let on = |provider: &str| ClusterFacts { provider: provider.into(), ..with_pull_accounts(&[]) };
    assert_eq!(findings_with_facts(&deployment_with_image(aws), on("aws")), []);
    assert_eq!(codes(&findings_with_facts(&deployment_with_image(aws), on("gce"))), [("G205", false)]);
}

#[test]
fn g205_facts_that_an_agent_does_not_report_give_no_finding() {
    let private = deployment_with_image("reg.acme.io/shop/api:1");
    assert_eq!(findings_with_facts(&private, ClusterFacts::default()), []);
    let unreported = ClusterFacts { namespaces: vec![namespace("web")], ..ClusterFacts::default() };
    assert_eq!(findings_with_facts(&private, unreported), [], "an older agent");
    let mut elsewhere = with_pull_accounts(&["default"]);
    elsewhere.namespaces[0].name = "other".into();
    let not_created_yet = findings_with_facts(&private, elsewhere);
    assert_eq!(codes(&not_created_yet), [("G205", false), ("G108", false)]);
}

/// Facts of a cluster whose agent may write Services only in `web`, and no ClusterRoles.
fn with_denied_kinds() -> ClusterFacts {
    let api = |group: &str, kind: &str, (namespaced, denied): (bool, bool)| ApiResource {
        group: group.into(),
        version: "v1".into(),
        kind: kind.into(),
        namespaced,
        denied,
    };
    ClusterFacts {
        apis: vec![
            api("", "ConfigMap", (true, false)),
            api("", "Service", (true, true)),
            api("rbac.authorization.k8s.io", "ClusterRole", (false, true)),
        ],
        permissions_known: true,
        namespaces: vec![
            NamespaceFacts { granted: Some(vec!["Service".into()]), ..namespace("web") },
            NamespaceFacts { granted: Some(Vec::new()), ..namespace("other") },
            namespace("unread"),
        ],
        ..ClusterFacts::default()
    }
}

const ROLE: &str =
    "apiVersion: rbac.authorization.k8s.io/v1\nkind: ClusterRole\nmetadata: {name: reader}\nrules: []\n";

#[test]
fn g410_a_kind_that_the_agent_may_not_write_is_a_warning() {
    let again = ROLE.replace("reader", "writer");
    let findings = findings_with_facts(&format!("{ROLE}---\n{again}---\n{CONFIG}"), with_denied_kinds());
    let [finding] = &findings[..] else { panic!("{findings:#?}") };
    assert_eq!((&*finding.code, finding.severity), ("G410", crate::text::finding::Severity::Warning));
    assert_eq!(
        finding.message,
        "The agent has no permission to write ClusterRole objects: ClusterRole reader would be rejected."
    );
    assert_eq!(
        finding.hint,
        "Grant it to the agent, set the policy executor to a service account that has it, or exclude these clusters."
    );
    assert_eq!((&*finding.path, &finding.clusters[..]), ("/kind", &["eu-1".to_owned()][..]));
    let several = findings_for(
        ROLE,
        WorkloadSpec::default(),
        &[cluster("eu-1", with_denied_kinds()), cluster("eu-2", with_denied_kinds())],
    );
    assert_eq!((several.len(), &several[0].clusters[..]), (1, &["eu-1".to_owned(), "eu-2".to_owned()][..]));
}

#[test]
fn g410_a_permission_in_one_namespace_is_respected() {
    let service = |namespace: &str| {
        format!(
            "apiVersion: v1\nkind: Service\nmetadata: {{name: a, namespace: {namespace}}}\nspec: {{ports: [{{port: 80}}]}}\n"
        )
    };
    assert_eq!(findings_with_facts(&service("web"), with_denied_kinds()), []);
    assert_eq!(
        findings_with_facts(&service("unread"), with_denied_kinds()),
        [],
        "the permissions are not known"
    );
    let other = findings_with_facts(&service("other"), with_denied_kinds());
    assert_eq!(
        other[0].message,
        "The agent has no permission to write Service objects in namespace \"other\": Service other/a would be rejected."
    );
    assert_eq!(
        codes(&findings_with_facts(&service("new"), with_denied_kinds())),
        [("G410", false), ("G108", false)]
    );
}

#[test]
fn g410_unknown_permissions_and_an_executor_give_no_finding() {
    assert_eq!(
        findings_with_facts(ROLE, ClusterFacts { permissions_known: false, ..with_denied_kinds() }),
        []
    );
    let mut spec = WorkloadSpec::default();
    spec.policies.executor = "web/deployer".into();
    assert_eq!(findings_for(ROLE, spec, &[cluster("eu-1", with_denied_kinds())]), []);
}

fn with_pod_security(level: &str) -> ClusterFacts {
    let namespaces = vec![NamespaceFacts { pod_security: level.into(), ..namespace("web") }];
    ClusterFacts { namespaces, ..ClusterFacts::default() }
}

#[test]
fn g220_violations_of_the_enforced_level_are_errors() {
    let plain = deployment(1, "ports: []");
    assert_eq!(findings_with_facts(&plain, with_pod_security("")), []);
    assert_eq!(findings_with_facts(&plain, with_pod_security("privileged")), []);
    assert_eq!(findings_with_facts(&plain, with_pod_security("baseline")), []);
    let restricted = findings_with_facts(&plain, with_pod_security("restricted"));
    assert_eq!(codes(&restricted), [("G220", true); 4]);
    assert!(restricted.iter().any(|finding| finding.hint.contains("runAsNonRoot: true")));
    let good = deployment(
        1,
        "securityContext: {runAsNonRoot: true, allowPrivilegeEscalation: false, \
         seccompProfile: {type: RuntimeDefault}, capabilities: {drop: [ALL], add: [NET_BIND_SERVICE]}}",
    );
    assert_eq!(findings_with_facts(&good, with_pod_security("restricted")), []);
}

#[test]
fn g220_the_level_of_a_namespace_in_the_workload_takes_precedence() {
    let text = format!(
        "apiVersion: v1\nkind: Namespace\nmetadata: {{name: web, labels: {{pod-security.kubernetes.io/enforce: baseline}}}}\n\
         ---\n{}",
        deployment(1, "securityContext: {privileged: true}")
    );
    assert_eq!(codes(&findings_with_facts(&text, ClusterFacts::default())), [("G220", true)]);
    assert_eq!(codes(&findings_with_facts(&text, with_pod_security("privileged"))), [("G220", true)]);
}

#[test]
fn g220_the_baseline_forbids_access_to_the_node() {
    for (container, text) in [
        ("securityContext: {privileged: true}", "is privileged"),
        ("securityContext: {capabilities: {add: [NET_ADMIN]}}", "NET_ADMIN"),
        ("securityContext: {procMount: Unmasked}", "/proc"),
        ("securityContext: {seccompProfile: {type: Unconfined}}", "disables seccompProfile"),
        ("securityContext: {seLinuxOptions: {type: spc_t}}", "seLinuxOptions"),
        ("ports: [{containerPort: 80, hostPort: 80}]", "uses a hostPort"),
    ] {
        let findings = findings_with_facts(&deployment(1, container), with_pod_security("baseline"));
        let [finding] = &findings[..] else { panic!("{container}: {findings:#?}") };
        assert!(finding.is_blocking() && finding.message.contains(text), "{}", finding.message);
        assert!(finding.location.is_some());
    }
    let host = "apiVersion: v1\nkind: Pod\nmetadata: {name: a}\nspec:\n  hostNetwork: true\n  \
                securityContext: {sysctls: [{name: kernel.msgmax, value: '1'}]}\n  \
                volumes: [{name: root, hostPath: {path: /}}]\n  containers: [{name: a, image: 'a:1'}]\n";
    assert_eq!(findings_with_facts(host, with_pod_security("baseline")).len(), 3);
}

#[test]
fn g306_a_missing_class_is_a_warning_with_the_available_classes() {
    let claim = |class: &str| {
        format!(
            "apiVersion: v1\nkind: PersistentVolumeClaim\nmetadata: {{name: data}}\nspec:\n  {class}\n  \
             accessModes: [ReadWriteOnce]\n  resources: {{requests: {{storage: 1Gi}}}}\n"
        )
    };
    let facts = |default: &str| ClusterFacts {
        storage_classes: vec!["standard".into(), "fast".into()],
        default_storage_class: default.into(),
        ..ClusterFacts::default()
    };
    let findings = findings_with_facts(&claim("storageClassName: gp3"), facts("standard"));
    assert_eq!(codes(&findings), [("G306", false)]);
    assert!(findings[0].hint.contains("standard, fast"));
    assert_eq!(findings_with_facts(&claim("storageClassName: fast"), facts("")), []);
    assert_eq!(findings_with_facts(&claim("storageClassName: ''"), facts("")), []);
    assert_eq!(findings_with_facts(&claim("volumeMode: Filesystem"), facts("standard")), []);
    assert_eq!(codes(&findings_with_facts(&claim("volumeMode: Filesystem"), facts(""))), [("G306", false)]);
    assert_eq!(
        findings_with_facts(&claim("storageClassName: gp3"), ClusterFacts::default()),
        [],
        "the classes are not known"
    );
    let ingress = "apiVersion: networking.k8s.io/v1\nkind: Ingress\nmetadata: {name: web}\nspec:\n  \
                   ingressClassName: alb\n  rules: []\n";
    let facts = ClusterFacts { ingress_classes: vec!["nginx".into()], ..ClusterFacts::default() };
    assert_eq!(codes(&findings_with_facts(ingress, facts)), [("G306", false)]);
}

#[test]
fn g203_a_tag_without_a_digest_on_a_production_cluster_is_a_warning() {
    let labelled = |key: &str, value: &str| Cluster {
        labels: [(key.to_owned(), value.to_owned())].into(),
        ..cluster("eu-1", ClusterFacts::default())
    };
    let text = deployment(1, "ports: []");
    for (key, value) in [("env", "prod"), ("environment", "Production"), ("stage", "prod-eu")] {
        let findings = findings_for(&text, WorkloadSpec::default(), &[labelled(key, value)]);
        let [finding] = &findings[..] else { panic!("{findings:#?}") };
        assert_eq!((finding.code.as_str(), finding.is_blocking()), ("G203", false));
        assert!(finding.message.contains(&format!("{key}={value}")), "{}", finding.message);
        assert_eq!(finding.hint, "Add the digest: nginx:1.29@sha256:…");
    }
    assert_eq!(findings_for(&text, WorkloadSpec::default(), &[labelled("env", "staging")]), []);
    let digest = text.replace("nginx:1.29", &format!("nginx:1.29@sha256:{}", "a".repeat(64)));
    assert_eq!(findings_for(&digest, WorkloadSpec::default(), &[labelled("env", "prod")]), []);
}

#[test]
fn identical_findings_of_several_clusters_are_merged_and_overrides_are_applied() {
    let text = deployment(1, "securityContext: {privileged: true}");
    let clusters = [cluster("a", with_pod_security("baseline")), cluster("b", with_pod_security("baseline"))];
    let findings = findings_for(&text, WorkloadSpec::default(), &clusters);
    assert_eq!(findings.len(), 1);
    assert_eq!(findings[0].clusters, ["a", "b"]);
    let path = "/spec/template/spec/containers[name=api]/securityContext".to_owned();
    let one = crate::model::overrides::Override {
        id: crate::kubernetes::id::OverrideId::from_parts(1, 1),
        name: "calm".into(),
        target: crate::model::overrides::ClusterSelector { clusters: vec!["b".into()], ..Default::default() },
        priority: 500,
        values: String::new(),
        patches: vec![crate::model::overrides::Patch {
            object: Default::default(),
            op: crate::model::overrides::PatchOp::Remove { path },
        }],
    };
    let spec = WorkloadSpec { overrides: vec![one], ..WorkloadSpec::default() };
    assert_eq!(findings_for(&text, spec, &clusters)[0].clusters, ["a"]);
}

#[test]
fn g309_unknown_references_and_broad_permissions_are_warnings() {
    let check = |text: &str| {
        let files = [SourceFile { name: "a.yaml".into(), text: text.into() }];
        let spec = WorkloadSpec { namespace: "web".into(), ..WorkloadSpec::default() };
        check_static("shop", &spec, &crate::text::manifest::parse(&files))
    };
    let rbac = "apiVersion: rbac.authorization.k8s.io/v1\n";
    let account = "apiVersion: v1\nkind: ServiceAccount\nmetadata: {name: api}\n---\n";
    let role = format!(
        "{rbac}kind: Role\nmetadata: {{name: read}}\nrules: [{{apiGroups: [''], resources: [pods], verbs: [get]}}]\n---\n"
    );
    let binding = |role: &str, account: &str| {
        format!(
            "{rbac}kind: RoleBinding\nmetadata: {{name: api}}\nroleRef: {{apiGroup: rbac.authorization.k8s.io, {role}}}\n\
             subjects: [{{kind: ServiceAccount, name: {account}}}]\n"
        )
    };
    let good = format!("{account}{role}{}", binding("kind: Role, name: read", "api"));
    assert_eq!(check(&good), []);
    assert_eq!(
        codes(&check(&format!("{account}{role}{}", binding("kind: Role, name: raed", "api")))),
        [("G309", false)]
    );
    assert_eq!(
        codes(&check(&format!("{account}{role}{}", binding("kind: Role, name: read", "apo")))),
        [("G309", false)]
    );
    let admin = format!("{account}{}", binding("kind: ClusterRole, name: cluster-admin", "api"));
    assert_eq!(codes(&check(&admin)), [("G309", false)]);
    let all = format!(
        "{rbac}kind: Role\nmetadata: {{name: all}}\nrules: [{{apiGroups: ['*'], resources: ['*'], verbs: ['*']}}]\n"
    );
    assert_eq!(codes(&check(&all)), [("G309", false)]);
}

fn spec_with_patches(patches: Vec<crate::model::overrides::PatchOp>) -> WorkloadSpec {
    let patch = |op| crate::model::overrides::Patch { object: Default::default(), op };
    let one = crate::model::overrides::Override {
        id: crate::kubernetes::id::OverrideId::from_parts(1, 1),
        name: "eu".into(),
        target: crate::model::overrides::ClusterSelector {
            clusters: vec!["a".into(), "b".into()],
            ..Default::default()
        },
        priority: 500,
        values: String::new(),
        patches: patches.into_iter().map(patch).collect(),
    };
    WorkloadSpec { overrides: vec![one], ..WorkloadSpec::default() }
}

#[test]
fn g507_g509_and_g510_findings_about_overrides_name_all_their_clusters() {
    use crate::model::overrides::PatchOp;
    let clusters = ["a", "b", "c"].map(|name| cluster(name, ClusterFacts::default()));
    let check =
        |op: PatchOp| findings_for(&deployment(1, "ports: []"), spec_with_patches(vec![op]), &clusters);
    let path = "/spec/template/spec/containers[name=web]/image".to_owned();
    let missing = check(PatchOp::Set { path, value: "a:1".into() });
    assert_eq!(codes(&missing), [("G507", true)]);
    assert_eq!(missing[0].clusters, ["a", "b"]);
    let same = check(PatchOp::Set { path: "/spec/replicas".into(), value: 1.into() });
    assert_eq!(codes(&same), [("G509", false)]);
    assert_eq!(same[0].clusters, ["a", "b"]);
    let renamed = check(PatchOp::Set { path: "/metadata/name".into(), value: "other".into() });
    assert!(codes(&renamed).contains(&("G510", true)), "{renamed:#?}");
    assert_eq!(check(PatchOp::Set { path: "/spec/replicas".into(), value: 2.into() }), []);
}
