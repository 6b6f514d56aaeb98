//! What gets no memory is refused for now, and read as soon as others have released theirs (P19).

use source::RemoteAccess;
use source::memory_budget::CHART_INDEXES;
use source::repository::{Repository, RepositoryClient, RepositoryErrorKind, RepositoryOptions};
use testkit::{HttpResponse, HttpServer};

// The only test of this program: it uses up a budget of the whole process.
#[tokio::test]
async fn p19_an_index_is_parsed_only_with_memory_for_it() {
    let server = HttpServer::start(|_, _| HttpResponse::ok("apiVersion: v1\nentries: {}\n")).await;
    let url = server.url("/charts");
    let options = RepositoryOptions { url: &url, plain_http: true, login: None };
    let repository = Repository::new(options).unwrap();
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
