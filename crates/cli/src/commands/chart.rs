//! `flotilla chart`: the charts of the project (S1-10).

use std::path::PathBuf;

use clap::{Args, Subcommand};
use domain::chart::{ChartRef, ChartSource, ChartVersion, LOCAL_REPOSITORY};

use crate::chart_source::{find_newest, read_archive};
use crate::confirm::ConfirmArgs;
use crate::connection::ServerConnection;
use crate::exit::ExitStatus;
use crate::failure::Failure;
use crate::output::{Format, OutputArgs, Printer, Table};

mod repo;
mod search;
mod unwrap;

/// The subcommands for charts.
#[derive(Subcommand)]
pub enum ChartCommand {
    /// List the stored charts and their versions, newest first
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
    Search(search::ChartSearchArgs),
    Unwrap(unwrap::UnwrapArgs),
    /// List the versions of a chart, newest first
    Versions {
        /// The chart, such as bitnami/nginx
        chart: String,
        #[command(flatten)]
        output: OutputArgs,
    },
    /// Delete a stored version of a chart; rejected while a workload names it
    Delete {
        /// The chart, such as local/podinfo
        chart: String,
        /// The version
        version: String,
        #[command(flatten)]
        confirm: ConfirmArgs,
    },
    /// Manage the repositories that charts are fetched from
    #[command(subcommand)]
    Repo(repo::RepoCommand),
}

/// Show a version of a chart, its default values or its README
#[derive(Args)]
pub struct GetChartArgs {
    /// The chart, such as local/podinfo
    chart: String,
    /// The version [default: the newest one; of an uploaded chart the newest upload]
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
            Self::Search(search) => search.run(remote, out).await?,
            Self::Unwrap(unwrap) => unwrap.run(remote, out).await?,
            Self::Versions { chart, output } => {
                let ChartRef { repository, name } = split_reference(&chart)?;
                let versions = remote.client.list_chart_versions(repository, name).await?;
                search::print_versions(&versions, output.format, out)?;
            }
            Self::Delete { chart, version, confirm } => {
                let ChartRef { repository, name } = split_reference(&chart)?;
                let effect = match repository {
                    LOCAL_REPOSITORY => "It can't be restored here; upload it again to use it.",
                    _ => "It is fetched again when a workload needs it.",
                };
                confirm.confirm(&format!(
                    "The version {version} of the chart {chart} will be deleted. {effect}"
                ))?;
                remote.client.delete_chart(repository, name, &version).await?;
                out.print_line(&format!("chart/{chart} {version} deleted"))?;
            }
            Self::Repo(repo) => repo.run(remote, out).await?,
        }
        Ok(ExitStatus::Success)
    }
}

impl GetChartArgs {
    async fn run(self, remote: &ServerConnection, out: &Printer) -> Result<(), Failure> {
        let ChartRef { repository, name } = split_reference(&self.chart)?;
        let version = match self.version {
            Some(version) => version,
            None => {
                let newest = find_newest(remote, &self.chart).await?;
                let missing = || {
                    Failure::new(
                        format!("There is no chart {:?}.", self.chart),
                        "Search for it: flotilla chart search WORD",
                    )
                };
                newest.ok_or_else(missing)?
            }
        };
        let details = remote.client.get_chart(repository, name, &version).await?;
        let file = match (self.values, self.readme, self.schema) {
            (true, ..) => Some(("values.yaml", &details.default_values)),
            (_, true, _) => Some(("README.md", &details.readme)),
            (.., true) => Some(("values.schema.json", &details.values_schema)),
            _ => None,
        };
        if let Some((path, text)) = file
            && let Some(shortened) = details.find_shortened(path)
        {
            if text.is_empty() {
                let hint = "Pull the packed chart from its repository, or unpack the one that was uploaded.";
                return Err(Failure::new(&shortened.reason, hint));
            }
            out.print_warning(&shortened.reason);
        }
        match file {
            Some((_, text)) => out.print_line(text.trim_end_matches('\n')),
            None if self.output.format.is_machine() => out.print_value(&details, self.output.format),
            None => print_list(&[details.chart], self.output.format, out),
        }
    }
}

/// The parts of a reference.
fn split_reference(chart: &str) -> Result<ChartRef<'_>, Failure> {
    let reference = chart.split_once('/').map(|(repository, name)| ChartRef { repository, name });
    let source = ChartSource { chart: chart.to_owned(), ..ChartSource::default() };
    reference.filter(|_| source.reference().is_some()).ok_or_else(|| {
        Failure::usage(
            format!("{chart:?} does not name a chart."),
            "Write the repository and the name, such as local/podinfo.",
        )
    })
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
