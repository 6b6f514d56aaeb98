//! The command line: flags before environment before defaults. What is unknown or contradictory is an error.

use std::net::SocketAddr;
use std::path::PathBuf;
use std::process::ExitCode;

use clap::{Parser, Subcommand};
use tracing_subscriber::EnvFilter;

/// Publishes Kubernetes workloads to many clusters and keeps them there.
#[derive(Debug, Parser)]
#[command(name = "flotilla-server", version, about, propagate_version = true)]
pub struct Args {
    /// What is logged, to standard error: a level, or a filter such as `info,hub=debug`.
    #[arg(long, global = true, env = "FLOTILLA_LOG", default_value = "info")]
    pub log: String,
    #[command(subcommand)]
    /// What to do.
    pub command: Command,
}

/// What to do.
#[derive(Debug, Subcommand)]
pub enum Command {
    /// Serves console and API, and the clusters of a kubeconfig if one is given.
    Serve(Serve),
    /// Serves a demo: five simulated clusters and a workload that runs on them.
    Demo(Demo),
    /// Brings the database's schema up to date and ends.
    Migrate(Database),
}

/// Where the database is.
#[derive(Debug, clap::Args)]
pub struct Database {
    /// Folder for the SQLite database; made if it is not there.
    #[arg(long, env = "FLOTILLA_DATA", default_value = "flotilla-data", conflicts_with = "database")]
    pub data: PathBuf,
    /// Another database: `sqlite:///path/to/file.db` or `postgres://user@host/name`.
    #[arg(long, env = "FLOTILLA_DATABASE", hide_env_values = true)]
    pub database: Option<String>,
}

impl Database {
    /// The database's address; makes the folder, readable by its owner only.
    ///
    /// # Errors
    /// The folder can't be made.
    pub fn address(&self) -> anyhow::Result<String> {
        match &self.database {
            Some(address) => Ok(address.clone()),
            None => sqlite_in(&self.data),
        }
    }
}

/// The address of the SQLite database in this folder; makes the folder.
///
/// # Errors
/// The folder can't be made.
pub fn sqlite_in(folder: &std::path::Path) -> anyhow::Result<String> {
    use anyhow::Context as _;
    let failed = || format!("can't make the folder {}", folder.display());
    let mut builder = std::fs::DirBuilder::new();
    builder.recursive(true);
    #[cfg(unix)]
    std::os::unix::fs::DirBuilderExt::mode(&mut builder, 0o700);
    builder.create(folder).with_context(failed)?;
    let folder = folder.canonicalize().with_context(failed)?;
    Ok(format!("sqlite://{}", folder.join("flotilla.db").display()))
}

/// Where the site is served and from what.
#[derive(Debug, clap::Args)]
pub struct Web {
    /// Address to listen on; port 0 takes a free one.
    #[arg(long, env = "FLOTILLA_LISTEN", default_value = "127.0.0.1:4600")]
    pub listen: SocketAddr,
    /// Short for `--listen 127.0.0.1:PORT`.
    #[arg(long, value_name = "PORT", conflicts_with = "listen")]
    pub port: Option<u16>,
    /// The built files of the console: the folder with `assets.json`.
    #[arg(long, env = "FLOTILLA_SITE")]
    pub site: Option<PathBuf>,
    /// How people reach the server, if not by the address it listens on, such as `https://flotilla.example.com`.
    #[arg(long, env = "FLOTILLA_PUBLIC_URL")]
    pub public_url: Option<String>,
}

impl Web {
    /// Where to listen.
    pub fn address(&self) -> SocketAddr {
        self.port.map_or(self.listen, |port| SocketAddr::from(([127, 0, 0, 1], port)))
    }
}

/// Where agents dial in.
#[derive(Debug, clap::Args)]
pub struct Dial {
    /// Address to listen on for agents of clusters that this server can't reach; port 0 takes a free one. None, if left out.
    #[arg(long, env = "FLOTILLA_AGENT_LISTEN")]
    pub agent_listen: Option<SocketAddr>,
    /// How agents reach that address, such as `https://flotilla.example.com:4601`; needed unless it is one address.
    #[arg(long, env = "FLOTILLA_AGENT_URL", requires = "agent_listen")]
    pub agent_url: Option<String>,
    /// Folder with the authority that signs agents' certificates; made at the first start. The folder of the database, if
    /// left out; servers that share a PostgreSQL database share this too.
    #[arg(long, env = "FLOTILLA_AGENT_CA", requires = "agent_listen", value_name = "DIR")]
    pub agent_ca: Option<PathBuf>,
}

