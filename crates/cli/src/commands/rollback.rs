//! `flotilla rollback`: publishes an earlier revision again, as a new revision.

use clap::Args;
use wire::RestoreRevisionRequest;

use crate::commands::publish::PublishArgs;
use crate::connection::ServerConnection;
use crate::exit::ExitStatus;
use crate::failure::Failure;
use crate::output::Printer;

/// Roll back to an earlier revision of a workload, as a new revision
///
/// The draft is replaced by that revision, with its placement, overrides and policies, and is published; unpublished changes
/// of the draft are lost. "flotilla history" lists the revisions.
#[derive(Args)]
pub struct RollbackArgs {
    #[command(flatten)]
    publish: PublishArgs,
    /// Number of the revision
    #[arg(value_parser = clap::value_parser!(u32).range(1..))]
    revision: u32,
}

impl RollbackArgs {
    /// Name of the workload.
    pub fn workload(&self) -> &str {
        &self.publish.workload
    }

    /// Runs it.
    pub async fn run(self, remote: &ServerConnection, out: &Printer) -> Result<ExitStatus, Failure> {
        let request = RestoreRevisionRequest { revision: self.revision };
        remote.client.restore_revision(&self.publish.workload, &request).await?;
        self.publish
            .with_default_message(&format!("Roll back to revision {}", self.revision))
            .run(remote, out)
            .await
    }
}
