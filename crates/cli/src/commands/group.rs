//! `flotilla group`: named sets of clusters that placements and overrides refer to (S1-1, S1-2).

use std::path::PathBuf;

use clap::{Args, Subcommand};
use domain::labels::LabelSelector;
use domain::placement::{ClusterGroup, GroupPreview};
use wire::ClusterGroupPut;

use crate::chart_source::read_values;
use crate::confirm::ConfirmArgs;
use crate::connection::ServerConnection;
use crate::exit::ExitStatus;
use crate::failure::Failure;
use crate::output::{Format, OutputArgs, Printer, Table};

mod feature;

/// The subcommands for cluster groups.
#[derive(Subcommand)]
pub enum GroupCommand {
    /// List all groups
    List {
        #[command(flatten)]
        output: OutputArgs,
    },
    /// Show one group
    Get {
        /// Name of the group
        group: String,
        #[command(flatten)]
        output: OutputArgs,
    },
    Set(SetGroupArgs),
    /// Features of a group
    #[command(subcommand)]
    Feature(feature::FeatureCommand),
    /// Delete a group; rejected while a workload refers to it
    Delete {
        /// Name of the group
        group: String,
        #[command(flatten)]
        confirm: ConfirmArgs,
    },
}

/// Create or replace a group; the placement of workloads that refer to it is evaluated again
#[derive(Args)]
#[command(group = clap::ArgGroup::new("selection").required(true).multiple(true))]
pub struct SetGroupArgs {
    /// Name of the group
    group: String,
    /// These clusters, by name; they may join later
    #[arg(long, value_delimiter = ',', value_name = "A,B", group = "selection")]
    clusters: Vec<String>,
    /// And every cluster with these labels, such as env=prod,region in (eu,us)
    #[arg(long, value_name = "SELECTOR", group = "selection")]
    selector: Option<String>,
    /// Reject clusters that are named in another group, there and here
    #[arg(long)]
    exclusive: bool,
    /// Only show which clusters would join and leave, and what that does to workloads
    #[arg(long)]
    dry_run: bool,
    /// File with values that charts have on these clusters, whatever a workload or an override sets
    #[arg(long, value_name = "FILE")]
    locked_values: Option<PathBuf>,
}

impl GroupCommand {
    /// Runs it.
    pub async fn run(self, remote: &ServerConnection, out: &Printer) -> Result<ExitStatus, Failure> {
        match self {
            Self::List { output } => print_list(remote, output.format, out).await?,
            Self::Get { group, output } => {
                let group = remote.client.get_group(&group).await?;
                if output.format.is_machine() {
                    out.print_value(&group, output.format)?;
                } else {
                    print_groups(&[group], out)?;
                }
            }
            Self::Feature(feature) => feature.run(remote, out).await?,
            Self::Set(set) => set.run(remote, out).await?,
            Self::Delete { group, confirm } => {
                confirm.confirm(&format!("The group {group} will be deleted."))?;
                remote.client.delete_group(&group).await?;
                out.print_line(&format!("group/{group} deleted"))?;
            }
        }
        Ok(ExitStatus::Success)
    }
}

impl SetGroupArgs {
    async fn run(self, remote: &ServerConnection, out: &Printer) -> Result<(), Failure> {
        let put = self.to_request()?;
        if self.dry_run {
            return print_preview(&remote.client.preview_group(&self.group, &put).await?, out);
        }
        remote.client.put_group(&self.group, &put).await?;
        out.print_line(&format!("group/{} saved", self.group))
    }

    fn to_request(&self) -> Result<ClusterGroupPut, Failure> {
        let members = self.clusters.iter().map(|name| name.trim().to_owned()).filter(|name| !name.is_empty());
        let selector =
            self.selector.as_deref().map(str::parse::<LabelSelector>).transpose().map_err(|error| {
                Failure::usage(format!("{error}."), "Write it as env=prod,region in (eu,us),!legacy.")
            })?;
        // An unset variable in a script must not select every cluster.
        if selector.as_ref().is_some_and(LabelSelector::is_empty) {
            return Err(Failure::usage("--selector is empty.", "Name a label, or leave it out."));
        }
        let locked_values = match &self.locked_values {
            Some(path) => read_values(path)?,
            None => String::new(),
        };
        Ok(ClusterGroupPut { members: members.collect(), selector, exclusive: self.exclusive, locked_values })
    }
}

async fn print_list(remote: &ServerConnection, format: Format, out: &Printer) -> Result<(), Failure> {
    let groups = remote.client.list_groups().await?;
    if format.is_machine() {
        return out.print_value(&groups, format);
    }
    print_groups(&groups, out)
}

fn print_preview(preview: &GroupPreview, out: &Printer) -> Result<(), Failure> {
    let names = |names: &[String]| if names.is_empty() { "none".to_owned() } else { names.join(",") };
    out.print_line(&format!("members: {} now, {} then", preview.members, preview.members_after))?;
    out.print_line(&format!("join: {}", names(&preview.joining)))?;
    out.print_line(&format!("leave: {}", names(&preview.leaving)))?;
    let mut table = Table::new(&["WORKLOAD", "LEAVES", "COMES TO"]);
    for effect in &preview.workloads {
        table.add_row().text(&effect.workload).text(names(&effect.losing)).text(names(&effect.gaining));
    }
    out.print_table(&table, "No published workload is placed elsewhere.")?;
    if preview.not_evaluated > 0 {
        out.print_note(&format!("The effect on {} more workloads was not computed.", preview.not_evaluated));
    }
    Ok(())
}

fn print_groups(groups: &[ClusterGroup], out: &Printer) -> Result<(), Failure> {
    let mut table = Table::new(&["NAME", "CLUSTERS", "SELECTOR"]);
    for group in groups {
        let selector = group.selector.as_ref().map(LabelSelector::to_string).unwrap_or_default();
        table.add_row().text(&group.name).text(group.members.join(",")).text(selector);
    }
    out.print_table(&table, "There are no cluster groups yet: flotilla group set edge --selector tier=edge")
}

#[cfg(test)]
mod tests {
    use super::*;

    fn set_args(clusters: &[&str], selector: Option<&str>) -> SetGroupArgs {
        let clusters = clusters.iter().map(|name| (*name).to_owned()).collect();
        SetGroupArgs {
            group: "edge".into(),
            clusters,
            selector: selector.map(str::to_owned),
            exclusive: false,
            dry_run: false,
            locked_values: None,
        }
    }

    #[test]
    fn a_group_has_members_and_a_selector_and_an_empty_selector_is_rejected() {
        let put = set_args(&["a", " b", ""], Some("tier=edge")).to_request().unwrap();
        assert_eq!((put.members.len(), put.selector.unwrap().to_string()), (2, "tier=edge".to_owned()));
        assert!(set_args(&[], Some(" ")).to_request().is_err());
        assert!(set_args(&[], Some("a in b")).to_request().is_err());
    }
}
