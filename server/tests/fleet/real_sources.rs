//! Sources as their own tools read them, published to two real control planes: charts with ignored files and packed subcharts,
//! manifests between files of other tools, and lists.

use std::path::Path;

use domain::chart::ChartSource;
use domain::plan::{DryRunState, Plan, PlannedAction};
use domain::remote::RemoteSource;
use k8s_openapi::api::core::v1::ConfigMap;
use kube::Api;
use kube::core::{ApiResource, DynamicObject, GroupVersionKind};
use source::RemoteAccess;
use source::git::GitClient;
use testkit::{ControlPlane, ControlPlaneOptions};

use super::charts::{helm_program, pack_files, set_helm};
use super::git_server::GitServer;
use super::*;

/// The chart of a library that asks for an API of the cluster and makes a random value.
const KIT: [(&str, &str); 2] = [
    ("kit/Chart.yaml", "apiVersion: v2\nname: kit\nversion: 0.1.0\ntype: library\n"),
    (
        "kit/templates/_kit.tpl",
        "{{- define \"kit.monitored\" -}}{{ .Capabilities.APIVersions.Has \"metrics.example.com/v1\" }}{{- end -}}\n\
         {{- define \"kit.token\" -}}{{ randAlphaNum 8 }}{{- end -}}\n",
    ),
];

const LAMP: &str = "apiVersion: v2\nname: lamp\nversion: 1.0.0\n\
    dependencies:\n- {name: kit, version: 0.1.0, repository: 'https://charts.example.com'}\n";

const LAMP_TEMPLATE: &str = "apiVersion: v1\nkind: ConfigMap\nmetadata: {name: lamp}\n\
    data:\n  monitored: {{ include \"kit.monitored\" . | quote }}\n  token: {{ include \"kit.token\" . | quote }}\n";

/// Lists in every form: items without a kind, a list in a list, an object whose kind ends with `List`, and an empty list.
const LISTS: &str = r#"apiVersion: rbac.authorization.k8s.io/v1
kind: RoleList
items:
  - apiVersion: rbac.authorization.k8s.io/v1
    kind: Role
    metadata: {name: reader-a}
    rules: [{apiGroups: [""], resources: [pods], verbs: [get]}]
  - metadata: {name: reader-b}
    rules: [{apiGroups: [""], resources: [pods], verbs: [list]}]
---
apiVersion: v1
kind: List
items:
  - apiVersion: v1
    kind: ConfigMapList
    items:
      - {apiVersion: v1, kind: ConfigMap, metadata: {name: nested}, data: {a: "1"}}
---
apiVersion: net.example.com/v1
kind: AllowList
metadata: {name: offices}
spec: {ranges: [10.0.0.0/8]}
---
apiVersion: v1
kind: ConfigMapList
items: []
"#;

fn config_map(name: &str) -> String {
    format!("apiVersion: v1\nkind: ConfigMap\nmetadata: {{name: {name}}}\ndata: {{level: info}}\n")
}

fn write(server: &GitServer, path: &str, bytes: &[u8]) {
    let path = server.path(path);
    std::fs::create_dir_all(path.parent().unwrap()).unwrap();
    std::fs::write(path, bytes).unwrap();
}

/// One repository with the folders of all workloads, and what other teams have beside them.
async fn repository() -> GitServer {
    let server = GitServer::start().await;
    let binding = "apiVersion: rbac.authorization.k8s.io/v1\nkind: ClusterRoleBinding\nmetadata: {name: shelf-debug}\n\
        roleRef: {apiGroup: rbac.authorization.k8s.io, kind: ClusterRole, name: cluster-admin}\n\
        subjects: [{kind: ServiceAccount, name: debug, namespace: shelf}]\n";
    for (path, text) in [
        ("shelf/Chart.yaml", "apiVersion: v2\nname: shelf\nversion: 1.0.0\n"),
        ("shelf/.helmignore", "*.orig\ntemplates/debug.yaml\n"),
        ("shelf/templates/config.yaml", &*config_map("shelf")),
        ("shelf/templates/config.yaml.orig", &*config_map("shelf")),
        ("shelf/templates/debug.yaml", binding),
        ("app/config.yaml", &*config_map("app")),
        ("app/values-production.yaml", "replicas: 9\n"),
        ("app/dashboards/app.json", "{\"panels\": []}\n"),
        ("app/.github/check.yml", "on: [push]\njobs: {}\n"),
        ("deploy/web/config.yaml", &*config_map("web")),
        ("deploy/notes 9:15.txt", "x\n"),
        ("minutes 10:30.md", "x\n"),
        ("lamp-packed/Chart.yaml", LAMP),
        ("lamp-packed/templates/all.yaml", LAMP_TEMPLATE),
        ("lamp-folder/Chart.yaml", LAMP),
        ("lamp-folder/templates/all.yaml", LAMP_TEMPLATE),
    ] {
        write(&server, path, text.as_bytes());
    }
    write(&server, "lamp-packed/charts/kit-0.1.0.tgz", &pack_files(&KIT));
    for (path, text) in KIT {
        write(&server, &format!("lamp-folder/charts/{path}"), text.as_bytes());
    }
    std::fs::create_dir_all(server.path("tools")).unwrap();
    std::os::unix::fs::symlink("/etc/hostname", server.path("tools/link")).unwrap();
    server.commit_all("Add the files of all teams");
    server
}

