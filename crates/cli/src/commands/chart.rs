//! `flotilla chart`: the charts of the project (S1-10).

use std::path::PathBuf;

use clap::{Args, Subcommand};
use domain::chart::{ChartRef, ChartSource, ChartVersion};

use crate::chart_source::read_archive;
use crate::connection::ServerConnection;
use crate::exit::ExitStatus;
use crate::failure::Failure;
use crate::output::{Format, OutputArgs, Printer, Table};

/// The subcommands for charts.
#[derive(Subcommand)]
pub enum ChartCommand {
    /// List the charts and their versions, newest upload first
    List {
        /// Only versions of this chart
        chart: Option<String>,
        #[command(flatten)]
        output: OutputArgs,
    },
    /// Upload a packed chart (.tgz) as local/NAME; a version never changes once it is uploaded
    Push {
        /// The file, as "helm package" writes it
        #[arg(value_name = "FILE.tgz")]
        file: PathBuf,
        #[command(flatten)]
        output: OutputArgs,
    },
    Get(GetChartArgs),
}

/// Show a version of a chart, its default values or its README
#[derive(Args)]
pub struct GetChartArgs {
    /// The chart, such as local/podinfo
    chart: String,
    /// The version [default: the newest upload]
    #[arg(long = "chart-version", value_name = "VERSION")]
    version: Option<String>,
    /// Print its values.yaml, with comments
    #[arg(long, conflicts_with_all = ["readme", "schema"])]
    values: bool,
    /// Print its README
    #[arg(long, conflicts_with = "schema")]
    readme: bool,
    /// Print its values.schema.json
    #[arg(long)]
    schema: bool,
    #[command(flatten)]
    output: OutputArgs,
}

impl ChartCommand {
    /// Runs it.
    pub async fn run(self, remote: &ServerConnection, out: &Printer) -> Result<ExitStatus, Failure> {
        match self {
            Self::List { chart, output } => {
                let name = chart.as_deref().map(|chart| chart.rsplit('/').next().unwrap_or(chart));
                let charts = remote.client.list_charts(name).await?;
                print_list(&charts, output.format, out)?;
            }
            Self::Push { file, output } => {
                let chart = remote.client.upload_chart(read_archive(&file)?).await?;
                if output.format.is_machine() {
                    out.print_value(&chart, output.format)?;
                } else {
                    out.print_line(&format!("chart/{} {} uploaded", chart.reference(), chart.version))?;
                    out.print_note(&format!(
                        "Next: flotilla apply --chart {} --clusters A,B",
                        chart.reference()
                    ));
                }
            }
            Self::Get(get) => get.run(remote, out).await?,
        }
        Ok(ExitStatus::Success)
    }
}

impl GetChartArgs {
    async fn run(self, remote: &ServerConnection, out: &Printer) -> Result<(), Failure> {
        let source = ChartSource { chart: self.chart.clone(), ..ChartSource::default() };
        let Some(ChartRef { repository, name }) = source.reference() else {
            return Err(Failure::usage(
                format!("{:?} does not name a chart.", self.chart),
                "Write the repository and the name, such as local/podinfo.",
            ));
        };
        let version = match self.version {
            Some(version) => version,
            None => {
                let charts = remote.client.list_charts(Some(name)).await?;
                let newest = charts.into_iter().find(|chart| chart.reference() == self.chart);
                let missing = || {
                    Failure::new(
                        format!("There is no chart {:?}.", self.chart),
                        "List them: flotilla chart list",
                    )
                };
                newest.ok_or_else(missing)?.version
            }
        };
        let details = remote.client.get_chart(repository, name, &version).await?;
        let text = match (self.values, self.readme, self.schema) {
            (true, ..) => Some(&details.default_values),
            (_, true, _) => Some(&details.readme),
            (.., true) => Some(&details.values_schema),
            _ => None,
        };
        match text {
            Some(text) => out.print_line(text.trim_end_matches('\n')),
            None if self.output.format.is_machine() => out.print_value(&details, self.output.format),
            None => print_list(&[details.chart], self.output.format, out),
        }
    }
}

fn print_list(charts: &[ChartVersion], format: Format, out: &Printer) -> Result<(), Failure> {
    if format.is_machine() {
        return out.print_value(&charts, format);
    }
    let mut table = Table::new(&["CHART", "VERSION", "APP", "DIGEST", "UPLOADED BY", "DESCRIPTION"]);
    for chart in charts {
        let row = table.add_row().text(chart.reference()).text(&chart.version).text(&chart.app_version);
        row.text(chart.digest.short()).text(&chart.created_by).text(&chart.description);
    }
    out.print_table(&table, "There are no charts yet: flotilla chart push FILE.tgz")
}
