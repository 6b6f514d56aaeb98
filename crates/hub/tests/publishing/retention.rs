//! Retention goes on with the other tables when one of them fails.

use hub::TableStatistics;
use tokio_util::sync::CancellationToken;

use crate::test_hub::TestHub;

/// A trigger that makes every delete from `session` fail, as a corrupted page or a foreign lock would.
const BREAK_SESSIONS: &str =
    "CREATE TRIGGER broken BEFORE DELETE ON session BEGIN SELECT RAISE(ABORT, 'broken'); END";
const INSERT_SESSION: &str = "INSERT INTO session (id_hash, data, expires_at) VALUES ('hash', '{}', 1)";
const INSERT_EVENTS: &str = "WITH RECURSIVE n (i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n WHERE i < 2500) \
     INSERT INTO event (seq, created_at, kind, severity, workload_name, cluster_name, actor, message) \
     SELECT -i, i, 'WorkloadEdited', 'note', '', '', 'ana', '' FROM n";

fn statistics_of(test: &TestHub, table: &str) -> TableStatistics {
    test.hub.retention_statistics().into_iter().find(|of| of.table == table).unwrap()
}

#[tokio::test]
async fn a_table_that_can_not_be_cleaned_is_counted_and_stops_no_other() {
    let mut test = TestHub::open().await;
    test.stop_loops().await;
    for statement in [INSERT_SESSION, BREAK_SESSIONS, INSERT_EVENTS] {
        test.execute_sql(statement).await;
    }
    let before = statistics_of(&test, "session").failures;
    test.hub.delete_expired_rows(&CancellationToken::new()).await;
    let (session, event) = (statistics_of(&test, "session"), statistics_of(&test, "event"));
    assert_eq!(session.failures, before + 1);
    assert_eq!((event.failures, event.deleted), (0, 2500), "in batches");
    assert!(event.rows.is_some_and(|rows| rows < 2500), "{event:?}");

    test.execute_sql("DROP TRIGGER broken").await;
    test.hub.delete_expired_rows(&CancellationToken::new()).await;
    let session = statistics_of(&test, "session");
    assert_eq!((session.failures, session.deleted, session.rows), (before + 1, 1, Some(0)));
}
