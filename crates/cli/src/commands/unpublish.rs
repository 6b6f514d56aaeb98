//! `flotilla unpublish`: removes workloads from their clusters, after a confirmation; the drafts stay (S0-1, R-7).

use clap::Args;
use domain::workload::DeletionPolicy;
use wire::RemovalOptions;

use crate::bulk::{WorkloadNames, run_for_each};
use crate::confirm::ConfirmArgs;
use crate::connection::ServerConnection;
use crate::exit::ExitStatus;
use crate::failure::Failure;
use crate::output::Printer;
use crate::wait::{WaitCondition, WaitTimeout, WorkloadWait};

/// Remove workloads from their clusters; the drafts stay
#[derive(Args)]
pub struct UnpublishArgs {
    #[command(flatten)]
    pub workloads: WorkloadNames,
    #[command(flatten)]
    removal: RemovalArgs,
    #[command(flatten)]
    confirm: ConfirmArgs,
}

/// The flags of a removal.
#[derive(Args)]
pub struct RemovalArgs {
    /// Wait until it runs on no cluster
    #[arg(short, long)]
    pub wait: bool,
    /// With --wait: timeout, such as 30s, 5m or none
    #[arg(long, default_value = "none", value_name = "TIME")]
    pub timeout: WaitTimeout,
    /// Orphan the objects: leave them on the clusters, delete only the record
    #[arg(long)]
    pub orphan: bool,
    /// Abandon unreachable clusters; they complete the removal when they return
    #[arg(long)]
    pub force: bool,
    /// Remove it although workloads that depend on it run on the same clusters
    #[arg(long)]
    pub ignore_dependents: bool,
}

impl RemovalArgs {
    /// The request with these flags.
    pub fn to_request(&self) -> RemovalOptions {
        RemovalOptions {
            deletion: self.orphan.then_some(DeletionPolicy::Orphan),
            force: self.force,
            ignore_dependents: self.ignore_dependents,
        }
    }

    /// Waits for the condition, if `--wait` is set.
    pub async fn wait_for_removal(
        &self,
        remote: &ServerConnection,
        workload: &str,
        out: &Printer,
        condition: WaitCondition,
    ) -> Result<ExitStatus, Failure> {
        if !self.wait {
            return Ok(ExitStatus::Success);
        }
        let follow = WorkloadWait { client: &remote.client, workload, timeout: self.timeout, condition };
        let ended = follow.run(out).await?;
        if ended.exit == ExitStatus::Success {
            out.print_note(&self.describe_end(workload, &ended.elapsed_text()));
        }
        ended.to_result(workload, "removal", out)
    }

    /// Where the workload is gone, and what remains. How the release of an unreachable cluster ended is no longer known once the workload
    /// is gone, so a forced removal does not say that there was none.
    fn describe_end(&self, workload: &str, elapsed: &str) -> String {
        let gone = if self.force {
            format!(
                "{workload} is removed from all clusters that were reached ({elapsed}). A cluster that was not completes the removal when it returns."
            )
        } else {
            format!("{workload} is removed from all clusters ({elapsed}).")
        };
        let remaining = if self.orphan {
            "Its objects stay there, no longer managed."
        } else {
            "Namespaces that Flotilla created and volume claims of StatefulSets remain."
        };
        format!("{gone} {remaining}")
    }
}

impl UnpublishArgs {
    /// Runs it.
    pub async fn run(self, remote: &ServerConnection, out: &Printer) -> Result<ExitStatus, Failure> {
        let names = self.workloads.resolve(remote).await?;
        if !self.confirm.is_given() {
            self.confirm.confirm(&self.workloads.describe_removal(&names, remote).await?)?;
        }
        let request = self.removal.to_request();
        let requested = run_for_each(&names, remote, out, async |name| {
            remote.client.unpublish_workload(name, &request).await?;
            out.print_line(&format!("workload/{name} unpublished"))?;
            Ok(ExitStatus::Success)
        })
        .await?;
        if !self.removal.wait || requested != ExitStatus::Success {
            return Ok(requested);
        }
        run_for_each(&names, remote, out, async |name| {
            self.removal.wait_for_removal(remote, name, out, WaitCondition::Undeployed).await
        })
        .await
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn s1_23_a_forced_removal_claims_neither_all_clusters_nor_that_orphaned_objects_are_removed() {
        let describe = |force, orphan| {
            let timeout = "5m".parse().unwrap();
            let args = RemovalArgs { wait: true, timeout, orphan, force, ignore_dependents: false };
            args.describe_end("web", "3 s")
        };
        assert_eq!(
            describe(true, true),
            "web is removed from all clusters that were reached (3 s). A cluster that was not completes the removal when it returns. Its \
             objects stay there, no longer managed."
        );
        assert!(describe(true, false).ends_with("volume claims of StatefulSets remain."));
        assert_eq!(
            describe(false, true),
            "web is removed from all clusters (3 s). Its objects stay there, no longer managed."
        );
    }
}
