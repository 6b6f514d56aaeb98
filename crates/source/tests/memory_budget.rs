//! What gets no memory is refused for now, and read as soon as others have released theirs (P19).

use std::time::Duration;

use serde_json::json;
use source::RemoteAccess;
use source::memory_budget::{CHART_INDEXES, RECEIVED_FILES};
use source::repository::{
    ChartRequest, Repository, RepositoryClient, RepositoryErrorKind, RepositoryOptions,
};
use testkit::{HttpResponse, HttpServer};
use tokio::sync::Mutex;

/// The tests use up budgets of the whole process, one after the other.
static WHOLE_BUDGET: Mutex<()> = Mutex::const_new(());

fn repository(url: &str) -> Repository {
    Repository::new(RepositoryOptions { url, plain_http: true, login: None }).unwrap()
}

#[tokio::test]
async fn p19_an_index_is_parsed_only_with_memory_for_it() {
    let _alone = WHOLE_BUDGET.lock().await;
    let server = HttpServer::start(|_, _| HttpResponse::ok("apiVersion: v1\nentries: {}\n")).await;
    let repository = repository(&server.url("/charts"));
    let client = RepositoryClient::new(RemoteAccess::PrivateHttp).unwrap();
    let all = CHART_INDEXES.free_bytes();
    let held = CHART_INDEXES.reserve(u64::MAX).await.unwrap();
    let refused = client.fetch_index(&repository).await.unwrap_err();
    assert_eq!(refused.kind, RepositoryErrorKind::ServerBusy);
    assert!(
        refused.kind.is_temporary() && refused.message.contains(&format!("({} MiB)", all >> 20)),
        "{refused}"
    );
    let fetching = tokio::spawn(async move { client.fetch_index(&repository).await });
    drop(held);
    assert_eq!(fetching.await.unwrap().unwrap().charts().count(), 0);
    assert_eq!(CHART_INDEXES.free_bytes(), all);
}

#[tokio::test]
async fn p19_indexes_that_need_the_whole_budget_are_parsed_one_after_the_other() {
    let _alone = WHOLE_BUDGET.lock().await;
    let index = format!("apiVersion: v1\nentries: {{}}\n# {}\n", "a".repeat(100 << 10));
    let size = index.len() as u64;
    let server = HttpServer::start(move |_, _| HttpResponse::ok(index.clone())).await;
    let (all, all_received) = (CHART_INDEXES.free_bytes(), RECEIVED_FILES.free_bytes());
    let mut others = CHART_INDEXES.reserve(u64::MAX).await.unwrap();
    let fetching = ["/a", "/b"].map(|path| {
        let repository = repository(&server.url(path));
        let client = RepositoryClient::new(RemoteAccess::PrivateHttp).unwrap();
        tokio::spawn(async move { client.fetch_index(&repository).await })
    });
    // Both indexes are in memory, and each waits for what only one of them can have.
    let both_received = async {
        while RECEIVED_FILES.free_bytes() > all_received - 2 * size {
            tokio::time::sleep(Duration::from_millis(10)).await;
        }
    };
    tokio::time::timeout(Duration::from_secs(60), both_received).await.expect("both are received");
    others.shrink_to(all - 41 * size);
    for fetched in fetching {
        assert_eq!(fetched.await.unwrap().unwrap().charts().count(), 0);
    }
    drop(others);
    assert_eq!((CHART_INDEXES.free_bytes(), RECEIVED_FILES.free_bytes()), (all, all_received));
}

#[tokio::test]
async fn p19_an_archive_of_a_registry_arrives_only_with_memory_for_it_and_without_its_manifest() {
    let _alone = WHOLE_BUDGET.lock().await;
    let digest = format!("sha256:{}", "0".repeat(64));
    let manifest = json!({
        "config": {"mediaType": "application/vnd.cncf.helm.config.v1+json", "digest": digest, "size": 2},
        "layers": [{
            "mediaType": "application/vnd.cncf.helm.chart.content.v1.tar+gzip",
            "digest": digest,
            "size": 8 << 20,
        }],
        "annotations": {"note": "x".repeat(3 << 20)},
    });
    let manifest = manifest.to_string();
    let server = HttpServer::start(move |_, request| {
        if request.path.contains("/manifests/") {
            HttpResponse::ok(manifest.clone())
        } else {
            HttpResponse::slow().with_header("content-length", (8 << 20).to_string())
        }
    })
    .await;
    let repository = repository(&format!("oci://{}/charts", server.host()));
    let client = RepositoryClient::new(RemoteAccess::PrivateHttp).unwrap();
    let all = RECEIVED_FILES.free_bytes();
    let fetching = tokio::spawn(async move {
        let request = ChartRequest { name: "web", version: "1.0.0", expected: None };
        client.fetch_chart(&repository, request).await.map(drop)
    });
    let arrives = async {
        let is_requested = || server.paths().iter().any(|path| path.contains("/blobs/"));
        while !is_requested() || RECEIVED_FILES.free_bytes() == all {
            tokio::time::sleep(Duration::from_millis(10)).await;
        }
    };
    tokio::time::timeout(Duration::from_secs(60), arrives).await.expect("the archive arrives");
    // One step of the archive, and nothing of the manifest.
    assert!(RECEIVED_FILES.free_bytes() >= all - (1 << 20), "{} of {all}", RECEIVED_FILES.free_bytes());
    fetching.abort();
    assert!(fetching.await.unwrap_err().is_cancelled());
    assert_eq!(RECEIVED_FILES.free_bytes(), all);
}

#[tokio::test]
async fn p19_an_archive_of_an_http_repository_arrives_without_memory_for_its_index() {
    let _alone = WHOLE_BUDGET.lock().await;
    let entry = "{name: web, version: 1.0.0, apiVersion: v2, urls: [web-1.0.0.tgz]}";
    let index = format!("apiVersion: v1\nentries:\n  web: [{entry}]\n# {}\n", "a".repeat(5 << 20));
    let server = HttpServer::start(move |_, request| {
        if request.path.ends_with("/index.yaml") {
            HttpResponse::ok(index.clone())
        } else {
            HttpResponse::slow().with_header("content-length", (8 << 20).to_string())
        }
    })
    .await;
    let repository = repository(&server.url("/charts"));
    let client = RepositoryClient::new(RemoteAccess::PrivateHttp).unwrap();
    let (all_indexes, all_received) = (CHART_INDEXES.free_bytes(), RECEIVED_FILES.free_bytes());
    let fetching = tokio::spawn(async move {
        let request = ChartRequest { name: "web", version: "1.0.0", expected: None };
        client.fetch_chart(&repository, request).await.map(drop)
    });
    let arrives = async {
        let is_requested = || server.paths().iter().any(|path| path.ends_with("/web-1.0.0.tgz"));
        while !is_requested() || RECEIVED_FILES.free_bytes() == all_received {
            tokio::time::sleep(Duration::from_millis(10)).await;
        }
    };
    tokio::time::timeout(Duration::from_secs(60), arrives).await.expect("the archive arrives");
    assert_eq!(CHART_INDEXES.free_bytes(), all_indexes, "the index is not retained");
    // One step of the archive, and nothing of the file of the index.
    let received = all_received - RECEIVED_FILES.free_bytes();
    assert!(received <= 1 << 20, "{received} bytes are reserved");
    fetching.abort();
    assert!(fetching.await.unwrap_err().is_cancelled());
    assert_eq!(RECEIVED_FILES.free_bytes(), all_received);
}
