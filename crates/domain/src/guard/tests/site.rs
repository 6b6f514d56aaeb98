//! What one cluster's namespaces, classes, quotas and nodes say.

use super::*;
use crate::cluster::{ApiResource, ClusterFacts, ClusterKind, NamespaceFacts, NodePool, Quota, Reach};
use crate::id::ClusterId;
use crate::quantity::Quantity;
use crate::time::Timestamp;
use crate::workload::SourceFile;

fn cluster(name: &str, facts: ClusterFacts) -> Cluster {
    Cluster {
        facts: ClusterFacts { kubernetes_version: "v1.36.3".into(), ..facts },
        reach: Reach::Online,
        ..Cluster::new(ClusterId::from_parts(1, 1), name, ClusterKind::Agent, Timestamp::from_millis(0))
    }
}

fn found_for(text: &str, spec: WorkloadSpec, clusters: &[Cluster]) -> Vec<Finding> {
    let files = [SourceFile { name: "a.yaml".into(), text: text.into() }];
    let parsed = crate::manifest::parse(&files);
    assert_eq!(parsed.findings, []);
    let spec = WorkloadSpec { namespace: "web".into(), ..spec };
    let rendering =
        Rendering { workload: "shop", revision: 1, spec: &spec, parsed: &parsed, groups: &[], targets: &[] };
    let mut found = check_fleet(&rendering, &clusters.iter().collect::<Vec<_>>());
    // That nothing is known of the kinds is said elsewhere.
    found.retain(|finding| finding.code != "G401");
    found
}

fn found(text: &str, facts: ClusterFacts) -> Vec<Finding> {
    found_for(text, WorkloadSpec::default(), &[cluster("eu-1", facts)])
}