/// The chart in this folder as `helm package` packs it.
fn helm_package(chart: &Path) -> Vec<u8> {
    let target = tempfile::tempdir().unwrap();
    let run = std::process::Command::new(helm_program())
        .arg("package")
        .arg(chart)
        .arg("--destination")
        .arg(target.path())
        .env("HOME", target.path())
        .output()
        .unwrap();
    assert!(run.status.success(), "{}", String::from_utf8_lossy(&run.stderr));
    std::fs::read(target.path().join("lamp-1.0.0.tgz")).unwrap()
}

/// Defines a namespaced kind, version v1, on a cluster.
async fn define(plane: &ControlPlane, group: &str, plural: &str, kind: &str) {
    // Without a status, so that an object is healthy once it is applied.
    let spec = json!({"type": "object", "x-kubernetes-preserve-unknown-fields": true});
    let schema = json!({"openAPIV3Schema": {"type": "object", "properties": {"spec": spec}}});
    let names = json!({"plural": plural, "singular": kind.to_lowercase(), "kind": kind, "listKind": format!("{kind}List")});
    let definition = json!({"apiVersion": "apiextensions.k8s.io/v1", "kind": "CustomResourceDefinition",
        "metadata": {"name": format!("{plural}.{group}")},
        "spec": {"group": group, "scope": "Namespaced", "names": names,
            "versions": [{"name": "v1", "served": true, "storage": true, "schema": schema}]}});
    let resource = ApiResource::from_gvk(&GroupVersionKind::gvk(
        "apiextensions.k8s.io",
        "v1",
        "CustomResourceDefinition",
    ));
    let object: DynamicObject = serde_json::from_value(definition).unwrap();
    let definitions = Api::<DynamicObject>::all_with(plane.client(), &resource);
    definitions.create(&Default::default(), &object).await.unwrap();
    // It is served a moment after it was stored.
    let kind = ApiResource::from_gvk_with_plural(&GroupVersionKind::gvk(group, "v1", kind), plural);
    let objects = Api::<DynamicObject>::all_with(plane.client(), &kind);
    while objects.list(&Default::default()).await.is_err() {
        tokio::time::sleep(Duration::from_millis(50)).await;
    }
}

/// Two real clusters, of which only the first has the kind that the library asks for.
struct SourceFleet {
    fleet: TestFleet,
    planes: [ControlPlane; 2],
}

impl SourceFleet {
    async fn start() -> Self {
        let options = ControlPlaneOptions::default;
        let (one, two) = tokio::join!(ControlPlane::start(options()), ControlPlane::start(options()));
        define(&one, "metrics.example.com", "targets", "Target").await;
        for plane in [&one, &two] {
            define(plane, "net.example.com", "allowlists", "AllowList").await;
            plane.create_namespace("lists").await;
        }
        let mut fleet = TestFleet::start_with(&[]).await;
        set_helm(&fleet).await;
        fleet.hub.set_git_client(GitClient::new(RemoteAccess::PrivateHttp, fleet.scratch()).unwrap());
        fleet.hub.set_git_check_interval(Duration::from_secs(3_600));
        fleet.join_cluster("one", one.client()).await;
        fleet.join_cluster("two", two.client()).await;
        for name in ["one", "two"] {
            fleet.wait_for_connectivity(name, Connectivity::Online).await;
        }
        Self { fleet, planes: [one, two] }
    }

    async fn create(&self, name: &str, source: Source) {
        let mut new = web_workload();
        new.name = name.to_owned();
        new.spec.namespace = name.to_owned();
        new.spec.source = source;
        new.spec.placement.predicates[0].names = vec!["one".to_owned(), "two".to_owned()];
        self.fleet.client.create_workload(&new).await.unwrap();
    }

