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

const WORKLOAD: &str = "/api/v1/projects/default/workloads/large";

/// A text that is nothing but comments.
fn large_text() -> String {
    let line = format!("# {}\n", "a".repeat(1021));
    let lines = line.repeat(TEXT_BYTES / line.len());
    format!("{lines}apiVersion: v1\nkind: ConfigMap\nmetadata: {{name: large}}\n")
}

/// Requests the workload, and reads the version and the status of the response.
async fn begin_read(address: String, token: String) -> (String, TcpStream) {
    let socket = TcpSocket::new_v4().unwrap();
    // What is not read stays at the server.
    socket.set_recv_buffer_size(8 << 10).unwrap();
    let mut stream = socket.connect(address.parse().unwrap()).await.unwrap();
    let head = format!("GET {WORKLOAD} HTTP/1.1\r\nhost: x\r\nauthorization: Bearer {token}\r\n\r\n");
    stream.write_all(head.as_bytes()).await.unwrap();
    let mut line = [0; 12];
    stream.read_exact(&mut line).await.unwrap();
    (String::from_utf8_lossy(&line).into_owned(), stream)
}

#[tokio::test(flavor = "multi_thread")]
async fn p19_many_large_responses_that_nobody_reads_need_a_bounded_amount_of_memory() {
    let server = ServerProcess::start(0).await;
    let spec = workload_spec(large_text(), &[]);
    let new = NewWorkload { name: "large".to_owned(), spec, ..NewWorkload::default() };
    server.client.create_workload(&new).await.unwrap();
    server.client.get_workload("large").await.unwrap();
    let before = server.memory_kib("VmHWM");
    let mut reads = JoinSet::new();
    for _ in 0..READS {
        reads.spawn(begin_read(server.console.clone(), server.token.clone()));
    }
    let answers = reads.join_all().await;
    let count =
        |status: &str| answers.iter().filter(|(line, _)| line == &format!("HTTP/1.1 {status}")).count();
    let (sent, refused) = (count("200"), count("503"));
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
