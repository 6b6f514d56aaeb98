//! `flotilla rollout clusters` and `flotilla rollout report`.

use clap::{Args, ValueEnum};
use domain::page::ListQuery;
use domain::rollout::{RolloutCluster, RolloutClusterQuery};

use crate::clock;
use crate::connection::ServerConnection;
use crate::exit::ExitStatus;
use crate::failure::Failure;
use crate::output::{OutputArgs, Printer, Table, sanitize};
use crate::pages::list_pages;

/// List the clusters of a rollout by wave, with what became of the revision there
#[derive(Args)]
pub struct RolloutClustersArgs {
    /// Name of the workload
    pub(super) workload: String,
    /// The revision [default: the published one]
    #[arg(short, long, value_name = "N")]
    revision: Option<u32>,
    /// Only clusters of this wave
    #[arg(long, value_name = "NAME")]
    wave: Option<String>,
    /// Only clusters whose release is in one of these states, such as Failed,Degraded
    #[arg(long, default_value = "", hide_default_value = true)]
    state: String,
    #[command(flatten)]
    output: OutputArgs,
}

impl RolloutClustersArgs {
    pub(super) async fn run(self, remote: &ServerConnection, out: &Printer) -> Result<ExitStatus, Failure> {
        let Self { workload, revision, wave, state, output } = self;
        let filter = ListQuery { state, ..ListQuery::default() };
        let clusters = list_pages(filter, async |list| {
            let query = RolloutClusterQuery { revision, wave: wave.clone(), list };
            remote.client.list_rollout_clusters(&workload, &query).await
        });
        let clusters = clusters.await?;
        if output.format.is_machine() {
            out.print_value(&clusters, output.format)?;
        } else {
            out.print_table(&clusters_table(&clusters), "No cluster matches.")?;
        }
        Ok(ExitStatus::Success)
    }
}

fn clusters_table(clusters: &[RolloutCluster]) -> Table {
    let now = clock::now();
    let mut table =
        Table::new(&["WAVE", "CLUSTER", "STATUS", "STATE", "RELEASED", "APPLIED", "AGE", "MESSAGE"]);
    let revision = |number: Option<u32>| number.map(|number| format!("r{number}")).unwrap_or_default();
    for one in clusters {
        table
            .add_row()
            .text(&one.wave_name)
            .text(&one.name)
            .text(one.status.label())
            .state(one.state)
            .text(revision(one.released_revision))
            .text(revision(one.applied_revision))
            .text(clock::format_age(one.since, now))
            .text(&one.message);
    }
    table
}

/// Print a report of a rollout with its waves, approvals and clusters
#[derive(Args)]
pub struct RolloutReportArgs {
    /// Name of the workload
    pub(super) workload: String,
    /// The revision [default: the published one]
    #[arg(short, long, value_name = "N")]
    revision: Option<u32>,
    /// md: Markdown; csv: the clusters for a spreadsheet; json: everything
    #[arg(short = 'o', long = "output", value_enum, default_value_t = ReportFormat::Md, value_name = "FORMAT")]
    format: ReportFormat,
}

/// The format of a report.
#[derive(Clone, Copy, ValueEnum)]
enum ReportFormat {
    Md,
    Csv,
    Json,
}

impl RolloutReportArgs {
    pub(super) async fn run(self, remote: &ServerConnection, out: &Printer) -> Result<ExitStatus, Failure> {
        let format = match self.format {
            ReportFormat::Md => "md",
            ReportFormat::Csv => "csv",
            ReportFormat::Json => "json",
        };
        let report = remote.client.report_rollout(&self.workload, self.revision, format).await?;
        for line in report.lines() {
            out.print_line(&sanitize(line))?;
        }
        Ok(ExitStatus::Success)
    }
}
