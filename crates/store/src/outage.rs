//! Outages of the database: which errors of the driver mean that it executes nothing now, and whether a commit may have
//! succeeded in spite of its error.

use crate::Error;

/// Why the database executes no transaction now.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum DatabaseOutage {
    /// There is no connection to it, or it was lost.
    Unreachable,
    /// It rejects writes: a standby after a failover, or a read-only file.
    ReadOnly,
    /// Its disk is full.
    DiskFull,
    /// A connection, a lock or a response did not come in time.
    TimedOut,
}

impl DatabaseOutage {
    /// Every variant.
    pub const ALL: [Self; 4] = [Self::Unreachable, Self::ReadOnly, Self::DiskFull, Self::TimedOut];

    /// The label in metrics and logs.
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Unreachable => "unreachable",
            Self::ReadOnly => "readOnly",
            Self::DiskFull => "diskFull",
            Self::TimedOut => "timedOut",
        }
    }

    /// The outage that an error of the driver means; `None` for an error of the statement or of a row.
    pub(crate) fn from_driver(error: &sqlx::Error) -> Option<Self> {
        match error {
            sqlx::Error::PoolTimedOut => Some(Self::TimedOut),
            sqlx::Error::Io(cause) if cause.kind() == std::io::ErrorKind::TimedOut => Some(Self::TimedOut),
            sqlx::Error::Io(_)
            | sqlx::Error::Tls(_)
            | sqlx::Error::Protocol(_)
            | sqlx::Error::PoolClosed
            | sqlx::Error::WorkerCrashed
            | sqlx::Error::BeginFailed => Some(Self::Unreachable),
            sqlx::Error::Database(cause) => Self::from_code(&cause.code()?),
            _ => None,
        }
    }

    /// The outage that a code means: a SQLSTATE of PostgreSQL, which has five characters, or a result code of SQLite, which is
    /// a number with at most four digits and has its kind in the lowest byte.
    fn from_code(code: &str) -> Option<Self> {
        match sqlite_kind(code) {
            Some(kind) => match kind {
                // SQLITE_BUSY, SQLITE_LOCKED, SQLITE_PROTOCOL (of a lock).
                5 | 6 | 15 => Some(Self::TimedOut),
                8 => Some(Self::ReadOnly),
                13 => Some(Self::DiskFull),
                // SQLITE_IOERR, SQLITE_CANTOPEN.
                10 | 14 => Some(Self::Unreachable),
                _ => None,
            },
            None => match code {
                // Serialization failure, deadlock, lock not available, statement cancelled by its time limit.
                "40001" | "40P01" | "55P03" | "57014" => Some(Self::TimedOut),
                // Read-only transaction; a standby that conflicts with its recovery answers 40001.
                "25006" => Some(Self::ReadOnly),
                "53100" => Some(Self::DiskFull),
                // A transaction that was idle for too long: its connection is closed.
                "25P03" | "25P04" => Some(Self::Unreachable),
                // Lost connections, insufficient resources, shutdown and start of the server, errors of its disk.
                _ if ["08", "53", "57P", "58"].iter().any(|class| code.starts_with(class)) => {
                    Some(Self::Unreachable)
                }
                _ => None,
            },
        }
    }
}

/// The lowest byte of a result code of SQLite; `None` for a SQLSTATE.
fn sqlite_kind(code: &str) -> Option<u32> {
    (code.len() < 5).then(|| code.parse::<u32>().ok()).flatten().map(|code| code & 0xff)
}

impl std::fmt::Display for DatabaseOutage {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str(match self {
            Self::Unreachable => "the database can't be reached",
            Self::ReadOnly => "the database is read-only",
            Self::DiskFull => "the disk of the database is full",
            Self::TimedOut => "the database did not answer in time",
        })
    }
}

/// The error of a failed COMMIT. Only an answer of the database says that nothing was stored. A lost connection does not, nor
/// an answer about the connection: the server may have committed before it shut down. SQLite may find a commit complete at
/// the next start although syncing its file failed.
pub(crate) fn classify_commit_error(error: sqlx::Error) -> Error {
    let is_answered = match &error {
        sqlx::Error::Database(cause) => cause.code().is_some_and(|code| match sqlite_kind(&code) {
            Some(kind) => kind != 10,
            None => code != "40003" && DatabaseOutage::from_code(&code) != Some(DatabaseOutage::Unreachable),
        }),
        _ => false,
    };
    if is_answered { error.into() } else { Error::CommitOutcomeUnknown(error) }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn p21_codes_of_both_engines_are_outages_and_errors_of_statements_are_not() {
        let of =
            |codes: &[&str]| codes.iter().map(|code| DatabaseOutage::from_code(code)).collect::<Vec<_>>();
        assert_eq!(of(&["5", "517", "6", "55P03", "57014", "40001"]), [Some(DatabaseOutage::TimedOut); 6]);
        assert_eq!(of(&["8", "1032", "25006"]), [Some(DatabaseOutage::ReadOnly); 3]);
        assert_eq!(of(&["13", "53100"]), [Some(DatabaseOutage::DiskFull); 2]);
        let lost = ["10", "778", "14", "08006", "53300", "57P01", "57P02", "57P03", "58030", "25P03"];
        assert_eq!(of(&lost), [Some(DatabaseOutage::Unreachable); 10]);
        assert_eq!(of(&["1", "11", "19", "2067", "22001", "23505", "42601", "XX000", ""]), [None; 9]);
    }

    #[test]
    fn p21_a_commit_without_an_answer_has_an_unknown_outcome() {
        let lost = sqlx::Error::Io(std::io::ErrorKind::ConnectionReset.into());
        assert!(matches!(classify_commit_error(lost), Error::CommitOutcomeUnknown(_)));
        assert!(matches!(classify_commit_error(sqlx::Error::WorkerCrashed), Error::CommitOutcomeUnknown(_)));
    }
}
