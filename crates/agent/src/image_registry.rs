//! Queries registries whether images exist, and for which platforms (G204). Reads only the image's manifest, as a kubelet
//! does before it pulls, and sends no credentials: private images stay unknown.
//!
//! The text of a workload's manifests chooses the hosts that are queried. Therefore only `GET` of a manifest or a token is
//! sent, only to addresses that may be connected to ([`network`]), only the availability of the image leaves this module, and
//! response size and time are bounded. Redirects are not followed and no proxy is used, which would resolve names itself.

use std::collections::{BTreeSet, HashMap};
use std::net::SocketAddr;
use std::sync::Arc;
use std::time::Duration;

use domain::bundle::Bundle;
use domain::guard::{ImageAvailability, list_images};
use domain::image::{DEFAULT_REGISTRY, ImageReference};
use futures::StreamExt as _;
use parking_lot::Mutex;
use reqwest::header::{ACCEPT, WWW_AUTHENTICATE};
use reqwest::{Client, Response, StatusCode, Url};
use serde::Deserialize;
use tokio::time::Instant;

mod network;

use network::ReachableNetwork;

/// Time limit of all queries for one bundle; images without a response by then are unknown.
const LOOKUP_TIMEOUT: Duration = Duration::from_secs(5);
/// Concurrent image queries.
const MAX_CONCURRENT: usize = 8;
/// Maximum number of images queried per bundle.
const MAX_IMAGES: usize = 200;
/// Maximum size of a response, in bytes.
const MAX_RESPONSE_BYTES: usize = 4 << 20;
/// Maximum size of the response of a token endpoint, in bytes.
const MAX_TOKEN_RESPONSE_BYTES: usize = 64 << 10;
/// How long a result stays in the cache: several plans often follow each other.
const CACHE_TTL: Duration = Duration::from_secs(120);
/// Maximum number of cached results.
const MAX_CACHED: usize = 2_000;
/// Accepted media types: image indexes (with platforms) before single manifests.
const MANIFEST_TYPES: &str = "application/vnd.oci.image.index.v1+json, application/vnd.docker.distribution.manifest.list.v2+json, \
    application/vnd.oci.image.manifest.v1+json, application/vnd.docker.distribution.manifest.v2+json";

/// How registries are queried.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum RegistryAccess {
    /// HTTPS, at public addresses. On a node, a private or loopback address can mean another machine.
    Https,
    /// HTTPS, also at private and loopback addresses: for registries of a closed network.
    PrivateHttps,
    /// Plain HTTP, also at private and loopback addresses; the nodes must be configured for it as well.
    Http,
}

impl RegistryAccess {
    const fn scheme(self) -> &'static str {
        match self {
            Self::Https | Self::PrivateHttps => "https",
            Self::Http => "http",
        }
    }

    const fn network(self) -> ReachableNetwork {
        match self {
            Self::Https => ReachableNetwork::Public,
            Self::PrivateHttps | Self::Http => ReachableNetwork::Private,
        }
    }
}

/// Queries registries and caches the results for two minutes.
#[derive(Debug)]
pub struct RegistryClient {
    access: RegistryAccess,
    client: Client,
    /// A client for public addresses only, for the token endpoints of public registries.
    public_client: Client,
    cache: Mutex<HashMap<String, (Instant, ImageAvailability)>>,
}

impl RegistryClient {
    /// A client with an empty cache.
    ///
    /// # Errors
    /// There are no trusted root certificates.
    pub fn new(access: RegistryAccess) -> Result<Self, reqwest::Error> {
        wire::tls::install_crypto_provider();
        Ok(Self {
            access,
            client: build_client(access.network())?,
            public_client: build_client(ReachableNetwork::Public)?,
            cache: Mutex::default(),
        })
    }

    /// Availability of the images of a bundle, by image reference.
    pub async fn check_availability(&self, bundle: &Bundle) -> HashMap<String, ImageAvailability> {
        let images: Vec<String> =
            list_images(bundle).into_iter().take(MAX_IMAGES).map(str::to_owned).collect();
        let queries = futures::stream::iter(images.clone())
            .map(|image| async move { (self.query_image(&image).await, image) })
            .buffer_unordered(MAX_CONCURRENT)
            .for_each(|(availability, image)| {
                self.cache_availability(image, availability);
                std::future::ready(())
            });
        let _ = tokio::time::timeout(LOOKUP_TIMEOUT, queries).await;
        images
            .into_iter()
            .filter_map(|image| Some((image.clone(), self.cached_availability(&image)?)))
            .collect()
    }

