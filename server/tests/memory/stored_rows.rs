//! Long rows that an earlier version stored, and schemas of hostile agents, need a bounded amount of memory (P19).

use domain::report::ReportBatch;
use domain::request::EventQuery;
use domain::schema::{EncodedSchema, MAX_BYTES};
use sqlx::ConnectOptions as _;
use wire::agent::SessionRequest;

use crate::server_process::ServerProcess;

/// Events with a long detail, and its size. Parsed they need thirty times as much: 3 GiB.
const EVENTS: i64 = 200;
const DETAIL_BYTES: usize = 512 << 10;
/// Schemas of 1.6 MB, each of which needs some 200 MiB when it is parsed.
const SCHEMAS: i64 = 8;
/// How much the peak may grow, in KiB.
const MAX_GROWTH: u64 = 256 * 1024;

#[tokio::test(flavor = "multi_thread")]
async fn p19_a_list_of_events_reads_few_of_those_with_long_details_that_an_earlier_version_stored() {
    let server = ServerProcess::start(0).await;
    let values = "0,".repeat(DETAIL_BYTES / 2);
    let object = r#"{"version":"v1","kind":"ConfigMap","name":"web"}"#;
    let detail = format!(
        r#"{{"type":"drift","object":{object},"values":[{{"path":"/data","live":[{values}0]}}],"outcome":"found"}}"#
    );
    let options = sqlx::sqlite::SqliteConnectOptions::new().filename(server.database_file());
    let mut connection = options.connect().await.unwrap();
    for number in 0..EVENTS {
        sqlx::query(
            "INSERT INTO event (seq, created_at, kind, severity, workload_name, cluster_name, actor, message, detail) \
             SELECT $1, MAX(created_at), 'driftFound', 'warning', 'web', 'eu', 'kubectl', 'changed', $2 FROM event",
        )
        .bind(1_000_000 + number)
        .bind(detail.as_str())
        .execute(&mut connection)
        .await
        .unwrap();
    }
    let before = server.memory_kib("VmHWM");
    let mut query = EventQuery { limit: Some(500), ..EventQuery::default() };
    let first = server.client.list_events(&query).await.unwrap();
    assert_eq!((first.items.len(), first.next), (1, Some(1_000_000 + EVENTS - 1)));
    query.before = first.next;
    let second = server.client.list_events(&query).await.unwrap();
    assert_eq!(second.items[0].seq, 1_000_000 + EVENTS - 2);
    let growth = server.memory_kib("VmHWM") - before;
    assert!(growth < MAX_GROWTH, "the peak grew by {growth} KiB");
}

#[tokio::test(flavor = "multi_thread")]
async fn p19_schemas_that_need_too_much_memory_are_refused_before_they_are_parsed() {
    let server = ServerProcess::start(0).await;
    let agent = server.join_agent("eu").await;
    let incarnation = agent.start_session(&SessionRequest::default()).await.unwrap().incarnation;
    let maps = "{\"a\":1},".repeat(MAX_BYTES / 10);
    let before = server.memory_kib("VmHWM");
    for seq in 1..=SCHEMAS {
        let text = format!("{{\"minor\":{seq},\"kinds\":{{}},\"shared\":[\"text\",{maps}\"text\"]}}");
        let schema = EncodedSchema::new(text);
        let batch = ReportBatch {
            incarnation,
            seq,
            facts: None,
            schema: Some(schema.digest.clone()),
            leftovers: None,
            releases: Vec::new(),
        };
        assert!(agent.send_reports(&batch).await.unwrap().schema_requested);
        let refused = agent.upload_schema(&schema).await.unwrap_err();
        assert_eq!(refused.error.code(), "Invalid", "{refused}");
    }
    let growth = server.memory_kib("VmHWM") - before;
    assert!(growth < MAX_GROWTH, "the peak grew by {growth} KiB");
}
