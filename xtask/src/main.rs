//! `cargo xtask`: set-up, build, test and benchmarks, for developers and CI.
//!
//! Each command finds or installs its tools, prints one line per step, and writes long output to `target/xtask/*.log`.
//! Commands are repeatable: a step with unchanged inputs is skipped.

mod bench;
mod demo;
mod disk;
mod e2e;
mod guard_rails;
mod paths;
mod postgres;
mod program;
mod rails;
mod schema;
mod setup;
mod site;
mod stamp;
mod step;
mod test;
mod watch;

use std::path::PathBuf;
use std::process::ExitCode;

use anyhow::Result;
use clap::{Args, Parser, Subcommand};

use crate::paths::Paths;

#[derive(Parser)]
#[command(bin_name = "cargo xtask", about = "Build, run and test Flotilla")]
struct Cli {
    #[command(subcommand)]
    command: Command,
}

#[derive(Subcommand)]
enum Command {
    /// Find or install the tools of the other commands
    Setup {
        /// Also the tools of the tests: Chromium, PostgreSQL, cargo-deny, helm (required then), npm packages of end2end/
        #[arg(long)]
        tests: bool,
        /// Also real control planes: etcd, kube-apiserver and others, built with Go (about ten minutes)
        #[arg(long)]
        kube: bool,
    },
    /// Build everything and start the demo: a server with simulated clusters
    Demo(DemoOptions),
    /// Like demo, with rebuild and restart when a source file changes
    Watch(DemoOptions),
    /// Build only the console's files into target/site
    Site,
    /// Format, dependencies, lints, WASM check, tests on SQLite, PostgreSQL and real control planes, guard rails in WASM, browser scenarios
    Test {
        /// Only this step: fmt, deny, clippy, wasm, unit, rails or e2e
        #[arg(long, value_parser = test::STEPS)]
        only: Option<String>,
        /// Beside this many busy threads, to find tests that count on an idle machine
        #[arg(long, default_value_t = 0)]
        load: usize,
    },
    /// Only the browser scenarios; arguments are passed to Playwright
    E2e {
        #[arg(trailing_var_arg = true, allow_hyphen_values = true)]
        args: Vec<String>,
    },
    /// Run a benchmark (release build; chaos and races: debug build); arguments are passed to it
    Bench {
        /// publish, drift and guard on simulated clusters; page in a browser; real on real API servers; chaos under faults; races of requests
        name: String,
        /// Arguments of the benchmark, after "--", such as `real -- --help`
        #[arg(trailing_var_arg = true, allow_hyphen_values = true)]
        args: Vec<String>,
    },
    /// Write the schema of the built-in kinds of Kubernetes from a real API server into the repository
    Schema,
    /// Write docs/guard-rails.md from the catalogue of guard rails
    GuardRails,
    /// Everything that CI runs: test
    Ci,
}

/// Port, data folder and build profile of the demo.
#[derive(Args, Clone)]
pub struct DemoOptions {
    /// Port on 127.0.0.1
    #[arg(long, default_value_t = 8080)]
    port: u16,
    /// Data folder [default: .flotilla in the repository]
    #[arg(long)]
    data: Option<PathBuf>,
    /// Build the server with optimizations
    #[arg(long)]
    release: bool,
}

fn main() -> ExitCode {
    match run(Cli::parse().command) {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            step::print_line(&format!("{} {error:#}", step::failure_mark()));
            ExitCode::FAILURE
        }
    }
}

fn run(command: Command) -> Result<()> {
    let paths = Paths::find()?;
    match command {
        Command::Setup { tests, kube } => setup::run(&paths, tests, kube),
        Command::Demo(args) => demo::run(&paths, &args),
        Command::Watch(args) => watch::run(&paths, &args),
        Command::Site => site::build(&paths),
        Command::Test { only, load } => test::run(&paths, only.as_deref(), load),
        Command::E2e { args } => e2e::run(&paths, &args),
        Command::Bench { name, args } => bench::run(&paths, &name, &args),
        Command::Schema => schema::run(&paths),
        Command::GuardRails => guard_rails::run(&paths),
        Command::Ci => test::run(&paths, None, 0),
    }
}

#[cfg(test)]
mod tests {
    use clap::CommandFactory;

    #[test]
    fn the_command_definitions_are_valid() {
        super::Cli::command().debug_assert();
    }
}
