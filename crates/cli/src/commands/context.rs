//! `flotilla context`: which server is spoken to, and the choice of another one. Tokens are never shown.

use clap::{Args, Subcommand};
use serde::Serialize;

use crate::args::Globals;
use crate::config::{self, Config};
use crate::exit::Exit;
use crate::failure::Failure;
use crate::output::{Out, Output, Table};

/// List the contexts (servers), choose one, or remove one
#[derive(Args)]
pub struct ContextArgs {
    #[command(subcommand)]
    action: Option<Action>,
    #[command(flatten)]
    output: Output,
}

#[derive(Subcommand)]
enum Action {
    /// List them; the same as without a word
    List {
        #[command(flatten)]
        output: Output,
    },
    /// Make one the current one
    Use { name: String },
    /// Forget one and its token
    Remove { name: String },
}

/// What programs read: everything but the token.
#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
struct Shown<'a> {
    name: &'a str,
    server: &'a str,
    current: bool,
    has_token: bool,
}

impl ContextArgs {
    /// Runs it.
    pub fn run(self, globals: &Globals, out: &Out) -> Result<Exit, Failure> {
        let path = config::path(globals.config())?;
        let mut config = Config::read(&path)?;
        match self.action {
            None => list(&config, self.output, out)?,
            Some(Action::List { output }) => list(&config, output, out)?,
            Some(Action::Use { name }) => {
                check_there(&config, &name)?;
                config.current.clone_from(&name);
                config.write(&path)?;
                out.note(&format!("The current context is {name}."));
            }
            Some(Action::Remove { name }) => {
                check_there(&config, &name)?;
                config.contexts.remove(&name);
                if config.current == name {
                    config.current.clear();
                }
                config.write(&path)?;
                out.note(&format!(
                    "The context {name} is forgotten. Its token still works until it is ended in the console."
                ));
            }
        }
        Ok(Exit::Done)
    }
}

fn list(config: &Config, output: Output, out: &Out) -> Result<(), Failure> {
    let shown: Vec<Shown<'_>> = config
        .contexts
        .iter()
        .map(|(name, context)| Shown {
            name,
            server: &context.server,
            current: *name == config.current,
            has_token: !context.token.is_empty(),
        })
        .collect();
    if output.format.is_machine() {
        return out.value(&shown, output.format);
    }
    let mut table = Table::new(&["CURRENT", "NAME", "SERVER", "TOKEN"]);
    for context in &shown {
        let row = table.row().text(if context.current { "*" } else { "" }).text(context.name);
        row.text(context.server).text(if context.has_token { "set" } else { "" });
    }
    out.table(&table, "There are no contexts yet: flotilla login https://flotilla.example.com")
}

fn check_there(config: &Config, name: &str) -> Result<(), Failure> {
    if config.contexts.contains_key(name) {
        return Ok(());
    }
    Err(Failure::new(format!("There is no context {name:?}."), "\"flotilla context\" lists them."))
}
