//! `flotilla cluster suspend` and `resume`: applies, reverts and deletes nothing on a cluster until it is resumed (S2-11).

use clap::Args;
use domain::suspension::{ClusterSuspendRequest, SuspensionScope};

use crate::commands::resume::print_effects;
use crate::connection::ServerConnection;
use crate::failure::Failure;
use crate::output::{Printer, sanitize};

/// Pause a cluster: of no workload anything is applied, reverted or deleted there until it is resumed
///
/// Drift is still reported, and what is published meanwhile waits. Workloads are still placed on it; "cluster cordon" prevents that.
#[derive(Args)]
pub struct SuspendClusterArgs {
    /// Name of the cluster
    pub cluster: String,
    /// Why, for those who find it suspended
    #[arg(long, value_name = "TEXT")]
    reason: String,
}

/// End the suspension of a cluster, and show what changes of its workloads
#[derive(Args)]
pub struct ResumeClusterArgs {
    /// Name of the cluster
    pub cluster: String,
    /// Show what would change, and resume nothing
    #[arg(long)]
    dry_run: bool,
}

impl SuspendClusterArgs {
    /// Runs it.
    pub async fn run(self, remote: &ServerConnection, out: &Printer) -> Result<(), Failure> {
        let Self { cluster, reason } = self;
        remote.client.suspend_cluster(&cluster, &ClusterSuspendRequest { reason }).await?;
        out.print_line(&format!("cluster/{cluster} suspended"))?;
        out.print_note(&format!(
            "See what a resume changes with: flotilla cluster resume {cluster} --dry-run"
        ));
        Ok(())
    }
}

impl ResumeClusterArgs {
    /// Runs it.
    pub async fn run(self, remote: &ServerConnection, out: &Printer) -> Result<(), Failure> {
        let Self { cluster, dry_run } = self;
        if dry_run {
            let mut details = remote.client.get_cluster_suspension(&cluster).await?;
            details.effects.retain(|effect| effect.scopes.contains(&SuspensionScope::Cluster));
            if let Some(suspension) = &details.suspension {
                out.print_line(&sanitize(&suspension.to_string()))?;
            }
            return print_effects(&details, SuspensionScope::Cluster, out).map(drop);
        }
        let details = remote.client.resume_cluster(&cluster).await?;
        out.print_line(&format!("cluster/{cluster} resumed"))?;
        print_effects(&details, SuspensionScope::Cluster, out).map(drop)
    }
}
