//! `flotilla-agent`: reconciles one cluster with its hub, from inside or outside the cluster.

use std::path::PathBuf;
use std::process::ExitCode;
use std::sync::Arc;
use std::time::Duration;

use agent::cache::{DiskCache, SecretCache, SharedCache};
use agent::{
    AgentOptions, EngineOptions, HttpLink, JoinConfig, ReconnectBackoff, RegistryAccess, RegistryClient, join,
};
use anyhow::{Context as _, bail};
use clap::{Parser, Subcommand};
use domain::Timestamp;
use kube::config::{KubeConfigOptions, Kubeconfig};
use tokio_util::sync::CancellationToken;
use tracing_subscriber::EnvFilter;

/// File with the namespace of the agent's pod.
const POD_NAMESPACE_FILE: &str = "/var/run/secrets/kubernetes.io/serviceaccount/namespace";
/// First and longest delay between attempts of a call to the hub (P20).
const RETRY_DELAYS: (Duration, Duration) = (Duration::from_secs(5), Duration::from_secs(60));

/// Reconciles one cluster with the desired state from its hub.
#[derive(Debug, Parser)]
#[command(name = "flotilla-agent", version, propagate_version = true)]
struct Args {
    /// Log filter for standard error: a level, or directives such as `info,connect_engine=debug`
    #[arg(long, global = true, env = "FLOTILLA_LOG", default_value = "info")]
    log: String,
    #[command(subcommand)]
    command: Command,
}

#[derive(Debug, Subcommand)]
enum Command {
    /// Joins the hub if there is no certificate yet, then reconciles the cluster until SIGTERM or SIGINT
    Run(AgentArgs),
    /// Joins the hub and exits once the certificate is issued
    Register(AgentArgs),
}

/// How image registries are queried.
#[derive(Debug, Clone, Copy, clap::ValueEnum)]
enum RegistryArg {
    /// HTTPS, at public addresses
    Https,
    /// HTTPS, also at private addresses, for a closed network
    PrivateHttps,
    /// Plain HTTP, also at private addresses, for a closed network
    Http,
    /// No queries
    Off,
}

#[derive(Debug, clap::Args)]
struct AgentArgs {
    /// URL of the hub's listener for agents, such as https://flotilla.example.com:4601
    #[arg(long, env = "FLOTILLA_HUB", value_name = "URL")]
    hub: Option<String>,
    /// Name of the cluster
    #[arg(long, env = "FLOTILLA_CLUSTER", value_name = "NAME")]
    name: Option<String>,
    /// Join token; prefer FLOTILLA_JOIN_TOKEN or --token-file, which the process list does not show
    #[arg(long, env = "FLOTILLA_JOIN_TOKEN", hide_env_values = true, value_name = "TOKEN")]
    token: Option<String>,
    /// File with the join token; may be missing once the cluster has joined
    #[arg(long, env = "FLOTILLA_JOIN_TOKEN_FILE", value_name = "FILE", conflicts_with = "token")]
    token_file: Option<PathBuf>,
    /// Directory for key, certificate and cached desired state, instead of Secrets of the cluster
    #[arg(long, env = "FLOTILLA_STATE", value_name = "DIR")]
    state: Option<PathBuf>,
    /// Namespace of the agent's Secrets [default: the pod's]
    #[arg(long, env = "FLOTILLA_NAMESPACE", value_name = "NAME")]
    namespace: Option<String>,
    /// Kubeconfig of the cluster, if the agent runs outside it
    #[arg(long, env = "FLOTILLA_KUBECONFIG", value_name = "FILE")]
    kubeconfig: Option<PathBuf>,
    /// Context of the kubeconfig [default: its current context]
    #[arg(long, requires = "kubeconfig", value_name = "NAME")]
    context: Option<String>,
    /// How to check, during a plan, that images exist in their registries
    #[arg(long, env = "FLOTILLA_REGISTRIES", value_name = "HOW", default_value = "https")]
    registries: RegistryArg,
    /// Service account to impersonate when applying and deleting objects, `namespace/name`
    #[arg(long, env = "FLOTILLA_IMPERSONATE", value_name = "NAMESPACE/NAME")]
    impersonate: Option<String>,
}

fn main() -> ExitCode {
    let args = Args::parse();
    match run(args) {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            #[expect(
                clippy::print_stderr,
                reason = "the final error of a command line goes to standard error"
            )]
            {
                eprintln!("flotilla-agent: {error:#}");
            }
            ExitCode::FAILURE
        }
    }
}

fn run(args: Args) -> anyhow::Result<()> {
    let filter = EnvFilter::try_new(&args.log)
        .with_context(|| format!("--log {:?} is not a valid filter", args.log))?
        .add_directive(engine::REQUEST_LOG_FILTER.parse()?);
    let colours = std::io::IsTerminal::is_terminal(&std::io::stderr());
    tracing_subscriber::fmt().with_env_filter(filter).with_ansi(colours).with_writer(std::io::stderr).init();
    let runtime = tokio::runtime::Builder::new_multi_thread().worker_threads(2).enable_all().build()?;
    runtime.block_on(async {
        match args.command {
            Command::Run(serve) => Box::pin(serve.run()).await,
            Command::Register(serve) => serve.join_only().await.map(drop),
        }
    })
}

