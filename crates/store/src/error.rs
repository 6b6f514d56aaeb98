//! What can go wrong between the hub and its rows. No variant carries a value from a row or a parameter of a query.

use sqlx::error::ErrorKind;

/// Why a store operation failed. Looking up what is not there is no error: it returns `None`.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum Error {
    /// A row with this name or id is there already.
    #[error("{what} is there already")]
    Unique {
        /// The table.
        what: String,
    },
    /// A row says what can't be.
    #[error("row {id} of {table} can't be read: {why}")]
    Inconsistent {
        /// The table.
        table: &'static str,
        /// The row's key.
        id: String,
        /// Which column, and what is wrong with it.
        why: String,
    },
    /// A list was asked for with a cursor or selector that can't be read.
    #[error("{0}")]
    Query(String),
    /// Somebody else holds what is needed; the whole transaction can be tried again.
    #[error("the database is busy; try again")]
    Busy,
    /// The claim expired and somebody else has taken over; what was done with it must not be committed.
    #[error("the lease on {what} is lost")]
    LeaseLost {
        /// What was claimed.
        what: String,
    },
    /// The database was written by a newer server.
    #[error("the database has schema {found}, this server knows {known}; start the newer server")]
    NewerSchema {
        /// Version in the database.
        found: i64,
        /// Newest version this server knows.
        known: i64,
    },
    /// A migration is not the one that was applied.
    #[error("migration {version} was changed after it was applied")]
    ChangedMigration {
        /// Its number.
        version: i64,
    },
    /// Another server uses this SQLite file.
    #[error("another server uses {path}; SQLite serves one server at a time, PostgreSQL serves many")]
    Locked {
        /// The file.
        path: String,
    },
    /// The address of the database is none.
    #[error("{0:?} is no database address; write sqlite:///path/flotilla.db or postgres://host/database")]
    Address(String),
    /// The database file can't be opened.
    #[error("{path} can't be opened: {source}")]
    File {
        /// The file.
        path: String,
        /// Why.
        source: std::io::Error,
    },
    /// A value can't be written as JSON.
    #[error("a value can't be written: {0}")]
    Encode(#[source] serde_json::Error),
    /// The database said no.
    #[error("the database failed: {0}")]
    Database(#[source] sqlx::Error),
}

/// SQLSTATEs of PostgreSQL and result codes of SQLite after which the same transaction may succeed: serialization failure,
/// deadlock, lock not available, statement cancelled by its time limit; SQLITE_BUSY, SQLITE_LOCKED and SQLITE_BUSY_SNAPSHOT.
const TRY_AGAIN: [&str; 7] = ["40001", "40P01", "55P03", "57014", "5", "6", "517"];

impl Error {
    /// Whether the whole transaction may succeed if it is tried again.
    pub fn is_busy(&self) -> bool {
        matches!(self, Self::Busy)
    }
}

impl From<sqlx::Error> for Error {
    fn from(error: sqlx::Error) -> Self {
        match &error {
            sqlx::Error::PoolTimedOut => Self::Busy,
            sqlx::Error::Database(said) if said.kind() == ErrorKind::UniqueViolation => {
                Self::Unique { what: unique_table(said.as_ref()) }
            }
            sqlx::Error::Database(said) if said.code().is_some_and(|code| TRY_AGAIN.contains(&&*code)) => {
                Self::Busy
            }
            _ => Self::Database(error),
        }
    }
}

/// PostgreSQL names the table; SQLite says `UNIQUE constraint failed: workload.project_id, workload.name`.
fn unique_table(said: &dyn sqlx::error::DatabaseError) -> String {
    let from_message = || said.message().rsplit_once(": ")?.1.split_once('.').map(|(table, _)| table);
    said.table().or_else(from_message).unwrap_or("row").to_owned()
}
