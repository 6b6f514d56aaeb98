//! The command line. Flags take precedence over environment variables, these over defaults. Unknown or conflicting
//! arguments are errors.

use std::net::SocketAddr;
use std::path::PathBuf;
use std::process::ExitCode;

use clap::{Parser, Subcommand};
use domain::server_status::SandboxMode;
use hub::KeySource;
use ipnet::IpNet;
use tracing_subscriber::EnvFilter;

use crate::audit_file::AuditFileArgs;
use crate::client_address::{TrustedProxies, parse_network};
use crate::listener::{ConnectionLimits, DescriptorBudget, limit_by_memory};
use crate::streams::DEFAULT_STREAMS_PER_USER;

/// Publishes Kubernetes workloads to many clusters and keeps them in their desired state.
#[derive(Debug, Parser)]
#[command(name = "flotilla-server", version, about, propagate_version = true)]
pub struct ServerArgs {
    /// What to log to standard error: a level, or a filter such as `info,hub=debug`.
    #[arg(long, global = true, env = "FLOTILLA_LOG", default_value = "info")]
    pub log: String,
    #[command(subcommand)]
    /// The subcommand.
    pub command: Command,
}

/// The subcommands.
#[derive(Debug, Subcommand)]
pub enum Command {
    /// Serves the console and the API, and the clusters of a kubeconfig if one is given.
    Serve(ServeArgs),
    /// Serves a demo: five simulated clusters with a sample workload.
    Demo(DemoArgs),
    /// Migrates the database's schema to this version and exits.
    Migrate(DatabaseArgs),
    /// Shows and changes the keys of the database's encrypted columns.
    Keys(KeysArgs),
}

/// `flotilla-server keys`
#[derive(Debug, clap::Args)]
pub struct KeysArgs {
    #[command(subcommand)]
    /// What to do.
    pub command: KeysCommand,
}

/// What to do with the keys; a server may run at the same time.
#[derive(Debug, Subcommand)]
pub enum KeysCommand {
    /// Prints a new wrapping key for a key file or FLOTILLA_KEY.
    Generate,
    /// Shows the data keys, the keys that wrap them, and how far existing values are encrypted.
    Status(DatabaseArgs),
    /// Adds a data key; the running servers encrypt all values with it.
    Rotate(DatabaseArgs),
    /// Wraps every data key with the first key of the key file; after that the other keys of the file are not needed.
    Rewrap(DatabaseArgs),
    /// Starts encryption after an upgrade without waiting for clients that may be servers of an earlier release.
    Encrypt(DatabaseArgs),
}

/// Arguments for the database.
#[derive(Debug, clap::Args)]
pub struct DatabaseArgs {
    /// Folder for the SQLite database; created if it does not exist.
    #[arg(long, env = "FLOTILLA_DATA", default_value = "flotilla-data", conflicts_with = "database")]
    pub data: PathBuf,
    /// Another database: `sqlite:///path/to/file.db` or `postgres://user@host/name`.
    #[arg(long, env = "FLOTILLA_DATABASE", hide_env_values = true)]
    pub database: Option<String>,
    #[command(flatten)]
    /// The keys of its encrypted columns.
    pub keys: KeyArgs,
}

/// Arguments for the keys that wrap the data keys of a database.
#[derive(Debug, Default, clap::Args)]
pub struct KeyArgs {
    /// File with the keys that wrap the data keys, one a line, the first one for new data keys; created at the first start. Default:
    /// keys/flotilla.key beside the SQLite file. Servers that share a database need the same keys.
    #[arg(long, env = "FLOTILLA_KEY_FILE", value_name = "FILE")]
    pub key_file: Option<PathBuf>,
    /// The keys themselves, as they stand in a key file. Only as a variable: other users can see arguments.
    #[arg(long, env = "FLOTILLA_KEY", hide = true, hide_env_values = true, conflicts_with = "key_file")]
    pub key: Option<String>,
    /// Command that wraps and unwraps data keys, such as a client of a key management service: it is called with `wrap` or `unwrap`, reads
    /// base64 and writes base64.
    #[arg(long, env = "FLOTILLA_KEY_COMMAND", value_name = "FILE", conflicts_with_all = ["key_file", "key"])]
    pub key_command: Option<PathBuf>,
}

