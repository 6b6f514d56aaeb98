//! `flotilla group`: named sets of clusters that placements and overrides ask for (S1-1, S1-2).

use clap::{Args, Subcommand};
use domain::labels::Selector;
use wire::GroupPut;

use crate::exit::Exit;
use crate::failure::Failure;
use crate::output::{Format, Out, Output, Table};
use crate::remote::Remote;

/// What to do with groups.
#[derive(Subcommand)]
pub enum Group {
    /// List all groups
    List {
        #[command(flatten)]
        output: Output,
    },
    Set(Set),
    /// Forget a group; refused while a workload asks for it
    Delete {
        /// Name of the group
        group: String,
    },
}

/// Make a group or replace it; workloads that ask for it are placed anew
#[derive(Args)]
#[command(group = clap::ArgGroup::new("who").required(true).multiple(true))]
pub struct Set {
    /// Name of the group
    group: String,
    /// These clusters, by name; they may join later
    #[arg(long, value_delimiter = ',', value_name = "A,B", group = "who")]
    clusters: Vec<String>,
    /// And every cluster with these labels, such as env=prod,region in (eu,us)
    #[arg(long, value_name = "SELECTOR", group = "who")]
    selector: Option<String>,
}

impl Group {
    /// Runs it.
    pub async fn run(self, remote: &Remote, out: &Out) -> Result<Exit, Failure> {
        match self {
            Self::List { output } => list(remote, output.format, out).await?,
            Self::Set(set) => set.run(remote, out).await?,
            Self::Delete { group } => {
                remote.client.group_delete(&group).await?;
                out.line(&format!("group/{group} deleted"))?;
            }
        }
        Ok(Exit::Done)
    }
}

impl Set {
    async fn run(self, remote: &Remote, out: &Out) -> Result<(), Failure> {
        let put = self.put()?;
        remote.client.group_put(&self.group, &put).await?;
        out.line(&format!("group/{} saved", self.group))
    }

    fn put(&self) -> Result<GroupPut, Failure> {
        let members = self.clusters.iter().map(|name| name.trim().to_owned()).filter(|name| !name.is_empty());
        let selector = self.selector.as_deref().map(str::parse::<Selector>).transpose().map_err(|error| {
            Failure::usage(format!("{error}."), "Write it as env=prod,region in (eu,us),!legacy.")
        })?;
        // An unset variable in a script must not mean the whole fleet.
        if selector.as_ref().is_some_and(Selector::is_empty) {
            return Err(Failure::usage("--selector is empty.", "Name a label, or leave it out."));
        }
        Ok(GroupPut { members: members.collect(), selector })
    }
}

async fn list(remote: &Remote, format: Format, out: &Out) -> Result<(), Failure> {
    let groups = remote.client.group_list().await?;
    if format.is_machine() {
        return out.value(&groups, format);
    }
    let mut table = Table::new(&["NAME", "CLUSTERS", "SELECTOR"]);
    for group in &groups {
        let selector = group.selector.as_ref().map(Selector::to_string).unwrap_or_default();
        table.row().text(&group.name).text(group.members.join(",")).text(selector);
    }
    out.table(&table, "There are no cluster groups yet: flotilla group set edge --selector tier=edge")
}

#[cfg(test)]
mod tests {
    use super::*;

    fn set(clusters: &[&str], selector: Option<&str>) -> Set {
        let clusters = clusters.iter().map(|name| (*name).to_owned()).collect();
        Set { group: "edge".into(), clusters, selector: selector.map(str::to_owned) }
    }

    #[test]
    fn members_and_labels_make_a_group_and_an_empty_selector_never_means_the_whole_fleet() {
        let put = set(&["a", " b", ""], Some("tier=edge")).put().unwrap();
        assert_eq!((put.members.len(), put.selector.unwrap().to_string()), (2, "tier=edge".to_owned()));
        assert!(set(&[], Some(" ")).put().is_err());
        assert!(set(&[], Some("a in b")).put().is_err());
    }
}
