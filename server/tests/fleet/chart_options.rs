//! What a chart depends on besides values: installation or upgrade, options of Helm as policies, and its stored archive.

use std::collections::BTreeMap;

use domain::request::ClusterPatch;
use sqlx::AssertSqlSafe;
use wire::ValidateRequest;

use super::charts::{chart, chart_workload, fleet_with_helm, update_chart, values_of};
use super::*;

const PHASE: &str = "apiVersion: v1
kind: ConfigMap
metadata: {name: phase}
data:
  phase: {{ if .Release.IsUpgrade }}upgrade{{ else if .Release.IsInstall }}install{{ end }}
  replicas: {{ .Values.replicas | quote }}
  revision: {{ .Release.Revision | quote }}
";

fn phases(fleet: &TestFleet) -> Vec<String> {
    let found = fleet.clusters.iter().map(|cluster| cluster.get(CONFIG_MAP, ("apps", "phase")));
    let data = found.map(|found| found.map(|found| found["data"].clone()).unwrap_or_default());
    data.map(|data| {
        format!(
            "{} {}",
            data["phase"].as_str().unwrap_or_default(),
            data["replicas"].as_str().unwrap_or_default()
        )
    })
    .collect()
}

pub(super) async fn set_label(fleet: &TestFleet, cluster: &str, value: &str) {
    let labels = BTreeMap::from([("tier".to_owned(), Some(value.to_owned()))]);
    let patch = ClusterPatch { labels, ..ClusterPatch::default() };
    fleet.client.patch_cluster(cluster, &patch, None).await.unwrap();
}

async fn validate(fleet: &TestFleet, spec: &WorkloadSpec) -> Vec<(String, String)> {
    let request = ValidateRequest { name: "web".into(), spec: spec.clone() };
    let findings = fleet.client.validate_workload(&request).await.unwrap().findings;
    // That the namespace will be created is no matter of the chart.
    let others = findings.into_iter().filter(|found| found.code != "G108");
    others.map(|found| (found.code, found.message)).collect()
}

#[tokio::test(flavor = "multi_thread")]
async fn g115_a_chart_that_reads_objects_of_the_cluster_is_told_that_it_finds_none() {
    with_timeout(Box::pin(async {
        let fleet = fleet_with_helm().await;
        let template = "apiVersion: v1\nkind: ConfigMap\nmetadata: {name: found}\ndata: {found: {{ len (lookup \"v1\" \"Secret\" \"apps\" \"\") | quote }}}\n";
        fleet.client.upload_chart(chart("1.0.0", &[("templates/found.yaml", template)])).await.unwrap();
        let found = validate(&fleet, &chart_workload("1.0.0", "").spec).await;
        let expected = "templates/found.yaml of the chart uses lookup, which finds no object here";
        assert!(
            found.iter().any(|(code, message)| code == "G115" && message.starts_with(expected)),
            "{found:?}"
        );
        fleet.stop().await;
    }))
    .await;
}

