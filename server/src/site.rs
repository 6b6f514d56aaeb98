//! Shared state of all handlers: the hub and the server's own state, in one handle that is cheap to clone.

use std::sync::Arc;

use axum::extract::FromRef;
use hub::Hub;
use leptos::config::LeptosOptions;
use tokio_util::sync::CancellationToken;

use crate::agents::AgentEndpoint;
use crate::assets::StaticAssets;
use crate::client_address::TrustedProxies;
use crate::demo::FaultControls;
use crate::idempotency::InFlightKeys;
use crate::identity_provider::IdentityAttempts;
use crate::metrics::Metrics;
use crate::request_places::RequestPlaces;
use crate::streams::{DEFAULT_STREAMS_PER_USER, StreamLimiter};

/// Options of a [`Site`].
pub struct SiteOptions {
    /// The control plane.
    pub hub: Hub,
    /// The console's static assets.
    pub static_assets: StaticAssets,
    /// Fault injection, in the demo only.
    pub fault_controls: Option<Arc<FaultControls>>,
    /// The agents' endpoint, if configured.
    pub agent_endpoint: Option<AgentEndpoint>,
    /// Whether cookies are sent over https only; off for plain http on loopback.
    pub secure_cookies: bool,
    /// Reverse proxies, whose `X-Forwarded-For` is trusted.
    pub trusted_proxies: TrustedProxies,
    /// Event streams that a user may have open.
    pub max_streams_per_user: usize,
    /// Cancelled at shutdown; ends open streams.
    pub stop: CancellationToken,
}

impl SiteOptions {
    /// Options with this hub only: no static assets, no demo, no agents, cookies for plain http.
    pub fn bare(hub: Hub) -> Self {
        Self {
            hub,
            static_assets: StaticAssets::default(),
            fault_controls: None,
            agent_endpoint: None,
            secure_cookies: false,
            trusted_proxies: TrustedProxies::default(),
            max_streams_per_user: DEFAULT_STREAMS_PER_USER,
            stop: CancellationToken::new(),
        }
    }
}

/// Shared state of all handlers. Clones share it.
#[derive(Clone)]
pub struct Site(Arc<SiteInner>);

struct SiteInner {
    options: SiteOptions,
    leptos: LeptosOptions,
    streams: StreamLimiter,
    in_flight: InFlightKeys,
    request_places: RequestPlaces,
    identity_attempts: IdentityAttempts,
    metrics: Metrics,
}

impl Site {
    /// Creates the state.
    pub fn new(options: SiteOptions) -> Self {
        let leptos = LeptosOptions::builder().output_name("frontend").build();
        let streams = StreamLimiter::new(options.max_streams_per_user);
        let (in_flight, metrics) = (InFlightKeys::default(), Metrics::default());
        let request_places = RequestPlaces::default();
        let identity_attempts = IdentityAttempts::default();
        let inner =
            SiteInner { options, leptos, streams, in_flight, request_places, identity_attempts, metrics };
        Self(Arc::new(inner))
    }

    /// The control plane.
    pub fn hub(&self) -> &Hub {
        &self.0.options.hub
    }

    /// The console's static assets.
    pub fn static_assets(&self) -> &StaticAssets {
        &self.0.options.static_assets
    }

    /// Fault injection, in the demo only.
    pub fn fault_controls(&self) -> Option<&Arc<FaultControls>> {
        self.0.options.fault_controls.as_ref()
    }

    /// The agents' endpoint.
    ///
    /// # Errors
    /// The server has no agents' listener.
    pub fn agent_endpoint(&self) -> Result<&AgentEndpoint, hub::Error> {
        let none = || hub::Error::FailedPrecondition(domain::actions::agents_disabled());
        self.0.options.agent_endpoint.as_ref().ok_or_else(none)
    }

    /// Whether cookies are sent over https only.
    pub fn secure_cookies(&self) -> bool {
        self.0.options.secure_cookies
    }

    /// Cancelled at shutdown.
    pub fn stop(&self) -> &CancellationToken {
        &self.0.options.stop
    }

    /// Reverse proxies, whose `X-Forwarded-For` is trusted.
    pub fn trusted_proxies(&self) -> &TrustedProxies {
        &self.0.options.trusted_proxies
    }

    /// The open event streams.
    pub fn streams(&self) -> &StreamLimiter {
        &self.0.streams
    }

    /// Requests with an `Idempotency-Key` in progress.
    pub fn in_flight(&self) -> &InFlightKeys {
        &self.0.in_flight
    }

    /// The requests of each user that run.
    pub fn request_places(&self) -> &RequestPlaces {
        &self.0.request_places
    }

    /// The sign-ins with identity providers that end.
    pub fn identity_attempts(&self) -> &IdentityAttempts {
        &self.0.identity_attempts
    }

    /// The metrics.
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