    fn cached_availability(&self, image: &str) -> Option<ImageAvailability> {
        let cache = self.cache.lock();
        cache
            .get(image)
            .filter(|(at, _)| at.elapsed() < CACHE_TTL)
            .map(|(_, availability)| availability.clone())
    }

    fn cache_availability(&self, image: String, availability: ImageAvailability) {
        let mut cache = self.cache.lock();
        if cache.len() >= MAX_CACHED {
            cache.clear();
        }
        cache.insert(image, (Instant::now(), availability));
    }

    async fn query_image(&self, image: &str) -> ImageAvailability {
        if let Some(availability) = self.cached_availability(image) {
            return availability;
        }
        let query = async { self.query_manifest(&self.manifest_url(image)?).await };
        query.await.unwrap_or(ImageAvailability::Unknown)
    }

    /// URL of an image's manifest; `None` if it can't be queried from here.
    fn manifest_url(&self, image: &str) -> Option<Url> {
        let ImageReference { registry, repository, tag, digest } = ImageReference::parse(image).ok()?;
        let (host, prefix) = match registry {
            DEFAULT_REGISTRY => {
                ("registry-1.docker.io", if repository.contains('/') { "" } else { "library/" })
            }
            host => (host, ""),
        };
        let version = digest.or(tag).unwrap_or("latest");
        let scheme = self.access.scheme();
        let url =
            Url::parse(&format!("{scheme}://{host}/v2/{prefix}{repository}/manifests/{version}")).ok()?;
        self.access.network().allows_host(&url).then_some(url)
    }

    /// `None` if the response does not determine whether the image exists.
    async fn query_manifest(&self, address: &Url) -> Option<ImageAvailability> {
        let first = self.get_manifest(address, None).await?;
        let response = match first.status() {
            StatusCode::UNAUTHORIZED => {
                let token = self.fetch_token(&first).await?;
                self.get_manifest(address, Some(&token)).await?
            }
            _ => first,
        };
        match response.status() {
            StatusCode::OK => parse_platforms(&read_body(response, MAX_RESPONSE_BYTES).await?),
            StatusCode::NOT_FOUND => is_image_missing(&read_body(response, MAX_RESPONSE_BYTES).await?)
                .then_some(ImageAvailability::Missing),
            _ => None,
        }
    }

    async fn get_manifest(&self, address: &Url, token: Option<&str>) -> Option<Response> {
        let request = self.client.get(address.clone()).header(ACCEPT, MANIFEST_TYPES);
        let request = match token {
            Some(token) => request.bearer_auth(token),
            None => request,
        };
        request.send().await.ok()
    }

    /// The client for the token endpoint that a registry at this address names, and the network of that client. A registry on
    /// the internet must not direct requests to the closed network.
    fn client_for_realm(&self, registry: Option<SocketAddr>) -> (&Client, ReachableNetwork) {
        match registry {
            Some(address) if !ReachableNetwork::Public.contains(address.ip()) => {
                (&self.client, self.access.network())
            }
            _ => (&self.public_client, ReachableNetwork::Public),
        }
    }

    /// An anonymous token from the token endpoint that the challenge in this 401 names.
    async fn fetch_token(&self, unauthorized: &Response) -> Option<String> {
        #[derive(Deserialize)]
        struct TokenResponse {
            token: Option<String>,
            access_token: Option<String>,
        }
        let challenge = unauthorized.headers().get(WWW_AUTHENTICATE)?.to_str().ok()?;
        let challenge = BearerChallenge::parse(challenge)?;
        let (client, network) = self.client_for_realm(unauthorized.remote_addr());
        let mut realm = Url::parse(&challenge.realm).ok().filter(|realm| {
            realm.scheme() == self.access.scheme()
                && realm.username().is_empty()
                && network.allows_host(realm)
        })?;
        let pairs = [("service", challenge.service), ("scope", challenge.scope)];
        for (key, value) in pairs.into_iter().filter(|(_, value)| !value.is_empty()) {
            realm.query_pairs_mut().append_pair(key, &value);
        }
        let response = client.get(realm).send().await.ok()?;
        if response.status() != StatusCode::OK {
            return None;
        }
        let tokens: TokenResponse =
            serde_json::from_slice(&read_body(response, MAX_TOKEN_RESPONSE_BYTES).await?).ok()?;
        tokens.token.or(tokens.access_token)
    }
}

