//! The exit codes, which scripts compare (`product.md` F.3).

use std::process::ExitCode;

/// How the command ended.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Exit {
    /// Done as asked.
    Done,
    /// It failed.
    Failed,
    /// The command line itself is wrong; clap uses the same number.
    Usage,
    /// A guard rail refused.
    Refused,
    /// Some clusters failed, and nothing is on its way any more.
    Partial,
    /// The wait was over before the clusters were.
    TimedOut,
    /// The plan is not what would be published now.
    Stale,
    /// Ctrl-C: 128 and the number of the signal, as shells count.
    Interrupted,
}

impl Exit {
    /// The number.
    pub const fn code(self) -> u8 {
        match self {
            Self::Done => 0,
            Self::Failed => 1,
            Self::Usage => 2,
            Self::Refused => 3,
            Self::Partial => 4,
            Self::TimedOut => 5,
            Self::Stale => 6,
            Self::Interrupted => 130,
        }
    }
}

impl From<Exit> for ExitCode {
    fn from(exit: Exit) -> Self {
        Self::from(exit.code())
    }
}
