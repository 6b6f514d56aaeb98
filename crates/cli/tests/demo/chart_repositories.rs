//! Charts of a repository from the command line: added, found, pinned, published, and used while the repository is down.

use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use domain::Digest;
use testkit::{HttpResponse, HttpServer};

use crate::WAIT_TIMEOUT;
use crate::charts::write_chart;
use crate::test_server::TestServer;

/// A repository with `web` in 1.0.0 and 1.1.0, which may be down.
struct TestRepository {
    server: HttpServer,
    is_down: Arc<AtomicBool>,
    /// Serves it.
    _runtime: tokio::runtime::Runtime,
}

impl TestRepository {
    fn start(folder: &Path) -> Self {
        let archives = ["1.0.0", "1.1.0"].map(|version| {
            let file = folder.join(format!("packed-{version}.tgz"));
            write_chart(&file, version);
            (version, std::fs::read(file).unwrap())
        });
        let mut index = "apiVersion: v1\nentries:\n  web:\n".to_owned();
        for (version, archive) in &archives {
            let digest = Digest::compute(archive);
            index.push_str(&format!(
                "  - {{name: web, version: {version}, description: Shows its values, digest: {}, urls: [web-{version}.tgz]}}\n",
                digest.as_str().trim_start_matches("sha256:")
            ));
        }
        let is_down = Arc::new(AtomicBool::new(false));
        let state = is_down.clone();
        let respond = move |path: &str| {
            if state.load(Ordering::SeqCst) {
                return HttpResponse::status(503);
            }
            if path == "/charts/index.yaml" {
                return HttpResponse::ok(index.clone());
            }
            let found = archives.iter().find(|(version, _)| path == format!("/charts/web-{version}.tgz"));
            found.map_or_else(|| HttpResponse::status(404), |(_, archive)| HttpResponse::ok(archive.clone()))
        };
        let runtime =
            tokio::runtime::Builder::new_multi_thread().worker_threads(1).enable_all().build().unwrap();
        let server = runtime.block_on(HttpServer::start(move |_, request| respond(&request.path)));
        Self { server, is_down, _runtime: runtime }
    }
}

#[test]
fn s1_10_a_chart_of_a_repository_is_added_found_pinned_and_published_by_commands() {
    let server = TestServer::start_with_variable(("FLOTILLA_CHART_REPOSITORIES", "private-http"));
    let repository = TestRepository::start(server.folder());
    let added = server.run_cli(&["chart", "repo", "add", "acme", &repository.server.url("/charts")]);
    assert_eq!(added.stdout, "chart repository/acme added\n1 chart: flotilla chart search\n", "{added}");
    let found = server.run_cli_json(&["chart", "search", "shows", "values", "-o", "json"]);
    assert_eq!((&found[0]["chart"], &found[0]["version"]), (&"acme/web".into(), &"1.1.0".into()), "{found}");
    let stored = || {
        let versions = server.run_cli_json(&["chart", "versions", "acme/web", "-o", "json"]);
        let listed = versions.as_array().unwrap().iter();
        let text =
            |one: &serde_json::Value| format!("{} {}", one["version"].as_str().unwrap(), one["isStored"]);
        listed.map(text).collect::<Vec<_>>()
    };
    assert_eq!(stored(), ["1.1.0 false", "1.0.0 false"]);

    // The newest version is pinned, and fetched by the publish.
    let chart = ["apply", "--name", "shop", "--chart", "acme/web"];
    let applied =
        server.run_cli(&[&chart[..], &["--clusters", "eu-west-1,us-east-1", "-n", "shop"]].concat());
    assert_eq!(applied.stdout, "workload/shop created (draft)\n", "{applied}");
    let published = server.run_cli(&["publish", "shop", "--wait", "--timeout", WAIT_TIMEOUT]);
    assert_eq!(published.exit_code, 0, "{published}");
    assert_eq!(stored(), ["1.1.0 true", "1.0.0 false"]);
    let workload = server.run_cli_json(&["get", "shop", "-o", "json"]);
    assert_eq!(workload["draft"]["source"]["version"], "1.1.0", "{workload}");

    // While the repository is down, what was fetched is published, and what was not is named.
    repository.is_down.store(true, Ordering::SeqCst);
    let refreshed = server.run_cli(&["chart", "repo", "update", "acme"]);
    assert!(refreshed.exit_code == 1 && refreshed.stderr.contains("503"), "{refreshed}");
    assert!(refreshed.stderr.contains("The last complete indexes stay in use."), "{refreshed}");
    let values = server.folder().join("values.yaml");
    std::fs::write(&values, "replicas: 2\n").unwrap();
    let values = values.display().to_string();
    let edited = server.run_cli(&[&chart[..], &["--chart-version", "1.1.0", "--values", &values]].concat());
    assert_eq!(edited.exit_code, 0, "{edited}");
    let published = server.run_cli(&["publish", "shop", "--wait", "--timeout", WAIT_TIMEOUT]);
    assert_eq!(published.exit_code, 0, "{published}");
    let older = server.run_cli(&[&chart[..], &["--chart-version", "1.0.0"]].concat());
    assert!(
        older.exit_code == 3 && older.stderr.contains("Chart acme/web 1.0.0 can't be fetched"),
        "{older}"
    );

    // Nothing is removed that a workload names.
    let removed = server.run_cli(&["chart", "repo", "remove", "acme", "--yes"]);
    assert!(removed.exit_code == 1 && removed.stderr.contains("1 workload (shop)"), "{removed}");
    let deleted = server.run_cli(&["delete", "shop", "--yes", "--wait", "--timeout", WAIT_TIMEOUT]);
    assert_eq!(deleted.exit_code, 0, "{deleted}");
    let removed = server.run_cli(&["chart", "repo", "remove", "acme", "--yes"]);
    assert_eq!(removed.stdout, "chart repository/acme removed\n", "{removed}");
    assert_eq!(server.run_cli_json(&["chart", "repo", "list", "-o", "json"]), serde_json::json!([]));
}

