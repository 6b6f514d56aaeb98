//! `flotilla`: the command line, one of the three equal interfaces (S0-3). It depends on `wire` and `domain` only: what it
//! decides locally (guard rails of `validate`, syntax of names) is decided by the code that the server runs.
//!
//! The requested output goes to stdout; progress, notes and errors go to stderr.

mod bulk;
mod chart_source;
mod cli;
mod clock;
mod commands;
mod config;
mod confirm;
mod connection;
mod definition;
mod exit;
mod failure;
mod failure_report;
mod git_source;
mod globals;
mod label_change;
mod output;
mod pages;
mod placement;
mod resources;
mod secret;
mod source;
mod unwrapped_source;
mod wait;

use std::process::ExitCode;

use clap::Parser;

#[tokio::main(flavor = "current_thread")]
async fn main() -> ExitCode {
    let cli = cli::Cli::parse();
    let mut out = output::Printer::new();
    cli::run(cli, &mut out).await.into()
}
