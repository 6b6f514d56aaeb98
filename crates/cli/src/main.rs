//! `flotilla`: the command line, one of the three equal ways in (S0-3). It knows the wire and the domain, nothing else:
//! what it decides itself (guard rails of `validate`, the shape of names) it decides with the server's own code.
//!
//! Machine output and what was asked for goes to stdout; everything said to people on the way goes to stderr.

mod args;
mod clock;
mod commands;
mod config;
mod definition;
mod exit;
mod failure;
mod follow;
mod nearest;
mod output;
mod placement;
mod remote;
mod source;

use std::process::ExitCode;

use clap::Parser;

#[tokio::main(flavor = "current_thread")]
async fn main() -> ExitCode {
    let cli = args::Cli::parse();
    let mut out = output::Out::new();
    commands::run(cli, &mut out).await.into()
}
