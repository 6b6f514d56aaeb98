//! Webhooks of Git servers: anyone can send one.

use axum::body::{Body, Bytes};
use axum::http::Request;
use futures::StreamExt as _;

use crate::test_server::TestServer;

const WEBHOOK: &str = "/api/v1/projects/default/git-webhooks/nope";

/// A body that begins, and never ends.
fn endless_body() -> Body {
    let begun = futures::stream::iter([Ok::<_, std::io::Error>(Bytes::from_static(b"{"))]);
    Body::from_stream(begun.chain(futures::stream::pending()))
}

#[tokio::test]
async fn p19_a_webhook_without_a_signature_is_refused_before_its_body_arrives() {
    let server = TestServer::start().await;
    for headers in [vec![], vec![("x-hub-signature-256", "sha256=00")], vec![("x-gitlab-token", "")]] {
        let request = headers
            .iter()
            .fold(Request::post(WEBHOOK), |request, (name, value)| request.header(*name, *value));
        let refused = server.send_raw(request.body(endless_body()).unwrap()).await;
        assert_eq!(refused.problem(), (401, "Unauthenticated".to_owned()), "{headers:?}");
    }
}

#[tokio::test]
async fn p19_the_body_of_a_webhook_is_bounded_whether_or_not_there_is_such_a_webhook() {
    let server = TestServer::start().await;
    let send = async |bytes: usize| {
        let request = Request::post(WEBHOOK).header("x-gitlab-token", "secret");
        server.send_raw(request.body(Body::from(vec![b'x'; bytes])).unwrap()).await.problem()
    };
    assert_eq!(send(1 << 20).await, (401, "Unauthenticated".to_owned()));
    assert_eq!(send((1 << 20) + 1).await, (413, "TooLarge".to_owned()));
}
