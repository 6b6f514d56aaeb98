//! The commands, one file each.

use crate::args::{Cli, Command};
use crate::connection::ServerConnection;
use crate::exit::ExitStatus;
use crate::failure::{Failure, FailureReport};
use crate::output::Printer;
use domain::nearest::find_nearest;

pub mod apply;
pub mod cluster;
pub mod completion;
pub mod context;
pub mod delete;
pub mod diagnose;
pub mod events;
pub mod explain;
pub mod get;
pub mod group;
pub mod history;
pub mod login;
pub mod plan;
pub mod publish;
pub mod retain;
pub mod rollback;
pub mod rollout;
pub mod status;
pub mod sync;
pub mod unpublish;
pub mod validate;
pub mod version;

/// The resource that a command names, for "Did you mean …?" hints.
pub enum CommandTarget {
    Workload(String),
    Cluster(String),
    Unspecified,
}

/// Runs the command and returns the exit status.
pub async fn run(cli: Cli, out: &mut Printer) -> ExitStatus {
    let Cli { globals, command } = cli;
    let (failure, remote, subject) = match command {
        Command::Validate(command) => (command.run(out), None, CommandTarget::Unspecified),
        Command::Completion(command) => (command.run(), None, CommandTarget::Unspecified),
        Command::Login(command) => (command.run(&globals, out).await, None, CommandTarget::Unspecified),
        Command::Context(command) => (command.run(&globals, out), None, CommandTarget::Unspecified),
        Command::Version(command) => (command.run(&globals, out).await, None, CommandTarget::Unspecified),
        command => match ServerConnection::connect(&globals, out) {
            Ok(remote) => {
                let subject = command_target(&command);
                (run_on_server(command, &remote, out).await, Some(remote), subject)
            }
            Err(failure) => (Err(failure), None, CommandTarget::Unspecified),
        },
    };
    match failure {
        Ok(exit) => exit,
        Err(failure) => report_failure(failure, remote.as_ref(), subject, out).await,
    }
}

/// The names of `--clusters`. An unset variable in a script must not select every cluster: an empty name is an error
/// with this hint.
fn parse_cluster_names(clusters: &[String], hint: &str) -> Result<Vec<String>, Failure> {
    if clusters.iter().any(|name| name.trim().is_empty()) {
        return Err(Failure::usage("--clusters contains an empty name.", hint));
    }
    Ok(clusters.iter().map(|name| name.trim().to_owned()).collect())
}

async fn run_on_server(
    command: Command,
    remote: &ServerConnection,
    out: &mut Printer,
) -> Result<ExitStatus, Failure> {
    match command {
        Command::Apply(command) => command.run(remote, out).await,
        Command::Plan(command) => command.run(remote, out).await,
        Command::Diff(command) => command.run(remote, out).await,
        Command::Publish(command) => command.run(remote, out).await,
        Command::Status(command) => command.run(remote, out).await,
        Command::Get(command) => command.run(remote, out).await,
        Command::Sync(command) => command.run(remote, out).await,
        Command::Retain(command) => command.run(remote, out).await,
        Command::Unpublish(command) => command.run(remote, out).await,
        Command::Delete(command) => command.run(remote, out).await,
        Command::History(command) => command.run(remote, out).await,
        Command::Rollback(command) => command.run(remote, out).await,
        Command::Rollout(command) => command.run(remote, out).await,
        Command::Events(command) => command.run(remote, out).await,
        Command::Cluster(command) => command.run(remote, out).await,
        Command::Group(command) => command.run(remote, out).await,
        Command::Explain(command) => command.run(remote, out).await,
        Command::Diagnose(command) => command.run(remote, out).await,
        Command::Validate(_)
        | Command::Completion(_)
        | Command::Login(_)
        | Command::Context(_)
        | Command::Version(_) => Ok(ExitStatus::Success),
    }
}

fn command_target(command: &Command) -> CommandTarget {
    let workload = |name: &str| CommandTarget::Workload(name.to_owned());
    match command {
        Command::Plan(command) => workload(&command.workload),
        Command::Diff(command) => workload(&command.workload),
        Command::Publish(command) => workload(&command.workload),
        Command::Status(status::StatusArgs { workload: Some(name), .. }) => workload(name),
        Command::Sync(command) => workload(&command.workload),
        Command::Retain(command) => workload(&command.workload),
        Command::Unpublish(command) => workload(&command.workload),
        Command::Delete(command) => workload(&command.workload),
        Command::History(command) => workload(&command.workload),
        Command::Rollback(command) => workload(command.workload()),
        Command::Rollout(command) => workload(command.workload()),
        Command::Explain(explain::ExplainCommand::Placement(command)) => workload(&command.workload),
        Command::Get(command) => command.target(),
        Command::Diagnose(command) => command.target(),
        Command::Cluster(command) => command.target(),
        _ => CommandTarget::Unspecified,
    }
}

async fn report_failure(
    failure: Failure,
    remote: Option<&ServerConnection>,
    subject: CommandTarget,
    out: &Printer,
) -> ExitStatus {
    let not_found = matches!(&failure, Failure::Wire(error) if error.is_not_found());
    let Some(mut report) = failure.into_report(remote) else { return ExitStatus::Success };
    if let (true, Some(remote)) = (not_found, remote) {
        suggest_name(&mut report, remote, &subject).await;
    }
    out.print_failure(&report);
    report.exit
}

/// Adds the nearest existing name to a not-found error, if the names can be listed.
async fn suggest_name(report: &mut FailureReport, remote: &ServerConnection, subject: &CommandTarget) {
    let (name, names, list) = match subject {
        CommandTarget::Workload(name) => {
            (name, get::list_workload_names(remote).await, "flotilla get workloads")
        }
        CommandTarget::Cluster(name) => (name, cluster::list_names(remote).await, "flotilla get clusters"),
        CommandTarget::Unspecified => return,
    };
    let names = names.unwrap_or_default();
    report.hint = match find_nearest(name, names.iter().map(String::as_str)) {
        Some(near) => format!("Did you mean {near:?}?"),
        None => format!("\"{list}\" lists all names."),
    };
}
