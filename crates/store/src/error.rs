//! Errors of the store. None contains stored JSON or a secret: an invalid row is described by its key, the column and the
//! reason, which may quote an id, a digest or the name of an enum variant.

use sqlx::error::ErrorKind;

use crate::DatabaseOutage;

/// Why a store operation failed. A lookup of a row that does not exist is not an error: it returns `None`.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum Error {
    /// A row with this name or id already exists.
    #[error("{what} already exists")]
    AlreadyExists {
        /// The table.
        what: String,
    },
    /// A row that this one refers to was deleted, or rows still refer to this one: another transaction has changed them meanwhile.
    #[error(
        "a row of {what} was changed by another transaction: what it refers to was deleted, or it is still referred to"
    )]
    BrokenReference {
        /// The table.
        what: String,
        /// The violation of the foreign key.
        #[source]
        violation: sqlx::Error,
    },
    /// A stored row cannot be decoded.
    #[error("row {id} of {table} can't be read: {why}")]
    InvalidRow {
        /// The table.
        table: &'static str,
        /// The row's key.
        id: String,
        /// Which column, and what is wrong with it.
        why: String,
    },
    /// A row that another one refers to does not exist.
    #[error("row {id} of {table} is missing")]
    MissingRow {
        /// The table.
        table: &'static str,
        /// The row's key.
        id: String,
    },
    /// The values of a stored row need more memory than is free now ([`crate::set_decode_admission`]).
    #[error("the memory for the stored values that are read is in use by other requests")]
    NoMemory,
    /// The cursor or selector of a list query is invalid.
    #[error("{0}")]
    InvalidQuery(String),
    /// The database executes nothing now. Nothing of the transaction was stored, and the whole of it can be retried.
    #[error("{0}")]
    Unavailable(DatabaseOutage, #[source] sqlx::Error),
    /// The connection was lost while the transaction was committed: it is not known whether it was stored.
    #[error("the connection to the database was lost during a commit, whose outcome is unknown")]
    CommitOutcomeUnknown(#[source] sqlx::Error),
    /// The claim expired and another server has it; the result of the work must not be committed.
    #[error("the claim of {what} is lost")]
    ClaimLost {
        /// What was claimed.
        what: String,
    },
    /// The database was written by a newer server.
    #[error(
        "database schema {found} is newer than the latest that this server supports, {known}; start the newer server"
    )]
    NewerSchema {
        /// Version in the database.
        found: i64,
        /// Newest version that this server supports.
        known: i64,
    },
    /// The text of a migration differs from the one that was applied.
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
    /// The database address is invalid.
    #[error("{0:?} is not a database address; use sqlite:///path/flotilla.db or postgres://host/database")]
    InvalidAddress(String),
    /// The database file can't be opened.
    #[error("{path} can't be opened: {source}")]
    File {
        /// The file.
        path: String,
        /// Why.
        source: std::io::Error,
    },
    /// A value is nested so deeply that it could not be read back.
    #[error(
        "its maps and lists are nested {depth} deep as they are stored; at most {max} levels can be read"
    )]
    TooDeep {
        /// The nesting of the value as it would be stored.
        depth: usize,
        /// The most that can be read.
        max: usize,
    },
    /// A text by which rows are found is too long. PostgreSQL has no index entries of more than 2 704 bytes, so SQLite gets none either.
    #[error("{what} has {bytes} bytes; at most {max} can be stored")]
    TooLong {
        /// What is too long.
        what: &'static str,
        /// Its length.
        bytes: usize,
        /// The most that can be stored.
        max: usize,
    },
    /// A text contains the character U+0000. PostgreSQL can't store it, so SQLite does not either.
    #[error("a text {}", domain::null_character::REJECTION)]
    NullCharacter,
    /// A value cannot be encoded as JSON.
    #[error("a value cannot be encoded as JSON: {0}")]
    Encode(#[source] serde_json::Error),
    /// The keys of the encrypted columns can't be used.
    #[error(transparent)]
    Key(#[from] crate::sealed::KeyError),
    /// The schema is not the one of this version.
    #[error(
        "the database is not migrated to this version: run `flotilla-server migrate`, or start the server"
    )]
    NotMigrated,
    /// The write-ahead log of SQLite is in use.
    #[error("the write-ahead log is in use and could not be emptied; it is tried again")]
    CheckpointBlocked,
    /// A transaction of a request with an idempotency key was to be committed without the response of the request (P2): a defect.
    #[error("the change is not stored, because the response to its request was not stored with it")]
    ResponseNotStored,
    /// The database returned an error.
    #[error("database error: {0}")]
    Database(#[source] sqlx::Error),
}

impl From<sqlx::Error> for Error {
    fn from(error: sqlx::Error) -> Self {
        match &error {
            sqlx::Error::Database(cause) if cause.kind() == ErrorKind::UniqueViolation => {
                Self::AlreadyExists { what: table_of_violation(cause.as_ref()) }
            }
            sqlx::Error::Database(cause) if cause.kind() == ErrorKind::ForeignKeyViolation => {
                Self::BrokenReference {
                    what: cause.table().unwrap_or("the database").to_owned(),
                    violation: error,
                }
            }
            _ => match DatabaseOutage::from_driver(&error) {
                Some(outage) => Self::Unavailable(outage, error),
                None => Self::Database(error),
            },
        }
    }
}

/// The table of a unique violation. PostgreSQL names it; the message of SQLite is
/// `UNIQUE constraint failed: workload.project_id, workload.name`.
fn table_of_violation(cause: &dyn sqlx::error::DatabaseError) -> String {
    let from_message = || cause.message().rsplit_once(": ")?.1.split_once('.').map(|(table, _)| table);
    cause.table().or_else(from_message).unwrap_or("row").to_owned()
}
