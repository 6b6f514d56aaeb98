//! The console's listener.

use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};
use tokio::net::TcpStream;

use crate::server_process::{ServerProcess, connect_from, get, wait_until_closed};

const HALF_A_REQUEST: &[u8] = b"GET / HTTP/1.1\r\nhost:";

#[tokio::test(flavor = "multi_thread")]
async fn p20_half_open_requests_neither_exhaust_the_descriptors_nor_stop_livez() {
    let server = ServerProcess::start(128, &[]).await;
    let mut half_open = Vec::new();
    for _ in 0..200 {
        let mut stream = connect_from(2, server.console).await;
        // The server may have closed it.
        let _ = stream.write_all(HALF_A_REQUEST).await;
        half_open.push(stream);
    }
    let answer = get(server.console, "/livez").await;
    assert!(answer.starts_with("HTTP/1.1 200") && answer.ends_with("ok\n"), "{answer:?}");
    let answer = get(server.console, "/readyz").await;
    assert!(answer.starts_with("HTTP/1.1 200"), "{answer:?}");
}

#[tokio::test(flavor = "multi_thread")]
async fn p20_half_a_request_ends_within_seconds() {
    let server = ServerProcess::start(1_024, &[]).await;
    let mut stream = connect_from(1, server.console).await;
    stream.write_all(HALF_A_REQUEST).await.unwrap();
    wait_until_closed(&mut stream).await;
}

/// Opens connections from the loopback address with this last byte, each of which serves an event stream.
async fn open_served(server: &ServerProcess, last: u8, count: usize) -> Vec<TcpStream> {
    let request =
        format!("GET /api/v1/watch HTTP/1.1\r\nhost: x\r\nauthorization: Bearer {}\r\n\r\n", server.token);
    let mut served = Vec::new();
    for _ in 0..count {
        served.push(open(server, last, request.as_bytes(), "200").await);
    }
    served
}

/// Sends a request from the loopback address with this last byte, and reads the status of the answer.
async fn open(server: &ServerProcess, last: u8, request: &[u8], status: &str) -> TcpStream {
    let mut stream = connect_from(last, server.console).await;
    stream.write_all(request).await.unwrap();
    let mut answer = [0; 12];
    stream.read_exact(&mut answer).await.unwrap();
    assert_eq!(String::from_utf8_lossy(&answer), format!("HTTP/1.1 {status}"));
    stream
}

/// A request whose body does not arrive. The server requests it, and waits for it.
const UNFINISHED_REQUEST: &[u8] =
    b"POST /api/fn/sign_in HTTP/1.1\r\nhost: x\r\nsec-fetch-site: same-origin\r\ncontent-type: application/x-www-form-urlencoded\r\nexpect: 100-continue\r\ncontent-length: 100\r\n\r\n";

#[tokio::test(flavor = "multi_thread")]
async fn p20_connections_whose_bodies_do_not_arrive_leave_their_places_to_others() {
    let server = ServerProcess::start(1_024, &["--max-connections", "8"]).await;
    let mut unfinished = Vec::new();
    for _ in 0..8 {
        unfinished.push(open(&server, 2, UNFINISHED_REQUEST, "100").await);
    }
    let served = open_served(&server, 1, 4).await;
    let answer = get(server.console, "/sign-in").await;
    assert!(answer.starts_with("HTTP/1.1") && !answer.contains("TooManyConnections"), "{answer:?}");
    let mut first = unfinished.remove(0);
    wait_until_closed(&mut first).await;
    drop(served);
}

