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
/// That revision is published again, with its source, placement, overrides and policies. The draft stays as it is.
/// "flotilla history" lists the revisions, and "flotilla plan --revision" shows what a rollback would change.
#[derive(Args)]
pub struct RollbackArgs {
    #[command(flatten)]
    publish: PublishArgs,
    /// Number of the revision
    #[arg(value_parser = clap::value_parser!(u32).range(1..))]
    revision: u32,
    /// Copy the revision to the draft instead, and publish nothing; needs --discard-draft if the draft has unpublished changes
    #[arg(long, conflicts_with_all = ["plan", "confirm", "force", "wait", "message"])]
    to_draft: bool,
    /// With --to-draft: discard the unpublished changes of the draft
    #[arg(long, requires = "to_draft")]
    discard_draft: bool,
}

impl RollbackArgs {
    /// Name of the workload.
    pub fn workload(&self) -> &str {
        &self.publish.workload
    }

    /// Runs it.
    pub async fn run(self, remote: &ServerConnection, out: &Printer) -> Result<ExitStatus, Failure> {
        if self.to_draft {
            return self.copy_to_draft(remote, out).await;
        }
        let revision = self.revision;
        self.publish
            .with_default_message(&format!("Roll back to revision {revision}"))
            .publish(Some(revision), remote, out)
            .await
    }

    /// Replaces the draft by the revision, under the revision of the draft whose changes are known to be published or discarded.
    async fn copy_to_draft(self, remote: &ServerConnection, out: &Printer) -> Result<ExitStatus, Failure> {
        let (name, revision) = (self.workload(), self.revision);
        let draft = remote.client.get_workload(name).await?.workload;
        if draft.draft_changed && !self.discard_draft {
            return Err(Failure::usage(
                format!("The draft of {name} has changes that are not published: they would be lost."),
                format!(
                    "Add --discard-draft to discard them. \"flotilla rollback {name} {revision}\" rolls back and leaves the draft as it is."
                ),
            ));
        }
        let request = RestoreRevisionRequest { revision };
        remote.client.restore_revision_if(name, &request, draft.revision).await?;
        out.print_line(&format!("workload/{name} draft replaced by revision {revision}"))?;
        Ok(ExitStatus::Success)
    }
}