impl KeyArgs {
    /// Where the keys come from; `None` for the default.
    pub fn source(&self) -> Option<KeySource> {
        let file = self.key_file.clone().map(KeySource::File);
        let value = || self.key.clone().map(KeySource::Value);
        file.or_else(value).or_else(|| self.key_command.clone().map(KeySource::Command))
    }
}

impl DatabaseArgs {
    /// The database's URL. Creates the folder, readable by its owner only.
    ///
    /// # Errors
    /// The folder can't be created.
    pub fn url(&self) -> anyhow::Result<String> {
        match &self.database {
            Some(address) => Ok(address.clone()),
            None => sqlite_url(&self.data),
        }
    }
}

/// The URL of the SQLite database in this folder. Creates the folder.
///
/// # Errors
/// The folder can't be created.
pub fn sqlite_url(folder: &std::path::Path) -> anyhow::Result<String> {
    use anyhow::Context as _;
    let failed = || format!("can't create the folder {}", folder.display());
    let mut builder = std::fs::DirBuilder::new();
    builder.recursive(true);
    #[cfg(unix)]
    std::os::unix::fs::DirBuilderExt::mode(&mut builder, 0o700);
    builder.create(folder).with_context(failed)?;
    let folder = folder.canonicalize().with_context(failed)?;
    Ok(format!("sqlite://{}", folder.join("flotilla.db").display()))
}

/// Arguments for the web server.
#[derive(Debug, clap::Args)]
pub struct WebArgs {
    /// Address to listen on; port 0 selects a free port.
    #[arg(long, env = "FLOTILLA_LISTEN", default_value = "127.0.0.1:4600")]
    pub listen: SocketAddr,
    /// Short for `--listen 127.0.0.1:PORT`.
    #[arg(long, value_name = "PORT", conflicts_with = "listen")]
    pub port: Option<u16>,
    /// Folder with the console's built files and `assets.json`.
    #[arg(long, env = "FLOTILLA_ASSETS")]
    pub assets: Option<PathBuf>,
    /// URL under which people reach the server, if it differs from the listen address, such as `https://flotilla.example.com`.
    #[arg(long, env = "FLOTILLA_PUBLIC_URL")]
    pub public_url: Option<String>,
    /// A reverse proxy, by its address or network such as 10.0.0.0/8; may be repeated. The server trusts its X-Forwarded-For.
    #[arg(long = "trusted-proxy", env = "FLOTILLA_TRUSTED_PROXY", value_name = "CIDR", value_delimiter = ',', value_parser = parse_network)]
    pub trusted_proxies: Vec<IpNet>,
    /// Most open connections; fewer if a sixteenth of the memory has room for fewer, at 64 KiB each.
    #[arg(long, env = "FLOTILLA_MAX_CONNECTIONS", value_name = "N", default_value_t = ConnectionLimits::console().max_connections, value_parser = parse_limit)]
    pub max_connections: usize,
    /// Most open connections from one address, except trusted proxies.
    #[arg(long, env = "FLOTILLA_MAX_CONNECTIONS_PER_ADDRESS", value_name = "N", default_value_t = ConnectionLimits::console().max_per_address, value_parser = parse_limit)]
    pub max_connections_per_address: usize,
    /// Most open event streams of one user.
    #[arg(long, env = "FLOTILLA_MAX_STREAMS_PER_USER", value_name = "N", default_value_t = DEFAULT_STREAMS_PER_USER, value_parser = parse_limit)]
    pub max_streams_per_user: usize,
}

impl WebArgs {
    /// The listen address.
    pub fn listen_address(&self) -> SocketAddr {
        self.port.map_or(self.listen, |port| SocketAddr::from(([127, 0, 0, 1], port)))
    }

    /// The limits of the console's connections, as far as descriptors and memory suffice.
    pub fn connection_limits(&self, descriptors: DescriptorBudget) -> ConnectionLimits {
        ConnectionLimits {
            max_connections: limit_by_memory(descriptors.limit_console(self.max_connections)),
            max_per_address: self.max_connections_per_address,
            proxies: TrustedProxies::new(self.trusted_proxies.clone()),
            ..ConnectionLimits::console()
        }
    }
}

