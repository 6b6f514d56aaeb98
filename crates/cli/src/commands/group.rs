//! `flotilla group`: named sets of clusters that placements and overrides refer to (S1-1, S1-2).

use std::path::PathBuf;

use clap::{Args, Subcommand};
use domain::labels::LabelSelector;
use domain::placement::{ClusterGroup, GroupPreview, GroupView};
use wire::ClusterGroupPut;

use crate::bulk::count;
use crate::chart_source::read_values;
use crate::confirm::ConfirmArgs;
use crate::connection::ServerConnection;
use crate::exit::ExitStatus;
use crate::failure::Failure;
use crate::output::{Format, OutputArgs, Printer, Table, join_names};

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

/// Create a group, or change what the options name; the placement of workloads that refer to it is evaluated again
#[derive(Args)]
pub struct SetGroupArgs {
    /// Name of the group
    group: String,
    /// These clusters, by name, in place of those that the group has; they may join later. "" for none
    #[arg(long, value_delimiter = ',', value_name = "A,B")]
    clusters: Option<Vec<String>>,
    /// And every cluster with these labels, such as env=prod,region in (eu,us)
    #[arg(long, value_name = "SELECTOR")]
    selector: Option<String>,
    /// No cluster by its labels
    #[arg(long, conflicts_with = "selector")]
    no_selector: bool,
    /// Reject clusters that are named in another group, there and here
    #[arg(long, num_args = 0..=1, require_equals = true, default_missing_value = "true", value_name = "BOOL")]
    exclusive: Option<bool>,
    /// Only show which clusters would join and leave, and what that does to workloads
    #[arg(long)]
    dry_run: bool,
    /// File with values that charts have on these clusters, whatever a workload or an override sets
    #[arg(long, value_name = "FILE")]
    locked_values: Option<PathBuf>,
    /// No locked values
    #[arg(long, conflicts_with = "locked_values")]
    no_locked_values: bool,
}

impl GroupCommand {
    /// Runs it.
    pub async fn run(self, remote: &ServerConnection, out: &Printer) -> Result<ExitStatus, Failure> {
        match self {
            Self::List { output } => print_list(remote, output.format, out).await?,
            Self::Get { group, output } => {
                let view = remote.client.get_group(&group).await?;
                if output.format.is_machine() {
                    out.print_value(&view, output.format)?;
                } else {
                    print_groups(&[view.group], out)?;
                }
            }
            Self::Feature(feature) => feature.run(remote, out).await?,
            Self::Set(set) => set.run(remote, out).await?,
            Self::Delete { group, confirm } => {
                if !confirm.is_given() {
                    confirm.confirm(&describe_deletion(&remote.client.get_group(&group).await?))?;
                }
                remote.client.delete_group(&group).await?;
                out.print_line(&format!("group/{group} deleted"))?;
            }
        }
        Ok(ExitStatus::Success)
    }
}

/// What a deletion ends: the members of the group, its locked values, and the workloads that prevent it.
fn describe_deletion(view: &GroupView) -> String {
    let named = count(view.group.members.len(), "cluster");
    let members = match &view.group.selector {
        Some(_) => format!("{named} by name and {} by labels", view.matching),
        None => format!("{named} by name"),
    };
    let values =
        if view.group.locked_values.is_empty() { "" } else { " Its locked values no longer apply there." };
    let users = match view.used_by.len() {
        0 => "No workload refers to it.".to_owned(),
        1 => format!("It is rejected while a workload refers to it: {}.", view.used_by[0]),
        several => {
            format!("It is rejected while {several} workloads refer to it: {}.", join_names(&view.used_by))
        }
    };
    format!("The group {} with {members} will be deleted.{values} {users}", view.group.name)
}

