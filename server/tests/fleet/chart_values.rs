//! Values of charts before they are published: the form, the schema, and keys that a chart does not know.

use domain::UserId;
use domain::chart::ChartRef;
use domain::values_form::FieldKind;
use wire::ValidateRequest;

use super::charts::{
    chart, chart_workload, cluster_named, corpus_chart, fleet_with_helm, override_for, pack_files,
};
use super::*;

const SCHEMA: &str =
    r#"{"properties": {"replicas": {"type": "integer", "minimum": 0}, "size": {"enum": ["S", "M"]}}}"#;

#[tokio::test(flavor = "multi_thread")]
async fn g113_g114_values_are_checked_with_their_paths_before_they_are_published() {
    with_timeout(async {
        let fleet = fleet_with_helm().await;
        let files = [("values.schema.json", SCHEMA), ("templates/extra.txt", "{{ .Values.hidden }}")];
        fleet.client.upload_chart(chart("1.0.0", &files)).await.unwrap();
        let check = async |new: NewWorkload| {
            let request = ValidateRequest { name: "web".into(), spec: new.spec };
            let findings = fleet.client.validate_workload(&request).await.unwrap().findings;
            findings.into_iter().map(|found| (found.code, found.path, found.message)).collect::<Vec<_>>()
        };
        let found = check(chart_workload("1.0.0", "replicas: many\nsize: L\n")).await;
        let paths: Vec<(&str, &str)> =
            found.iter().map(|(code, path, _)| (code.as_str(), path.as_str())).collect();
        assert!(paths.contains(&("G113", "/source/values/replicas")), "{found:?}");
        assert!(paths.contains(&("G113", "/source/values/size")), "{found:?}");
        let replicas = found.iter().find(|(_, path, _)| path.ends_with("/replicas")).unwrap();
        assert_eq!(replicas.2, "The value /replicas violates the schema of chart web: got string, want integer.");

        let mut typo = chart_workload("1.0.0", "replica: 2\nhidden: 1\n");
        typo.spec.overrides = vec![override_for("eu-2", cluster_named("eu-2"), "regoin: eu\n")];
        let found = check(typo).await;
        let expected = [
            ("", "\"regoin\" is not a value of chart web 1.0.0 (override eu-2): nothing in the chart reads it."),
            (
                "/source/values/replica",
                "\"replica\" is not a value of chart web 1.0.0: nothing in the chart reads it.",
            ),
        ];
        let found: Vec<(&str, &str)> = found
            .iter()
            .filter(|(code, ..)| code == "G114")
            .map(|(_, path, message)| (path.as_str(), message.as_str()))
            .collect();
        assert_eq!(found, expected);
        fleet.stop().await;
    })
    .await;
}

