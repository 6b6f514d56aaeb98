//! `flotilla version`: which version this is, and which one the server has.

use clap::Args;
use serde::Serialize;
use wire::Version;

use crate::args::Globals;
use crate::exit::Exit;
use crate::failure::Failure;
use crate::output::{Out, Output};
use crate::remote::Remote;

/// Print the version of the command line and of the server
#[derive(Args)]
pub struct VersionArgs {
    /// Only of the command line; ask no server
    #[arg(long)]
    client: bool,
    #[command(flatten)]
    output: Output,
}

/// What programs read.
#[derive(Serialize)]
struct Versions {
    client: &'static str,
    #[serde(skip_serializing_if = "Option::is_none")]
    server: Option<Version>,
}

impl VersionArgs {
    /// Runs it. A server that does not answer is worth a word, but this command is asked when something is wrong.
    pub async fn run(self, globals: &Globals, out: &Out) -> Result<Exit, Failure> {
        let mut versions = Versions { client: env!("CARGO_PKG_VERSION"), server: None };
        let mut trouble = None;
        if !self.client {
            match Remote::connect(globals, out) {
                Ok(remote) => match remote.client.version().await {
                    Ok(version) => versions.server = Some(version),
                    Err(error) => trouble = Failure::from(error).told(Some(&remote)),
                },
                Err(failure) => trouble = failure.told(None),
            }
        }
        if self.output.format.is_machine() {
            out.value(&versions, self.output.format)?;
        } else {
            out.line(&format!("client {}", versions.client))?;
            if let Some(server) = &versions.server {
                out.line(&format!("server {} (API {})", server.version, server.api))?;
            }
        }
        if let Some(told) = trouble {
            out.note(&format!("server: {}", told.message));
        }
        Ok(Exit::Done)
    }
}
