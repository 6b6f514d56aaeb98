//! `flotilla cluster helm-release` and `flotilla cluster adopt`: installed Helm releases.

use clap::Args;
use domain::helm_release::HelmReleaseAdoption;

use crate::connection::ServerConnection;
use crate::failure::Failure;
use crate::output::{OutputArgs, Printer, Table, sanitize};

/// Show chart, version and values of an installed Helm release, read on the cluster now; the values may contain secrets
#[derive(Args)]
pub struct HelmReleaseArgs {
    /// Name of the cluster
    pub cluster: String,
    /// The release
    #[arg(value_name = "NAMESPACE/NAME", value_parser = parse_release)]
    release: (String, String),
    /// Print the values only
    #[arg(long)]
    values: bool,
    #[command(flatten)]
    output: OutputArgs,
}

/// Create a draft that continues an installed Helm release: its chart, version, values, namespace and name, placed on its cluster
#[derive(Args)]
pub struct AdoptArgs {
    /// Name of the cluster
    pub cluster: String,
    /// The release
    #[arg(value_name = "NAMESPACE/NAME", value_parser = parse_release)]
    release: (String, String),
    /// Name of the workload [default: the name of the release]
    #[arg(long)]
    name: Option<String>,
    /// The chart: REPOSITORY/NAME [default: the only one of the project with its name and version]
    #[arg(long, value_name = "CHART")]
    chart: Option<String>,
}

fn parse_release(text: &str) -> Result<(String, String), String> {
    let parts = text.split_once('/').filter(|(namespace, name)| !namespace.is_empty() && !name.is_empty());
    let (namespace, name) = parts.ok_or("write NAMESPACE/NAME of the release")?;
    Ok((namespace.to_owned(), name.to_owned()))
}

fn print_lines(text: &str, out: &Printer) -> Result<(), Failure> {
    text.lines().try_for_each(|line| out.print_line(&sanitize(line)))
}

impl HelmReleaseArgs {
    /// Runs it.
    pub async fn run(self, remote: &ServerConnection, out: &Printer) -> Result<(), Failure> {
        let (namespace, name) = &self.release;
        let found = remote.client.read_helm_release(&self.cluster, namespace, name).await?;
        if self.output.format.is_machine() {
            return out.print_value(&found, self.output.format);
        }
        if self.values {
            return print_lines(&found.values, out);
        }
        let mut table = Table::new(&["FIELD", "VALUE"]);
        let charts = if found.charts.is_empty() { "-".to_owned() } else { found.charts.join(", ") };
        for (field, value) in [
            ("release", format!("{namespace}/{name}")),
            ("revision", found.revision.to_string()),
            ("status", sanitize(&found.status)),
            ("chart", format!("{} {}", sanitize(&found.chart_name), sanitize(&found.chart_version))),
            ("charts of the project", charts),
        ] {
            table.add_row().text(field).text(value);
        }
        out.print_table(&table, "")?;
        if !found.values.is_empty() {
            out.print_line("")?;
            print_lines(&found.values, out)?;
        }
        out.print_note(&format!(
            "To continue it as a workload: flotilla cluster adopt {} {namespace}/{name}",
            self.cluster
        ));
        Ok(())
    }
}

impl AdoptArgs {
    /// Runs it.
    pub async fn run(self, remote: &ServerConnection, out: &Printer) -> Result<(), Failure> {
        let (namespace, name) = &self.release;
        let adoption = HelmReleaseAdoption {
            workload: self.name.unwrap_or_default(),
            chart: self.chart.unwrap_or_default(),
        };
        let created = remote.client.adopt_helm_release((&self.cluster, namespace, name), &adoption).await?;
        out.print_line(&format!("workload/{} created", created.name))?;
        out.print_note(&format!(
            "Nothing has changed on {}. Look at the plan, then publish: flotilla plan {name}, flotilla publish {name}",
            self.cluster,
            name = created.name
        ));
        Ok(())
    }
}
