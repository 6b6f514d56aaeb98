//! The exit codes, which scripts compare.

use std::process::ExitCode;

/// How the command exits.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ExitStatus {
    /// Success.
    Success,
    /// It failed.
    Failed,
    /// "flotilla diff" found differences.
    Differs,
    /// The command line itself is wrong; clap uses the same number.
    Usage,
    /// Rejected by a guard rail.
    Rejected,
    /// Some clusters failed or drift, and no cluster is in progress.
    Partial,
    /// The timeout of the wait expired.
    TimedOut,
    /// The plan is stale: a publish would now do something else.
    StalePlan,
    /// Ctrl-C: 128 plus the number of the signal, as in shells.
    Interrupted,
}

impl ExitStatus {
    /// The exit code.
    pub const fn code(self) -> u8 {
        match self {
            Self::Success => 0,
            Self::Failed | Self::Differs => 1,
            Self::Usage => 2,
            Self::Rejected => 3,
            Self::Partial => 4,
            Self::TimedOut => 5,
            Self::StalePlan => 6,
            Self::Interrupted => 130,
        }
    }
}

impl From<ExitStatus> for ExitCode {
    fn from(exit: ExitStatus) -> Self {
        Self::from(exit.code())
    }
}
