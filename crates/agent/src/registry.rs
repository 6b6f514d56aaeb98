//! Asks registries whether images are there, and for what machines (G204). Only the description of an image is read, as
//! a kubelet reads it before it pulls, and without passwords: what is private stays unknown.
//!
//! Who writes manifests names the hosts that are asked. So nothing but `GET` is sent, nothing of an answer leaves
//! here but whether the image is there, and answers, time and redirects are bounded.

use std::collections::{BTreeSet, HashMap};
use std::sync::{Mutex, PoisonError};
use std::time::Duration;

use domain::bundle::Bundle;
use domain::guard::{Availability, images};
use domain::image::{Reference, USUAL_REGISTRY};
use futures::StreamExt as _;
use reqwest::header::{ACCEPT, WWW_AUTHENTICATE};
use reqwest::{Client, Response, StatusCode, Url};
use serde::Deserialize;
use tokio::time::Instant;

/// What a plan waits for at most; what has not come by then is unknown.
const PATIENCE: Duration = Duration::from_secs(5);
/// Images asked about at once.
const AT_ONCE: usize = 8;
/// Images of one bundle that are asked about.
const IMAGES_MAX: usize = 200;
/// Longest answer that is read, in bytes.
const ANSWER_MAX: usize = 4 << 20;
/// An answer is good for so long. Plans come in crowds.
const LASTS: Duration = Duration::from_secs(120);
/// Answers that are kept.
const KEPT_MAX: usize = 2_000;
/// What an image may be described by: first by what it is for, then alone.
const KINDS: &str = "application/vnd.oci.image.index.v1+json, application/vnd.docker.distribution.manifest.list.v2+json, \
    application/vnd.oci.image.manifest.v1+json, application/vnd.docker.distribution.manifest.v2+json";

/// How registries are spoken to.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Scheme {
    /// Over TLS; this machine is not asked, because it is not what a node means by its name.
    Https,
    /// Without: registries of a closed network, of which the nodes have to know the same.
    Http,
}

impl Scheme {
    const fn word(self) -> &'static str {
        match self {
            Self::Https => "https",
            Self::Http => "http",
        }
    }
}

/// Asks registries, and remembers for a while what they said.
#[derive(Debug)]
pub struct Registries {
    client: Client,
    scheme: Scheme,
    kept: Mutex<HashMap<String, (Instant, Availability)>>,
}

impl Registries {
    /// Nobody has been asked yet.
    ///
    /// # Errors
    /// There is nothing to trust a certificate by.
    pub fn over(scheme: Scheme) -> Result<Self, reqwest::Error> {
        wire::tls::choose_provider();
        let client = Client::builder()
            .user_agent(concat!("flotilla-agent/", env!("CARGO_PKG_VERSION")))
            .connect_timeout(Duration::from_secs(3))
            .timeout(PATIENCE)
            .redirect(reqwest::redirect::Policy::none())
            .build()?;
        Ok(Self { client, scheme, kept: Mutex::default() })
    }

    /// What is known of the images of a bundle.
    pub async fn availability(&self, bundle: &Bundle) -> HashMap<String, Availability> {
        let images: Vec<String> = images(bundle).into_iter().take(IMAGES_MAX).map(str::to_owned).collect();
        let asked = futures::stream::iter(images.clone())
            .map(|image| async move { (self.ask(&image).await, image) })
            .buffer_unordered(AT_ONCE)
            .for_each(|(said, image)| {
                self.keep(image, said);
                std::future::ready(())
            });
        let _ = tokio::time::timeout(PATIENCE, asked).await;
        images.into_iter().filter_map(|image| Some((image.clone(), self.known(&image)?))).collect()
    }

    fn known(&self, image: &str) -> Option<Availability> {
        let kept = self.kept.lock().unwrap_or_else(PoisonError::into_inner);
        kept.get(image).filter(|(at, _)| at.elapsed() < LASTS).map(|(_, said)| said.clone())
    }

    fn keep(&self, image: String, said: Availability) {
        let mut kept = self.kept.lock().unwrap_or_else(PoisonError::into_inner);
        if kept.len() >= KEPT_MAX {
            kept.clear();
        }
        kept.insert(image, (Instant::now(), said));
    }

    async fn ask(&self, image: &str) -> Availability {
        if let Some(said) = self.known(image) {
            return said;
        }
        let said = async { self.described(&self.address(image)?).await };
        said.await.unwrap_or(Availability::Unknown)
    }

    /// Where an image is described.
    fn address(&self, image: &str) -> Option<Url> {
        let Reference { registry, repository, tag, digest } = Reference::parse(image).ok()?;
        let (host, prefix) = match registry {
            USUAL_REGISTRY => {
                ("registry-1.docker.io", if repository.contains('/') { "" } else { "library/" })
            }
            // On a node that is the node; here it would be this pod.
            host if self.scheme == Scheme::Https && is_here(host) => return None,
            host => (host, ""),
        };
        let which = digest.or(tag).unwrap_or("latest");
        Url::parse(&format!("{}://{host}/v2/{prefix}{repository}/manifests/{which}", self.scheme.word())).ok()
    }

