//! `flotilla search`: workloads, clusters, groups and charts by name, and what fails of them.

use clap::Args;
use domain::search::{MAX_LIMIT, SearchHit, SearchKind, SearchResults};
use wire::SearchRequest;

use crate::clock::{format_age, now};
use crate::connection::ServerConnection;
use crate::exit::ExitStatus;
use crate::failure::Failure;
use crate::output::{OutputArgs, Printer, Table};

/// Search workloads, clusters, groups and charts by name, with what fails of them
///
/// Words that name an action, such as "sync", select among the actions on the best match, if no name contains them:
/// "flotilla search sync shop --actions" prints the command that syncs the workload shop.
#[derive(Args)]
pub struct SearchArgs {
    /// Words that a name has to contain, all of them
    #[arg(required = true, value_name = "TEXT")]
    words: Vec<String>,
    /// Only these kinds: failure, workload, cluster, group, chart
    #[arg(long, value_delimiter = ',', value_name = "KIND", value_parser = parse_kind)]
    kind: Vec<SearchKind>,
    /// Most items of each kind
    #[arg(long, default_value_t = 10, value_parser = clap::value_parser!(u32).range(1..=i64::from(MAX_LIMIT)))]
    limit: u32,
    /// Print the actions on the best match with their commands, and why an action is not possible now
    #[arg(long)]
    actions: bool,
    #[command(flatten)]
    output: OutputArgs,
}

fn parse_kind(name: &str) -> Result<SearchKind, String> {
    let known = || SearchKind::ALL.iter().map(|kind| kind.as_str()).collect::<Vec<_>>().join(", ");
    SearchKind::parse(name).ok_or_else(|| format!("kinds are {}", known()))
}

impl SearchArgs {
    /// Runs it.
    pub async fn run(self, remote: &ServerConnection, out: &Printer) -> Result<ExitStatus, Failure> {
        let kinds: Vec<&str> = self.kind.iter().map(|kind| kind.as_str()).collect();
        let params =
            SearchRequest { q: self.words.join(" "), kinds: kinds.join(","), limit: Some(self.limit) };
        let found = remote.client.search(&params).await?;
        if self.output.format.is_machine() {
            out.print_value(&found, self.output.format)?;
        } else if self.actions {
            print_actions(&found, out)?;
        } else {
            print_items(&found, out)?;
        }
        Ok(ExitStatus::Success)
    }
}

fn print_items(found: &SearchResults, out: &Printer) -> Result<(), Failure> {
    let mut table = Table::new(&["KIND", "NAME", "CLUSTER", "STATE", "DETAIL"]);
    for hit in &found.items {
        let row = table.add_row().text(hit.kind.as_str()).text(&hit.name);
        let row = row.text(hit.cluster.as_deref().unwrap_or_default());
        let row = match (hit.connectivity, hit.state) {
            (Some(connectivity), _) => row.connectivity(connectivity),
            (None, Some(state)) => row.state(state),
            (None, None) => row.text(""),
        };
        row.text(detail(hit));
    }
    out.print_table(&table, "Nothing has a name with these words.")?;
    if !found.truncated.is_empty() {
        let kinds: Vec<&str> = found.truncated.iter().map(|kind| kind.as_str()).collect();
        out.print_note(&format!(
            "There are more of these kinds: {}. Use --limit or another word.",
            kinds.join(", ")
        ));
    }
    Ok(())
}

/// The detail; of a failing release with the time since it fails.
fn detail(hit: &SearchHit) -> String {
    match hit.since {
        Some(since) if hit.kind == SearchKind::Failure => {
            format!("{} ({})", hit.detail, format_age(since, now()))
        }
        _ => hit.detail.clone(),
    }
}

fn print_actions(found: &SearchResults, out: &Printer) -> Result<(), Failure> {
    let mut table = Table::new(&["ACTION", "COMMAND", "NOT POSSIBLE BECAUSE"]);
    for action in found.best.iter().flat_map(|best| &best.actions) {
        let row = table.add_row().text(&action.label).text(&action.command);
        row.text(action.unavailable.as_deref().unwrap_or_default());
    }
    out.print_table(&table, "Nothing has a name with these words, or it has no such action.")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_kind_that_does_not_exist_is_rejected_with_those_that_do() {
        assert_eq!(parse_kind("cluster"), Ok(SearchKind::Cluster));
        assert_eq!(parse_kind("pod").unwrap_err(), "kinds are failure, workload, cluster, group, chart");
    }
}
