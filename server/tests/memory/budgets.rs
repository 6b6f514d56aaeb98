//! Many inputs at the same time need a bounded amount of memory together, and those beyond it are told to try again (P19).

use flate2::Compression;
use flate2::write::GzEncoder;
use futures::future::{pending, select_all};
use tar::{Builder, Header};
use tokio::io::{AsyncRead, AsyncReadExt as _, AsyncWriteExt as _};
use tokio::net::TcpStream;
use tokio::select;
use tokio::task::JoinSet;

use crate::responses::sign_in;
use crate::server_process::ServerProcess;

const MIB: u64 = 1024;
/// Uploads at the same time. Without a budget, they need 50 MiB each.
const UPLOADS: usize = 32;
/// How much the peak may grow by all of them, in KiB: the budgets of bodies and of charts, in a debug build.
const MAX_UPLOAD_GROWTH: u64 = 800 * MIB;
/// The size that an unfinished upload states.
const LARGEST_BODY: usize = 12 << 20;
/// So many of the largest bodies are more than one user may have.
const UNFINISHED: usize = 6;
/// So many bodies would need more than one user may have, if they were reserved by the size that they state.
const SLOW: usize = 60;

/// Bodies in JSON at the same time, and their fields. Parsed at once, and with an error for each field, they need more than 1.5 GiB. One of
/// them needs more than a user may have, whatever memory the server has.
const JSON_BODIES: usize = 4;
const MANY_FIELDS: usize = 900_000;
/// How much the peak may grow by all of them, in KiB.
const MAX_JSON_GROWTH: u64 = 500 * MIB;

/// Webhooks at the same time, of 1 MiB each, and how much the peak may grow by all of them, in KiB: their bodies are not in memory.
const WEBHOOKS: usize = 200;
const MAX_WEBHOOK_GROWTH: u64 = 100 * MIB;

/// Forms at the same time, their fields, and how much the peak may grow by all of them, in KiB. Each level of the name of a field is a map:
/// parsed, one form needs more than 100 MiB.
const FORMS: usize = 12;
const NESTED_FIELDS: usize = 50_000;
const MAX_FORM_GROWTH: u64 = 200 * MIB;

/// A packed chart with these files.
pub fn pack_chart<'a>(files: impl IntoIterator<Item = (&'a str, &'a [u8])>) -> Vec<u8> {
    let mut builder = Builder::new(GzEncoder::new(Vec::new(), Compression::fast()));
    for (path, bytes) in files {
        let mut header = Header::new_gnu();
        header.set_size(bytes.len() as u64);
        header.set_mode(0o644);
        builder.append_data(&mut header, path, bytes).unwrap();
    }
    builder.into_inner().unwrap().finish().unwrap()
}

/// Bytes that can't be packed: the content of a chart may not be out of proportion to its packed size.
pub fn make_noise(seed: usize, bytes: usize) -> Vec<u8> {
    let mut state = seed as u64 + 1;
    let mut next = || {
        state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        (state >> 56) as u8
    };
    (0..bytes).map(|_| next()).collect()
}

/// A chart of about 1 MiB whose content has 50 MiB.
pub fn large_chart(number: usize) -> Vec<u8> {
    let description = format!("apiVersion: v2\nname: large\nversion: 1.0.{number}\n");
    let (noise, spaces) = (make_noise(number, 3 << 18), vec![b' '; 10 << 20]);
    let paths: Vec<String> = (0..5).map(|file| format!("large/files/{file}")).collect();
    let described = [("large/Chart.yaml", description.as_bytes()), ("large/noise", noise.as_slice())];
    pack_chart(described.into_iter().chain(paths.iter().map(|path| (path.as_str(), spaces.as_slice()))))
}

#[tokio::test(flavor = "multi_thread")]
async fn p19_many_uploads_of_charts_at_once_need_a_bounded_amount_of_memory() {
    let server = ServerProcess::start(0).await;
    let packed = large_chart(0);
    assert!(packed.len() < 2 << 20, "{} bytes", packed.len());
    server.client.upload_chart(packed).await.unwrap();
    let before = server.memory_kib("VmHWM");
    let mut uploads = JoinSet::new();
    for number in 1..=UPLOADS {
        let client = server.client.clone();
        let packed = large_chart(number);
        uploads.spawn(async move { client.upload_chart(packed).await.map(drop) });
    }
    let results = uploads.join_all().await;
    // What waits too long is refused, and the client has given up after some attempts.
    for error in results.iter().filter_map(|result| result.as_ref().err()) {
        assert_eq!(error.code(), "ServerBusy", "{error}");
    }
    assert!(results.iter().any(Result::is_ok));
    let growth = server.memory_kib("VmHWM") - before;
    assert!(growth < MAX_UPLOAD_GROWTH, "the peak grew by {growth} KiB");
}

