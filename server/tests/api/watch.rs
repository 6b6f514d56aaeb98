//! `GET /api/v1/watch`

use axum::body::{Body, BodyDataStream};
use axum::http::{Method, StatusCode};
use domain::role::Role;
use futures::StreamExt as _;
use serde_json::Value;
use tower::ServiceExt as _;

use crate::roles::RoleUser;
use crate::sessions::form;
use crate::test_server::{TestResponse, TestServer};

const WATCH: &str = "/api/v1/watch";

/// One frame of the stream.
#[derive(Debug, Default, PartialEq, Eq)]
struct WatchFrame {
    id: String,
    event: String,
    data: String,
}

pub struct OpenWatch {
    body: BodyDataStream,
    text: String,
}

impl OpenWatch {
    async fn open(server: &TestServer, path: &str, last_event_id: Option<i64>) -> Self {
        let id = last_event_id.map(|id| id.to_string());
        let headers: Vec<(&str, &str)> = id.iter().map(|id| ("last-event-id", &**id)).collect();
        let request = server.request(Method::GET, path, &headers, Body::empty());
        let response = server.app.router.clone().oneshot(request).await.unwrap();
        assert_eq!(response.status(), StatusCode::OK);
        assert_eq!(response.headers()["content-type"], "text/event-stream");
        assert!(
            !response.headers().contains_key("content-encoding"),
            "a stream is not compressed, which would delay events"
        );
        Self { body: response.into_body().into_data_stream(), text: String::new() }
    }

    /// The next frame. The timeout makes a missing frame fail the test.
    async fn next(&mut self) -> Option<WatchFrame> {
        loop {
            if let Some((block, rest)) = self.text.split_once("\n\n") {
                let frame = parse_frame(block);
                self.text = rest.to_owned();
                if frame != WatchFrame::default() {
                    return Some(frame);
                }
                continue;
            }
            let bytes = tokio::time::timeout(testkit::patience(), self.body.next()).await.unwrap()?.unwrap();
            self.text.push_str(std::str::from_utf8(&bytes).unwrap());
        }
    }
}

fn parse_frame(block: &str) -> WatchFrame {
    let field = |name: &str| {
        let line = block.lines().find_map(|line| line.strip_prefix(name));
        line.unwrap_or_default().trim().to_owned()
    };
    WatchFrame { id: field("id:"), event: field("event:"), data: field("data:") }
}

async fn last_seq(server: &TestServer) -> i64 {
    server.get("/api/v1/events?limit=1").await.json()["items"][0]["seq"].as_i64().unwrap()
}

#[tokio::test]
async fn a_change_is_sent_as_a_signal_with_its_position() {
    let server = TestServer::start().await;
    let mut stream = OpenWatch::open(&server, WATCH, None).await;
    assert_eq!(stream.next().await.unwrap().event, "", "the first frame has the position only");
    let id = server.create_workload("web").await["id"].clone();
    let frame = stream.next().await.unwrap();
    let data: Value = serde_json::from_str(&frame.data).unwrap();
    assert_eq!((&*frame.event, frame.id.parse().ok()), ("change", Some(last_seq(&server).await)));
    assert_eq!((&data["kind"], &data["workload"]), (&Value::from("workloadCreated"), &id));
    assert!(!frame.data.contains("apiVersion"), "no data, only signals");
}

#[tokio::test]
async fn a_client_that_reconnects_misses_no_change() {
    let server = TestServer::start().await;
    server.create_workload("a").await;
    let position = last_seq(&server).await;
    server.create_workload("b").await;
    server.create_workload("c").await;
    for (path, header) in [
        (WATCH.to_owned(), Some(position)),
        (format!("{WATCH}?after={position}"), None),
        (format!("{WATCH}?since={position}"), None),
    ] {
        let mut stream = OpenWatch::open(&server, &path, header).await;
        assert_eq!(stream.next().await.unwrap().id, position.to_string());
        let ids = [stream.next().await.unwrap().id, stream.next().await.unwrap().id];
        assert_eq!(ids, [(position + 1).to_string(), (position + 2).to_string()], "{path}");
    }
}

#[tokio::test]
async fn a_position_ahead_of_the_log_is_answered_with_resync() {
    let server = TestServer::start().await;
    server.create_workload("a").await;
    let mut stream = OpenWatch::open(&server, WATCH, Some(999_999)).await;
    stream.next().await;
    let frame = stream.next().await.unwrap();
    assert_eq!((&*frame.event, frame.id), ("resync", last_seq(&server).await.to_string()));
}

#[tokio::test]
async fn too_many_missed_changes_are_answered_with_resync() {
    let server = TestServer::start().await;
    server.create_workload("a").await;
    let position = last_seq(&server).await;
    server.register_cluster("eu-1", &[]).await;
    for n in 0..501 {
        let edit = wire::ClusterPatch { schedulable: Some(n % 2 == 0), ..wire::ClusterPatch::default() };
        server.hub.edit_cluster(&server.actor, "eu-1", edit, None).await.unwrap();
    }
    let mut stream = OpenWatch::open(&server, WATCH, Some(position)).await;
    stream.next().await;
    let frame = stream.next().await.unwrap();
    assert_eq!((&*frame.event, frame.id), ("resync", last_seq(&server).await.to_string()));
}

