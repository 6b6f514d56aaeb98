//! `flotilla-agent`: keeps one cluster as its hub wants it, from inside the cluster or beside it.

use std::path::PathBuf;
use std::process::ExitCode;
use std::sync::Arc;
use std::time::Duration;

use agent::keep::{Folder, Keeper, Secrets};
use agent::{EngineOptions, HttpLink, Invitation, Options, Reconnect, Registries, Scheme, join};
use anyhow::{Context as _, bail};
use clap::{Parser, Subcommand};
use domain::Timestamp;
use kube::config::{KubeConfigOptions, Kubeconfig};
use tokio_util::sync::CancellationToken;
use tracing_subscriber::EnvFilter;

/// Where a pod finds its own namespace.
const OWN_NAMESPACE: &str = "/var/run/secrets/kubernetes.io/serviceaccount/namespace";
/// Waits between tries of calls to the hub (P20).
const RETRY: (Duration, Duration) = (Duration::from_secs(5), Duration::from_secs(60));

/// Keeps one cluster as its hub wants it.
#[derive(Debug, Parser)]
#[command(name = "flotilla-agent", version, propagate_version = true)]
struct Args {
    /// What is logged, to standard error: a level, or a filter such as `info,engine=debug`
    #[arg(long, global = true, env = "FLOTILLA_LOG", default_value = "info")]
    log: String,
    #[command(subcommand)]
    command: Command,
}

#[derive(Debug, Subcommand)]
enum Command {
    /// Joins if need be, and serves the cluster until told to end
    Run(Serve),
    /// Joins only: ends once there is a certificate
    Register(Serve),
}

/// How registries are asked.
#[derive(Debug, Clone, Copy, clap::ValueEnum)]
enum Ask {
    /// Over TLS
    Https,
    /// Without, in a closed network
    Http,
    /// Not at all
    Off,
}

#[derive(Debug, clap::Args)]
struct Serve {
    /// The hub's address for agents, such as https://flotilla.example.com:4601
    #[arg(long, env = "FLOTILLA_HUB", value_name = "URL")]
    hub: Option<String>,
    /// The name the cluster should have
    #[arg(long, env = "FLOTILLA_CLUSTER", value_name = "NAME")]
    name: Option<String>,
    /// The join token; better in FLOTILLA_JOIN_TOKEN or a file, where others can't see it
    #[arg(long, env = "FLOTILLA_JOIN_TOKEN", hide_env_values = true, value_name = "TOKEN")]
    token: Option<String>,
    /// A file with the join token; need not be there once the cluster has joined
    #[arg(long, env = "FLOTILLA_JOIN_TOKEN_FILE", value_name = "FILE", conflicts_with = "token")]
    token_file: Option<PathBuf>,
    /// Keep key, certificate and what the cluster should hold in this folder, not in Secrets of the cluster
    #[arg(long, env = "FLOTILLA_STATE", value_name = "DIR")]
    state: Option<PathBuf>,
    /// The agent's own namespace, for its Secrets [default: the pod's]
    #[arg(long, env = "FLOTILLA_NAMESPACE", value_name = "NAME")]
    namespace: Option<String>,
    /// The cluster's kubeconfig, when not run inside it
    #[arg(long, env = "FLOTILLA_KUBECONFIG", value_name = "FILE")]
    kubeconfig: Option<PathBuf>,
    /// The context of the kubeconfig [default: its current one]
    #[arg(long, requires = "kubeconfig", value_name = "NAME")]
    context: Option<String>,
    /// How to ask registries whether images are there when somebody plans a publish
    #[arg(long, env = "FLOTILLA_REGISTRIES", value_name = "HOW", default_value = "https")]
    registries: Ask,
    /// Apply and remove in the name of this service account, `namespace/name`
    #[arg(long, env = "FLOTILLA_IMPERSONATE", value_name = "NAMESPACE/NAME")]
    impersonate: Option<String>,
}

fn main() -> ExitCode {
    let args = Args::parse();
    match run(args) {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            #[expect(clippy::print_stderr, reason = "the last words of a command line belong there")]
            {
                eprintln!("flotilla-agent: {error:#}");
            }
            ExitCode::FAILURE
        }
    }
}

fn run(args: Args) -> anyhow::Result<()> {
    let filter =
        EnvFilter::try_new(&args.log).with_context(|| format!("--log {:?} is no filter", args.log))?;
    let colours = std::io::IsTerminal::is_terminal(&std::io::stderr());
    tracing_subscriber::fmt().with_env_filter(filter).with_ansi(colours).with_writer(std::io::stderr).init();
    let runtime = tokio::runtime::Builder::new_multi_thread().worker_threads(2).enable_all().build()?;
    runtime.block_on(async {
        match args.command {
            Command::Run(serve) => Box::pin(serve.run()).await,
            Command::Register(serve) => serve.register().await.map(drop),
        }
    })
}

impl Serve {
    async fn run(self) -> anyhow::Result<()> {
        let config = self.config().await?;
        let mut options = self.options(&config)?;
        let cancel = ended();
        let identity = tokio::select! {
            identity = self.joined(&options) => identity?,
            () = cancel.cancelled() => return Ok(()),
        };
        let keeper = options.keep.clone().context("there is a place to keep things")?;
        options.engine.hub = identity.authority().unwrap_or_default();
        options.registries = self.registries();
        let link = HttpLink::new(identity, keeper, &options, Reconnect::default())?;
        let client = agent::kube_client(self.acting(config)?)?;
        agent::run(link, client, options, cancel).await;
        Ok(())
    }