/// Arguments for the agents' listener.
#[derive(Debug, clap::Args)]
pub struct AgentEndpointArgs {
    /// Address to listen on for agents; port 0 selects a free port. Without it, no agents can connect.
    #[arg(long, env = "FLOTILLA_AGENT_LISTEN")]
    pub agent_listen: Option<SocketAddr>,
    /// URL under which agents reach that address, such as `https://flotilla.example.com:4601`; required if the address is unspecified, such as 0.0.0.0.
    #[arg(long, env = "FLOTILLA_AGENT_URL", requires = "agent_listen")]
    pub agent_url: Option<String>,
    /// Folder with the authority that signs agents' certificates; created at the first start. Default: the database's
    /// folder. Servers that share a PostgreSQL database need the same authority.
    #[arg(long, env = "FLOTILLA_AGENT_CA", requires = "agent_listen", value_name = "DIR")]
    pub agent_ca: Option<PathBuf>,
    /// Most open connections of agents together; an agent has two to four, more while it fetches bundles.
    #[arg(long, env = "FLOTILLA_AGENT_MAX_CONNECTIONS", value_name = "N", default_value_t = ConnectionLimits::agents().max_connections, value_parser = parse_limit)]
    pub agent_max_connections: usize,
    /// Most open connections from one address in a handshake or without a client certificate. Agents that have joined do not
    /// count, so that many of them may share an address.
    #[arg(long, env = "FLOTILLA_AGENT_MAX_CONNECTIONS_PER_ADDRESS", value_name = "N", default_value_t = ConnectionLimits::agents().max_per_address, value_parser = parse_limit)]
    pub agent_max_connections_per_address: usize,
    /// Most open connections of one agent.
    #[arg(long, env = "FLOTILLA_MAX_CONNECTIONS_PER_AGENT", value_name = "N", default_value_t = ConnectionLimits::agents().max_per_agent, value_parser = parse_limit)]
    pub max_connections_per_agent: usize,
}

impl AgentEndpointArgs {
    /// The limits of agents' connections, as far as the descriptors suffice.
    pub fn connection_limits(&self, descriptors: DescriptorBudget) -> ConnectionLimits {
        ConnectionLimits {
            max_connections: descriptors.limit_agents(self.agent_max_connections),
            max_per_address: self.agent_max_connections_per_address,
            max_per_agent: self.max_connections_per_agent,
            ..ConnectionLimits::agents()
        }
    }
}

/// Reads a limit: a number above 0.
fn parse_limit(text: &str) -> Result<usize, String> {
    match text.parse() {
        Ok(limit) if limit > 0 => Ok(limit),
        _ => Err(format!("{text:?} is not a number above 0")),
    }
}

/// Arguments for charts and Git.
#[derive(Debug, clap::Args)]
pub struct ChartArgs {
    /// The helm program, 4.2.4 or newer, which renders charts. Default: the first one on PATH; without one, workloads with charts wait.
    #[arg(long, env = "FLOTILLA_HELM", value_name = "FILE")]
    pub helm: Option<PathBuf>,
    /// The kustomize program, 5.4 or newer, which renders kustomizations in Git. Default: the first one on PATH.
    #[arg(long, env = "FLOTILLA_KUSTOMIZE", value_name = "FILE")]
    pub kustomize: Option<PathBuf>,
    /// The program ssh, which reads Git repositories over SSH. Default: the first one on PATH; without one, only these are not read.
    #[arg(long, env = "FLOTILLA_SSH", value_name = "FILE")]
    pub ssh: Option<PathBuf>,
    /// What to do if the kernel can't close the sandbox in which charts and kustomizations are rendered.
    #[arg(long, env = "FLOTILLA_RENDERER_SANDBOX", value_name = "MODE", default_value = "strict")]
    pub renderer_sandbox: SandboxArg,
    /// Which repositories of charts the server may read.
    #[arg(long, env = "FLOTILLA_CHART_REPOSITORIES", value_name = "HOW", default_value = "https")]
    pub chart_repositories: RepositoryArg,
    /// Which Git repositories the server may read.
    #[arg(long, env = "FLOTILLA_GIT_REPOSITORIES", value_name = "HOW", default_value = "https")]
    pub git_repositories: RepositoryArg,
    /// Seconds between two checks of a branch that workloads follow.
    #[arg(long, env = "FLOTILLA_GIT_CHECK_SECONDS", value_name = "SECONDS", default_value = "180", value_parser = clap::value_parser!(u64).range(1..=86_400))]
    pub git_check_seconds: u64,
}

