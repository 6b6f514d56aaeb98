//! The search over names: its order, and that it reads index entries only.

use super::databases::{execute_directly, for_each_address};
use super::fixtures::{insert_fleet, project_id, some_cluster};
use crate::decode::decode_readable_rows;
use crate::search::{CLUSTERS, WORKLOADS, find_clusters, find_workloads, push_parts, push_prefix};
use crate::sql::sql;
use crate::{Store, Tx};

/// How the engine executes a statement.
async fn explain(tx: &mut Tx, is_postgres: bool, statement: &'static str, words: &[&str]) -> String {
    let words: Vec<String> = words.iter().map(|word| (*word).to_owned()).collect();
    let (head, column) =
        if is_postgres { ("EXPLAIN ", "QUERY PLAN") } else { ("EXPLAIN QUERY PLAN ", "detail") };
    let mut query = sql(head).push(statement);
    if statement == WORKLOADS {
        query = query.bind_text(project_id());
    }
    let query = match words.split_first() {
        Some((prefix, others)) if prefix.ends_with('^') => {
            push_prefix(query, prefix.trim_end_matches('^'), others)
        }
        _ => push_parts(query, &words),
    };
    let rows = query.push(" ORDER BY name LIMIT 10").fetch_all(tx).await.unwrap();
    let lines: Vec<String> = decode_readable_rows(&rows, "plan", |row| row.text(column));
    lines.join("\n")
}

/// Ten thousand more clusters and workloads with the columns that the schema requires.
const MANY_CLUSTERS: &str = "INSERT INTO cluster (id, name, kind, region, labels, taints, schedulable, \
    lease_seconds, created_at, resource_version) WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n \
    WHERE i < 10000) SELECT 'x' || CAST(i AS TEXT), 'site-' || CAST(10000 + i AS TEXT) || '-edge', 'agent', '', '{}', '[]', \
    1, 60, 0, 1 FROM n";
const MANY_WORKLOADS: &str = "INSERT INTO workload (id, project_id, name, namespace, labels, intent, draft_changed, \
    created_by, updated_by, created_at, updated_at, resource_version, draft) WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL \
    SELECT i + 1 FROM n WHERE i < 10000) SELECT 'y' || CAST(i AS TEXT), (SELECT id FROM project), \
    'shop-' || CAST(10000 + i AS TEXT), '', '{}', 'draft', 0, '', '', 0, 0, 1, 'DRAFT' FROM n";

#[tokio::test]
async fn a_search_among_ten_thousand_names_reads_index_entries_only() {
    for_each_address(|url| async move {
        let store = Store::open_for_test(&url).await.unwrap();
        insert_fleet(&store, 1, 1).await;
        let is_postgres = url.starts_with("postgres");
        execute_directly(&url, MANY_CLUSTERS).await;
        execute_directly(&url, MANY_WORKLOADS).await;
        if is_postgres {
            for statement in ["VACUUM ANALYZE cluster", "VACUUM ANALYZE workload"] {
                execute_directly(&url, statement).await;
            }
        }
        let mut tx = store.read().await.unwrap();
        if is_postgres {
            // The rows of the test are short, and no name contains the word, so a scan is cheap here: what the index can do is
            // compared, not the estimate.
            sql("SET LOCAL enable_seqscan = off").execute(&mut tx).await.unwrap();
        }
        for statement in [CLUSTERS, WORKLOADS] {
            for words in [&["site-1^"][..], &["edge"][..]] {
                let plan = explain(&mut tx, is_postgres, statement, words).await;
                let expected = if is_postgres { "Index Only Scan" } else { "COVERING INDEX" };
                assert!(plan.contains(expected), "{statement} {words:?}\n{plan}");
                assert!(!plan.contains("Sort") && !plan.contains("TEMP B-TREE"), "{plan}");
            }
        }
        let prefix = explain(&mut tx, is_postgres, CLUSTERS, &["site-1^"]).await;
        let range = if is_postgres { "Index Cond" } else { "name>?" };
        assert!(prefix.contains(range), "{prefix}");
        let words = |word: &str| vec![word.to_owned()];
        assert_eq!(find_clusters(&mut tx, &words("site-20000"), 5).await.unwrap(), ["site-20000-edge"]);
        assert_eq!(find_workloads(&mut tx, project_id(), &words("op-1234"), 50).await.unwrap().len(), 10);
        drop(tx);
        store.close().await;
    })
    .await;
}

#[tokio::test]
async fn names_that_begin_with_the_word_come_before_those_that_contain_it() {
    for_each_address(|url| async move {
        let store = Store::open_for_test(&url).await.unwrap();
        let mut tx = store.write().await.unwrap();
        for (n, name) in ["object-store", "a-store", "storefront", "store-9", "web"].iter().enumerate() {
            let cluster = some_cluster(n as u128 + 1, name);
            crate::cluster::insert(&mut tx, &cluster).await.unwrap();
        }
        tx.commit().await.unwrap();
        let mut tx = store.read().await.unwrap();
        let words = |text: &str| domain::search::parse_words(text);
        let found = find_clusters(&mut tx, &words("store"), 10).await.unwrap();
        assert_eq!(found, ["store-9", "storefront", "a-store", "object-store"]);
        assert_eq!(find_clusters(&mut tx, &words("store"), 3).await.unwrap(), found[..3]);
        assert_eq!(find_clusters(&mut tx, &words("store ob"), 10).await.unwrap(), ["object-store"]);
        assert_eq!(find_clusters(&mut tx, &words("%"), 10).await.unwrap(), Vec::<String>::new());
        assert_eq!(find_clusters(&mut tx, &[], 2).await.unwrap(), ["a-store", "object-store"]);
        drop(tx);
        store.close().await;
    })
    .await;
}