#[tokio::test(flavor = "multi_thread")]
async fn s1_10_a_chart_is_rendered_as_an_upgrade_where_an_earlier_revision_is_installed_and_stays_as_it_is() {
    with_timeout(async {
        let fleet = fleet_with_helm().await;
        fleet.client.upload_chart(chart("1.0.0", &[("templates/phase.yaml", PHASE)])).await.unwrap();
        let mut new =
            chart_workload("1.0.0", "replicas: 1\nregion: ${{ cluster.labels.tier | default(\"none\") }}\n");
        new.spec.placement.predicates[0].names = vec!["eu-1".into(), "eu-2".into()];
        let found = validate(&fleet, &new.spec).await;
        let reads = "templates/phase.yaml of the chart reads .Release.Revision, which is always 1 here";
        assert!(
            found.iter().any(|(code, message)| code == "G115" && message.starts_with(reads)),
            "{found:?}"
        );
        fleet.client.create_workload(&new).await.unwrap();
        fleet.client.publish_workload("web", &PublishRequest::default(), None).await.unwrap();
        fleet.wait_for_web(|status| status.counts.healthy() == 2).await;
        assert_eq!(phases(&fleet), ["install 1", "install 1", " "]);

        // Other inputs of the same revision do not make an upgrade of it.
        set_label(&fleet, "eu-1", "gold").await;
        fleet.wait_for_web(|_| values_of(&fleet, 0)["region"] == "gold").await;
        assert_eq!(phases(&fleet), ["install 1", "install 1", " "]);

        // The next revision is an upgrade where one is installed, and an installation on a new cluster.
        update_chart(&fleet, |spec| {
            new.spec.placement.predicates[0].names.push("us-1".into());
            spec.placement = new.spec.placement.clone();
            spec.source = chart_workload("1.0.0", "replicas: 2\n").spec.source;
        })
        .await;
        let expected = ["upgrade 2", "upgrade 2", "install 2"];
        fleet.wait_for_web(|status| status.counts.healthy() == 3 && phases(&fleet) == expected).await;
        set_label(&fleet, "us-1", "gold").await;
        update_chart(&fleet, |spec| spec.source = chart_workload("1.0.0", "replicas: 3\n").spec.source).await;
        let expected = ["upgrade 3", "upgrade 3", "upgrade 3"];
        fleet.wait_for_web(|status| status.counts.healthy() == 3 && phases(&fleet) == expected).await;

        // After a removal the next publish is an installation.
        fleet.client.unpublish_workload("web", &RemovalOptions::default()).await.unwrap();
        fleet.wait_for_web(|status| status.counts.count(ReleaseState::Removed) == 3).await;
        fleet.client.publish_workload("web", &PublishRequest::default(), None).await.unwrap();
        let expected = ["install 3", "install 3", "install 3"];
        fleet.wait_for_web(|status| status.counts.healthy() == 3 && phases(&fleet) == expected).await;
        fleet.stop().await;
    })
    .await;
}