    /// Without anything to trust registries by, nothing is known of images; the rest of the work does not need it.
    fn registries(&self) -> Option<Arc<Registries>> {
        let made = Registries::over(match self.registries {
            Ask::Https => Scheme::Https,
            Ask::Http => Scheme::Http,
            Ask::Off => return None,
        });
        made.map(Arc::new).inspect_err(|error| tracing::warn!(%error, "registries can't be asked")).ok()
    }

    async fn register(self) -> anyhow::Result<agent::Identity> {
        let options = match &self.state {
            Some(_) => self.options_without_cluster()?,
            None => self.options(&self.config().await?)?,
        };
        self.joined(&options).await
    }

    async fn joined(&self, options: &Options) -> anyhow::Result<agent::Identity> {
        let keeper = options.keep.as_ref().context("there is a place to keep things")?;
        let identity = join(keeper, self.invitation()?.as_ref(), options).await?;
        if let Some(cluster) = identity.cluster() {
            tracing::info!(%cluster, hub = identity.hub, "this cluster has joined");
        }
        Ok(identity)
    }

    /// With what to join; `None` when nothing was given, and a certificate has to be there.
    fn invitation(&self) -> anyhow::Result<Option<Invitation>> {
        let text = match (&self.token, &self.token_file) {
            (Some(text), _) => text.clone(),
            (None, Some(file)) => match std::fs::read_to_string(file) {
                Ok(text) => text,
                Err(error) if error.kind() == std::io::ErrorKind::NotFound => String::new(),
                Err(error) => return Err(error).with_context(|| format!("can't read {}", file.display())),
            },
            (None, None) => String::new(),
        };
        if text.trim().is_empty() {
            return Ok(None);
        }
        let token = text.parse()?;
        let (Some(hub), Some(name)) = (&self.hub, &self.name) else {
            bail!("to join, --hub and --name are needed beside the token");
        };
        Ok(Some(Invitation { hub: hub.trim_end_matches('/').to_owned(), name: name.clone(), token }))
    }

    async fn config(&self) -> anyhow::Result<kube::Config> {
        let Some(file) = &self.kubeconfig else {
            return Ok(kube::Config::infer().await?);
        };
        let read = Kubeconfig::read_from(file).with_context(|| format!("can't read {}", file.display()))?;
        let options = KubeConfigOptions { context: self.context.clone(), ..KubeConfigOptions::default() };
        Ok(kube::Config::from_custom_kubeconfig(read, &options).await?)
    }

    /// The configuration with which objects are applied: in somebody else's name, if that was asked for.
    fn acting(&self, mut config: kube::Config) -> anyhow::Result<kube::Config> {
        if let Some(account) = &self.impersonate {
            let Some((namespace, name)) = account.split_once('/') else {
                bail!("--impersonate {account:?} is no service account; write namespace/name");
            };
            config.auth_info.impersonate = Some(format!("system:serviceaccount:{namespace}:{name}"));
        }
        Ok(config)
    }

    fn options(&self, config: &kube::Config) -> anyhow::Result<Options> {
        if self.state.is_some() {
            return self.options_without_cluster();
        }
        let own = || std::fs::read_to_string(OWN_NAMESPACE).ok().map(|text| text.trim().to_owned());
        let namespace = self.namespace.clone().or_else(own);
        let namespace = namespace.context("outside a pod, --state or --namespace is needed")?;
        let client = kube::Client::try_from(config.clone())?;
        Ok(options(Keeper::new(Secrets::new(client, &namespace))))
    }

    fn options_without_cluster(&self) -> anyhow::Result<Options> {
        let folder = self.state.as_ref().context("--state is needed")?;
        Ok(options(Keeper::new(Folder::open(folder)?)))
    }
}

fn options(keeper: Keeper) -> Options {
    let mut options = Options::new(EngineOptions::new(now));
    options.keep = Some(keeper);
    (options.retry_first, options.retry_max) = RETRY;
    options
}

#[expect(clippy::disallowed_methods, reason = "this is the one place that reads the system clock")]
fn now() -> Timestamp {
    let since = std::time::SystemTime::now().duration_since(std::time::UNIX_EPOCH).unwrap_or_default();
    Timestamp::from_millis(i64::try_from(since.as_millis()).unwrap_or(i64::MAX))
}

/// Cancelled by SIGTERM from who runs it, or SIGINT from the keyboard.
fn ended() -> CancellationToken {
    let cancel = CancellationToken::new();
    let cancelled = cancel.clone();
    tokio::spawn(async move {
        #[cfg(unix)]
        {
            use tokio::signal::unix::{SignalKind, signal};
            if let Ok(mut terminate) = signal(SignalKind::terminate()) {
                tokio::select! {
                    _ = terminate.recv() => {}
                    _ = tokio::signal::ctrl_c() => {}
                }
                cancelled.cancel();
                return;
            }
        }
        let _ = tokio::signal::ctrl_c().await;
        cancelled.cancel();
    });
    cancel
}

#[cfg(test)]
mod tests {
    use clap::CommandFactory as _;

    use super::*;

    #[test]
    fn the_command_line_is_sound() {
        Args::command().debug_assert();
    }
}
