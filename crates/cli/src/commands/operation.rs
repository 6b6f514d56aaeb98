//! `flotilla operation`: what was requested for a workload, with its outcome per cluster (S1-13).

use clap::{Args, Subcommand};
use domain::OperationId;
use domain::operation::{Operation, OperationCounts, OperationView};
use domain::page::{ListQuery, MAX_LIMIT};

use crate::clock;
use crate::connection::ServerConnection;
use crate::exit::ExitStatus;
use crate::failure::Failure;
use crate::output::{OutputArgs, Printer, Table, sanitize};
use crate::resources::deliveries::describe_delivery;

/// The subcommands for operations.
#[derive(Subcommand)]
pub enum OperationCommand {
    List(ListOperationsArgs),
    Get(GetOperationArgs),
}

/// List the operations on a workload, newest first
#[derive(Args)]
pub struct ListOperationsArgs {
    /// Name of the workload
    pub workload: String,
    /// At most this many
    #[arg(long, default_value_t = 20, value_parser = clap::value_parser!(u32).range(1..=i64::from(MAX_LIMIT)))]
    limit: u32,
    #[command(flatten)]
    output: OutputArgs,
}

/// Show the outcome of an operation on each cluster
///
/// The exit code is 4 if it failed on a cluster or a cluster is unreachable.
#[derive(Args)]
pub struct GetOperationArgs {
    /// Id of the operation
    operation: OperationId,
    #[command(flatten)]
    output: OutputArgs,
}

impl OperationCommand {
    /// Runs it.
    pub async fn run(self, remote: &ServerConnection, out: &Printer) -> Result<ExitStatus, Failure> {
        match self {
            Self::List(list) => list.run(remote, out).await,
            Self::Get(get) => get.run(remote, out).await,
        }
    }
}

impl ListOperationsArgs {
    async fn run(self, remote: &ServerConnection, out: &Printer) -> Result<ExitStatus, Failure> {
        let query = ListQuery { limit: Some(self.limit), ..ListQuery::default() };
        let page = remote.client.list_operations(&self.workload, &query).await?;
        if self.output.format.is_machine() {
            out.print_value(&page, self.output.format)?;
            return Ok(ExitStatus::Success);
        }
        let nothing = format!("Nothing was requested for {} yet.", self.workload);
        out.print_table(&operations_table(&page.items), &nothing)?;
        if page.next.is_some() {
            out.print_note(&format!(
                "{} of {} operations; --limit shows more.",
                page.items.len(),
                page.total
            ));
        }
        Ok(ExitStatus::Success)
    }
}

impl GetOperationArgs {
    async fn run(self, remote: &ServerConnection, out: &Printer) -> Result<ExitStatus, Failure> {
        let view = remote.client.get_operation(self.operation).await?;
        if self.output.format.is_machine() {
            out.print_value(&view, self.output.format)?;
        } else {
            print_operation(&view, out)?;
        }
        let counts = view.operation.counts;
        let is_partial = counts.failed + counts.deferred > 0;
        Ok(if is_partial { ExitStatus::Partial } else { ExitStatus::Success })
    }
}

fn print_operation(view: &OperationView, out: &Printer) -> Result<(), Failure> {
    let operation = &view.operation;
    let age = clock::format_age(operation.started_at, clock::now());
    let (what, actor) = (describe(operation), sanitize(&operation.actor));
    out.print_line(&format!("{what} of {}, requested {age} ago by {actor}", operation.workload))?;
    let mut table = Table::new(&["CLUSTER", "OUTCOME", "MESSAGE"]);
    for target in &view.target_clusters {
        let message = target.error.as_deref().unwrap_or_default();
        table.add_row().text(&target.cluster_name).text(target.status.as_str()).text(message);
    }
    out.print_table(&table, "No cluster is concerned.")?;
    let mut sent = Table::new(&["CHANNEL", "STATE", "ATTEMPTS", "DETAIL"]);
    for delivery in &view.deliveries {
        let (state, detail) = describe_delivery(delivery, clock::now());
        let row = sent.add_row().text(&delivery.channel).text(state);
        row.text(delivery.attempts.to_string()).text(detail);
    }
    // Without a subscription there is nothing to say about messages.
    if view.deliveries.is_empty() { Ok(()) } else { out.print_table(&sent, "") }
}

fn operations_table(operations: &[Operation]) -> Table {
    let now = clock::now();
    let mut table = Table::new(&["ID", "OPERATION", "AGE", "BY", "OUTCOME"]);
    for operation in operations {
        let row = table.add_row().text(operation.id.to_string()).text(describe(operation));
        let row = row.text(clock::format_age(operation.started_at, now)).text(&operation.actor);
        row.text(describe_counts(operation.counts));
    }
    table
}

/// `Publish r3`, `Sync`.
fn describe(operation: &Operation) -> String {
    let revision = operation.revision.map(|number| format!(" r{number}")).unwrap_or_default();
    format!("{}{revision}", operation.kind.label())
}

/// `4 succeeded, 1 deferred`.
fn describe_counts(counts: OperationCounts) -> String {
    let parts = counts.parts().into_iter().filter(|(_, count)| *count > 0);
    let parts: Vec<String> = parts.map(|(status, count)| format!("{count} {}", status.label())).collect();
    if parts.is_empty() { "no cluster".to_owned() } else { parts.join(", ") }
}
