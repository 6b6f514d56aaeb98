//! Charts end to end: uploaded, rendered by the real helm, published to simulated clusters with values that differ.

use std::path::{Path, PathBuf};

use domain::chart::ChartSource;
use domain::overrides::{ClusterSelector, DEFAULT_PRIORITY, Override};
use flate2::Compression;
use flate2::write::GzEncoder;
use source::helm::Helm;
use tar::{Builder, Header};
use wire::{OverridePut, RestoreRevisionRequest, ValidateRequest, ValuesQuery};

use super::*;

const TEMPLATE: &str = "apiVersion: v1
kind: ConfigMap
metadata: {name: {{ .Release.Name }}}
data:
  replicas: {{ .Values.replicas | quote }}
  region: {{ .Values.region | quote }}
  join: {{ .Values.join | default \"\" | quote }}
  chart: {{ .Chart.Version | quote }}
";

/// A chart with one ConfigMap that shows its values.
pub(super) fn chart(version: &str, extra: &[(&str, &str)]) -> Vec<u8> {
    describe_chart(&format!("version: {version}\n"), extra)
}

/// The same with these lines in Chart.yaml; a file of `extra` replaces one of the same name.
pub(super) fn describe_chart(lines: &str, extra: &[(&str, &str)]) -> Vec<u8> {
    let description = format!("apiVersion: v2\nname: web\n{lines}");
    let files = [
        ("Chart.yaml", description.as_str()),
        ("values.yaml", "replicas: 1 # per cluster\nregion: none\n"),
        ("templates/config.yaml", TEMPLATE),
        ("README.md", "# Web"),
    ];
    let is_replaced = |path: &str| extra.iter().any(|(other, _)| *other == path);
    let used = files.iter().filter(|(path, _)| !is_replaced(path)).chain(extra);
    let paths: Vec<(String, &str)> = used.map(|(path, text)| (format!("web/{path}"), *text)).collect();
    pack_files(&paths)
}

/// An archive with these files.
pub(super) fn pack_files(files: &[(impl AsRef<Path>, impl AsRef<[u8]>)]) -> Vec<u8> {
    let mut builder = Builder::new(GzEncoder::new(Vec::new(), Compression::fast()));
    for (path, content) in files {
        let content = content.as_ref();
        let mut header = Header::new_gnu();
        header.set_size(content.len() as u64);
        header.set_mode(0o644);
        builder.append_data(&mut header, path, content).unwrap();
    }
    builder.into_inner().unwrap().finish().unwrap()
}

pub(super) fn helm_program() -> PathBuf {
    std::env::var_os("FLOTILLA_HELM")
        .map(PathBuf::from)
        .expect("FLOTILLA_HELM names helm; cargo xtask test sets it")
}

/// The archive of a real chart for this test; `None` if the run goes without the corpus.
pub fn corpus_chart(test: &str, name: &str) -> Option<Vec<u8>> {
    let corpus = testkit::find_corpus(test)?;
    Some(std::fs::read(corpus.join("charts").join(format!("{name}.tgz"))).unwrap())
}

pub async fn fleet_with_helm() -> TestFleet {
    let fleet = TestFleet::start().await;
    set_helm(&fleet).await;
    fleet
}

pub(super) async fn set_helm(fleet: &TestFleet) {
    fleet.hub.set_helm(Helm::find(Some(&helm_program()), fleet.sandbox().await).await.unwrap());
}

pub(crate) fn values_of(fleet: &TestFleet, cluster: usize) -> Value {
    fleet.clusters[cluster]
        .get(CONFIG_MAP, ("apps", "web"))
        .map(|found| found["data"].clone())
        .unwrap_or_default()
}

pub(crate) fn chart_workload(version: &str, values: &str) -> NewWorkload {
    let mut new = web_workload();
    new.spec.source = Source::Chart(ChartSource {
        chart: "local/web".into(),
        version: version.into(),
        values: values.into(),
        ..ChartSource::default()
    });
    new
}

pub(super) fn override_for(name: &str, target: ClusterSelector, values: &str) -> Override {
    Override {
        id: domain::OverrideId::from_parts(1, name.len() as u128),
        name: name.into(),
        target,
        priority: DEFAULT_PRIORITY,
        values: values.into(),
        patches: Vec::new(),
    }
}

pub(super) fn cluster_named(name: &str) -> ClusterSelector {
    ClusterSelector { clusters: vec![name.into()], ..ClusterSelector::default() }
}

#[tokio::test(flavor = "multi_thread")]
async fn s1_10_s1_11_a_chart_runs_on_every_cluster_with_common_values_and_values_of_its_own() {
    with_timeout(async {
        let fleet = fleet_with_helm().await;
        let uploaded = fleet.client.upload_chart(chart("1.0.0", &[])).await.unwrap();
        assert_eq!((&*uploaded.reference(), &*uploaded.version), ("local/web", "1.0.0"));
        let mut new = chart_workload("1.0.0", "replicas: 2 # for all\nregion: ${{ cluster.labels.region }}\njoin: ${{ fleet.targets | join(\",\") }}\n");
        let us = ClusterSelector { selector: Some("region=us".parse().unwrap()), ..ClusterSelector::default() };
        new.spec.overrides = vec![
            override_for("america", us, "replicas: 4\n"),
            override_for("eu-2", cluster_named("eu-2"), "replicas: 7\n"),
        ];
        fleet.client.create_workload(&new).await.unwrap();
        fleet.client.publish_workload("web", &PublishRequest::default(), None).await.unwrap();
        fleet.wait_for_web(|status| status.counts.healthy() == 3).await;
        let data = |replicas: &str, region: &str| {
            json!({"replicas": replicas, "region": region, "join": "eu-1,eu-2,us-1", "chart": "1.0.0"})
        };
        assert_eq!([0, 1, 2].map(|n| values_of(&fleet, n)), [data("2", "eu"), data("7", "eu"), data("4", "us")]);

        // The same values with the layers that set them.
        let query = ValuesQuery { cluster: "eu-2".into(), source: true, revision: Some(1) };
        let values = fleet.client.get_values("web", &query).await.unwrap();
        assert_eq!(values.values["replicas"], 7);
        let replicas = values.provenance.iter().find(|leaf| leaf.path == "/replicas").unwrap();
        let layers: Vec<String> =
            replicas.settings.iter().map(|one| format!("{} ← {}", one.value, one.layer)).collect();
        assert_eq!(layers, ["7 ← cluster eu-2", "2 ← common", "1 ← chart default"]);

        // An upgrade of the chart is another revision; an unchanged set of inputs is not rendered again.
        fleet.client.upload_chart(chart("1.1.0", &[])).await.unwrap();
        new.spec.source = chart_workload("1.1.0", "replicas: 2\n").spec.source;
        let put = WorkloadPut { spec: new.spec, ..WorkloadPut::default() };
        let current = fleet.client.get_workload("web").await.unwrap().workload;
        fleet.client.put_workload("web", &put, current.revision).await.unwrap();
        fleet.client.publish_workload("web", &PublishRequest::default(), None).await.unwrap();
        fleet.wait_for_web(|status| status.counts.healthy() == 3 && values_of(&fleet, 2)["chart"] == "1.1.0").await;
        fleet.stop().await;
    })
    .await;
}

#[tokio::test(flavor = "multi_thread")]
async fn g117_a_chart_is_not_published_before_helm_is_available() {
    with_timeout(async {
        let fleet = fleet_with_helm().await;
        fleet.client.upload_chart(chart("1.0.0", &[])).await.unwrap();
        fleet.client.create_workload(&chart_workload("1.0.0", "")).await.unwrap();
        fleet.client.publish_workload("web", &PublishRequest::default(), None).await.unwrap();
        fleet.wait_for_web(|status| status.counts.healthy() == 3).await;
        fleet.stop().await;

        // A server without helm: the check says why, nothing is published, and a new cluster of a published workload waits.
        let without = TestFleet::start().await;
        without.client.upload_chart(chart("1.0.0", &[])).await.unwrap();
        let new = chart_workload("1.0.0", "");
        without.client.create_workload(&new).await.unwrap();
        let checked = without
            .client
            .validate_workload(&ValidateRequest { name: "web".into(), spec: new.spec })
            .await
            .unwrap();
        assert_eq!(checked.findings.iter().map(|found| found.code.as_str()).collect::<Vec<_>>(), ["G117"]);
        assert!(checked.findings[0].message.contains("Helm is not available"), "{:?}", checked.findings);
        let refused =
            without.client.publish_workload("web", &PublishRequest::default(), None).await.unwrap_err();
        assert_eq!(refused.code(), "Invalid");
        set_helm(&without).await;
        without.client.publish_workload("web", &PublishRequest::default(), None).await.unwrap();
        without.wait_for_web(|status| status.counts.healthy() == 3).await;
        without.stop().await;
    })
    .await;
}

#[tokio::test(flavor = "multi_thread")]
async fn g112_g113_g115_g116_problems_of_charts_and_values_are_findings_with_the_clusters_they_are_on() {
    with_timeout(async {
        let fleet = fleet_with_helm().await;
        let schema = r#"{"properties": {"replicas": {"type": "integer"}}}"#;
        fleet.client.upload_chart(chart("1.0.0", &[("values.schema.json", schema)])).await.unwrap();
        let check = async |new: NewWorkload| {
            let request = ValidateRequest { name: "web".into(), spec: new.spec };
            let findings = fleet.client.validate_workload(&request).await.unwrap().findings;
            findings.into_iter().map(|found| (found.code, found.message, found.clusters)).collect::<Vec<_>>()
        };
        let missing = check(chart_workload("2.0.0", "")).await;
        assert_eq!(
            (&*missing[0].0, &*missing[0].1),
            ("G112", "Chart \"local/web\" has no version \"2.0.0\" in this project.")
        );

        let mut wrong = chart_workload("1.0.0", "");
        wrong.spec.overrides = vec![override_for("eu-2", cluster_named("eu-2"), "replicas: many\n")];
        let found = check(wrong).await;
        assert_eq!((&*found[0].0, &found[0].2), ("G113", &vec!["eu-2".to_owned()]), "{found:?}");
        assert!(found[0].1.contains("replicas") && found[0].1.contains("integer"), "{found:?}");
        assert!(found[0].1.ends_with(" Override eu-2 sets it."), "{found:?}");

        let mut label = chart_workload("1.0.0", "region: ${{ cluster.labels.tier }}\n");
        label.spec.placement.predicates[0].names = vec!["us-1".to_owned()];
        let found = check(label).await;
        assert_eq!((&*found[0].0, &found[0].2), ("G115", &vec!["us-1".to_owned()]), "{found:?}");

        let newer = describe_chart("version: 1.9.0\nkubeVersion: \">=1.99.0\"\n", &[]);
        fleet.client.upload_chart(newer).await.unwrap();
        let found = check(chart_workload("1.9.0", "")).await;
        assert_eq!((&*found[0].0, found[0].2.len()), ("G116", 3), "{found:?}");
        assert!(found[0].1.contains(">=1.99.0"), "{found:?}");

        let text = check(chart_workload("1.0.0", "- a\n")).await;
        assert!(text.iter().any(|found| found.1 == "The values are not a map."), "{text:?}");
        fleet.stop().await;
    })
    .await;
}

#[tokio::test(flavor = "multi_thread")]
async fn g118_a_chart_with_a_hook_that_cannot_run_is_rejected_with_the_hook_named_and_nothing_is_published() {
    with_timeout(async {
        let fleet = fleet_with_helm().await;
        let hook = "{{ if .Values.backup }}\napiVersion: v1\nkind: Secret\nmetadata: {name: backup, annotations: {helm.sh/hook: 'pre-upgrade,pre-delete'}}\n{{ end }}\n";
        let rollback = "apiVersion: v1\nkind: ConfigMap\nmetadata: {name: undo, annotations: {helm.sh/hook: pre-rollback}}\n";
        let files = [("templates/job.yaml", hook), ("templates/undo.yaml", rollback)];
        fleet.client.upload_chart(chart("1.0.0", &files)).await.unwrap();
        let new = chart_workload("1.0.0", "backup: true\n");
        let request = ValidateRequest { name: "web".into(), spec: new.spec.clone() };
        let findings = fleet.client.validate_workload(&request).await.unwrap().findings;
        let notes: Vec<&str> = findings.iter().filter(|found| found.code == "G118" && !found.is_blocking()).map(|found| found.message.as_str()).collect();
        assert_eq!(notes, ["ConfigMap undo is a hook of the chart for pre-rollback. It is not applied."]);
        fleet.client.create_workload(&new).await.unwrap();
        let refused = fleet.client.publish_workload("web", &PublishRequest::default(), None).await.unwrap_err();
        assert!(refused.to_string().contains("Secret backup is a hook of the chart for the removal"), "{refused}");
        update_chart(&fleet, |new| *new = chart_workload("1.0.0", "backup: false\n").spec).await;
        fleet.wait_for_web(|status| status.counts.healthy() == 3).await;
        assert!(fleet.clusters[0].get(CONFIG_MAP, ("apps", "undo")).is_none());
        fleet.stop().await;
    })
    .await;
}

/// Changes the draft and publishes it.
pub async fn update_chart(fleet: &TestFleet, change: impl FnOnce(&mut WorkloadSpec)) {
    let current = fleet.client.get_workload("web").await.unwrap().workload;
    let mut spec = current.draft.clone();
    change(&mut spec);
    let put = WorkloadPut { spec, ..WorkloadPut::default() };
    fleet.client.put_workload("web", &put, current.revision).await.unwrap();
    fleet.client.publish_workload("web", &PublishRequest::default(), None).await.unwrap();
}

/// A hook that is a Job.
pub(super) fn hook_job(name: &str, events: &str) -> String {
    format!(
        "apiVersion: batch/v1\nkind: Job\nmetadata: {{name: {name}, annotations: {{helm.sh/hook: '{events}'}}}}\nspec:\n  backoffLimit: 0\n  template: {{spec: {{restartPolicy: Never, containers: [{{name: main, image: '{{{{ .Values.tool | default \"tool:1\" }}}}'}}]}}}}\n"
    )
}

#[tokio::test(flavor = "multi_thread")]
async fn s4_4_hooks_of_a_chart_run_at_installation_upgrade_and_rollback_and_a_failed_one_stops_its_cluster() {
    with_timeout(async {
        let fleet = fleet_with_helm().await;
        let (install, upgrade) = (hook_job("create", "pre-install"), hook_job("migrate", "pre-upgrade"));
        let files =
            [("templates/create.yaml", install.as_str()), ("templates/migrate.yaml", upgrade.as_str())];
        fleet.client.upload_chart(chart("1.0.0", &files)).await.unwrap();
        fleet.clusters[1].faults().set_crashing_images(vec!["tool:1".into()]);
        fleet.client.create_workload(&chart_workload("1.0.0", "")).await.unwrap();
        fleet.client.publish_workload("web", &PublishRequest::default(), None).await.unwrap();
        let job =
            |cluster: usize, name: &str| fleet.clusters[cluster].get(("batch/v1", "Job"), ("apps", name));
        let has_failed = |status: &WorkloadStatus| {
            let failed = status.target_clusters.iter().find(|target| target.cluster_name == "eu-2");
            failed.is_some_and(|target| target.message.contains("Hook pre-install Job apps/create"))
        };
        fleet.wait_for_web(|status| status.counts.healthy() == 2 && has_failed(status)).await;
        assert!(
            fleet.clusters[1].get(CONFIG_MAP, ("apps", "web")).is_none(),
            "nothing else is applied there"
        );
        assert!(job(0, "create").is_some() && job(0, "migrate").is_none());

        // Another image: the installation is completed there, and is an upgrade on the others.
        update_chart(&fleet, |spec| *spec = chart_workload("1.0.0", "tool: tool:2\nreplicas: 2\n").spec)
            .await;
        let is_at = |replicas: &str| [0, 1, 2].iter().all(|n| values_of(&fleet, *n)["replicas"] == replicas);
        fleet.wait_for_web(|status| status.counts.healthy() == 3 && is_at("2")).await;
        assert!(job(0, "migrate").is_some() && job(1, "migrate").is_none());

        // A rollback is an upgrade to an earlier content.
        fleet.clusters[1].faults().clear();
        let uid = |cluster: usize, name: &str| job(cluster, name).map(|job| job["metadata"]["uid"].clone());
        let before = [0, 1, 2].map(|n| (uid(n, "create"), uid(n, "migrate")));
        fleet.client.restore_revision("web", &RestoreRevisionRequest { revision: 1 }).await.unwrap();
        fleet.client.publish_workload("web", &PublishRequest::default(), None).await.unwrap();
        fleet.wait_for_web(|status| status.counts.healthy() == 3 && is_at("1")).await;
        for (cluster, (create, migrate)) in before.into_iter().enumerate() {
            assert_eq!(uid(cluster, "create"), create);
            assert!(uid(cluster, "migrate").is_some() && uid(cluster, "migrate") != migrate, "{cluster}");
        }
        fleet.stop().await;
    })
    .await;
}

/// A custom resource definition with this short name.
fn definition(short_name: &str) -> String {
    format!(
        "apiVersion: apiextensions.k8s.io/v1\nkind: CustomResourceDefinition\nmetadata: {{name: widgets.example.com}}\nspec:\n  group: example.com\n  scope: Namespaced\n  names: {{kind: Widget, listKind: WidgetList, plural: widgets, singular: widget, shortNames: [{short_name}]}}\n  versions: [{{name: v1, served: true, storage: true, schema: {{openAPIV3Schema: {{type: object, x-kubernetes-preserve-unknown-fields: true}}}}}}]\n"
    )
}

#[tokio::test(flavor = "multi_thread")]
async fn s4_4_definitions_of_a_chart_are_upgraded_only_by_policy_and_stay_after_the_workload() {
    with_timeout(async {
        let fleet = fleet_with_helm().await;
        let widget = "apiVersion: example.com/v1\nkind: Widget\nmetadata: {name: a, annotations: {helm.sh/resource-policy: keep}}\n";
        let files = |short_name: &str| [("crds/widget.yaml", definition(short_name)), ("templates/widget.yaml", widget.to_owned())];
        for (version, short_name) in [("1.0.0", "w"), ("1.1.0", "wid")] {
            let files = files(short_name);
            let files: Vec<(&str, &str)> = files.iter().map(|(path, text)| (*path, text.as_str())).collect();
            fleet.client.upload_chart(chart(version, &files)).await.unwrap();
        }
        fleet.client.create_workload(&chart_workload("1.0.0", "")).await.unwrap();
        fleet.client.publish_workload("web", &PublishRequest::default(), None).await.unwrap();
        fleet.wait_for_web(|status| status.counts.healthy() == 3).await;
        let crd = |n: usize| fleet.clusters[n].get(("apiextensions.k8s.io/v1", "CustomResourceDefinition"), ("", "widgets.example.com"));
        let short_names = || [0, 1, 2].map(|n| crd(n).unwrap()["spec"]["names"]["shortNames"][0].clone());

        let current = fleet.client.get_workload("web").await.unwrap().workload;
        let put = WorkloadPut { spec: chart_workload("1.1.0", "").spec, ..WorkloadPut::default() };
        fleet.client.put_workload("web", &put, current.revision).await.unwrap();
        let plan = serde_json::to_string(&fleet.client.plan_workload("web", 20).await.unwrap()).unwrap();
        assert!(plan.contains("CustomResourceDefinition widgets.example.com of the chart differs"), "{plan}");
        fleet.client.publish_workload("web", &PublishRequest::default(), None).await.unwrap();
        fleet.wait_for_web(|status| status.counts.healthy() == 3 && values_of(&fleet, 2)["chart"] == "1.1.0").await;
        assert_eq!(short_names(), ["w", "w", "w"]);
        update_chart(&fleet, |spec| spec.policies.upgrade_crds = true).await;
        fleet.wait_for_web(|status| status.counts.healthy() == 3 && short_names() == ["wid", "wid", "wid"]).await;

        fleet.client.unpublish_workload("web", &RemovalOptions::default()).await.unwrap();
        fleet.wait_for_web(|status| status.counts.count(ReleaseState::Removed) == 3).await;
        assert!([0, 1, 2].iter().all(|n| fleet.clusters[*n].get(CONFIG_MAP, ("apps", "web")).is_none()));
        for n in [0, 1, 2] {
            assert!(crd(n).is_some() && fleet.clusters[n].get(("example.com/v1", "Widget"), ("apps", "a")).is_some());
        }
        fleet.stop().await;
    })
    .await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_version_of_a_chart_never_changes_and_a_hostile_archive_is_rejected_with_its_entry() {
    with_timeout(async {
        let fleet = TestFleet::start().await;
        let archive = chart("1.0.0", &[]);
        let first = fleet.client.upload_chart(archive.clone()).await.unwrap();
        assert_eq!(
            fleet.client.upload_chart(archive).await.unwrap(),
            first,
            "the same archive again is no change"
        );
        let other = fleet.client.upload_chart(chart("1.0.0", &[("NOTES", "x")])).await.unwrap_err();
        assert_eq!(other.code(), "AlreadyExists");
        assert!(other.to_string().contains("A version never changes"), "{other}");
        let outside = fleet.client.upload_chart(chart("1.1.0", &[("Values.yaml", "")])).await.unwrap_err();
        assert!(outside.to_string().contains("\"web/Values.yaml\" stands there twice"), "{outside}");
        let details = fleet.client.get_chart("local", "web", "1.0.0").await.unwrap();
        assert_eq!(
            (&*details.readme, &*details.default_values),
            ("# Web", "replicas: 1 # per cluster\nregion: none\n")
        );
        let listed = fleet.client.list_charts(Some("web")).await.unwrap();
        assert_eq!(listed, [first]);
        assert!(fleet.client.get_chart("local", "web", "9.9.9").await.unwrap_err().is_not_found());
        fleet.stop().await;
    })
    .await;
}

#[tokio::test(flavor = "multi_thread")]
async fn random_values_of_a_chart_stay_the_same_over_publishes_and_passes() {
    with_timeout(async {
        let fleet = fleet_with_helm().await;
        let secret = "apiVersion: v1\nkind: ConfigMap\nmetadata: {name: random}\ndata: {key: {{ randAlphaNum 20 | quote }}}\n";
        fleet.client.upload_chart(chart("1.0.0", &[("templates/random.yaml", secret)])).await.unwrap();
        let new = chart_workload("1.0.0", "");
        let checked = fleet.client.validate_workload(&ValidateRequest { name: "web".into(), spec: new.spec.clone() }).await.unwrap();
        assert!(checked.findings.iter().any(|found| found.message.contains("templates/random.yaml")), "{:?}", checked.findings);
        fleet.client.create_workload(&new).await.unwrap();
        fleet.client.publish_workload("web", &PublishRequest::default(), None).await.unwrap();
        fleet.wait_for_web(|status| status.counts.healthy() == 3).await;
        let key = |n: usize| fleet.clusters[n].get(CONFIG_MAP, ("apps", "random")).unwrap()["data"]["key"].clone();
        let first = [0, 1, 2].map(key);
        assert!(first[0] == first[1] && first[1] == first[2], "clusters with equal inputs share a rendering");
        let content = OverridePut { target: cluster_named("us-1"), values: "replicas: 3\n".into(), ..OverridePut::default() };
        let current = fleet.client.get_workload("web").await.unwrap().workload;
        fleet.client.put_override("web", "us-1", &content, current.revision).await.unwrap();
        fleet.client.publish_workload("web", &PublishRequest::default(), None).await.unwrap();
        fleet.wait_for_web(|status| status.counts.healthy() == 3 && values_of(&fleet, 2)["replicas"] == "3").await;
        assert_eq!([0, 1].map(key), [first[0].clone(), first[1].clone()], "nothing changed for the other clusters");
        fleet.stop().await;
    })
    .await;
}