/// What to do if the kernel can't close the sandbox of renderers.
#[derive(Debug, Clone, Copy, PartialEq, Eq, clap::ValueEnum)]
pub enum SandboxArg {
    /// Render nothing
    Strict,
    /// Render with the protections that there are: only for charts that are trusted
    BestEffort,
}

impl From<SandboxArg> for SandboxMode {
    fn from(arg: SandboxArg) -> Self {
        match arg {
            SandboxArg::Strict => Self::Strict,
            SandboxArg::BestEffort => Self::BestEffort,
        }
    }
}

/// Arguments for incidents and notifications.
#[derive(Debug, clap::Args)]
pub struct NotificationArgs {
    /// Which addresses messages about incidents may be sent to. Default: https; in the demo private-http.
    #[arg(long, env = "FLOTILLA_NOTIFICATIONS", value_name = "HOW")]
    pub notifications: Option<RepositoryArg>,
    /// Seconds for which a workload fails on a cluster before that is an incident; other causes last ten times as long, waiting rollouts
    /// sixty times. Default: 60; in the demo 10.
    #[arg(long, env = "FLOTILLA_INCIDENT_DELAY_SECONDS", value_name = "SECONDS", value_parser = clap::value_parser!(u64).range(0..=86_400))]
    pub incident_delay_seconds: Option<u64>,
}

/// Which addresses the server may connect to: those of repositories, or of the receivers of messages.
#[derive(Debug, Clone, Copy, PartialEq, Eq, clap::ValueEnum)]
pub enum RepositoryArg {
    /// HTTPS, at public addresses
    Https,
    /// HTTPS, also at private addresses, for a closed network
    PrivateHttps,
    /// HTTPS, also at private addresses, and plain HTTP at private addresses
    PrivateHttp,
    /// None
    Off,
}

/// `flotilla-server serve`
#[derive(Debug, clap::Args)]
pub struct ServeArgs {
    #[command(flatten)]
    /// The database.
    pub database: DatabaseArgs,
    #[command(flatten)]
    /// The web server.
    pub web: WebArgs,
    #[command(flatten)]
    /// The agents' listener.
    pub agent_endpoint: AgentEndpointArgs,
    #[command(flatten)]
    /// The rendering of charts.
    pub charts: ChartArgs,
    #[command(flatten)]
    /// Incidents and notifications.
    pub notifications: NotificationArgs,
    /// Which identity providers the server may read.
    #[arg(long, env = "FLOTILLA_IDENTITY_PROVIDERS", value_name = "HOW", default_value = "https")]
    pub identity_providers: RepositoryArg,
    #[command(flatten)]
    /// The file of the audit log.
    pub audit_file: AuditFileArgs,
    /// Serve the clusters of this kubeconfig. It must be trusted: it may run credential helpers.
    #[arg(long, env = "FLOTILLA_KUBECONFIG")]
    pub kubeconfig: Option<PathBuf>,
    /// Only this context of the kubeconfig; may be repeated. Default: all contexts.
    #[arg(long = "context", value_name = "NAME", requires = "kubeconfig")]
    pub contexts: Vec<String>,
}

/// `flotilla-server demo`
#[derive(Debug, clap::Args)]
pub struct DemoArgs {
    /// Folder for the demo's database and simulated clusters; created if it does not exist.
    #[arg(long, env = "FLOTILLA_DEMO_DATA", default_value = "flotilla-demo")]
    pub data: PathBuf,
    #[command(flatten)]
    /// The web server.
    pub web: WebArgs,
    #[command(flatten)]
    /// The agents' listener; by default on a free port of the loopback address.
    pub agent_endpoint: AgentEndpointArgs,
    #[command(flatten)]
    /// The rendering of charts.
    pub charts: ChartArgs,
    #[command(flatten)]
    /// Incidents and notifications.
    pub notifications: NotificationArgs,
    /// Which identity providers the server may read.
    #[arg(long, env = "FLOTILLA_IDENTITY_PROVIDERS", value_name = "HOW", default_value = "private-http")]
    pub identity_providers: RepositoryArg,
    #[command(flatten)]
    /// The file of the audit log.
    pub audit_file: AuditFileArgs,
    /// Don't simulate outages of a cluster.
    #[arg(long)]
    pub no_outages: bool,
}

