//! A server of the previous release that continues to run while a newer one has migrated the database (P22): every statement
//! on the tables and columns of its schema still succeeds. The migration files are the record of each schema, because a file
//! is never edited.

use sqlx::{AnyConnection, AssertSqlSafe, Connection as _, Executor as _, Row as _};

use super::databases::for_each_address;
use crate::migrate::{MIGRATIONS, Migration, migrate_to};

/// A column, as a server of that schema knows it.
struct SchemaColumn {
    name: String,
    /// A value of its type, as SQL.
    value: &'static str,
    /// Whether an insert has to name it.
    is_required: bool,
    is_key: bool,
}

struct SchemaTable {
    name: String,
    columns: Vec<SchemaColumn>,
}

const SQLITE_COLUMNS: &str = "SELECT name, type, \"notnull\" = 1 AND dflt_value IS NULL OR pk > 0, pk > 0
    FROM pragma_table_info('{table}')";
const POSTGRES_COLUMNS: &str = "SELECT c.column_name::TEXT, c.data_type::TEXT,
        CAST(c.is_nullable = 'NO' AND c.column_default IS NULL AS INT)::BIGINT,
        (SELECT COUNT(*) FROM information_schema.key_column_usage k
            JOIN information_schema.table_constraints t USING (constraint_schema, constraint_name)
            WHERE t.constraint_type = 'PRIMARY KEY' AND k.table_name = c.table_name AND k.column_name = c.column_name)
    FROM information_schema.columns c WHERE c.table_schema = 'public' AND c.table_name = '{table}'
    ORDER BY c.ordinal_position";

/// The tables of the current schema, referenced ones before those that refer to them.
async fn list_tables(
    connection: &mut AnyConnection,
    is_sqlite: bool,
    migrations: &[Migration],
) -> Vec<SchemaTable> {
    let words = migrations.iter().flat_map(|migration| migration.text().split("CREATE TABLE ").skip(1));
    let mut tables = Vec::new();
    for name in words.map(|rest| rest.split_whitespace().next().unwrap()) {
        let query = if is_sqlite { SQLITE_COLUMNS } else { POSTGRES_COLUMNS }.replace("{table}", name);
        let rows = connection.fetch_all(sqlx::raw_sql(AssertSqlSafe(query))).await.unwrap();
        let columns = rows.iter().map(|row| SchemaColumn {
            name: row.get(0),
            value: match row.get::<String, _>(1).to_lowercase().as_str() {
                "text" => "'x'",
                "bigint" => "1",
                "blob" => "x'00'",
                "bytea" => "'\\x00'",
                other => panic!("{name}: a type {other}"),
            },
            is_required: row.get::<i64, _>(2) != 0,
            is_key: row.get::<i64, _>(3) != 0,
        });
        let columns: Vec<_> = columns.collect();
        assert!(!columns.is_empty(), "{name}");
        tables.push(SchemaTable { name: name.to_owned(), columns });
    }
    tables
}

impl SchemaTable {
    fn names(&self, is_included: impl Fn(&SchemaColumn) -> bool) -> String {
        let names =
            self.columns.iter().filter(|column| is_included(column)).map(|column| column.name.as_str());
        names.collect::<Vec<_>>().join(", ")
    }

    /// `INSERT` of a row with these columns. All texts are equal, so every reference refers to an existing row.
    fn insert(&self, is_included: impl Fn(&SchemaColumn) -> bool) -> String {
        let values = self.columns.iter().filter(|column| is_included(column)).map(|column| column.value);
        let (names, values) = (self.names(&is_included), values.collect::<Vec<_>>().join(", "));
        format!("INSERT INTO {} ({names}) VALUES ({values})", self.name)
    }

    /// What a server does with a row that exists.
    fn statements_on_row(&self) -> Vec<String> {
        let all = self.names(|_| true);
        let set = |value: fn(&SchemaColumn) -> String| {
            let columns = self.columns.iter().map(|column| format!("{} = {}", column.name, value(column)));
            columns.collect::<Vec<_>>().join(", ")
        };
        let keys = self.columns.iter().filter(|column| column.is_key);
        let row: Vec<_> = keys.map(|column| format!("{} = {}", column.name, column.value)).collect();
        let row = if row.is_empty() { String::new() } else { format!(" WHERE {}", row.join(" AND ")) };
        let mut statements = vec![
            format!("SELECT {all} FROM {}{row}", self.name),
            format!("UPDATE {} SET {}{row}", self.name, set(|column| column.value.to_owned())),
        ];
        let key = self.names(|column| column.is_key);
        if !key.is_empty() {
            let set = set(|column| format!("excluded.{}", column.name));
            statements.push(format!("{} ON CONFLICT ({key}) DO UPDATE SET {set}", self.insert(|_| true)));
        }
        statements
    }
}

/// Migrates to `older`, then to `newer`; returns the first statement of a server of the schema `older` that fails.
async fn find_failure(url: &str, older: &[Migration], newer: &[Migration]) -> Option<String> {
    migrate_to(url, older).await.unwrap();
    let mut connection = AnyConnection::connect(url).await.unwrap();
    let tables = list_tables(&mut connection, url.starts_with("sqlite"), older).await;
    migrate_to(url, newer).await.unwrap();
    let mut statements = Vec::new();
    for is_complete in [true, false] {
        let insert = |table: &SchemaTable| table.insert(|column| is_complete || column.is_required);
        statements.extend(tables.iter().map(insert));
        statements.extend(tables.iter().flat_map(SchemaTable::statements_on_row));
        statements.extend(tables.iter().rev().map(|table| format!("DELETE FROM {}", table.name)));
    }
    let mut failure = None;
    for statement in statements {
        let executed = connection.fetch_all(sqlx::raw_sql(AssertSqlSafe(statement.clone()))).await;
        if let Err(error) = executed {
            failure = Some(format!("{statement}: {error}"));
            break;
        }
    }
    connection.close().await.unwrap();
    failure
}

#[tokio::test]
async fn p22_statements_of_every_older_server_succeed_on_the_newest_schema() {
    for number in 1..=MIGRATIONS.len() {
        for_each_address(|url| async move {
            let failure = find_failure(&url, &MIGRATIONS[..number], MIGRATIONS).await;
            assert_eq!(failure, None, "a server of schema {number}");
        })
        .await;
    }
}

#[tokio::test]
async fn p22_a_migration_that_the_previous_server_cannot_run_on_is_found() {
    let breaking = [
        ("ALTER TABLE project RENAME COLUMN name TO title;", "name"),
        (
            "DROP TABLE exposure; CREATE TABLE exposure (exposure_key TEXT NOT NULL, host TEXT NOT NULL);",
            "exposure",
        ),
    ];
    for (text, part) in breaking {
        for_each_address(|url| async move {
            let newer = [MIGRATIONS, &[Migration::following(text)]].concat();
            let failure = find_failure(&url, MIGRATIONS, &newer).await.expect(text);
            assert!(failure.contains(part), "{failure}");
        })
        .await;
    }
}
