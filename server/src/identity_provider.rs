//! Sign-in with OpenID Connect: the client that sends requests to providers, and the addresses that browsers and providers request
//! (`routes`).

use std::net::IpAddr;
use std::time::Duration;

use anyhow::Context as _;
use egress::header::{AUTHORIZATION, HeaderName, HeaderValue};
use egress::{
    EgressClient, EgressOptions, EgressPolicy, FetchErrorKind, FetchRequest, MinimumRate, PostBody, Url,
};
use futures::FutureExt as _;
use futures::future::BoxFuture;
use hub::{Hub, IdentityFetcher, IdentityRequest, IdentityResponse};
use tokio::time::Instant;

use crate::agents::rate_limit::{KeyedBuckets, Rate};
use crate::args::RepositoryArg;
use crate::charts::remote_access;

mod routes;

pub use routes::{PATH_PREFIX, ROUTES, add_routes};

/// Time limits of a request: a renewal sends up to five of them, and a request of its user waits for it a moment.
const OPTIONS: EgressOptions = EgressOptions {
    user_agent: concat!("flotilla/", env!("CARGO_PKG_VERSION")),
    connect_timeout: Duration::from_secs(3),
    read_timeout: Duration::from_secs(5),
    minimum_rate: MinimumRate::FILES,
    timeout: Duration::from_secs(6),
};

/// Most bytes of a response.
const MAX_RESPONSE_BYTES: usize = 256 << 10;

/// Ends of sign-ins from one network: each can lead to a request to a provider, and many people may share a network.
const SIGN_IN_RATE: Rate = Rate { per_second: 1.0, burst: 60.0 };

/// How many sign-ins of each network have ended lately.
pub struct IdentityAttempts(KeyedBuckets<IpAddr>);

impl Default for IdentityAttempts {
    fn default() -> Self {
        Self(KeyedBuckets::new(SIGN_IN_RATE))
    }
}

impl IdentityAttempts {
    /// Counts one of this network; returns whether it is tried.
    pub fn count(&self, network: IpAddr) -> bool {
        self.0.try_acquire(network, Instant::now()).is_ok()
    }
}

/// Gives the hub the client that reads identity providers. Without it, nobody can sign in with one.
pub fn set_identity_fetcher(hub: &Hub, arg: RepositoryArg) {
    let Some(access) = remote_access(arg) else { return };
    match EgressClient::new(OPTIONS) {
        Ok(client) => hub.set_identity_fetcher(EgressFetcher { client, policy: access.policy() }),
        Err(error) => tracing::warn!(%error, "identity providers can't be read"),
    }
}

/// Sends requests to the addresses that the policy allows.
struct EgressFetcher {
    client: EgressClient,
    policy: EgressPolicy,
}

impl IdentityFetcher for EgressFetcher {
    fn fetch(&self, request: IdentityRequest) -> BoxFuture<'_, Result<IdentityResponse, String>> {
        async move { self.send(request).await.map_err(|error| format!("{error:#}")) }.boxed()
    }
}

impl EgressFetcher {
    /// A header with a secret is sent to the address of the request only: no redirect is followed.
    async fn send(&self, request: IdentityRequest) -> anyhow::Result<IdentityResponse> {
        let url = Url::parse(&request.url).context("an address of an identity provider is no URL")?;
        let mut headers: Vec<(HeaderName, HeaderValue)> = Vec::new();
        if let Some(value) = &request.authorization {
            let mut value = HeaderValue::from_str(value).context("a credential is no value of a header")?;
            value.set_sensitive(true);
            headers.push((AUTHORIZATION, value));
        }
        let body = request.form.as_ref().map(|form| PostBody {
            content_type: "application/x-www-form-urlencoded",
            bytes: form.as_bytes(),
        });
        let fetch = FetchRequest {
            url,
            policy: self.policy,
            accept: "application/json",
            credentials: None,
            validators: None,
            max_bytes: MAX_RESPONSE_BYTES,
            max_redirects: 0,
            headers,
            body,
        };
        let response = self.client.fetch(fetch).await.map_err(|error| {
            let hint = match error.kind {
                FetchErrorKind::NotAllowed => {
                    "; an administrator can allow private addresses with --identity-providers private-https"
                }
                _ => "",
            };
            anyhow::anyhow!("{error}{hint}")
        })?;
        Ok(IdentityResponse { status: response.status.as_u16(), body: response.body })
    }
}
