//! `flotilla chart search` and `flotilla chart versions`.

use clap::Args;
use domain::chart_repository::CatalogVersion;
use wire::CatalogQuery;

use crate::connection::ServerConnection;
use crate::failure::Failure;
use crate::output::{Format, OutputArgs, Printer, Table};

/// Search the uploaded charts and those of all repositories by words in name or description
#[derive(Args)]
pub struct ChartSearchArgs {
    /// The words; without any, all charts
    words: Vec<String>,
    /// Most charts to print
    #[arg(long, default_value_t = 50, value_parser = clap::value_parser!(u32).range(1..=500))]
    limit: u32,
    #[command(flatten)]
    output: OutputArgs,
}

impl ChartSearchArgs {
    pub(super) async fn run(self, remote: &ServerConnection, out: &Printer) -> Result<(), Failure> {
        let query = CatalogQuery { q: self.words.join(" "), limit: Some(self.limit), cursor: None };
        let found = remote.client.search_charts(&query).await?;
        if self.output.format.is_machine() {
            return out.print_value(&found.items, self.output.format);
        }
        let mut table = Table::new(&["CHART", "VERSION", "APP", "VERSIONS", "DESCRIPTION"]);
        for chart in &found.items {
            let version = match chart.deprecated {
                true => format!("{} (deprecated)", chart.version),
                false => chart.version.clone(),
            };
            let row = table.add_row().text(&chart.chart).text(version).text(&chart.app_version);
            row.text(chart.version_count.to_string()).text(&chart.description);
        }
        out.print_table(&table, "No chart matches. Repositories: flotilla chart repo list")?;
        if found.next.is_some() {
            let shown = found.items.len();
            out.print_note(&format!("{shown} of {} charts; more with --limit or another word.", found.total));
        }
        Ok(())
    }
}

pub(super) fn print_versions(
    versions: &[CatalogVersion],
    format: Format,
    out: &Printer,
) -> Result<(), Failure> {
    if format.is_machine() {
        return out.print_value(&versions, format);
    }
    let mut table = Table::new(&["VERSION", "APP", "KUBERNETES", "PUBLISHED", "STORED", "DEPRECATED"]);
    let yes = |is: bool| if is { "yes" } else { "" };
    for version in versions {
        let row = table.add_row().text(&version.version).text(&version.app_version);
        let published = version.created_at.map(|at| at.to_string()).unwrap_or_default();
        let row = row.text(&version.kubernetes_range).text(published);
        row.text(yes(version.is_stored)).text(yes(version.deprecated));
    }
    out.print_table(&table, "There is no version.")
}
