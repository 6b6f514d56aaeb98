//! `flotilla rollback`: publishes an earlier revision again, as a new one.

use clap::Args;
use wire::RestoreRequest;

use crate::commands::publish::Publish;
use crate::exit::Exit;
use crate::failure::Failure;
use crate::output::Out;
use crate::remote::Remote;

/// Publish an earlier revision of a workload again, as a new revision
///
/// The draft becomes what that revision was, with its placement, overrides and policies, and is published; changes of the
/// draft that were never published are replaced. "flotilla history" lists the revisions.
#[derive(Args)]
pub struct Rollback {
    #[command(flatten)]
    publish: Publish,
    /// Number of the revision
    #[arg(value_parser = clap::value_parser!(u32).range(1..))]
    revision: u32,
}

impl Rollback {
    /// Name of the workload.
    pub fn workload(&self) -> &str {
        &self.publish.workload
    }

    /// Runs it.
    pub async fn run(self, remote: &Remote, out: &Out) -> Result<Exit, Failure> {
        let request = RestoreRequest { revision: self.revision };
        remote.client.workload_restore(&self.publish.workload, &request).await?;
        self.publish.or_message(&format!("Back to revision {}", self.revision)).run(remote, out).await
    }
}