/// `flotilla-server serve`
#[derive(Debug, clap::Args)]
pub struct Serve {
    #[command(flatten)]
    /// Where the database is.
    pub database: Database,
    #[command(flatten)]
    /// Where the site is served.
    pub web: Web,
    #[command(flatten)]
    /// Where agents dial in.
    pub dial: Dial,
    /// Serve the clusters of this kubeconfig. It is this machine's own file and may run its credential helpers.
    #[arg(long, env = "FLOTILLA_KUBECONFIG")]
    pub kubeconfig: Option<PathBuf>,
    /// Only this context of the kubeconfig; may be repeated. All contexts if none is given.
    #[arg(long = "context", value_name = "NAME", requires = "kubeconfig")]
    pub contexts: Vec<String>,
}

/// `flotilla-server demo`
#[derive(Debug, clap::Args)]
pub struct Demo {
    /// Folder for the demo's database and simulated clusters; made if it is not there.
    #[arg(long, env = "FLOTILLA_DEMO_DATA", default_value = "flotilla-demo")]
    pub data: PathBuf,
    #[command(flatten)]
    /// Where the site is served.
    pub web: Web,
    #[command(flatten)]
    /// Where agents of other clusters dial in; a free port of this machine, if left out.
    pub dial: Dial,
    /// No cluster goes offline by itself.
    #[arg(long)]
    pub steady: bool,
}

/// Does what was asked and says in the exit code how it ended: 0 fine, 1 not.
pub fn run(args: Args) -> ExitCode {
    if let Err(error) = log_to_stderr(&args.log) {
        return failed(&error);
    }
    let runtime = match tokio::runtime::Builder::new_multi_thread().enable_all().build() {
        Ok(runtime) => runtime,
        Err(error) => return failed(&error.into()),
    };
    let done = runtime.block_on(async {
        match args.command {
            Command::Serve(serve) => Box::pin(crate::serve::run(serve)).await,
            Command::Demo(demo) => Box::pin(crate::demo::run(demo)).await,
            Command::Migrate(database) => crate::migrate::run(&database).await,
        }
    });
    // What still runs is background work that is safe to drop: everything in order was ended before.
    runtime.shutdown_timeout(std::time::Duration::from_secs(1));
    match done {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => failed(&error),
    }
}

fn log_to_stderr(filter: &str) -> anyhow::Result<()> {
    use anyhow::Context as _;
    let filter = EnvFilter::try_new(filter).with_context(|| format!("--log {filter:?} is no filter"))?;
    let colours = std::io::IsTerminal::is_terminal(&std::io::stderr());
    tracing_subscriber::fmt().with_env_filter(filter).with_ansi(colours).with_writer(std::io::stderr).init();
    Ok(())
}

#[expect(clippy::print_stderr, reason = "the last words of a command line belong there")]
fn failed(error: &anyhow::Error) -> ExitCode {
    eprintln!("flotilla-server: {error:#}");
    ExitCode::FAILURE
}

/// Says something on standard output, for the person who started the server.
pub fn say(line: &str) {
    use std::io::Write as _;
    // Nobody listening is no reason to end a server.
    let _ = writeln!(std::io::stdout().lock(), "{line}");
}

#[cfg(test)]
mod tests {
    use clap::CommandFactory as _;

    use super::*;

    #[test]
    fn the_command_line_is_sound() {
        Args::command().debug_assert();
    }

    #[test]
    fn what_is_unknown_or_contradictory_is_an_error() {
        let parse = |line: &str| Args::try_parse_from(line.split(' '));
        assert!(parse("flotilla-server serve --listen 127.0.0.1:0").is_ok());
        assert!(parse("flotilla-server demo --port 4600 --data d --site s").is_ok());
        for wrong in [
            "flotilla-server",
            "flotilla-server serve --wings",
            "flotilla-server serve --listen nowhere",
            "flotilla-server serve --context a",
            "flotilla-server serve --agent-url https://h:1",
            "flotilla-server serve --agent-listen nowhere",
            "flotilla-server serve --data d --database postgres://h/d",
            "flotilla-server demo --kubeconfig k",
            "flotilla-server demo --port 1 --listen 127.0.0.1:2",
        ] {
            assert!(parse(wrong).is_err(), "{wrong}");
        }
    }
}
