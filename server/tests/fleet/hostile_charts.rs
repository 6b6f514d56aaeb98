//! Charts that are meant to harm: refused with the entry named, wherever they come from, and without effect outside of their sandbox.

use domain::Digest;
use domain::chart::{ChartDetails, ChartRef};
use reqwest::StatusCode;
use tar::EntryType;
use testkit::{HttpResponse, HttpServer};
use wire::ValidateRequest;

use super::chart_repositories::{fleet_with_repositories, new_repository, workload_of};
use super::charts::{chart, chart_workload, fleet_with_helm, set_helm, update_chart, values_of};
use super::draft_sources::viewer_of;
use super::raw_archive::{RawEntry, file, pack_raw, special};
use super::*;

const DESCRIPTION: &str = "apiVersion: v2\nname: web\nversion: 6.6.6\n";

/// The chart `web` 6.6.6 with this entry.
fn pack_chart(entry: RawEntry<'_>) -> Vec<u8> {
    pack_raw(&[file("web/Chart.yaml", DESCRIPTION.as_bytes()), entry])
}

/// Uploads an archive as any HTTP client does.
async fn upload(fleet: &TestFleet, archive: Vec<u8>) -> (StatusCode, Value) {
    let url = format!("{}/api/v1/projects/default/charts", fleet.url);
    let request = reqwest::Client::new().post(url).bearer_auth(&fleet.token);
    let request = request.header("content-type", "application/gzip").body(archive);
    let response = request.send().await.unwrap();
    let status = response.status();
    (status, serde_json::from_str(&response.text().await.unwrap()).unwrap_or(Value::Null))
}

#[tokio::test(flavor = "multi_thread")]
async fn g112_a_hostile_archive_is_refused_with_its_entry_named_and_nothing_of_it_is_stored() {
    with_timeout(Box::pin(async {
        let fleet = TestFleet::start_with(&[]).await;
        let archive = chart("1.0.0", &[]);
        let digest = Digest::compute(&archive).to_string();
        let (status, uploaded) = upload(&fleet, archive).await;
        assert_eq!(status, StatusCode::CREATED, "{uploaded}");
        assert_eq!((&uploaded["name"], &uploaded["version"]), (&json!("web"), &json!("1.0.0")));
        assert_eq!(uploaded["digest"], json!(digest));

        let zeros = vec![b'0'; 9 << 20];
        let stated = file("web/large", b"x").with_stated_size(1 << 33);
        let cases = [
            (file("../evil", b"x"), "entry \"../evil\" has a path with"),
            (file("web/../../evil", b"x"), "entry \"web/../../evil\" has a path with"),
            (file("/etc/passwd", b"x"), "entry \"/etc/passwd\" has an absolute path"),
            (file("web\\evil", b"x"), "has a character in its name that is not allowed"),
            (file("shop/a", b"x"), "entry \"shop/a\" is not in the folder \"web\""),
            (file("web/chart.YAML", b"x"), "entry \"web/chart.YAML\" stands there twice"),
            (special("web/link", EntryType::Symlink), "entry \"web/link\" is a symbolic link"),
            (special("web/hard", EntryType::Link), "entry \"web/hard\" is a hard link"),
            (special("web/null", EntryType::Char), "entry \"web/null\" is a device"),
            (special("web/sda", EntryType::Block), "entry \"web/sda\" is a device"),
            (special("web/pipe", EntryType::Fifo), "entry \"web/pipe\" is a pipe"),
            (file("web/zeros", &zeros), "entry \"web/zeros\" exceeds the limit of"),
            (stated, "entry \"web/large\" has 8589934592 bytes"),
            (file("web/charts/kit-1.0.0.tgz", b"no archive"), "charts/kit-1.0.0.tgz"),
        ];
        for (entry, expected) in cases {
            let (status, problem) = upload(&fleet, pack_chart(entry)).await;
            let finding = &problem["findings"][0];
            assert_eq!(
                (status, &finding["code"]),
                (StatusCode::UNPROCESSABLE_ENTITY, &json!("G112")),
                "{expected}: {problem}"
            );
            let message = finding["message"].as_str().unwrap();
            assert!(message.contains(expected), "{expected}: {message}");
        }
        let listed = fleet.client.list_charts(None).await.unwrap();
        assert_eq!(listed.iter().map(|one| one.version.as_str()).collect::<Vec<_>>(), ["1.0.0"]);
        fleet.stop().await;
    }))
    .await;
}

