//! `flotilla status`: the status of a workload per cluster. There is no single status (S1-19).

use std::collections::BTreeMap;

use clap::Args;
use wire::{Client, WorkloadStatus};

use crate::clock;
use crate::connection::ServerConnection;
use crate::exit::ExitStatus;
use crate::failure::Failure;
use crate::output::{Format, OutputArgs, Printer, Table};
use crate::resources::releases::{describe_stage, mark_missed_deadline};
use crate::resources::workloads::ListOrder;
use crate::resources::{releases, workloads};
use crate::wait::{ChangeSignals, ProgressDisplay, ProgressStream, is_transient};

/// Show the status of a workload per cluster, worst first; without a name, of all workloads, worst first
#[derive(Args)]
pub struct StatusArgs {
    /// Name of the workload
    pub workload: Option<String>,
    /// Watch for changes, until Ctrl-C
    #[arg(short, long, requires = "workload")]
    watch: bool,
    /// Only on this cluster, with its stages and objects
    #[arg(long, value_name = "CLUSTER", requires = "workload", conflicts_with = "watch")]
    cluster: Option<String>,
    #[command(flatten)]
    output: OutputArgs,
}

impl StatusArgs {
    /// Runs it.
    pub async fn run(self, remote: &ServerConnection, out: &Printer) -> Result<ExitStatus, Failure> {
        let Some(workload) = self.workload else {
            workloads::print_list(remote, ListOrder::WorstFirst, self.output.format, out).await?;
            return Ok(ExitStatus::Success);
        };
        if let Some(cluster) = &self.cluster {
            releases::print_release(remote, &workload, cluster, self.output.format, out).await?;
            return Ok(ExitStatus::Success);
        }
        if self.watch {
            return tokio::select! {
                ended = watch_status(&remote.client, &workload, self.output.format, out) => ended,
                _ = tokio::signal::ctrl_c() => Ok(ExitStatus::Interrupted),
            };
        }
        let status = remote.client.get_workload_status(&workload, None).await?;
        if self.output.format.is_machine() {
            out.print_value(&status, self.output.format)?;
            return Ok(ExitStatus::Success);
        }
        let nothing = format!(
            "{workload} is on no cluster. \"flotilla publish {workload}\" publishes it; \"flotilla explain placement {workload}\" shows where it would go."
        );
        out.print_table(&status_table(&status, self.output.format), &nothing)?;
        workloads::print_failures(&status.failures, out);
        print_facts_notices(&status, out);
        Ok(ExitStatus::Success)
    }
}

/// Prints what a publish would change because facts of clusters have changed, once for all clusters with the same change.
fn print_facts_notices(status: &WorkloadStatus, out: &Printer) {
    let mut clusters: BTreeMap<&str, Vec<&str>> = BTreeMap::new();
    for target in status.target_clusters.iter().filter(|target| !target.facts_notice.is_empty()) {
        clusters.entry(&target.facts_notice).or_default().push(&target.cluster_name);
    }
    for (notice, clusters) in clusters {
        out.print_warning(&format!("{}: {notice}", clusters.join(", ")));
    }
}

async fn watch_status(
    client: &Client,
    workload: &str,
    format: Format,
    out: &Printer,
) -> Result<ExitStatus, Failure> {
    let mut signals = ChangeSignals::start(client);
    let mut progress = ProgressDisplay::new(ProgressStream::Stdout, out);
    let mut last = None;
    loop {
        match client.get_workload_status(workload, None).await {
            Ok(status) if last.as_ref() == Some(&status) => {}
            Ok(status) => {
                if format.is_machine() {
                    out.print_streamed(&status, format)?;
                } else {
                    progress.show_status(&status)?;
                }
                last = Some(status);
            }
            Err(error) if last.is_some() && is_transient(&error) => {}
            Err(error) => return Err(error.into()),
        }
        signals.wait().await;
    }
}

fn status_table(status: &WorkloadStatus, format: Format) -> Table {
    let now = clock::now();
    let wide = format == Format::Wide;
    let mut head = vec!["CLUSTER", "STATE", "SYNC", "HEALTH", "CONNECTIVITY", "REVISION", "SINCE"];
    head.extend(if wide { &["STAGE", "STAGE DETAIL", "LAST SEEN", "MESSAGE"][..] } else { &["MESSAGE"][..] });
    let mut table = Table::new(&head);
    for target in &status.target_clusters {
        let row = table.add_row().text(&target.cluster_name).state(target.state).text(target.sync.as_str());
        let row = row.text(target.health.status.as_str()).connectivity(target.connectivity);
        let row = row.text(target.revision.map(|revision| revision.to_string()).unwrap_or_default());
        let row = row.text(clock::format_age(target.state_since, now));
        let row = if wide {
            let current = target.stages.current();
            let stage = current.map(|stage| format!("{} {}", stage.name.label(), stage.state.as_str()));
            let detail = current.map(|stage| describe_stage(stage, now));
            let seen = target.last_seen.map(|seen| clock::format_age(seen, now));
            let row = row.text(stage.unwrap_or_else(|| "all done".to_owned()));
            row.text(detail.unwrap_or_default()).text(seen.unwrap_or_default())
        } else {
            row
        };
        row.text(mark_missed_deadline(&target.message, target.deadline_at, now));
    }
    table
}
