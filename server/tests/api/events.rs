//! `/api/v1/events` and the pages with events, whatever was stored.

use axum::body::Body;
use axum::http::{Request, StatusCode};
use hub::{Clock, Hub, HubConfig};
use server::SiteOptions;
use sqlx::ConnectOptions as _;

use crate::sessions::{cookie, sign_in};
use crate::test_server::TestServer;

/// Created workloads, each of which has one event.
const WORKLOADS: usize = 12;
/// The length of the sentence of an event that an earlier version stored.
const MESSAGE_BYTES: usize = 100_000;

#[tokio::test(flavor = "multi_thread")]
async fn p19_pages_of_long_events_of_an_earlier_version_end_early_and_the_fleet_page_is_served() {
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("flotilla.db");
    let database = format!("sqlite://{}", file.display());
    let hub = Hub::open(HubConfig::new(database, Clock::system())).await.unwrap();
    let server = TestServer::start_over(hub, folder, SiteOptions::bare).await;
    server.register_cluster("eu-1", &[]).await;
    for number in 0..WORKLOADS {
        server.create_workload(&format!("w-{number:02}")).await;
    }
    let mut connection = sqlx::sqlite::SqliteConnectOptions::new().filename(file).connect().await.unwrap();
    let long = "x".repeat(MESSAGE_BYTES);
    let update = sqlx::query("UPDATE event SET message = $1 WHERE workload_name <> ''").bind(long);
    assert_eq!(update.execute(&mut connection).await.unwrap().rows_affected(), WORKLOADS as u64);

    let (mut names, mut lengths, mut path) = (Vec::new(), Vec::new(), "/api/v1/events?limit=500".to_owned());
    loop {
        let page = server.get(&path).await;
        assert_eq!(page.status, StatusCode::OK, "{}", page.text);
        assert!(page.text.len() < MESSAGE_BYTES / 2, "{} bytes", page.text.len());
        let page = page.json();
        let items = page["items"].as_array().unwrap();
        lengths.push(items.len());
        let of_workloads = items.iter().filter_map(|event| event["workloadName"].as_str());
        names.extend(of_workloads.filter(|name| !name.is_empty()).map(str::to_owned));
        let Some(next) = page["next"].as_i64() else { break };
        path = format!("/api/v1/events?limit=500&before={next}");
    }
    let created: Vec<String> = (0..WORKLOADS).rev().map(|number| format!("w-{number:02}")).collect();
    assert_eq!(names, created, "no event is left out");
    assert!(lengths.len() >= WORKLOADS / 2, "{lengths:?}");

    let cookie = cookie(&sign_in(&server).await);
    for path in ["/", "/events"] {
        let request = Request::get(path).header("cookie", &cookie).header("accept", "text/html");
        let page = server.send_raw(request.body(Body::empty()).unwrap()).await;
        assert_eq!(page.status, StatusCode::OK, "{path}");
        assert!(page.text.contains("w-11"), "{path} shows the newest event");
    }
}
