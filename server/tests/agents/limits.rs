//! Limits of connections and renewals per agent, and none for many agents behind one address.

use std::net::SocketAddr;
use std::sync::Arc;
use std::time::Duration;

use futures::StreamExt as _;
use futures::future::join_all;
use futures::stream::iter;
use rustls::pki_types::ServerName;
use serde_json::json;
use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};
use tokio::net::{TcpSocket, TcpStream};
use tokio_rustls::TlsConnector;
use tokio_rustls::client::TlsStream;

use crate::raw_agent::{RawAgent, RawResponse};
use crate::test_server::{MAX_PER_ADDRESS, MAX_WITHOUT_CERTIFICATE, TestServer};

/// How long a connection may wait for its end at a limit: less than for the end of its idle time.
const LIMIT_TIMEOUT: Duration = Duration::from_secs(60);

/// A signing request for a new key.
fn signing_request() -> String {
    let key = rcgen::KeyPair::generate().unwrap();
    rcgen::CertificateParams::default().serialize_request(&key).unwrap().pem().unwrap()
}

#[tokio::test(flavor = "multi_thread")]
async fn p20_parallel_renewals_of_an_agent_are_limited_and_others_renew() {
    let server = TestServer::open().await;
    let token = server.create_auto_accept_token().await;
    let (busy, other) =
        (RawAgent::join(&server, "eu", &token).await, RawAgent::join(&server, "us", &token).await);
    let requests: Vec<_> = (0..30).map(|_| json!({"csr": signing_request()})).collect();
    let responses = join_all(requests.iter().map(|request| busy.send("renew", request))).await;
    let (renewed, refused): (Vec<&RawResponse>, Vec<_>) =
        responses.iter().partition(|response| response.status == 200);
    // One more is allowed in each 10 s, which a slow machine may need.
    assert!((5..10).contains(&renewed.len()), "{} renewed", renewed.len());
    for response in refused {
        assert_eq!((response.status, &response.body["code"]), (429, &json!("RateLimited")), "{response:?}");
        assert!(response.retry_after.is_some_and(|seconds| (1..=11).contains(&seconds)), "{response:?}");
    }
    other.post("renew", &json!({"csr": signing_request()})).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn p20_an_agent_that_sends_heartbeats_without_pause_is_slowed_down_and_others_are_not() {
    const PARALLEL: usize = 8;
    let server = TestServer::open().await;
    let token = server.create_auto_accept_token().await;
    let (busy, other) =
        (RawAgent::join(&server, "eu", &token).await, RawAgent::join(&server, "us", &token).await);
    let heartbeat = json!({});
    // Until one is refused: on a slow machine tokens are added meanwhile.
    let mut responses = iter(0..2_000).map(|_| busy.send("heartbeat", &heartbeat)).buffer_unordered(PARALLEL);
    let mut accepted = 0;
    let refused = loop {
        let response = responses.next().await.expect("2 000 heartbeats are accepted");
        if response.status != 200 {
            break response;
        }
        accepted += 1;
    };
    // Those before it in the bucket may be answered after it.
    assert!(accepted + PARALLEL > 100, "{accepted} accepted");
    assert_eq!((refused.status, &refused.body["code"]), (429, &json!("RateLimited")), "{refused:?}");
    assert!(refused.retry_after.is_some(), "{refused:?}");
    other.post("heartbeat", &heartbeat).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn p20_agents_behind_one_address_are_not_limited_by_it() {
    let server = TestServer::open().await;
    let token = server.create_auto_accept_token().await;
    let mut streams = Vec::new();
    for cluster in 0..3 {
        let agent = RawAgent::join(&server, &format!("eu-{cluster}"), &token).await;
        for _ in 0..30 {
            streams.push(agent.open_stream().await);
        }
    }
    assert!(streams.len() > MAX_PER_ADDRESS);
    assert!(streams.iter().all(|stream| stream.status() == 200));
    for stream in &mut streams {
        assert!(stream.chunk().await.unwrap().is_some(), "the stream is open");
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn p20_an_agent_has_a_limited_number_of_connections() {
    let server = TestServer::open().await;
    let token = server.create_auto_accept_token().await;
    let (busy, other) =
        (RawAgent::join(&server, "eu", &token).await, RawAgent::join(&server, "us", &token).await);
    let mut streams = Vec::new();
    let refused = loop {
        let stream = busy.open_stream().await;
        if stream.status() != 200 {
            break stream;
        }
        streams.push(stream);
        assert!(streams.len() < 100, "100 streams are open");
    };
    assert_eq!((streams.len(), refused.status().as_u16()), (64, 429));
    assert_eq!(refused.headers()["retry-after"], "5");
    let text = refused.text().await.unwrap();
    assert!(text.contains("TooManyConnections") && text.contains("64 open connections"), "{text}");
    assert_eq!(other.open_stream().await.status(), 200);
}

/// A connection without a certificate, from the loopback address with this last byte, after a first request and half of a second one.
async fn open_unfinished(server: &TestServer, last: u8) -> TlsStream<TcpStream> {
    let socket = TcpSocket::new_v4().unwrap();
    socket.bind(SocketAddr::from(([127, 0, 0, last], 0))).unwrap();
    let address: SocketAddr = server.agent_endpoint.url.trim_start_matches("https://").parse().unwrap();
    let stream = socket.connect(address).await.unwrap();
    let tls = wire::tls::pinned_config(&server.agent_endpoint.authority.fingerprint()).unwrap();
    let name = ServerName::try_from("127.0.0.1").unwrap();
    let mut stream = TlsConnector::from(Arc::new(tls)).connect(name, stream).await.unwrap();
    stream.write_all(b"GET /agent/v1/desired-state HTTP/1.1\r\nhost: x\r\n\r\n").await.unwrap();
    let mut status = [0; 12];
    stream.read_exact(&mut status).await.unwrap();
    assert_eq!(&status, b"HTTP/1.1 401");
    stream.write_all(b"GET /agent/v1/desired-state HTTP/1.1\r\nhost:").await.unwrap();
    stream
}

#[tokio::test(flavor = "multi_thread")]
async fn p20_unfinished_heads_without_a_certificate_are_bounded_together_and_leave_places_to_agents() {
    let server = TestServer::open().await;
    let token = server.create_auto_accept_token().await;
    let agent = RawAgent::join(&server, "eu", &token).await;
    let mut unfinished = Vec::new();
    for last in 2..=5 {
        for _ in 0..MAX_PER_ADDRESS {
            unfinished.push(open_unfinished(&server, last).await);
        }
    }
    // Each beyond the limit takes the place of the one that has waited longest.
    let closed = unfinished.len() - MAX_WITHOUT_CERTIFICATE - 10;
    for stream in &mut unfinished[..closed] {
        let mut rest = Vec::new();
        let ended = tokio::time::timeout(LIMIT_TIMEOUT, stream.read_to_end(&mut rest)).await;
        assert!(ended.is_ok(), "the connection is still open");
    }
    agent.post("heartbeat", &json!({})).await;
    drop(unfinished);
}
