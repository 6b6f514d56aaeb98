//! `flotilla values`: the values that the chart of a workload is rendered with for one cluster (S1-11, E-8).

use clap::Args;
use domain::manifest::yaml_value;
use domain::values::ValueProvenance;
use wire::ValuesQuery;

use crate::connection::ServerConnection;
use crate::exit::ExitStatus;
use crate::failure::Failure;
use crate::output::{OutputArgs, Printer, Table};

/// Show the values that the chart of a workload is rendered with for one cluster
#[derive(Args)]
pub struct ValuesArgs {
    /// Name of the workload
    pub workload: String,
    /// The cluster
    #[arg(long, value_name = "CLUSTER")]
    cluster: String,
    /// The layers that set each value, the effective one first; includes the defaults of the chart
    #[arg(long)]
    show_source: bool,
    /// The revision [default: the draft]
    #[arg(long, value_name = "N")]
    revision: Option<u32>,
    #[command(flatten)]
    output: OutputArgs,
}

impl ValuesArgs {
    /// Runs it.
    pub async fn run(self, remote: &ServerConnection, out: &Printer) -> Result<ExitStatus, Failure> {
        let query = ValuesQuery { cluster: self.cluster, source: self.show_source, revision: self.revision };
        let values = remote.client.get_values(&self.workload, &query).await?;
        if self.output.format.is_machine() {
            out.print_value(&values, self.output.format)?;
        } else if self.show_source {
            let mut table = Table::new(&["VALUE", "EFFECTIVE", "FROM"]);
            for leaf in &values.provenance {
                let effective = leaf.settings.first().map(|one| one.value.to_string()).unwrap_or_default();
                table.add_row().text(&leaf.path[1..]).text(effective).text(format_layers(leaf));
            }
            out.print_table(&table, "The chart has no values, and none are set.")?;
        } else {
            out.print_line(yaml_value::write(&values.values).trim_end_matches('\n'))?;
        }
        Ok(ExitStatus::Success)
    }
}

/// "cluster prod-eu ← group eu 3 ← common 2".
fn format_layers(leaf: &ValueProvenance) -> String {
    let mut layers = leaf.settings.iter();
    let mut text = layers.next().map(|one| one.layer.to_string()).unwrap_or_default();
    for below in layers {
        text.push_str(&format!(" ← {} {}", below.layer, below.value));
    }
    text
}
