//! A running server: how its parts start, and how they end in order.
//!
//! Ending: no new connections and streams end; answers under way are finished; agents end, so that nothing is reported
//! any more; then the loops. Whatever is cut off resumes from the database at the next start.

use std::error::Error as _;
use std::net::SocketAddr;
use std::sync::{Arc, Weak};
use std::time::Duration;

use anyhow::Context as _;
use axum::serve::ListenerExt as _;
use domain::ClusterId;
use hub::{Clock, Config, Hub, Loops};
use tokio::net::{TcpListener, TcpStream};
use tokio_util::sync::CancellationToken;
use tokio_util::task::TaskTracker;

use crate::agents::{AgentAccess, AgentListener, Peer};
use crate::args::Web;
use crate::assets::Shelf;
use crate::demo::Levers;
use crate::ending::Ending;
use crate::link::InProcess;
use crate::site::{Options, Site};

/// How long answers under way may take when the server ends.
const DRAIN: Duration = Duration::from_secs(10);
/// How long agents may take to end.
const AGENTS_END: Duration = Duration::from_secs(5);

/// What a server may have besides.
#[derive(Default)]
pub struct Parts {
    /// The demo's levers.
    pub demo: Option<Arc<Levers>>,
    /// Where agents dial in.
    pub agents: Option<(AgentListener, AgentAccess)>,
}

/// The parts.
pub struct Running {
    site: Site,
    listener: TcpListener,
    dialled: Option<AgentListener>,
    address: SocketAddr,
    loops: Arc<Loops>,
    agents: TaskTracker,
    agents_stop: CancellationToken,
    ending: Ending,
}

/// Opens the hub.
///
/// # Errors
/// The database can't be opened.
pub async fn open(database: String) -> anyhow::Result<Hub> {
    let opened = Hub::open(Config { database, clock: Clock::system() }).await;
    // The hub's own sentence is for who may not see more; here stands the administrator.
    let cause = |error: hub::Error| error.source().map_or_else(|| error.to_string(), crate::problem::chain);
    opened.map_err(|error| anyhow::anyhow!("can't open the database: {}", cause(error)))
}

impl Running {
    /// Takes the port and starts the loops. Nobody is answered yet.
    ///
    /// # Errors
    /// The port is taken or the built files can't be read.
    pub async fn start(hub: Hub, web: &Web, parts: Parts) -> anyhow::Result<Self> {
        let Parts { demo, agents } = parts;
        let (dialled, access) = agents.unzip();
        let wanted = web.address();
        let listener = TcpListener::bind(wanted).await;
        let listener = listener.with_context(|| format!("can't listen on {wanted}"))?;
        let address = listener.local_addr()?;
        let shelf = shelf(web)?;
        let loops = Arc::new(hub.spawn_loops());
        let watched = Arc::downgrade(&loops);
        let options = Options {
            shelf,
            demo,
            agents: access,
            secure_cookies: has_secure_cookies(web),
            loops_alive: Arc::new(move || Weak::upgrade(&watched).is_some_and(|loops| loops.alive())),
            stop: CancellationToken::new(),
            hub,
        };
        Ok(Self {
            site: Site::new(options),
            listener,
            dialled,
            address,
            loops,
            agents: TaskTracker::new(),
            agents_stop: CancellationToken::new(),
            // Before anybody is told that it is ready: who is told may end it at once.
            ending: Ending::listen()?,
        })
    }

    /// The address people reach it by.
    pub fn url(&self, web: &Web) -> String {
        let own = || format!("http://{}", self.address);
        web.public_url.as_deref().map_or_else(own, |url| url.trim_end_matches('/').to_owned())
    }

    /// Serves a cluster with an agent in this process.
    pub fn serve_cluster(&self, cluster: ClusterId, client: kube::Client, options: agent::Options) {
        let link = InProcess::new(self.site.clone(), cluster);
        self.agents.spawn(agent::run(link, client, options, self.agents_stop.clone()));
    }

    /// Runs something else beside the agents until they end.
    pub fn beside(&self, task: impl Future<Output = ()> + Send + 'static) {
        let stop = self.agents_stop.clone();
        self.agents.spawn(async move {
            tokio::select! {
                () = task => {}
                () = stop.cancelled() => {}
            }
        });
    }

    /// Answers until told to end, then ends everything in order.
    ///
    /// # Errors
    /// The socket failed.
    pub async fn until_told_to_end(mut self) -> anyhow::Result<()> {
        let stop = self.site.stop().clone();
        let service = crate::build(&self.site).router.into_make_service_with_connect_info::<SocketAddr>();
        let serving = axum::serve(self.listener.tap_io(at_once), service)
            .with_graceful_shutdown(stop.clone().cancelled_owned());
        let serving = tokio::spawn(serving.into_future());
        let dialled = self.dialled.zip(self.site.agents().ok()).map(|(listener, access)| {
            let router = crate::agents::build(&self.site, access).router;
            let service = router.into_make_service_with_connect_info::<Peer>();
            let serving =
                axum::serve(listener, service).with_graceful_shutdown(stop.clone().cancelled_owned());
            tokio::spawn(serving.into_future())
        });
        self.ending.asked_for().await;
        tracing::info!("ending: answers under way are finished");
        stop.cancel();
        match tokio::time::timeout(DRAIN, serving).await {
            Ok(ended) => ended.context("the server broke")?.context("the socket failed")?,
            Err(_) => tracing::warn!("some answers took too long and were cut off"),
        }
        if let Some(dialled) = dialled
            && tokio::time::timeout(DRAIN, dialled).await.is_err()
        {
            tracing::warn!("some agents' answers took too long and were cut off");
        }
        self.agents_stop.cancel();
        self.agents.close();
        if tokio::time::timeout(AGENTS_END, self.agents.wait()).await.is_err() {
            tracing::warn!("some agents did not end in time");
        }
        if let Some(loops) = Arc::into_inner(self.loops) {
            loops.stop().await;
        }
        tracing::info!("ended");
        Ok(())
    }
}

/// What is written is sent: otherwise the second notice of a stream waits until the client's system has acknowledged the
/// first, which takes 40 ms on Linux.
pub(crate) fn at_once(stream: &mut TcpStream) {
    // A socket that is closed already needs nothing.
    let _ = stream.set_nodelay(true);
}

/// Cookies go over https only, unless people reach the server by plain http on this machine.
fn has_secure_cookies(web: &Web) -> bool {
    match &web.public_url {
        Some(url) => url.starts_with("https://"),
        None => !web.address().ip().is_loopback(),
    }
}

/// The built files. Without `--site` there are none, and pages come without style and script.
fn shelf(web: &Web) -> anyhow::Result<Shelf> {
    match &web.site {
        Some(dir) => Shelf::read(dir),
        None => {
            tracing::warn!("no --site: pages come without style and script");
            Ok(Shelf::default())
        }
    }
}
