//! The command line's grammar: what is common to all commands, and the table of the commands.

use std::path::{Path, PathBuf};

use clap::{Args, Parser, Subcommand};

use crate::commands::{
    apply, cluster, completion, context, delete, diagnose, events, explain, get, group, history, keep, login,
    plan, publish, rollback, rollout, status, sync, unpublish, validate, version,
};

const AFTER_HELP: &str = "\
A first time:
  flotilla login http://127.0.0.1:4600
  flotilla apply -f ./guestbook --clusters eu-1,us-1
  flotilla plan guestbook
  flotilla publish guestbook --wait
  flotilla status guestbook

Exit codes: 0 done, 1 failed, 2 wrong command line, 3 refused by a guard rail, 4 some clusters failed, 5 the wait timed out, 6 the plan is stale.";

/// Publish Kubernetes workloads to many clusters and keep them there.
#[derive(Parser)]
#[command(name = "flotilla", version, after_help = AFTER_HELP, max_term_width = 110)]
pub struct Cli {
    #[command(flatten)]
    pub globals: Globals,
    #[command(subcommand)]
    pub command: Command,
}

/// Which server.
#[derive(Args, Default)]
#[command(next_help_heading = "Server")]
pub struct Globals {
    /// Address of the server
    #[arg(long, global = true, env = "FLOTILLA_SERVER", value_name = "URL")]
    pub server: Option<String>,
    /// API token; better in FLOTILLA_TOKEN or the context file, where other users of the machine can't see it
    #[arg(long, global = true, env = "FLOTILLA_TOKEN", hide_env_values = true, value_name = "TOKEN")]
    pub token: Option<String>,
    /// Context of the context file to use instead of the current one
    #[arg(long, global = true, env = "FLOTILLA_CONTEXT", value_name = "NAME")]
    pub context: Option<String>,
    /// The context file [default: ~/.config/flotilla/config.yaml]
    #[arg(long, global = true, env = "FLOTILLA_CONFIG", value_name = "FILE", hide_env_values = true)]
    pub config: Option<PathBuf>,
}

impl Globals {
    /// The server that was named; an empty variable names none.
    pub fn server(&self) -> Option<&str> {
        given(self.server.as_ref())
    }

    /// The token that was given.
    pub fn token(&self) -> Option<&str> {
        given(self.token.as_ref())
    }

    /// The context that was named.
    pub fn context(&self) -> Option<&str> {
        given(self.context.as_ref())
    }

    /// Whether nothing of the context file is needed.
    pub fn is_complete(&self) -> bool {
        self.server().is_some() && self.token().is_some() && self.context().is_none()
    }

    /// Where the server was named.
    pub fn server_origin(&self) -> &'static str {
        let environment = std::env::var("FLOTILLA_SERVER").ok();
        if environment.as_deref().map(str::trim) == self.server() { "FLOTILLA_SERVER" } else { "--server" }
    }

    /// The context file that was named.
    pub fn config(&self) -> Option<&Path> {
        self.config.as_deref()
    }
}

fn given(text: Option<&String>) -> Option<&str> {
    text.map(|text| text.trim()).filter(|text| !text.is_empty())
}

/// The commands.
#[derive(Subcommand)]
pub enum Command {
    Apply(apply::Apply),
    Plan(plan::Plan),
    Diff(plan::Diff),
    Publish(publish::Publish),
    Status(status::Status),
    Get(get::Get),
    Sync(sync::Sync),
    Keep(keep::Keep),
    Unpublish(unpublish::Unpublish),
    Delete(delete::Delete),
    History(history::History),
    Rollback(rollback::Rollback),
    /// Look at a publish on its way through waves, and say how it goes on
    #[command(subcommand)]
    Rollout(rollout::Rollout),
    Events(events::Events),
    /// Look at clusters, label them, and close them to new workloads
    #[command(subcommand)]
    Cluster(cluster::Cluster),
    /// Named sets of clusters
    #[command(subcommand)]
    Group(group::Group),
    /// Say why something is as it is
    #[command(subcommand)]
    Explain(explain::Explain),
    Diagnose(diagnose::Diagnose),
    Validate(validate::Validate),
    Login(login::Login),
    Context(context::ContextArgs),
    Completion(completion::Completion),
    Version(version::VersionArgs),
}

#[cfg(test)]
mod tests {
    use clap::CommandFactory;

    use super::*;

    #[test]
    fn the_grammar_is_sound() {
        Cli::command().debug_assert();
    }

    #[test]
    fn s0_3_every_action_of_the_console_has_its_command() {
        let names: Vec<String> = Cli::command().get_subcommands().map(|c| c.get_name().to_owned()).collect();
        for action in [
            "apply",
            "publish",
            "unpublish",
            "delete",
            "sync",
            "keep",
            "status",
            "rollout",
            "history",
            "events",
            "group",
            "explain",
            "diagnose",
        ] {
            assert!(names.iter().any(|name| name == action), "{action}");
        }
    }

    #[test]
    fn an_empty_variable_names_no_server() {
        let globals = Globals { server: Some("  ".into()), ..Globals::default() };
        assert_eq!(globals.server(), None);
    }
}