#[tokio::test]
async fn a_burst_of_changes_of_one_object_is_coalesced_and_the_last_one_sent() {
    let server = TestServer::start().await;
    server.register_cluster("eu-1", &[]).await;
    let mut stream = OpenWatch::open(&server, WATCH, None).await;
    stream.next().await;
    for n in 0..100 {
        let edit = wire::ClusterPatch { schedulable: Some(n % 2 == 0), ..wire::ClusterPatch::default() };
        server.hub.edit_cluster(&server.actor, "eu-1", edit, None).await.unwrap();
    }
    let last = last_seq(&server).await.to_string();
    let mut received = 0;
    while stream.next().await.unwrap().id != last {
        received += 1;
    }
    assert!(received < 100, "{received}");
}

#[tokio::test]
async fn a_stream_ends_at_shutdown() {
    let stop = tokio_util::sync::CancellationToken::new();
    let server_stop = stop.clone();
    let server = TestServer::start_with(|hub| server::SiteOptions {
        stop: server_stop,
        ..server::SiteOptions::bare(hub)
    })
    .await;
    let mut stream = OpenWatch::open(&server, WATCH, None).await;
    stream.next().await;
    stop.cancel();
    assert_eq!(stream.next().await, None);
}

#[tokio::test]
async fn p20_a_user_has_a_limited_number_of_streams_and_may_open_another_when_one_ends() {
    let server = TestServer::start().await;
    let mut streams = Vec::new();
    let refused = loop {
        let request = server.request(Method::GET, WATCH, &[], Body::empty());
        let response = server.app.router.clone().oneshot(request).await.unwrap();
        match response.status() {
            StatusCode::OK => streams.push(response.into_body()),
            _ => break TestResponse::read(response).await,
        }
        assert!(streams.len() < 300, "300 streams are open");
    };
    assert_eq!((streams.len(), refused.problem()), (64, (429, "TooManyStreams".to_owned())));
    assert_eq!(refused.header("retry-after"), "30");
    assert!(
        refused.text.contains("64 open event streams") && refused.text.contains("Close"),
        "{}",
        refused.text
    );
    assert_eq!(server.get("/api/v1/clusters").await.status, StatusCode::OK, "other requests are served");
    drop(streams.pop());
    // The server notices the end of a stream shortly after.
    let begun = tokio::time::Instant::now();
    while server.get_status(WATCH).await != StatusCode::OK {
        assert!(begun.elapsed() < testkit::patience(), "the stream still counts");
        tokio::task::yield_now().await;
    }
}

/// Opens a stream with these credentials and reads the frame with which it begins.
pub async fn open_as(server: &TestServer, header: (&str, &str)) -> OpenWatch {
    let request = axum::http::Request::get(WATCH).header(header.0, header.1).body(Body::empty()).unwrap();
    let response = server.app.router.clone().oneshot(request).await.unwrap();
    assert_eq!(response.status(), StatusCode::OK);
    let mut stream = OpenWatch { body: response.into_body().into_data_stream(), text: String::new() };
    stream.next().await.unwrap();
    stream
}

/// Reads until the stream ends. A frame that does not come within the timeout fails the test.
pub async fn read_to_end(mut stream: OpenWatch) {
    while stream.next().await.is_some() {}
}

#[tokio::test]
async fn a_stream_ends_with_its_session_its_token_its_user_and_its_role() {
    let server = TestServer::start().await;
    let (editor, viewer) =
        (RoleUser::create(&server, Role::Editor).await, RoleUser::create(&server, Role::Viewer).await);
    let bearer = format!("Bearer {}", editor.token);

    let stream = open_as(&server, ("cookie", &editor.cookie)).await;
    let signed_out = form("/api/fn/sign_out", "", &[("cookie", &editor.cookie)]);
    assert_eq!(server.send_raw(signed_out).await.status, StatusCode::OK);
    read_to_end(stream).await;

    let stream = open_as(&server, ("authorization", &bearer)).await;
    server.hub.set_user_role(&server.actor, "editor", Role::Viewer).await.unwrap();
    read_to_end(stream).await;

    let tokens = server.hub.list_tokens(&editor.actor).await.unwrap();
    let stream = open_as(&server, ("authorization", &bearer)).await;
    server.hub.delete_token(&editor.actor, tokens[0].id).await.unwrap();
    read_to_end(stream).await;

    let stream = open_as(&server, ("cookie", &viewer.cookie)).await;
    server.hub.disable_user(&server.actor, "viewer").await.unwrap();
    read_to_end(stream).await;
}
