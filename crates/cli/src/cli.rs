//! The command line: global flags, the list of commands, and their execution.

use clap::{CommandFactory, Parser, Subcommand};
use domain::nearest::find_nearest;

use crate::commands::{
    apply, audit, auth, channel, chart, cluster, completion, context, delete, describe, diagnose, drift,
    events, explain, get, git, group, history, identity_provider, incidents, label, login, man, operation,
    overrides, plan, project, publish, render, resume, retain, rollback, rollout, search, server, session,
    status, subscription, suspend, sync, token, unpublish, user, validate, values, version,
};
use crate::connection::ServerConnection;
use crate::exit::ExitStatus;
use crate::failure::{Failure, FailureReport};
use crate::failure_report::build_report;
use crate::globals::GlobalArgs;
use crate::output::Printer;
use crate::resources::{CommandTarget, clusters, workloads};

#[cfg(test)]
mod hints;

const AFTER_HELP: &str = "\
First steps:
  flotilla login http://127.0.0.1:4600
  flotilla apply -f ./guestbook --clusters eu-1,us-1
  flotilla plan guestbook
  flotilla publish guestbook --wait
  flotilla status guestbook

Exit codes: 0 done, 1 failed, 2 wrong command line, 3 rejected by a guard rail, 4 some clusters failed or drift, 5 the wait timed out, 6 the plan is stale. \"diff\" exits with 1 for differences and 2 for a failure.";

/// Publish Kubernetes workloads to many clusters and keep them there.
#[derive(Parser)]
#[command(name = "flotilla", version, after_help = AFTER_HELP, max_term_width = 110)]
pub struct Cli {
    #[command(flatten)]
    pub globals: GlobalArgs,
    #[command(subcommand)]
    pub command: Command,
}

/// The commands.
#[derive(Subcommand)]
pub enum Command {
    Apply(Box<apply::ApplyArgs>),
    Plan(plan::PlanArgs),
    Diff(plan::DiffArgs),
    Publish(publish::PublishArgs),
    Status(status::StatusArgs),
    Get(get::GetArgs),
    Search(search::SearchArgs),
    Label(label::LabelArgs),
    Describe(describe::DescribeArgs),
    Sync(sync::SyncArgs),
    Retain(retain::RetainArgs),
    Suspend(suspend::SuspendArgs),
    Resume(resume::ResumeArgs),
    Unpublish(unpublish::UnpublishArgs),
    Delete(delete::DeleteArgs),
    History(history::HistoryArgs),
    Rollback(rollback::RollbackArgs),
    /// Show a rollout and its waves, and control it
    #[command(subcommand)]
    Rollout(rollout::RolloutCommand),
    /// What was requested for a workload, and the outcome on each cluster
    #[command(subcommand)]
    Operation(operation::OperationCommand),
    Events(events::EventsArgs),
    /// List, join, label and cordon clusters
    #[command(subcommand)]
    Cluster(cluster::ClusterCommand),
    /// Named sets of clusters
    #[command(subcommand)]
    Group(group::GroupCommand),
    /// What holds for all workloads
    #[command(subcommand)]
    Project(project::ProjectCommand),
    /// Git sources and repositories
    #[command(subcommand)]
    Git(git::GitCommand),
    /// Changes of a workload on some clusters
    #[command(subcommand)]
    Override(overrides::OverrideCommand),
    /// Your API tokens
    #[command(subcommand)]
    Token(token::ApiTokenCommand),
    /// What you may do
    #[command(subcommand)]
    Auth(auth::AuthCommand),
    /// Users and their roles
    #[command(subcommand)]
    User(user::UserCommand),
    /// Providers of OpenID Connect that users sign in with
    #[command(subcommand)]
    IdentityProvider(identity_provider::IdentityProviderCommand),
    /// What users changed and were denied, and their sign-ins
    #[command(subcommand)]
    Audit(audit::AuditCommand),
    /// The status of the server
    #[command(subcommand)]
    Server(server::ServerCommand),
    /// Where you are signed in to the console
    #[command(subcommand)]
    Session(session::SessionCommand),
    Incidents(incidents::IncidentsArgs),
    Drift(drift::DriftArgs),
    /// Channels for messages about incidents
    #[command(subcommand)]
    Channel(channel::ChannelCommand),
    /// Which incidents are sent to which channel
    #[command(subcommand)]
    Subscription(subscription::SubscriptionCommand),
    /// Charts of the project
    #[command(subcommand)]
    Chart(chart::ChartCommand),
    Values(values::ValuesArgs),
    Render(render::RenderArgs),
    /// Explain a decision
    #[command(subcommand)]
    Explain(explain::ExplainCommand),
    Diagnose(diagnose::DiagnoseArgs),
    Validate(validate::ValidateArgs),
    Login(login::LoginArgs),
    Context(context::ContextArgs),
    Completion(completion::CompletionArgs),
    Man(man::ManArgs),
    Version(version::VersionArgs),
}

