//! `flotilla describe`: everything that is known about one workload, cluster or group, as `kubectl describe` prints it.

use clap::Args;

use crate::connection::ServerConnection;
use crate::exit::ExitStatus;
use crate::failure::Failure;
use crate::output::Printer;
use crate::resources::CommandTarget;

mod cluster;
mod events;
mod group;
mod section;
mod workload;

/// Describe a workload, a cluster or a group: its settings, its releases with their causes, and its last events
///
/// The text is for people and may change; "flotilla get", "flotilla status" and "flotilla group get" have -o json.
#[derive(Args)]
pub struct DescribeArgs {
    /// workload, cluster or group; or the name of a workload
    #[arg(value_name = "KIND")]
    kind_or_name: String,
    /// Its name, as in: describe cluster eu-1
    name: Option<String>,
}

impl DescribeArgs {
    /// The resource that the command names.
    pub fn target(&self) -> CommandTarget {
        match (&*self.kind_or_name, &self.name) {
            ("cluster", Some(name)) => CommandTarget::Cluster(name.clone()),
            ("workload", Some(name)) => CommandTarget::Workload(name.clone()),
            (name, None) => CommandTarget::Workload(name.to_owned()),
            _ => CommandTarget::Unspecified,
        }
    }

    /// Runs it.
    pub async fn run(self, remote: &ServerConnection, out: &Printer) -> Result<ExitStatus, Failure> {
        let text = match (&*self.kind_or_name, self.name.as_deref()) {
            ("workload", Some(name)) | (name, None) => workload::describe_workload(remote, name).await?,
            ("cluster", Some(name)) => cluster::describe_cluster(remote, name).await?,
            ("group", Some(name)) => group::describe_group(remote, name).await?,
            (kind, Some(_)) => {
                return Err(Failure::usage(
                    format!("{kind:?} can't be described."),
                    "Write \"flotilla describe WORKLOAD\", or workload, cluster or group before the name.",
                ));
            }
        };
        out.print_line(text.trim_end_matches('\n'))?;
        Ok(ExitStatus::Success)
    }
}