#[tokio::test(flavor = "multi_thread")]
async fn g112_a_hostile_archive_of_a_repository_is_refused_with_its_entry_named_before_a_publish() {
    with_timeout(Box::pin(async {
        let archive = pack_chart(special("web/templates/link.yaml", EntryType::Symlink));
        let digest = Digest::compute(&archive);
        let index = format!(
            "apiVersion: v1\nentries:\n  web:\n  - {{name: web, version: 6.6.6, digest: {}, urls: [web-6.6.6.tgz]}}\n",
            digest.as_str().trim_start_matches("sha256:")
        );
        let repository = HttpServer::start(move |_, request| match request.path.as_str() {
            "/charts/index.yaml" => HttpResponse::ok(index.clone()),
            "/charts/web-6.6.6.tgz" => HttpResponse::ok(archive.clone()),
            _ => HttpResponse::status(404),
        })
        .await;
        let fleet = fleet_with_repositories().await;
        set_helm(&fleet).await;
        fleet.client.create_chart_repository(&new_repository(&repository.url("/charts"))).await.unwrap();
        let new = workload_of("6.6.6");
        let expected = "entry \"web/templates/link.yaml\" is a symbolic link";
        let request = ValidateRequest { name: "web".into(), spec: new.spec.clone() };
        let findings = fleet.client.validate_workload(&request).await.unwrap().findings;
        let is_named =
            |found: &domain::Finding| found.code == "G112" && found.is_blocking() && found.message.contains(expected);
        assert!(findings.iter().any(is_named), "{findings:?}");
        fleet.client.create_workload(&new).await.unwrap();
        let refused = fleet.client.publish_workload("web", &PublishRequest::default(), None).await.unwrap_err();
        assert!(refused.findings().iter().any(is_named), "{refused:?}");
        assert_eq!(fleet.client.list_charts(None).await.unwrap(), []);
        fleet.stop().await;
    }))
    .await;
}

