//! `flotilla render`: the manifests of a workload as they are rendered for one cluster (S3-2, E-8).

use clap::Args;
use wire::RenderQuery;

use crate::connection::ServerConnection;
use crate::exit::ExitStatus;
use crate::failure::Failure;
use crate::output::{Format, OutputArgs, Printer};

/// Print the manifests of a workload as they are rendered for one cluster
///
/// Charts and kustomizations are rendered, overrides and templates applied. The objects are in the order in which the cluster
/// applies them, hooks of a chart last. Values of Secrets are hidden.
#[derive(Args)]
pub struct RenderArgs {
    /// Name of the workload
    pub workload: String,
    /// The cluster, which the placement selects
    #[arg(long, value_name = "CLUSTER")]
    cluster: String,
    /// The revision [default: the draft]
    #[arg(long, value_name = "N")]
    revision: Option<u32>,
    #[command(flatten)]
    output: OutputArgs,
}

impl RenderArgs {
    /// Runs it.
    pub async fn run(self, remote: &ServerConnection, out: &Printer) -> Result<ExitStatus, Failure> {
        let query = RenderQuery { cluster: self.cluster, revision: self.revision };
        let rendered = remote.client.render_workload(&self.workload, &query).await?;
        if self.output.format == Format::Json {
            out.print_value(&rendered, Format::Json)?;
            return Ok(ExitStatus::Success);
        }
        let hooks = rendered.hooks.iter().map(|hook| (hook, "# Hook of the chart\n"));
        let objects = rendered.objects.iter().map(|object| (object, ""));
        for (at, (object, comment)) in objects.chain(hooks).enumerate() {
            let separator = if at == 0 { "" } else { "---\n" };
            let text = domain::manifest::yaml_value::write(object);
            out.print_line(&format!("{separator}{comment}{}", text.trim_end_matches('\n')))?;
        }
        if rendered.objects.is_empty() && rendered.hooks.is_empty() {
            out.print_note("The workload renders no object for this cluster.");
        }
        Ok(ExitStatus::Success)
    }
}