fn codes(findings: &[Finding]) -> Vec<(&str, bool)> {
    findings.iter().map(|finding| (&*finding.code, finding.blocks())).collect()
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
fn g108_a_namespace_that_is_not_there_is_made_or_refused_as_the_policy_says() {
    let facts = || ClusterFacts { namespaces: vec![namespace("default")], ..ClusterFacts::default() };
    assert_eq!(codes(&found(CONFIG, facts())), [("G108", false)]);
    let mut spec = WorkloadSpec::default();
    spec.policies.create_namespace = false;
    assert_eq!(codes(&found_for(CONFIG, spec, &[cluster("eu-1", facts())])), [("G108", true)]);
    let there = ClusterFacts { namespaces: vec![namespace("web")], ..ClusterFacts::default() };
    assert_eq!(found(CONFIG, there), []);
    assert_eq!(found(CONFIG, ClusterFacts::default()), [], "an agent that may not list them says nothing");
    let brought = format!("{CONFIG}---\napiVersion: v1\nkind: Namespace\nmetadata: {{name: web}}\n");
    assert_eq!(found(&brought, facts()), []);
}

/// A cluster that tells that these service accounts of the namespace `web` have pull secrets.
fn pulling(accounts: &[&str]) -> ClusterFacts {
    let accounts = accounts.iter().map(|name| (*name).to_owned()).collect();
    let namespaces = vec![NamespaceFacts { pull_accounts: Some(accounts), ..namespace("web") }];
    ClusterFacts { namespaces, ..ClusterFacts::default() }
}

fn pulled(image: &str) -> String {
    deployment(1, "ports: []").replace("nginx:1.29", image)
}

#[test]
fn g205_a_registry_that_is_not_known_to_be_open_needs_a_pull_secret_somewhere() {
    let private = pulled("reg.acme.io/shop/api:1");
    let findings = found(&private, pulling(&["deployer"]));
    let [finding] = &findings[..] else { panic!("{findings:#?}") };
    assert_eq!((&*finding.code, finding.severity), ("G205", crate::Severity::Warning));
    assert_eq!(
        finding.message,
        "Container \"api\" pulls from \"reg.acme.io\", and neither its pod nor service account \"default\" of namespace \
         \"web\" has a pull secret: if that registry asks for credentials, the pod does not start."
    );
    assert_eq!(
        finding.hint,
        "Add imagePullSecrets to the pod or to that service account, or ignore this if the registry is open."
    );
    assert_eq!(finding.path, "/spec/template/spec/containers/0/image");
    assert_eq!(finding.clusters, ["eu-1"]);

    assert_eq!(found(&private, pulling(&["default"])), [], "the namespace's own account has one");
    let acting = |name: &str| {
        private.replace(
            "spec:\n      containers",
            &format!("spec:\n      serviceAccountName: {name}\n      containers"),
        )
    };
    assert_eq!(found(&acting("deployer"), pulling(&["deployer"])), []);
    assert_eq!(codes(&found(&acting("other"), pulling(&["deployer"]))), [("G205", false)]);
    let own = private
        .replace("spec:\n      containers", "spec:\n      imagePullSecrets: [{name: reg}]\n      containers");
    assert_eq!(found(&own, pulling(&[])), []);
    let brought = |name: &str| {
        format!(
            "{private}---\napiVersion: v1\nkind: ServiceAccount\nmetadata: {{name: {name}}}\nimagePullSecrets: [{{name: reg}}]\n"
        )
    };
    assert_eq!(found(&brought("default"), pulling(&[])), []);
    assert_eq!(codes(&found(&brought("another"), pulling(&[]))), [("G205", false)]);
}

#[test]
fn g205_open_registries_need_none_and_a_clouds_nodes_have_their_own_credentials() {
    for open in [
        "nginx:1",
        "shop/api:1",
        "docker.io/shop/api:1",
        "ghcr.io/a/b:1",
        "eu.gcr.io/a/b:1",
        "localhost:5000/a:1",
    ] {
        assert_eq!(found(&pulled(open), pulling(&[])), [], "{open}");
    }
    for private in ["notghcr.io/a/b:1", "registry:5000/a:1", "ghcr.io.example.com/a:1"] {
        assert_eq!(codes(&found(&pulled(private), pulling(&[]))), [("G205", false)], "{private}");
    }
    let aws = "1.dkr.ecr.eu-west-1.amazonaws.com/api:1";
    assert_eq!(codes(&found(&pulled(aws), pulling(&[]))), [("G205", false)]);
    let on = |provider: &str| ClusterFacts { provider: provider.into(), ..pulling(&[]) };
    assert_eq!(found(&pulled(aws), on("aws")), []);
    assert_eq!(codes(&found(&pulled(aws), on("gce"))), [("G205", false)]);
}

#[test]
fn g205_what_an_agent_does_not_tell_is_not_held_against_a_workload() {
    let private = pulled("reg.acme.io/shop/api:1");
    assert_eq!(found(&private, ClusterFacts::default()), []);
    let silent = ClusterFacts { namespaces: vec![namespace("web")], ..ClusterFacts::default() };
    assert_eq!(found(&private, silent), [], "an older agent");
    let mut elsewhere = pulling(&["default"]);
    elsewhere.namespaces[0].name = "other".into();
    let yet_to_be_made = found(&private, elsewhere);
    assert_eq!(codes(&yet_to_be_made), [("G205", false), ("G108", false)]);
}

/// A cluster whose agent may write Services in `web` alone, and ClusterRoles nowhere.
fn denying() -> ClusterFacts {
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
        rights_known: true,
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
fn g410_what_the_agent_may_not_write_is_told_before_it_is_asked_to() {
    let again = ROLE.replace("reader", "writer");
    let findings = found(&format!("{ROLE}---\n{again}---\n{CONFIG}"), denying());
    let [finding] = &findings[..] else { panic!("{findings:#?}") };
    assert_eq!((&*finding.code, finding.severity), ("G410", crate::Severity::Warning));
    assert_eq!(
        finding.message,
        "The agent may not write objects of the kind ClusterRole: ClusterRole reader would be refused."
    );
    assert_eq!(
        finding.hint,
        "Grant it to the agent, let a service account write that may (policy executor), or leave these clusters out."
    );
    assert_eq!((&*finding.path, &finding.clusters[..]), ("/kind", &["eu-1".to_owned()][..]));
    let several =
        found_for(ROLE, WorkloadSpec::default(), &[cluster("eu-1", denying()), cluster("eu-2", denying())]);
    assert_eq!((several.len(), &several[0].clusters[..]), (1, &["eu-1".to_owned(), "eu-2".to_owned()][..]));
}

#[test]
fn g410_what_is_granted_in_one_namespace_may_be_written_there() {
    let service = |namespace: &str| {
        format!(
            "apiVersion: v1\nkind: Service\nmetadata: {{name: a, namespace: {namespace}}}\nspec: {{ports: [{{port: 80}}]}}\n"
        )
    };
    assert_eq!(found(&service("web"), denying()), []);
    assert_eq!(found(&service("unread"), denying()), [], "nobody asked");
    let other = found(&service("other"), denying());
    assert_eq!(
        other[0].message,
        "The agent may not write objects of the kind Service in namespace \"other\": Service other/a would be refused."
    );
    assert_eq!(codes(&found(&service("new"), denying())), [("G410", false), ("G108", false)]);
}

#[test]
fn g410_rights_that_are_not_known_and_rights_of_another_are_not_held_against_anybody() {
    assert_eq!(found(ROLE, ClusterFacts { rights_known: false, ..denying() }), []);
    let mut spec = WorkloadSpec::default();
    spec.policies.executor = "web/deployer".into();
    assert_eq!(found_for(ROLE, spec, &[cluster("eu-1", denying())]), []);
}

fn enforcing(level: &str) -> ClusterFacts {
    let namespaces = vec![NamespaceFacts { pod_security: level.into(), ..namespace("web") }];
    ClusterFacts { namespaces, ..ClusterFacts::default() }
}

#[test]
fn g220_what_a_namespace_enforces_is_held_against_its_pods() {
    let plain = deployment(1, "ports: []");
    assert_eq!(found(&plain, enforcing("")), []);
    assert_eq!(found(&plain, enforcing("privileged")), []);
    assert_eq!(found(&plain, enforcing("baseline")), []);
    let restricted = found(&plain, enforcing("restricted"));
    assert_eq!(codes(&restricted), [("G220", true); 4]);
    assert!(restricted.iter().any(|finding| finding.hint.contains("runAsNonRoot: true")));
    let good = deployment(
        1,
        "securityContext: {runAsNonRoot: true, allowPrivilegeEscalation: false, \
         seccompProfile: {type: RuntimeDefault}, capabilities: {drop: [ALL], add: [NET_BIND_SERVICE]}}",
    );
    assert_eq!(found(&good, enforcing("restricted")), []);
}

#[test]
fn g220_a_namespace_that_the_workload_brings_counts_as_it_will_be() {
    let text = format!(
        "apiVersion: v1\nkind: Namespace\nmetadata: {{name: web, labels: {{pod-security.kubernetes.io/enforce: baseline}}}}\n\
         ---\n{}",
        deployment(1, "securityContext: {privileged: true}")
    );
    assert_eq!(codes(&found(&text, ClusterFacts::default())), [("G220", true)]);
    assert_eq!(codes(&found(&text, enforcing("privileged"))), [("G220", true)]);
}

#[test]
fn g220_the_baseline_forbids_what_reaches_the_node() {
    for (container, says) in [
        ("securityContext: {privileged: true}", "is privileged"),
        ("securityContext: {capabilities: {add: [NET_ADMIN]}}", "NET_ADMIN"),
        ("securityContext: {procMount: Unmasked}", "/proc"),
        ("securityContext: {seccompProfile: {type: Unconfined}}", "seccompProfile off"),
        ("securityContext: {seLinuxOptions: {type: spc_t}}", "SELinux"),
        ("ports: [{containerPort: 80, hostPort: 80}]", "a port of the node"),
    ] {
        let findings = found(&deployment(1, container), enforcing("baseline"));
        let [finding] = &findings[..] else { panic!("{container}: {findings:#?}") };
        assert!(finding.blocks() && finding.message.contains(says), "{}", finding.message);
        assert!(finding.place.is_some());
    }
    let host = "apiVersion: v1\nkind: Pod\nmetadata: {name: a}\nspec:\n  hostNetwork: true\n  \
                securityContext: {sysctls: [{name: kernel.msgmax, value: '1'}]}\n  \
                volumes: [{name: root, hostPath: {path: /}}]\n  containers: [{name: a, image: 'a:1'}]\n";
    assert_eq!(found(host, enforcing("baseline")).len(), 3);
}

#[test]
fn g306_classes_that_a_cluster_lacks_are_told_with_those_it_has() {
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
    let findings = found(&claim("storageClassName: gp3"), facts("standard"));
    assert_eq!(codes(&findings), [("G306", false)]);
    assert!(findings[0].hint.contains("standard, fast"));
    assert_eq!(found(&claim("storageClassName: fast"), facts("")), []);
    assert_eq!(found(&claim("storageClassName: ''"), facts("")), []);
    assert_eq!(found(&claim("volumeMode: Filesystem"), facts("standard")), []);
    assert_eq!(codes(&found(&claim("volumeMode: Filesystem"), facts(""))), [("G306", false)]);
    assert_eq!(
        found(&claim("storageClassName: gp3"), ClusterFacts::default()),
        [],
        "not listed is not absent"
    );
    let ingress = "apiVersion: networking.k8s.io/v1\nkind: Ingress\nmetadata: {name: web}\nspec:\n  \
                   ingressClassName: alb\n  rules: []\n";
    let facts = ClusterFacts { ingress_classes: vec!["nginx".into()], ..ClusterFacts::default() };
    assert_eq!(codes(&found(ingress, facts)), [("G306", false)]);
}

fn quota(hard: &[(&str, &str)], used: &[(&str, &str)]) -> ClusterFacts {
    let amounts = |all: &[(&str, &str)]| {
        all.iter().map(|(name, amount)| ((*name).to_owned(), Quantity::parse(amount).unwrap())).collect()
    };
    let quota = Quota { name: "small".into(), hard: amounts(hard), used: amounts(used) };
    let namespaces = vec![NamespaceFacts { quotas: vec![quota], ..namespace("web") }];
    ClusterFacts { namespaces, ..ClusterFacts::default() }
}

#[test]
fn g407_more_than_a_quota_allows_is_refused_and_more_than_is_left_is_told() {
    let three = deployment(3, "resources: {requests: {cpu: 500m, memory: 1Gi}}");
    let cpu = |hard, used| quota(&[("requests.cpu", hard)], &[("requests.cpu", used)]);
    assert_eq!(found(&three, cpu("4", "2")), []);
    assert_eq!(codes(&found(&three, cpu("4", "3"))), [("G407", false)]);
    let findings = found(&three, cpu("1", "0"));
    assert_eq!(codes(&findings), [("G407", true)]);
    assert!(
        findings[0].message.contains("allows requests.cpu 1, and this needs 1500m"),
        "{}",
        findings[0].message
    );
    let memory = found(&three, quota(&[("memory", "2Gi")], &[]));
    assert!(
        memory[0].message.contains("2 GiB") && memory[0].message.contains("3 GiB"),
        "{}",
        memory[0].message
    );
    assert_eq!(codes(&found(&three, quota(&[("pods", "2")], &[]))), [("G407", true)]);
    // A quota on what a container does not say refuses its pod.
    let findings = found(&three, quota(&[("limits.memory", "9Gi")], &[]));
    assert_eq!(codes(&findings), [("G407", false)]);
    assert_eq!(findings[0].hint, "Set resources.limits.memory.");
    assert_eq!(found(&three, quota(&[("count/secrets", "1")], &[])), [], "what is no pod's is not reckoned");
}

#[test]
fn g407_a_quota_that_leaves_no_room_for_an_update_is_told() {
    let with = |replicas: u32, strategy: &str| {
        deployment(replicas, "resources: {requests: {cpu: 500m}}")
            .replace("  selector:", &format!("  {strategy}\n  selector:"))
    };
    let cpu = |hard| quota(&[("requests.cpu", hard)], &[]);
    let findings = found(&with(3, "minReadySeconds: 0"), cpu("1500m"));
    assert_eq!(codes(&findings), [("G407", false)]);
    assert!(findings[0].message.contains("Deployment web/api starts a new pod"), "{}", findings[0].message);
    assert_eq!(found(&with(3, "minReadySeconds: 0"), cpu("2")), []);
    assert_eq!(found(&with(4, "minReadySeconds: 0"), cpu("2")), [], "a quarter of four may be missing");
    assert_eq!(found(&with(3, "strategy: {type: Recreate}"), cpu("1500m")), []);
    assert_eq!(found(&with(3, "strategy: {rollingUpdate: {maxUnavailable: 1}}"), cpu("1500m")), []);
    assert_eq!(found(&with(3, "strategy: {rollingUpdate: {maxUnavailable: 34%}}"), cpu("1500m")), []);
}

#[test]
fn g408_a_pod_that_fits_no_node_is_told_with_the_largest() {
    let pool = |architecture: &str, cores: u32| NodePool {
        architecture: architecture.into(),
        os: "linux".into(),
        nodes: 2,
        ready: 2,
        largest_cpu: Quantity::whole(cores),
        largest_memory: Quantity::parse("8Gi").unwrap(),
        ..NodePool::default()
    };
    let facts =
        || ClusterFacts { node_pools: vec![pool("amd64", 4), pool("arm64", 2)], ..ClusterFacts::default() };
    let asks = |cpu: &str| deployment(1, &format!("resources: {{requests: {{cpu: '{cpu}', memory: 1Gi}}}}"));
    assert_eq!(found(&asks("4"), facts()), []);
    let findings = found(&asks("5"), facts());
    assert_eq!(codes(&findings), [("G408", false)]);
    assert!(findings[0].message.contains("the largest node has 4 and 8 GiB"), "{}", findings[0].message);
    let on = |arch: &str, cpu: &str| {
        asks(cpu).replace(
            "      containers:",
            &format!("      nodeSelector: {{kubernetes.io/arch: {arch}}}\n      containers:"),
        )
    };
    assert_eq!(found(&on("arm64", "2"), facts()), []);
    assert_eq!(codes(&found(&on("arm64", "4"), facts())), [("G408", false)]);
    let nowhere = found(&on("riscv64", "1"), facts());
    assert!(nowhere[0].message.contains("there is linux/amd64, linux/arm64"), "{}", nowhere[0].message);
}

#[test]
fn g203_a_version_without_a_digest_on_a_production_cluster_is_told() {
    let labelled = |key: &str, value: &str| Cluster {
        labels: [(key.to_owned(), value.to_owned())].into(),
        ..cluster("eu-1", ClusterFacts::default())
    };
    let text = deployment(1, "ports: []");
    for (key, value) in [("env", "prod"), ("environment", "Production"), ("stage", "prod-eu")] {
        let findings = found_for(&text, WorkloadSpec::default(), &[labelled(key, value)]);
        let [finding] = &findings[..] else { panic!("{findings:#?}") };
        assert_eq!((finding.code.as_str(), finding.blocks()), ("G203", false));
        assert!(finding.message.contains(&format!("{key}={value}")), "{}", finding.message);
        assert_eq!(finding.hint, "Add the digest: nginx:1.29@sha256:…");
    }
    assert_eq!(found_for(&text, WorkloadSpec::default(), &[labelled("env", "staging")]), []);
    let digest = text.replace("nginx:1.29", &format!("nginx:1.29@sha256:{}", "a".repeat(64)));
    assert_eq!(found_for(&digest, WorkloadSpec::default(), &[labelled("env", "prod")]), []);
}

#[test]
fn what_is_the_same_on_several_clusters_is_said_once_and_overrides_count() {
    let text = deployment(1, "securityContext: {privileged: true}");
    let clusters = [cluster("a", enforcing("baseline")), cluster("b", enforcing("baseline"))];
    let findings = found_for(&text, WorkloadSpec::default(), &clusters);
    assert_eq!(findings.len(), 1);
    assert_eq!(findings[0].clusters, ["a", "b"]);
    let path = "/spec/template/spec/containers[name=api]/securityContext".to_owned();
    let one = crate::overrides::Override {
        id: crate::id::OverrideId::from_parts(1, 1),
        name: "calm".into(),
        target: crate::overrides::Target { clusters: vec!["b".into()], ..Default::default() },
        priority: 500,
        patches: vec![crate::overrides::Patch {
            object: Default::default(),
            op: crate::overrides::PatchOp::Remove { path },
        }],
    };
    let spec = WorkloadSpec { overrides: vec![one], ..WorkloadSpec::default() };
    assert_eq!(found_for(&text, spec, &clusters)[0].clusters, ["a"]);
}

#[test]
fn g309_rights_are_told_where_they_point_nowhere_or_everywhere() {
    let check = |text: &str| {
        let files = [SourceFile { name: "a.yaml".into(), text: text.into() }];
        let spec = WorkloadSpec { namespace: "web".into(), ..WorkloadSpec::default() };
        check_static("shop", &spec, &crate::manifest::parse(&files))
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

fn patched(patches: Vec<crate::overrides::PatchOp>) -> WorkloadSpec {
    let patch = |op| crate::overrides::Patch { object: Default::default(), op };
    let one = crate::overrides::Override {
        id: crate::id::OverrideId::from_parts(1, 1),
        name: "eu".into(),
        target: crate::overrides::Target { clusters: vec!["a".into(), "b".into()], ..Default::default() },
        priority: 500,
        patches: patches.into_iter().map(patch).collect(),
    };
    WorkloadSpec { overrides: vec![one], ..WorkloadSpec::default() }
}

#[test]
fn g507_g509_and_g510_what_overrides_do_wrong_is_told_before_publishing_and_once_for_all_clusters() {
    use crate::overrides::PatchOp;
    let clusters = ["a", "b", "c"].map(|name| cluster(name, ClusterFacts::default()));
    let check = |op: PatchOp| found_for(&deployment(1, "ports: []"), patched(vec![op]), &clusters);
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