impl AgentArgs {
    async fn run(self) -> anyhow::Result<()> {
        let config = self.kube_config().await?;
        let mut options = self.agent_options(&config)?;
        let cancel = shutdown_token();
        let identity = tokio::select! {
            identity = self.join_hub(&options, Some(agent::kube_client(config.clone())?)) => identity?,
            () = cancel.cancelled() => return Ok(()),
        };
        let cache = options.cache.clone().context("no cache is configured")?;
        options.engine.hub = identity.authority_fingerprint().unwrap_or_default();
        options.registries = self.registry_client();
        let link = HttpLink::new(identity, cache, &options, ReconnectBackoff::default())?;
        let client = agent::kube_client(self.with_impersonation(config)?)?;
        agent::run(link, client, options, cancel).await;
        Ok(())
    }

    /// Without trusted root certificates the agent runs, but image availability stays unknown.
    fn registry_client(&self) -> Option<Arc<RegistryClient>> {
        let registries = RegistryClient::new(match self.registries {
            RegistryArg::Https => RegistryAccess::Https,
            RegistryArg::PrivateHttps => RegistryAccess::PrivateHttps,
            RegistryArg::Http => RegistryAccess::Http,
            RegistryArg::Off => return None,
        });
        let registries = registries.map(Arc::new);
        registries
            .inspect_err(|error| tracing::warn!(%error, "images can't be checked in their registries"))
            .ok()
    }

    async fn join_only(self) -> anyhow::Result<agent::AgentIdentity> {
        // With a state directory, no connection to the cluster is needed: a user confirms its facts later.
        if self.state.is_some() {
            return self.join_hub(&self.disk_options()?, None).await;
        }
        let config = self.kube_config().await?;
        let options = self.agent_options(&config)?;
        self.join_hub(&options, Some(agent::kube_client(config)?)).await
    }

    async fn join_hub(
        &self,
        options: &AgentOptions,
        cluster: Option<kube::Client>,
    ) -> anyhow::Result<agent::AgentIdentity> {
        let cache = options.cache.as_ref().context("no cache is configured")?;
        let identity = join(cache, self.join_config()?.as_ref(), options, cluster).await?;
        if let Some(cluster) = identity.cluster() {
            tracing::info!(%cluster, hub = identity.hub, "this cluster has joined");
        }
        Ok(identity)
    }

    /// `None` without a join token; a stored certificate is required then.
    fn join_config(&self) -> anyhow::Result<Option<JoinConfig>> {
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
            bail!("to join, --hub and --name are required in addition to the join token");
        };
        Ok(Some(JoinConfig { hub: hub.trim_end_matches('/').to_owned(), name: name.clone(), token }))
    }

    async fn kube_config(&self) -> anyhow::Result<kube::Config> {
        let Some(file) = &self.kubeconfig else {
            return Ok(kube::Config::infer().await?);
        };
        let read = Kubeconfig::read_from(file).with_context(|| format!("can't read {}", file.display()))?;
        let options = KubeConfigOptions { context: self.context.clone(), ..KubeConfigOptions::default() };
        Ok(kube::Config::from_custom_kubeconfig(read, &options).await?)
    }

    /// The configuration for applying objects, with impersonation if requested.
    fn with_impersonation(&self, mut config: kube::Config) -> anyhow::Result<kube::Config> {
        if let Some(account) = &self.impersonate {
            let Some((namespace, name)) = account.split_once('/') else {
                bail!("--impersonate {account:?} is not a service account; write it as namespace/name");
            };
            config.auth_info.impersonate = Some(format!("system:serviceaccount:{namespace}:{name}"));
        }
        Ok(config)
    }

    fn agent_options(&self, config: &kube::Config) -> anyhow::Result<AgentOptions> {
        if self.state.is_some() {
            return self.disk_options();
        }
        let own = || std::fs::read_to_string(POD_NAMESPACE_FILE).ok().map(|text| text.trim().to_owned());
        let namespace = self.namespace.clone().or_else(own);
        let namespace = namespace.context("outside a pod, --state or --namespace is required")?;
        let client = kube::Client::try_from(config.clone())?;
        Ok(options_with_cache(SharedCache::new(SecretCache::new(client, &namespace))))
    }

    fn disk_options(&self) -> anyhow::Result<AgentOptions> {
        let folder = self.state.as_ref().context("--state is required")?;
        Ok(options_with_cache(SharedCache::new(DiskCache::open(folder)?)))
    }
}

fn options_with_cache(cache: SharedCache) -> AgentOptions {
    let mut options = AgentOptions::new(EngineOptions::new(now));
    options.cache = Some(cache);
    (options.retry_initial_delay, options.retry_max_delay) = RETRY_DELAYS;
    options
}

#[expect(clippy::disallowed_methods, reason = "the only place that reads the system clock")]
fn now() -> Timestamp {
    let elapsed = std::time::SystemTime::now().duration_since(std::time::UNIX_EPOCH).unwrap_or_default();
    Timestamp::from_millis(i64::try_from(elapsed.as_millis()).unwrap_or(i64::MAX))
}

/// A token that SIGTERM or SIGINT cancels.
fn shutdown_token() -> CancellationToken {
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
    fn the_command_line_definition_is_valid() {
        Args::command().debug_assert();
    }
}
