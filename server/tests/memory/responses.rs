//! Large responses that clients do not read need a bounded amount of memory together (P19).

use domain::workload::NewWorkload;
use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};
use tokio::net::{TcpSocket, TcpStream};
use tokio::task::JoinSet;

use crate::server_process::{ServerProcess, workload_spec};

/// Reads at the same time, by clients that read nothing but the first line of the response.
const READS: usize = 100;
/// The size of what they read.
const TEXT_BYTES: usize = 8 << 20;
/// How much the peak may grow by all of them, in KiB. Without a budget, the responses alone have 800 MiB.
const MAX_GROWTH: u64 = 600 * 1024;
/// The status of what was sent, and of what was refused.
const SENT: &str = "HTTP/1.1 200";
const BUSY: &str = "HTTP/1.1 503";

/// Reads of a page of the console at the same time, and the size of the text that is in it: a larger one would be left out.
const PAGE_READS: usize = 150;
const PAGE_TEXT_BYTES: usize = 1000 << 10;

const WORKLOAD: &str = "/api/v1/projects/default/workloads/large";

/// A text that is nothing but comments.
fn large_text(bytes: usize) -> String {
    let line = format!("# {}\n", "a".repeat(1021));
    let lines = line.repeat(bytes / line.len());
    format!("{lines}apiVersion: v1\nkind: ConfigMap\nmetadata: {{name: large}}\n")
}

/// Requests a path with a header that authenticates, and reads the version and the status of the response.
async fn begin_read(address: String, path: String, header: String) -> (String, TcpStream) {
    let socket = TcpSocket::new_v4().unwrap();
    // What is not read stays at the server.
    socket.set_recv_buffer_size(8 << 10).unwrap();
    let mut stream = socket.connect(address.parse().unwrap()).await.unwrap();
    let head = format!("GET {path} HTTP/1.1\r\nhost: x\r\n{header}\r\n\r\n");
    stream.write_all(head.as_bytes()).await.unwrap();
    let mut line = [0; 12];
    stream.read_exact(&mut line).await.unwrap();
    (String::from_utf8_lossy(&line).into_owned(), stream)
}

/// The text of a response whose end closes the connection.
async fn read_to_end(mut stream: TcpStream) -> String {
    let mut answer = Vec::new();
    stream.read_to_end(&mut answer).await.unwrap();
    String::from_utf8_lossy(&answer).into_owned()
}

/// Signs ada in; the header with the cookie of the session.
pub async fn sign_in(server: &ServerProcess) -> String {
    let form = "name=ada&password=correct+horse+battery&next=";
    let head = format!(
        "POST /api/fn/sign_in HTTP/1.1\r\nhost: x\r\nconnection: close\r\naccept: application/json\r\n\
         sec-fetch-site: same-origin\r\ncontent-type: application/x-www-form-urlencoded\r\ncontent-length: {}\r\n\r\n",
        form.len()
    );
    let mut stream = TcpStream::connect(&server.console).await.unwrap();
    stream.write_all((head + form).as_bytes()).await.unwrap();
    let answer = read_to_end(stream).await;
    let cookie = answer.lines().find_map(|line| line.strip_prefix("set-cookie: flotilla_session="));
    let session = cookie.and_then(|cookie| cookie.split(';').next()).unwrap_or_else(|| panic!("{answer}"));
    format!("cookie: flotilla_session={session}")
}

/// The response to a request of a signed-in browser.
pub async fn read(server: &ServerProcess, path: &str, cookie: &str) -> String {
    let head = format!("GET {path} HTTP/1.1\r\nhost: x\r\nconnection: close\r\n{cookie}\r\n\r\n");
    let mut stream = TcpStream::connect(&server.console).await.unwrap();
    stream.write_all(head.as_bytes()).await.unwrap();
    read_to_end(stream).await
}

/// How many responses have this status.
fn count(answers: &[(String, TcpStream)], status: &str) -> usize {
    answers.iter().filter(|(line, _)| line == status).count()
}

async fn create_large_workload(server: &ServerProcess, bytes: usize) {
    let spec = workload_spec(large_text(bytes), &[]);
    let new = NewWorkload { name: "large".to_owned(), spec, ..NewWorkload::default() };
    server.client.create_workload(&new).await.unwrap();
}

