//! A server that may use 1 GiB survives hostile inputs, and serves others meanwhile (P19, P20).

use std::pin::pin;
use std::sync::atomic::{AtomicUsize, Ordering::Relaxed};
use std::time::Duration;

use domain::workload::NewWorkload;
use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};
use tokio::net::TcpStream;
use tokio::task::JoinSet;
use tokio::time::Instant;
use wire::ValidateRequest;

use crate::budgets::{call_server_fn, large_chart};
use crate::control_group::ControlGroup;
use crate::nested_charts::{read_nested_charts, upload_nested_charts};
use crate::nested_json::{
    create_with_nested_patches, read_clusters_with_nested_values, report_nested_values,
};
use crate::responses::sign_in;
use crate::server_process::{ServerProcess, wait_until, workload_spec};

/// What the server may use.
const MEMORY: u64 = 1 << 30;
/// Its clusters, all of them offline.
const CLUSTERS: usize = 100;
/// Requests of each kind at the same time.
const UPLOADS: usize = 32;
const JSON_BODIES: usize = 8;
const FORMS: usize = 12;
const WEBHOOKS: usize = 200;
const CHECKS: usize = 16;
const READS: usize = 100;
/// Connections that send a part of a head.
const CONNECTIONS: usize = 500;

/// A ConfigMap with this value.
fn config_map(name: &str, value: &str) -> String {
    format!("apiVersion: v1\nkind: ConfigMap\nmetadata: {{name: {name}}}\ndata: {{value: '{value}'}}\n---\n")
}

fn check_of(text: String) -> ValidateRequest {
    ValidateRequest { name: "web".to_owned(), spec: workload_spec(text, &[]) }
}

/// A server that may use 1 GiB, and how many processes of it the kernel has ended.
struct LimitedServer {
    // Ends before its group is removed.
    server: ServerProcess,
    group: ControlGroup,
    /// The requests of another user that were served while hostile ones were sent.
    served: AtomicUsize,
}

impl LimitedServer {
    /// Sends hostile requests, and meanwhile those of another user, one after the other. That user is served, at the latest afterwards.
    async fn survive(&self, what: &str, hostile: impl Future<Output = ()>) {
        let mut durations = Vec::new();
        let mut refused = 0;
        let mut hostile = pin!(hostile);
        loop {
            let begun = Instant::now();
            tokio::select! {
                () = &mut hostile => break,
                is_served = Box::pin(self.work_honestly()) => {
                    durations.push(begun.elapsed());
                    refused += usize::from(!is_served);
                }
            }
        }
        assert_eq!(self.group.count_kills(), 0, "the kernel has ended the server: {what}");
        // What nobody awaits any more may still run: on a busy machine longer than a client retries.
        wait_until(&format!("another user is served after {what}"), async || {
            Box::pin(self.work_honestly()).await
        })
        .await;
        self.served.fetch_add(durations.len() - refused, Relaxed);
        eprintln!(
            "{what}: {} requests of another user, {refused} refused, p99 {:?}, peak {} MiB",
            durations.len(),
            find_p99(&mut durations),
            self.server.memory_kib("VmHWM") >> 10
        );
    }

    /// A check of a small workload and a list; whether both are served. Only a server that is busy, and says so, may refuse one.
    async fn work_honestly(&self) -> bool {
        let client = &self.server.other_client;
        let checked = client.validate_workload(&check_of(config_map("honest", "1"))).await.map(drop);
        let listed = client.list_clusters(&domain::page::ListQuery::default()).await.map(drop);
        for error in [&checked, &listed].into_iter().filter_map(|result| result.as_ref().err()) {
            let kills = self.group.count_kills();
            assert!(
                matches!(error.code(), "ServerBusy" | "Timeout"),
                "{error}; the kernel has ended {kills} processes"
            );
        }
        checked.is_ok() && listed.is_ok()
    }
}

fn find_p99(durations: &mut [Duration]) -> Option<Duration> {
    durations.sort_unstable();
    durations.get(durations.len().saturating_sub(1) * 99 / 100).copied()
}

/// Sends a request whose answer closes the connection, and reads the answer. A request that is refused early is cut off.
async fn send(console: String, request: Vec<u8>) {
    let Ok(mut stream) = TcpStream::connect(&console).await else { return };
    let _ = stream.write_all(&request).await;
    let _ = stream.read_to_end(&mut Vec::new()).await;
}

/// Charts of 50 MiB each.
async fn upload_charts(server: &ServerProcess) {
    let mut uploads = JoinSet::new();
    for number in 0..UPLOADS {
        let client = server.client.clone();
        uploads.spawn(async move { client.upload_chart(large_chart(number)).await.map(drop) });
    }
    drop(uploads.join_all().await);
}

/// Bodies in JSON with as many fields as their size allows.
async fn send_json(server: &ServerProcess) {
    let fields: String = (0..900_000).map(|number| format!("\"x{number:07}\":0,")).collect();
    let body = format!("{{{fields}\"end\":0}}");
    let head = format!(
        "POST /api/v1/projects/default/workloads HTTP/1.1\r\nhost: x\r\nauthorization: Bearer {}\r\n\
         connection: close\r\ncontent-type: application/json\r\ncontent-length: {}\r\n\r\n",
        server.token,
        body.len()
    );
    let request = (head + &body).into_bytes();
    let mut requests = JoinSet::new();
    for _ in 0..JSON_BODIES {
        requests.spawn(send(server.console.clone(), request.clone()));
    }
    drop(requests.join_all().await);
}