#[tokio::test(flavor = "multi_thread")]
async fn p20_at_the_limit_of_connections_livez_responds_and_other_requests_get_a_503() {
    let server = ServerProcess::start(1_024, &["--max-connections", "8"]).await;
    let served = open_served(&server, 2, 8).await;
    let refused = get(server.console, "/sign-in").await;
    assert!(refused.starts_with("HTTP/1.1 503") && refused.contains("retry-after: 5\r\n"), "{refused:?}");
    assert!(refused.contains("TooManyConnections") && refused.contains("connection: close"), "{refused:?}");
    for path in ["/livez", "/readyz", "/version"] {
        let answer = get(server.console, path).await;
        assert!(answer.starts_with("HTTP/1.1 200"), "{path}: {answer:?}");
    }
    drop(served);
}

#[tokio::test(flavor = "multi_thread")]
async fn p20_an_address_at_its_limit_gets_a_429_and_others_are_served() {
    let server = ServerProcess::start(1_024, &["--max-connections-per-address", "4"]).await;
    let served = open_served(&server, 1, 4).await;
    let refused = get(server.console, "/sign-in").await;
    assert!(refused.starts_with("HTTP/1.1 429") && refused.contains("retry-after: 5\r\n"), "{refused:?}");
    assert!(refused.contains("4 open connections"), "{refused:?}");
    assert_eq!(open_served(&server, 2, 4).await.len(), 4, "another address");
    drop(served);
}

/// A request whose body does not arrive. Anyone can send it.
const LARGE_SIGN_IN: &[u8] =
    b"POST /api/fn/sign_in HTTP/1.1\r\nhost: x\r\nsec-fetch-site: same-origin\r\ncontent-type: application/x-www-form-urlencoded\r\ncontent-length: 65000\r\n\r\n";
/// More of them than one network has memory for.
const LARGE_SIGN_INS: usize = 200;

#[tokio::test(flavor = "multi_thread")]
async fn p20_large_bodies_of_one_network_without_sign_in_leave_memory_to_others_and_small_ones_need_none() {
    let server = ServerProcess::start(1_024, &[]).await;
    let mut unfinished = Vec::new();
    for _ in 0..LARGE_SIGN_INS {
        let mut stream = connect_from(2, server.console).await;
        stream.write_all(LARGE_SIGN_IN).await.unwrap();
        unfinished.push(stream);
    }
    // A large body of another network is read and answered while those of the first one wait for memory or are too slow.
    let mut other = connect_from(3, server.console).await;
    other.write_all(&[LARGE_SIGN_IN, &[b'a'; 65_000]].concat()).await.unwrap();
    let mut status = [0; 12];
    other.read_exact(&mut status).await.unwrap();
    assert_eq!(&status, b"HTTP/1.1 422", "the form has no name");
    open(&server, 2, UNFINISHED_REQUEST, "100").await;
    for mut stream in unfinished {
        stream.read_exact(&mut status).await.unwrap();
        assert!(status == *b"HTTP/1.1 408" || status == *b"HTTP/1.1 503", "no body was complete: {status:?}");
    }
}

/// A request whose head has about this many bytes.
fn request_with_head(bytes: usize) -> String {
    format!("GET /livez HTTP/1.1\r\nhost: x\r\nconnection: close\r\nx-padding: {}\r\n\r\n", "x".repeat(bytes))
}

#[tokio::test(flavor = "multi_thread")]
async fn p20_a_head_that_is_too_large_is_refused_before_it_is_complete() {
    let server = ServerProcess::start(1_024, &[]).await;
    let mut stream = connect_from(1, server.console).await;
    let head = request_with_head(16 << 10);
    stream.write_all(head.as_bytes()).await.unwrap();
    let mut answer = String::new();
    stream.read_to_string(&mut answer).await.unwrap();
    assert!(answer.starts_with("HTTP/1.1 200"), "{answer:?}");

    let mut stream = connect_from(1, server.console).await;
    let head = request_with_head(400 << 10);
    // Not a byte more than the limit: what the server leaves unread would reset the connection.
    stream.write_all(&head.as_bytes()[..32 << 10]).await.unwrap();
    let mut answer = [0; 12];
    stream.read_exact(&mut answer).await.unwrap();
    assert_eq!(&answer, b"HTTP/1.1 431");
}
