//! `flotilla server`: the status of the server.

use clap::Subcommand;

use crate::clock;
use crate::connection::ServerConnection;
use crate::exit::ExitStatus;
use crate::failure::Failure;
use crate::output::{OutputArgs, Printer, Table};

/// The subcommands for the server.
#[derive(Subcommand)]
pub enum ServerCommand {
    /// Show version, database, background tasks and their queues
    Status {
        #[command(flatten)]
        output: OutputArgs,
    },
}

impl ServerCommand {
    /// Runs it.
    pub async fn run(self, remote: &ServerConnection, out: &Printer) -> Result<ExitStatus, Failure> {
        match self {
            Self::Status { output } => print_status(remote, output, out).await?,
        }
        Ok(ExitStatus::Success)
    }
}

async fn print_status(remote: &ServerConnection, output: OutputArgs, out: &Printer) -> Result<(), Failure> {
    let status = remote.client.get_server_status().await?;
    if output.format.is_machine() {
        return out.print_value(&status, output.format);
    }
    let now = clock::now();
    let mut table = Table::new(&["FIELD", "VALUE"]);
    let mut add = |field: &str, value: String| {
        table.add_row().text(field).text(value);
    };
    add("version", format!("{} ({})", status.version, status.build));
    add("running for", clock::format_age(status.started_at, now));
    add("database", format!("{}, read in {} ms", status.database, status.database_millis));
    add("outage", status.outage.clone().unwrap_or_else(|| "none".to_owned()));
    add("helm", status.helm.clone().unwrap_or_else(|| "not available".to_owned()));
    if let Some(sandbox) = &status.renderer_sandbox {
        add("renderer sandbox", sandbox.describe());
        if let Some(problem) = &sandbox.problem {
            add("rendering", problem.clone());
        }
    }
    if let Some(encryption) = &status.encryption {
        let since = encryption
            .active_since
            .map(|since| format!(", the active one for {}", clock::format_age(since, now)));
        add("encryption", format!("{}{}", encryption.describe(), since.unwrap_or_default()));
    }
    if let Some(file) = &status.audit_file {
        add("audit file", file.describe());
    }
    for task in &status.tasks {
        let counts = format!("{} restarts, {} failed passes", task.restarts, task.failed_passes);
        add(&format!("task {}", task.name), format!("{}/{} running, {counts}", task.running, task.expected));
    }
    for queue in &status.queues {
        let oldest = queue.oldest_due_at.map(|due| format!(", oldest for {}", clock::format_age(due, now)));
        add(&format!("queue {}", queue.name), format!("{} due{}", queue.due, oldest.unwrap_or_default()));
    }
    out.print_table(&table, "")?;
    for problem in status.problems() {
        out.print_note(&problem);
    }
    Ok(())
}