/// Forms in which each level of the name of a field is a map.
async fn send_forms(server: &ServerProcess, cookie: &str) {
    let body: String = (0..50_000).map(|number| format!("{number:x}[a][a][a][a]&")).collect();
    let mut calls = JoinSet::new();
    for _ in 0..FORMS {
        let headers = format!("{cookie}\r\ncontent-type: application/x-www-form-urlencoded");
        let (console, body) = (server.console.clone(), body.clone());
        calls.spawn(async move { drop(call_server_fn(console, headers, body).await) });
    }
    drop(calls.join_all().await);
}

/// Webhooks without a secret, of 1 MiB each.
async fn send_webhooks(server: &ServerProcess) {
    let mut request =
        "POST /api/v1/projects/default/git-webhooks/nope HTTP/1.1\r\nhost: x\r\nx-gitlab-token: secret\r\n\
                       connection: close\r\ncontent-length: 1048576\r\n\r\n"
            .as_bytes()
            .to_vec();
    request.resize(request.len() + (1 << 20), b'x');
    let mut requests = JoinSet::new();
    for _ in 0..WEBHOOKS {
        requests.spawn(send(server.console.clone(), request.clone()));
    }
    drop(requests.join_all().await);
}

/// Checks of one text at the same time.
async fn check_drafts(server: &ServerProcess, count: usize, text: String) {
    let mut checks = JoinSet::new();
    for _ in 0..count {
        let (client, request) = (server.client.clone(), check_of(text.clone()));
        checks.spawn(async move { client.validate_workload(&request).await.map(drop) });
    }
    drop(checks.join_all().await);
}

/// Reads of a large workload by clients that read only the beginning.
async fn read_nothing(server: &ServerProcess) {
    let head = format!(
        "GET /api/v1/projects/default/workloads/large HTTP/1.1\r\nhost: x\r\nauthorization: Bearer {}\r\n\r\n",
        server.token
    );
    let mut reads = JoinSet::new();
    for _ in 0..READS {
        let (console, head) = (server.console.clone(), head.clone());
        reads.spawn(async move {
            let mut stream = TcpStream::connect(&console).await.ok()?;
            stream.write_all(head.as_bytes()).await.ok()?;
            stream.read_exact(&mut [0; 12]).await.ok()?;
            Some(stream)
        });
    }
    // All of them are open until the last one has begun.
    drop(reads.join_all().await);
}

/// Connections on which a request begins and does not go on.
async fn open_connections(server: &ServerProcess) {
    let mut open = Vec::new();
    for _ in 0..CONNECTIONS {
        let Ok(mut stream) = TcpStream::connect(&server.console).await else { continue };
        let _ = stream.write_all(b"GET / HTTP/1.1\r\nhost: x\r\nx-slow: ").await;
        open.push(stream);
    }
    tokio::time::sleep(Duration::from_secs(2)).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn p19_p20_a_server_with_1_gib_survives_hostile_inputs_and_serves_others_meanwhile() {
    let Some(group) = ControlGroup::create(MEMORY) else { return };
    let server = ServerProcess::start_in(CLUSTERS, Some(&group)).await;
    let limited = LimitedServer { server, group, served: AtomicUsize::new(0) };
    let server = &limited.server;
    let cookie = sign_in(server).await;
    let large =
        format!("{}{}", format!("# {}\n", "a".repeat(1021)).repeat(8 << 10), config_map("large", "1"));
    let new =
        NewWorkload { name: "large".to_owned(), spec: workload_spec(large, &[]), ..NewWorkload::default() };
    server.client.create_workload(&new).await.unwrap();

    limited.survive("uploads of charts", upload_charts(server)).await;
    let viewer = upload_nested_charts(server).await;
    let nested = async { drop(read_nested_charts(server, &viewer, &cookie).await) };
    limited.survive("charts with a million values", nested).await;
    limited.survive("bodies with many fields", send_json(server)).await;
    limited.survive("forms with nested names", send_forms(server, &cookie)).await;
    limited.survive("webhooks of anyone", send_webhooks(server)).await;
    limited.survive("responses that nobody reads", read_nothing(server)).await;
    limited.survive("connections that send a part of a head", open_connections(server)).await;

    limited.survive("patches with nested values", create_with_nested_patches(server)).await;
    let agents = [server.join_agent("eu").await, server.join_agent("us").await];
    limited.survive("reports with nested values", report_nested_values(&agents)).await;
    limited.survive("clusters with nested values", read_clusters_with_nested_values(server)).await;

    let doubling = format!("${{{{ cluster.name{} }}}}", " | map(\"{}{}\")".repeat(40));
    let doubling = config_map("doubling", &doubling);
    limited.survive("expressions that double", check_drafts(server, CHECKS, doubling)).await;
    let value = format!("{}${{{{ cluster.name }}}}", "x".repeat(900_000));
    let templated: String = (0..4).map(|number| config_map(&format!("m{number}"), &value)).collect();
    limited.survive("a large template for many clusters", check_drafts(server, 4, templated)).await;
    let anchors: String =
        (1..12).map(|n| format!("a{n}: &a{n} [{}]\n", format!("*a{}, ", n - 1).repeat(9))).collect();
    let bomb = format!("a0: &a0 [x, x, x, x, x, x, x, x, x]\n{anchors}");
    limited.survive("aliases that expand", check_drafts(server, CHECKS, bomb)).await;
    assert!(limited.served.load(Relaxed) > 0, "nobody was served meanwhile");
}