/// Runs the subcommand. Exit code 0 on success, 1 on an error.
pub fn run(args: ServerArgs) -> ExitCode {
    if let Err(error) = init_logging(&args.log) {
        return report_failure(&error);
    }
    let runtime = match tokio::runtime::Builder::new_multi_thread().enable_all().build() {
        Ok(runtime) => runtime,
        Err(error) => return report_failure(&error.into()),
    };
    let done = runtime.block_on(async {
        match args.command {
            Command::Serve(serve) => Box::pin(crate::serve::run(serve)).await,
            Command::Demo(demo) => Box::pin(crate::demo::run(demo)).await,
            Command::Migrate(database) => crate::migrate::run(&database).await,
            Command::Keys(keys) => crate::keys::run(&keys.command).await,
        }
    });
    // What still runs is background work that is safe to drop: the ordered shutdown is done.
    runtime.shutdown_timeout(std::time::Duration::from_secs(1));
    match done {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => report_failure(&error),
    }
}

fn init_logging(filter: &str) -> anyhow::Result<()> {
    use anyhow::Context as _;
    let filter =
        EnvFilter::try_new(filter).with_context(|| format!("--log {filter:?} is not a valid log filter"))?;
    let filter = filter.add_directive(agent::REQUEST_LOG_FILTER.parse()?);
    // Every request of an outage would log the error that the store logs once, and that the response contains.
    let filter = filter.add_directive("tower_sessions_core=off".parse()?);
    let colours = std::io::IsTerminal::is_terminal(&std::io::stderr());
    tracing_subscriber::fmt().with_env_filter(filter).with_ansi(colours).with_writer(std::io::stderr).init();
    Ok(())
}

#[expect(clippy::print_stderr, reason = "errors of a command line go to standard error")]
fn report_failure(error: &anyhow::Error) -> ExitCode {
    eprintln!("flotilla-server: {error:#}");
    ExitCode::FAILURE
}

/// Prints a line to standard output.
pub fn print_line(line: &str) {
    use std::io::Write as _;
    // A closed standard output must not end the server.
    let _ = writeln!(std::io::stdout().lock(), "{line}");
}

#[cfg(test)]
mod tests {
    use clap::CommandFactory as _;

    use super::*;

    #[test]
    fn the_command_line_definition_is_valid() {
        ServerArgs::command().debug_assert();
    }

    #[test]
    fn unknown_or_conflicting_arguments_are_errors() {
        let parse = |line: &str| ServerArgs::try_parse_from(line.split(' '));
        assert!(parse("flotilla-server serve --listen 127.0.0.1:0").is_ok());
        assert!(
            parse("flotilla-server serve --trusted-proxy 10.0.0.0/8,::1 --trusted-proxy 192.0.2.1").is_ok()
        );
        assert!(parse("flotilla-server demo --port 4600 --data d --assets s").is_ok());
        assert!(parse("flotilla-server serve --renderer-sandbox best-effort").is_ok());
        for wrong in [
            "flotilla-server",
            "flotilla-server serve --wings",
            "flotilla-server serve --listen nowhere",
            "flotilla-server serve --context a",
            "flotilla-server serve --agent-url https://h:1",
            "flotilla-server serve --agent-listen nowhere",
            "flotilla-server serve --trusted-proxy proxy",
            "flotilla-server serve --max-connections 0",
            "flotilla-server serve --renderer-sandbox off",
            "flotilla-server serve --data d --database postgres://h/d",
            "flotilla-server serve --key-file f --key-command c",
            "flotilla-server serve --audit-file f --audit-file-format csv",
            "flotilla-server keys",
            "flotilla-server demo --kubeconfig k",
            "flotilla-server demo --port 1 --listen 127.0.0.1:2",
        ] {
            assert!(parse(wrong).is_err(), "{wrong}");
        }
    }
}
