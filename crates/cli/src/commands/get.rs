//! `flotilla get`: lists workloads or clusters, or shows one.

use clap::Args;

use crate::connection::ServerConnection;
use crate::exit::ExitStatus;
use crate::failure::Failure;
use crate::output::{OutputArgs, Printer};
use crate::resources::workloads::ListOrder;
use crate::resources::{CommandTarget, clusters, workloads};

/// List workloads or clusters, or show one
#[derive(Args)]
pub struct GetArgs {
    /// workloads, clusters, or the name of a workload
    #[arg(default_value = "workloads", value_name = "WHAT")]
    kind_or_name: String,
    /// Only the one with this name, as in: get cluster eu-1
    name: Option<String>,
    #[command(flatten)]
    output: OutputArgs,
}

/// What to show.
enum GetTarget<'a> {
    Workloads,
    Clusters,
    Workload(&'a str),
    Cluster(&'a str),
}

impl GetArgs {
    fn parse_target(&self) -> Result<GetTarget<'_>, Failure> {
        match (&*self.kind_or_name, self.name.as_deref()) {
            ("workload" | "workloads", None) => Ok(GetTarget::Workloads),
            ("workload" | "workloads", Some(name)) => Ok(GetTarget::Workload(name)),
            ("cluster" | "clusters", None) => Ok(GetTarget::Clusters),
            ("cluster" | "clusters", Some(name)) => Ok(GetTarget::Cluster(name)),
            (name, None) => Ok(GetTarget::Workload(name)),
            (what, Some(_)) => Err(Failure::usage(
                format!("{what:?} can't be listed."),
                "Only workloads and clusters can be listed, for example: flotilla get cluster eu-1",
            )),
        }
    }

    /// The resource that the command names.
    pub fn target(&self) -> CommandTarget {
        match self.parse_target() {
            Ok(GetTarget::Workload(name)) => CommandTarget::Workload(name.to_owned()),
            Ok(GetTarget::Cluster(name)) => CommandTarget::Cluster(name.to_owned()),
            _ => CommandTarget::Unspecified,
        }
    }

    /// Runs it.
    pub async fn run(self, remote: &ServerConnection, out: &Printer) -> Result<ExitStatus, Failure> {
        match self.parse_target()? {
            GetTarget::Workloads => {
                workloads::print_list(remote, ListOrder::Name, self.output.format, out).await?
            }
            GetTarget::Clusters => clusters::print_list(remote, self.output.format, out).await?,
            GetTarget::Workload(name) => {
                workloads::print_workload(remote, name, self.output.format, out).await?
            }
            GetTarget::Cluster(name) => {
                clusters::print_cluster(remote, name, self.output.format, out).await?
            }
        }
        Ok(ExitStatus::Success)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn s3_3_a_workload_is_named_with_or_without_its_kind() {
        let get = |what: &str, name: Option<&str>| GetArgs {
            kind_or_name: what.into(),
            name: name.map(Into::into),
            output: OutputArgs::default(),
        };
        assert!(matches!(get("guestbook", None).parse_target(), Ok(GetTarget::Workload("guestbook"))));
        assert!(matches!(
            get("workload", Some("clusters")).parse_target(),
            Ok(GetTarget::Workload("clusters"))
        ));
        assert!(matches!(get("clusters", None).parse_target(), Ok(GetTarget::Clusters)));
        assert!(get("pods", Some("x")).parse_target().is_err());
    }
}
