//! `flotilla context`: lists, selects and removes contexts. Tokens are never shown.

use clap::{Args, Subcommand};
use serde::Serialize;

use crate::config::{self, ContextFile};
use crate::exit::ExitStatus;
use crate::failure::Failure;
use crate::globals::GlobalArgs;
use crate::output::{OutputArgs, Printer, Table};

/// List contexts (servers), select one, or remove one
#[derive(Args)]
pub struct ContextArgs {
    #[command(subcommand)]
    action: Option<ContextCommand>,
    #[command(flatten)]
    output: OutputArgs,
}

#[derive(Subcommand)]
enum ContextCommand {
    /// List the contexts (default)
    List {
        #[command(flatten)]
        output: OutputArgs,
    },
    /// Select the current context
    Use { name: String },
    /// Remove a context and its token
    Remove { name: String },
}

/// The output for programs: everything except the token.
#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
struct ContextOutput<'a> {
    name: &'a str,
    server: &'a str,
    current: bool,
    has_token: bool,
}

impl ContextArgs {
    /// Runs it.
    pub fn run(self, globals: &GlobalArgs, out: &Printer) -> Result<ExitStatus, Failure> {
        let path = config::config_path(globals.config())?;
        let mut config = ContextFile::read(&path)?;
        match self.action {
            None => print_list(&config, self.output, out)?,
            Some(ContextCommand::List { output }) => print_list(&config, output, out)?,
            Some(ContextCommand::Use { name }) => {
                check_exists(&config, &name)?;
                config.current.clone_from(&name);
                config.write(&path)?;
                out.print_note(&format!("The current context is {name}."));
            }
            Some(ContextCommand::Remove { name }) => {
                check_exists(&config, &name)?;
                config.contexts.remove(&name);
                if config.current == name {
                    config.current.clear();
                }
                config.write(&path)?;
                out.print_note(&format!(
                    "The context {name} is removed. Its token stays valid until it is revoked in the console."
                ));
            }
        }
        Ok(ExitStatus::Success)
    }
}

fn print_list(config: &ContextFile, output: OutputArgs, out: &Printer) -> Result<(), Failure> {
    let shown: Vec<ContextOutput<'_>> = config
        .contexts
        .iter()
        .map(|(name, context)| ContextOutput {
            name,
            server: &context.server,
            current: *name == config.current,
            has_token: !context.token.is_empty(),
        })
        .collect();
    if output.format.is_machine() {
        return out.print_value(&shown, output.format);
    }
    let mut table = Table::new(&["CURRENT", "NAME", "SERVER", "TOKEN"]);
    for context in &shown {
        let row = table.add_row().text(if context.current { "*" } else { "" }).text(context.name);
        row.text(context.server).text(if context.has_token { "set" } else { "" });
    }
    out.print_table(&table, "There are no contexts yet: flotilla login https://flotilla.example.com")
}

fn check_exists(config: &ContextFile, name: &str) -> Result<(), Failure> {
    if config.contexts.contains_key(name) {
        return Ok(());
    }
    Err(Failure::new(format!("There is no context {name:?}."), "\"flotilla context\" lists them."))
}