#[tokio::test(flavor = "multi_thread")]
async fn the_values_of_real_charts_make_a_form_with_the_types_of_their_schemas() {
    let test = "the_values_of_real_charts_make_a_form_with_the_types_of_their_schemas";
    let Some(alertmanager) = corpus_chart(test, "alertmanager-1.42.0") else { return };
    with_timeout(async {
        let fleet = fleet_with_helm().await;
        fleet.client.upload_chart(alertmanager).await.unwrap();
        let reference = ChartRef { repository: "local", name: "alertmanager" };
        let (_, form) = fleet.hub.get_values_form(reference, "1.42.0").await.unwrap();
        assert!(form.has_schema && !form.is_truncated);
        let replicas = form.fields.iter().find(|field| field.key == "replicaCount").unwrap();
        assert!(replicas.is_required && matches!(replicas.kind, FieldKind::Number { integer: true, .. }));
        assert!(!replicas.description.is_empty());
        let image = form.fields.iter().find(|field| field.key == "image").unwrap();
        let FieldKind::Section { fields } = &image.kind else { panic!("{image:?}") };
        let pull = fields.iter().find(|field| field.key == "pullPolicy").unwrap();
        let FieldKind::Choice { options } = &pull.kind else { panic!("{pull:?}") };
        assert!(options.iter().any(|option| option == "IfNotPresent"), "{options:?}");

        // A chart without a schema has a form of its default values.
        fleet.client.upload_chart(corpus_chart(test, "podinfo-6.14.1").unwrap()).await.unwrap();
        let reference = ChartRef { repository: "local", name: "podinfo" };
        let (_, form) = fleet.hub.get_values_form(reference, "6.14.1").await.unwrap();
        assert!(!form.has_schema && form.fields.len() > 20, "{}", form.fields.len());
        // No default of a real chart is unknown to it.
        for name in ["podinfo-6.14.1", "alertmanager-1.42.0", "ingress-nginx-4.15.1", "cockroachdb-21.0.1"] {
            let archive = corpus_chart(test, name).unwrap();
            let uploaded = fleet.client.upload_chart(archive).await.unwrap();
            let details = fleet.client.get_chart("local", &uploaded.name, &uploaded.version).await.unwrap();
            let source = domain::chart::ChartSource {
                chart: uploaded.reference(),
                version: uploaded.version,
                values: details.default_values,
                ..domain::chart::ChartSource::default()
            };
            let found =
                fleet.hub.check_chart_values(&hub::Actor::system(), "web", "apps", source).await.unwrap();
            assert_eq!(found, [], "{name}");
        }
        fleet.stop().await;
    })
    .await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_chart_names_its_dependencies_links_and_users_and_a_hostile_readme_is_text() {
    with_timeout(async {
        let fleet = fleet_with_helm().await;
        let readme = "# Web\n\n<script>alert(1)</script>\n\n[docs](javascript:alert(1)) and [home](https://example.com)\n";
        let archive = super::charts::describe_chart(
            "version: 1.0.0\nhome: https://example.com/web\ndeprecated: true\ndependencies: [{name: db, version: 2.x, alias: store, condition: store.enabled}]\n",
            &[("charts/db/Chart.yaml", "apiVersion: v2\nname: db\nversion: 2.0.0\n"), ("README.md", readme)],
        );
        fleet.client.upload_chart(archive).await.unwrap();
        fleet.client.create_workload(&chart_workload("1.0.0", "")).await.unwrap();
        let details = fleet.client.get_chart("local", "web", "1.0.0").await.unwrap();
        assert!(details.deprecated);
        assert_eq!(details.links, ["https://example.com/web"]);
        let [db] = details.dependencies.as_slice() else { panic!("{:?}", details.dependencies) };
        assert_eq!((&*db.name, &*db.values_key, &*db.condition), ("db", "store", "store.enabled"));
        let reference = ChartRef { repository: "local", name: "web" };
        let description = fleet.hub.describe_chart(reference, None).await.unwrap();
        assert_eq!(
            description.readme_html.split_whitespace().collect::<Vec<_>>().join(" "),
            "<h3>Web</h3> <p>docs and <a href=\"https://example.com\">home</a></p>"
        );
        let users: Vec<&str> = description.used_by.iter().map(|one| one.workload.as_str()).collect();
        assert_eq!((description.version.as_str(), users), ("1.0.0", vec!["web"]));
        fleet.stop().await;
    })
    .await;
}

#[tokio::test(flavor = "multi_thread")]
async fn g112_g117_values_that_can_not_be_checked_are_a_finding_and_not_valid() {
    with_timeout(async {
        let without_helm = TestFleet::start().await;
        without_helm.client.upload_chart(chart("1.0.0", &[])).await.unwrap();
        let check = async |version: &str| {
            let source = domain::chart::ChartSource {
                chart: "local/web".into(),
                version: version.into(),
                ..domain::chart::ChartSource::default()
            };
            let found = without_helm
                .hub
                .check_chart_values(&hub::Actor::system(), "web", "apps", source)
                .await
                .unwrap();
            found.into_iter().map(|finding| finding.code).collect::<Vec<_>>()
        };
        assert_eq!(check("1.0.0").await, ["G117"]);
        assert_eq!(check("9.9.9").await, ["G112"]);
        without_helm.stop().await;
    })
    .await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_failed_rendering_shows_no_secret_of_the_values_that_it_is_about() {
    with_timeout(Box::pin(async {
        let fleet = fleet_with_helm().await;
        let key = json!({"properties": {"key": {"type": "string", "writeOnly": true, "pattern": "^a"}}});
        let schema = json!({"properties": {"login": key}}).to_string();
        fleet.client.upload_chart(chart("1.0.0", &[("values.schema.json", &schema)])).await.unwrap();
        let failing = "{{ fail (printf \"refused %s\" .Values.auth.password) }}";
        fleet.client.upload_chart(chart("1.1.0", &[("templates/fail.yaml", failing)])).await.unwrap();
        let viewer = Actor::new("eve", ActorKind::Token(UserId::from_parts(1, 1)), Role::Viewer);
        for (version, values, shown) in [
            ("1.0.0", "login: {key: canary-hunter2}\n", "(hidden) does not match pattern '^a'"),
            ("1.1.0", "auth: {password: canary-hunter2}\n", "refused (hidden)"),
        ] {
            let name = format!("web-{}", version.replace('.', "-"));
            let new = NewWorkload { name: name.clone(), ..chart_workload(version, values) };
            fleet.client.create_workload(&new).await.unwrap();
            let draft = hub::PublishContent::Draft;
            let reviewed = fleet.hub.check_content(&viewer, &name, &draft).await.unwrap().checked.findings;
            let request = ValidateRequest { name: name.clone(), spec: new.spec.clone() };
            let validated = fleet.client.validate_workload(&request).await.unwrap().findings;
            let Source::Chart(source) = new.spec.source else { unreachable!() };
            let edited = fleet.hub.check_chart_values(&viewer, &name, "apps", source).await.unwrap();
            for findings in [reviewed, validated, edited] {
                let messages: Vec<&str> = findings.iter().map(|found| found.message.as_str()).collect();
                assert!(messages.iter().any(|message| message.contains(shown)), "{version}: {messages:?}");
                assert!(!messages.iter().any(|message| message.contains("canary")), "{messages:?}");
            }
        }
        fleet.stop().await;
    }))
    .await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_violation_of_the_schema_of_a_subchart_shows_no_value() {
    with_timeout(Box::pin(async {
        let fleet = fleet_with_helm().await;
        let key = json!({"properties": {"key": {"type": "string", "writeOnly": true, "pattern": "^a"}}});
        let schema = json!({"properties": {"login": key}}).to_string();
        let description = "apiVersion: v2\nname: db\nversion: 2.0.0\n";
        let in_folder = [("charts/db/Chart.yaml", description), ("charts/db/values.schema.json", &*schema)];
        fleet.client.upload_chart(chart("1.0.0", &in_folder)).await.unwrap();
        let packed = pack_files(&[("db/Chart.yaml", description), ("db/values.schema.json", &*schema)]);
        let of_web = "apiVersion: v2\nname: web\nversion: 1.1.0\n";
        let with_packed = [("web/Chart.yaml", of_web.as_bytes()), ("web/charts/db-2.0.0.tgz", &*packed)];
        fleet.client.upload_chart(pack_files(&with_packed)).await.unwrap();
        for version in ["1.0.0", "1.1.0"] {
            let new = chart_workload(version, "db: {login: {key: canary-hunter2}}\n");
            let request = ValidateRequest { name: new.name, spec: new.spec };
            let findings = fleet.client.validate_workload(&request).await.unwrap().findings;
            let violation = findings.iter().find(|found| found.path == "/source/values/db/login/key");
            let message = violation.map(|found| found.message.as_str()).unwrap_or_default();
            assert!(
                message.contains("chart db: (hidden) does not match pattern '^a'"),
                "{version}: {findings:?}"
            );
            assert!(!format!("{findings:?}").contains("canary"), "{version}: {findings:?}");
        }
        fleet.stop().await;
    }))
    .await;
}