/// Runs the command and returns the exit status.
pub async fn run(cli: Cli, out: &mut Printer) -> ExitStatus {
    let Cli { globals, command } = cli;
    let is_diff = matches!(command, Command::Diff(_));
    let (failure, remote, subject) = match command {
        Command::Validate(command) => (command.run(out), None, CommandTarget::Unspecified),
        Command::Completion(command) => (command.run(Cli::command()), None, CommandTarget::Unspecified),
        Command::Man(command) => (command.run(Cli::command(), out), None, CommandTarget::Unspecified),
        Command::Login(command) => (command.run(&globals, out).await, None, CommandTarget::Unspecified),
        Command::Context(command) => (command.run(&globals, out), None, CommandTarget::Unspecified),
        Command::Version(command) => (command.run(&globals, out).await, None, CommandTarget::Unspecified),
        Command::Audit(audit::AuditCommand::Verify(command)) if command.reads_file() => {
            (command.verify_file(out), None, CommandTarget::Unspecified)
        }
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
        Err(failure) => match report_failure(failure, remote.as_ref(), subject, out).await {
            // 1 means that there are differences.
            ExitStatus::Failed if is_diff => ExitStatus::Usage,
            exit => exit,
        },
    }
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
        Command::Search(command) => command.run(remote, out).await,
        Command::Label(command) => command.run(remote, out).await,
        Command::Describe(command) => command.run(remote, out).await,
        Command::Sync(command) => command.run(remote, out).await,
        Command::Retain(command) => command.run(remote, out).await,
        Command::Suspend(command) => command.run(remote, out).await,
        Command::Resume(command) => command.run(remote, out).await,
        Command::Unpublish(command) => command.run(remote, out).await,
        Command::Delete(command) => command.run(remote, out).await,
        Command::History(command) => command.run(remote, out).await,
        Command::Rollback(command) => command.run(remote, out).await,
        Command::Rollout(command) => command.run(remote, out).await,
        Command::Operation(command) => command.run(remote, out).await,
        Command::Events(command) => command.run(remote, out).await,
        Command::Cluster(command) => command.run(remote, out).await,
        Command::Incidents(command) => command.run(remote, out).await,
        Command::Drift(command) => command.run(remote, out).await,
        Command::Channel(command) => command.run(remote, out).await,
        Command::Subscription(command) => command.run(remote, out).await,
        Command::Group(command) => command.run(remote, out).await,
        Command::Project(command) => command.run(remote, out).await,
        Command::Git(command) => command.run(remote, out).await,
        Command::Override(command) => command.run(remote, out).await,
        Command::Token(command) => command.run(remote, out).await,
        Command::Auth(command) => command.run(remote, out).await,
        Command::User(command) => command.run(remote, out).await,
        Command::IdentityProvider(command) => command.run(remote, out).await,
        Command::Audit(command) => command.run(remote, out).await,
        Command::Session(command) => command.run(remote, out).await,
        Command::Server(command) => command.run(remote, out).await,
        Command::Chart(command) => command.run(remote, out).await,
        Command::Values(command) => command.run(remote, out).await,
        Command::Render(command) => command.run(remote, out).await,
        Command::Explain(command) => command.run(remote, out).await,
        Command::Diagnose(command) => command.run(remote, out).await,
        Command::Validate(_)
        | Command::Completion(_)
        | Command::Man(_)
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
        Command::Label(command) => workload(&command.workload),
        Command::Sync(command) => command.workloads.target(),
        Command::Retain(command) => workload(&command.workload),
        Command::Suspend(command) => workload(&command.workload),
        Command::Resume(command) => workload(&command.workload),
        Command::Unpublish(command) => command.workloads.target(),
        Command::Delete(command) => workload(&command.workload),
        Command::History(command) => workload(&command.workload),
        Command::Values(command) => workload(&command.workload),
        Command::Render(command) => workload(&command.workload),
        Command::Operation(operation::OperationCommand::List(command)) => workload(&command.workload),
        Command::Rollback(command) => workload(command.workload()),
        Command::Rollout(command) => workload(command.workload()),
        Command::Override(command) => workload(command.workload()),
        Command::Explain(explain::ExplainCommand::Placement(command)) => workload(&command.workload),
        Command::Get(command) => command.target(),
        Command::Describe(command) => command.target(),
        Command::Diagnose(command) => command.target(),
        Command::Cluster(command) => command.target(),
        Command::Drift(command) => command.target(),
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
    let Some(mut report) = build_report(failure, remote) else { return ExitStatus::Success };
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
            (name, workloads::list_names(remote).await, "flotilla get workloads")
        }
        CommandTarget::Cluster(name) => (name, clusters::list_names(remote).await, "flotilla get clusters"),
        CommandTarget::Unspecified => return,
    };
    if !report.message.contains(&format!("{name:?}")) {
        // Something else does not exist, such as the cluster of a flag.
        return;
    }
    let names = names.unwrap_or_default();
    if names.contains(name) {
        // Something of it does not exist, such as its rollout.
        return;
    }
    report.hint = match find_nearest(name, names.iter().map(String::as_str)) {
        Some(near) => format!("Did you mean {near:?}?"),
        None => format!("\"{list}\" lists all names."),
    };
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;

    use super::*;

    const ACTIONS: &str = include_str!("../../../docs/actions.md");

    #[test]
    fn the_command_definitions_are_valid() {
        Cli::command().debug_assert();
    }

    #[test]
    fn every_kind_of_source_is_applied_by_its_own_flag() {
        for source in [
            ["-f", "app.yaml"],
            ["--chart", "local/web"],
            ["--git", "https://a.test/b.git"],
            ["--oci", "oci://a.test/b"],
            ["--set", "a=1"],
        ] {
            let parsed = Cli::try_parse_from([&["flotilla", "apply"][..], &source].concat());
            assert_eq!(parsed.err().map(|error| error.to_string()), None, "{source:?}");
        }
    }

    /// Path of every command without subcommands, such as `cluster token list`.
    fn command_paths(command: &clap::Command, prefix: &str) -> BTreeSet<String> {
        let subcommands = command.get_subcommands().filter(|command| command.get_name() != "help");
        let paths = subcommands.flat_map(|command| {
            let path = format!("{prefix}{}", command.get_name());
            match command.has_subcommands() {
                true => command_paths(command, &format!("{path} ")),
                false => BTreeSet::from([path]),
            }
        });
        paths.collect()
    }

    #[test]
    fn s0_3_every_command_is_in_the_list_of_actions_of_all_interfaces() {
        // Names between backticks; REST operations contain capitals and server functions underscores.
        let tables = ACTIONS.lines().filter(|line| line.starts_with('|'));
        let names = tables.flat_map(|line| line.split('`').skip(1).step_by(2));
        let listed = names.filter(|name| !name.contains(|c: char| c.is_uppercase() || c == '_'));
        let listed: BTreeSet<String> = listed.map(str::to_owned).collect();
        assert_eq!(command_paths(&Cli::command(), ""), listed, "docs/actions.md");
    }

    /// The cells of each row of the table below this heading.
    fn table_rows(heading: &str) -> Vec<Vec<&'static str>> {
        let section = ACTIONS.split("\n## ").find(|section| section.starts_with(heading)).unwrap();
        let rows = section.lines().filter(|line| line.starts_with('|')).skip(2);
        rows.map(|line| line.trim_matches('|').split('|').map(str::trim).collect()).collect()
    }

    /// The names between backticks.
    fn names_of(cell: &str) -> impl Iterator<Item = &str> {
        cell.split('`').skip(1).step_by(2)
    }

    #[test]
    fn s0_3_every_action_and_every_query_is_offered_by_every_interface() {
        let has_name = |cell: &&str| names_of(cell).next().is_some();
        let (actions, queries) = (table_rows("All actions"), table_rows("All queries"));
        assert!(actions.len() > 50 && queries.len() > 20, "{} {}", actions.len(), queries.len());
        for cells in &actions {
            assert!(cells.len() == 4 && cells[1..].iter().all(has_name), "{cells:?}");
        }
        for cells in &queries {
            let has_page = cells.get(1).is_some_and(|page| !page.is_empty());
            assert!(cells.len() == 4 && has_page && cells[2..].iter().all(has_name), "{cells:?}");
        }
    }

    #[test]
    fn s0_3_every_name_that_an_interface_lacks_has_its_reason() {
        let rows = [table_rows("All actions"), table_rows("All queries")].concat();
        let offered: BTreeSet<&str> = rows.iter().flatten().flat_map(|cell| names_of(cell)).collect();
        for cells in table_rows("Names without a counterpart") {
            let [names, reason] = cells[..] else { panic!("{cells:?}") };
            assert!(reason.len() > 20 && reason.ends_with('.'), "{cells:?}");
            let doubled: Vec<&str> = names_of(names).filter(|name| offered.contains(name)).collect();
            assert_eq!(doubled, [""; 0], "{cells:?}");
        }
    }
}
