//! Pages of the console: the server reads each query of a page once, and the page is complete.

use std::collections::BTreeSet;

use axum::body::Body;
use axum::http::{Request, StatusCode};
use hub::{Clock, DatabaseOutage, Hub, HubConfig};
use serde_json::{Value, json};

use crate::sessions::{cookie, sign_in};
use crate::test_server::{TestResponse, TestServer, WORKLOADS, options_with_agents};

/// The pages without a dialog, in each of their tabs. The workloads `web`, `chart` and `git` have their files in the draft, in a chart and in a
/// Git repository.
const PAGES: [&str; 51] = [
    "/",
    "/workloads",
    "/workloads/new",
    "/workloads/web",
    "/workloads/web?open=eu-1",
    "/workloads/web?tab=config",
    "/workloads/web?tab=placement",
    "/workloads/web?tab=overrides",
    "/workloads/web?tab=policies",
    "/workloads/web?tab=history",
    "/workloads/web?tab=events",
    "/workloads/web/edit",
    "/workloads/web/edit/placement",
    "/workloads/web/edit/overrides",
    "/workloads/web/edit/rollout",
    "/workloads/web/edit/policies",
    "/workloads/web/publish",
    "/workloads/web/revisions/1",
    "/workloads/chart",
    "/workloads/chart?tab=config",
    "/workloads/chart/edit",
    "/workloads/git",
    "/workloads/git?tab=config",
    "/workloads/git/edit",
    "/clusters",
    "/clusters/eu-1",
    "/clusters/eu-1?tab=workloads",
    "/clusters/eu-1?tab=resources",
    "/clusters/eu-1?tab=config",
    "/clusters/eu-1?tab=access",
    "/clusters/eu-1?tab=events",
    "/groups",
    "/groups/edge",
    "/new-group",
    "/join",
    "/join?cluster=eu-1",
    "/charts",
    "/incidents",
    "/drift",
    "/events",
    "/search?q=web",
    "/people",
    "/audit",
    "/settings",
    "/settings?tab=sessions",
    "/settings?tab=notifications",
    "/settings?tab=identity-providers",
    "/settings?tab=project",
    "/settings?tab=appearance",
    "/settings?tab=about",
    "/settings?tab=health",
];

/// Pages with a dialog, which reads the facts that it states itself.
const DIALOGS: [&str; 19] = [
    "/workloads?dialog=sync&w=web",
    "/workloads?dialog=unpublish&w=web",
    "/workloads?done=sync&w=web",
    "/workloads/web?dialog=sync&cluster=eu-1",
    "/workloads/web?dialog=unpublish",
    "/workloads/web?dialog=delete",
    "/workloads/web?dialog=abort",
    "/workloads/web?tab=history&dialog=copy&revision=1",
    "/workloads/web/edit/source?dialog=unwrap",
    "/clusters/eu-1?dialog=delete",
    "/clusters/eu-1?tab=access&dialog=revoke",
    "/groups/edge?disable=deployment",
    "/groups/edge?dialog=delete",
    "/join?revoke=x",
    "/people?disable=ada",
    "/settings?revoke=x",
    "/settings?tab=sessions&revoke=others",
    "/settings?tab=notifications&unsubscribe=x",
    "/charts?remove-git-repository=x",
];

/// The pages that show the fields of a source.
const SOURCE_PAGES: [&str; 6] = [
    "/workloads/web?tab=config",
    "/workloads/chart?tab=config",
    "/workloads/git?tab=config",
    "/workloads/web/edit",
    "/workloads/chart/edit",
    "/workloads/git/edit",
];

/// A result with fewer bytes, such as an empty list, may be that of several queries.
const MIN_RESULT_BYTES: usize = 40;

/// A server with a workload of each source, and a signed-in user.
struct PageTest {
    server: TestServer,
    cookie: String,
}

impl PageTest {
    /// The clock stands still, so that two results of a query are equal.
    async fn start() -> Self {
        let folder = tempfile::tempdir().unwrap();
        let database = format!("sqlite://{}", folder.path().join("flotilla.db").display());
        let now = Clock::system().now();
        let hub = Hub::open(HubConfig::new(database, Clock::from_fn(move || now))).await.unwrap();
        let server = TestServer::start_over(hub, folder, options_with_agents).await;
        server.register_cluster("eu-1", &[("env", "prod")]).await;
        server.create_workload("web").await;
        let chart =
            json!({"type": "chart", "chart": "local/none", "version": "1.0.0", "values": "replicas: 1\n"});
        let git = json!({"type": "git", "repository": "https://127.0.0.1:1/acme/deploy.git"});
        for (name, source) in [("chart", chart), ("git", git)] {
            let placement = json!({"predicates": [{"labelSelector": "env=prod"}]});
            let spec = json!({"namespace": "apps", "source": source, "placement": placement});
            succeed(&server, WORKLOADS, &json!({"name": name, "spec": spec})).await;
        }
        succeed(&server, &format!("{WORKLOADS}/web:publish"), &json!({"message": ""})).await;
        succeed(&server, "/api/v1/cluster-groups", &json!({"name": "edge", "members": ["eu-1"]})).await;
        let cookie = cookie(&sign_in(&server).await);
        Self { server, cookie }
    }