#[test]
fn s3_2_the_chart_of_an_object_is_printed_and_applied_in_place_of_the_object() {
    let server = TestServer::start_with_variable(("FLOTILLA_CHART_REPOSITORIES", "private-http"));
    let repository = TestRepository::start(server.folder());
    let url = repository.server.url("/charts");
    let path = server.folder().join("front.yaml");
    let text = format!(
        "apiVersion: helm.cattle.io/v1\nkind: HelmChart\nmetadata: {{name: web}}\nspec:\n  repo: {url}/\n  chart: web\n  version: 1.0.0\n  \
         targetNamespace: shop\n  bootstrap: true\n  valuesContent: |\n    replicas: 2 # two\n"
    );
    std::fs::write(&path, text).unwrap();
    let file = path.to_str().unwrap();
    let unknown = server.run_cli(&["chart", "unwrap", "-f", file]);
    assert_eq!((unknown.exit_code, &*unknown.stdout), (3, ""), "{unknown}");
    assert!(unknown.stderr.contains("flotilla chart repo add NAME"), "{unknown}");

    server.run_cli(&["chart", "repo", "add", "acme", &url]);
    let printed = server.run_cli(&["chart", "unwrap", "-f", file]);
    assert_eq!(printed.exit_code, 0, "{printed}");
    for expected in ["name: front\n", "payload: acme/web\n", "namespace: shop\n", "replicas: 2 # two\n"] {
        assert!(printed.stdout.contains(expected), "{expected}: {printed}");
    }
    let left = "not carried over: HelmChart web /spec/bootstrap: ";
    assert!(printed.stderr.contains(left), "{printed}");

    let applied = server.run_cli(&["apply", "-f", file, "--unwrap-chart", "--clusters", "eu-west-1"]);
    assert_eq!(applied.stdout, "workload/front created (draft)\n", "{applied}");
    assert!(applied.stderr.contains(left), "{applied}");
    let workload = server.run_cli_json(&["get", "front", "-o", "json"]);
    let (draft, source) = (&workload["draft"], &workload["draft"]["source"]);
    assert_eq!((&source["chart"], &draft["namespace"]), (&"acme/web".into(), &"shop".into()), "{workload}");
    assert_eq!((&source["releaseName"], &source["version"]), (&"web".into(), &"1.0.0".into()), "{workload}");
}
