//! `GET /api/v1/watch`

use std::time::Duration;

use axum::body::{Body, BodyDataStream};
use axum::http::{Method, StatusCode};
use futures::StreamExt as _;
use serde_json::Value;
use tower::ServiceExt as _;

use crate::house::House;

const WATCH: &str = "/api/v1/watch";

/// One frame of the stream.
#[derive(Debug, Default, PartialEq, Eq)]
struct Frame {
    id: String,
    event: String,
    data: String,
}

struct Stream {
    body: BodyDataStream,
    text: String,
}

impl Stream {
    async fn open(house: &House, path: &str, last_event_id: Option<i64>) -> Self {
        let id = last_event_id.map(|id| id.to_string());
        let headers: Vec<(&str, &str)> = id.iter().map(|id| ("last-event-id", &**id)).collect();
        let request = house.request(Method::GET, path, &headers, Body::empty());
        let response = house.built.router.clone().oneshot(request).await.unwrap();
        assert_eq!(response.status(), StatusCode::OK);
        assert_eq!(response.headers()["content-type"], "text/event-stream");
        assert!(
            !response.headers().contains_key("content-encoding"),
            "a stream is not held back to be compressed"
        );
        Self { body: response.into_body().into_data_stream(), text: String::new() }
    }

    /// The next frame; the time is only there so that a missing one fails the test instead of hanging it.
    async fn next(&mut self) -> Option<Frame> {
        loop {
            if let Some((block, rest)) = self.text.split_once("\n\n") {
                let frame = read(block);
                self.text = rest.to_owned();
                if frame != Frame::default() {
                    return Some(frame);
                }
                continue;
            }
            let bytes =
                tokio::time::timeout(Duration::from_secs(20), self.body.next()).await.unwrap()?.unwrap();
            self.text.push_str(std::str::from_utf8(&bytes).unwrap());
        }
    }
}

fn read(block: &str) -> Frame {
    let field = |name: &str| {
        let line = block.lines().find_map(|line| line.strip_prefix(name));
        line.unwrap_or_default().trim().to_owned()
    };
    Frame { id: field("id:"), event: field("event:"), data: field("data:") }
}

async fn last_seq(house: &House) -> i64 {
    house.get("/api/v1/events?limit=1").await.json()["items"][0]["seq"].as_i64().unwrap()
}

#[tokio::test]
async fn a_change_is_told_as_a_signal_with_its_position() {
    let house = House::new().await;
    let mut stream = Stream::open(&house, WATCH, None).await;
    assert_eq!(stream.next().await.unwrap().event, "", "first where we are");
    let id = house.workload("web").await["id"].clone();
    let frame = stream.next().await.unwrap();
    let data: Value = serde_json::from_str(&frame.data).unwrap();
    assert_eq!((&*frame.event, frame.id.parse().ok()), ("change", Some(last_seq(&house).await)));
    assert_eq!((&data["kind"], &data["workload"]), (&Value::from("workloadCreated"), &id));
    assert!(!frame.data.contains("apiVersion"), "no data, only signals");
}

#[tokio::test]
async fn who_comes_back_misses_nothing() {
    let house = House::new().await;
    house.workload("a").await;
    let seen = last_seq(&house).await;
    house.workload("b").await;
    house.workload("c").await;
    for (path, header) in [
        (WATCH.to_owned(), Some(seen)),
        (format!("{WATCH}?after={seen}"), None),
        (format!("{WATCH}?since={seen}"), None),
    ] {
        let mut stream = Stream::open(&house, &path, header).await;
        assert_eq!(stream.next().await.unwrap().id, seen.to_string());
        let ids = [stream.next().await.unwrap().id, stream.next().await.unwrap().id];
        assert_eq!(ids, [(seen + 1).to_string(), (seen + 2).to_string()], "{path}");
    }
}

#[tokio::test]
async fn who_has_seen_more_than_there_is_looks_at_everything_again() {
    let house = House::new().await;
    house.workload("a").await;
    let mut stream = Stream::open(&house, WATCH, Some(999_999)).await;
    stream.next().await;
    let frame = stream.next().await.unwrap();
    assert_eq!((&*frame.event, frame.id), ("resync", last_seq(&house).await.to_string()));
}

#[tokio::test]
async fn who_missed_too_much_looks_at_everything_again() {
    let house = House::new().await;
    house.workload("a").await;
    let seen = last_seq(&house).await;
    house.cluster("eu-1", &[]).await;
    for n in 0..501 {
        let edit = hub::ClusterEdit { schedulable: Some(n % 2 == 0), ..hub::ClusterEdit::default() };
        house.hub.cluster_edit(&house.actor, "eu-1", edit, None).await.unwrap();
    }
    let mut stream = Stream::open(&house, WATCH, Some(seen)).await;
    stream.next().await;
    let frame = stream.next().await.unwrap();
    assert_eq!((&*frame.event, frame.id), ("resync", last_seq(&house).await.to_string()));
}

#[tokio::test]
async fn of_a_burst_about_one_thing_less_is_told_than_happened_and_the_end_is() {
    let house = House::new().await;
    house.cluster("eu-1", &[]).await;
    let mut stream = Stream::open(&house, WATCH, None).await;
    stream.next().await;
    for n in 0..100 {
        let edit = hub::ClusterEdit { schedulable: Some(n % 2 == 0), ..hub::ClusterEdit::default() };
        house.hub.cluster_edit(&house.actor, "eu-1", edit, None).await.unwrap();
    }
    let last = last_seq(&house).await.to_string();
    let mut told = 0;
    while stream.next().await.unwrap().id != last {
        told += 1;
    }
    assert!(told < 100, "{told}");
}

#[tokio::test]
async fn a_stream_ends_when_the_server_does() {
    let stop = tokio_util::sync::CancellationToken::new();
    let given = stop.clone();
    let house = House::with(|hub| server::Options { stop: given, ..server::Options::bare(hub) }).await;
    let mut stream = Stream::open(&house, WATCH, None).await;
    stream.next().await;
    stop.cancel();
    assert_eq!(stream.next().await, None);
}