    async fn read(&self, path: &str) -> TestResponse {
        let request = Request::get(path).header("cookie", &self.cookie).header("accept", "text/html");
        self.server.send_raw(request.body(Body::empty()).unwrap()).await
    }

    fn count_failures(&self) -> u64 {
        self.server.hub.count_outage_failures().iter().map(|(_, count)| count).sum()
    }
}

async fn succeed(server: &TestServer, path: &str, body: &Value) {
    let answer = server.post(path, body).await;
    assert!(answer.status.is_success(), "{path}: {} {}", answer.status, answer.text);
}

/// The results of the queries of a page, with which the browser takes it over.
fn list_results(page: &str) -> Vec<&str> {
    let parts = page.split("__RESOLVED_RESOURCES[").skip(1);
    let results = parts.filter_map(|part| {
        let (_, text) = part.split("</script>").next()?.split_once("] = \"")?;
        text.rfind("\";").map(|end| &text[..end])
    });
    results.collect()
}

#[tokio::test(flavor = "multi_thread")]
async fn each_page_reads_each_of_its_queries_once_and_is_complete() {
    let test = PageTest::start().await;
    for path in PAGES {
        let page = test.read(path).await;
        assert_eq!(page.status, StatusCode::OK, "{path}");
        assert!(!page.text.contains("<div aria-busy=\"true\">"), "{path}: a part of the page is not there");
        let results = list_results(&page.text);
        assert!(!results.is_empty() || path == "/workloads/new", "{path} has no result: {}", page.text);
        let mut found = BTreeSet::new();
        for result in results {
            assert!(found.insert(result) || result.len() < MIN_RESULT_BYTES, "{path} has twice: {result}");
        }
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn a_tab_that_a_page_does_not_have_is_404_and_is_named() {
    let test = PageTest::start().await;
    for path in ["/workloads/web", "/clusters/eu-1", "/settings"] {
        let page = test.read(&format!("{path}?tab=nonsense")).await;
        assert_eq!(page.status, StatusCode::NOT_FOUND, "{path}");
        assert!(page.text.contains("There is no tab") && page.text.contains("nonsense"), "{path}");
        assert!(page.text.contains(&format!("href=\"{path}\"")), "{path}: a link leads to the first tab");
        assert_eq!(test.read(&format!("{path}?tab=")).await.status, StatusCode::OK, "{path}");
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn a_page_with_a_dialog_creates_no_resource_in_what_is_shown_of_another() {
    let test = PageTest::start().await;
    for path in DIALOGS {
        // The server panics where one is created: see `app::resource`.
        assert_eq!(test.read(path).await.status, StatusCode::OK, "{path}");
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn the_fields_of_a_source_are_complete_without_script() {
    let test = PageTest::start().await;
    for path in SOURCE_PAGES {
        let page = test.read(path).await.text;
        let has = |part: &str| page.contains(part);
        let is_of = |name: &str| path.starts_with(&format!("/workloads/{name}"));
        let chart =
            [has("id=\"chart-choices\""), has("id=\"chart-versions\""), has("Default values of the chart")];
        assert_eq!(chart, [is_of("chart"); 3], "{path}");
        assert_eq!(has("id=\"git-status\""), is_of("git"), "{path}");
        assert!(!is_of("git") || has("Not checked yet.") || has("Checked "), "{path}");
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn p21_a_page_with_the_fields_of_a_source_is_503_whichever_of_its_transactions_fails() {
    let test = PageTest::start().await;
    for path in SOURCE_PAGES {
        let mut failed = 0;
        loop {
            let before = test.count_failures();
            test.server.hub.inject_outage(Some((DatabaseOutage::Unreachable, failed)));
            let page = test.read(path).await;
            test.server.hub.inject_outage(None);
            if test.count_failures() == before {
                assert_eq!(page.status, StatusCode::OK, "{path}");
                break;
            }
            assert_eq!(page.status, StatusCode::SERVICE_UNAVAILABLE, "{path}, transaction {failed}");
            failed += 1;
        }
        assert!(failed > 2, "{path} has {failed} transactions");
    }
}