#[tokio::test(flavor = "multi_thread")]
async fn p19_many_large_responses_that_nobody_reads_need_a_bounded_amount_of_memory() {
    let server = ServerProcess::start(0).await;
    create_large_workload(&server, TEXT_BYTES).await;
    server.client.get_workload("large").await.unwrap();
    let before = server.memory_kib("VmHWM");
    let mut reads = JoinSet::new();
    for _ in 0..READS {
        let header = format!("authorization: Bearer {}", server.token);
        reads.spawn(begin_read(server.console.clone(), WORKLOAD.to_owned(), header));
    }
    let answers = reads.join_all().await;
    let (sent, refused) = (count(&answers, SENT), count(&answers, BUSY));
    assert!(sent > 0 && refused > 0 && sent + refused == READS, "{sent} {refused}");
    let growth = server.memory_kib("VmHWM") - before;
    assert!(growth < MAX_GROWTH, "the peak grew by {growth} KiB for {sent} responses");
    // Small responses are served meanwhile, and large ones of another user.
    server.client.get_server_status().await.unwrap();
    server.other_client.get_workload("large").await.unwrap();
    // What was reserved is free again when the clients are gone.
    drop(answers);
    server.client.get_workload("large").await.unwrap();
}

#[tokio::test(flavor = "multi_thread")]
async fn p19_many_large_pages_that_nobody_reads_need_a_bounded_amount_of_memory() {
    let server = ServerProcess::start(0).await;
    create_large_workload(&server, PAGE_TEXT_BYTES).await;
    let cookie = sign_in(&server).await;
    let first = read(&server, "/workloads/large?tab=config", &cookie).await;
    let begin: String = first.chars().take(500).collect();
    assert!(first.starts_with(SENT) && first.len() > PAGE_TEXT_BYTES, "{} bytes: {begin}", first.len());
    let before = server.memory_kib("VmHWM");
    let mut reads = JoinSet::new();
    for number in 0..PAGE_READS {
        // Each in another spelling, and with another query.
        let name = if number % 2 == 0 { "large" } else { "l%61rge" };
        let page = format!("/workloads/{name}?tab=config&n={number}");
        reads.spawn(begin_read(server.console.clone(), page, cookie.clone()));
    }
    let mut answers = reads.join_all().await;
    let (sent, refused) = (count(&answers, SENT), count(&answers, BUSY));
    assert!(sent > 0 && refused > 0 && sent + refused == PAGE_READS, "{sent} {refused}");
    let growth = server.memory_kib("VmHWM") - before;
    assert!(growth < MAX_GROWTH, "the peak grew by {growth} KiB for {sent} pages");
    // A browser shows why.
    let position = answers.iter().position(|(line, _)| line == BUSY).unwrap();
    let (_, mut stream) = answers.swap_remove(position);
    let mut text = String::new();
    while !text.contains("</html>") {
        let mut bytes = [0; 4_096];
        let received = stream.read(&mut bytes).await.unwrap();
        assert!(received > 0, "{text}");
        text.push_str(&String::from_utf8_lossy(&bytes[..received]));
    }
    assert!(text.contains("<h1>The server is busy</h1>"), "{text}");
    // Which of the limits of a user is reached first depends on how fast pages are rendered.
    let limits = ["your large responses", "requests that run already, which is the limit"];
    assert!(limits.iter().any(|limit| text.contains(limit)), "{text}");
    // Another user reads large responses meanwhile.
    server.other_client.get_workload("large").await.unwrap();
}

#[tokio::test(flavor = "multi_thread")]
async fn p19_a_large_text_is_not_in_a_page_and_is_read_after_it() {
    let server = ServerProcess::start(0).await;
    create_large_workload(&server, TEXT_BYTES).await;
    let cookie = sign_in(&server).await;
    for page in ["/workloads/large/edit", "/workloads/large?tab=config"] {
        let page = read(&server, page, &cookie).await;
        let begin: String = page.chars().take(500).collect();
        assert!(page.starts_with(SENT) && page.len() < 1 << 20, "{} bytes: {begin}", page.len());
        assert!(page.contains("The files have 8 MiB in all"), "{begin}");
    }
    let whole = read(&server, "/api/fn/source_read?name=large&is_whole=true", &cookie).await;
    assert!(whole.starts_with(SENT) && whole.len() > TEXT_BYTES, "{} bytes", whole.len());
}
