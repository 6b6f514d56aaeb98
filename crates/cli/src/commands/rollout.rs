//! `flotilla rollout`: shows the waves of a rollout, and controls it (docs/rollouts.md).

use clap::{Args, Subcommand};
use domain::rollout::{Rollout, RolloutAction};

use crate::clock;
use crate::confirm::ConfirmArgs;
use crate::connection::ServerConnection;
use crate::exit::ExitStatus;
use crate::failure::Failure;
use crate::output::{Format, OutputArgs, Printer, Table, sanitize};

mod clusters;

use clusters::{RolloutClustersArgs, RolloutReportArgs};

/// The subcommands for rollouts.
#[derive(Subcommand)]
pub enum RolloutCommand {
    Status(RolloutStatusArgs),
    Clusters(RolloutClustersArgs),
    Report(RolloutReportArgs),
    /// Pause: admit no more clusters
    Pause(RolloutArgs),
    /// Resume; clusters that fail now no longer count as failures
    Resume(RolloutArgs),
    /// Approve the wave that waits for approval, or its result
    Approve(RolloutArgs),
    /// Promote to the next wave: skip the rest of the soak time
    Promote(RolloutArgs),
    /// Retry the clusters that fail: their agents try again now; the rollout stays in its state
    Retry(RolloutArgs),
    /// Abort the rollout, after a confirmation: clusters that were not admitted yet stay at their revision
    Abort {
        #[command(flatten)]
        named: RolloutArgs,
        #[command(flatten)]
        confirm: ConfirmArgs,
    },
}

/// Show the waves of a rollout
#[derive(Args)]
pub struct RolloutStatusArgs {
    /// Name of the workload
    workload: String,
    /// The revision [default: the published one]
    #[arg(short, long, value_name = "N")]
    revision: Option<u32>,
    #[command(flatten)]
    output: OutputArgs,
}

/// A workload by name.
#[derive(Args)]
pub struct RolloutArgs {
    /// Name of the workload
    workload: String,
}

impl RolloutCommand {
    /// The name of the workload.
    pub fn workload(&self) -> &str {
        match self {
            Self::Status(status) => &status.workload,
            Self::Clusters(clusters) => &clusters.workload,
            Self::Report(report) => &report.workload,
            Self::Pause(named)
            | Self::Resume(named)
            | Self::Approve(named)
            | Self::Promote(named)
            | Self::Retry(named)
            | Self::Abort { named, .. } => &named.workload,
        }
    }

    /// Runs it.
    pub async fn run(self, remote: &ServerConnection, out: &Printer) -> Result<ExitStatus, Failure> {
        let (verb, named) = match self {
            Self::Status(status) => return status.run(remote, out).await,
            Self::Clusters(clusters) => return clusters.run(remote, out).await,
            Self::Report(report) => return report.run(remote, out).await,
            Self::Pause(named) => (RolloutAction::Pause, named),
            Self::Resume(named) => (RolloutAction::Resume, named),
            Self::Approve(named) => (RolloutAction::Approve, named),
            Self::Promote(named) => (RolloutAction::Promote, named),
            Self::Retry(named) => (RolloutAction::Retry, named),
            Self::Abort { named, confirm } => {
                if !confirm.is_given() {
                    confirm.confirm(&describe_abort(remote, &named.workload).await?)?;
                }
                (RolloutAction::Abort, named)
            }
        };
        let rollout = remote.client.control_rollout(&named.workload, verb).await?;
        let RolloutArgs { workload } = named;
        out.print_line(&format!(
            "rollout of {workload} revision {} {}",
            rollout.revision,
            verb.past_participle()
        ))?;
        out.print_note(&sanitize(&rollout.message(clock::now())));
        Ok(ExitStatus::Success)
    }
}

/// How many clusters an abort leaves at their revision.
async fn describe_abort(remote: &ServerConnection, workload: &str) -> Result<String, Failure> {
    let rollout = remote.client.get_rollout(workload, None).await?;
    let gated: u32 = rollout.waves.iter().map(|wave| wave.gated).sum();
    let (noun, stay) = if gated == 1 { ("cluster", "stays") } else { ("clusters", "stay") };
    Ok(format!(
        "The rollout of {workload} revision {} ends and can't be resumed: {gated} {noun} not admitted yet {stay} at the current revision.",
        rollout.revision
    ))
}

impl RolloutStatusArgs {
    async fn run(self, remote: &ServerConnection, out: &Printer) -> Result<ExitStatus, Failure> {
        let rollout = remote.client.get_rollout(&self.workload, self.revision).await?;
        if self.output.format.is_machine() {
            out.print_value(&rollout, self.output.format)?;
            return Ok(ExitStatus::Success);
        }
        out.print_line(&format!(
            "Revision {}: {}",
            rollout.revision,
            sanitize(&rollout.message(clock::now()))
        ))?;
        out.print_table(&waves_table(&rollout, self.output.format), "")?;
        Ok(ExitStatus::Success)
    }
}

fn waves_table(rollout: &Rollout, format: Format) -> Table {
    let now = clock::now();
    let mut head =
        vec!["WAVE", "STATE", "CLUSTERS", "WAITING", "IN PROGRESS", "OPERATIONAL", "OFFLINE", "FAILING"];
    if format == Format::Wide {
        head.extend([
            "SILENT",
            "ROLLED BACK",
            "MAX DEFERRED",
            "SOAK",
            "OPENED",
            "DONE",
            "APPROVED BY",
            "RESULT APPROVED BY",
        ]);
    }
    let mut table = Table::new(&head);
    for (at, (wave, progress)) in rollout.strategy.waves.iter().zip(&rollout.waves).enumerate() {
        let counts = [
            progress.clusters,
            progress.gated,
            progress.in_transition,
            progress.operational,
            progress.deferred,
            progress.failing,
        ];
        let row = table.add_row().text(&progress.name).text(rollout.wave_label(at));
        let row = counts.into_iter().fold(row, |row, count| row.text(count.to_string()));
        if format == Format::Wide {
            let age =
                |at: Option<domain::Timestamp>| at.map(|at| clock::format_age(at, now)).unwrap_or_default();
            row.text(progress.silent.to_string())
                .text(progress.rolled_back.to_string())
                .text(wave.max_deferred.as_ref().map(ToString::to_string).unwrap_or_default())
                .text(wave.soak.as_ref().map(ToString::to_string).unwrap_or_default())
                .text(age(progress.opened_at))
                .text(age(progress.done_at))
                .text(progress.approved_by.clone().unwrap_or_default())
                .text(progress.result_approved_by.clone().unwrap_or_default());
        }
    }
    table
}
