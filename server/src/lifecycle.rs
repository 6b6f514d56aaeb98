//! Starts the parts of a server and shuts them down in order.
//!
//! Shutdown: no new connections, streams end, pending responses are finished; then the agents stop, so that there are no
//! more reports; then the loops. Interrupted work resumes from the database at the next start.

use std::error::Error as _;
use std::sync::Arc;
use std::time::Duration;

use anyhow::Context as _;
use axum::Router;
use domain::ClusterId;
use hub::{Clock, Hub, HubConfig, KeySource, Loops};
use parking_lot::Mutex;
use tokio::task::JoinHandle;
use tokio_util::sync::CancellationToken;
use tokio_util::task::TaskTracker;

use crate::agents::{AgentEndpoint, AgentListener};
use crate::args::WebArgs;
use crate::assets::StaticAssets;
use crate::audit_file::{self, AuditFile};
use crate::demo::FaultControls;
use crate::link::InProcessLink;
use crate::listener::{self, DescriptorBudget, Handshake, HttpListener, PlainText};
use crate::shutdown::ShutdownSignal;
use crate::site::{Site, SiteOptions};

/// Time limit for pending responses at shutdown.
const DRAIN_TIMEOUT: Duration = Duration::from_secs(10);
/// Time limit for agents to stop.
const AGENT_STOP_TIMEOUT: Duration = Duration::from_secs(5);

/// Optional parts of a server.
#[derive(Default)]
pub struct ServerParts {
    /// The demo's fault injection.
    pub demo: Option<Arc<FaultControls>>,
    /// The agents' listener and its endpoint.
    pub agents: Option<(AgentListener, AgentEndpoint)>,
}

/// A server with its parts.
pub struct RunningServer {
    site: Site,
    listener: HttpListener<PlainText>,
    agent_listener: Option<AgentListener>,
    loops: Loops,
    agents: TaskTracker,
    agents_stop: CancellationToken,
    shutdown: ShutdownSignal,
}

/// Opens the hub. A release that fails for `incident_delay` is an incident.
///
/// # Errors
/// The database can't be opened.
pub async fn open_hub(
    database: String,
    keys: Option<KeySource>,
    incident_delay: Duration,
) -> anyhow::Result<Hub> {
    let config = HubConfig { keys, incident_delay, ..HubConfig::new(database, Clock::system()) };
    let opened = Hub::open(config).await;
    opened.map_err(|error| anyhow::anyhow!("can't open the database: {}", describe_cause(&error)))
}

/// The cause of an error for an administrator. The error's own message hides it from clients.
pub fn describe_cause(error: &hub::Error) -> String {
    error.source().map_or_else(|| error.to_string(), crate::problem::error_chain)
}

impl RunningServer {
    /// Binds the port and starts the loops. Requests are not accepted yet.
    ///
    /// # Errors
    /// The port is in use or the static assets can't be read.
    pub async fn start(hub: Hub, web: &WebArgs, parts: ServerParts) -> anyhow::Result<Self> {
        let ServerParts { demo, agents } = parts;
        let (dialled, access) = agents.unzip();
        let listen_address = web.listen_address();
        let limits = web.connection_limits(DescriptorBudget::raise());
        let trusted_proxies = limits.proxies.clone();
        let listener = HttpListener::bind(listen_address, PlainText, limits).await;
        let listener = listener.with_context(|| format!("can't listen on {listen_address}"))?;
        let shelf = load_static_assets(web)?;
        let loops = hub.spawn_loops();
        let options = SiteOptions {
            static_assets: shelf,
            fault_controls: demo,
            agent_endpoint: access,
            secure_cookies: has_secure_cookies(web),
            trusted_proxies,
            max_streams_per_user: web.max_streams_per_user,
            stop: CancellationToken::new(),
            hub,
        };
        let running = Self {
            site: Site::new(options),
            listener,
            agent_listener: dialled,
            loops,
            agents: TaskTracker::new(),
            agents_stop: CancellationToken::new(),
            // Before readiness is announced: a supervisor may stop the server immediately afterwards.
            shutdown: ShutdownSignal::install()?,
        };
        running.site.hub().set_console_url(&running.url(web));
        Ok(running)
    }

    /// The URL under which people reach the server.
    pub fn url(&self, web: &WebArgs) -> String {
        let own = || format!("http://{}", self.listener.address());
        web.public_url.as_deref().map_or_else(own, |url| url.trim_end_matches('/').to_owned())
    }