    /// The plan of the draft, once both clusters answered it.
    async fn plan(&self, name: &str) -> Plan {
        let mut findings = Vec::new();
        // A chart may still be fetched or rendered.
        for _ in 0..300 {
            let plan = self.fleet.client.plan_workload(name, 20).await.unwrap();
            if plan.targets.len() == 2
                && plan.targets.iter().all(|target| matches!(target.dry_run, DryRunState::Answered))
            {
                let blocking: Vec<_> = plan.findings.iter().filter(|found| found.is_blocking()).collect();
                assert!(blocking.is_empty(), "{name}: {blocking:?}");
                return plan;
            }
            findings = plan.findings;
            tokio::time::sleep(Duration::from_millis(200)).await;
        }
        panic!("no cluster answered the plan of {name}: {findings:?}");
    }

    async fn publish(&self, name: &str) {
        self.fleet.client.publish_workload(name, &PublishRequest::default(), None).await.unwrap();
        self.fleet.wait_for_status(name, |status| status.counts.healthy() == 2).await;
    }

    /// The data of a ConfigMap on both clusters.
    async fn data(&self, namespace: &str, name: &str, key: &str) -> [String; 2] {
        let mut found = [String::new(), String::new()];
        for (value, plane) in found.iter_mut().zip(&self.planes) {
            let maps: Api<ConfigMap> = Api::namespaced(plane.client(), namespace);
            *value = maps.get(name).await.unwrap().data.unwrap_or_default().remove(key).unwrap_or_default();
        }
        found
    }

    /// Whether the first cluster has an object of this kind and name, cluster-scoped or in a namespace.
    async fn has(&self, (group, kind, plural): (&str, &str, &str), (namespace, name): (&str, &str)) -> bool {
        let resource = ApiResource::from_gvk_with_plural(&GroupVersionKind::gvk(group, "v1", kind), plural);
        let client = self.planes[0].client();
        let objects = match namespace {
            "" => Api::<DynamicObject>::all_with(client, &resource),
            namespace => Api::<DynamicObject>::namespaced_with(client, namespace, &resource),
        };
        objects.get_opt(name).await.unwrap().is_some()
    }
}

fn git_source(server: &GitServer, path: &str) -> Source {
    Source::Git(Box::new(RemoteSource {
        repository: server.url(),
        reference: "main".into(),
        path: path.into(),
        ..RemoteSource::default()
    }))
}

/// The objects that a plan creates on a cluster, without the namespace of the workload.
fn created_objects(plan: &Plan, cluster: &str) -> Vec<String> {
    let target = plan.targets.iter().find(|target| target.name == cluster).unwrap();
    let changes = &plan.cluster_plans[target.cluster_plan.as_ref().unwrap()].objects;
    let created = changes.iter().filter(|change| change.object.kind != "Namespace");
    let mut names: Vec<String> = created
        .map(|change| {
            assert_eq!(change.action, PlannedAction::Create, "{change:?}");
            format!("{} {}", change.object.kind, change.object.name)
        })
        .collect();
    names.sort();
    names
}

#[tokio::test(flavor = "multi_thread")]
async fn sources_are_published_to_real_clusters_as_their_own_tools_read_them() {
    if !testkit::is_available("sources on real clusters") {
        return;
    }
    with_timeout(Box::pin(async {
        let server = repository().await;
        let real = SourceFleet::start().await;
        publish_manifests(&real, &server).await;
        publish_lists(&real).await;
        publish_subcharts(&real, &server).await;
        publish_evaluated_texts(&real).await;
        real.fleet.stop().await;
    }))
    .await;
}

/// A chart without what `.helmignore` names, and manifests without the files of other tools and teams.
async fn publish_manifests(real: &SourceFleet, server: &GitServer) {
    for (name, path) in [("shelf", "shelf"), ("app", "app"), ("web", "deploy/web")] {
        real.create(name, git_source(server, path)).await;
        let plan = real.plan(name).await;
        for cluster in ["one", "two"] {
            assert_eq!(created_objects(&plan, cluster), [format!("ConfigMap {name}")], "{cluster}");
        }
        let left_out: Vec<&str> = plan
            .findings
            .iter()
            .filter(|found| found.code == "G109")
            .map(|found| found.message.as_str())
            .collect();
        match name {
            "app" => {
                let [message] = left_out.as_slice() else { panic!("{:?}", plan.findings) };
                assert!(message.contains("values-production.yaml"), "{message}");
                assert!(message.contains("dashboards/app.json") && !message.contains(".github"), "{message}");
            }
            _ => assert!(left_out.is_empty(), "{left_out:?}"),
        }
        real.publish(name).await;
        assert_eq!(real.data(name, name, "level").await, ["info", "info"], "{name}");
    }
    let bindings = ("rbac.authorization.k8s.io", "ClusterRoleBinding", "clusterrolebindings");
    assert!(!real.has(bindings, ("", "shelf-debug")).await, "the chart leaves it out");
}