impl SetGroupArgs {
    async fn run(self, remote: &ServerConnection, out: &Printer) -> Result<(), Failure> {
        let current = match remote.client.get_group(&self.group).await {
            Ok(view) => Some(view.group),
            Err(error) if error.code() == "NotFound" => None,
            Err(error) => return Err(error.into()),
        };
        let revision = current.as_ref().map(|group| group.revision);
        let put = self.to_request(current)?;
        if self.dry_run {
            return print_preview(&remote.client.preview_group(&self.group, &put).await?, out);
        }
        // Rejected if the group was created or changed since it was read: what the options do not name would be lost.
        match revision {
            Some(revision) => remote.client.put_group(&self.group, &put, revision).await?,
            None => {
                let ClusterGroupPut { members, selector, exclusive, locked_values } = put;
                let name = self.group.clone();
                let exclusive = exclusive.unwrap_or_default();
                let group =
                    ClusterGroup { name, members, selector, exclusive, locked_values, ..Default::default() };
                remote.client.create_group(&group).await?
            }
        };
        out.print_line(&format!("group/{} saved", self.group))
    }

    /// The group as it is, with what the options name.
    fn to_request(&self, current: Option<ClusterGroup>) -> Result<ClusterGroupPut, Failure> {
        if current.is_none() && self.clusters.is_none() && self.selector.is_none() {
            return Err(Failure::usage(
                format!("There is no group {:?} yet, and its members are not given.", self.group),
                "Name them with --clusters, --selector or both.",
            ));
        }
        let selector =
            self.selector.as_deref().map(str::parse::<LabelSelector>).transpose().map_err(|error| {
                Failure::usage(format!("{error}."), "Write it as env=prod,region in (eu,us),!legacy.")
            })?;
        // An unset variable in a script must not select every cluster.
        if selector.as_ref().is_some_and(LabelSelector::is_empty) {
            return Err(Failure::usage("--selector is empty.", "Name a label, or leave it out."));
        }
        let mut put = current.map_or_else(ClusterGroupPut::default, ClusterGroupPut::from);
        if let Some(names) = &self.clusters {
            let names = names.iter().map(|name| name.trim().to_owned());
            put.members = names.filter(|name| !name.is_empty()).collect();
        }
        if selector.is_some() || self.no_selector {
            put.selector = selector;
        }
        put.exclusive = self.exclusive.or(put.exclusive);
        if let Some(path) = &self.locked_values {
            put.locked_values = read_values(path)?;
        } else if self.no_locked_values {
            put.locked_values.clear();
        }
        Ok(put)
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
    if !preview.findings.is_empty() {
        out.print_note("The change would be rejected:");
        out.print_findings_note(&preview.findings, &str::to_owned);
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
    use clap::Parser;

    use super::*;

    #[derive(clap::Parser)]
    struct TestCli {
        #[command(flatten)]
        set: SetGroupArgs,
    }

    fn to_request(options: &[&str], current: Option<ClusterGroup>) -> Result<ClusterGroupPut, Failure> {
        let words = ["flotilla", "edge"].into_iter().chain(options.iter().copied());
        TestCli::try_parse_from(words).unwrap().set.to_request(current)
    }

    fn stored() -> ClusterGroup {
        ClusterGroup {
            name: "edge".into(),
            members: vec!["a".into()],
            selector: Some("tier=edge".parse().unwrap()),
            exclusive: true,
            locked_values: "size: s\n".into(),
            revision: 7,
            ..ClusterGroup::default()
        }
    }

    #[test]
    fn a_group_has_members_and_a_selector_and_an_empty_selector_is_rejected() {
        let put = to_request(&["--clusters", "a, b,", "--selector", "tier=edge"], None).unwrap();
        assert_eq!((put.members.len(), put.selector.unwrap().to_string()), (2, "tier=edge".to_owned()));
        for options in [&["--selector", " "][..], &["--selector", "a in b"], &[], &["--exclusive"]] {
            assert!(to_request(options, None).is_err(), "{options:?}");
        }
    }

    #[test]
    fn what_no_option_names_stays() {
        let put = to_request(&["--clusters", "b,c"], Some(stored())).unwrap();
        let expected =
            ClusterGroupPut { members: vec!["b".into(), "c".into()], ..ClusterGroupPut::from(stored()) };
        assert_eq!(put, expected);
        let put = to_request(&["--exclusive=false"], Some(stored())).unwrap();
        assert_eq!(put, ClusterGroupPut { exclusive: Some(false), ..ClusterGroupPut::from(stored()) });
        let options = ["--clusters", "", "--no-selector", "--no-locked-values"];
        let put = to_request(&options, Some(stored())).unwrap();
        assert_eq!(put, ClusterGroupPut { exclusive: Some(true), ..ClusterGroupPut::default() });
    }
}
