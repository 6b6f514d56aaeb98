//! What every handler may use: the hub and what the server adds to it, in one cheap handle.

use std::sync::Arc;

use axum::extract::FromRef;
use hub::Hub;
use leptos::config::LeptosOptions;
use tokio_util::sync::CancellationToken;

use crate::agents::AgentAccess;
use crate::assets::Shelf;
use crate::attempts::Attempts;
use crate::demo::Levers;
use crate::idempotency::InFlight;
use crate::metrics::Metrics;

/// How a site is put together.
pub struct Options {
    /// The control plane.
    pub hub: Hub,
    /// The built files of the console.
    pub shelf: Shelf,
    /// The demo's levers, on a demo.
    pub demo: Option<Arc<Levers>>,
    /// How agents reach the server, if they can.
    pub agents: Option<AgentAccess>,
    /// Whether cookies are sent over https only; off for plain http on loopback.
    pub secure_cookies: bool,
    /// Says whether the loops run; `/readyz` asks.
    pub loops_alive: Arc<dyn Fn() -> bool + Send + Sync>,
    /// Ends streams that would otherwise go on for an hour.
    pub stop: CancellationToken,
}

impl Options {
    /// A site over this hub with nothing else: no built files, no demo, cookies for plain http.
    pub fn bare(hub: Hub) -> Self {
        Self {
            hub,
            shelf: Shelf::default(),
            demo: None,
            agents: None,
            secure_cookies: false,
            loops_alive: Arc::new(|| true),
            stop: CancellationToken::new(),
        }
    }
}

/// The running site. Every clone is the same.
#[derive(Clone)]
pub struct Site(Arc<Inner>);

struct Inner {
    options: Options,
    leptos: LeptosOptions,
    attempts: Attempts,
    in_flight: InFlight,
    metrics: Metrics,
}

impl Site {
    /// Puts a site together.
    pub fn new(options: Options) -> Self {
        let leptos = LeptosOptions::builder().output_name("frontend").build();
        let (attempts, in_flight, metrics) = (Attempts::default(), InFlight::default(), Metrics::default());
        Self(Arc::new(Inner { options, leptos, attempts, in_flight, metrics }))
    }

    /// The control plane.
    pub fn hub(&self) -> &Hub {
        &self.0.options.hub
    }

    /// The built files of the console.
    pub fn shelf(&self) -> &Shelf {
        &self.0.options.shelf
    }

    /// The demo's levers, on a demo.
    pub fn demo(&self) -> Option<&Arc<Levers>> {
        self.0.options.demo.as_ref()
    }

    /// How agents reach the server.
    ///
    /// # Errors
    /// They can't.
    pub fn agents(&self) -> Result<&AgentAccess, hub::Error> {
        let none = || {
            let why = "This server takes no agents: start it with --agent-listen.";
            hub::Error::NotNow(domain::can::WhyNot(why.to_owned()))
        };
        self.0.options.agents.as_ref().ok_or_else(none)
    }

    /// Whether cookies are sent over https only.
    pub fn secure_cookies(&self) -> bool {
        self.0.options.secure_cookies
    }

    /// Whether the loops run.
    pub fn loops_alive(&self) -> bool {
        (self.0.options.loops_alive)()
    }

    /// Cancelled when the server is to end.
    pub fn stop(&self) -> &CancellationToken {
        &self.0.options.stop
    }

    /// Who tried to sign in lately.
    pub fn attempts(&self) -> &Attempts {
        &self.0.attempts
    }

    /// Requests with an `Idempotency-Key` that are being carried out.
    pub fn in_flight(&self) -> &InFlight {
        &self.0.in_flight
    }

    /// What is counted.
    pub fn metrics(&self) -> &Metrics {
        &self.0.metrics
    }
}

impl FromRef<Site> for Hub {
    fn from_ref(site: &Site) -> Self {
        site.hub().clone()
    }
}

impl FromRef<Site> for LeptosOptions {
    fn from_ref(site: &Site) -> Self {
        site.0.leptos.clone()
    }
}