/// Sends the head of an upload, and reads nothing.
async fn begin_upload(server: &ServerProcess) -> TcpStream {
    let mut stream = TcpStream::connect(&server.console).await.unwrap();
    let head = format!(
        "POST /api/v1/projects/default/charts HTTP/1.1\r\nhost: x\r\nauthorization: Bearer {}\r\n\
         content-type: application/gzip\r\ncontent-length: {LARGEST_BODY}\r\n\r\n",
        server.token
    );
    stream.write_all(head.as_bytes()).await.unwrap();
    stream
}

#[tokio::test(flavor = "multi_thread")]
async fn p19_a_user_with_too_many_large_bodies_gets_a_503_and_others_are_served() {
    let server = ServerProcess::start(0).await;
    let mut uploads = Vec::new();
    for _ in 0..UNFINISHED {
        let (reader, mut writer) = begin_upload(&server).await.into_split();
        uploads.push(Box::pin(async move {
            // The end is missing. What is refused reads nothing more.
            let sending = async move {
                let _ = writer.write_all(&vec![0; LARGEST_BODY - 1]).await;
                pending::<()>().await;
            };
            select! {
                answer = read_answer(reader) => answer,
                () = sending => String::new(),
            }
        }));
    }
    // Their user has memory for all but one of them. The others stay open for a while without a further byte.
    let (answer, _, _open) = select_all(uploads).await;
    assert!(answer.starts_with("HTTP/1.1 503") && answer.contains("retry-after: 5\r\n"), "{answer:?}");
    assert!(answer.contains("\"ServerBusy\"") && answer.contains("bodies of your requests"), "{answer:?}");
    // Small requests are served, and large ones of another user.
    server.client.get_server_status().await.unwrap();
    server.client.upload_chart(small_chart()).await.unwrap();
    server.other_client.upload_chart(large_chart(0)).await.unwrap();
}

