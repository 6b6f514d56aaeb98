//! The message and the hint that a failure is printed with.

use domain::dependency::HAS_DEPENDENTS;

use crate::commands::plan::{describe_force, force_flags};
use crate::connection::ServerConnection;
use crate::exit::ExitStatus;
use crate::failure::{Failure, FailureReport};
use crate::output::count_findings;

/// The failure as it is printed; `remote` is the called server. `None` if stdout is closed.
pub fn build_report(failure: Failure, remote: Option<&ServerConnection>) -> Option<FailureReport> {
    match failure {
        Failure::Report(report) => Some(*report),
        Failure::StdoutClosed => None,
        Failure::Wire(error) => Some(wire_report(error, remote)),
    }
}

fn wire_report(error: wire::Error, remote: Option<&ServerConnection>) -> FailureReport {
    let exit = match error {
        wire::Error::InvalidServerUrl(_) | wire::Error::InvalidToken => ExitStatus::Usage,
        _ if error.code() == "PlanStale" => ExitStatus::StalePlan,
        _ if !error.findings().is_empty() => ExitStatus::Rejected,
        _ => ExitStatus::Failed,
    };
    let message = match &error {
        wire::Error::Unreachable { server, cause: why } => {
            format!("The server at {server} can't be reached: {why}.")
        }
        error if error.code() == "ConfirmationRequired" && has_dependents(error) => {
            "Not removed: other workloads depend on it. Remove it nevertheless with --ignore-dependents.".to_owned()
        }
        error if error.code() == "ConfirmationRequired" => {
            "Not published: it would remove the workload from many clusters. Confirm their number with --confirm."
                .to_owned()
        }
        error if error.code() == "PlanRejected" => format!("Not published. {error}"),
        // The findings are printed separately.
        error if !error.findings().is_empty() => {
            format!("Rejected by the guard rails: {}.", count_findings(error.findings()))
        }
        other => other.to_string(),
    };
    let hint = wire_hint(&error, remote);
    FailureReport { exit, message, hint, findings: error.findings().to_vec() }
}

/// Whether the question is about workloads that depend on one that is to be removed.
fn has_dependents(error: &wire::Error) -> bool {
    error.findings().iter().any(|finding| finding.code == HAS_DEPENDENTS)
}

fn wire_hint(error: &wire::Error, remote: Option<&ServerConnection>) -> String {
    let origin = remote.map(ServerConnection::address_source).unwrap_or_default();
    match error {
        wire::Error::Unreachable { .. } => {
            format!(
                "Is it running, and is the address right? The address comes from {origin}; --server, FLOTILLA_SERVER or \"flotilla login\" set another one."
            )
        }
        wire::Error::InvalidResponse { .. } => {
            format!("Is this the address of a Flotilla server? It comes from {origin}.")
        }
        error if error.is_unauthenticated() => remote.map(ServerConnection::sign_in_hint).unwrap_or_default(),
        error if error.code() == "RevisionConflict" => {
            "It was changed concurrently; check the change and run this again.".to_owned()
        }
        error if error.code() == "DatabaseUnavailable" => {
            "It was tried for 20 s. Run this again when the database is back; agents keep applying what was published."
                .to_owned()
        }
        error if matches!(error.code(), "CommitOutcomeUnknown" | "Timeout") => {
            "It was tried for 20 s. Look whether it was stored, such as with \"flotilla status\" or \"flotilla history\", before you run this again."
                .to_owned()
        }
        error if error.code() == "PlanRejected" => force_flags(error.findings())
            .map(|flags| format!("To publish it nevertheless, add{flags}; {}.", describe_force(error.findings().iter().map(|finding| finding.code.as_str()))))
            .unwrap_or_default(),
        _ => String::new(),
    }
}
