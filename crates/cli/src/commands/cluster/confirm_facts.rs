//! `flotilla cluster confirm-facts`.

use clap::Args;
use domain::cluster::{ClusterSummary, ConfirmedFacts, PendingFact};

use crate::connection::ServerConnection;
use crate::failure::Failure;
use crate::output::{Printer, Table};

/// Confirm the facts that a cluster reports, so that placements select it by them; without --yes, only show them
#[derive(Args)]
pub struct ConfirmFactsArgs {
    /// Name of the cluster
    pub cluster: String,
    /// Confirm what the cluster reports now
    #[arg(long)]
    yes: bool,
}

impl ConfirmFactsArgs {
    /// Runs it.
    pub async fn run(self, remote: &ServerConnection, out: &Printer) -> Result<(), Failure> {
        let ClusterSummary { cluster, pending_facts, .. } = remote.client.get_cluster(&self.cluster).await?;
        if pending_facts.is_empty() {
            return out.print_line(&format!("cluster/{}: no fact waits for confirmation", cluster.name));
        }
        print_facts(&pending_facts, out)?;
        if !self.yes {
            let hint = format!(
                "If they are right, confirm them: flotilla cluster confirm-facts {} --yes",
                cluster.name
            );
            return out.print_line(&hint);
        }
        let reported = ConfirmedFacts::from_reported(&cluster.facts);
        remote.client.confirm_cluster_facts(&cluster.name, &reported, Some(cluster.revision)).await?;
        out.print_line(&format!("cluster/{} facts confirmed", cluster.name))
    }
}

fn print_facts(facts: &[PendingFact], out: &Printer) -> Result<(), Failure> {
    let mut table = Table::new(&["FACT", "CONFIRMED", "REPORTED"]);
    for fact in facts {
        table.add_row().text(fact.fact.as_str()).text(&fact.confirmed).text(&fact.reported);
    }
    out.print_table(&table, "")
}
