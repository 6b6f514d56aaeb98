//! `flotilla resume`: ends the suspension of a workload, and shows what changes (S2-11).

use clap::Args;
use domain::suspension::{ResumeRequest, SuspensionDetails, SuspensionScope};

use crate::connection::ServerConnection;
use crate::exit::ExitStatus;
use crate::failure::Failure;
use crate::output::{Printer, sanitize};
use crate::resources::parse_cluster_names;

/// End the suspension of a workload, and show what changes on its clusters
#[derive(Args)]
pub struct ResumeArgs {
    /// Name of the workload
    pub workload: String,
    /// Only these clusters, on which it is suspended alone [default: what was suspended everywhere]
    #[arg(long, value_delimiter = ',', value_name = "A,B")]
    clusters: Vec<String>,
    /// Show what would change, and resume nothing
    #[arg(long)]
    dry_run: bool,
}

impl ResumeArgs {
    /// Runs it.
    pub async fn run(self, remote: &ServerConnection, out: &Printer) -> Result<ExitStatus, Failure> {
        let Self { workload, clusters, dry_run } = self;
        let clusters = parse_cluster_names(&clusters, "Omit the flag to resume it everywhere.")?;
        let scope = if clusters.is_empty() { SuspensionScope::Workload } else { SuspensionScope::Release };
        if dry_run {
            let mut details = remote.client.get_workload_suspension(&workload).await?;
            details.effects.retain(|effect| effect.scopes.contains(&scope));
            details.effects.retain(|effect| clusters.is_empty() || clusters.contains(&effect.cluster));
            if let Some(suspension) = details.suspension.as_ref().filter(|_| clusters.is_empty()) {
                out.print_line(&sanitize(&suspension.to_string()))?;
            }
            return print_effects(&details, scope, out);
        }
        let request = ResumeRequest { clusters };
        let details = remote.client.resume_workload(&workload, &request).await?;
        out.print_line(&format!("workload/{workload} resumed"))?;
        print_effects(&details, scope, out)
    }
}

/// Prints what changes on each cluster when a suspension of `scope` ends.
pub fn print_effects(
    details: &SuspensionDetails,
    scope: SuspensionScope,
    out: &Printer,
) -> Result<ExitStatus, Failure> {
    if details.effects.is_empty() {
        out.print_line("Nothing is suspended by it: nothing changes.")?;
    }
    for effect in &details.effects {
        out.print_line(&sanitize(&effect.describe(scope)))?;
    }
    if details.more > 0 {
        out.print_note(&format!("and {} more releases.", details.more));
    }
    Ok(ExitStatus::Success)
}