#[tokio::test(flavor = "multi_thread")]
async fn r6_policies_leave_out_hooks_definitions_and_the_schema_of_a_chart_and_notes_name_them() {
    with_timeout(async {
        let fleet = fleet_with_helm().await;
        let hook = "apiVersion: v1\nkind: ConfigMap\nmetadata: {name: before, annotations: {helm.sh/hook: pre-install}}\n";
        let test = "apiVersion: v1\nkind: Pod\nmetadata: {name: check, annotations: {helm.sh/hook: test}}\nspec: {containers: [{name: a, image: 'a:latest'}]}\n";
        let kept = "apiVersion: v1\nkind: ConfigMap\nmetadata: {name: stays, annotations: {helm.sh/resource-policy: keep}}\n";
        let crd = "apiVersion: apiextensions.k8s.io/v1\nkind: CustomResourceDefinition\nmetadata: {name: widgets.example.com}\nspec:\n  group: example.com\n  scope: Namespaced\n  names: {kind: Widget, listKind: WidgetList, plural: widgets, singular: widget}\n  versions: [{name: v1, served: true, storage: true, schema: {openAPIV3Schema: {type: object}}}]\n";
        let files = [
            ("templates/hook.yaml", hook),
            ("templates/tests/check.yaml", test),
            ("templates/stays.yaml", kept),
            ("crds/widget.yaml", crd),
            ("values.schema.json", r#"{"properties": {"replicas": {"type": "integer"}}}"#),
        ];
        fleet.client.upload_chart(chart("1.0.0", &files)).await.unwrap();
        let mut new = chart_workload("1.0.0", "replicas: many\n");
        let found = validate(&fleet, &new.spec).await;
        assert!(found.iter().any(|(code, _)| code == "G113"), "{found:?}");
        new.spec.policies.skip_schema_validation = true;
        let found = validate(&fleet, &new.spec).await;
        let unused = "Pod check is a hook of the chart for test. It is not applied.".to_owned();
        assert_eq!(found, [("G118".to_owned(), unused.clone())]);

        let policies = json!({"skipHooks": true, "skipCrds": true, "skipSchemaValidation": true});
        new.spec.policies = new.spec.policies.with_values(policies.as_object().unwrap()).unwrap();
        let mut found = validate(&fleet, &new.spec).await;
        found.sort();
        let messages = [
            "The policy skipHooks leaves out the hooks of the chart: ConfigMap before, Pod check.",
            "The policy skipCrds leaves out the crds folder of the chart: CustomResourceDefinition widgets.example.com.",
        ];
        assert_eq!(found.iter().map(|(_, message)| message.as_str()).collect::<Vec<_>>(), messages);
        fleet.client.create_workload(&new).await.unwrap();
        let plan = serde_json::to_string(&fleet.client.plan_workload("web", 20).await.unwrap()).unwrap();
        assert!(messages.iter().all(|message| plan.contains(message)), "{plan}");
        fleet.client.publish_workload("web", &PublishRequest::default(), None).await.unwrap();
        fleet.wait_for_web(|status| status.counts.healthy() == 3).await;
        let definition = ("apiextensions.k8s.io/v1", "CustomResourceDefinition");
        for cluster in &fleet.clusters {
            assert!(cluster.get(definition, ("", "widgets.example.com")).is_none());
            assert!(cluster.get(CONFIG_MAP, ("apps", "before")).is_none());
        }
        assert_eq!(values_of(&fleet, 0)["replicas"], "many");

        // Without the policies, hook and definition are applied.
        update_chart(&fleet, |spec| {
            spec.policies.skip_crds = false;
            spec.policies.skip_hooks = false;
        })
        .await;
        fleet.wait_for_web(|_| fleet.clusters.iter().all(|one| one.get(definition, ("", "widgets.example.com")).is_some())).await;

        // The removal names what stays, in the event and in the message of the release.
        fleet.wait_for_web(|status| status.counts.healthy() == 3).await;
        fleet.client.unpublish_workload("web", &RemovalOptions::default()).await.unwrap();
        let status = fleet.wait_for_web(|status| status.counts.count(ReleaseState::Removed) == 3).await;
        let stays = "ConfigMap apps/stays";
        assert!(status.target_clusters.iter().all(|target| target.message.contains(stays)), "{status:?}");
        let events = fleet.client.list_events(&EventQuery::default()).await.unwrap().items;
        let removed = events.iter().filter(|event| event.message.contains("→ Removed."));
        let removed: Vec<&str> = removed.map(|event| event.message.as_str()).collect();
        assert_eq!(removed.len(), 3, "{removed:?}");
        assert!(removed.iter().all(|message| message.contains(stays) && message.contains("helm.sh/resource-policy")), "{removed:?}");
        fleet.stop().await;
    })
    .await;
}

#[tokio::test(flavor = "multi_thread")]
async fn s4_9_an_archive_with_other_content_than_its_digest_is_not_rendered_until_it_is_repaired() {
    with_timeout(async {
        let fleet = fleet_with_helm().await;
        let uploaded = fleet.client.upload_chart(chart("1.0.0", &[])).await.unwrap();
        let values = "region: ${{ cluster.labels.tier | default(\"none\") }}\n";
        fleet.client.create_workload(&chart_workload("1.0.0", values)).await.unwrap();
        fleet.client.publish_workload("web", &PublishRequest::default(), None).await.unwrap();
        fleet.wait_for_web(|status| status.counts.healthy() == 3).await;

        // Another chart in its place, which would render.
        let mut database = fleet.open_database().await;
        let replace = async |database: &mut SqliteConnection, body: Vec<u8>| {
            let statement = "UPDATE artifact SET body = $1 WHERE digest = $2";
            let query = sqlx::query(AssertSqlSafe(statement.to_owned()));
            let done = query.bind(body).bind(uploaded.digest.to_string()).execute(database).await.unwrap();
            assert_eq!(done.rows_affected(), 1);
        };
        replace(&mut database, chart("1.0.0", &[("templates/other.yaml", PHASE)])).await;
        set_label(&fleet, "eu-1", "gold").await;
        let has_stopped = |status: &WorkloadStatus| {
            let target = status.target_clusters.iter().find(|target| target.cluster_name == "eu-1").unwrap();
            target.stages.iter().any(|stage| {
                stage
                    .state
                    .reason()
                    .is_some_and(|reason| reason.reason == domain::release::Reason::HashMismatch)
            }) && target.message.contains("has other content")
        };
        let status = fleet.wait_for_web(has_stopped).await;
        assert_eq!(status.counts.healthy(), 2, "the others are not affected: {status:?}");
        assert_eq!(values_of(&fleet, 0)["region"], "none", "it keeps what it runs");
        assert!(fleet.clusters[0].get(CONFIG_MAP, ("apps", "phase")).is_none());

        replace(&mut database, chart("1.0.0", &[])).await;
        set_label(&fleet, "eu-2", "silver").await;
        fleet
            .wait_for_web(|status| status.counts.healthy() == 3 && values_of(&fleet, 0)["region"] == "gold")
            .await;
        assert_eq!(values_of(&fleet, 1)["region"], "silver");
        fleet.stop().await;
    })
    .await;
}