/// A client that connects only to addresses of this network.
fn build_client(network: ReachableNetwork) -> Result<Client, reqwest::Error> {
    Client::builder()
        .user_agent(concat!("flotilla-agent/", env!("CARGO_PKG_VERSION")))
        .connect_timeout(Duration::from_secs(3))
        .timeout(LOOKUP_TIMEOUT)
        .redirect(reqwest::redirect::Policy::none())
        .no_proxy()
        .dns_resolver(Arc::new(network))
        .build()
}

/// `Bearer realm="…",service="…",scope="…"`.
#[derive(Debug, Default, PartialEq, Eq)]
struct BearerChallenge {
    realm: String,
    service: String,
    scope: String,
}

impl BearerChallenge {
    fn parse(text: &str) -> Option<Self> {
        let mut rest = text.strip_prefix("Bearer ").or_else(|| text.strip_prefix("bearer "))?;
        let mut challenge = Self::default();
        while let Some((key, after)) = rest.split_once("=\"") {
            let (value, after) = after.split_once('"')?;
            match key.trim_matches([' ', ',']) {
                "realm" => value.clone_into(&mut challenge.realm),
                "service" => value.clone_into(&mut challenge.service),
                "scope" => value.clone_into(&mut challenge.scope),
                _ => {}
            }
            rest = after;
        }
        (!challenge.realm.is_empty()).then_some(challenge)
    }
}

/// The body; `None` if it breaks off or is larger than this.
async fn read_body(response: Response, max_bytes: usize) -> Option<Vec<u8>> {
    let mut bytes = Vec::new();
    let mut chunks = response.bytes_stream();
    while let Some(chunk) = chunks.next().await {
        bytes.extend_from_slice(&chunk.ok()?);
        if bytes.len() > max_bytes {
            return None;
        }
    }
    Some(bytes)
}

/// The platforms in an image index; `None` for a single manifest, which does not name its platform.
fn parse_platforms(body: &[u8]) -> Option<ImageAvailability> {
    #[derive(Deserialize)]
    struct ImageIndex {
        #[serde(default)]
        manifests: Vec<IndexManifest>,
    }
    #[derive(Deserialize)]
    struct IndexManifest {
        platform: Option<Platform>,
    }
    #[derive(Deserialize)]
    struct Platform {
        #[serde(default)]
        architecture: String,
        #[serde(default)]
        os: String,
    }
    let index: ImageIndex = serde_json::from_slice(body).ok()?;
    let platforms = index.manifests.into_iter().filter_map(|entry| entry.platform);
    // Attestations are index entries without a real platform.
    let known = platforms.filter(|platform| platform.os != "unknown" && !platform.os.is_empty());
    let names: BTreeSet<String> =
        known.map(|platform| format!("{}/{}", platform.os, platform.architecture)).collect();
    (!names.is_empty()).then_some(ImageAvailability::Available(names))
}

/// Whether the body of a 404 is a registry's error; a proxy's error page proves nothing about the image.
fn is_image_missing(body: &[u8]) -> bool {
    #[derive(Deserialize)]
    struct ErrorResponse {
        errors: Vec<RegistryErrorCode>,
    }
    #[derive(Deserialize)]
    struct RegistryErrorCode {
        code: String,
    }
    let codes = ["MANIFEST_UNKNOWN", "NAME_UNKNOWN"];
    serde_json::from_slice::<ErrorResponse>(body)
        .is_ok_and(|refusal| refusal.errors.iter().any(|reason| codes.contains(&reason.code.as_str())))
}

#[cfg(test)]
mod tests;
