//! The grammar of the command line: global flags and the list of commands.

use std::path::{Path, PathBuf};

use clap::{Args, Parser, Subcommand};

use crate::commands::{
    apply, cluster, completion, context, delete, diagnose, events, explain, get, group, history, login, plan,
    publish, retain, rollback, rollout, status, sync, unpublish, validate, version,
};

const AFTER_HELP: &str = "\
First steps:
  flotilla login http://127.0.0.1:4600
  flotilla apply -f ./guestbook --clusters eu-1,us-1
  flotilla plan guestbook
  flotilla publish guestbook --wait
  flotilla status guestbook

Exit codes: 0 done, 1 failed, 2 wrong command line, 3 rejected by a guard rail, 4 some clusters failed, 5 the wait timed out, 6 the plan is stale.";

/// Publish Kubernetes workloads to many clusters and keep them there.
#[derive(Parser)]
#[command(name = "flotilla", version, after_help = AFTER_HELP, max_term_width = 110)]
pub struct Cli {
    #[command(flatten)]
    pub globals: GlobalArgs,
    #[command(subcommand)]
    pub command: Command,
}

/// Flags that select the server.
#[derive(Args, Default)]
#[command(next_help_heading = "Server")]
pub struct GlobalArgs {
    /// Address of the server
    #[arg(long, global = true, env = "FLOTILLA_SERVER", value_name = "URL")]
    pub server: Option<String>,
    /// API token; prefer FLOTILLA_TOKEN or the context file, because other users of the machine can see command lines
    #[arg(long, global = true, env = "FLOTILLA_TOKEN", hide_env_values = true, value_name = "TOKEN")]
    pub token: Option<String>,
    /// Context of the context file to use instead of the current one
    #[arg(long, global = true, env = "FLOTILLA_CONTEXT", value_name = "NAME")]
    pub context: Option<String>,
    /// The context file [default: ~/.config/flotilla/config.yaml]
    #[arg(long, global = true, env = "FLOTILLA_CONFIG", value_name = "FILE", hide_env_values = true)]
    pub config: Option<PathBuf>,
}

impl GlobalArgs {
    /// The address of the server; an empty variable counts as not set.
    pub fn server(&self) -> Option<&str> {
        non_empty(self.server.as_ref())
    }

    /// The API token; an empty variable counts as not set.
    pub fn token(&self) -> Option<&str> {
        non_empty(self.token.as_ref())
    }

    /// The name of the context; an empty variable counts as not set.
    pub fn context(&self) -> Option<&str> {
        non_empty(self.context.as_ref())
    }

    /// Whether server and token are set without a context, so that the context file is not read.
    pub fn is_complete(&self) -> bool {
        self.server().is_some() && self.token().is_some() && self.context().is_none()
    }

    /// The flag or variable that sets the address of the server.
    pub fn server_source(&self) -> &'static str {
        let environment = std::env::var("FLOTILLA_SERVER").ok();
        if environment.as_deref().map(str::trim) == self.server() { "FLOTILLA_SERVER" } else { "--server" }
    }

    /// The path of the context file, if it is set.
    pub fn config(&self) -> Option<&Path> {
        self.config.as_deref()
    }
}

fn non_empty(text: Option<&String>) -> Option<&str> {
    text.map(|text| text.trim()).filter(|text| !text.is_empty())
}

/// The commands.
#[derive(Subcommand)]
pub enum Command {
    Apply(apply::ApplyArgs),
    Plan(plan::PlanArgs),
    Diff(plan::DiffArgs),
    Publish(publish::PublishArgs),
    Status(status::StatusArgs),
    Get(get::GetArgs),
    Sync(sync::SyncArgs),
    Retain(retain::RetainArgs),
    Unpublish(unpublish::UnpublishArgs),
    Delete(delete::DeleteArgs),
    History(history::HistoryArgs),
    Rollback(rollback::RollbackArgs),
    /// Show a rollout and its waves, and control it
    #[command(subcommand)]
    Rollout(rollout::RolloutCommand),
    Events(events::EventsArgs),
    /// List, join, label and cordon clusters
    #[command(subcommand)]
    Cluster(cluster::ClusterCommand),
    /// Named sets of clusters
    #[command(subcommand)]
    Group(group::GroupCommand),
    /// Explain a decision
    #[command(subcommand)]
    Explain(explain::ExplainCommand),
    Diagnose(diagnose::DiagnoseArgs),
    Validate(validate::ValidateArgs),
    Login(login::LoginArgs),
    Context(context::ContextArgs),
    Completion(completion::CompletionArgs),
    Version(version::VersionArgs),
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;

    use clap::CommandFactory;

    use super::*;

    const ACTIONS: &str = include_str!("../../../docs/actions.md");

    #[test]
    fn the_command_definitions_are_valid() {
        Cli::command().debug_assert();
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

    #[test]
    fn s0_3_only_known_actions_are_missing_in_an_interface() {
        let is_missing = |cell: &str| cell.trim() == "—";
        let rows = ACTIONS.lines().map(|line| line.split('|').skip(1).collect::<Vec<_>>());
        let missing = rows.filter(|cells| cells.iter().any(|cell| is_missing(cell))).map(|cells| {
            let interfaces = ["console", "command", "REST"].into_iter().zip(&cells[1..]);
            let names = interfaces.filter(|(_, cell)| is_missing(cell)).map(|(name, _)| name);
            format!("{}: no {}", cells[0].trim(), names.collect::<Vec<_>>().join(", "))
        });
        let known = [
            "Save an override: no command",
            "Delete an override: no command",
            "Cordon a cluster: no console",
            "Revoke a cluster's certificates: no console",
            "Delete a cluster: no console",
            "Create a join token: no console",
            "Revoke a join token: no console",
            "Create an API token: no command",
            "Delete an API token: no command",
        ];
        assert_eq!(missing.collect::<Vec<_>>(), known);
    }

    #[test]
    fn an_empty_variable_counts_as_no_server() {
        let globals = GlobalArgs { server: Some("  ".into()), ..GlobalArgs::default() };
        assert_eq!(globals.server(), None);
    }
}