#[tokio::test(flavor = "multi_thread")]
async fn p20_bodies_that_state_much_and_send_nothing_leave_the_memory_to_others_and_end_soon() {
    let server = ServerProcess::start(0).await;
    let mut slow = Vec::new();
    for _ in 0..SLOW {
        slow.push(begin_upload(&server).await);
    }
    // Of the same user, too.
    server.client.upload_chart(large_chart(0)).await.unwrap();
    server.other_client.upload_chart(large_chart(1)).await.unwrap();
    for stream in slow {
        let answer = read_answer(stream).await;
        assert!(answer.starts_with("HTTP/1.1 408") && answer.contains("at least 16 KiB"), "{answer:?}");
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn p19_large_bodies_in_json_at_once_need_a_bounded_amount_of_memory() {
    let server = ServerProcess::start(0).await;
    let fields: String = (0..MANY_FIELDS).map(|number| format!("\"x{number:07}\":0,")).collect();
    let body = format!("{{{fields}\"end\":0}}");
    assert!(body.len() < LARGEST_BODY, "{} bytes", body.len());
    let before = server.memory_kib("VmHWM");
    let mut requests = JoinSet::new();
    for _ in 0..JSON_BODIES {
        let mut stream = TcpStream::connect(&server.console).await.unwrap();
        let head = format!(
            "POST /api/v1/projects/default/workloads HTTP/1.1\r\nhost: x\r\nauthorization: Bearer {}\r\n\
             connection: close\r\ncontent-type: application/json\r\ncontent-length: {}\r\n\r\n",
            server.token,
            body.len()
        );
        let request = head + &body;
        requests.spawn(async move {
            // A request that is refused before its body is read is cut off.
            let mut answer = Vec::new();
            let _ = stream.write_all(request.as_bytes()).await;
            let _ = stream.read_to_end(&mut answer).await;
            String::from_utf8_lossy(&answer).into_owned()
        });
    }
    let answers = requests.join_all().await;
    let is_refused = |answer: &String| {
        answer.starts_with("HTTP/1.1 413")
            && answer.contains("\"TooLarge\"")
            && answer.contains("so many values")
    };
    assert!(answers.iter().any(is_refused), "{answers:?}");
    let growth = server.memory_kib("VmHWM") - before;
    assert!(growth < MAX_JSON_GROWTH, "the peak grew by {growth} KiB");
}

/// Calls a server function with this header and body; the answer, empty if the server did not read the request to its end.
pub async fn call_server_fn(console: String, headers: String, body: String) -> String {
    let mut stream = TcpStream::connect(&console).await.unwrap();
    let head = format!(
        "POST /api/fn/chart_values_check HTTP/1.1\r\nhost: x\r\nconnection: close\r\naccept: application/json\r\n\
         sec-fetch-site: same-origin\r\n{headers}\r\ncontent-length: {}\r\n\r\n",
        body.len()
    );
    let mut answer = Vec::new();
    let _ = stream.write_all((head + &body).as_bytes()).await;
    let _ = stream.read_to_end(&mut answer).await;
    String::from_utf8_lossy(&answer).into_owned()
}

#[tokio::test(flavor = "multi_thread")]
async fn p19_forms_with_nested_names_are_refused_before_they_are_parsed_whatever_their_media_type_is() {
    let server = ServerProcess::start(0).await;
    let cookie = sign_in(&server).await;
    let fields = |count: usize| -> String {
        (0..count).map(|number| format!("{number:x}[a][a][a][a]&")).collect::<String>()
    };
    let before = server.memory_kib("VmHWM");
    let mut calls = JoinSet::new();
    for _ in 0..FORMS {
        let headers = format!("{cookie}\r\ncontent-type: application/x-www-form-urlencoded");
        calls.spawn(call_server_fn(server.console.clone(), headers, fields(NESTED_FIELDS)));
    }
    for answer in calls.join_all().await {
        assert!(answer.starts_with("HTTP/1.1 400") && answer.contains("fields and levels"), "{answer}");
    }
    let headers = format!("{cookie}\r\ncontent-type: text/plain");
    let answer = call_server_fn(server.console.clone(), headers, fields(600_000)).await;
    assert!(answer.is_empty() || answer.starts_with("HTTP/1.1 415"), "{answer}");
    server.client.get_server_status().await.unwrap();
    let growth = server.memory_kib("VmHWM") - before;
    assert!(growth < MAX_FORM_GROWTH, "the peak grew by {growth} KiB");
}

#[tokio::test(flavor = "multi_thread")]
async fn p19_webhooks_that_anyone_sends_need_no_memory_for_their_bodies() {
    let server = ServerProcess::start(0).await;
    let body = vec![b'x'; 1 << 20];
    let head = format!(
        "POST /api/v1/projects/default/git-webhooks/nope HTTP/1.1\r\nhost: x\r\nx-gitlab-token: secret\r\n\
         content-length: {}\r\n\r\n",
        body.len()
    );
    let before = server.memory_kib("VmHWM");
    let mut unfinished = Vec::new();
    for _ in 0..WEBHOOKS {
        let mut stream = TcpStream::connect(&server.console).await.unwrap();
        stream.write_all(head.as_bytes()).await.unwrap();
        stream.write_all(&body[1..]).await.unwrap();
        unfinished.push(stream);
    }
    // Each is answered when it is complete, so that the server has received all of them.
    for mut stream in unfinished {
        stream.write_all(&body[..1]).await.unwrap();
        let answer = read_answer(stream).await;
        assert!(answer.starts_with("HTTP/1.1 401"), "{answer:?}");
    }
    let growth = server.memory_kib("VmHWM") - before;
    assert!(growth < MAX_WEBHOOK_GROWTH, "the peak grew by {growth} KiB");
}

/// Reads an answer with a body in JSON.
async fn read_answer(mut stream: impl AsyncRead + Unpin) -> String {
    let mut answer = String::new();
    while !answer.contains("\r\n\r\n") || !answer.contains('}') {
        let mut bytes = [0; 4_096];
        let count = stream.read(&mut bytes).await.unwrap();
        assert!(count > 0, "{answer:?}");
        answer.push_str(&String::from_utf8_lossy(&bytes[..count]));
    }
    answer
}

/// A chart whose upload needs no reservation for its body.
pub fn small_chart() -> Vec<u8> {
    pack_chart([("small/Chart.yaml", b"apiVersion: v2\nname: small\nversion: 1.0.0\n".as_slice())])
}