async fn publish_lists(real: &SourceFleet) {
    let file = SourceFile { name: "lists.yaml".to_owned(), text: LISTS.to_owned() };
    real.create("lists", Source::Yaml { files: vec![file] }).await;
    let plan = real.plan("lists").await;
    assert!(plan.findings.iter().all(|found| found.code != "G109"), "{:?}", plan.findings);
    let expected = ["AllowList offices", "ConfigMap nested", "Role reader-a", "Role reader-b"];
    for cluster in ["one", "two"] {
        assert_eq!(created_objects(&plan, cluster), expected, "{cluster}");
    }
    let unverified: Vec<_> = plan.cluster_plans.values().flat_map(|changes| &changes.objects).collect();
    assert!(unverified.iter().all(|change| change.unverified.is_empty()), "{unverified:?}");
    real.publish("lists").await;
    for (kind, name) in [
        (("net.example.com", "AllowList", "allowlists"), "offices"),
        (("", "ConfigMap", "configmaps"), "nested"),
        (("rbac.authorization.k8s.io", "Role", "roles"), "reader-a"),
        (("rbac.authorization.k8s.io", "Role", "roles"), "reader-b"),
    ] {
        assert!(real.has(kind, ("lists", name)).await, "{name}");
    }
}

/// A subchart that asks for an API, packed in the repository, as a folder there, and in an archive that `helm package` made: each
/// cluster gets what `helm install` would see there, and the random value is a finding.
async fn publish_subcharts(real: &SourceFleet, server: &GitServer) {
    real.fleet.client.upload_chart(helm_package(&server.path("lamp-packed"))).await.unwrap();
    let pushed = Source::Chart(ChartSource {
        chart: "local/lamp".into(),
        version: "1.0.0".into(),
        ..ChartSource::default()
    });
    for (name, source) in [
        ("lamp-packed", git_source(server, "lamp-packed")),
        ("lamp-folder", git_source(server, "lamp-folder")),
        ("lamp-pushed", pushed),
    ] {
        real.create(name, source).await;
        let plan = real.plan(name).await;
        let is_random = |found: &domain::finding::Finding| {
            found.code == "G115" && found.message.contains("differs with every rendering")
        };
        assert!(plan.findings.iter().any(is_random), "{name}: {:?}", plan.findings);
        real.publish(name).await;
        assert_eq!(real.data(name, "lamp", "monitored").await, ["true", "false"], "{name}");
        for token in real.data(name, "lamp", "token").await {
            assert_eq!(token.len(), 8, "{name}: {token}");
        }
    }
}

/// Charts that ask for an API only in a text that `tpl` evaluates, a file of the chart or a value of the user: each cluster gets what
/// `helm install` would see there.
async fn publish_evaluated_texts(real: &SourceFleet) {
    const ASK: &str = "{{ .Capabilities.APIVersions.Has \"metrics.example.com/v1\" }}";
    for (name, text, file, values) in [
        ("bulb-file", "(.Files.Get \"files/ask.txt\")", ASK, String::new()),
        ("bulb-value", ".Values.ask", "", format!("ask: '{ASK}'\n")),
    ] {
        let chart = format!("apiVersion: v2\nname: {name}\nversion: 1.0.0\n");
        let template = format!(
            "apiVersion: v1\nkind: ConfigMap\nmetadata: {{name: bulb}}\n\
             data:\n  monitored: {{{{ tpl {text} . | quote }}}}\n"
        );
        let paths =
            ["Chart.yaml", "templates/all.yaml", "files/ask.txt"].map(|path| format!("{name}/{path}"));
        let texts = [chart.as_str(), template.as_str(), file];
        let files: Vec<(String, &str)> = paths.into_iter().zip(texts).collect();
        real.fleet.client.upload_chart(pack_files(&files)).await.unwrap();
        let source = Source::Chart(ChartSource {
            chart: format!("local/{name}"),
            version: "1.0.0".into(),
            values,
            ..ChartSource::default()
        });
        real.create(name, source).await;
        real.plan(name).await;
        real.publish(name).await;
        assert_eq!(real.data(name, "bulb", "monitored").await, ["true", "false"], "{name}");
    }
}