    /// Starts an in-process agent for a cluster; it is restarted when it panics.
    pub fn serve_cluster(&self, cluster: ClusterId, client: kube::Client, options: agent::AgentOptions) {
        let (hub, site, stop) = (self.site.hub(), self.site.clone(), self.agents_stop.clone());
        hub.expect_task("agents");
        self.agents.spawn(hub.clone().supervise("agents", stop.clone(), move || {
            let link = InProcessLink::new(site.clone(), cluster);
            agent::run(link, client.clone(), options.clone(), stop.clone())
        }));
    }

    /// Appends the audit log to this file, if there is one. It ends with the agents: what is recorded later is appended after the next start.
    pub fn write_audit_file(&self, file: Option<AuditFile>) {
        let Some(file) = file else { return };
        let (hub, stop) = (self.site.hub(), self.agents_stop.clone());
        hub.expect_task(audit_file::TASK);
        let (task, file) = (hub.clone(), Arc::new(Mutex::new(file)));
        self.agents.spawn(hub.clone().supervise(audit_file::TASK, stop.clone(), move || {
            audit_file::run(task.clone(), file.clone(), stop.clone())
        }));
    }

    /// Runs a task until the agents are stopped.
    pub fn spawn_until_stop(&self, task: impl Future<Output = ()> + Send + 'static) {
        let stop = self.agents_stop.clone();
        self.agents.spawn(async move {
            tokio::select! {
                () = task => {}
                () = stop.cancelled() => {}
            }
        });
    }

    fn spawn_console_listener(&self) -> JoinHandle<()> {
        let router = crate::build_router(&self.site).router;
        self.spawn_listener(listener::CONSOLE, self.listener.clone(), router)
    }

    fn spawn_agent_listener(&mut self) -> Option<JoinHandle<()>> {
        let (listener, access) = self.agent_listener.take().zip(self.site.agent_endpoint().ok())?;
        let router = crate::agents::build_router(&self.site, access).router;
        Some(self.spawn_listener(listener::AGENTS, listener, router))
    }

    fn spawn_listener<H: Handshake>(
        &self,
        name: &'static str,
        listener: HttpListener<H>,
        router: Router,
    ) -> JoinHandle<()> {
        let stop = self.site.stop().clone();
        self.site.metrics().add_listener(name, listener.statistics());
        listener::spawn_listener(self.site.hub(), name, stop.clone(), move || {
            listener.clone().serve(router.clone(), stop.clone())
        })
    }

    /// Serves until a shutdown signal, then shuts down in order.
    ///
    /// # Errors
    /// The listener failed.
    pub async fn run_until_shutdown(mut self) -> anyhow::Result<()> {
        let stop = self.site.stop().clone();
        let (serving, dialled) = (self.spawn_console_listener(), self.spawn_agent_listener());
        self.shutdown.wait().await;
        tracing::info!("shutting down: finishing pending responses");
        stop.cancel();
        match tokio::time::timeout(DRAIN_TIMEOUT, serving).await {
            Ok(ended) => ended.context("the server task panicked")?,
            Err(_) => tracing::warn!("some responses did not finish within 10 s and were aborted"),
        }
        if let Some(dialled) = dialled
            && tokio::time::timeout(DRAIN_TIMEOUT, dialled).await.is_err()
        {
            tracing::warn!("some responses to agents did not finish within 10 s and were aborted");
        }
        self.agents_stop.cancel();
        self.agents.close();
        if tokio::time::timeout(AGENT_STOP_TIMEOUT, self.agents.wait()).await.is_err() {
            tracing::warn!("some agents did not stop within 5 s");
        }
        self.loops.stop().await;
        self.site.hub().close().await;
        tracing::info!("shutdown complete");
        Ok(())
    }
}

/// Whether cookies are `Secure`: always, except for plain http on loopback.
fn has_secure_cookies(web: &WebArgs) -> bool {
    match &web.public_url {
        Some(url) => url.starts_with("https://"),
        None => !web.listen_address().ip().is_loopback(),
    }
}

/// Reads the static assets. Without `--assets` there are none, and pages have no style and script.
fn load_static_assets(web: &WebArgs) -> anyhow::Result<StaticAssets> {
    match &web.assets {
        Some(dir) => StaticAssets::read(dir),
        None => {
            tracing::warn!("--assets is not set: pages have no style and script");
            Ok(StaticAssets::default())
        }
    }
}
