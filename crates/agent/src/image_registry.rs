//! Queries registries whether images exist, and for which platforms (G204). Reads only the image's manifest, as a kubelet
//! does before it pulls, and sends no credentials: private images stay unknown.
//!
//! The text of a workload's manifests chooses the hosts that are queried. Therefore requests are sent by [`egress`], which decides
//! about the addresses that are connected to; only `GET` of a manifest or a token is sent, redirects are not followed, and only
//! the availability of the image leaves this module.

use std::collections::{BTreeSet, HashMap};
use std::time::Duration;

use domain::bundle::Bundle;
use domain::guard::{ImageAvailability, list_images};
use domain::image::{DEFAULT_REGISTRY, ImageReference};
use egress::{
    EgressClient, EgressOptions, EgressPolicy, EgressUnavailable, FetchRequest, MinimumRate,
    ReachableNetwork, RegistrySession, StatusCode, Url, registry_host,
};
use futures::StreamExt as _;
use parking_lot::Mutex;
use serde::Deserialize;
use tokio::time::Instant;

/// Time limit of all queries for one bundle; images without a response by then are unknown.
const LOOKUP_TIMEOUT: Duration = Duration::from_secs(5);
/// Concurrent image queries.
const MAX_CONCURRENT: usize = 8;
/// Maximum number of images queried per bundle.
const MAX_IMAGES: usize = 200;
/// Maximum size of a response, in bytes.
const MAX_RESPONSE_BYTES: usize = 4 << 20;
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

    const fn policy(self) -> EgressPolicy {
        match self {
            Self::Https => EgressPolicy::PUBLIC_HTTPS,
            Self::PrivateHttps => {
                EgressPolicy { https: Some(ReachableNetwork::PublicAndPrivate), http: None }
            }
            Self::Http => EgressPolicy { https: None, http: Some(ReachableNetwork::PublicAndPrivate) },
        }
    }
}

/// Queries registries and caches the results for two minutes.
#[derive(Debug)]
pub struct RegistryClient {
    access: RegistryAccess,
    client: EgressClient,
    cache: Mutex<HashMap<String, (Instant, ImageAvailability)>>,
}

impl RegistryClient {
    /// A client with an empty cache.
    ///
    /// # Errors
    /// There are no trusted root certificates.
    pub fn new(access: RegistryAccess) -> Result<Self, EgressUnavailable> {
        let client = EgressClient::new(EgressOptions {
            user_agent: concat!("flotilla-agent/", env!("CARGO_PKG_VERSION")),
            connect_timeout: Duration::from_secs(3),
            read_timeout: LOOKUP_TIMEOUT,
            minimum_rate: MinimumRate::FILES,
            timeout: LOOKUP_TIMEOUT,
        })?;
        Ok(Self { access, client, cache: Mutex::default() })
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
        let query = async { self.query_manifest(self.manifest_url(image)?).await };
        query.await.unwrap_or(ImageAvailability::Unknown)
    }

    /// URL of an image's manifest; `None` if the text is no reference.
    fn manifest_url(&self, image: &str) -> Option<Url> {
        let ImageReference { registry, repository, tag, digest } = ImageReference::parse(image).ok()?;
        let is_official = registry == DEFAULT_REGISTRY && !repository.contains('/');
        let (host, prefix) = (registry_host(registry), if is_official { "library/" } else { "" });
        let version = digest.or(tag).unwrap_or("latest");
        let scheme = self.access.scheme();
        Url::parse(&format!("{scheme}://{host}/v2/{prefix}{repository}/manifests/{version}")).ok()
    }

    /// `None` if the response does not determine whether the image exists.
    async fn query_manifest(&self, url: Url) -> Option<ImageAvailability> {
        let request = FetchRequest {
            url,
            policy: self.access.policy(),
            accept: MANIFEST_TYPES,
            credentials: None,
            validators: None,
            max_bytes: MAX_RESPONSE_BYTES,
            max_redirects: 0,
            headers: Vec::new(),
            body: None,
        };
        let response = RegistrySession::new(&self.client, None).fetch(request).await.ok()?;
        match response.status {
            StatusCode::OK => parse_platforms(&response.body),
            StatusCode::NOT_FOUND => is_image_missing(&response.body).then_some(ImageAvailability::Missing),
            _ => None,
        }
    }
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