/// What a template tries to read outside of its chart.
const READS: &str = "apiVersion: v1
kind: ConfigMap
metadata: {name: found}
data:
  file: {{ .Files.Get \"/etc/passwd\" | quote }}
  above: {{ .Files.Get \"../../../etc/passwd\" | quote }}
  address: {{ getHostByName \"localhost\" | quote }}
";

/// More numbers than a rendering has memory for.
const ENDLESS: &str = "apiVersion: v1
kind: ConfigMap
metadata: {name: endless}
data: {text: \"{{ range until 60000000 }}xxxxxxxxxx{{ end }}\"}
";

#[tokio::test(flavor = "multi_thread")]
async fn p33_a_published_chart_has_read_no_file_and_opened_no_connection_and_one_without_end_is_refused() {
    with_timeout(Box::pin(async {
        let target = HttpServer::start(|_, _| HttpResponse::ok("{}")).await;
        let schema = json!({"$ref": target.url("/schema.json")}).to_string();
        let fleet = fleet_with_helm().await;
        let files = [("templates/found.yaml", READS), ("values.schema.json", schema.as_str())];
        fleet.client.upload_chart(chart("1.0.0", &files)).await.unwrap();
        fleet.client.upload_chart(chart("2.0.0", &[("templates/endless.yaml", ENDLESS)])).await.unwrap();
        let new = chart_workload("1.0.0", "");
        fleet.client.create_workload(&new).await.unwrap();
        let published = fleet.client.publish_workload("web", &PublishRequest::default(), None).await.unwrap();
        let is_named = |found: &domain::Finding| {
            found.code == "G113" && found.message.contains(&target.url("/schema.json"))
        };
        assert!(published.findings.iter().any(is_named), "{:?}", published.findings);
        fleet.wait_for_web(|status| status.counts.healthy() == 3).await;
        for cluster in &fleet.clusters {
            let found = cluster.get(CONFIG_MAP, ("apps", "found")).unwrap();
            assert_eq!(found["data"], json!({"file": "", "above": "", "address": ""}));
        }
        assert_eq!(target.paths(), Vec::<String>::new(), "the schema is not fetched");

        // It is ended by its limits, and what runs stays.
        let current = fleet.client.get_workload("web").await.unwrap().workload;
        let put = WorkloadPut { spec: chart_workload("2.0.0", "").spec, ..WorkloadPut::default() };
        fleet.client.put_workload("web", &put, current.revision).await.unwrap();
        let refused =
            fleet.client.publish_workload("web", &PublishRequest::default(), None).await.unwrap_err();
        let is_limit = |found: &domain::Finding| found.code == "G111" && found.is_blocking();
        assert!(refused.findings().iter().any(is_limit), "{refused:?}");
        assert_eq!(values_of(&fleet, 0)["chart"], "1.0.0");
        // Other renderings go on.
        update_chart(&fleet, |spec| *spec = chart_workload("1.0.0", "replicas: 2\n").spec).await;
        fleet.wait_for_web(|_| values_of(&fleet, 2)["replicas"] == "2").await;
        fleet.stop().await;
    }))
    .await;
}

#[tokio::test(flavor = "multi_thread")]
async fn g113_p19_a_schema_with_too_many_values_is_named_and_hides_all_values_from_viewers() {
    with_timeout(Box::pin(async {
        let fleet = fleet_with_helm().await;
        let schema = json!({"x-list": vec![0; 60_000]}).to_string();
        fleet.client.upload_chart(chart("1.0.0", &[("values.schema.json", &schema)])).await.unwrap();
        let new = chart_workload("1.0.0", "region: visible-region\n");
        fleet.client.create_workload(&new).await.unwrap();
        let request = ValidateRequest { name: "web".into(), spec: new.spec };
        let findings = fleet.client.validate_workload(&request).await.unwrap().findings;
        let is_named = |found: &domain::Finding| {
            found.code == "G113"
                && !found.is_blocking()
                && found.message.contains("has 60002 values, and at most 50000 are read")
        };
        assert!(findings.iter().any(is_named), "{findings:?}");
        let read_values = async |client: &Client| {
            let view = client.get_workload("web").await.unwrap();
            let Source::Chart(source) = view.workload.draft.source else { unreachable!() };
            source.values
        };
        assert_eq!(read_values(&fleet.client).await, "region: visible-region\n");
        assert_eq!(read_values(&viewer_of(&fleet).await).await, "region: \"(hidden)\"\n");
        let reference = ChartRef { repository: "local", name: "web" };
        let (_, form) = fleet.hub.get_values_form(reference, "1.0.0").await.unwrap();
        assert!(form.is_schema_too_large && !form.has_schema && form.fields.len() == 2, "{form:?}");
        fleet.stop().await;
    }))
    .await;
}

#[tokio::test(flavor = "multi_thread")]
async fn g114_p19_of_a_chart_with_too_many_words_it_is_said_that_unknown_keys_are_not_found() {
    with_timeout(Box::pin(async {
        let fleet = fleet_with_helm().await;
        let words: String = (0..70_000).map(|number| format!("w{number:06} ")).collect();
        let template = format!("{{{{/* {words} */}}}}");
        fleet.client.upload_chart(chart("1.0.0", &[])).await.unwrap();
        fleet.client.upload_chart(chart("2.0.0", &[("templates/_words.tpl", &template)])).await.unwrap();
        for (version, expected) in
            [("1.0.0", "\"regionn\" is not a value"), ("2.0.0", "too many different words")]
        {
            let spec = chart_workload(version, "regionn: eu\n").spec;
            let request = ValidateRequest { name: "web".into(), spec };
            let findings = fleet.client.validate_workload(&request).await.unwrap().findings;
            let of_keys: Vec<_> = findings.iter().filter(|found| found.code == "G114").collect();
            assert_eq!(of_keys.len(), 1, "{findings:?}");
            assert!(of_keys[0].message.contains(expected) && !of_keys[0].is_blocking(), "{of_keys:?}");
        }
        fleet.stop().await;
    }))
    .await;
}

#[tokio::test(flavor = "multi_thread")]
async fn p19_texts_of_a_chart_that_are_too_long_for_a_response_are_left_out_and_named() {
    with_timeout(Box::pin(async {
        let fleet = TestFleet::start_with(&[]).await;
        let readme = "# Web ".repeat(100_000);
        fleet.client.upload_chart(chart("1.0.0", &[("README.md", &readme)])).await.unwrap();
        let details = fleet.client.get_chart("local", "web", "1.0.0").await.unwrap();
        assert!(readme.starts_with(&details.readme), "{:.100}", details.readme);
        assert!((200_000..300_000).contains(&details.readme.len()), "{} bytes", details.readme.len());
        let named = |details: &ChartDetails| -> Vec<String> {
            details.shortened.iter().map(|one| one.path.clone()).collect()
        };
        assert_eq!(named(&details), ["README.md"]);
        // Each of these characters has six bytes in JSON.
        let long = "\u{1}".repeat(750_000);
        let (values, schema) = (format!("# {long}\n"), "{\"type\": \"object\"}");
        let files = [("values.yaml", values.as_str()), ("values.schema.json", schema)];
        fleet.client.upload_chart(chart("2.0.0", &files)).await.unwrap();
        let details = fleet.client.get_chart("local", "web", "2.0.0").await.unwrap();
        assert_eq!(
            (&*details.default_values, &*details.values_schema, &*details.readme),
            ("", schema, "# Web")
        );
        assert_eq!(named(&details), ["values.yaml"]);
        let reason = &details.shortened[0].reason;
        assert!(reason.contains("is not in the response: it has 4500004 bytes there"), "{reason}");
        let reference = ChartRef { repository: "local", name: "web" };
        let page = Box::pin(fleet.hub.describe_chart(reference, Some("2.0.0"))).await.unwrap();
        assert_eq!((page.findings.len(), named(&page.details.unwrap())), (0, vec!["values.yaml".to_owned()]));
        fleet.stop().await;
    }))
    .await;
}