    /// `None` if nothing follows from what the registry says.
    async fn described(&self, address: &Url) -> Option<Availability> {
        let first = self.get(address, None).await?;
        let answer = match first.status() {
            StatusCode::UNAUTHORIZED => {
                let token = self.token(&first).await?;
                self.get(address, Some(&token)).await?
            }
            _ => first,
        };
        match answer.status() {
            StatusCode::OK => offered(&body(answer).await?),
            StatusCode::NOT_FOUND => {
                is_unknown_to_registry(&body(answer).await?).then_some(Availability::Missing)
            }
            _ => None,
        }
    }

    async fn get(&self, address: &Url, token: Option<&str>) -> Option<Response> {
        let request = self.client.get(address.clone()).header(ACCEPT, KINDS);
        let request = match token {
            Some(token) => request.bearer_auth(token),
            None => request,
        };
        request.send().await.ok()
    }

    /// The token that a registry gives to everybody, from where it says.
    async fn token(&self, refused: &Response) -> Option<String> {
        #[derive(Deserialize)]
        struct Given {
            token: Option<String>,
            access_token: Option<String>,
        }
        let challenge = refused.headers().get(WWW_AUTHENTICATE)?.to_str().ok()?;
        let asked = Challenge::parse(challenge)?;
        let mut realm = Url::parse(&asked.realm).ok().filter(|realm| realm.scheme() == self.scheme.word())?;
        let pairs = [("service", asked.service), ("scope", asked.scope)];
        for (key, value) in pairs.into_iter().filter(|(_, value)| !value.is_empty()) {
            realm.query_pairs_mut().append_pair(key, &value);
        }
        let answer =
            self.client.get(realm).send().await.ok().filter(|answer| answer.status() == StatusCode::OK)?;
        let given: Given = serde_json::from_slice(&body(answer).await?).ok()?;
        given.token.or(given.access_token)
    }
}

/// Whether a host is this machine, by its name.
fn is_here(host: &str) -> bool {
    let name = host.rsplit_once(':').map_or(host, |(name, _)| name);
    name == "localhost" || name.starts_with("127.") || name.starts_with('[')
}

/// `Bearer realm="…",service="…",scope="…"`.
#[derive(Debug, Default, PartialEq, Eq)]
struct Challenge {
    realm: String,
    service: String,
    scope: String,
}

impl Challenge {
    fn parse(text: &str) -> Option<Self> {
        let mut rest = text.strip_prefix("Bearer ").or_else(|| text.strip_prefix("bearer "))?;
        let mut found = Self::default();
        while let Some((key, after)) = rest.split_once("=\"") {
            let (value, after) = after.split_once('"')?;
            match key.trim_matches([' ', ',']) {
                "realm" => value.clone_into(&mut found.realm),
                "service" => value.clone_into(&mut found.service),
                "scope" => value.clone_into(&mut found.scope),
                _ => {}
            }
            rest = after;
        }
        (!found.realm.is_empty()).then_some(found)
    }
}

async fn body(answer: Response) -> Option<Vec<u8>> {
    let mut bytes = Vec::new();
    let mut chunks = answer.bytes_stream();
    while let Some(chunk) = chunks.next().await {
        bytes.extend_from_slice(&chunk.ok()?);
        if bytes.len() > ANSWER_MAX {
            return None;
        }
    }
    Some(bytes)
}

/// What an index says that the image is for; the description of one image alone does not tell.
fn offered(body: &[u8]) -> Option<Availability> {
    #[derive(Deserialize)]
    struct Index {
        #[serde(default)]
        manifests: Vec<Entry>,
    }
    #[derive(Deserialize)]
    struct Entry {
        platform: Option<Platform>,
    }
    #[derive(Deserialize)]
    struct Platform {
        #[serde(default)]
        architecture: String,
        #[serde(default)]
        os: String,
    }
    let index: Index = serde_json::from_slice(body).ok()?;
    let platforms = index.manifests.into_iter().filter_map(|entry| entry.platform);
    // Attestations stand beside the images, for no machine.
    let known = platforms.filter(|platform| platform.os != "unknown" && !platform.os.is_empty());
    let all: BTreeSet<String> = known.map(|it| format!("{}/{}", it.os, it.architecture)).collect();
    (!all.is_empty()).then_some(Availability::Offered(all))
}

/// Whether a 404 is the registry's own word: a proxy's page says nothing of the image.
fn is_unknown_to_registry(body: &[u8]) -> bool {
    #[derive(Deserialize)]
    struct Refusal {
        errors: Vec<Reason>,
    }
    #[derive(Deserialize)]
    struct Reason {
        code: String,
    }
    let codes = ["MANIFEST_UNKNOWN", "NAME_UNKNOWN"];
    serde_json::from_slice::<Refusal>(body)
        .is_ok_and(|refusal| refusal.errors.iter().any(|reason| codes.contains(&reason.code.as_str())))
}

#[cfg(test)]
mod tests;
