//! `flotilla version`: the versions of the command line and of the server.

use clap::Args;
use serde::Serialize;
use wire::ServerVersion;

use crate::connection::ServerConnection;
use crate::exit::ExitStatus;
use crate::failure::Failure;
use crate::failure_report::build_report;
use crate::globals::GlobalArgs;
use crate::output::{OutputArgs, Printer};

/// Print the version of the command line and of the server
#[derive(Args)]
pub struct VersionArgs {
    /// Only the version of the command line, without a request
    #[arg(long)]
    client: bool,
    #[command(flatten)]
    output: OutputArgs,
}

/// The output for programs.
#[derive(Serialize)]
struct VersionOutput {
    client: &'static str,
    #[serde(skip_serializing_if = "Option::is_none")]
    server: Option<ServerVersion>,
}

impl VersionArgs {
    /// Runs it. A server that does not respond is only noted, because this command must work when something is broken.
    pub async fn run(self, globals: &GlobalArgs, out: &Printer) -> Result<ExitStatus, Failure> {
        let mut versions = VersionOutput { client: env!("CARGO_PKG_VERSION"), server: None };
        let mut failure = None;
        if !self.client {
            match ServerConnection::connect(globals, out) {
                Ok(remote) => match remote.client.get_version().await {
                    Ok(version) => versions.server = Some(version),
                    Err(error) => failure = build_report(error.into(), Some(&remote)),
                },
                Err(error) => failure = build_report(error, None),
            }
        }
        if self.output.format.is_machine() {
            out.print_value(&versions, self.output.format)?;
        } else {
            out.print_line(&format!("client {}", versions.client))?;
            if let Some(server) = &versions.server {
                out.print_line(&format!("server {} (API {})", server.version, server.api))?;
            }
        }
        if let Some(report) = failure {
            out.print_note(&format!("server: {}", report.message));
        }
        Ok(ExitStatus::Success)
    }
}
